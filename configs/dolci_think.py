r"""Dolci-Think: the selection of `configs/dolci.py`, and what is trained on it (C.1).

python -m routejax.select --config=configs/dolci_think.py --config.pool.paths=FILES
python -m routejax.train --config=configs/dolci_think.py:olmo3_7b \
    --config.student.weights=DIR --config.needs=
python -m routejax.train --config=configs/dolci_think.py:smoke

The paper looks at rewards at the end of SFT, step 3,120, on 64 mathematics prompts of
Dolci-RL-Zero-Mix: give those as the problems of the evaluation. It says nothing of RL
after it; the schedule here is that of the released corpora (C.2).

Hardware: the paper names none; `python -m routejax.plan` with the same flags says what
a mesh must hold.
Paper: mixed rewards on 54.7 % of the prompts for diverse, 46.9 % for similar, 51.6 %
for the student before SFT.
Measured: not run.
"""

from __future__ import annotations

from ml_collections import ConfigDict

from configs import paper
from configs.dolci import get_config as dolci


def get_config(variant: str = "") -> ConfigDict:
    return paper.recipe("dolci_think", variant, VARIANTS)


def selection() -> ConfigDict:
    config = dolci()
    config.name = "dolci_think"
    return config


def olmo3() -> ConfigDict:
    config = paper.released(
        "dolci_think-olmo3_7b", ("diverse", "similar"), 64, "mixed_rewards"
    )
    config.selection.family = "dolci"
    config.sft.steps = 3120
    config.envs.evaluation = ("math",)
    config.problems.evaluation_per_cell = 64
    return config


VARIANTS = {
    "": selection,
    "olmo3_7b": olmo3,
    "smoke": lambda: paper.smoke("dolci_think", "olmo3", "dolci"),
}
