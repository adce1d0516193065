"""Passes over the rows on the devices of a mesh, in jax: the numbers of `blocks`.

Rows lie on the devices as 16-bit integers, sharded by chunks; centroids go to every
device, tile by tile. A device takes a block of its rows and runs over the tiles, and
keeps for each row the best so far, so no product of all rows and all centroids exists.
Sums of clusters are 32-bit integers, added up over the devices: a chunk has so few
rows that they cannot overflow. The host adds chunks up in 64 bits.

Limited to near cells, a pass computes all products and leaves out those of other
cells, as an accelerator multiplies faster than it sorts rows by cell. Several processes
would each compute everything on their own devices. Run so far on CPU devices only; on
GPUs and TPUs precision `HIGHEST` should be exact as well.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as Spec
from jaxtyping import Int16, Int64

from routejax.selection.clustering.blocks import Owners
from routejax.selection.clustering.exact import (
    SHIFT,
    WORST,
    Centroids,
    Gaps,
    Labels,
    squared_lengths,
    tile,
)

_AXIS = "rows"
_CHUNK = 2**18  # rows: times 4096, the largest coordinate, less than 2^31
_BLOCK = 8192  # rows of a device at a time: products of 32 MB in a full pass
_WIDE = 1024  # centroids of a tile in a full pass
_NOBODY = -1  # cell of a tile that fills up
_ROWS, _SAME = Spec(_AXIS), Spec()


class Tiles(NamedTuple):
    """Tiles of one width, as `exact.Tile`; missing centroids lose against all others.

    Attributes:
        ids, shifted, odd [tiles w]: ids, 2^23 - h and p of the centroids.
        columns [tiles R w]: their coordinates.
        cell [tiles]: the cell of the tile's centroids; in a full pass 0.
    """

    ids: Any
    columns: Any
    shifted: Any
    odd: Any
    cell: Any


class Shards:
    """Rows of a pool on devices, and the passes over them that `two_level` asks for."""

    def __init__(
        self,
        rows: Int16[np.ndarray, "N R"],
        batch: int,
        threads: int = 1,
        mesh: Mesh | None = None,
    ) -> None:
        del threads  # of the host, which has nothing to do here
        self.mesh = mesh or Mesh(np.array(jax.local_devices()), (_AXIS,))
        self.count = len(rows)
        self.squares = squared_lengths(rows)
        self.block, self.chunk = _sizes(len(rows), batch, self.mesh.devices.size)
        self.rows = [self._placed(rows[at], 0) for at in self._chunks()]
        self.cells = 0
        self.probes: list[Any] = []

    def probe(self, cells: Centroids, count: int) -> tuple[Labels, Gaps]:
        """As `Blocks.probe`."""
        self.cells = len(cells)
        whole = _tiles(cells, [np.arange(self.cells)], [0], self.cells, 1)
        self.probes, scores = [], []
        for rows in self.rows:
            probes, best = _probed(
                rows, whole, mesh=self.mesh, block=self.block, count=count
            )
            self.probes.append(probes)
            scores.append(best)
        return self._host([p[:, 0] for p in self.probes]), self._gaps(scores)

    def nearest(
        self, centroids: Centroids, owners: Owners | None = None
    ) -> tuple[Labels, Gaps]:
        """As `Blocks.nearest`."""
        if owners is None:
            tiles = _all(centroids)
        else:
            tiles = _by_cell(centroids, owners, self.cells)
        found = []
        for at, rows in enumerate(self.rows):
            probes = self.probes[at] if owners is not None else _everything(rows)
            found.append(
                _nearest(rows, probes, tiles, mesh=self.mesh, block=self.block)
            )
        labels, scores = zip(*found, strict=True)
        return self._host(labels), self._gaps(scores)

    def sums(self, labels: Labels, k: int) -> Int64[np.ndarray, "K R"]:
        """As `Blocks.sums`."""
        total = np.zeros((k, self.rows[0].shape[1]), np.int64)
        for at, rows in zip(self._chunks(), self.rows, strict=True):
            of = self._placed(labels[at], k)
            total += np.asarray(_sums(rows, of, mesh=self.mesh, k=k))
        return total

    def _chunks(self) -> list[slice]:
        starts = range(0, self.count, self.chunk)
        return [slice(start, start + self.chunk) for start in starts]

    def _placed(self, values: np.ndarray, filler: int) -> Any:
        """Values of one chunk on the devices, filled up to the length of a chunk."""
        room = [(0, self.chunk - len(values))] + [(0, 0)] * (values.ndim - 1)
        filled = np.pad(values, room, constant_values=filler)
        return jax.device_put(filled, NamedSharding(self.mesh, _ROWS))

    def _host(self, chunks: Any) -> Labels:
        return np.concatenate([np.asarray(chunk) for chunk in chunks])[: self.count]

    def _gaps(self, chunks: Any) -> Gaps:
        scores = self._host(chunks)
        return np.where(scores != WORST, self.squares - scores, np.int32(-1))


def _sizes(count: int, batch: int, devices: int) -> tuple[int, int]:
    """Rows of a block of one device, and of a chunk of all: as even as blocks allow."""
    block = min(batch, _BLOCK, _CHUNK // devices, -(-count // devices))
    blocks = -(-count // (block * devices))
    chunks = -(-blocks // (_CHUNK // (block * devices)))
    return block, -(-blocks // chunks) * block * devices


def _tiles(
    centroids: Centroids,
    parts: list[np.ndarray],
    cells: list[int],
    width: int,
    count: int,
) -> Tiles:
    """`count` tiles of one width, some of which hold nothing."""
    features = centroids.shape[1]
    out = Tiles(
        ids=np.full((count, width), len(centroids), np.int32),
        columns=np.zeros((count, features, width), np.float32),
        shifted=np.full((count, width), -4 * SHIFT, np.float32),
        odd=np.zeros((count, width), np.int32),
        cell=np.full(count, _NOBODY, np.int32),
    )
    for at, (ids, cell) in enumerate(zip(parts, cells, strict=True)):
        one = tile(centroids, ids)
        inside = slice(0, len(ids))
        out.ids[at, inside] = one.ids
        out.columns[at, :, inside] = one.columns[:-1]
        out.shifted[at, inside] = one.columns[-1]
        out.odd[at, inside] = one.odd
        out.cell[at] = cell
    return out


def _all(centroids: Centroids) -> Tiles:
    width = min(_WIDE, len(centroids))
    parts = _cut(np.arange(len(centroids)), width)
    return _tiles(centroids, parts, [0] * len(parts), width, len(parts))


def _by_cell(centroids: Centroids, owners: Owners, cells: int) -> Tiles:
    """Tiles of one cell each, as many for any `owners`: one shape is compiled.

    They are about as wide as a cell has centroids, so at most about half of all places
    are left free.
    """
    width = 1 << (-(-len(centroids) // cells) - 1).bit_length()
    parts, of = [], []
    for cell in range(cells):
        cut = _cut(np.flatnonzero(owners == cell), width)
        parts += cut
        of += [cell] * len(cut)
    return _tiles(centroids, parts, of, width, cells + len(centroids) // width)


def _cut(ids: np.ndarray, width: int) -> list[np.ndarray]:
    return [ids[start : start + width] for start in range(0, len(ids), width)]


def _everything(rows: Any) -> Any:
    """Probes with which every row counts every tile of a full pass."""
    return jnp.zeros_like(rows[:, :1], jnp.int32)


def _over_rows(body: Any, mesh: Mesh, sharded: int, same: int, out: Any) -> Any:
    """`body` on every device's share of the first `sharded` arguments."""
    return jax.shard_map(
        body,
        mesh=mesh,
        in_specs=(_ROWS,) * sharded + (_SAME,) * same,
        out_specs=out,
        check_vma=False,
    )


def _by_blocks(body: Any, block: int, *arrays: Any) -> Any:
    """`body` on blocks of the rows of the arrays, one after the other."""
    cut = [a.reshape(-1, block, *a.shape[1:]) for a in arrays]
    found = lax.map(lambda some: body(*some), cut)
    return jax.tree.map(lambda a: a.reshape(-1, *a.shape[2:]), found)


@functools.partial(jax.jit, static_argnames=("mesh", "block"))
def _nearest(rows: Any, probes: Any, tiles: Tiles, *, mesh: Mesh, block: int) -> Any:
    """Ids and scores of the best centroids; WORST where a row's cells hold none."""

    places = jnp.arange(tiles.ids.shape[1], dtype=jnp.int32)

    def of_block(tiles: Tiles, rows: Any, probes: Any) -> Any:
        def improve(best: Any, one: Tiles) -> Any:
            ids, scores = best
            s = _shifted_scores(rows, one)
            largest = s.max(axis=1, keepdims=True)
            # The first of the largest; argmax is several times slower on CPUs.
            first = jnp.where(s == largest, places, len(places)).min(axis=1)
            new = 2 * largest[:, 0].astype(jnp.int32) - one.odd[first] - 2 * SHIFT
            new_ids = one.ids[first]
            better = (new > scores) | ((new == scores) & (new_ids < ids))
            better &= (probes == one.cell).any(axis=1)
            return (
                jnp.where(better, new_ids, ids),
                jnp.where(better, new, scores),
            ), None

        nothing = jnp.zeros(block, jnp.int32), jnp.full(block, WORST, jnp.int32)
        return lax.scan(improve, nothing, tiles)[0]

    def local(rows: Any, probes: Any, tiles: Tiles) -> Any:
        return _by_blocks(functools.partial(of_block, tiles), block, rows, probes)

    return _over_rows(local, mesh, 2, 1, (_ROWS, _ROWS))(rows, probes, tiles)


@functools.partial(jax.jit, static_argnames=("mesh", "block", "count"))
def _probed(rows: Any, whole: Tiles, *, mesh: Mesh, block: int, count: int) -> Any:
    """Ids of the nearest cells, and the score of the first."""

    def of_block(whole: Tiles, rows: Any) -> Any:
        one = jax.tree.map(lambda a: a[0], whole)
        largest, places = lax.top_k(
            _shifted_scores(rows, one), count
        )  # ties: the first
        scores = 2 * largest[:, 0].astype(jnp.int32) - one.odd[places[:, 0]]
        return one.ids[places], scores - 2 * SHIFT

    def local(rows: Any, whole: Tiles) -> Any:
        return _by_blocks(functools.partial(of_block, whole), block, rows)

    return _over_rows(local, mesh, 1, 1, (_ROWS, _ROWS))(rows, whole)


def _shifted_scores(rows: Any, one: Tiles) -> Any:
    """s of a block of rows and the centroids of a tile; see `exact`."""
    dots = jnp.dot(
        rows.astype(jnp.float32), one.columns, precision=lax.Precision.HIGHEST
    )
    return dots + one.shifted


@functools.partial(jax.jit, static_argnames=("mesh", "k"))
def _sums(rows: Any, labels: Any, *, mesh: Mesh, k: int) -> Any:
    """Sums of the rows by label, on every device the same; label k counts nowhere."""

    def local(rows: Any, labels: Any) -> Any:
        own = jax.ops.segment_sum(rows.astype(jnp.int32), labels, num_segments=k)
        return lax.psum(own, _AXIS)

    return _over_rows(local, mesh, 2, 0, _SAME)(rows, labels)
