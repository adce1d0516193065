"""Everything a run keeps on disk: atomic files, finished stages, and the run's lock.

A stage owns a folder. Its inputs are all that decides its outputs: its part of the
config, the hashes of the files it reads, and the code. A folder with the same inputs
and intact outputs is finished; one with the same inputs and no outputs goes on from its
checkpoints; one with other inputs is made anew. Left out: remote file systems, which
have no rename; checkpoints go through Orbax and may live in a bucket.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import math
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from routejax.errors import UserError

_MARK = "stage.json"  # written last: what a finished stage left behind
_INPUTS = "inputs.json"  # written first
_SECONDS = "seconds.json"  # times differ between runs, so they are no output
_PASSING = ("checkpoints", "parts")  # folders that only an unfinished stage has
# To be looked at, or thrown away; and checkpoints that were to be kept.
_ASIDE = ("rollouts", "tensorboard", "wandb", "kept")
_FULL = (errno.ENOSPC, errno.EDQUOT)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def canonical(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal values give equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def content_hash(value: Any) -> str:
    return sha256(canonical(value).encode())


def code_hash(package: Path = Path(__file__).parent) -> str:
    """SHA-256 over every source file of routejax, by path."""
    files = sorted(p for p in package.rglob("*") if p.suffix in (".py", ".css", ".js"))
    return content_hash(
        {str(p.relative_to(package)): sha256(p.read_bytes()) for p in files}
    )


def write(path: Path, data: bytes | str) -> None:
    """Writes the whole file or nothing: temporary name, fsync, rename.

    Raises:
        UserError: the disk is full or the folder cannot be written.
    """
    raw = data.encode() if isinstance(data, str) else data
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("wb") as file:
                file.write(raw)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise disk_error(error, path) from error


def write_json(path: Path, value: Any) -> None:
    """Readable JSON; a NaN is a defect and raises ValueError."""
    write(path, json.dumps(value, indent=1, allow_nan=False) + "\n")


def write_parquet(path: Path, table: pa.Table) -> None:
    """One Parquet file, zstd; the bytes depend on the rows and pyarrow's version."""
    buffer = pa.BufferOutputStream()
    pq.write_table(table.combine_chunks(), buffer, compression="zstd")
    write(path, buffer.getvalue().to_pybytes())


def read_json(path: Path, kind: Any = object, *, lost: object = None) -> Any:
    """The value that `write_json` wrote.

    `lost` is what must be made anew where the file is not whole: its folder, if nothing
    else is named.

    Raises:
        UserError: the file is not whole, or its value not of that kind.
    """
    try:
        value = json.loads(path.read_bytes())
        if not isinstance(value, kind):
            raise TypeError(f"its value is a {type(value).__name__}")
    except (ValueError, RecursionError, TypeError, OSError) as error:
        raise UserError(
            f"{path} is damaged ({error}); delete {lost or path.parent} and run the "
            "same command again to make it anew"
        ) from error
    return value


def disk_error(error: OSError, path: Path) -> UserError:
    """The error of a failed write, in words a user can act on."""
    if error.errno in _FULL:
        advice = "free some space and run the same command again; nothing is lost"
    else:
        advice = "choose another --workdir or change its permissions"
    return UserError(f"cannot write {path}: {error.strerror or error}; {advice}")


@contextmanager
def opened(root: Path, config: Mapping[str, Any]) -> Iterator[Path]:
    """The run's folder, made if needed, held by this process alone.

    Raises:
        UserError: it cannot be written, belongs to another config, or is in use.
    """
    try:
        root.mkdir(parents=True, exist_ok=True)
        lock = (root / ".lock").open("a+")
    except OSError as error:
        raise disk_error(error, root) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise UserError(
                f"{root} is in use by another routejax process; "
                "wait for it or choose another --workdir"
            ) from error
        _claim(root, config)
        yield root


def _claim(root: Path, config: Mapping[str, Any]) -> None:
    """Marks the folder as this config's; free until a stage of another one finished."""
    path = root / "config.json"
    if not path.exists() or not any(root.rglob(_MARK)):
        write_json(path, config)
        return
    require_config(root, config)


def require_config(root: Path, config: Mapping[str, Any]) -> None:
    """The folder is one of this config's runs.

    Raises:
        UserError: it is another's; the fields that differ.
    """
    known, wanted = read_json(root / "config.json", dict), as_json(config)
    changed = list(differences(known, wanted, ("there", "now")))
    if changed:
        raise UserError(
            f"{root} belongs to a run with another config; it differs in "
            f"{_some(changed)}. Choose another --workdir, or delete this one"
        )


def as_json(value: Any) -> Any:
    """What `value` is once it has been written and read: tuples become lists."""
    return json.loads(json.dumps(value))


def differences(
    old: Any, new: Any, names: tuple[str, str], at: str = ""
) -> Iterator[str]:
    """Where two trees of JSON differ: "field: 1 <first name>, 2 <second name>"."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            inner = f"{at}.{key}".strip(".")
            yield from differences(old.get(key), new.get(key), names, inner)
    elif old != new:
        yield f"{at}: {old!r} {names[0]}, {new!r} {names[1]}"


def _some(lines: list[str]) -> str:
    return f"{'; '.join(lines[:5])}{' …' if len(lines) > 5 else ''}"


def stage(
    folder: Path,
    inputs: Mapping[str, Any],
    work: Callable[[Path], None],
    say: Callable[[str], None],
) -> dict[str, str]:
    """SHA-256 of each output file of the stage, by name; runs `work` if it must.

    `work` gets the folder and writes its outputs there; checkpoints go in a folder
    named `checkpoints` and parts of outputs in one named `parts`, which are not outputs
    and are removed at the end. Nor are samples and files of logging, which may be
    deleted at any time. Why something finished is made anew goes to `say`.

    Raises:
        UserError: the disk is full. What was finished before stays and is found again.
    """
    finished = begin(folder, inputs, say)
    if finished is not None:
        return finished
    timed(folder, work)
    return finish(folder)


def begin(
    folder: Path, inputs: Mapping[str, Any], say: Callable[[str], None]
) -> dict[str, str] | None:
    """The outputs of a finished stage; else None, and its folder is ready for work."""
    mark, known = folder / _MARK, folder / _INPUTS
    wanted = as_json(inputs)
    if known.exists():
        stale = _stale(folder, inputs_of(folder), wanted)
        if not stale and mark.exists():
            _sweep(folder, _PASSING)
            return _marked(mark)
        if stale:
            say(f"{folder} {stale}; making it anew")
            mark.unlink(missing_ok=True)
            known.unlink()  # before the rest, so that a killed clean-up is seen
    if not known.exists():
        _remove(folder)
        write_json(known, wanted)
    _sweep(folder, ())
    return None


def finish(folder: Path) -> dict[str, str]:
    """Marks the stage as finished with the files it has; their hashes."""
    outputs = _outputs(folder)
    write_json(folder / _MARK, {"outputs": outputs})
    _sweep(folder, _PASSING)
    return outputs


def inputs_of(folder: Path) -> dict[str, Any]:
    """What a stage that was begun is made of."""
    return read_json(folder / _INPUTS, dict)


def _marked(mark: Path) -> dict[str, str]:
    """The outputs that a finished stage left behind."""
    found = read_json(mark, dict)
    if not isinstance(found.get("outputs"), dict):
        raise UserError(
            f"{mark} is damaged (it names no outputs); delete {mark.parent} and run "
            "the same command again to make it anew"
        )
    return found["outputs"]


def seconds(folder: Path) -> float:
    """Time spent in the work of a stage; what a kill cut off is not in it.

    Nor is what a damaged file has lost: no work is done again for the sake of a time.
    """
    path = folder / _SECONDS
    try:
        found = read_json(path, int | float) if path.exists() else 0.0
    except UserError:
        return 0.0
    return found if math.isfinite(found) else 0.0


def _stale(folder: Path, known: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """Why what is there cannot stay, or nothing."""
    other = sorted(k for k in known.keys() | wanted.keys() if _differ(known, wanted, k))
    if other:
        return f"was made with other {', '.join(other)} than now"
    mark = folder / _MARK
    outputs = _marked(mark) if mark.exists() else {}
    damaged = [name for name, sha in outputs.items() if _hash(folder / name) != sha]
    return f"has changed since it was written ({_some(damaged)})" if damaged else ""


def _differ(old: Mapping[str, Any], new: Mapping[str, Any], key: str) -> bool:
    return key not in old or key not in new or old[key] != new[key]


def timed(folder: Path, work: Callable[[Path], None]) -> None:
    """Does the work and adds its time to that of the stage."""
    began = time.monotonic()
    try:
        work(folder)
    except OSError as error:
        if error.errno in _FULL:
            raise disk_error(error, folder) from error
        raise
    finally:
        spent = seconds(folder) + time.monotonic() - began
        with suppress(UserError):  # an error of the work is the one to tell
            write_json(folder / _SECONDS, spent)


def _outputs(folder: Path) -> dict[str, str]:
    """Hashes of all files of the stage itself, also those in folders of its own."""
    names = (path.relative_to(folder) for path in sorted(folder.rglob("*")))
    own = (name for name in names if not _is_passing(name))
    return {str(n): sha for n in own if (sha := _hash(folder / n)) is not None}


def _is_passing(name: Path) -> bool:
    first = name.parts[0]
    return first.startswith(".") or first in (
        *_PASSING,
        *_ASIDE,
        _MARK,
        _INPUTS,
        _SECONDS,
    )


def _hash(path: Path) -> str | None:
    if not path.is_file():
        return None
    with path.open("rb") as file:  # may be larger than memory
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sweep(folder: Path, passing: Iterable[str]) -> None:
    """Removes temporary files that a kill left, and the folders named."""
    for pattern in (".*.tmp", ".*.part"):
        for leftover in folder.glob(pattern):
            leftover.unlink()
    for name in passing:
        _remove(folder / name)


def _remove(folder: Path) -> None:
    try:
        if folder.exists():
            shutil.rmtree(folder)
    except OSError as error:
        raise disk_error(error, folder) from error
