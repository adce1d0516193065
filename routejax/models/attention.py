"""Attention behind one function, and which way computes it where.

Every way gives the same numbers up to rounding, except for padding: its outputs are
finite and mean nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
from jaxtyping import Array, Float

from routejax.errors import UserError
from routejax.models.blockwise import blockwise
from routejax.models.kernels import cudnn, refused_by_cudnn, refused_by_splash, splash
from routejax.models.places import Places, pairwise, sight

SHORT = 512  # columns up to which the array of pairs is no burden

Constrain = Callable[[Array, tuple[str, ...]], Array]


def attend(
    queries: Float[Array, "B H T C"],
    keys: Float[Array, "B J S C"],
    values: Float[Array, "B J S C"],
    places: Places,
    held: Places | None = None,
    *,
    window: int | None = None,
    implementation: str = "auto",
    constrain: Constrain | None = None,
) -> Float[Array, "B H T C"]:
    """Attention of the queries' columns to themselves, or to the slots of a cache.

    Args:
        held: places of the cache's slots; None where the keys are the queries' columns.
            With a cache the array of pairs is always made: queries are few.
        window: positions a query sees, its own included; None is all.
        implementation: a name of `IMPLEMENTATIONS`, or "auto".
        constrain: of `Execution`; kernels that a mesh cannot divide by itself ask it.

    Raises:
        UserError: the implementation asked for cannot take these shapes.
    """
    if held is not None:
        return pairwise(queries, keys, values, sight(places, held, window))
    if implementation == "auto":
        implementation = choice(queries, jax.default_backend())
    way = IMPLEMENTATIONS[implementation]
    return way(queries, keys, values, places, window, constrain)


def choice(queries: Float[Array, "B H T C"], platform: str) -> str:
    """What "auto" means for these shapes on a platform."""
    if platform == "gpu" and refused_by_cudnn(queries) is None:
        return "cudnn"
    if platform == "tpu" and refused_by_splash(queries) is None:
        return "splash"
    return "plain" if queries.shape[2] <= SHORT else "blockwise"


def _plain(queries, keys, values, places, window, constrain):
    del constrain
    return pairwise(queries, keys, values, sight(places, places, window))


def _blockwise(queries, keys, values, places, window, constrain):
    del constrain
    return blockwise(queries, keys, values, places.segments, window)


def _cudnn(queries, keys, values, places, window, constrain):
    del constrain
    if why := refused_by_cudnn(queries):
        raise UserError(f"student.attention is cudnn, which {why}")
    return cudnn(queries, keys, values, places, window)


def _splash(queries, keys, values, places, window, constrain):
    if why := refused_by_splash(queries):
        raise UserError(f"student.attention is splash, which {why}")
    return splash(queries, keys, values, places.segments, window, constrain)


IMPLEMENTATIONS = {
    "plain": _plain,  # the reference: an array of pairs
    "blockwise": _blockwise,  # any platform, memory linear in the length
    "cudnn": _cudnn,  # NVIDIA GPUs
    "splash": _splash,  # TPUs
}
