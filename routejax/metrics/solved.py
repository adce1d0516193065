"""Which questions two arms solve: expansion, or merely an exchange of successes.

A question is solved if at least one of its samples is correct (paper, Figure 1c).
McNemar's test asks whether the questions that one arm alone solves could have fallen to
either arm by the toss of a coin. It speaks of other questions for these two trained
models, not of other training runs (A.3).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from routejax.errors import UserError
from routejax.metrics.counts import same_questions


class Overlap(NamedTuple):
    """Numbers of questions, together all of them."""

    both: int
    only_a: int
    only_b: int
    neither: int

    @property
    def retention(self) -> float | None:
        """Of what b solves, the share that a solves too; None if b solves nothing."""
        solved = self.both + self.only_b
        return self.both / solved if solved else None

    @property
    def mcnemar(self) -> float:
        """Two-sided p-value of McNemar's exact test; see `mcnemar_p`."""
        return mcnemar_p(self.only_a, self.only_b)

    def as_dict(self) -> dict[str, int | float | None]:
        return {
            **self._asdict(),
            "retention": self.retention,
            "mcnemar": self.mcnemar,
        }


def mcnemar_p(only_a: int, only_b: int) -> float:
    """Two-sided p-value of McNemar's exact test (binomial, not chi-squared).

    Of the n = only_a + only_b questions that one arm alone solves, each is a's with
    probability 1/2 under the null: min(1, 2 P[X <= min(only_a, only_b)]) with
    X ~ Binomial(n, 1/2), and 1 where n is 0.

    Raises:
        UserError: for numbers that are no counts of questions.
    """
    for name, count in (("only_a", only_a), ("only_b", only_b)):
        if not isinstance(count, int | np.integer) or count < 0:
            raise UserError(
                f"{name} must be a number of questions, 0 or more, got {count!r}"
            )
    fewer, total = min(only_a, only_b), only_a + only_b
    return min(1.0, 2.0 * float(stats.binom.cdf(fewer, total, 0.5)))


def solved_overlap(a: ArrayLike, b: ArrayLike) -> Overlap:
    """Overlap of the solved sets of two arms.

    Args:
        a, b: correct answers per question of each arm, the same questions in the same
            order. The arms may differ in samples per question, but then one has had
            more attempts; compare at equal numbers.

    Raises:
        UserError: if the arms do not answer equally many questions.
    """
    left, right = np.asarray(a), np.asarray(b)
    if left.ndim != 1 or right.ndim != 1:
        raise UserError(
            "solved sets need one count per question of each arm, got shapes "
            f"{left.shape} and {right.shape}"
        )
    same_questions(left, right, "arm a", "arm b")
    left, right = left > 0, right > 0
    return Overlap(
        both=int(np.count_nonzero(left & right)),
        only_a=int(np.count_nonzero(left & ~right)),
        only_b=int(np.count_nonzero(~left & right)),
        neither=int(np.count_nonzero(~left & ~right)),
    )
