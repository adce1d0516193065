"""The fixtures of `make_parity_fixtures.py`: checkpoints with the logits they give."""

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

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
