"""One text, read once: its notes and their tree, which all features are taken from."""

from __future__ import annotations

from typing import NamedTuple

from routejax.fingerprints.label import Grammar, Note, read
from routejax.fingerprints.segment import segment
from routejax.fingerprints.tree import Tree, grow


class Route(NamedTuple):
    """The notes of a reasoning text in order, their types, and their tree."""

    notes: tuple[Note, ...]
    types: tuple[str, ...]
    tree: Tree


def route(reasoning: str, by: Grammar) -> Route:
    """The route that `reasoning` takes, as the grammar `by` reads it."""
    notes = read(segment(reasoning), by)
    types = tuple(note.type for note in notes)
    return Route(tuple(notes), types, grow(types, by.roles))
