"""What kind a pool file is, told by its first bytes; what one look over it finds."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Int64

from routejax.errors import UserError

LONGEST = 32_000_000  # bytes of a row; longer ones are counted as unreadable

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
        raise UserError(
            f"pool file {path} is encrypted; write it again without encryption"
        )
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


def require_state(path: str, state: tuple[int, int]) -> None:
    """Nothing comes out.

    Raises:
        UserError: the file is not as it was when it was looked over.
    """
    if state_of(path) != state:
        raise UserError(
            f"pool file {path} was changed after it was looked over; let it be "
            "finished and run the same command again"
        )
