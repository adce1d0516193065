"""What a fingerprint family is: named features and the function that computes them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from routejax.fingerprints.label import Grammar


class Feature(NamedTuple):
    """A unique readable name and a definition of one line."""

    name: str
    meaning: str


@dataclass(frozen=True)
class Family:
    """A fingerprint family.

    Attributes:
        name: what a user asks for.
        version: changes with every change of a feature's value on any text.
        vocabulary: the step types.
        blocks: name and size of each block, in order; the sizes add up to D.
        features: the D features in order.
        reads: the columns of a pool (`pools.STREAM_SCHEMA`) that it looks at.
        compute: values of those columns → the D features, float32, finite; zeros for a
            trace without steps.
        grammar: how the family reads text; None where steps come annotated.
    """

    name: str
    version: str
    vocabulary: tuple[str, ...]
    blocks: tuple[tuple[str, int], ...]
    features: tuple[Feature, ...]
    compute: Callable[..., Float[np.ndarray, "D"]]
    reads: tuple[str, ...] = ("reasoning",)
    grammar: Grammar | None = None

    @property
    def feature_names(self) -> tuple[str, ...]:
        return tuple(feature.name for feature in self.features)

    def describe(self) -> dict[str, str]:
        """Each feature's name with its definition, in order."""
        return {feature.name: feature.meaning for feature in self.features}
