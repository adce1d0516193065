"""Which files the paths of a pool name: files, folders with all below them, globs.

A path that leads nowhere, or where one may not look, is an error: what is passed over
in silence are rows that nobody misses.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from routejax.errors import UserError

# Taken from folders; a file that is named is looked into whatever its name.
SUFFIXES = (
    *(".parquet", ".jsonl", ".ndjson", ".jsonl.gz", ".jsonl.zst"),
    *(".ndjson.gz", ".ndjson.zst", ".arrow", ".ipc", ".feather"),
)
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)


class Found(NamedTuple):
    """Each file once, sorted by path, and the other paths that lead to one of them."""

    files: tuple[str, ...]
    repeated: tuple[str, ...]


def find_files(paths: str | Path | Sequence[str | Path]) -> Found:
    """The files that paths, folders (with all below them) and globs name.

    A file that is reached by several paths, links among them, keeps the shortest.

    Raises:
        UserError: no path; one that is not there or must not be read, or is not UTF-8;
            a folder or glob without a pool file.
    """
    listed = [paths] if isinstance(paths, str | Path) else list(paths)
    if not listed:
        raise UserError("no pool was named; name files, folders or globs")
    one_file: dict[str, list[str]] = {}
    # a glob such as DIR/** matches a folder and what is in it: that is no repetition
    named = (set(map(str, _expand(str(path)))) for path in listed)
    for file in (file for files in named for file in files):
        one_file.setdefault(os.path.realpath(file), []).append(_require_utf8(file))
    kept, repeated = [], []
    for same in one_file.values():
        first, *others = sorted(same, key=lambda path: (path.count(os.sep), path))
        kept.append(first)
        repeated += others
    return Found(tuple(sorted(kept)), tuple(sorted(repeated)))


def parse_paths(text: str) -> list[str]:
    """The paths that commas separate; a text that is a path itself is one, commas and
    all."""
    if os.path.exists(os.path.expanduser(text)):  # noqa: PTH110, PTH111 - never raise
        return [text]
    return [path.strip() for path in text.split(",") if path.strip()]


def require_apart(paths: Sequence[str], root: Path, files: Sequence[Path]) -> None:
    """A pool's folders and globs name none of the files of a run in the folder `root`,
    which would be taken for a part of the pool the next time.

    Raises:
        UserError: one does.
    """
    for file in files:
        if path := naming(paths, file):
            raise UserError(
                f"the folder of the run, {root}, lies in the pool's folder {path}; "
                "choose another --workdir"
            )


def naming(paths: Sequence[str], file: Path) -> str | None:
    """The first of the paths that would name `file` if it were there, None if none."""
    wanted = Path(os.path.realpath(file)), Path(os.path.abspath(file))  # noqa: PTH100
    return next((p for p in paths if any(_names(p, one) for one in wanted)), None)


def _names(path: str, file: Path) -> bool:
    here = Path(os.path.expanduser(path))  # noqa: PTH111 - of nobody: left as it is
    if here.is_dir():
        folder = Path(os.path.realpath(here))
        return file.is_relative_to(folder) and not _hidden(file.relative_to(folder))
    if not glob.has_magic(path):
        return False
    for pattern, part in zip(here.absolute().parts, file.parts, strict=False):
        if pattern == "**":
            return True
        shown = pattern.startswith(".") or not part.startswith(".")
        if not (shown and fnmatchcase(part, pattern)):
            return False
    return len(here.absolute().parts) <= len(file.parts)


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _expand(path: str) -> list[Path]:
    if _ADDRESS.match(path):
        raise UserError(
            f"pool path {path} is an address, but only files of this machine are read; "
            "copy them here, or mount the place where they are"
        )
    try:
        here = Path(path).expanduser()
    except RuntimeError as error:
        raise UserError(f"pool path {path}: {error}; name the whole path") from error
    with _permitted(path):
        if here.is_file():
            return [here]
        if here.is_dir():
            found = _below(here)
        elif glob.has_magic(path):
            found = _matching(here)
        else:
            raise UserError(f"pool file {path} {_fault(here)}")
    if not found:
        raise UserError(
            f"there is no pool file at {path}; in folders these are taken: "
            f"{', '.join('*' + suffix for suffix in SUFFIXES)}"
            f"{'; a name with [ is written with [[]' if '[' in path else ''}"
        )
    return found


def _fault(here: Path) -> str:
    """What is wrong with a path that is neither file nor folder."""
    if here.exists():
        return "is no regular file, but a device, a pipe or a socket; name files"
    if here.is_symlink():
        return "is a link that leads to no regular file; mend or remove it"
    return "does not exist; check the path"


def _matching(here: Path) -> list[Path]:
    """The files that a glob matches, and the pool files below folders that it matches.

    Raises:
        OSError: it matches nothing, and its folder may not be read.
    """
    matches = [Path(p) for p in glob.glob(str(here), recursive=True)]  # noqa: PTH207
    found = [p for p in matches if p.is_file()]
    found += [file for p in matches if p.is_dir() for file in _below(p)]
    if not found:
        plain = [parent for parent in here.parents if not glob.has_magic(str(parent))]
        if plain[0].is_dir():
            os.scandir(plain[0]).close()
    return found


def _below(folder: Path) -> list[Path]:
    """Pool files anywhere in a folder, hidden ones left out.

    Raises:
        OSError: a folder in it may not be read.
    """
    found: list[Path] = []
    for at, folders, names in os.walk(folder, onerror=_raise):
        folders[:] = [name for name in folders if not name.startswith(".")]
        taken = [n for n in names if n.endswith(SUFFIXES) and not n.startswith(".")]
        found += [Path(at) / name for name in taken]
    return [file for file in found if file.is_file()]


def _raise(error: OSError) -> None:
    raise error


@contextmanager
def _permitted(path: str) -> Iterator[None]:
    """Raises: UserError, where the system does not let us look."""
    try:
        yield
    except OSError as error:
        where = error.filename or path
        raise UserError(
            f"pool path {where} cannot be read ({error.strerror or error}); change its "
            "permissions, or name only paths that may be read"
        ) from error


def _require_utf8(path: str) -> str:
    try:
        path.encode()
    except UnicodeEncodeError as error:
        raise UserError(
            f"the name of pool file {path!r} is not UTF-8; rename it"
        ) from error
    return path
