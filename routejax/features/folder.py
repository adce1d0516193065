"""The folder of a job: where its files lie, and how several processes share it.

    DIR/job.json                     what decides every byte (`claim`)
    DIR/parts/part-00000.parquet     features of a part's rows
    DIR/parts/part-00000.json        its sums and counts; there when the part is done
    DIR/rows.parquet, rejected.parquet, moments.parquet, manifest.json   (`collect`)

A file appears whole or not at all, so a process may be killed at any moment.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from routejax import workdir
from routejax.errors import UserError
from routejax.pools import Part

PARTS = "parts"


def part_name(part: Part) -> str:
    return f"part-{part.number:05d}"


def part_path(root: Path, part: Part, kind: str) -> Path:
    """Of a part's file, `kind` is parquet or json."""
    return root / PARTS / f"{part_name(part)}.{kind}"


def is_done(root: Path, part: Part) -> bool:
    """Whether the part's files are there, made of the rows that the part has now.

    Only what the JSON says is looked at; `collect` looks at the rows themselves.
    """
    if not part_path(root, part, "parquet").exists():
        return False
    try:
        facts = json.loads(part_path(root, part, "json").read_bytes())
        made = facts["part"], facts["file"]
        entries = facts["rows"] + len(facts["unreadable"])
    except (OSError, ValueError, KeyError, TypeError):
        return False  # not there, or not as it was written: it is made anew
    # a row may hold several solutions, but it is there at least once
    return made == (part.number, part.path) and entries >= part.rows


def examples(root: Path) -> tuple[Path, ...]:
    """Files of every kind that a job writes in places where a pool could have some."""
    names = ("rows.parquet", "rejected.parquet", "moments.parquet")
    part = Part(0, "", 0, 0)
    return (*(root / name for name in names), part_path(root, part, "parquet"))


def make(root: Path) -> None:
    """The folder, if it is not there.

    Raises:
        UserError: it cannot be made.
    """
    try:
        (root / PARTS).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise workdir.disk_error(error, root) from error


def write(path: Path, data: bytes) -> None:
    """Writes the whole file or nothing, also where others write the same file at once.

    Raises:
        UserError: the disk is full or the folder cannot be written.
    """
    writer = f"{socket.gethostname()}-{os.getpid()}-{threading.get_ident()}"
    temporary = path.with_name(f".{path.name}.{writer}.tmp")
    try:
        try:
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        # swept by a process that has found every part done: then this one is as well
        if isinstance(error, FileNotFoundError) and path.exists():
            return
        raise workdir.disk_error(error, path) from error


def sweep(root: Path) -> None:
    """Removes what killed processes left of parts that are done by now."""
    for leftover in (root / PARTS).glob(".*.tmp"):
        leftover.unlink(missing_ok=True)


def file_sha256(path: str | Path) -> str:
    """SHA-256 of a file's bytes, read in pieces."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def locked(path: Path, *, wait: bool) -> Iterator[None]:
    """Holds a lock that other processes respect; the system frees it after a kill.

    Raises:
        UserError: another process holds it and `wait` is false; the folder cannot be
            written, or its file system knows no locks.
    """
    try:
        file = path.open("a")
    except OSError as error:
        raise workdir.disk_error(error, path) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError as error:
            raise UserError(
                f"{path.parent} is in use by another routejax process that makes the "
                "same shard; wait for it, or choose another --workdir or shard"
            ) from error
        except OSError as error:
            raise UserError(
                f"{path.parent} cannot be locked ({error.strerror}); choose a "
                "--workdir on a file system with locks"
            ) from error
        yield
