"""`config.json` of a checkpoint and our `Config`: both ways, and what we cannot run.

Rotary settings are read in `rope`. Fields that change no number here (dropout,
initialisation, caches) are not looked at.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from reprlib import repr as shown  # an unknown value, cut to a line
from typing import Any

from routejax.errors import UserError
from routejax.models.config import Config, require_possible
from routejax.models.sizes import SLIDING
from routejax.models.weights.fields import (
    NUMBER,
    OBJECT,
    TEXTS,
    TRUTH,
    WHOLE,
    mistyped,
    or_null,
    present,
)
from routejax.models.weights.rope import KINDS, read_rope, write_scaling

ARCHITECTURES = {
    "LlamaForCausalLM": "llama",
    "Qwen3ForCausalLM": "qwen3",
    "Olmo3ForCausalLM": "olmo3",
}
# What a config may leave out, as transformers fills it in.
_DEFAULTS: dict[str, dict[str, Any]] = {
    "llama": {"rms_norm_eps": 1e-6, "max_position_embeddings": 2048},
    "qwen3": {
        "rms_norm_eps": 1e-6,
        "max_position_embeddings": 32_768,
        "head_dim": 128,
        "num_key_value_heads": 32,
    },
    "olmo3": {
        "rms_norm_eps": 1e-5,
        "max_position_embeddings": 2048,
        "sliding_window": 4096,
    },
}

_NEEDED = {
    "vocabulary": "vocab_size",
    "width": "hidden_size",
    "layers": "num_hidden_layers",
    "heads": "num_attention_heads",
    "mlp_width": "intermediate_size",
}
_NAMES = _NEEDED | {
    "kv_heads": "num_key_value_heads",
    "head_width": "head_dim",
    "rope_theta": "rope_theta",
    "rope_scaling": "rope_scaling",
    "norm_eps": "rms_norm_eps",
    "tied": "tie_word_embeddings",
    "window": "sliding_window",
    "max_positions": "max_position_embeddings",
}
_FIELDS = dict.fromkeys(_NEEDED.values(), WHOLE) | {
    "num_key_value_heads": or_null(WHOLE),
    "head_dim": or_null(WHOLE),
    "sliding_window": or_null(WHOLE),
    "max_position_embeddings": WHOLE,
    "rms_norm_eps": NUMBER,
    "tie_word_embeddings": TRUTH,
    "layer_types": or_null(TEXTS),
    "rope_theta": NUMBER,
    "rope_scaling": or_null(OBJECT),
    "rope_parameters": or_null(OBJECT),
}
# What each of these may be; anything else would be computed wrongly.
_ONLY: dict[str, tuple[Any, ...]] = {
    "attention_bias": (False, None),
    "mlp_bias": (False, None),
    "use_sliding_window": (False, None),
    "hidden_act": ("silu", "swish", None),
    "rope_interleaved": (False, None),
    "partial_rotary_factor": (1, None),
    "quantization_config": (None,),
    "clip_qkv": (None,),
}


def family_of(raw: Mapping[str, Any], source: str = "config.json") -> str:
    """The family of a `config.json`, by its architecture, else by its model type.

    Raises:
        UserError: another architecture.
    """
    named = raw.get("architectures")
    for name in named if isinstance(named, list) else []:
        if name in list(ARCHITECTURES):
            return ARCHITECTURES[name]
    if not named and raw.get("model_type") in [*ARCHITECTURES.values()]:
        return raw["model_type"]
    raise UserError(
        f"{source} must have an architecture out of {', '.join(ARCHITECTURES)}, got "
        f"{_shown(named or raw.get('model_type'))}; other models "
        "have no counterpart in routejax.models"
    )


def _shown(value: Any) -> str:
    """Names without quotes; anything else as it would be in Python."""
    names = value if isinstance(value, list) else [value]
    plain = all(isinstance(n, str) and n.isprintable() for n in names)
    return ", ".join(names) if plain else shown(value)


def read_config(
    raw: Mapping[str, Any], source: str = "config.json"
) -> tuple[str, Config]:
    """Family and sizes of a `config.json`, which errors call `source`.

    Raises:
        UserError: another architecture; fields that are missing or of another type;
            those whose value this project does not compute; or numbers that no model
            can have. All fields of one of these kinds are in one message.
    """
    family = family_of(raw, source)
    missing = [name for name in _NEEDED.values() if raw.get(name) is None]
    wrong = [f"lacks {', '.join(missing)}"] if missing else []
    given = {name: value for name, value in raw.items() if name not in missing}
    wrong += mistyped(given, _FIELDS)
    if wrong:
        raise UserError(f"{source} {'; '.join(wrong)}")
    if wrong := [*_unsupported(raw, family)]:
        raise UserError(f"{source} asks for what is not supported: {'; '.join(wrong)}")
    config = _config(raw, family, source)
    require_possible(config, names=_NAMES, source=source)
    return family, dataclasses.replace(config, layer_types=config.pattern)


def _config(raw: Mapping[str, Any], family: str, source: str) -> Config:
    """The sizes, not yet known to be possible."""
    found = _DEFAULTS[family] | present(raw, _FIELDS)
    # Null is absent for transformers too, yet stands for a size of its own.
    found |= {name: None for name in _FIELDS if name in raw and raw[name] is None}
    types = _layer_types(found, family)
    positions = found["max_position_embeddings"]
    try:
        own = types[: found["num_hidden_layers"]] or types
        theta, scaling = read_rope(raw, family, positions, own)
    except UserError as error:
        raise UserError(f"{source} asks for what is not supported: {error}") from error
    heads, width = found["num_attention_heads"], found.get("head_dim")
    return Config(
        **{ours: found[theirs] for ours, theirs in _NEEDED.items()},
        kv_heads=_or(found.get("num_key_value_heads"), heads),
        head_width=_or(width, found["hidden_size"] // max(heads, 1)),
        rope_theta=theta,
        norm_eps=float(found["rms_norm_eps"]),
        tied=found.get("tie_word_embeddings", False),
        window=found["sliding_window"] if "sliding" in types else None,
        layer_types=types,
        rope_scaling=scaling,
        max_positions=positions,
    )


def _or(value: int | None, otherwise: int) -> int:
    return otherwise if value is None else value


def write_config(family: str, config: Config, dtype: str) -> dict[str, Any]:
    """A `config.json` from which `read_config` gives the same, for other programs too.

    Rotary settings are in the old form, which every version reads; OLMo 3 has the new
    one besides, because newer readers of the old give its sliding layers a fixed theta.
    """
    architecture = next(a for a, f in ARCHITECTURES.items() if f == family)
    raw = {theirs: getattr(config, ours) for ours, theirs in _NEEDED.items()}
    raw |= {
        "architectures": [architecture],
        "model_type": family,
        "num_key_value_heads": config.kv_heads,
        "head_dim": config.head_width,
        "hidden_act": "silu",
        "rms_norm_eps": config.norm_eps,
        "tie_word_embeddings": config.tied,
        "max_position_embeddings": config.max_positions,
        "attention_bias": False,
        "attention_dropout": 0.0,
        "torch_dtype": dtype,
        "rope_theta": config.rope_theta,
        "rope_scaling": write_scaling(config.rope_scaling),
        "initializer_range": 0.02,
        # Other programs have defaults of their own where nothing is said.
        **dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id")),
        "use_cache": True,
    }
    if family != "olmo3":
        return raw
    names = {ours: theirs for theirs, ours in KINDS.items()}
    pattern = config.pattern
    types = [names[pattern[i % len(pattern)]] for i in range(config.layers)]
    plain = {"rope_type": "default", "rope_theta": config.rope_theta}
    full = plain | (write_scaling(config.rope_scaling) or {})
    return raw | {
        "layer_types": types,
        # Its own default would be there otherwise; no layer uses it then.
        "sliding_window": config.window or config.max_positions,
        "rope_parameters": {"full_attention": full, "sliding_attention": plain},
    }


def _unsupported(raw: Mapping[str, Any], family: str) -> Iterator[str]:
    for field, allowed in _ONLY.items():
        if raw.get(field) not in allowed:
            yield f"{field} {shown(raw[field])} (only {allowed[0]!r})"
    types, layers = raw.get("layer_types") or [], raw["num_hidden_layers"]
    kinds = ["full_attention"] if family == "qwen3" else [*KINDS]
    if family != "llama" and ({*types} - {*kinds}):
        yield f"layer_types {sorted({*types} - {*kinds})} (only {', '.join(kinds)})"
    if types and len(types) != layers:
        yield f"{len(types)} layer_types of {layers} layers"
    heads, width = raw["num_attention_heads"], raw["hidden_size"]
    if family == "qwen3" and raw.get("head_dim", 0) is None:
        yield "head_dim null"
    elif raw.get("head_dim") is None and family != "qwen3" and width % max(heads, 1):
        yield f"hidden_size {width} over {heads} num_attention_heads without head_dim"


def _layer_types(found: Mapping[str, Any], family: str) -> tuple[str, ...]:
    """One per layer, or those that repeat."""
    if family != "olmo3":
        return ("full",)
    if found.get("layer_types"):
        return tuple(KINDS[kind] for kind in found["layer_types"])
    return SLIDING
