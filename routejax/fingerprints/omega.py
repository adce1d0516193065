"""The `omega` family: 323 numbers from annotated steps, strategy and response (A.6).

    frequency    15   share of each step type
    transition  225   next-step probabilities, normalised within the source type
    position     30   types of the first and of the last third of the steps
    path          8   summaries of the sequence
    strategy     32   one-hot strategy label; all zero if missing or unknown
    cue          12   composition and late fractions of six families of cues
    density       1   cue hits per word

Parts, sizes and formulas are the paper's; an empty denominator gives zero. What it
leaves open is our choice:

* The first third is the first ⌈n/3⌉ of n steps and the last third the last ⌈n/3⌉, so
  that neither is empty and, from two steps on, none is in both.
* Transition entropy is that of the pairs (source, target) of neighbours, to base e.
* A transition type is such a pair, a step to its own type among them; it recurs if it
  occurs twice or more.
* Strategy switch: among the steps that are neither `setup` nor `conclude`, no most
  frequent type of the first half is a most frequent type of the second half. The middle
  one of an odd number is in neither half; with an empty half there is no switch.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby, pairwise
from math import log

import numpy as np
from jaxtyping import Float

from routejax.errors import UserError
from routejax.fingerprints import omega_cues
from routejax.fingerprints.family import Family, Feature
from routejax.fingerprints.omega_labels import (
    STRATEGIES,
    VOCABULARY,
    step_type,
    strategy_name,
    usable,
)

__all__ = [
    "BLOCKS",
    "FEATURES",
    "STRATEGIES",
    "VERSION",
    "VOCABULARY",
    "compute",
    "usable",
]

VERSION = "omega-1"

PATH = {
    "types_per_step": "distinct step types over steps",
    "types_of_all": "distinct step types over 15",
    "transition_entropy": "entropy of the transitions over log 225",
    "longest_run": "longest run of one step type over steps",
    "transition_variety": "distinct transitions over transitions",
    "self_transitions": "share of transitions from a type to itself",
    "strategy_switch": "1 if the main working type differs between the two halves",
    "recurring_transitions": "share of the distinct transitions that occur again",
}

_BLOCKS = {
    "frequency": [
        Feature(f"frequency/{kind}", f"share of {kind} steps") for kind in VOCABULARY
    ],
    "transition": [
        Feature(f"transition/{a}->{b}", f"share of {b} among the steps after {a}")
        for a in VOCABULARY
        for b in VOCABULARY
    ],
    "position": [
        Feature(f"position/{third}/{kind}", f"share of {kind} in the {third} third")
        for third in ("first", "last")
        for kind in VOCABULARY
    ],
    "path": [Feature(f"path/{name}", meaning) for name, meaning in PATH.items()],
    "strategy": [
        Feature(f"strategy/{name}", f"1 if the strategy label is {name}")
        for name in STRATEGIES
    ],
    "cue": list(omega_cues.FEATURES[:-1]),
    "density": [omega_cues.FEATURES[-1]],
}
BLOCKS = tuple((name, len(features)) for name, features in _BLOCKS.items())
FEATURES = tuple(feature for features in _BLOCKS.values() for feature in features)

_NUMBER = {kind: number for number, kind in enumerate(VOCABULARY)}
_FRAME = frozenset(("setup", "conclude"))


def compute(
    steps: Sequence[str] | None, strategy: str | None, response: str
) -> Float[np.ndarray, "323"]:
    """The 323 features of one annotated response, float32.

    No steps (None or an empty list) leave the first four blocks zero.

    Raises:
        UserError: an annotation that names no step type; `usable` tells beforehand.
    """
    types = [_known(step, place) for place, step in enumerate(steps or ())]
    pairs = list(pairwise(types))
    third = -(-len(types) // 3)
    return np.concatenate(
        [
            _shares(types),
            _transitions(pairs).ravel(),
            _shares(types[:third]),
            _shares(types[len(types) - third :]),
            _path(types, pairs),
            _one_hot(strategy),
            omega_cues.cue_features(response),
        ]
    ).astype(np.float32)


def _known(step: str, place: int) -> str:
    kind = step_type(step)
    if kind is None:
        raise UserError(
            f"step types must be among {', '.join(VOCABULARY)} (or another spelling of "
            f"them), got {step!r} at step {place}; rows with other annotations are not "
            "eligible"
        )
    return kind


def _shares(types: Sequence[str]) -> Float[np.ndarray, "15"]:
    """Share of each type; zeros for no steps."""
    counts = Counter(types)
    return np.array([counts[kind] / max(1, len(types)) for kind in VOCABULARY])


def _transitions(pairs: Sequence[tuple[str, str]]) -> Float[np.ndarray, "15 15"]:
    """Source × target; rows add up to one, or are zero where nothing follows."""
    counts = np.zeros((len(VOCABULARY), len(VOCABULARY)))
    for source, target in pairs:
        counts[_NUMBER[source], _NUMBER[target]] += 1
    return counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)


def _path(types: Sequence[str], pairs: Sequence[tuple[str, str]]) -> list[float]:
    steps, moves = max(1, len(types)), max(1, len(pairs))
    weights = Counter(pairs)
    runs = [len(list(run)) for _, run in groupby(types)]
    recurring = sum(weight >= 2 for weight in weights.values())
    return [
        len(set(types)) / steps,
        len(set(types)) / len(VOCABULARY),
        _entropy(list(weights.values())) / log(len(VOCABULARY) ** 2),
        max(runs, default=0) / steps,
        len(weights) / moves,
        sum(a == b for a, b in pairs) / moves,
        float(_switches(types)),
        recurring / max(1, len(weights)),
    ]


def _entropy(counts: Sequence[int]) -> float:
    """Entropy to base e of counts; 0 for none."""
    total, entropy = sum(counts), 0.0
    for n in counts:  # `sum` rounds floats otherwise from Python 3.12 on
        entropy += n / total * log(total / n)
    return entropy


def _switches(types: Sequence[str]) -> bool:
    work = [kind for kind in types if kind not in _FRAME]
    half = len(work) // 2
    before, after = work[:half], work[len(work) - half :]
    return half > 0 and _main(before).isdisjoint(_main(after))


def _main(types: Sequence[str]) -> set[str]:
    """The most frequent types, more than one where they tie."""
    counts = Counter(types)
    most = max(counts.values())
    return {kind for kind, count in counts.items() if count == most}


def _one_hot(strategy: str | None) -> list[float]:
    name = strategy_name(strategy)
    return [float(name == known) for known in STRATEGIES]


OMEGA = Family(
    name="omega",
    version=VERSION,
    vocabulary=VOCABULARY,
    blocks=BLOCKS,
    features=FEATURES,
    compute=compute,
    reads=("steps", "strategy", "response"),
)
