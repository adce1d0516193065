"""Synthetic fingerprints: unit rows in clusters of very different sizes, on the grid.

Centres lie in 256 dimensions whose spectrum decays; the r-th cluster has a share in
proportion to r^-0.6, about 200 rows on average, and every row its own distance from the
centre. A random projection brings the rows to the width of phi.
"""

import numpy as np

from routejax.selection import to_grid

_FACTORS = 256
_AT_ONCE = 50_000  # rows


def clustered_rows(count: int, width: int = 96, seed: int = 0) -> np.ndarray:
    """Grid rows, 16-bit integers [count width]."""
    draw = np.random.Generator(np.random.PCG64(seed))
    spectrum = np.arange(1, _FACTORS + 1, dtype=np.float32) ** np.float32(-0.7)
    clusters = max(50, count // 200)
    centres = draw.standard_normal((clusters, _FACTORS), np.float32) * spectrum
    share = np.arange(1, clusters + 1) ** -0.6
    share /= share.sum()
    projection = draw.standard_normal((_FACTORS, width), np.float32)
    out = np.empty((count, width), np.int16)
    for start in range(0, count, _AT_ONCE):
        size = min(_AT_ONCE, count - start)
        away = draw.lognormal(-0.9, 0.4, (size, 1)).astype(np.float32)
        noise = draw.standard_normal((size, _FACTORS), np.float32) * (spectrum + 0.02)
        rows = centres[draw.choice(clusters, size, p=share)] + away * noise
        rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)) @ projection
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        out[start : start + size] = to_grid(rows).values
    return out
