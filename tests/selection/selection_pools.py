"""Pools of a few dozen rows for whole selections."""

import numpy as np
import pyarrow as pa
import pytest

from routejax.selection.vectors import in_memory


def unit(rows):
    rows = np.asarray(rows, float)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0).astype("f4")


def small_pool(seed=0, rows=60):
    """Two groups, prompts of several rows, five identical rows and a zero row."""
    rng = np.random.default_rng(seed)
    phi = unit(rng.normal(size=(rows, 8)))
    phi[:5] = phi[0]
    phi[5] = 0
    names = rng.permutation(rows)
    return {
        "ids": [f"row-{name:03d}" for name in names],
        "groups": ["code" if i % 3 else "math" for i in range(rows)],
        "prompt_ids": [f"p{i % 20}" for i in range(rows)],
        "phi": phi,
    }


def shuffled(pool, order):
    return {
        "ids": [pool["ids"][i] for i in order],
        "groups": [pool["groups"][i] for i in order],
        "prompt_ids": [pool["prompt_ids"][i] for i in order],
        "phi": pool["phi"][order],
    }


def with_spaces(pool):
    """The pool with vectors for every space, given in each of the ways there are."""
    by_id = {row_id: np.random.default_rng(int(row_id[4:])) for row_id in pool["ids"]}
    drawn = {name: rng.normal(size=6).astype("f4") for name, rng in by_id.items()}
    matrix = unit([drawn[row_id] for row_id in pool["ids"]])
    names = sorted(drawn, reverse=True)
    vectors = in_memory(
        "file",
        np.stack([drawn[name] for name in names]),
        pa.array(names, pa.large_string()),
    )
    return pool | {
        "spaces": {
            "lexical": lambda: matrix,
            "embedding": vectors,
            "gradient": 3 * matrix,
            "unread": lambda: pytest.fail("nobody asked"),
        }
    }
