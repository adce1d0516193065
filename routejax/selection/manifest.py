"""What a selection was made from and what came out, as one JSON-able record.

Nothing in it depends on the clock or the machine: two runs that chose the same rows
from the same input with the same versions have equal manifests.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import sklearn

import routejax
from routejax.selection.choose import Selection


def manifest(
    selection: Selection,
    *,
    inputs: Mapping[str, str],
    config: Mapping[str, Any],
    rejected: Mapping[str, int],
) -> dict[str, Any]:
    """The manifest of a selection.

    Args:
        inputs: hash of every input, by name (pool files, features, projection).
        config: the configuration of the run as it stands.
        rejected: rows that each rule of eligibility rejected, by rule.
    """
    return {
        "versions": versions(),
        "inputs": dict(inputs),
        "config": dict(config),
        "rejected": dict(rejected),
        "selection": selection.report,
        "selected": len(selection.ids),
        "ids_sha256": ids_sha256(selection.ids),
    }


def versions() -> dict[str, str]:
    """Versions of what can change a selection."""
    return {
        "routejax": routejax.__version__,
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
    }


def ids_sha256(ids: Iterable[str]) -> str:
    """SHA-256 of the sorted ids in UTF-8, each followed by a line feed.

    The same as `LC_ALL=C sort ids.txt | sha256sum`.
    """
    text = "".join(f"{name}\n" for name in sorted(ids))
    return hashlib.sha256(text.encode()).hexdigest()
