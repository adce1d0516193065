"""The sizes of one decoder: one record for all families.

The fields carry the numbers of a checkpoint's `config.json` under this project's names.
Which family reads them decides where norms stand; everything else is here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from routejax.errors import UserError

LAYER_TYPES = ("full", "sliding")

# Numbers that must be at least one.
_COUNTS = ("vocabulary", "width", "layers", "heads", "kv_heads", "head_width")
_COUNTS += ("mlp_width", "max_positions")
_LARGEST_COUNT = 2**31 - 1  # of what is counted in int32
_MOST = {"layers": 10_000}  # each layer has names of its own
_LARGEST = 1e30  # leaves float32 room for sums


class Yarn(NamedTuple):
    """Rotary frequencies stretched by YaRN (Peng et al. 2023); fields as published.

    `attention_factor` multiplies cosine and sine; None is 0.1·ln(factor) + 1.
    """

    factor: float
    original_positions: int
    attention_factor: float | None = None
    beta_fast: float = 32.0
    beta_slow: float = 1.0


class Llama3(NamedTuple):
    """Rotary frequencies as Llama 3.1 stretches them: slow ones only, smoothly."""

    factor: float
    original_positions: int
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0


# The numbers of turns between which a scaling passes from slow pairs to fast ones.
_RISING = {
    Yarn: ("beta_slow", "beta_fast"),
    Llama3: ("low_freq_factor", "high_freq_factor"),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config:
    """Sizes of one model; hashable. The letters are those of `routejax.__init__`.

    Attributes:
        vocabulary: V, rows of the embedding; a tokenizer may use fewer.
        width: E, of the residual stream.
        layers: L.
        heads: H, query heads.
        kv_heads: J, key and value heads; divides H.
        head_width: C, even; H·C need not equal E.
        mlp_width: inside the gated MLP.
        rope_theta: base of the rotary frequencies.
        norm_eps: added to the mean square in every norm.
        tied: the output matrix is the embedding, and there is no `head`.
        window: positions a sliding layer sees, its own included; None where no layer
            slides.
        layer_types: "full" or "sliding" of the first layers; the pattern repeats to
            the last layer, and the last repeat may be cut short.
        rope_scaling: stretch of the frequencies of full layers. Sliding layers never
            look farther than their window and keep the plain ones.
        max_positions: longest row the checkpoint was made for; nothing here depends on
            it.
    """

    vocabulary: int
    width: int
    layers: int
    heads: int
    kv_heads: int
    head_width: int
    mlp_width: int
    rope_theta: float = 10_000.0
    norm_eps: float = 1e-6
    tied: bool = True
    window: int | None = None
    layer_types: tuple[str, ...] = ("full",)
    rope_scaling: Yarn | Llama3 | None = None
    max_positions: int = 4096

    @property
    def pattern(self) -> tuple[str, ...]:
        """The shortest run of types that repeats over all layers."""
        given = len(self.layer_types)
        types = [self.layer_types[layer % given] for layer in range(self.layers)]
        period = next(
            p for p in range(1, len(types) + 1) if types[p:] == types[: len(types) - p]
        )
        return tuple(types[:period])


def require_possible(
    config: Config, *, names: Mapping[str, str] | None = None, source: str = ""
) -> None:
    """Refuses numbers no model can have, before anything is built; all in one message.

    Args:
        names: what the message calls a field, where that is not its name here.
        source: the file the numbers are from, else they are settings of `student`.

    Raises:
        UserError: a count below one, heads that do not divide or of odd width, an
            unknown layer type, sliding layers and a window one without the other, or
            rotary positions or norms that give no finite numbers.
    """
    of = "" if source else "student."
    called = {field.name: of + field.name for field in dataclasses.fields(Config)}
    called |= names or {}
    faults = list(_impossible_sizes(config, called))
    # What follows needs whole numbers to compare.
    faults = faults or [
        *_impossible_heads(config, called),
        *_impossible_layers(config, called),
        *_impossible_positions(config, called),
    ]
    if faults:
        raise UserError((f"{source}: " if source else "") + "; ".join(faults))


def is_number(value: Any, least: float | int = -_LARGEST) -> bool:
    """Whether a finite number of a size that float32 has, and more than `least`."""
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return plain and least < value < _LARGEST


def _impossible_sizes(config: Config, called: Mapping[str, str]) -> Iterator[str]:
    for name in _COUNTS:
        value, most = getattr(config, name), _MOST.get(name, _LARGEST_COUNT)
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or value < 1:
            yield f"{called[name]} must be at least 1, got {value!r}"
        elif value > most:
            yield f"{called[name]} must be at most {most}, got {value}"
    window = config.window
    if window is not None and (type(window) is not int or window < 1):
        yield f"{called['window']} must be at least 1 or None, got {window!r}"


def _impossible_heads(config: Config, called: Mapping[str, str]) -> Iterator[str]:
    if config.heads % config.kv_heads:
        yield (
            f"{called['heads']} must be a multiple of {called['kv_heads']}, "
            f"got {config.heads} and {config.kv_heads}"
        )
    if config.head_width % 2:
        yield (
            f"{called['head_width']} must be even, got "
            f"{config.head_width}: rotary positions turn pairs"
        )


def _impossible_layers(config: Config, called: Mapping[str, str]) -> Iterator[str]:
    if not config.layer_types or not {*config.layer_types} <= {*LAYER_TYPES}:
        yield (
            f"{called['layer_types']} must be a list of {' and '.join(LAYER_TYPES)}, "
            f"got {config.layer_types}"
        )
    slides = "sliding" in config.layer_types
    if slides and config.window is None:
        yield (
            f"{called['window']} must be at least 1 where {called['layer_types']} has "
            "sliding layers, got None"
        )
    if config.window is not None and not slides:
        yield (
            f"{called['window']} is {config.window}, but no layer of "
            f"{called['layer_types']} {config.layer_types} slides"
        )


def _impossible_positions(config: Config, called: Mapping[str, str]) -> Iterator[str]:
    if not is_number(config.norm_eps, 0):
        yield f"{called['norm_eps']} must be more than 0, got {config.norm_eps!r}"
    if not is_number(config.rope_theta, 1):
        yield f"{called['rope_theta']} must be more than 1, got {config.rope_theta!r}"
    scaling = config.rope_scaling
    if scaling is None:
        return
    for name, value in scaling._asdict().items():
        absent = name == "attention_factor" and value is None
        if not absent and not is_number(value, 0):
            yield f"{called['rope_scaling']}: {name} must be more than 0, got {value!r}"
            return
    low, high = _RISING[type(scaling)]
    if getattr(scaling, high) <= getattr(scaling, low):
        yield (
            f"{called['rope_scaling']}: {high} must be more than {low}, got "
            f"{getattr(scaling, high)} and {getattr(scaling, low)}"
        )
