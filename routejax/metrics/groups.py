"""What group-relative RL can learn from: how many questions have mixed rewards.

Questions whose samples all fail or all succeed have zero advantage (paper, A.2, A.3).
What the shares would be under one success probability is `coverage.mixed_probability`.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from routejax.errors import UserError
from routejax.metrics.counts import as_counts
from routejax.metrics.passk import pass_at_k


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


def expected_mixed(
    counts: ArrayLike, samples: int, group: int
) -> Float[np.ndarray, "Q"]:
    """Of each question, the share of groups of `group` of its samples that are mixed.

    1 - C(c, G) / C(N, G) - C(N - c, G) / C(N, G), over all subsets of size G: what
    N samples say of training with groups of G <= N, unbiased for 1 - p^G - (1 - p)^G
    whatever p is (F). At G = N it is 1 where the question is mixed, else 0.

    Raises:
        UserError: for a group of fewer than 2, or of more than there are samples.
    """
    checked = as_counts(counts, samples)
    if not 2 <= group <= samples:
        raise UserError(
            f"group must lie in 2..{samples} (samples per question), got {group}"
        )
    right = np.asarray(pass_at_k(samples, checked, group))
    wrong = np.asarray(pass_at_k(samples, samples - checked, group))
    return right + wrong - 1.0
