"""Numbers about results: coverage, intervals, reward groups, solved sets, studies.

Everything here is a pure function of counts of correct answers; nothing reads files.
"""

from routejax.metrics.checkpoint import CELLS, cell_mask, checkpoint_metrics
from routejax.metrics.clusters import cluster_bootstrap
from routejax.metrics.groups import Groups, reward_groups
from routejax.metrics.intervals import (
    Interval,
    bootstrap_mean,
    paired_bootstrap,
    resampled_means,
    t_interval,
    two_level_interval,
)
from routejax.metrics.passk import acc_at_1, pass_at_k, pass_curve, pass_values
from routejax.metrics.relative import relative_gain, relative_gain_of_means
from routejax.metrics.solved import Overlap, mcnemar_p, solved_overlap
from routejax.metrics.study import summarise_study
from routejax.metrics.verdict import CELL_NAMES

__all__ = [
    "CELLS",
    "CELL_NAMES",
    "Groups",
    "Interval",
    "Overlap",
    "acc_at_1",
    "bootstrap_mean",
    "cell_mask",
    "checkpoint_metrics",
    "cluster_bootstrap",
    "mcnemar_p",
    "paired_bootstrap",
    "pass_at_k",
    "pass_curve",
    "pass_values",
    "relative_gain",
    "relative_gain_of_means",
    "resampled_means",
    "reward_groups",
    "solved_overlap",
    "summarise_study",
    "t_interval",
    "two_level_interval",
]
