"""The continuous block of the `corpus` family: 137 numbers about types and lengths.

    frequencies             10   share of each type
    transition rates       100   in the graph G (A.2), rows normalised
    cognitive behaviours     6   verification, backtracking, subgoals, …: counts
    graph topology           6   shape of G
    step statistics          5   lengths of the steps, in words parted by white space
    motifs                   6   patterns of three neighbouring steps
    tree shape               4

The groups are the paper's (A.2, "Feature vector"); their sizes and what stands in the
last five are our choice. G has no loops: w(a, b) counts neighbours a ≠ b, so the ten
rates a → a are always zero; the layout keeps them. The four behaviours of Gandhi et al.
(verification, backtracking, subgoals, backward chaining) count a step by its type or by
a mark, as a step that computes can well voice a doubt.

Every value is made of integers by one fixed sequence of + − · / sqrt log1p in float64,
sums in the order of the steps, so that another engine can give the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import log1p, sqrt
from typing import NamedTuple

from routejax.fingerprints.family import Feature
from routejax.fingerprints.route import Route
from routejax.fingerprints.rules_corpus import ROLES, VOCABULARY
from routejax.fingerprints.tree import Tree


class Behaviour(NamedTuple):
    """Steps of the type, or with one of the marks; `type` may be "" for none."""

    meaning: str
    type: str
    marks: frozenset[str]


BEHAVIOURS = {
    "verification": Behaviour(
        "log(1 + steps that verify or report a check or put a result back)",
        "verification",
        frozenset({"confirmed", "substituted back"}),
    ),
    "backtracking": Behaviour(
        "log(1 + steps that backtrack or speak of a mistake or a restart)",
        "backtracking",
        frozenset({"erred", "restarted"}),
    ),
    "subgoals": Behaviour(
        "log(1 + steps that decompose or open with a number of a list or an order)",
        "decomposition",
        frozenset({"numbered", "ordinal"}),
    ),
    "backward_chaining": Behaviour(
        "log(1 + steps that reason from the goal)",
        "backward_reasoning",
        frozenset({"backwards"}),
    ),
    "alternatives": Behaviour(
        "log(1 + steps that explore or turn to another way or a case)",
        "exploration",
        frozenset({"other way", "case"}),
    ),
    "doubts": Behaviour(
        'log(1 + steps that open with "wait" or "hmm", or hedge)',
        "",
        frozenset({"doubt", "hedged"}),
    ),
}
GRAPH = {
    "types": "share of the ten types that occur",
    "density": "share of the 90 moves between two types that occur",
    "reciprocity": "share of the moves that occur whose reverse occurs",
    "hub": "largest share of moves, repeats counted, that lead to one type",
    "cyclic": "share of the types that occur that moves lead away from and back to",
    "changes": "share of neighbouring steps of different types",
}

SHORT = 5  # words; about the 10th percentile of real steps

STEPS = {
    "log_mean": "log(1 + mean words of a step)",
    "log_median": "log(1 + median words of a step, the lower of two)",
    "log_deviation": "log(1 + standard deviation of the words of a step)",
    "log_longest": "log(1 + words of the longest step)",
    "short": f"share of steps of at most {SHORT} words",
}
MOTIFS = {
    "repeated": "share of step triples of one type",
    "returned": "share of step triples a, b, a of two types",
    "checked": "share of step triples work, verification, work",
    "retried": "share of step triples turn, work, verification",
    "switched": "share of step triples turn, no turn, turn",
    "planned": "share of step triples setup or decomposition, work, work",
}
TREE_SHAPE = {
    "slim": "nodes on a longest path from the root over all nodes",
    "wide": "most nodes at one depth over all nodes",
    "explored": "share of nodes at or below an exploration edge",
    "climbed": "mean levels that a backtracking edge climbs over the depth of the tree",
}

FEATURES = (
    *(Feature(f"frequency/{kind}", f"share of {kind} steps") for kind in VOCABULARY),
    *(
        Feature(
            f"rate/{a}->{b}",
            f"share of {b} among the steps of another type that follow {a} at once"
            if a != b
            else "always 0: the graph of moves has no loops",
        )
        for a in VOCABULARY
        for b in VOCABULARY
    ),
    *(Feature(f"behaviour/{name}", row.meaning) for name, row in BEHAVIOURS.items()),
    *(Feature(f"graph/{name}", meaning) for name, meaning in GRAPH.items()),
    *(Feature(f"steps/{name}", meaning) for name, meaning in STEPS.items()),
    *(Feature(f"motif/{name}", meaning) for name, meaning in MOTIFS.items()),
    *(Feature(f"tree_shape/{name}", meaning) for name, meaning in TREE_SHAPE.items()),
)

_NUMBER_OF = {kind: i for i, kind in enumerate(VOCABULARY)}
_WORK = frozenset({"computation", "deduction"})
_TURN = ROLES.exploration | ROLES.backtracking
_PLAN = frozenset({"setup", "decomposition"})


def continuous(route: Route) -> list[float]:
    """The 137 values for one route, all zero for no steps."""
    if not route.types:
        return [0.0] * len(FEATURES)
    kinds = [_NUMBER_OF[kind] for kind in route.types]
    weights = _weights(kinds)
    return [
        *_frequencies(kinds),
        *_rates(weights),
        *_behaviours(route),
        *_graph(kinds, weights),
        *_step_lengths([len(note.text.split()) for note in route.notes]),
        *_motifs(route.types),
        *_tree_shape(route.tree, route.types),
    ]


def _frequencies(kinds: Sequence[int]) -> list[float]:
    return [kinds.count(kind) / len(kinds) for kind in range(len(VOCABULARY))]


def _weights(kinds: Sequence[int]) -> list[list[int]]:
    """w(a, b) of the graph G: how often b follows a at once, a ≠ b."""
    weights = [[0] * len(VOCABULARY) for _ in VOCABULARY]
    for a, b in pairwise(kinds):
        if a != b:
            weights[a][b] += 1
    return weights


def _rates(weights: Sequence[Sequence[int]]) -> list[float]:
    return [weight / max(sum(row), 1) for row in weights for weight in row]


def _behaviours(route: Route) -> list[float]:
    return [
        log1p(
            sum(
                note.type == row.type or not row.marks.isdisjoint(note.marks)
                for note in route.notes
            )
        )
        for row in BEHAVIOURS.values()
    ]


def _graph(kinds: Sequence[int], weights: Sequence[Sequence[int]]) -> list[float]:
    size, present = len(VOCABULARY), len(set(kinds))
    moves = [(a, b) for a in range(size) for b in range(size) if weights[a][b]]
    mutual = sum(weights[b][a] > 0 for a, b in moves)
    entering = [sum(column) for column in zip(*weights, strict=True)]
    total = sum(entering)
    return [
        present / size,
        len(moves) / (size * (size - 1)),
        mutual / max(len(moves), 1),
        max(entering) / max(total, 1),
        _on_cycles(weights) / present,
        total / max(len(kinds) - 1, 1),
    ]


def _on_cycles(weights: Sequence[Sequence[int]]) -> int:
    """How many types reach themselves by moves (Warshall's closure)."""
    size = len(weights)
    reach = [[weight > 0 for weight in row] for row in weights]
    for via in range(size):
        for a in range(size):
            if reach[a][via]:
                reach[a] = [x or y for x, y in zip(reach[a], reach[via], strict=True)]
    return sum(reach[a][a] for a in range(size))


def _step_lengths(lengths: Sequence[int]) -> list[float]:
    """The spread is of floats: exact for every real trace, and it cannot overflow."""
    steps, total = len(lengths), sum(lengths)
    squares = sum(n * n for n in lengths)
    spread = float(steps) * float(squares) - float(total) * float(total)
    return [
        log1p(total / steps),
        log1p(sorted(lengths)[(steps - 1) // 2]),
        log1p(sqrt(max(spread, 0.0)) / steps),
        log1p(max(lengths)),
        sum(n <= SHORT for n in lengths) / steps,
    ]


def _motifs(types: Sequence[str]) -> list[float]:
    counts = [0] * len(MOTIFS)
    for a, b, c in zip(types, types[1:], types[2:], strict=False):
        checks = c in ROLES.verification
        counts[0] += a == b == c
        counts[1] += a == c != b
        counts[2] += a in _WORK and b in ROLES.verification and c in _WORK
        counts[3] += a in _TURN and b in _WORK and checks
        counts[4] += a in _TURN and b not in _TURN and c in _TURN
        counts[5] += a in _PLAN and b in _WORK and c in _WORK
    return [count / max(len(types) - 2, 1) for count in counts]


def _tree_shape(tree: Tree, types: Sequence[str]) -> list[float]:
    nodes, deepest = len(types), max(tree.depths)
    width = [0] * (deepest + 1)
    below = [False] * nodes
    cursor = climbed = returns = 0
    for i, (parent, edge) in enumerate(zip(tree.parents, tree.edges, strict=True)):
        width[tree.depths[i]] += 1
        below[i] = edge == "exploration" or (i > 0 and below[parent])
        if edge == "backtracking":
            returns += 1
            climbed += tree.depths[cursor] - tree.depths[parent]
        if types[i] not in ROLES.verification:
            cursor = i
    return [
        (deepest + 1) / nodes,
        max(width) / nodes,
        sum(below) / nodes,
        climbed / max(returns * deepest, 1),
    ]
