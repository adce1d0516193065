"""The fixtures of `make_parity_fixtures.py`: checkpoints with the logits they give."""

import json
from pathlib import Path

import jax
import numpy as np
from safetensors.numpy import load_file, save_file

from routejax.models import weights

FOLDER = Path(__file__).parent / "fixtures"
NAMES = ("llama", "llama_tied", "qwen3", "qwen3_tied", "olmo3", "olmo3_tied")


def logits(name):
    """Token ids [2 40] and the logits transformers gave for them."""
    with np.load(FOLDER / name / "logits.npz") as held:
        return held["tokens"], held["logits"]


def tensors(name):
    return load_file(FOLDER / name / "model.safetensors")


def settings(name):
    return json.loads((FOLDER / name / "config.json").read_text())


def student(name):
    """The record of a folder, and its parameters."""
    return weights.load(FOLDER / name)


def retensor(folder, change):
    """Lets `change` edit the tensors of a folder."""
    held = load_file(folder / "model.safetensors")
    change(held)
    save_file(held, folder / "model.safetensors", metadata={"format": "pt"})


def same(one, other):
    """Whether two trees have the same leaves, bit by bit and type by type."""
    return jax.tree.structure(one) == jax.tree.structure(other) and all(
        a.dtype == b.dtype and np.array_equal(a, b)
        for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    )
