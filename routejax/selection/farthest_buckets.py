"""Farthest-point picks inside many clusters on devices (engine "jax" of `WITHIN`).

Clusters of similar size are padded to one of the sizes 16, 64, 256, 1,024 and 4,096 and
go in batches of a fixed number of rows, shared among the devices: five programs at most
for any partition. A larger cluster has the devices to itself (`farthest_sharded`). The
first pick of each comes from the host: nearness to the mean needs integers of more than
32 bits.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Float64, Int, Int64, Num

from routejax.selection import farthest_sharded
from routejax.selection.farthest_within import WITHIN, Members

_SIZES = (16, 64, 256, 1024, 4096)
_BATCH_ROWS = 2**15  # rows of a batch, padding included, on each device


def picks(
    phi: Num[np.ndarray, "N R"],
    members: Members,
    quotas: Int64[np.ndarray, "K"],
    *,
    mesh: Mesh | None = None,
) -> tuple[Int64[np.ndarray, "n"], Float64[np.ndarray, "n"]]:
    """Picks of all clusters and their distances, those of the other engines.

    Raises:
        UserError: see `grid_norms`.
    """
    mesh = farthest_sharded.row_mesh() if mesh is None else mesh
    one_each = np.minimum(quotas, 1)
    firsts = np.full(len(quotas), -1)
    chosen, gaps = WITHIN["cpu"](phi, members, one_each)
    firsts[quotas > 0] = chosen
    places = np.cumsum(quotas) - quotas
    rows, distance = np.empty(quotas.sum(), np.int64), np.empty(quotas.sum())
    sizes = members.ends - members.begins
    bucket = np.searchsorted(_SIZES, sizes)
    for i, size in enumerate(_SIZES):
        clusters = np.flatnonzero((bucket == i) & (quotas > 0))
        batch = _BATCH_ROWS // size * mesh.devices.size
        for begin in range(0, len(clusters), batch):
            some = clusters[begin : begin + batch]
            order, squares = _batch(
                phi, members, quotas, firsts, some, (batch, size), mesh
            )
            filled = np.arange(size) < quotas[some][:, None]
            out = (places[some][:, None] + np.arange(size))[filled]
            rows[out], distance[out] = order[filled], np.sqrt(squares[filled])
    for c in np.flatnonzero((bucket == len(_SIZES)) & (quotas > 0)):
        inside = members.rows[members.begins[c] : members.ends[c]]
        out = slice(places[c], places[c] + quotas[c])
        start = int(np.flatnonzero(inside == firsts[c])[0])
        found, distance[out] = farthest_sharded.picks(
            phi[inside], int(quotas[c]), start, mesh=mesh
        )
        rows[out] = inside[found]
    distance[places[quotas > 0]] = gaps
    return rows, distance


def _batch(
    phi: Num[np.ndarray, "N R"],
    members: Members,
    quotas: Int64[np.ndarray, "K"],
    firsts: Int64[np.ndarray, "K"],
    clusters: Int64[np.ndarray, "some"],
    shape: tuple[int, int],
    mesh: Mesh,
) -> tuple[Int64[np.ndarray, "some size"], Int[np.ndarray, "some size"]]:
    """Rows and squared distances of the picks of some clusters, padded behind."""
    begins, ends = members.begins[clusters], members.ends[clusters]
    places = np.minimum(begins[:, None] + np.arange(shape[1]), ends[:, None] - 1)
    rows = members.rows[places]
    values = np.zeros((*shape, phi.shape[1]), phi.dtype)
    values[: len(clusters)] = phi[rows]
    held = np.zeros(shape[0], np.int32)
    held[: len(clusters)] = ends - begins
    start = np.zeros(shape[0], np.int32)
    start[: len(clusters)] = (rows == firsts[clusters][:, None]).argmax(axis=1)
    placed = jax.device_put((values, held, start), NamedSharding(mesh, _BY_CLUSTER))
    order, squares = _walk(*placed, np.int32(quotas[clusters].max()))
    some = slice(0, len(clusters))
    picked = np.take_along_axis(rows, np.array(order)[some].astype(np.int64), axis=1)
    return picked, np.array(squares)[some]


_BY_CLUSTER = PartitionSpec("rows")


@jax.jit
def _walk(
    phi: jax.Array, held: jax.Array, start: jax.Array, most: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Places of the picks [C size] and squared distances; `most` picks per cluster."""
    values = phi.astype(jnp.float32)
    integers = phi.astype(jnp.int32)
    norms = (integers * integers).sum(axis=2)
    inside = jnp.arange(phi.shape[1]) < held[:, None]
    at = functools.partial(jnp.take_along_axis, axis=1)

    def pick(k: jax.Array, state: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        order, heights, closest, last = state
        chosen = at(values, last[:, None, None])
        dots = jnp.einsum(
            "csr,cr->cs", values, chosen[:, 0], precision=lax.Precision.HIGHEST
        ).astype(jnp.int32)
        closest = jnp.minimum(closest, norms + at(norms, last[:, None]) - 2 * dots)
        closest = jnp.put_along_axis(closest, last[:, None], -1, axis=1, inplace=False)
        last = closest.argmax(axis=1).astype(jnp.int32)
        height = at(closest, last[:, None])[:, 0]
        return order.at[:, k].set(last), heights.at[:, k].set(height), closest, last

    order = jnp.zeros(inside.shape, jnp.int32).at[:, 0].set(start)
    heights = jnp.zeros(inside.shape, jnp.int32)
    closest = jnp.where(inside, 2**27, -1)
    return lax.fori_loop(1, most, pick, (order, heights, closest, start))[:2]
