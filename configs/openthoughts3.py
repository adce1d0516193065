r"""OpenThoughts3: fingerprints, and 100,000 rows of three domains (paper C.2).

python -m routejax.fingerprint \
    --config=configs/openthoughts3.py --config.pool.paths=FILES
python -m routejax.select --config=configs/openthoughts3.py --config.pool.paths=FILES
python -m routejax.train --config=configs/openthoughts3.py:olmo3_7b \
    --config.student.weights=DIR --config.needs=
python -m routejax.train --config=configs/openthoughts3.py:smoke

The paper trains all baselines here; those that need more than the pool are added with
`--config.selection.methods=diverse,…,lexical_fps,embedding_fps,gradient_fps` and the
files that `configs/corpora.py` names.

`olmo3_7b` compares diverse with similar rows at step 8 of RL (Figure 15), `baselines`
diverse rows with the other selections at the last, 64 (Figure 8). RL is on
Dolci-RL-Zero-Mix, as a file of problems.

Hardware: the paper names none for training; `python -m routejax.plan` with the same
flags says what a mesh must hold. A selection takes one CPU node.
Paper: diverse leads similar on every mathematics benchmark, by 4.9 to 18.5 points of
average accuracy over the three corpora, and every baseline in mean score, by 1.2 % to
10.8 % over the three.
Measured: not run.
"""

from __future__ import annotations

from ml_collections import ConfigDict

from configs import paper
from configs.corpora import corpus

BASELINES = (
    "diverse",
    "random",
    "topology_fps",
    "gradient_fps",
    "embedding_fps",
    "lexical_fps",
)


def get_config(variant: str = "") -> ConfigDict:
    return paper.recipe("openthoughts3", variant, VARIANTS)


def selection() -> ConfigDict:
    config = corpus()
    config.name = "openthoughts3"
    config.fingerprint.family = "corpus"
    config.fingerprint.testbed = "openthoughts3"
    config.fingerprint.moments_over = "all"
    config.selection.methods = "diverse,similar,random,topology_fps"
    config.selection.n = 100_000
    config.selection.K = 40_000
    config.selection.quotas = "math=33334,code=33333,science=33333"
    return config


def olmo3() -> ConfigDict:
    """The step is that of Figure 15."""
    arms = ("diverse", "similar")
    return paper.released("openthoughts3-olmo3_7b", arms, 8, "released")


def baselines() -> ConfigDict:
    return paper.released(
        "openthoughts3-baselines", BASELINES, 64, "baselines_openthoughts3"
    )


VARIANTS = {
    "": selection,
    "olmo3_7b": olmo3,
    "baselines": baselines,
    "smoke": lambda: paper.smoke("openthoughts3", "olmo3", "corpus"),
}
