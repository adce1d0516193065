"""Students: tokens to logits, as pure functions over a plain tree of parameters.

A flax nnx module describes one block of each family; it is split once into its
structure and a nested dict of arrays, and from then on everything is ordinary jax. The
tree is described in `decoder`.
"""

from __future__ import annotations

from routejax.models.config import Config, Llama3, Yarn
from routejax.models.decoder import MODELS, Pairs, Params, Past
from routejax.models.execution import Execution
from routejax.models.layers import KeyValues
from routejax.models.places import Places
from routejax.models.sizes import SIZES
from routejax.models.student import Student, count, create

__all__ = [
    "MODELS",
    "SIZES",
    "Config",
    "Execution",
    "KeyValues",
    "Llama3",
    "Pairs",
    "Params",
    "Past",
    "Places",
    "Student",
    "Yarn",
    "count",
    "create",
]
