"""Everything a run keeps on disk: atomic files, finished stages, and checkpoints.

A stage owns a folder. Its key is a hash of all that decides its outputs: its part of
the config, the hashes of the files it reads, and the code. A folder with the same key
and intact outputs is finished; one with the same key and no outputs goes on from its
checkpoints; one with another key is made anew. Left out: remote file systems, which
have no rename; checkpoints go through Orbax and may live in a bucket.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from routejax.errors import UserError

_MARK = "stage.json"
_KEY = "stage.key"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def canonical(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal values give equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def content_hash(value: Any) -> str:
    return sha256(canonical(value).encode())


def code_hash(package: Path = Path(__file__).parent) -> str:
    """SHA-256 over every source file of routejax, by path."""
    files = sorted(p for p in package.rglob("*") if p.suffix in (".py", ".css"))
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
        with temporary.open("wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise disk_error(error, path) from error
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path: Path, value: Any) -> None:
    """Readable JSON; a NaN is a defect and raises ValueError."""
    write(path, json.dumps(value, indent=1, allow_nan=False) + "\n")


def write_parquet(path: Path, table: pa.Table) -> None:
    """One Parquet file, zstd; the bytes depend on the rows and pyarrow's version."""
    buffer = pa.BufferOutputStream()
    pq.write_table(table.combine_chunks(), buffer, compression="zstd")
    write(path, buffer.getvalue().to_pybytes())


def read_json(path: Path) -> Any:
    return json.loads(path.read_text())


def disk_error(error: OSError, path: Path) -> UserError:
    """The error of a failed write, in words a user can act on."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
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
    path = root / "config.json"
    if not path.exists():
        write_json(path, config)
        return
    changed = list(differences(read_json(path), json.loads(json.dumps(config))))
    if changed:
        raise UserError(
            f"{root} belongs to a run with another config; it differs in "
            f"{'; '.join(changed[:5])}{' …' if len(changed) > 5 else ''}. "
            "Choose another --workdir, or delete this one."
        )


def differences(old: Any, new: Any, at: str = "") -> Iterator[str]:
    """Where two trees of JSON differ, one line each."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from differences(old.get(key), new.get(key), f"{at}.{key}".strip("."))
    elif old != new:
        yield f"{at}: {old!r} there, {new!r} now"


def stage(
    folder: Path, inputs: Mapping[str, Any], work: Callable[[Path], None]
) -> dict[str, str]:
    """SHA-256 of each output file of the stage, by name; runs `work` if it must.

    `work` gets the folder and writes its outputs there; checkpoints go in a folder
    named `checkpoints` and parts of outputs in one named `parts`, which are not outputs
    and are removed at the end.
    """
    key = content_hash(inputs)
    mark = folder / _MARK
    if mark.exists():
        done = read_json(mark)
        if done["key"] == key and done["outputs"] == _outputs(folder):
            return done["outputs"]
        mark.unlink()
    started = folder / _KEY
    if not started.exists() or started.read_text() != key:
        shutil.rmtree(folder, ignore_errors=True)
        write(started, key)
    work(folder)
    for name in ("checkpoints", "parts"):
        shutil.rmtree(folder / name, ignore_errors=True)
    outputs = _outputs(folder)
    write_json(mark, {"key": key, "outputs": outputs})
    return outputs


def is_finished(folder: Path, inputs: Mapping[str, Any]) -> bool:
    """Whether `stage` would return at once."""
    mark = folder / _MARK
    if not mark.exists():
        return False
    done = read_json(mark)
    return done["key"] == content_hash(inputs) and done["outputs"] == _outputs(folder)


def _outputs(folder: Path) -> dict[str, str]:
    files = (
        p
        for p in folder.iterdir()
        if p.is_file() and not p.name.startswith(".") and p.name not in (_MARK, _KEY)
    )
    # Times differ between runs, so they are kept but are no part of the content.
    return {
        p.name: sha256(p.read_bytes()) for p in sorted(files) if p.suffix != ".times"
    }
