r"""Program simulation: a multi-model corpus against a single-model one (A.8, Table 7).

python -m routejax.train --config=configs/programs.py:olmo3_7b \
    --config.rows.paths=multi=FILES,single=FILES \
    --config.student.weights=DIR --config.needs=
python -m routejax.train --config=configs/programs.py:smoke

Nothing is selected: 10,000 verified rows of each corpus are drawn. Programs of RL and
evaluation are a file of problems, such as `configs/problems.py:programs` makes; the
paper asks 500 of seven levels.

Hardware: the paper names none; `python -m routejax.plan` with the same flags says what
a mesh must hold.
Paper: pass@64 33.0 % multi-model, 8.2 % single-model.
Measured: not run; `configs/rlve.py:programs` is a student of the local size.
"""

from __future__ import annotations

from ml_collections import ConfigDict

from configs import paper


def get_config(variant: str = "olmo3_7b") -> ConfigDict:
    return paper.recipe("programs", variant, VARIANTS)


def olmo3() -> ConfigDict:
    """Eight rollouts are those of the other testbeds: the paper names none here."""
    config = paper.study(
        "programs-olmo3_7b",
        "olmo3-7b",
        "OLMo3-7B",
        rows="multi=corpora/programs_multi,single=corpora/programs_single",
        problems="problems-programs.parquet",
    )
    config.arms = ("multi", "single")
    config.rows.testbed = "rlve"
    config.envs.sft = ("programs",)
    config.difficulties.rl = config.difficulties.evaluation = (1, 15)
    paper.sft(config, rows=10_000, steps=300)
    paper.grpo(config, ("programs",), steps=75, prompt=4096, response=8192)
    paper.evaluation(config, ("programs",), "program_simulation")
    return config


def smoke() -> ConfigDict:
    return paper.smoke(
        "programs", "olmo3", arms=("diverse", "random"), env="programs_short"
    )


VARIANTS = {"olmo3_7b": olmo3, "smoke": smoke}
