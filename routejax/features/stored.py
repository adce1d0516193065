"""Features that were written, read back part by part."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import Bool, Float

from routejax import workdir
from routejax.errors import UserError
from routejax.features.folder import PARTS


def read_features(
    root: Path | str, *, eligible_only: bool = True
) -> Iterator[tuple[list[str], Float[np.ndarray, "B D"]]]:
    """(ids, features) of each part of a finished folder, in the order of the pool; of
    the eligible rows, or of all.

    Raises:
        UserError: the folder is not finished, or a part has changed since.
    """
    root = Path(root)
    if not (root / "manifest.json").exists():
        raise UserError(
            f"{root} has no manifest.json; finish routejax.fingerprint first"
        )
    manifest = workdir.read_json(root / "manifest.json")
    rows = read_table(root / "rows.parquet", ["part", "eligible"])
    eligible = rows["eligible"].to_numpy()
    borders = np.searchsorted(
        rows["part"].to_numpy(), np.arange(len(manifest["parts"]) + 1)
    )
    for number, (name, sha256) in enumerate(manifest["parts"].items()):
        keep: Bool[np.ndarray, "B"] = eligible[borders[number] : borders[number + 1]]
        keep = keep if eligible_only else np.ones_like(keep)
        table = _read(root / PARTS / f"{name}.parquet", sha256).filter(pa.array(keep))
        values = table["features"].combine_chunks().flatten().to_numpy()
        yield table["id"].to_pylist(), values.reshape(-1, len(manifest["features"]))


def read_table(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Columns of one of the tables that `collect` writes, all by default.

    Raises:
        UserError: it is not as it was written.
    """
    try:
        return pq.read_table(path, columns=list(columns) if columns else None)
    except (pa.ArrowException, OSError) as error:
        raise UserError(
            f"{path} is missing or damaged ({error}); run routejax.fingerprint again "
            "to make it anew"
        ) from error


def _read(path: Path, sha256: str) -> pa.Table:
    data = path.read_bytes() if path.exists() else b""
    if workdir.sha256(data) != sha256:
        raise UserError(
            f"{path} is missing or has changed since it was written; delete it and run "
            "routejax.fingerprint again to make it anew"
        )
    return pq.read_table(io.BytesIO(data), columns=["id", "features"])
