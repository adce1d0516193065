"""How differently the correct answers to one question are worded (paper, D.1, Table 6).

Of each correct completion the first 128 or 512 whitespace-delimited tokens count, case
and markup kept. Two prefixes lie 1 - |A ∩ B| / |A ∪ B| apart, A and B their sets of
bigrams. That says how wording varies and does not count routes (`routes` does). The
intervals speak of other environments, not of other training runs.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from routejax.errors import UserError
from routejax.metrics.clusters import PAIRED_OVER_CLUSTERS, resampled_cluster_means
from routejax.metrics.counts import rounded
from routejax.metrics.intervals import percentile_bounds
from routejax.metrics.relative import relative_gain

PREFIXES = (128, 512)  # tokens
SEED = 20_260_924
RESAMPLES = 20_000


class Question(NamedTuple):
    """What questions of two arms are matched by: they are drawn from these three."""

    env: str
    seed: int
    difficulty: int


Bigram = tuple[str, str]
Correct = Mapping[Question, Sequence[str]]  # texts of the correct completions


class LexicalGain(NamedTuple):
    """Mean distances of two arms on the questions that both can be measured on.

    Attributes:
        prefix: tokens of each completion that count.
        a, b: mean over the questions of the mean distance of all pairs, in 0..1.
        gain: 100 (a / b - 1) percent; None where b is 0.
        lower, upper: of the gain, in percent; None where a resample has b = 0.
        questions, envs: n, and the environments they come from.
        unmeasured: questions of either arm that are not eligible in both.
        method: what was resampled.
    """

    prefix: int
    a: float
    b: float
    gain: float | None
    lower: float | None
    upper: float | None
    questions: int
    envs: int
    unmeasured: int
    method: str = PAIRED_OVER_CLUSTERS

    def as_dict(self) -> dict[str, Any]:
        return rounded(self._asdict())


def bigrams(text: str, prefix: int) -> frozenset[Bigram] | None:
    """Pairs of neighbouring tokens in the first `prefix` tokens; None if there are
    fewer tokens than that."""
    if prefix < 2:
        raise UserError(f"a prefix must have 2 tokens or more, got {prefix}")
    tokens = text.split(maxsplit=prefix)[:prefix]
    return frozenset(itertools.pairwise(tokens)) if len(tokens) == prefix else None


def jaccard_distance(a: frozenset[Bigram], b: frozenset[Bigram]) -> float:
    """1 - |A ∩ B| / |A ∪ B|; 0 for two empty sets."""
    union = len(a | b)
    return 1.0 - len(a & b) / union if union else 0.0


def mean_distance(texts: Sequence[str], prefix: int) -> float | None:
    """Mean Jaccard distance over all unordered pairs of the texts that are long enough.

    None with fewer than two of these: the question is not eligible.
    """
    found = [pairs for text in texts if (pairs := bigrams(text, prefix)) is not None]
    if len(found) < 2:
        return None
    held = _incidence(found)
    common = (held @ held.T).astype(np.float64)
    sizes = common.diagonal()
    left, right = np.triu_indices(len(found), k=1)
    shared = common[left, right]
    return float(np.mean(1.0 - shared / (sizes[left] + sizes[right] - shared)))


def lexical_gain(
    a: Correct,
    b: Correct,
    *,
    prefix: int,
    seed: int = SEED,
    resamples: int = RESAMPLES,
    level: float = 0.95,
) -> LexicalGain:
    """How much more the correct completions of arm `a` vary in wording than `b`'s.

    A question counts if both arms have two long enough correct completions of it, and
    then as much as any other, however many completions it has. Each resample draws
    environments with all their eligible questions and computes both means and their
    relative difference anew (paired percentile bootstrap).

    Args:
        a, b: texts of the correct completions by question.
        prefix: tokens; the paper has 128 and 512, each with its own eligible questions.

    Raises:
        UserError: if no question is eligible in both arms.
    """
    measured = [(q, _pair(q, a, b, prefix)) for q in sorted(a.keys() & b.keys())]
    eligible = [(question, pair) for question, pair in measured if pair]
    known = len(a.keys() | b.keys())
    if not eligible:
        raise UserError(
            f"no question has two correct completions of {prefix} tokens or more in "
            f"both arms ({len(a)} and {len(b)} questions, {len(measured)} shared); "
            "take a shorter prefix or more samples"
        )
    envs = [question.env for question, _ in eligible]
    table = np.array([pair for _, pair in eligible])
    means = resampled_cluster_means(table, envs, seed=seed, resamples=resamples)
    mean_a, mean_b = map(float, table.mean(axis=0))
    return LexicalGain(
        prefix,
        mean_a,
        mean_b,
        relative_gain(mean_a, mean_b),
        *_bounds(means, level),
        questions=len(eligible),
        envs=len(set(envs)),
        unmeasured=known - len(eligible),
    )


def _pair(
    question: Question, a: Correct, b: Correct, prefix: int
) -> tuple[float, float] | None:
    distances = [mean_distance(arm[question], prefix) for arm in (a, b)]
    left, right = distances
    return None if left is None or right is None else (left, right)


def _bounds(
    means: Float[np.ndarray, "resamples 2"], level: float
) -> tuple[float, float] | tuple[None, None]:
    if not means[:, 1].all():
        return None, None
    lower, upper = percentile_bounds(100.0 * (means[:, 0] / means[:, 1] - 1.0), level)
    return float(lower), float(upper)


def _incidence(
    sets: Sequence[frozenset[Bigram]],
) -> Float[np.ndarray, "texts bigrams"]:
    # 1 where a text has a bigram; float32 counts are exact far beyond any prefix.
    places: dict[Bigram, int] = {}
    rows = [[places.setdefault(pair, len(places)) for pair in one] for one in sets]
    held = np.zeros((len(sets), len(places)), np.float32)
    for row, columns in zip(held, rows, strict=True):
        row[columns] = 1.0
    return held
