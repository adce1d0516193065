"""Reasoning text → fingerprint: a fixed list of named numbers about its route.

    text ─segment→ steps ─label→ types ─tree→ tree ─blocks→ F [D]

This is the readable reference: plain Python, one text at a time, one process. Input is
the reasoning alone, already cut from its markers (`routejax.spans.split`). A family
(`FAMILIES`) brings its types, its rule table and its features; a new one is a module
that builds a `Family` and a row here.

Left out: scaling and projection of the numbers (`routejax.selection`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from routejax.errors import UserError
from routejax.fingerprints.family import Family, Feature
from routejax.fingerprints.label import Grammar, read
from routejax.fingerprints.rlve import RLVE
from routejax.fingerprints.route import route
from routejax.fingerprints.segment import normalise, segment
from routejax.fingerprints.tree import Tree, grow
from routejax.progress import Stage

FAMILIES: dict[str, Family] = {"rlve": RLVE}

__all__ = [
    "FAMILIES",
    "Explained",
    "Family",
    "Feature",
    "Tree",
    "block_slices",
    "describe",
    "explain",
    "feature_names",
    "fingerprint",
    "fingerprints",
    "label",
    "segment",
    "tree",
]


class Explained(NamedTuple):
    """One step: its text, type, the rule that gave the type, its place in the tree.

    `parent` is the index of a step, -1 for the root; `edge` is "" there.
    """

    step: str
    type: str
    rule: str
    parent: int
    edge: str


def feature_names(family: str) -> tuple[str, ...]:
    """The D unique names of a family's features, in order."""
    return _family(family).feature_names


def describe(family: str) -> dict[str, str]:
    """Each feature's name with its definition of one line, in order."""
    return _family(family).describe()


def block_slices(family: str) -> dict[str, slice]:
    """Where each block lies in a fingerprint, in order."""
    slices, start = {}, 0
    for name, size in _family(family).blocks:
        slices[name] = slice(start, start + size)
        start += size
    return slices


def label(steps: Sequence[str], family: str) -> list[str]:
    """The type of each step: of the first rule of the family's table that fires."""
    plain = [normalise(step) for step in steps]
    return [note.type for note in read(plain, _grammar(family))]


def tree(types: Sequence[str], family: str) -> Tree:
    """The reasoning tree of a type sequence."""
    by = _grammar(family)
    for place, kind in enumerate(types):
        if kind not in by.vocabulary:
            known = ", ".join(by.vocabulary)
            raise UserError(
                f"step types of family {family!r} are {known}; got {kind!r} at step "
                f"{place}"
            )
    return grow(types, by.roles)


def fingerprint(reasoning: str, family: str) -> Float[np.ndarray, "D"]:
    """The features of one reasoning text: float32, finite, zeros if it has no steps."""
    return fingerprints([reasoning], family)[0]


def fingerprints(
    reasonings: Sequence[str],
    family: str,
    progress: Stage | None = None,
) -> Float[np.ndarray, "N D"]:
    """The features of each text, in order, float32; `progress` counts texts."""
    found = _family(family)
    rows = np.empty((len(reasonings), len(found.features)), np.float32)
    for i, reasoning in enumerate(reasonings):
        if not isinstance(reasoning, str):
            raise UserError(
                f"reasoning must be text, got {type(reasoning).__name__} in row {i}; "
                "rows without a complete reasoning span are not eligible"
            )
        rows[i] = found.compute(reasoning)
        if progress:
            progress.update(i + 1)
    return rows


def explain(reasoning: str, family: str) -> list[Explained]:
    """Every step with its type, the rule that fired, its parent and its edge."""
    taken = route(reasoning, _grammar(family))
    rows = zip(taken.notes, taken.tree.parents, taken.tree.edges, strict=True)
    return [Explained(n.text, n.type, n.rule.name, up, edge) for n, up, edge in rows]


def _family(name: str) -> Family:
    if name not in FAMILIES:
        known = ", ".join(FAMILIES)
        raise UserError(f"fingerprint family must be one of {known}, got {name!r}")
    return FAMILIES[name]


def _grammar(name: str) -> Grammar:
    found = _family(name).grammar
    if found is None:
        raise UserError(f"family {name!r} reads annotated steps and labels no text")
    return found
