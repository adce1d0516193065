"""Vectors beside phi that some selectors work in, made ready when one asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import Int64, Num

from routejax import tokenizer, workdir
from routejax.errors import UserError
from routejax.features.folder import file_sha256
from routejax.pools.chats import contents
from routejax.selection import Grid, Vectors, lexical_vectors, open_vectors
from routejax.selection.columns import texts
from routejax.selection.vectors import ids_beside, rows_of_ids
from routejax.stages.select_features import eligible_rows
from routejax.stages.select_run import SelectRun

_TEXTS = ("id", "prompt", "response", "meta")
Batch = tuple[Int64[np.ndarray, "B"], list[str]]
Made = Grid | Num[np.ndarray, "E R"]


def of_method(
    run: SelectRun, method: str, scratch: Path
) -> dict[str, Vectors | Callable[[], Made]]:
    """The space of a selector by its name; none for those that work in phi.

    Vectors without ids of their own are taken to be in the order of the pool.

    Raises:
        UserError: see `open_vectors` and `tokenizer.encoder`.
    """
    found = run.settings.space_file(method)
    if found is None:
        return {}
    space, path = found
    if space == "lexical":
        return {space: _lexical(run, path, scratch)}
    ids = pq.read_table(run.features / "rows.parquet", columns=["id"])["id"]
    return {space: open_vectors(path, pool_ids=ids, scratch=scratch)}


def require_vectors(run: SelectRun) -> list[str]:
    """What there is to say of files of vectors, before any work is done for them.

    Raises:
        UserError: one that cannot be read or is no matrix; an eligible row without a
            vector. Numbers that are not finite are only found when they are read.
    """
    said = []
    for method in run.settings.methods:
        found = run.settings.space_file(method)
        if found is None or found[0] == "lexical":
            continue
        [vectors] = of_method(run, method, run.root).values()
        assert isinstance(vectors, Vectors)
        table = eligible_rows(run.features)
        rows_of_ids(vectors, texts("ids", table["id"]))
        more = len(vectors.ids) - len(table)
        if vectors.of_pool:
            said.append(
                f"{found[1]} has no ids: its vectors are taken to be in the order of "
                f"the pool; ids beside it would stand in {ids_beside(found[1])[1].name}"
            )
        elif more:
            said.append(f"{found[1]}: {more:,} vectors of other rows are not used")
    return said


def file_hash(path: Path) -> str:
    """SHA-256 of a file or of all files of a folder and their names, and of the ids
    beside it where there are some."""
    if ids := ids_beside(path)[0]:
        return workdir.content_hash([_hash(path), file_sha256(ids)])
    return _hash(path)


def _hash(path: Path) -> str:
    if path.is_file():
        return file_sha256(path)
    inside = (file for file in sorted(path.rglob("*")) if file.is_file())
    return workdir.content_hash(
        {str(file.relative_to(path)): file_sha256(file) for file in inside}
    )


def _lexical(run: SelectRun, path: Path, scratch: Path) -> Callable[[], Made]:
    """What makes vectors of the words of all messages, by the tokenizer in a file."""
    encode = tokenizer.encoder(path)
    exact = run.settings.precision == "exact"

    def make() -> Made:
        table = eligible_rows(run.features)
        return lexical_vectors(
            lambda: _texts(run, table),
            table["id"],
            encode,
            seed=run.settings.seed,
            exact=exact,
            scratch=scratch,
        )

    return make


def _texts(run: SelectRun, table: pa.Table) -> Iterator[Batch]:
    """(rows in order of id, contents of their messages) of the eligible pool."""
    by_place = np.argsort(table["place"].to_numpy())  # rows in the order of the pool
    part, index = (table[n].to_numpy()[by_place] for n in ("part", "index"))
    names = table["id"].take(pa.array(by_place))
    for number in np.unique(part).tolist():
        here = slice(*np.searchsorted(part, [number, number + 1]).tolist())
        done, before = here.start, 0  # rows of the pool, solutions of the part
        for batch in run.job.pool.read(run.job.parts[number], _TEXTS):
            last = here.start + int(
                np.searchsorted(index[here], before + batch.rows.num_rows)
            )
            taken = batch.rows.take(pa.array(index[done:last] - before))
            if not taken["id"].equals(names[done:last].combine_chunks()):
                raise UserError(
                    f"{run.job.parts[number].path} has changed since its fingerprints "
                    "were made; bring it back and run the same command again"
                )
            yield by_place[done:last], list(map(contents, *_columns(taken)))
            done, before = last, before + batch.rows.num_rows


def _columns(batch: pa.RecordBatch) -> list[list[str]]:
    return [batch[name].to_pylist() for name in ("prompt", "response", "meta")]
