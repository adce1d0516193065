"""The z-scores of features by the mean and variance of their pool (`moments`).

Left out: projection and unit length (`projection`).
"""

import numpy as np
from jaxtyping import Float, Float64

from routejax.errors import UserError
from routejax.moments import Moments, moments, readable

CLIP = 5.0


def standardise(
    features: Float[np.ndarray, "N D"],
    stats: Moments | None = None,
    *,
    unscaled: int = 0,
    variance_floor: float = 0.0,
    first_row: int = 0,
) -> Float64[np.ndarray, "N D"]:
    """z = clip((f - mean)/sigma, -5, 5), the last `unscaled` columns as they are.

    A constant feature has sigma = 1, so its z is zero over the pool (paper A.2). Other
    variances are raised to `variance_floor` (1e-8 for released corpora, C.2).
    `unscaled` is 64 for RLVE, whose pattern indicators are appended unscaled (A.5).

    Args:
        stats: statistics of the pool the features come from; of `features` themselves
            if None.
        first_row: number of the first row, for messages about a block of a matrix.

    Raises:
        UserError: see `moments`; or `stats` of another width, or `unscaled` not in
            0..D.
    """
    stats = moments(features) if stats is None else stats
    width = features.shape[1]
    if len(stats.mean) != width:
        raise UserError(
            f"statistics are of {len(stats.mean)} features, the rows have {width}; "
            "use those of the same fingerprint family"
        )
    if not 0 <= unscaled <= width:
        raise UserError(f"unscaled must be in 0..{width} (features), got {unscaled}")
    values = readable(features, first_row=first_row)
    scaled = slice(0, width - unscaled)
    floored = np.maximum(stats.variance[scaled], variance_floor)
    sigma = np.sqrt(np.where(stats.variance[scaled] == 0, 1.0, floored))
    values[:, scaled] -= stats.mean[scaled]
    values[:, scaled] /= sigma
    np.clip(values[:, scaled], -CLIP, CLIP, out=values[:, scaled])
    return values
