"""What group-relative RL can learn from: how many questions have mixed rewards.

Questions whose samples all fail or all succeed have zero advantage (paper, A.2, A.3).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from routejax.metrics.counts import as_counts


class Groups(NamedTuple):
    """Shares of the questions, each in 0..1, together 1."""

    all_fail: float
    mixed: float
    all_correct: float

    @property
    def informative(self) -> float:
        """The share that carries a reward signal: the mixed one (A.3)."""
        return self.mixed

    def as_dict(self) -> dict[str, float]:
        return {**self._asdict(), "informative": self.informative}


def reward_groups(counts: ArrayLike, samples: int) -> Groups:
    """Shares of questions with c = 0, 0 < c < samples and c = samples correct answers.

    Decided by comparing the counts, never by a small standard deviation. With one
    sample per question nothing can be mixed.
    """
    checked = as_counts(counts, samples)
    fail = int(np.count_nonzero(checked == 0))
    full = int(np.count_nonzero(checked == samples))
    total = len(checked)
    return Groups(fail / total, (total - fail - full) / total, full / total)
