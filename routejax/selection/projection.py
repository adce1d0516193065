"""From raw features to the unit vectors phi in which distances are taken (paper A.2).

The Gaussian matrix comes from numpy's PCG64 and not from a device's generator, so it is
the same everywhere. The arithmetic is float64 in fixed blocks of rows on one thread, so
the batch in which features were read and the number of threads change nothing. Another
kind of processor may still differ in a last bit; `grid` removes most of that, and the
grid matrix with its hash is the artefact of record.
"""

import numpy as np
from jaxtyping import Float, Float32, Float64
from threadpoolctl import threadpool_limits

from routejax.errors import UserError
from routejax.moments import Moments, moments
from routejax.selection.standardise import standardise

_BLOCK_ROWS = 1024


def gaussian_projection(d: int, r: int, seed: int = 42) -> Float32[np.ndarray, "D R"]:
    """P with independent N(0, 1/r) entries, drawn once from `seed` (paper A.2).

    Drawn as float64 from `Generator(PCG64(seed)).standard_normal`, divided by sqrt(r)
    and rounded to float32 (our choice of generator).
    """
    draws = np.random.Generator(np.random.PCG64(seed)).standard_normal((d, r))
    return (draws / np.sqrt(r)).astype(np.float32)


def project(
    features: Float[np.ndarray, "N D"],
    *,
    stats: Moments | None = None,
    unscaled: int = 0,
    variance_floor: float = 0.0,
    r: int | None = 96,
    seed: int = 42,
) -> Float32[np.ndarray, "N R"]:
    """phi: the rows standardised, brought to unit length, projected, to unit length.

    z = standardise(f); z^ = z/||z||; phi = z^ P / ||z^ P||, or phi = z^ where `r` is
    None (OMEGA, Sokoban). A zero vector stays zero. Give the rows in order of their ids
    (as `select` does) if the last bit of phi matters to you.

    Args:
        features: a matrix or a memory map; read in blocks of 1,024 rows.
        stats, unscaled, variance_floor: see `standardise`.
        r: number of projected features; None for no projection.
        seed: of the Gaussian matrix.

    Raises:
        UserError: see `standardise`; or `r` below one.
    """
    if r is not None and r < 1:
        raise UserError(f"r must be at least 1, or None for no projection, got {r}")
    stats = moments(features) if stats is None else stats
    width = features.shape[1]
    matrix = None if r is None else gaussian_projection(width, r, seed).astype(float)
    phi = np.empty((len(features), width if r is None else r), np.float32)
    with threadpool_limits(limits=1, user_api="blas"):
        for first in range(0, len(features), _BLOCK_ROWS):
            block = slice(first, first + _BLOCK_ROWS)
            z = standardise(
                np.asarray(features[block]),
                stats,
                unscaled=unscaled,
                variance_floor=variance_floor,
                first_row=first,
            )
            unit = _unit_rows(z)
            phi[block] = unit if matrix is None else _unit_rows(unit @ matrix)
    return phi


def _unit_rows(rows: Float64[np.ndarray, "N R"]) -> Float64[np.ndarray, "N R"]:
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    return np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)
