"""Greedy farthest-point picks from a start near the mean (paper A.2, step 4).

Here stands the reference, one pass over the rows per pick, which suits pools of up to
about 10^5 rows. It is exact on grid rows: the arithmetic is float64, in which all the
integers that occur are exact, so picks do not depend on threads or on the order of a
sum. On float32 rows the same arithmetic rounds.

`ENGINES` names what else computes the same picks of grid rows: "cpu" reads little
(`farthest_lazy`), "jax" shares the rows among devices (`farthest_sharded`). Both are
imported when they are asked for.
"""

import importlib
from collections.abc import Callable

import numpy as np
from jaxtyping import Float64, Int64, Num

from routejax.errors import UserError
from routejax.selection.nearness import gaps_to_mean, nearness_to_mean

Picks = tuple[Int64[np.ndarray, "n"], Float64[np.ndarray, "n"]]


def farthest_points(
    phi: Num[np.ndarray, "N R"],
    count: int,
    start: int | None = None,
    *,
    engine: str = "reference",
) -> Int64[np.ndarray, "n"]:
    """Row indices in the order picked; each maximises the distance to those before.

    The first is `start`, by default the row nearest the mean of `phi`; ties go to the
    lowest row index. Rows already picked are never picked again, so duplicates come
    last, in order.

    Args:
        engine: a name in `ENGINES`; all but "reference" need grid rows.

    Raises:
        UserError: `count` not in 1..N, `start` not in 0..N-1, an engine that does not
            exist, or rows that the engine does not take.
    """
    if not 1 <= count <= len(phi):
        raise UserError(f"count must be in 1..{len(phi)} (rows), got {count}")
    if start is not None and not 0 <= start < len(phi):
        raise UserError(f"start must be in 0..{len(phi) - 1} (rows), got {start}")
    return farthest_picks(phi, count, start, engine=engine)[0]


def farthest_picks(
    phi: Num[np.ndarray, "N R"],
    count: int,
    start: int | None = None,
    *,
    engine: str = "reference",
) -> Picks:
    """`farthest_points`, and the distance of each pick to the nearest one before it.

    The distance of the first pick is the one to the mean of `phi`. `count` and `start`
    are not checked.

    Raises:
        UserError: an engine that does not exist, or rows that it does not take.
    """
    if engine not in ENGINES:
        raise UserError(f"engine must be one of {', '.join(ENGINES)}, got {engine!r}")
    return ENGINES[engine](phi, count, start)


def _reference(
    phi: Num[np.ndarray, "N R"], count: int, start: int | None = None
) -> Picks:
    rows = np.asarray(phi, np.float64)
    norms = np.einsum("ij,ij->i", rows, rows)
    pick = int(nearness_to_mean(phi).argmin()) if start is None else start
    picks = np.empty(count, np.int64)
    squares = np.empty(count)
    squares[0] = gaps_to_mean(phi, np.array([pick]))[0] ** 2
    picks[0] = pick
    closest = np.full(len(rows), np.inf)
    for i in range(1, count):
        np.minimum(closest, norms + norms[pick] - 2 * (rows @ rows[pick]), out=closest)
        closest[pick] = -np.inf
        pick = int(closest.argmax())
        picks[i], squares[i] = pick, closest[pick]
    return picks, np.sqrt(np.maximum(squares, 0))


def _lazy(phi: Num[np.ndarray, "N R"], count: int, start: int | None = None) -> Picks:
    module = importlib.import_module("routejax.selection.farthest_lazy")
    return module.picks(phi, count, start)


def _sharded(
    phi: Num[np.ndarray, "N R"], count: int, start: int | None = None
) -> Picks:
    module = importlib.import_module("routejax.selection.farthest_sharded")
    return module.picks(phi, count, start)


Engine = Callable[[np.ndarray, int, int | None], Picks]
ENGINES: dict[str, Engine] = {
    "reference": _reference,
    "cpu": _lazy,
    "jax": _sharded,
}
