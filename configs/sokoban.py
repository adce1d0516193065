r"""Sokoban: fingerprints and 86,792 rows (A.7), and their study (D.4, Table 7).

python -m routejax.fingerprint --config=configs/sokoban.py --config.pool.paths=FILES
python -m routejax.select --config=configs/sokoban.py --config.pool.paths=FILES
python -m routejax.train --config=configs/sokoban.py:olmo3_7b \
    --config.student.weights=DIR --config.needs=
python -m routejax.train --config=configs/sokoban.py:smoke

The selection is from the whole pool, without projection; K is 0.4 n (our choice: the
paper gives none here). Boards of RL and of the evaluation are a file of problems, such
as `configs/problems.py:sokoban` makes; the paper has 10,591 and 500 of them.

Hardware: the paper names none; `python -m routejax.plan` with the same flags says what
a mesh must hold.
Paper: pass@64 53.6 % diverse, 31.4 % similar.
Measured: not run; a student of the local size, `configs/rlve.py:sokoban`, solves none.
"""

from __future__ import annotations

from ml_collections import ConfigDict

from configs import paper
from configs.corpora import corpus


def get_config(variant: str = "") -> ConfigDict:
    return paper.recipe("sokoban", variant, VARIANTS)


def selection() -> ConfigDict:
    config = corpus()
    config.name = "sokoban"
    config.fingerprint.family = "sokoban"
    config.fingerprint.testbed = "sokoban"
    config.fingerprint.moments_over = "eligible"
    config.selection.n = 86_792
    config.selection.group_by = "all"
    config.selection.r = None
    config.selection.variance_floor = 0.0
    return config


def olmo3() -> ConfigDict:
    config = paper.study(
        "sokoban-olmo3_7b",
        "olmo3-7b",
        "OLMo3-7B",
        rows="runs/sokoban",
        problems="problems-sokoban.parquet",
    )
    config.selection.family = "sokoban"
    config.selection.r = None
    config.envs.sft = ("sokoban",)
    config.difficulties.rl = config.difficulties.evaluation = (1, 15)
    paper.sft(config, rows=86_792)
    paper.grpo(config, ("sokoban",), steps=75, prompt=4096, response=8192)
    paper.evaluation(config, ("sokoban",), "sokoban")
    return config


VARIANTS = {
    "": selection,
    "olmo3_7b": olmo3,
    "smoke": lambda: paper.smoke("sokoban", "olmo3", "sokoban", env="sokoban_short"),
}
