"""The pool's fingerprints: found in a folder, or made; and its eligible rows by id."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import Bool

from routejax import features, workdir
from routejax.errors import UserError
from routejax.features import Job
from routejax.features.folder import file_sha256
from routejax.moments import Moments
from routejax.selection.columns import earlier
from routejax.stages.select_run import SelectRun

_MANIFEST = "manifest.json"


def find_fingerprints(job: Job, root: Path, *, owned: bool) -> dict[str, Any] | None:
    """The manifest of the folder, None where it is not finished and is ours to finish.

    Raises:
        UserError: it holds fingerprints of another job, or of a pool that has changed;
            its tables have changed; it is not ours and not finished.
    """
    claimed = _is_claimed(job, root, owned=owned)
    if not claimed and not owned:
        raise UserError(
            f"{root} holds no fingerprints; name the folder of a run of "
            "routejax.fingerprint, or leave config.features empty to make them"
        )
    if not claimed or features.missing(job, root) or not (root / _MANIFEST).exists():
        if owned:
            return None
        raise UserError(
            f"the fingerprints in {root} are not finished; run routejax.fingerprint "
            "there to its end first"
        )
    manifest = workdir.read_json(root / _MANIFEST)
    for name, sha256 in manifest["tables"].items():
        path = root / name
        if not path.exists() or file_sha256(path) != sha256:
            if owned:
                return None  # written again from the parts
            raise UserError(
                f"{path} is missing or has changed since it was written; run "
                "the command that made them again"
            )
    return manifest


def _is_claimed(job: Job, root: Path, *, owned: bool) -> bool:
    """`features.is_claimed`; of a folder that is not ours with other advice."""
    try:
        return features.is_claimed(root, job)
    except UserError as error:
        if owned:
            raise
        said = str(error).partition(". Choose another")[0]
        raise UserError(
            f"config.features cannot be used: {said}. Name another folder, or leave it "
            "empty to make the fingerprints"
        ) from error


def make_fingerprints(run: SelectRun) -> dict[str, Any]:
    """The manifest of the run's fingerprints, which are made where they are missing."""
    found = find_fingerprints(run.job, run.features, owned=run.owns_features)
    if found is not None:
        return found
    features.run_shard(run.job, run.features, (1, 1), run.threads, run.console)
    return features.collect(run.job, run.features)


def eligible_rows(folder: Path) -> pa.Table:
    """The eligible rows in order of their ids (by code point).

    Columns `id`, `prompt_id`, `group`, `part`, `index` of `rows.parquet`, and `place`,
    the number among eligible rows in the order of the pool.
    """
    names = ["id", "prompt_id", "group", "part", "index", "eligible"]
    table = pq.read_table(folder / "rows.parquet", columns=names)
    table = table.filter(table["eligible"]).drop_columns(["eligible"])
    place = pa.array(np.arange(len(table)))
    # Arrow compares texts by their bytes; UTF-8 puts these in the order of code points.
    return table.append_column("place", place).sort_by("id").combine_chunks()


def pool_moments(folder: Path) -> Moments:
    """Mean and variance of every feature, as they were collected."""
    table = pq.read_table(folder / "moments.parquet")
    rows = int(table.schema.metadata[b"rows"])
    return Moments(rows, table["mean"].to_numpy(), table["variance"].to_numpy())


def within_cap(
    prompt_ids: pa.ChunkedArray, per_prompt: int | None
) -> Bool[np.ndarray, "E"]:
    """Which rows, in order of id, are among the first `per_prompt` of their prompt."""
    if per_prompt is None:
        return np.ones(len(prompt_ids), bool)
    codes = prompt_ids.combine_chunks().dictionary_encode().indices.to_numpy()
    return earlier(codes.astype(np.int64)) < per_prompt
