"""Farthest-point picks that read little: stale distances are bounds (engine "cpu").

A row's distance to the nearest pick only falls as picks are added, so what it was some
picks ago bounds what it is now. A round takes the `size` rows that stand farthest by
these stale values, brings only them up to date, and picks greedily among them for as
long as the farthest beats the best stale value outside: then no row outside could have
been the reference's choice. Rows are ordered by (distance, lowest row), so ties are
decided as the reference decides them, and a round that brings rows up to date or makes
a pick always comes closer to the end.

The plain loop reads every row once per pick and waits for memory. Here the work is
matrix products of blocks of rows and blocks of picks, of which about half are never
needed. All arithmetic is on integers that float32 and int32 hold exactly, so threads,
block sizes and round sizes change the time and nothing else.

Memory: the rows as they come (int16 stays int16), eight bytes per row, the picks in
float32, and the products of at most `_LIVE` rows with each other.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Float64, Int, Int32, Int64, Num
from threadpoolctl import threadpool_info, threadpool_limits

from routejax.selection.farthest_kernels import count_by_height, greedy, lower
from routejax.selection.farthest_start import grid_norms
from routejax.selection.nearness import gaps_to_mean, nearness_to_mean

_SIZE = 4096  # rows a round brings up to date, more where it yields no pick
_LIVE = 4096  # rows a round chooses among: 64 MiB of products
_TILE = 512  # rows and picks of one product: a MiB, so it stays in the cache
_PICKS = 512
_UNSEEN = 2**27  # above every squared distance (2^26)
_SHIFT = 13  # heights are counted in 2^14 steps of 2^13

Run = Callable[[Callable[[int], None], int, int], None]


@dataclass(frozen=True)
class Standing:
    """What is known of every row, and the picks so far; arrays change in place.

    Attributes:
        closest: squared distance to the nearest of the first `seen` picks; -1 for a
            row that was picked.
        picked, pick_norms: the picks themselves, as rows for the products.
    """

    phi: Num[np.ndarray, "N R"]
    norms: Int32[np.ndarray, "N"]
    closest: Int32[np.ndarray, "N"]
    seen: Int32[np.ndarray, "N"]
    picks: Int64[np.ndarray, "n"]
    squares: Float64[np.ndarray, "n"]
    picked: Float32[np.ndarray, "n R"]
    pick_norms: Int32[np.ndarray, "n"]


def picks(
    phi: Num[np.ndarray, "N R"], count: int, start: int | None = None
) -> tuple[Int64[np.ndarray, "n"], Float64[np.ndarray, "n"]]:
    """The same as `farthest.farthest_picks` of these grid rows, to the last bit.

    Uses as many threads as BLAS is allowed to.

    Raises:
        UserError: see `grid_norms`.
    """
    norms = grid_norms(phi)
    first = int(nearness_to_mean(phi).argmin()) if start is None else start
    now = _standing(phi, norms, count)
    _add(now, np.array([first]), gaps_to_mean(phi, np.array([first])) ** 2, 0)
    now.closest[first] = -1
    threads = _blas_threads()
    with threadpool_limits(limits=1, user_api="blas"), _pool(threads) as pool:

        def run(work: Callable[[int], None], stop: int, step: int) -> None:
            for _ in pool.map(work, range(0, stop, step)):
                pass

        done, size = 1, _SIZE
        while done < count:
            made = _round(now, done, size, run)
            size = _SIZE if made else 2 * size
            done += made
    return now.picks, np.sqrt(np.maximum(now.squares, 0))


def _standing(
    phi: Num[np.ndarray, "N R"], norms: Int32[np.ndarray, "N"], count: int
) -> Standing:
    return Standing(
        phi=phi,
        norms=norms,
        closest=np.full(len(phi), _UNSEEN, np.int32),
        seen=np.zeros(len(phi), np.int32),
        picks=np.empty(count, np.int64),
        squares=np.empty(count),
        picked=np.empty((count, phi.shape[1]), np.float32),
        pick_norms=np.empty(count, np.int32),
    )


def _blas_threads() -> int:
    pools = [p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"]
    return max(pools, default=1)


def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="farthest")


def _add(
    now: Standing,
    rows: Int64[np.ndarray, "m"],
    squares: Int[np.ndarray, "m"] | Float64[np.ndarray, "m"],
    done: int,
) -> None:
    place = slice(done, done + len(rows))
    now.picks[place], now.squares[place] = rows, squares
    now.picked[place], now.pick_norms[place] = now.phi[rows], now.norms[rows]


def _round(now: Standing, done: int, size: int, run: Run) -> int:
    """Adds picks after the first `done`; how many."""
    rows, bound = _frontier(now.closest, size)
    if now.closest[rows].max() == 0:  # copies of picks, wherever one looks
        rest = np.flatnonzero(now.closest == 0)[: len(now.picks) - done]
        _add(now, rest, np.zeros(len(rest)), done)
        return len(rest)
    rows = rows[np.argsort(now.seen[rows], kind="stable")]

    def renew(first: int) -> None:
        _refresh(now, rows[first : first + _TILE], done, bound)

    run(renew, len(rows), _TILE)
    keys = _keys(now.closest[rows], rows)
    live = keys > bound
    rows, bound = _highest(rows[live], keys[live], _LIVE, bound)
    return _choose(now, np.sort(rows), done, bound, run) if len(rows) else 0


def _keys(
    closest: Int32[np.ndarray, "m"], rows: Int64[np.ndarray, "m"]
) -> Int64[np.ndarray, "m"]:
    """One number that orders rows: the farther the higher, the lowest of equal rows."""
    return (closest.astype(np.int64) << 32) - rows


_NOTHING = int(np.iinfo(np.int64).min)


def _frontier(
    closest: Int32[np.ndarray, "N"], size: int
) -> tuple[Int64[np.ndarray, "m"], int]:
    """The `size` highest rows (all, where there are no more), and the key of the next.

    Counting heights first leaves few rows to order: three milliseconds for 1.35 million
    rows, where a partition of all takes 34.
    """
    counts = np.zeros((_UNSEEN >> _SHIFT) + 1, np.int64)
    count_by_height(closest, _SHIFT, counts)
    above = np.cumsum(counts[::-1])[::-1]
    step = max(0, int(np.searchsorted(-above, -size, side="left")) - 1)
    rows = np.flatnonzero(closest >= step << _SHIFT)
    return _highest(rows, _keys(closest[rows], rows), size, _NOTHING)


def _highest(
    rows: Int64[np.ndarray, "m"], keys: Int64[np.ndarray, "m"], size: int, bound: int
) -> tuple[Int64[np.ndarray, "kept"], int]:
    """The `size` rows with the highest keys, and the highest key left out."""
    if len(rows) <= size:
        return rows, bound
    order = np.argpartition(-keys, size)
    return rows[order[:size]], int(keys[order[size]])


def _refresh(
    now: Standing, rows: Int64[np.ndarray, "m"], done: int, bound: int
) -> None:
    """Brings rows, ordered by `seen`, up to date, or to where they fall behind.

    A row behind the bound cannot be picked in this round, so it may stay stale: its
    value is right for the picks it has seen.
    """
    values = now.phi[rows].astype(np.float32)
    norms, closest, seen = now.norms[rows], now.closest[rows], now.seen[rows]
    buffer = np.empty(len(rows) * _PICKS, np.float32)
    for first in range(int(seen[0]), done, _PICKS):
        last = min(first + _PICKS, done)
        some = int(np.searchsorted(seen, last))  # the others have seen these picks
        dots = buffer[: some * (last - first)].reshape(some, last - first)
        _multiply(values[:some], now.picked[first:last], dots)
        lower(dots, now.pick_norms[first:last], norms[:some], closest[:some])
        ahead = _keys(closest, rows) > bound
        if ahead.sum() < len(rows) - len(rows) // 8:
            behind = ~ahead
            now.closest[rows[behind]] = closest[behind]
            now.seen[rows[behind]] = np.maximum(seen[behind], last)
            rows, values, norms = rows[ahead], values[ahead], norms[ahead]
            closest, seen = closest[ahead], seen[ahead]
        if not len(rows):
            return
    now.closest[rows], now.seen[rows] = closest, done


def _multiply(
    rows: Float32[np.ndarray, "n D"],
    picks: Float32[np.ndarray, "m D"],
    out: Float32[np.ndarray, "n m"],
) -> None:
    """Products of all pairs; exact, because both sides hold integers of the grid.

    Some BLAS builds also compute in lanes that belong to no entry, and what lies there
    may raise floating-point flags that say nothing about the result.
    """
    with np.errstate(all="ignore"):
        np.dot(rows, picks.T, out=out)


def _choose(
    now: Standing, rows: Int64[np.ndarray, "m"], done: int, bound: int, run: Run
) -> int:
    """Greedy picks among up-to-date rows (ascending) that beat the bound."""
    values = now.phi[rows].astype(np.float32)
    dots = np.empty((len(rows), len(rows)), np.float32)

    def multiply(first: int) -> None:
        last = first + _TILE
        _multiply(values[first:last], values, dots[first:last])

    run(multiply, len(rows), _TILE)
    room = min(len(now.picks) - done, len(rows))
    order, squares = np.empty(room, np.int64), np.empty(room, np.int32)
    closest = now.closest[rows]
    height, row = (-1, 0) if bound == _NOTHING else _height_and_row(bound)
    made = greedy(dots, now.norms[rows], rows, closest, height, row, order, squares)
    _add(now, rows[order[:made]], squares[:made], done)
    now.closest[rows], now.seen[rows] = closest, done + made
    return made


def _height_and_row(key: int) -> tuple[int, int]:
    """What `_keys` made a key of."""
    height = -(-key >> 32)
    return height, (height << 32) - key
