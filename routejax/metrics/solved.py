"""Which questions two arms solve: expansion, or merely an exchange of successes.

A question is solved if at least one of its samples is correct (paper, Figure 1c).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

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

    def as_dict(self) -> dict[str, int | float | None]:
        return {**self._asdict(), "retention": self.retention}


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
