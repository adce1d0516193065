"""The sizes of one decoder: one record for all families.

The fields carry the numbers of a checkpoint's `config.json` under this project's names.
Which family reads them decides where norms stand; everything else is here.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

from routejax.errors import UserError

LAYER_TYPES = ("full", "sliding")

# Numbers that must be at least one.
_COUNTS = ("vocabulary", "width", "layers", "heads", "kv_heads", "head_width")
_COUNTS += ("mlp_width", "max_positions")


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


def require_possible(config: Config) -> None:
    """Refuses sizes no model can have, before anything is built.

    Raises:
        UserError: a count below one, heads that do not divide, heads of odd width, an
            unknown layer type, or sliding layers and a window one without the other.
    """
    for name in _COUNTS:
        if getattr(config, name) < 1:
            raise UserError(
                f"student.{name} must be at least 1, got {getattr(config, name)}"
            )
    if config.heads % config.kv_heads:
        raise UserError(
            "student.heads must be a multiple of student.kv_heads, "
            f"got {config.heads} and {config.kv_heads}"
        )
    if config.head_width % 2:
        raise UserError(
            "student.head_width must be even, got "
            f"{config.head_width}: rotary positions turn pairs"
        )
    if not config.layer_types or not {*config.layer_types} <= {*LAYER_TYPES}:
        raise UserError(
            f"student.layer_types must be a list of {' and '.join(LAYER_TYPES)}, "
            f"got {config.layer_types}"
        )
    slides = "sliding" in config.layer_types
    if slides and (config.window is None or config.window < 1):
        raise UserError(
            "student.window must be at least 1 where student.layer_types has sliding "
            f"layers, got {config.window}"
        )
    if config.window is not None and not slides:
        raise UserError(
            f"student.window is {config.window}, but no layer of "
            f"student.layer_types {config.layer_types} slides"
        )
