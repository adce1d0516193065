"""Numbers about results: coverage, intervals, reward groups, routes, wording, studies.

Everything here is a pure function of verdicts, counts of correct answers, texts or
route keys; nothing reads files.
"""

from routejax.metrics.benchmarks import summarise_arm
from routejax.metrics.checkpoint import CELLS, cell_mask, checkpoint_metrics
from routejax.metrics.clusters import cluster_bootstrap
from routejax.metrics.comparison import compare_arms
from routejax.metrics.coverage import (
    expected_coverage,
    fit_coverage,
    mixed_probability,
    widest_gap,
)
from routejax.metrics.groups import Groups, expected_mixed, reward_groups
from routejax.metrics.intervals import (
    Interval,
    bootstrap_mean,
    paired_bootstrap,
    resampled_means,
    t_interval,
    two_level_interval,
)
from routejax.metrics.lexical import lexical_gain
from routejax.metrics.passk import acc_at_1, pass_at_k, pass_curve, pass_values
from routejax.metrics.relative import relative_gain, relative_gain_of_means
from routejax.metrics.routes import expected_routes, route_curves
from routejax.metrics.scored import Scored, bands, score_samples
from routejax.metrics.solved import Overlap, mcnemar_p, solved_overlap
from routejax.metrics.study import summarise_study
from routejax.metrics.suite import Boot
from routejax.metrics.verdict import CELL_NAMES

__all__ = [
    "CELLS",
    "CELL_NAMES",
    "Boot",
    "Groups",
    "Interval",
    "Overlap",
    "Scored",
    "acc_at_1",
    "bands",
    "bootstrap_mean",
    "cell_mask",
    "checkpoint_metrics",
    "cluster_bootstrap",
    "compare_arms",
    "expected_coverage",
    "expected_mixed",
    "expected_routes",
    "fit_coverage",
    "lexical_gain",
    "mcnemar_p",
    "mixed_probability",
    "paired_bootstrap",
    "pass_at_k",
    "pass_curve",
    "pass_values",
    "relative_gain",
    "relative_gain_of_means",
    "resampled_means",
    "reward_groups",
    "route_curves",
    "score_samples",
    "solved_overlap",
    "summarise_arm",
    "summarise_study",
    "t_interval",
    "two_level_interval",
    "widest_gap",
]
