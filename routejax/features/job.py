"""What there is to do: a pool cut into parts, a family, and the rules of a testbed."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from routejax import fingerprints, pools
from routejax.errors import UserError
from routejax.fingerprints import Family, engines
from routejax.pools import Index, Part, Pool

MOMENTS_OVER = ("all", "eligible")
# Of a part, whose features are held as a whole, and several times while it is written.
MOST_ROWS = 16_384
MOST_THREADS = 256


@dataclasses.dataclass(frozen=True)
class Job:
    """Everything that decides the output, and the pool it is made from.

    Attributes:
        family: name of the fingerprint family.
        testbed: name of the eligibility rules (`pools.TESTBEDS`).
        moments_over: "all" rows that can be read, as for released corpora, or the
            "eligible" ones (paper A.2 and C.2).
        engine: arrays or reference, chosen for the whole pool; it changes no byte.
        layout, columns: how the pool was said to be laid out.
        pool, parts: the input, and its pieces of at most `rows_per_part` rows.
    """

    family: str
    testbed: str
    moments_over: str
    engine: str
    layout: str
    columns: Mapping[str, str]
    rows_per_part: int
    pool: Pool
    parts: tuple[Part, ...]

    @property
    def of(self) -> Family:
        """The family itself."""
        return fingerprints.FAMILIES[self.family]

    @property
    def rules(self) -> tuple[str, ...]:
        return pools.TESTBEDS[self.testbed]

    @property
    def files(self) -> tuple[str, ...]:
        """The files of the pool, in order."""
        return tuple(source.index.path for source in self.pool.sources)

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns of the pool that are read."""
        needed = {*self.of.reads, *pools.columns_for(self.rules)}
        needed |= {"prompt_id", "group", "span"}
        return tuple(n for n in pools.STREAM_SCHEMA.names if n in needed)

    def settings(self) -> dict[str, Any]:
        """What decides every byte of the output, beside the files and the code."""
        return {
            "family": self.family,
            "version": self.of.version,
            "testbed": self.testbed,
            "rules": self.rules,
            "moments_over": self.moments_over,
            "rows_per_part": self.rows_per_part,
            "layout": self.layout,
            "columns": dict(self.columns),
        }


def open_job(
    paths: str | Sequence[str],
    *,
    family: str,
    testbed: str,
    layout: str = "auto",
    columns: Mapping[str, str | None] | None = None,
    moments_over: str = "all",
    engine: str = "auto",
    rows_per_part: int = 4096,
) -> Job:
    """A job over the pool that `paths` name (`pools.open_pool`), everything checked.

    `columns` without a value count as not given.

    Raises:
        UserError: an unknown name, a number out of its range, an engine that cannot
            run, or a pool that cannot be read.
    """
    _check("family", family, fingerprints.FAMILIES)
    _check("testbed", testbed, pools.TESTBEDS)
    _check("moments_over", moments_over, MOMENTS_OVER)
    at_least_one("rows_per_part", rows_per_part, at_most=MOST_ROWS)
    listed = [paths] if isinstance(paths, str) else list(paths)
    if not any(listed):
        raise UserError("no pool was named; set pool.paths to files, folders or globs")
    placed = {field: name for field, name in (columns or {}).items() if name}
    engines.choose(family, engine, 0)  # a mistake is said before files are opened
    pool = pools.open_pool(listed, layout, placed)
    size = sum(_text_bytes(source.index) for source in pool.sources)
    return Job(
        family,
        testbed,
        moments_over,
        engines.choose(family, engine, size),
        layout,
        placed,
        rows_per_part,
        pool,
        pool.parts(rows_per_part),
    )


def at_least_one(field: str, value: Any, *, at_most: int) -> int:
    """The value, a whole number from 1 on.

    Raises:
        UserError: it is not, or above `at_most`.
    """
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or not 1 <= value <= at_most:
        raise UserError(
            f"{field} must be a whole number in 1..{at_most}, got {value!r}"
        )
    return value


def _text_bytes(found: Index) -> int:
    """About how much text a file holds: not compressed, where the file knows it."""
    return max(Path(found.path).stat().st_size, found.rows * found.row_bytes)


def _check(field: str, value: str, known: Iterable[str]) -> None:
    names = tuple(known)
    if value not in names:
        raise UserError(f"{field} must be one of {', '.join(names)}, got {value!r}")
