r"""INTELLECT-3: fingerprints, and 100,000 rows of three domains (paper C.2).

python -m routejax.fingerprint --config=configs/intellect3.py --config.pool.paths=FILES
python -m routejax.select --config=configs/intellect3.py --config.pool.paths=FILES
python -m routejax.train --config=configs/intellect3.py:olmo3_7b \
    --config.student.weights=DIR --config.needs=
python -m routejax.train --config=configs/intellect3.py:smoke

The domains must be in the pool under these names, of which the paper's selector calls
the third "stem"; `--config.pool.columns.group` says in which column. The paper's other
baselines here are `embedding_fps` and `gradient_fps`.

`olmo3_7b` compares diverse with similar rows at step 16 of RL (Figure 15), `baselines`
diverse rows with the other selections at the last, 64 (Figure 8). RL is on
Dolci-RL-Zero-Mix, as a file of problems.

Hardware: the paper names none for training; `python -m routejax.plan` with the same
flags says what a mesh must hold. A selection takes one CPU node.
Paper: diverse leads similar on every mathematics benchmark, by 4.9 to 18.5 points of
average accuracy over the three corpora, and every baseline in mean score, by 1.2 % to
10.8 % over the three; on Enigmata it has 1.75 % of pass@4, similar 6.00 %.
Measured: not run.
"""

from __future__ import annotations

from ml_collections import ConfigDict

from configs import paper
from configs.corpora import corpus

BASELINES = ("diverse", "random", "topology_clusters", "gradient_fps", "embedding_fps")


def get_config(variant: str = "") -> ConfigDict:
    return paper.recipe("intellect3", variant, VARIANTS)


def selection() -> ConfigDict:
    config = corpus()
    config.name = "intellect3"
    config.fingerprint.family = "corpus"
    config.fingerprint.testbed = "intellect3"
    config.fingerprint.moments_over = "all"
    config.selection.methods = "diverse,similar,random,topology_clusters"
    config.selection.n = 100_000
    config.selection.K = 40_000
    config.selection.quotas = "math=33334,code=33333,stem=33333"
    return config


def olmo3() -> ConfigDict:
    """The step is that of Figure 15."""
    arms = ("diverse", "similar")
    return paper.released("intellect3-olmo3_7b", arms, 16, "released")


def baselines() -> ConfigDict:
    return paper.released("intellect3-baselines", BASELINES, 64, "baselines")


VARIANTS = {
    "": selection,
    "olmo3_7b": olmo3,
    "baselines": baselines,
    "smoke": lambda: paper.smoke("intellect3", "olmo3", "corpus"),
}
