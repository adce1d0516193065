"""Which files a pool consists of, and what kind each is, told by its first bytes."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Int64

from routejax.errors import UserError

# Taken from folders; a file that is named is looked into whatever its name.
SUFFIXES = (
    *(".parquet", ".jsonl", ".ndjson", ".jsonl.gz", ".jsonl.zst"),
    *(".ndjson.gz", ".ndjson.zst", ".arrow", ".ipc", ".feather"),
)
# First bytes → kind; anything else must be lines of JSON.
_MAGIC = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow_file",
    b"\xff\xff\xff\xff": "arrow_stream",
    b"\x1f\x8b": "jsonl_gzip",
    b"\x28\xb5\x2f\xfd": "jsonl_zstd",
}
_PROMISED = {
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".ipc": "arrow",
    ".feather": "arrow",
    ".gz": "jsonl_gzip",
    ".zst": "jsonl_zstd",
}


class Index(NamedTuple):
    """What one look over a file finds, before anything is read from it.

    Attributes:
        path, rows: the file and its input rows.
        names: its columns; for lines of JSON the keys of its first rows.
        starts: where reading can begin: the first rows of its row groups or batches;
            for lines the byte of every row that `lines.EVERY` divides.
        schema: of a file with typed columns.
        complete: columns of which the file itself says that no value is missing.
        row_bytes: mean size of a row, where the file knows it.
    """

    path: str
    rows: int
    names: tuple[str, ...]
    starts: Int64[np.ndarray, "S"]
    schema: pa.Schema | None = None
    complete: frozenset[str] = frozenset()
    row_bytes: int = 0


def find_files(paths: str | Path | Sequence[str | Path]) -> tuple[str, ...]:
    """The files that paths, folders (with all below them) and globs name, sorted, each
    once, by whatever paths it is reached.

    Raises:
        UserError: no path; one that is not there; a folder or glob without a pool file.
    """
    listed = [paths] if isinstance(paths, str | Path) else list(paths)
    if not listed:
        raise UserError("no pool was named; name files, folders or globs")
    try:
        found = sorted({str(file) for path in listed for file in _expand(str(path))})
    except (OSError, RuntimeError) as error:
        raise UserError(f"the pool's paths cannot be followed: {error}") from error
    one_name = {str(Path(file).resolve()): file for file in reversed(found)}
    return tuple(sorted(one_name.values()))


def kind_of(path: str) -> str:
    """The kind of a file, a name among those of `reading.KINDS`.

    Raises:
        UserError: an empty file; one that is not what its name says.
    """
    try:
        with Path(path).open("rb") as file:
            head = file.read(8)
    except OSError as error:
        raise UserError(
            f"pool file {path} cannot be read ({error.strerror}); check permissions"
        ) from error
    if not head:
        raise UserError(f"pool file {path} is empty (0 bytes); write it again")
    if head.startswith(b"PARE"):
        raise UserError(f"pool file {path} is encrypted; write it without encryption")
    kind = next((k for m, k in _MAGIC.items() if head.startswith(m)), "jsonl")
    promised = _PROMISED.get(Path(path).suffix, "")
    if not kind.startswith(promised):
        raise UserError(
            f"pool file {path} is not what its name says (it begins with {head!r}); "
            "copy it again or rename it"
        )
    return kind


def state_of(path: str) -> tuple[int, int]:
    """Size of a file in bytes, and when it was changed in nanoseconds.

    Raises:
        UserError: it is not there any more, or may not be looked at.
    """
    try:
        stat = Path(path).stat()
    except OSError as error:
        raise UserError(
            f"pool file {path} cannot be read ({error.strerror}); bring it back and "
            "run the same command again"
        ) from error
    return stat.st_size, stat.st_mtime_ns


def _expand(path: str) -> list[Path]:
    here = Path(path).expanduser()
    if here.is_file():
        return [here]
    if here.is_dir():
        found = _below(here)
    elif glob.has_magic(path):
        matches = [Path(p) for p in glob.glob(str(here), recursive=True)]  # noqa: PTH207
        found = [p for p in matches if p.is_file()]
        found += [file for p in matches if p.is_dir() for file in _below(p)]
    else:
        what = "is no regular file" if os.path.lexists(here) else "does not exist"
        raise UserError(f"pool file {path} {what}; name local files, folders or globs")
    if not found:
        raise UserError(
            f"there is no pool file at {path}; in folders these are taken: "
            f"{', '.join('*' + suffix for suffix in SUFFIXES)}"
        )
    return found


def _below(folder: Path) -> list[Path]:
    """Pool files anywhere in a folder, hidden ones left out."""
    inside = ((file, file.relative_to(folder).parts) for file in folder.rglob("*"))
    return [
        file
        for file, parts in inside
        if file.name.endswith(SUFFIXES)
        and file.is_file()
        and not any(part.startswith(".") for part in parts)
    ]
