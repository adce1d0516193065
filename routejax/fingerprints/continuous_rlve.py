"""The continuous block of the `rlve` family: 159 numbers about types and lengths.

    frequencies                 18   share of each type
    temporal position           54   share of each type in each third of the steps
    mean step length by type    18
    selected transitions        36   between consecutive steps, in the graph G (A.2)
    step lengths                12
    verification and revision   12
    subgoals                     9

The groups are the paper's (A.5); their sizes, and what stands in the last four, are our
choice. Lengths are words, parted by white space, as log(1 + words): one line of
a real trace can have 185,000 characters. Positions are shares of the steps.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import log, log1p, sqrt

import numpy as np
from jaxtyping import Float

from routejax.fingerprints.family import Feature
from routejax.fingerprints.route import Route
from routejax.fingerprints.rules_rlve import ROLES, VOCABULARY

THIRDS = ("early", "middle", "late")

# Moves of interest: reading into work, work into checks, checks into what follows,
# openings of other ways and what becomes of them, steps into the answer.
SELECTED = (
    *(("parse", "decompose"), ("parse", "describe"), ("parse", "calculate")),
    *(("describe", "calculate"), ("describe", "infer"), ("reason", "infer")),
    *(("decompose", "calculate"), ("decompose", "execute"), ("decompose", "describe")),
    *(("calculate", "infer"), ("calculate", "check"), ("calculate", "evaluate")),
    *(("calculate", "answer"), ("calculate", "branch"), ("manipulate", "calculate")),
    *(("enumerate", "evaluate"), ("execute", "track_progress"), ("insight", "infer")),
    *(("track_progress", "execute"), ("infer", "check"), ("infer", "answer")),
    *(("infer", "calculate"), ("infer", "branch"), ("evaluate", "branch")),
    *(("evaluate", "infer"), ("check", "calculate"), ("check", "correct")),
    *(("check", "answer"), ("correct", "calculate"), ("correct", "hypothesize")),
    *(("branch", "calculate"), ("branch", "check"), ("hypothesize", "calculate")),
    *(("hypothesize", "check"), ("hypothesize", "infer"), ("answer", "check")),
)

SHORT, LONG = 5, 40  # words; about the 10th and the 98th percentile of real steps

STEP_LENGTH = {
    "log_total": "log(1 + words of all steps)",
    "log_mean": "log(1 + mean words of a step)",
    "log_median": "log(1 + median words of a step)",
    "log_deviation": "log(1 + standard deviation of the words of a step)",
    "log_p90": "log(1 + 90th percentile of the words of a step)",
    "log_longest": "log(1 + words of the longest step)",
    "short": f"share of steps of at most {SHORT} words",
    "long": f"share of steps of more than {LONG} words",
    "log_early": "log(1 + mean words of a step) in the first third",
    "log_late": "log(1 + mean words of a step) in the last third",
    "evenness": "entropy of the words over the steps, over that of even steps",
    "word_length": "mean characters of a step per word, white space included",
}
REVISION = {
    "doubts": 'share of steps that open with "wait", "hmm" or "hold on"',
    "log_checks": "log(1 + check steps)",
    "first_check": "share of steps before the first check; 1 without one",
    "last_check": "share of steps up to the last check; 0 without one",
    "mean_gap": "mean steps from one check to the next over all steps; 0 below two",
    "longest_run": "longest run of verification steps over all steps",
    "before_answer": "share of answers with verification among the 3 steps before",
    "after_answer": "share of verification steps that follow the first answer",
    "refuted": "share of checks with a correction among the 2 steps after",
    "log_corrections": "log(1 + correct steps)",
    "first_correction": "share of steps before the first correction; 1 without one",
    "rechecked": "share of corrections with verification among the 3 steps after",
}
SUBGOAL = {
    "log_count": "log(1 + decompose steps); each opens a stretch, up to the next",
    "first": "share of steps before the first decompose step; 1 without one",
    "last": "share of steps up to the last decompose step; 0 without one",
    "mean_stretch": "mean steps of a stretch over all steps",
    "unevenness": "standard deviation of the steps of a stretch over their mean",
    "concluded": "share of stretches that infer, answer or take stock",
    "verified": "share of stretches that hold verification",
    "numbered": "share of steps that open with the number of a list or a step",
    "ordinal": 'share of steps that open with "first", "next", "then", "finally", …',
}

FEATURES = (
    *(Feature(f"frequency/{kind}", f"share of {kind} steps") for kind in VOCABULARY),
    *(
        Feature(f"position/{kind}/{third}", f"share of {kind} in the {third} third")
        for kind in VOCABULARY
        for third in THIRDS
    ),
    *(
        Feature(
            f"length/{kind}", f"log(1 + mean words of a {kind} step); 0 without one"
        )
        for kind in VOCABULARY
    ),
    *(
        Feature(
            f"selected/{a}->{b}",
            f"share of {b} among the steps of another type that follow {a} at once",
        )
        for a, b in SELECTED
    ),
    *(Feature(f"step_length/{name}", meaning) for name, meaning in STEP_LENGTH.items()),
    *(Feature(f"revision/{name}", meaning) for name, meaning in REVISION.items()),
    *(Feature(f"subgoal/{name}", meaning) for name, meaning in SUBGOAL.items()),
)

_NUMBER_OF = {kind: i for i, kind in enumerate(VOCABULARY)}
_RESULTS = frozenset({"infer", "answer", "track_progress"})


def continuous(route: Route) -> Float[np.ndarray, "159"]:
    """The block for one route, float64, all zero for no steps."""
    if not route.types:
        return np.zeros(len(FEATURES))
    lengths = [len(note.text.split()) for note in route.notes]
    return np.array(
        [
            *_by_type(route.types, lengths),
            *_selected(route.types),
            *_step_lengths(lengths, sum(len(note.text) for note in route.notes)),
            *_revision(route),
            *_subgoals(route),
        ]
    )


def _by_type(types: Sequence[str], lengths: Sequence[int]) -> list[float]:
    """Frequencies; shares per third, step t of n in third ⌊3t / n⌋; mean lengths."""
    steps, kinds = len(types), range(len(VOCABULARY))
    counts = [[0, 0, 0] for _ in kinds]
    words = [0 for _ in kinds]
    for place, (name, length) in enumerate(zip(types, lengths, strict=True)):
        kind = _NUMBER_OF[name]
        counts[kind][3 * place // steps] += 1
        words[kind] += length
    sizes = [sum(column) for column in zip(*counts, strict=True)]
    positions = [
        count / max(size, 1)
        for row in counts
        for count, size in zip(row, sizes, strict=True)
    ]
    total = [sum(row) for row in counts]
    means = [log1p(words[kind] / max(total[kind], 1)) for kind in kinds]
    return [*(count / steps for count in total), *positions, *means]


def _selected(types: Sequence[str]) -> list[float]:
    """Rates in the graph G(y): w(a, b) counts neighbours a ≠ b; rows are normalised."""
    weights = Counter((a, b) for a, b in pairwise(types) if a != b)
    leaving: Counter[str] = Counter()
    for (a, _), weight in weights.items():
        leaving[a] += weight
    return [weights[pair] / max(leaving[pair[0]], 1) for pair in SELECTED]


def _in_order(values: Iterable[float]) -> float:
    """Their sum, rounded at every step; `sum` rounds otherwise from Python 3.12 on."""
    total = 0.0
    for value in values:
        total += value
    return total


def _step_lengths(lengths: Sequence[int], characters: int) -> list[float]:
    """Percentiles are values of the sorted lengths: the ⌈q·n⌉-th of n."""
    steps, total = len(lengths), sum(lengths)
    ranked = sorted(lengths)
    early = [n for place, n in enumerate(lengths) if 3 * place < steps]
    late = [n for place, n in enumerate(lengths) if 3 * place >= 2 * steps]
    spread = steps * sum(n * n for n in lengths) - total * total
    entropy = log(total) - _in_order(n * log(n) for n in lengths) / total
    return [
        log1p(total),
        log1p(total / steps),
        log1p(ranked[(steps + 1) // 2 - 1]),
        log1p(sqrt(spread) / steps),
        log1p(ranked[(9 * steps + 9) // 10 - 1]),
        log1p(ranked[-1]),
        sum(n <= SHORT for n in lengths) / steps,
        sum(n > LONG for n in lengths) / steps,
        log1p(sum(early) / len(early)),
        log1p(sum(late) / max(len(late), 1)),
        max(entropy, 0.0) / log(steps) if steps > 1 else 0.0,
        characters / total,
    ]


def _revision(route: Route) -> list[float]:
    steps = len(route.types)
    checks, corrections, answers = (
        [place for place, kind in enumerate(route.types) if kind == wanted]
        for wanted in ("check", "correct", "answer")
    )
    verified = {i for i, kind in enumerate(route.types) if kind in ROLES.verification}
    after = sum(place > answers[0] for place in verified) if answers else 0
    gap = (checks[-1] - checks[0]) / max(len(checks) - 1, 1) if checks else 0.0
    return [
        _marked(route, "doubt") / steps,
        log1p(len(checks)),
        checks[0] / steps if checks else 1.0,
        (checks[-1] + 1) / steps if checks else 0.0,
        gap / steps,
        _longest_run(verified) / steps,
        _share_near(answers, verified, (-3, -2, -1)),
        after / max(len(verified), 1),
        _share_near(checks, set(corrections), (1, 2)),
        log1p(len(corrections)),
        corrections[0] / steps if corrections else 1.0,
        _share_near(corrections, verified, (1, 2, 3)),
    ]


def _marked(route: Route, mark: str) -> int:
    return sum(mark in note.marks for note in route.notes)


def _longest_run(places: set[int]) -> int:
    """The most neighbours in a row among `places`."""
    longest = run = 0
    for place in sorted(places):
        run = run + 1 if place - 1 in places else 1
        longest = max(longest, run)
    return longest


def _share_near(at: Sequence[int], there: set[int], offsets: Sequence[int]) -> float:
    """Share of the places `at` that have one of `there` at one of the offsets."""
    near = sum(any(place + k in there for k in offsets) for place in at)
    return near / max(len(at), 1)


def _subgoals(route: Route) -> list[float]:
    types, steps = route.types, len(route.types)
    said = [_marked(route, "numbered") / steps, _marked(route, "ordinal") / steps]
    starts = [place for place, kind in enumerate(types) if kind == "decompose"]
    if not starts:
        return [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, *said]
    count, covered = len(starts), steps - starts[0]
    stretches = [types[a:b] for a, b in pairwise([*starts, steps])]
    spread = count * sum(len(s) ** 2 for s in stretches) - covered**2
    return [
        log1p(count),
        starts[0] / steps,
        (starts[-1] + 1) / steps,
        covered / count / steps,
        sqrt(spread) / covered,
        sum(not _RESULTS.isdisjoint(s) for s in stretches) / count,
        sum(not ROLES.verification.isdisjoint(s) for s in stretches) / count,
        *said,
    ]
