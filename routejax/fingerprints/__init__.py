"""Reasoning text → fingerprint: a fixed list of named numbers about its route.

    text ─segment→ steps ─label→ types ─tree→ tree ─blocks→ F [D]

A family (`FAMILIES`) brings its types, its rule table and its features, and says which
columns of a pool it reads; a new one is a module that builds a `Family` and a row here.
What a fingerprint is, plain Python defines, one text at a time (`segment`, `label`,
`tree`, and the modules of the families). `engine/` gives the same bytes from arrays, a
hundred times faster.

| family    | blocks                                                     | D     |
|-----------|------------------------------------------------------------|-------|
| `corpus`  | continuous 137, tree 430, pattern 64, dense 83, hash 1,024 | 1,738 |
| `dolci`   | continuous 137, tree 430, pattern 64                       | 631   |
| `rlve`    | continuous 159, topology 1,150, pattern 64                 | 1,373 |
| `omega`   | 15 + 225 + 30 + 8 + 32 + 12 + 1, as listed in A.6          | 323   |
| `sokoban` | travel 45, boxes 57, rebuild 35, graph 65                  | 202   |

`corpus` is for released corpora (OpenThoughts3, INTELLECT-3, Nemotron-Cascade 2),
`dolci` for Dolci-Think and pools of one teacher, the others for what they are named
after. The paper gives the blocks and their sizes (A.2, A.5, A.6), save for `sokoban`,
whose features are ours.

Left out: scaling and projection of the numbers (`routejax.selection`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from routejax.errors import UserError
from routejax.fingerprints import engines
from routejax.fingerprints.corpus import CORPUS, DOLCI
from routejax.fingerprints.engines import ENGINES, has_numba, slow
from routejax.fingerprints.family import Family, Feature
from routejax.fingerprints.label import Grammar, cue, read
from routejax.fingerprints.omega import OMEGA
from routejax.fingerprints.rlve import RLVE
from routejax.fingerprints.route import route
from routejax.fingerprints.route_key import DETAILS, key_of
from routejax.fingerprints.segment import normalise, segment
from routejax.fingerprints.sokoban import SOKOBAN
from routejax.fingerprints.tree import Tree, grow
from routejax.progress import Stage

FAMILIES: dict[str, Family] = {
    family.name: family for family in (CORPUS, DOLCI, RLVE, OMEGA, SOKOBAN)
}

__all__ = [
    "DETAILS",
    "ENGINES",
    "FAMILIES",
    "Explained",
    "Family",
    "Feature",
    "Tree",
    "block_slices",
    "cues",
    "describe",
    "explain",
    "feature_names",
    "features",
    "fingerprint",
    "fingerprints",
    "has_numba",
    "label",
    "route_keys",
    "segment",
    "slow",
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


def features(
    batch: pa.RecordBatch, family: str, engine: str = "auto"
) -> Float[np.ndarray, "N D"]:
    """The features of each row of a batch of a pool, in order, float32, finite.

    `batch` holds at least the columns that the family reads (`Family.reads`).

    Raises:
        UserError: an unknown family or engine, an engine that cannot run, or a column
            that is missing.
    """
    found = _family(family)
    missing = [name for name in found.reads if name not in batch.schema.names]
    if missing:
        raise UserError(
            f"family {family!r} reads the columns {', '.join(found.reads)}; "
            f"the batch lacks {', '.join(missing)}"
        )
    columns = [batch[name] for name in found.reads]
    size = sum(column.nbytes for column in columns)
    if engines.choose(family, engine, size) == "arrays":
        return engines.on_arrays(columns, family)
    return engines.by_reference(columns, found)


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
    """The features of each text, in order, float32; `progress` counts texts.

    Raises:
        UserError: an unknown family, one that reads more than the reasoning, or
            something that is no text.
    """
    found = _family(family)
    if found.reads != ("reasoning",):
        raise UserError(
            f"family {family!r} reads {', '.join(found.reads)} of a pool, not the "
            "reasoning alone; use features()"
        )
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


def cues(reasoning: str, family: str) -> list[str]:
    """Per step the phrase that gave it its type, "" where content or nothing did."""
    grammar = _grammar(family)
    return [cue(note, grammar) for note in route(reasoning, grammar).notes]


def route_keys(
    reasonings: Sequence[str | None], family: str, detail: str = "outline"
) -> list[str | None]:
    """The key of each text's route, None where there is no text or no step.

    Texts with equal keys took the same route; `routejax.metrics.route_curves` counts
    them. Put None for samples that shall not count, such as wrong answers.

    Args:
        detail: how much of a route must be equal: one of `DETAILS`, as `route_key`
            defines them.

    Raises:
        UserError: an unknown family or detail, or a family that reads annotations.
    """
    found = _family(family)
    if "reasoning" not in found.reads:
        raise UserError(
            f"family {family!r} reads {', '.join(found.reads)} of a pool, and samples "
            "have their text alone; take the keys of another family"
        )
    key = key_of(found.grammar, detail)
    return [None if text is None else key(text) for text in reasonings]


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
