"""phi has unit rows, the same in any blocks; the seed fixes the Gaussian matrix."""

import numpy as np
import pytest

from routejax.errors import UserError
from routejax.selection import gaussian_projection, moments, project


def test_the_gaussian_matrix_is_fixed():
    matrix = gaussian_projection(1373, 96)
    assert (matrix.shape, matrix.dtype) == ((1373, 96), np.float32)
    # standard_normal of PCG64(42) begins 0.30471708, -1.03998411, 0.7504512
    first = np.array([0.30471708, -1.03998411, 0.7504512]) / np.sqrt(96)
    assert matrix[0, :3] == pytest.approx(first, abs=1e-8)
    assert matrix.std() == pytest.approx(1 / np.sqrt(96), rel=0.01)
    assert not np.array_equal(matrix, gaussian_projection(1373, 96, seed=43))


def test_phi_by_the_formula():
    rng = np.random.default_rng(0)
    features = rng.normal(3, 2, (40, 7)).astype(np.float32)
    z = (features - features.mean(0, float)) / features.std(0, float)
    z[:, 5:] = features[:, 5:]
    unit = z / np.linalg.norm(z, axis=1, keepdims=True)
    image = unit @ gaussian_projection(7, 4, seed=1)
    expected = image / np.linalg.norm(image, axis=1, keepdims=True)
    phi = project(features, unscaled=2, r=4, seed=1)
    assert phi.dtype == np.float32
    assert phi == pytest.approx(expected, abs=1e-6)
    assert project(features, unscaled=2, r=None) == pytest.approx(unit, abs=1e-6)


def test_rows_are_unit_or_zero():
    features = np.ones((6, 5), np.float32)
    features[3:, 1] = [2, 3, 9]  # rows 0, 1, 2 are equal, none is the mean
    phi = project(features, r=3)
    assert np.linalg.norm(phi, axis=1) == pytest.approx(1)
    assert (phi[0] == phi[1]).all()
    assert not project(np.ones((6, 5), np.float32), r=3).any()


def test_blocks_change_no_byte():
    rng = np.random.default_rng(1)
    features = rng.normal(size=(2100, 30)).astype(np.float32)
    stats = moments(features)
    whole = project(features, r=8)
    parts = [
        project(features[a:b], stats=stats, r=8) for a, b in ((0, 1024), (1024, 2100))
    ]
    assert np.array_equal(np.concatenate(parts), whole)


def test_mistakes_are_named():
    features = np.zeros((1100, 2), np.float32)
    stats = moments(features)
    features[1050, 1] = np.nan
    with pytest.raises(UserError, match="row 1050, column 1"):
        project(features, stats=stats)
    with pytest.raises(UserError, match="r must be at least 1"):
        project(features, r=0)
