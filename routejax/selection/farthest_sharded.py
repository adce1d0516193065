"""Farthest-point picks with the rows shared among devices (engine "jax").

The algorithm of `farthest_lazy`, in shapes that compile once. In a round every device
brings its own `renewed` rows up to date that stand farthest by stale values, and offers
the best `offered` of them together with the best value it holds back. One all-gather
makes the offers known to all; each device then makes the same greedy picks among them,
for as long as they beat everything held back anywhere. So the picks do not depend on
the number of devices, and they are the reference's: int32 throughout, and products of
grid rows that float32 holds exactly at the highest precision.

While the picks are few, every one of them moves all rows, so a round without a pick
then brings all rows up to date at once.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Float64, Int, Int64, Num

from routejax.selection.farthest_start import grid_norms
from routejax.selection.nearness import gaps_to_mean, nearness_to_mean

_AXIS = "rows"
_SHARDED, _SAME = PartitionSpec(_AXIS), PartitionSpec()
_RENEWED = 8192  # rows of all devices brought up to date in a round
_OFFERED = 2048  # rows of all devices offered in a round: 16 MiB of distances
_PICKS = 512  # picks of one product
_GROUPS = 8  # rows of a device by staleness, each group only sees what it lacks
_FEW = 64  # picks up to which all rows are brought up to date together
_BLOCK = 4096  # rows of a product there
_ROUNDS = 64  # rounds between two looks of the host, so that it can be interrupted
_UNSEEN = 2**27  # above every squared distance (2^26)


class Sizes(NamedTuple):
    """Rows per device: brought up to date, and offered, in a round."""

    renewed: int
    offered: int


class Shard(NamedTuple):
    """Rows on a device; as in `farthest_lazy.Standing`, padding has `closest` -1."""

    phi: jax.Array
    norms: jax.Array
    closest: jax.Array
    seen: jax.Array


class Made(NamedTuple):
    """The picks, the same on all devices; places not yet filled are out of reach.

    Attributes:
        picked, pick_norms: picks as rows for the products; norm 2^27 where unfilled.
        picks, squares: row numbers and squared distances.
        done: how many there are; stuck: whether the last round added none.
    """

    picked: jax.Array
    pick_norms: jax.Array
    picks: jax.Array
    squares: jax.Array
    done: jax.Array
    stuck: jax.Array


class Offers(NamedTuple):
    """What all devices offer, in order of the row numbers.

    Attributes:
        closest, norms, values, numbers: of each offered row its squared distance,
            norm, values in float32, and number in the pool.
        height, number: squared distance and number of the best row held back.
    """

    closest: jax.Array
    norms: jax.Array
    values: jax.Array
    numbers: jax.Array
    height: jax.Array
    number: jax.Array


def picks(
    phi: Num[np.ndarray, "N R"],
    count: int,
    start: int | None = None,
    *,
    mesh: Mesh | None = None,
) -> tuple[Int64[np.ndarray, "n"], Float64[np.ndarray, "n"]]:
    """The same as `farthest.farthest_picks` of these grid rows, to the last bit.

    Args:
        mesh: of one axis "rows"; all devices if None.

    Raises:
        UserError: see `grid_norms`.
    """
    mesh = row_mesh() if mesh is None else mesh
    devices = mesh.devices.size
    offered = max(8, _OFFERED // devices)
    sizes = Sizes(max(offered + _GROUPS, _RENEWED // devices), offered)
    norms = grid_norms(phi)
    first = int(nearness_to_mean(phi).argmin()) if start is None else start
    shard = _placed(phi, norms, first, mesh, sizes)
    made = _begun(phi, norms, first, count, mesh, sizes)
    while int(made.done) < count:
        shard, made = _advance(shard, made, np.int32(count), mesh=mesh, sizes=sizes)
    squares = np.array(made.squares[:count], np.float64)
    squares[0] = gaps_to_mean(phi, np.array([first]))[0] ** 2
    return np.array(made.picks[:count], np.int64), np.sqrt(squares)


def row_mesh(devices: int | None = None) -> Mesh:
    """The first `devices` devices (all if None) in a row."""
    return Mesh(np.array(jax.devices()[:devices]), (_AXIS,))


def _placed(
    phi: Num[np.ndarray, "N R"],
    norms: Int[np.ndarray, "N"],
    first: int,
    mesh: Mesh,
    sizes: Sizes,
) -> Shard:
    """Each device's block of rows; padded so that a device can hold rows back.

    The block is rounded up by an eighth at most, so that rows of about the same number
    share a program.
    """
    devices = mesh.devices.size
    each = max(-(-len(phi) // devices), sizes.renewed + 1)
    step = 1 << max(0, each.bit_length() - 4)
    each = -(-each // step) * step
    closest = np.full(len(phi), _UNSEEN, np.int32)
    closest[first] = -1

    def place(values: np.ndarray, padding: int) -> jax.Array:
        def block(index: Any) -> np.ndarray:
            begin, end, _ = index[0].indices(each * devices)
            part = values[begin:end]
            short = [(0, end - begin - len(part))] + [(0, 0)] * (values.ndim - 1)
            return np.pad(part, short, constant_values=padding)

        shape = (each * devices, *values.shape[1:])
        sharding = NamedSharding(mesh, _SHARDED)
        return jax.make_array_from_callback(shape, sharding, block)

    seen = np.zeros(len(phi), np.int32)
    return Shard(place(phi, 0), place(norms, 0), place(closest, -1), place(seen, 0))


def _begun(
    phi: Num[np.ndarray, "N R"],
    norms: Int[np.ndarray, "N"],
    first: int,
    count: int,
    mesh: Mesh,
    sizes: Sizes,
) -> Made:
    """Room for the picks, with the first in it.

    The room is a power of two, so that other counts need no other program, and leaves
    space behind the last pick for whole blocks to be read and written.
    """
    least = count + max(_PICKS, sizes.offered * mesh.devices.size)
    room = 1 << (least - 1).bit_length()
    picked = np.zeros((room, phi.shape[1]), np.float32)
    pick_norms = np.full(room, _UNSEEN, np.int32)
    rows = np.zeros(room, np.int32)
    picked[0], pick_norms[0], rows[0] = phi[first], norms[first], first
    squares = np.zeros(room, np.int32)
    begun: Any = picked, pick_norms, rows, squares, np.int32(1), np.bool_(True)
    return Made(*jax.device_put(begun, NamedSharding(mesh, _SAME)))


@functools.partial(jax.jit, static_argnames=("mesh", "sizes"), donate_argnums=(0, 1))
def _advance(
    shard: Shard, made: Made, count: Any, *, mesh: Mesh, sizes: Sizes
) -> tuple[Shard, Made]:
    """Some rounds, on all devices at once."""

    def rounds(shard: Shard, made: Made, count: Any) -> tuple[Shard, Made]:
        def goes_on(state: tuple[Shard, Made, Any]) -> Any:
            return (state[1].done < count) & (state[2] < _ROUNDS)

        def once(state: tuple[Shard, Made, Any]) -> tuple[Shard, Made, Any]:
            shard, made = _round(state[0], state[1], count, sizes)
            return shard, made, state[2] + 1

        return lax.while_loop(goes_on, once, (shard, made, 0))[:2]

    specs = (_SHARDED, _SAME)
    program = jax.shard_map(
        rounds, mesh=mesh, in_specs=(*specs, _SAME), out_specs=specs, check_vma=False
    )
    return program(shard, made, count)


def _round(shard: Shard, made: Made, count: Any, sizes: Sizes) -> tuple[Shard, Made]:
    all_at_once = made.stuck & (made.done < _FEW)
    shard = lax.cond(all_at_once, _renew_all, lambda shard, made: shard, shard, made)
    shard, rows, next_best = _renew_farthest(shard, made, sizes)
    rows, offers = _offers(shard, rows, next_best, sizes)
    order, heights, closest, new = _greedy(offers, count - made.done)
    mine = lax.dynamic_slice_in_dim(
        closest, lax.axis_index(_AXIS) * sizes.offered, sizes.offered
    )
    shard = shard._replace(
        closest=shard.closest.at[rows].set(mine),
        seen=shard.seen.at[rows].set(made.done + new),
    )
    filled = jnp.arange(len(order)) < new
    updates = Made(
        picked=jnp.where(filled[:, None], offers.values[order], 0),
        pick_norms=jnp.where(filled, offers.norms[order], _UNSEEN),
        picks=offers.numbers[order],
        squares=heights,
        done=made.done + new,
        stuck=new == 0,
    )
    return shard, _written(made, updates)


def _written(made: Made, updates: Made) -> Made:
    """The places after the last pick overwritten by those of this round."""

    def write(before: jax.Array, after: jax.Array) -> jax.Array:
        return lax.dynamic_update_slice_in_dim(before, after, made.done, axis=0)

    return updates._replace(
        picked=write(made.picked, updates.picked),
        pick_norms=write(made.pick_norms, updates.pick_norms),
        picks=write(made.picks, updates.picks),
        squares=write(made.squares, updates.squares),
    )


def _products(a: jax.Array, b: jax.Array) -> jax.Array:
    """a @ b.T as integers, exact on the grid."""
    return jnp.dot(a, b.T, precision=lax.Precision.HIGHEST).astype(jnp.int32)


def _lowered(
    values: jax.Array, norms: jax.Array, closest: jax.Array, made: Made, first: Any
) -> jax.Array:
    """`closest` after the block of picks from the `first` on."""
    picked = lax.dynamic_slice_in_dim(made.picked, first, _PICKS)
    pick_norms = lax.dynamic_slice_in_dim(made.pick_norms, first, _PICKS)
    squares = (pick_norms - 2 * _products(values, picked)).min(axis=1) + norms
    return jnp.minimum(closest, squares)


def _since(
    values: jax.Array, norms: jax.Array, closest: jax.Array, made: Made, first: Any
) -> jax.Array:
    """`closest` after all picks from the `first` on."""

    def block(i: Any, closest: jax.Array) -> jax.Array:
        return _lowered(values, norms, closest, made, first + i * _PICKS)

    blocks = (made.done - first + _PICKS - 1) // _PICKS
    return lax.fori_loop(0, blocks, block, closest)


def _renew_all(shard: Shard, made: Made) -> Shard:
    """All rows of a device after all picks, of which there are few."""
    each = len(shard.closest)
    size = min(_BLOCK, each)

    def block(i: Any, closest: jax.Array) -> jax.Array:
        first = jnp.minimum(i * size, each - size)  # the last two may overlap
        values = lax.dynamic_slice_in_dim(shard.phi, first, size).astype(jnp.float32)
        norms = lax.dynamic_slice_in_dim(shard.norms, first, size)
        some = lax.dynamic_slice_in_dim(closest, first, size)
        some = _lowered(values, norms, some, made, 0)
        return lax.dynamic_update_slice_in_dim(closest, some, first, axis=0)

    closest = lax.fori_loop(0, -(-each // size), block, shard.closest)
    return shard._replace(closest=closest, seen=jnp.full_like(shard.seen, made.done))


def _renew_farthest(
    shard: Shard, made: Made, sizes: Sizes
) -> tuple[Shard, jax.Array, tuple[jax.Array, jax.Array]]:
    """The device's rows that stand farthest, ascending and up to date; what is next."""
    heights, rows = lax.top_k(shard.closest, sizes.renewed + 1)  # ties: lowest first
    next_best = heights[-1], rows[-1]
    rows = rows[:-1]
    rows = rows[jnp.argsort(shard.seen[rows])]
    closest = []
    for group in jnp.array_split(rows, _GROUPS):
        values = shard.phi[group].astype(jnp.float32)
        first = shard.seen[group[0]]
        closest.append(
            _since(values, shard.norms[group], shard.closest[group], made, first)
        )
    shard = shard._replace(
        closest=shard.closest.at[rows].set(jnp.concatenate(closest)),
        seen=shard.seen.at[rows].set(made.done),
    )
    return shard, jnp.sort(rows), next_best


def _offers(
    shard: Shard,
    rows: jax.Array,
    next_best: tuple[jax.Array, jax.Array],
    sizes: Sizes,
) -> tuple[jax.Array, Offers]:
    """The rows that this device offers, ascending, and the offers of all devices."""
    best, places = lax.top_k(shard.closest[rows], sizes.offered + 1)
    held_back = _better((best[-1], rows[places[-1]]), next_best)
    rows = jnp.sort(rows[places[:-1]])
    begin = lax.axis_index(_AXIS) * len(shard.closest)
    facts = jnp.stack([shard.closest[rows], shard.norms[rows], begin + rows], axis=1)
    offers = jnp.concatenate([facts, shard.phi[rows].astype(jnp.int32)], axis=1)
    last = jnp.zeros((1, offers.shape[1]), jnp.int32)
    last = last.at[0, 0].set(held_back[0]).at[0, 2].set(begin + held_back[1])
    table = lax.all_gather(jnp.concatenate([offers, last]), _AXIS)
    held = [(row[0], row[2]) for row in table[:, -1]]
    height, number = functools.reduce(_better, held)
    offers = table[:, :-1].reshape(-1, table.shape[2])
    closest, norms, numbers = offers[:, :3].T
    values = offers[:, 3:].astype(jnp.float32)
    return rows, Offers(closest, norms, values, numbers, height, number)


def _better(
    a: tuple[jax.Array, jax.Array], b: tuple[jax.Array, jax.Array]
) -> tuple[jax.Array, jax.Array]:
    """The (distance, row) that is picked first of two."""
    wins = _beats(a, b)
    return jnp.where(wins, a[0], b[0]), jnp.where(wins, a[1], b[1])


def _beats(a: tuple[jax.Array, jax.Array], b: tuple[jax.Array, jax.Array]) -> jax.Array:
    return (a[0] > b[0]) | ((a[0] == b[0]) & (a[1] < b[1]))


def _greedy(
    offers: Offers, room: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """Picks among the offers until the best falls behind the bound or room is full.

    Returns:
        places of the picks and their squared distances (of which only the first ones
        are filled), the distances of all offers afterwards, and how many picks.
    """
    products = _products(offers.values, offers.values)
    squares = offers.norms[:, None] + offers.norms - 2 * products
    bound = offers.height, offers.number

    def goes_on(state: tuple[jax.Array, ...]) -> jax.Array:
        _, _, closest, new = state
        best = closest.argmax()  # the first of equal ones: the lowest row
        wins = _beats((closest[best], offers.numbers[best]), bound)
        return (new < room) & (closest[best] >= 0) & wins

    def pick(state: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        order, heights, closest, new = state
        best = closest.argmax()
        order = order.at[new].set(best.astype(jnp.int32))
        heights = heights.at[new].set(closest[best])
        closest = jnp.minimum(closest, squares[best]).at[best].set(-1)
        return order, heights, closest, new + 1

    none = jnp.zeros_like(offers.closest)
    begun = none, none, offers.closest, jnp.int32(0)
    order, heights, closest, new = lax.while_loop(goes_on, pick, begun)
    return order, heights, closest, new
