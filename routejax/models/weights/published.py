"""`config.json` of a checkpoint and our `Config`: both ways, and what we cannot run.

Rotary settings come in three forms: `rope_theta` with `rope_scaling`, `rope_parameters`
flat, and `rope_parameters` per layer type. A flat scaling is one of the full layers.
Fields that change no number here (dropout, initialisation, caches) are not looked at.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from routejax.errors import UserError
from routejax.models.config import Config, Llama3, Yarn, require_possible

ARCHITECTURES = {
    "LlamaForCausalLM": "llama",
    "Qwen3ForCausalLM": "qwen3",
    "Olmo3ForCausalLM": "olmo3",
}
_THETA = {"llama": 10_000.0, "qwen3": 10_000.0, "olmo3": 500_000.0}
_EPS = {"llama": 1e-6, "qwen3": 1e-6, "olmo3": 1e-5}
_KINDS = {"full_attention": "full", "sliding_attention": "sliding"}

_NEEDED = {
    "vocabulary": "vocab_size",
    "width": "hidden_size",
    "layers": "num_hidden_layers",
    "heads": "num_attention_heads",
    "mlp_width": "intermediate_size",
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


def family_of(raw: Mapping[str, Any]) -> str:
    """The family of a `config.json`, by its architecture, else by its model type.

    Raises:
        UserError: another architecture.
    """
    named = raw.get("architectures") or []
    for name in named:
        if name in ARCHITECTURES:
            return ARCHITECTURES[name]
    if not named and raw.get("model_type") in ARCHITECTURES.values():
        return raw["model_type"]
    raise UserError(
        f"config.json must have an architecture out of {', '.join(ARCHITECTURES)}, got "
        f"{', '.join(map(str, named)) or raw.get('model_type')}; other models have no "
        "counterpart in routejax.models"
    )


def read_config(raw: Mapping[str, Any]) -> tuple[str, Config]:
    """Family and sizes of a `config.json`.

    Raises:
        UserError: another architecture, a field that is missing, or one whose value
            this project does not compute; all such fields in one message.
    """
    family = family_of(raw)
    missing = [name for name in _NEEDED.values() if raw.get(name) is None]
    if missing:
        raise UserError(f"config.json lacks {', '.join(missing)}")
    if wrong := [*_unsupported(raw), *_unsupported_rotary(raw)]:
        raise UserError(
            f"config.json asks for what is not supported: {'; '.join(wrong)}"
        )
    full = _rotary(raw, "full_attention")
    types = _layer_types(raw, family)
    config = Config(
        **{ours: raw[theirs] for ours, theirs in _NEEDED.items()},
        kv_heads=raw.get("num_key_value_heads") or raw["num_attention_heads"],
        head_width=raw.get("head_dim")
        or raw["hidden_size"] // raw["num_attention_heads"],
        rope_theta=float(full.get("rope_theta", _THETA[family])),
        norm_eps=float(raw.get("rms_norm_eps") or _EPS[family]),
        tied=bool(raw.get("tie_word_embeddings", False)),
        window=raw.get("sliding_window") if "sliding" in types else None,
        layer_types=types,
        rope_scaling=_scaling(full, raw),
        max_positions=raw.get("max_position_embeddings") or 4096,
    )
    require_possible(config)
    return family, dataclasses.replace(config, layer_types=config.pattern)


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
        "rope_scaling": _written(config.rope_scaling),
        "initializer_range": 0.02,
        # Other programs have defaults of their own where nothing is said.
        **dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id")),
        "use_cache": True,
    }
    if family != "olmo3":
        return raw
    names = {ours: theirs for theirs, ours in _KINDS.items()}
    pattern = config.pattern
    types = [names[pattern[i % len(pattern)]] for i in range(config.layers)]
    plain = {"rope_type": "default", "rope_theta": config.rope_theta}
    full = plain | (_written(config.rope_scaling) or {})
    return raw | {
        "layer_types": types,
        # Its own default would be there otherwise; no layer uses it then.
        "sliding_window": config.window or config.max_positions,
        "rope_parameters": {"full_attention": full, "sliding_attention": plain},
    }


def _unsupported(raw: Mapping[str, Any]) -> Iterator[str]:
    for field, allowed in _ONLY.items():
        if raw.get(field) not in allowed:
            yield f"{field} {raw[field]!r} (only {allowed[0]!r})"
    odd = {*(raw.get("layer_types") or ())} - {*_KINDS}
    if odd:
        yield f"layer_types {sorted(odd)} (only {', '.join(_KINDS)})"
    types, layers = raw.get("layer_types"), raw["num_hidden_layers"]
    if types and len(types) != layers:
        yield f"{len(types)} layer_types of {layers} layers"


def _unsupported_rotary(raw: Mapping[str, Any]) -> Iterator[str]:
    full, sliding = (_rotary(raw, kind) for kind in _KINDS)
    if _type(full) not in SCALINGS:
        yield f"rope_type {_type(full)!r} (only {', '.join(SCALINGS)})"
    for field in ("mscale", "mscale_all_dim"):
        if full.get(field) is not None:
            yield f"{field} of rope_scaling"
    if full.get("truncate") is False:
        yield "truncate False of rope_scaling"
    if "sliding_attention" not in (raw.get("rope_parameters") or {}):
        return
    if _type(sliding) != "default":
        yield f"rope_type {_type(sliding)!r} of sliding layers (only 'default')"
    if sliding.get("rope_theta") != full.get("rope_theta"):
        yield (
            f"rope_theta {sliding.get('rope_theta')} of sliding layers beside "
            f"{full.get('rope_theta')} of full ones (only equal ones)"
        )


def _rotary(raw: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """`rope_theta` and the scaling of one layer type, whatever the form."""
    found = dict(raw.get("rope_parameters") or {})
    if {*found} & {*_KINDS}:
        found = dict(found.get(kind) or {})
    if kind == "full_attention":
        found |= raw.get("rope_scaling") or {}
    if "rope_theta" not in found and raw.get("rope_theta") is not None:
        found["rope_theta"] = raw["rope_theta"]
    return found


def _type(rotary: Mapping[str, Any]) -> str:
    return rotary.get("rope_type") or rotary.get("type") or "default"


def _yarn(rotary: Mapping[str, Any], original: int) -> Yarn:
    kept = {f: rotary[f] for f in ("beta_fast", "beta_slow") if rotary.get(f)}
    factor = rotary.get("attention_factor")
    return Yarn(float(rotary["factor"]), original, factor, **kept)


def _llama3(rotary: Mapping[str, Any], original: int) -> Llama3:
    kept = {f: rotary[f] for f in ("low_freq_factor", "high_freq_factor")}
    return Llama3(float(rotary["factor"]), original, **kept)


SCALINGS: dict[str, Callable[[Mapping[str, Any], int], Yarn | Llama3 | None]] = {
    "default": lambda rotary, original: None,
    "yarn": _yarn,
    "llama3": _llama3,
}


def _scaling(rotary: Mapping[str, Any], raw: Mapping[str, Any]) -> Yarn | Llama3 | None:
    original = rotary.get("original_max_position_embeddings")
    original = original or raw.get("max_position_embeddings") or 4096
    try:
        return SCALINGS[_type(rotary)](rotary, original)
    except KeyError as error:
        raise UserError(
            f"config.json lacks {error.args[0]} of its {_type(rotary)} rope_scaling"
        ) from error


def _written(scaling: Yarn | Llama3 | None) -> dict[str, Any] | None:
    if scaling is None:
        return None
    fields = {k: v for k, v in scaling._asdict().items() if v is not None}
    original = fields.pop("original_positions")
    name = "yarn" if isinstance(scaling, Yarn) else "llama3"
    return {"rope_type": name, "original_max_position_embeddings": original, **fields}


def _layer_types(raw: Mapping[str, Any], family: str) -> tuple[str, ...]:
    if family != "olmo3":
        return ("full",)
    if raw.get("layer_types"):
        return tuple(_KINDS[kind] for kind in raw["layer_types"])
    layers = range(raw["num_hidden_layers"])
    return tuple("full" if (i + 1) % 4 == 0 else "sliding" for i in layers)
