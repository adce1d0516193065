"""Rotary settings of a `config.json`, read as transformers 5 reads them.

They come as `rope_theta` with `rope_scaling`, or as `rope_parameters`. For Llama and
Qwen3 a `rope_scaling` that is there stands for all of `rope_parameters`. OLMo 3 has one
object per layer type; a `rope_scaling` is laid over that of full layers, and a theta
beside them is that of full layers only. What transformers would ignore (one object for
all layers of OLMo 3), refuse or read otherwise than its earlier releases is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from reprlib import repr as shown  # an unknown value, cut to a line
from typing import Any

from routejax.errors import UserError
from routejax.models.config import Llama3, Yarn
from routejax.models.weights.fields import NUMBER, TEXT, mistyped, or_null, present

KINDS = {"full_attention": "full", "sliding_attention": "sliding"}
THETA = {"llama": 10_000.0, "qwen3": 10_000.0, "olmo3": 500_000.0}
_ORIGINAL = "original_max_position_embeddings"
_NUMBER_OR_NULL = or_null(NUMBER)
_FIELDS = {
    "rope_type": TEXT,
    "type": TEXT,
    "rope_theta": NUMBER,
    "factor": _NUMBER_OR_NULL,
    _ORIGINAL: NUMBER,
    "attention_factor": _NUMBER_OR_NULL,
    "beta_fast": _NUMBER_OR_NULL,
    "beta_slow": _NUMBER_OR_NULL,
    "low_freq_factor": NUMBER,
    "high_freq_factor": NUMBER,
}


def read_rope(
    raw: Mapping[str, Any], family: str, positions: int, types: tuple[str, ...]
) -> tuple[float, Yarn | Llama3 | None]:
    """Theta of all layers, and the scaling of the full ones.

    Args:
        raw: its `rope_theta`, `rope_scaling` and `rope_parameters` are of their types.
        positions: the length the checkpoint was made for.
        types: of its layers, "full" or "sliding".

    Raises:
        UserError: with every setting that is not computed here; it names no file.
    """
    found = _nested(raw) if family == "olmo3" else {"full": _flat(raw)}
    faults = [fault for kind, rope in found.items() for fault in _wrong(kind, rope)]
    if faults:
        raise UserError("; ".join(faults))
    thetas = {k: float(r.get("rope_theta", THETA[family])) for k, r in found.items()}
    own = {thetas[kind] for kind in types}
    if len(own) > 1:
        raise UserError(
            f"rope_theta {thetas['sliding']} of sliding layers beside {thetas['full']} "
            "of full ones (only equal ones)"
        )
    return own.pop(), SCALINGS[_type(found["full"])](found["full"], positions)


def write_scaling(scaling: Yarn | Llama3 | None) -> dict[str, Any] | None:
    """A scaling as `rope_scaling` of a `config.json`."""
    if scaling is None:
        return None
    fields = {k: v for k, v in scaling._asdict().items() if v is not None}
    original = fields.pop("original_positions")
    name = "yarn" if isinstance(scaling, Yarn) else "llama3"
    return {"rope_type": name, _ORIGINAL: original, **fields}


def _flat(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The one object of Llama and Qwen3."""
    found = dict(raw.get("rope_scaling") or raw.get("rope_parameters") or {})
    if nested := {*found} & {*KINDS}:
        raise UserError(f"rope_parameters by layer type ({', '.join(sorted(nested))})")
    if "rope_theta" in raw:
        found.setdefault("rope_theta", raw["rope_theta"])
    # The length beside them is taken before the one among them.
    if _ORIGINAL in raw:
        found[_ORIGINAL] = raw[_ORIGINAL]
    return found


def _nested(raw: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The objects of OLMo 3 by layer type."""
    given = raw.get("rope_parameters")
    if given is not None and not {*given} & {*KINDS}:
        raise UserError(
            "rope_parameters that are not by layer type: transformers ignores them; "
            f"give {' and '.join(KINDS)} in it"
        )
    given = given or {}
    if odd := [k for k in KINDS if not isinstance(given.get(k), dict | None)]:
        raise UserError(f"{', '.join(odd)} of rope_parameters that is no object")
    full, sliding = (dict(given.get(kind) or {}) for kind in KINDS)
    full |= raw.get("rope_scaling") or {}
    if "rope_theta" in raw:
        full.setdefault("rope_theta", raw["rope_theta"])
    return {"full": full, "sliding": sliding}


def _wrong(kind: str, rope: Mapping[str, Any]) -> Iterator[str]:
    of = f" of {kind} layers"
    if faults := list(mistyped(rope, _FIELDS, of)):
        yield from faults
        return
    allowed = SCALINGS if kind == "full" else ("default",)
    if _type(rope) not in allowed:
        yield f"rope_type {shown(_type(rope))}{of} (only {', '.join(allowed)})"
    for field in ("mscale", "mscale_all_dim"):
        if rope.get(field) is not None:
            yield f"{field} of rope_scaling"
    if rope.get("truncate", True) is not True:
        yield f"truncate {shown(rope['truncate'])} of rope_scaling (only True)"
    if rope.get("partial_rotary_factor") not in (1, None):
        yield f"partial_rotary_factor {shown(rope['partial_rotary_factor'])} (only 1)"
    needed = _NEEDED.get(_type(rope), ())
    if missing := [name for name in needed if name not in rope]:
        yield f"lacks {', '.join(missing)} of its {_type(rope)} rope_scaling"


def _type(rope: Mapping[str, Any]) -> str:
    return rope.get("rope_type", rope.get("type", "default"))


def _yarn(rope: Mapping[str, Any], positions: int) -> Yarn:
    given = present(rope, _FIELDS)
    original = given.get(_ORIGINAL, positions)
    # No factor at all is refused; null is the ratio of the two lengths.
    factor = given["factor"] if "factor" in given else positions / (original or 1)
    # So does transformers take a beta of zero for none.
    kept = {f: float(given[f]) for f in ("beta_fast", "beta_slow") if given.get(f)}
    if "attention_factor" in given:
        kept["attention_factor"] = float(given["attention_factor"])
    return Yarn(float(factor), original, **kept)


def _llama3(rope: Mapping[str, Any], positions: int) -> Llama3:
    factor, low, high = (float(rope[field] or 0) for field in _NEEDED["llama3"])
    return Llama3(factor, rope.get(_ORIGINAL, positions), low, high)


_NEEDED = {
    "yarn": ("factor",),
    "llama3": ("factor", "low_freq_factor", "high_freq_factor"),
}
SCALINGS: dict[str, Callable[[Mapping[str, Any], int], Yarn | Llama3 | None]] = {
    "default": lambda rope, positions: None,
    "yarn": _yarn,
    "llama3": _llama3,
}
