"""Rotary settings as programs write them, each a change to a fixture's `config.json`.

`FORMS` are those that are read, `REFUSED` those that are not, with words of the error.
`ABSENT` takes a field away. Weights do not depend on any of it.
"""

import json
from pathlib import Path

FOLDER = Path(__file__).parent / "fixtures"
ABSENT = object()
_YARN = {"rope_type": "yarn", "factor": 4.0}
_FROM_16 = {"original_max_position_embeddings": 16}
_LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
}
_PLAIN = {"rope_type": "default", "rope_theta": 5e5}


def old(scaling, **more):
    """The form before `rope_parameters`."""
    return {"rope_parameters": ABSENT, "rope_scaling": scaling, **more}


def nested(full, sliding=None):
    kinds = {"full_attention": full, "sliding_attention": sliding}
    return {"rope_parameters": {k: v for k, v in kinds.items() if v is not None}}


# The fixture whose config is changed, and the changes.
FORMS = {
    "nothing said": ("llama", {"rope_parameters": ABSENT}),
    "theta alone": ("llama", old(None, rope_theta=20_000)),
    "theta twice": ("llama", {"rope_parameters": _PLAIN, "rope_theta": 1e4}),
    "theta outside": (
        "qwen3",
        {"rope_parameters": {"rope_type": "default"}, "rope_theta": 3e4},
    ),
    "llama3 of old": ("llama", old(_LLAMA3 | _FROM_16, rope_theta=5e5)),
    "llama3 without a length": ("llama", old(_LLAMA3, rope_theta=5e5)),
    "yarn by type": (
        "llama",
        old({"type": "yarn", "factor": 4.0} | _FROM_16, rope_theta=1e4),
    ),
    "yarn without a length": ("llama", old(_YARN, rope_theta=1e4)),
    "yarn without any length": (
        "llama",
        old(_YARN, rope_theta=1e4, max_position_embeddings=ABSENT),
    ),
    "yarn of qwen3 without any length": (
        "qwen3",
        old(_YARN, rope_theta=1e6, max_position_embeddings=ABSENT),
    ),
    "length outside": ("llama", old(_YARN, rope_theta=1e4, **_FROM_16)),
    "length outside and inside": (
        "qwen3",
        {
            "rope_parameters": _YARN
            | {"rope_theta": 1e4, "original_max_position_embeddings": 64},
            **_FROM_16,
        },
    ),
    "factor of null": (
        "llama",
        old(_YARN | _FROM_16 | {"factor": None}, rope_theta=1e4),
    ),
    "scaling beside parameters": (
        "llama",
        {
            "rope_parameters": _PLAIN,
            "rope_scaling": _YARN | _FROM_16,
            "rope_theta": 1e4,
        },
    ),
    "empty scaling beside parameters": (
        "qwen3",
        {"rope_parameters": _PLAIN, "rope_scaling": {}, "rope_theta": 1e4},
    ),
    "betas": (
        "qwen3",
        old(
            _YARN
            | {"original_max_position_embeddings": 65_536, "beta_fast": 8}
            | {"beta_slow": 2, "attention_factor": 1.5},
            rope_theta=1e4,
        ),
    ),
    "last pair": (
        "qwen3",
        old(_YARN | {"original_max_position_embeddings": 65_536}, rope_theta=1e4),
    ),
    "olmo3 with nothing said": ("olmo3", {"rope_parameters": ABSENT}),
    "olmo3 of old": ("olmo3", old(_YARN | _FROM_16, rope_theta=5e5)),
    "olmo3 of old without theta": ("olmo3", old(_YARN | _FROM_16)),
    "olmo3 without a length": ("olmo3", old(_YARN, rope_theta=5e5)),
    "olmo3 without a sliding object": (
        "olmo3",
        nested(_YARN | _FROM_16 | {"rope_theta": 5e5}),
    ),
    "olmo3 without a sliding theta": (
        "olmo3",
        nested(_YARN | _FROM_16 | {"rope_theta": 5e5}, {"rope_type": "default"}),
    ),
    "olmo3 with both": (
        "olmo3",
        nested(_PLAIN, _PLAIN) | {"rope_scaling": _YARN | _FROM_16},
    ),
    "olmo3 with its length outside": (
        "olmo3",
        nested(_YARN | {"rope_theta": 5e5}, _PLAIN) | _FROM_16,
    ),
}
_LOW = {"rope_type": "default", "rope_theta": 1e4}
REFUSED = {
    "olmo3 by one object": (
        "olmo3",
        {"rope_parameters": _YARN | _FROM_16 | {"rope_theta": 5e5}},
        "not by layer type: transformers ignores them",
    ),
    "olmo3 of old with another theta": (
        "olmo3",
        old(None, rope_theta=1e4),
        "rope_theta 500000.0 of sliding layers beside 10000.0",
    ),
    "olmo3 of two thetas": ("olmo3", nested(_PLAIN, _LOW), "only equal ones"),
    "olmo3 with a full theta alone": ("olmo3", nested(_LOW), "only equal ones"),
    "llama by layer type": ("llama", nested(_PLAIN, _PLAIN), "by layer type"),
    "no factor": ("llama", old({"rope_type": "yarn"} | _FROM_16), "lacks factor"),
    "a ramp not of whole pairs": (
        "llama",
        old(_YARN | _FROM_16 | {"truncate": False}),
        "truncate False of rope_scaling",
    ),
    "part of a head": (
        "qwen3",
        {"rope_parameters": _PLAIN | {"partial_rotary_factor": 0.5}},
        "partial_rotary_factor 0.5",
    ),
    "theta of null": ("llama", old(None, rope_theta=None), "rope_theta must be a fin"),
}


def config(name, changes):
    """The `config.json` of a fixture with some fields changed."""
    found = json.loads((FOLDER / name / "config.json").read_text()) | changes
    return {key: value for key, value in found.items() if value is not ABSENT}
