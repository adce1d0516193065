"""phi of features that live on devices: `projection.project` as one jitted program.

The rows stay where they are; statistics and the Gaussian matrix are copied to every
device. In float32 (or in float64 where jax has it enabled) the result is close to that
of the host and not the same, so what comes from here is for pools that cannot come to
the host; the artefact of record is the host's.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Float, Float32

from routejax.errors import UserError
from routejax.moments import LIMIT, RESOLUTION, Moments
from routejax.selection.projection import gaussian_projection
from routejax.selection.standardise import CLIP

_AXIS = "rows"
_ROWS, _SAME = PartitionSpec(_AXIS), PartitionSpec()
_BLOCK = 4096  # rows whose z-scores a device holds at a time


class Scaling(NamedTuple):
    """What turns features into phi, in the precision of the devices.

    A mean in float32 and what that leaves of it (`mean_rest`) lose nothing of
    f - mean where the two are close.
    """

    mean: jax.Array
    mean_rest: jax.Array
    sigma: jax.Array
    clip: jax.Array
    matrix: jax.Array | None


def project_sharded(
    features: Float[np.ndarray, "N D"] | Float[jax.Array, "N D"],
    stats: Moments,
    *,
    unscaled: int = 0,
    variance_floor: float = 0.0,
    r: int | None = 96,
    seed: int = 42,
    mesh: Mesh | None = None,
) -> Float32[jax.Array, "N R"]:
    """phi on the devices; arguments as those of `project`.

    Computed in float64 if `jax_enable_x64` is set, else in float32 with products at the
    highest precision; then entries are within 1e-6 of the host's
    (measured on 30,000 rows of 1,738 features: 4e-7, and 1.2e-4 of the grid values
    differ; in float64 none).

    Args:
        mesh: of one axis "rows", which shares the rows; all devices if None.

    Raises:
        UserError: statistics of another width, `unscaled` or `r` out of range, or the
            first row with a value that is not finite or not below 2^24 in size.
    """
    rows, width = features.shape
    if len(stats.mean) != width:
        raise UserError(
            f"statistics are of {len(stats.mean)} features, the rows have {width}; "
            "use those of the same fingerprint family"
        )
    if not 0 <= unscaled <= width:
        raise UserError(f"unscaled must be in 0..{width} (features), got {unscaled}")
    if r is not None and r < 1:
        raise UserError(f"r must be at least 1, or None for no projection, got {r}")
    mesh = Mesh(np.array(jax.devices()), (_AXIS,)) if mesh is None else mesh
    matrix = None if r is None else gaussian_projection(width, r, seed)
    scaling = _scaling(stats, unscaled, variance_floor, matrix)
    padding = -rows % mesh.devices.size
    if padding:
        features = jnp.pad(features, ((0, padding), (0, 0)))
    placed = jax.device_put(features, NamedSharding(mesh, _ROWS))
    phi, good = _project(placed, scaling, mesh=mesh)
    if not bool(good.all()):
        row = int(good.argmin())
        raise UserError(
            f"features must be finite and below 2^24 in size, got another in "
            f"row {row}; mend or leave out that row"
        )
    return phi[:rows] if padding else phi


def _scaling(
    stats: Moments,
    unscaled: int,
    variance_floor: float,
    matrix: Float32[np.ndarray, "D R"] | None,
) -> Scaling:
    """Columns that stay as they are have mean 0, sigma 1 and no clipping."""
    kind = jax.dtypes.canonicalize_dtype(np.float64)  # float32 unless enabled
    floored = np.maximum(stats.variance, variance_floor)
    sigma = np.sqrt(np.where(stats.variance == 0, 1.0, floored))
    mean, clip = stats.mean.copy(), np.full(len(sigma), CLIP)
    asis = slice(len(sigma) - unscaled, None)
    mean[asis], sigma[asis], clip[asis] = 0.0, 1.0, np.inf
    rest = mean - mean.astype(kind)
    return Scaling(
        mean=jnp.asarray(mean, kind),
        mean_rest=jnp.asarray(rest, kind),
        sigma=jnp.asarray(sigma, kind),
        clip=jnp.asarray(clip, kind),
        matrix=None if matrix is None else jnp.asarray(matrix, kind),
    )


@functools.partial(jax.jit, static_argnames=("mesh",))
def _project(
    features: jax.Array, scaling: Scaling, *, mesh: Mesh
) -> tuple[jax.Array, jax.Array]:
    """phi, and for every row whether all of its values could be read."""
    return jax.shard_map(
        _project_rows, mesh=mesh, in_specs=(_ROWS, _SAME), out_specs=(_ROWS, _ROWS)
    )(features, scaling)


def _project_rows(features: jax.Array, scaling: Scaling) -> tuple[jax.Array, jax.Array]:
    """A device's rows in blocks, the last of which may overlap the one before."""
    rows, width = features.shape
    size = min(_BLOCK, rows)
    columns = width if scaling.matrix is None else scaling.matrix.shape[1]

    def block(i: jax.Array, out: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        first = jnp.minimum(i * size, rows - size)
        some = lax.dynamic_slice_in_dim(features, first, size)
        parts = _phi(some, scaling), (jnp.abs(some) < LIMIT).all(axis=1)
        return tuple(
            lax.dynamic_update_slice_in_dim(whole, part, first, axis=0)
            for whole, part in zip(out, parts, strict=True)
        )

    empty = jnp.zeros((rows, columns), jnp.float32), jnp.zeros(rows, bool)
    empty = jax.tree.map(lambda x: lax.pcast(x, _AXIS, to="varying"), empty)
    phi, good = lax.fori_loop(0, -(-rows // size), block, empty)
    return phi, good


def _phi(features: jax.Array, scaling: Scaling) -> jax.Array:
    values = features.astype(jnp.float32).astype(scaling.mean.dtype)
    values = jnp.rint(values * (1 / RESOLUTION)) * RESOLUTION  # exact in float32 too
    z = ((values - scaling.mean) - scaling.mean_rest) / scaling.sigma
    unit = _unit(jnp.clip(z, -scaling.clip, scaling.clip))
    if scaling.matrix is not None:
        product = jnp.dot(unit, scaling.matrix, precision=lax.Precision.HIGHEST)
        unit = _unit(product)
    return unit.astype(jnp.float32)


def _unit(rows: jax.Array) -> jax.Array:
    norms = jnp.sqrt((rows * rows).sum(axis=1, keepdims=True))
    return jnp.where(norms > 0, rows / jnp.where(norms > 0, norms, 1), 0)
