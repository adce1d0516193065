"""phi of the devices is close to the host's, and to what tolerance."""

import os
import subprocess
import sys

import jax
import numpy as np
import pytest
from jax.sharding import NamedSharding, PartitionSpec

from routejax.errors import UserError
from routejax.selection import moments, project, to_grid
from routejax.selection.farthest_sharded import row_mesh
from routejax.selection.projection_sharded import project_sharded


def features(rows=5003, width=120):
    """Counts, shares, large offsets, a constant column, five identical rows."""
    rng = np.random.default_rng(0)
    values = rng.gamma(0.4, size=(rows, width)).astype(np.float32)
    values[:, :30] = values[:, :30] > 1
    values[:, 30:60] *= rng.lognormal(0, 3, 30)
    values[:, 60:64] += 5000
    values[:, 70] = 3
    values[[0, 9, rows // 2, rows - 907, rows - 1]] = values[77]
    return values


CASES = [
    {},
    {"r": None},
    {"unscaled": 20, "variance_floor": 1e-8, "r": 32, "seed": 1},
]


@pytest.mark.parametrize("case", CASES)
def test_close_to_the_host(case):
    values = features()
    stats = moments(values)
    host = project(values, stats=stats, **case)
    phi = np.asarray(project_sharded(values, stats, **case))
    assert phi.dtype == np.float32
    assert np.abs(phi - host).max() < 1e-6
    differ = to_grid(phi).values != to_grid(host).values
    assert differ.mean() < 5e-4  # 1e-4 was measured
    assert (phi[[0, 9, 4096, -1]] == phi[77]).all()


def test_large_means_do_not_cancel():
    """Differences near a mean of 5,000 keep what float32 holds of them."""
    values = features()[:, 60:64]
    stats = moments(values)
    host = project(values, stats=stats, r=None)
    assert np.abs(project_sharded(values, stats, r=None) - host).max() < 3e-7


@pytest.mark.parametrize("devices", [1, 2, 8])
def test_rows_stay_where_they_are(devices):
    values = features(4000)
    stats = moments(values)
    sharding = NamedSharding(row_mesh(devices), PartitionSpec("rows"))
    placed = jax.device_put(values, sharding)
    phi = project_sharded(placed, stats, mesh=row_mesh(devices))
    assert phi.sharding.is_equivalent_to(sharding, 2)
    assert np.abs(np.asarray(phi) - project(values, stats=stats)).max() < 1e-6


def test_zero_rows_stay_zero():
    same = np.ones((6, 5), np.float32)
    assert not np.asarray(project_sharded(same, moments(same), r=3)).any()


def test_float64_gives_the_hosts_grid():
    code = """
import numpy as np
from routejax.selection import moments, project, to_grid
from routejax.selection.projection_sharded import project_sharded
values = np.random.default_rng(0).gamma(0.4, size=(3000, 200)).astype(np.float32)
values[:5] = values[9]
stats = moments(values)
host = to_grid(project(values, stats=stats)).values
assert (to_grid(np.asarray(project_sharded(values, stats))).values == host).all()
"""
    subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"JAX_ENABLE_X64": "1"},
        check=True,
    )


def test_mistakes():
    values = np.zeros((5001, 3), np.float32)
    stats = moments(values)
    with pytest.raises(UserError, match="of 3 features, the rows have 2"):
        project_sharded(values[:, :2], stats)
    with pytest.raises(UserError, match=r"unscaled must be in 0\.\.3"):
        project_sharded(values, stats, unscaled=4)
    with pytest.raises(UserError, match="r must be at least 1"):
        project_sharded(values, stats, r=0)
    for bad in (np.nan, np.inf, 2.0**24):
        values[4999, 1] = bad
        with pytest.raises(UserError, match="in row 4999"):
            project_sharded(values, stats)
