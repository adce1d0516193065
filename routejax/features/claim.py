"""Whose folder it is: `job.json` holds what decides its bytes, hashes of the input too.

Hashing reads every input file once. What was hashed is remembered with the file's size
and time of change, so that the other shards, and a run that goes on, only look.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from routejax import pools, workdir
from routejax.errors import UserError
from routejax.features import folder
from routejax.features.job import Job

_JOB = "job.json"
_SEEN = ".inputs.json"  # times of files differ between copies, so this is no output


def claim(root: Path, job: Job) -> dict[str, Any]:
    """What decides the job's bytes; marks the folder as its own, which is made if need
    be, so that other input cannot mix with its parts.

    Raises:
        UserError: it is another job's, an input file has changed, or the folder cannot
            be written.
    """
    folder.make(root)
    with folder.locked(root / ".lock", wait=True):
        seen = _look(root, job)
        inputs = _require_same(root, job, seen)
        workdir.write_json(root / _SEEN, seen)
        if not (root / _JOB).exists():
            workdir.write_json(root / _JOB, inputs)
        return inputs


def is_claimed(root: Path, job: Job) -> bool:
    """Whether the folder is this job's; False where it is nobody's. Writes nothing.

    Raises:
        UserError: it is another job's.
    """
    if not (root / _JOB).exists():
        return False
    _require_same(root, job, _look(root, job))
    return True


def _look(root: Path, job: Job) -> dict[str, dict[str, Any]]:
    """Size, time and hash of each input file, hashed anew where it may have changed."""
    if (root / _JOB).exists():
        _require_equal(root, _without_hashes(_claimed(root)), _plain(job))
    known = _seen(root)
    return {
        source.index.path: _entry(
            source.index.path, source.state, known.get(source.index.path, {})
        )
        for source in job.pool.sources
    }


def _claimed(root: Path) -> dict[str, Any]:
    """What `job.json` says.

    Raises:
        UserError: it is not as it was written.
    """
    inputs = workdir.read_json(root / _JOB)
    if not isinstance(inputs, dict) or not isinstance(inputs.get("files"), dict):
        raise UserError(
            f"{root / _JOB} is not as it was written, so nobody can tell whose parts "
            "are beside it; choose another --workdir, or delete this one"
        )
    return inputs


def _seen(root: Path) -> dict[str, Any]:
    """What is remembered of input files; nothing where that is damaged."""
    try:
        known = json.loads((root / _SEEN).read_bytes())
    except (OSError, ValueError):
        return {}
    entries = known.items() if isinstance(known, dict) else ()
    return {file: entry for file, entry in entries if isinstance(entry, dict)}


def _entry(file: str, state: tuple[int, int], known: dict[str, Any]) -> dict[str, Any]:
    now = {"bytes": state[0], "changed_ns": state[1]}
    if "sha256" not in known or known | now != known:
        known = now | {"sha256": folder.file_sha256(file)}
    pools.require_state(file, state)
    return known


def _plain(job: Job) -> dict[str, Any]:
    """The job without hashes: what can be told before the input is read."""
    return workdir.as_json(job.settings() | {"files": dict.fromkeys(job.files)})


def _without_hashes(inputs: dict[str, Any]) -> dict[str, Any]:
    return inputs | {"files": dict.fromkeys(inputs["files"])}


def _require_same(
    root: Path, job: Job, seen: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    hashes = {file: entry["sha256"] for file, entry in seen.items()}
    inputs = workdir.as_json(job.settings() | {"files": hashes})
    if (root / _JOB).exists():
        _require_equal(root, _claimed(root), inputs)
    return inputs


def _require_equal(root: Path, old: dict[str, Any], new: dict[str, Any]) -> None:
    there, now = old["files"], new["files"]
    changed = [f"file {file}, only there" for file in there if file not in now]
    changed += [f"file {file}, only now" for file in now if file not in there]
    changed += [f"content of {f}" for f in there if f in now and there[f] != now[f]]
    settings, wanted = ({**inputs, "files": None} for inputs in (old, new))
    changed += workdir.differences(settings, wanted, ("there", "now"))
    if changed:
        more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
        raise UserError(
            f"{root} holds fingerprints of another job; it differs in "
            f"{'; '.join(changed[:3])}{more}. Choose another --workdir, or delete "
            "this one"
        )
