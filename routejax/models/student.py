"""A student: an architecture with its sizes, without its weights."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from routejax.errors import UserError
from routejax.models import decoder
from routejax.models.attention import IMPLEMENTATIONS
from routejax.models.config import Config, require_possible
from routejax.models.decoder import MODELS, UNROLLED, Pairs, Params, Past
from routejax.models.execution import Execution, require_known
from routejax.models.layers import KeyValues
from routejax.models.places import Places, require_not_swapped
from routejax.models.sizes import SIZES

_USUAL = Execution()
_SIZES = {field.name for field in dataclasses.fields(Config)}
_WAYS = {field.name for field in dataclasses.fields(Execution)}


@dataclasses.dataclass(frozen=True)
class Student:
    """Hashable, so that it can be a static argument of a compiled step."""

    family: str
    config: Config
    execution: Execution = _USUAL

    def init(self, seed: int) -> Params:
        """Fresh float32 parameters, a function of the architecture and `seed` only."""
        return _fresh(self.family, self.config, jax.random.key(seed))

    def forward(
        self,
        params: Params,
        tokens: Int[Array, "B T"],
        places: Places,
        past: Past | None = None,
        *,
        keep: bool = False,
    ) -> tuple[Float[Array, "B T E"], Pairs | None]:
        """Final hidden states, and the cache: with a past its new state.

        Args:
            past: earlier keys and values; this call's are written into them at
                `past.slot`, and `past.places` says where each of the S slots then
                stands. None where the tokens see each other only.
            keep: without a past, whether this call's keys and values are returned.

        Raises:
            UserError: the two of `places` look swapped; see `Places`.
        """
        require_not_swapped(places)
        return decoder.forward(
            self.family,
            self.config,
            self.execution,
            params,
            tokens,
            places,
            past,
            keep,
        )

    def logits(
        self, params: Params, hidden: Float[Array, "*rows E"]
    ) -> Float[Array, "*rows V"]:
        """Unnormalised log-probabilities of the next token, float32."""
        return decoder.logits(self.config, self.execution, params, hidden)

    def empty_cache(self, batch: int, slots: int, dtype: Any = None) -> Pairs:
        """A cache of zeros: one pair per layer for few layers, else one stack."""
        c = self.config
        dtype = dtype or self.execution.dtype or jnp.float32
        stacked = () if c.layers <= UNROLLED else (c.layers,)
        shape = (*stacked, batch, c.kv_heads)
        pair = KeyValues(
            jnp.zeros((*shape, c.head_width, slots), dtype),
            jnp.zeros((*shape, slots, c.head_width), dtype),
        )
        return pair if stacked else (pair,) * c.layers

    def ready(self, params: Params) -> Params:
        """The same parameters laid out for many calls: decode loops do this once.

        In the dtype they are used in, and layers apart where they are few.
        """
        params = decoder.cast(params, self.execution)
        if self.config.layers > UNROLLED:
            return params
        blocks = decoder.apart(params["blocks"], self.config.layers)
        return params | {"blocks": blocks}


@functools.partial(jax.jit, static_argnames=("family", "config"))
def _fresh(family: str, config: Config, key: Array) -> Params:
    return decoder.fresh(family, config, key)


def create(
    family: str | None = None, *, size: str | None = None, **settings: Any
) -> Student:
    """The student of a named size, or of a family with the given sizes.

    Args:
        family: a name of `MODELS`; None is that of `size`.
        size: a name of `SIZES`. Every setting that is not None replaces its number.
        settings: fields of `Config` and of `Execution`.

    Raises:
        UserError: a name that is in no table, sizes that are missing or impossible.
    """
    given = {name: value for name, value in settings.items() if value is not None}
    base: dict[str, Any] = {}
    if size is not None:
        if size not in SIZES:
            raise UserError(
                f"student.size must be one of {', '.join(SIZES)}, got {size!r}"
            )
        family = family or SIZES[size].family
        base = dataclasses.asdict(SIZES[size].config)
        base["rope_scaling"] = SIZES[size].config.rope_scaling
    if family not in MODELS:
        raise UserError(
            f"student.family must be one of {', '.join(MODELS)}, got {family!r}"
        )
    _require_fields(given, base)
    sizes = base | {name: given[name] for name in given if name in _SIZES}
    sizes["layer_types"] = tuple(sizes.get("layer_types", ("full",)))
    config = Config(**sizes)
    execution = Execution(**{name: given[name] for name in given if name in _WAYS})
    require_possible(config)
    require_known(execution, tuple(IMPLEMENTATIONS))
    return Student(family, config, execution)


def _require_fields(given: dict[str, Any], base: dict[str, Any]) -> None:
    if unknown := sorted(set(given) - _SIZES - _WAYS):
        raise UserError(
            f"student has no {', '.join(unknown)}; it has "
            f"{', '.join(sorted(_SIZES | _WAYS))}"
        )
    needed = [
        field.name
        for field in dataclasses.fields(Config)
        if field.default is dataclasses.MISSING
    ]
    if missing := [name for name in needed if name not in base | given]:
        raise UserError(
            f"student needs {', '.join(missing)}: give them, or a size out of "
            f"{', '.join(SIZES)}"
        )


def count(params: Params) -> int:
    """Number of parameters."""
    return sum(leaf.size for leaf in jax.tree.leaves(params))
