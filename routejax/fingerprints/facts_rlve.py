"""What the patterns of the `rlve` family ask of a route, gathered once.

Places are step indices, in order. Left out: the patterns themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from routejax.fingerprints.route import Route
from routejax.fingerprints.rules_rlve import ROLES


class Facts(NamedTuple):
    """The facts about one route."""

    route: Route
    at: dict[str, list[int]]  # type → places
    marked: dict[str, list[int]]  # mark → places of the steps that carry it
    verified: list[int]  # places of verification steps
    explored: list[int]  # places entered by an exploration edge
    backtracked: list[int]  # places entered by a backtracking edge

    @property
    def steps(self) -> int:
        return len(self.route.types)

    def places(self, kind: str) -> list[int]:
        return self.at.get(kind, [])

    def count(self, *kinds: str) -> int:
        return sum(len(self.places(kind)) for kind in kinds)

    def marks(self, mark: str) -> list[int]:
        return self.marked.get(mark, [])


def gather(route: Route) -> Facts:
    """The facts about a route."""
    at: dict[str, list[int]] = {}
    marked: dict[str, list[int]] = {}
    for i, note in enumerate(route.notes):
        at.setdefault(note.type, []).append(i)
        for mark in note.marks:
            marked.setdefault(mark, []).append(i)
    edges = route.tree.edges
    return Facts(
        route,
        at,
        marked,
        [i for i, kind in enumerate(route.types) if kind in ROLES.verification],
        [i for i, edge in enumerate(edges) if edge == "exploration"],
        [i for i, edge in enumerate(edges) if edge == "backtracking"],
    )


def follows(places: Sequence[int], later: Sequence[int], within: int) -> bool:
    """Whether one of `later` comes at most `within` steps after one of `places`."""
    wanted = set(later)
    return any(i + k in wanted for i in places for k in range(1, within + 1))


def in_a_row(flags: Iterable[bool], length: int) -> bool:
    """Whether `length` neighbours in a row are true."""
    run = 0
    for flag in flags:
        run = run + 1 if flag else 0
        if run == length:
            return True
    return False
