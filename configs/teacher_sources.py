r"""One teacher or several, equally many rows, then RL elsewhere (2, B, Table 4).

python -m routejax.train --config=configs/teacher_sources.py:dapo_qwen3_1b7 \
    --config.rows.paths=d1=FILES,d2=FILES,d3=FILES,d4=FILES,d5=FILES \
    --config.problems.path=FILE.parquet --config.student.weights=DIR --config.needs=
python -m routejax.train --config=configs/teacher_sources.py:smoke

An arm dN is a corpus of N teachers, solutions to prompts of 16 or 399 environments of
RLVE; a run is one of the two pools. Nothing is selected. What is here:

    enigmata_qwen3_1b7, enigmata_qwen3_4b   d1 d6 d12, RL on Enigmata (Figure 2a)
    omega_qwen3_1b7                         d1-d5, RL on OMEGA (Figures 2b, 9)
    gym_qwen3_1b7                           d1-d5, RL on reasoning-gym (2c, 11-13)
    dapo_qwen3_1b7                          d1-d5, RL on DAPO-Math-17k (B.1, Figure 14)
    dapo_qwen3_4b                           d1 d12, RL on DAPO-Math-17k (B.2, Table 5)
    task_pool                               2 to 92 tasks, before RL (Figure 10)

The text of Table 4 is not at hand, and the sections that it belongs to give students,
teachers, steps of RL and evaluation. Rows, SFT and caps of RL are ours, those of RLVE
and OMEGA in Table 7. Enigmata needs an environment that judges it, which is not part of
this package: name those of your problems with --config.envs.rl and
--config.envs.evaluation. Of task_pool the paper looks at SFT alone.

Hardware: the paper names none; `python -m routejax.plan` with the same flags says what
a mesh must hold.
Paper: Qwen3-1.7B with twelve solutions of a prompt reaches 35.2 % of pass@64 on the 125
problems of Enigmata from twelve teachers, 28.0 % from one; OMEGA compositional pass@64
of five teachers 46.4 % (16 environments) and 47.2 % (399), of one 37.4 % and 34.0 %; on
MATH-500 Qwen3-4B pass@1 is 65.08 % for twelve teachers, 34.14 % for one.
Measured: not run.
"""

from __future__ import annotations

from ml_collections import ConfigDict

from configs import paper
from configs.problems import GYM

FIVE = ("d1", "d2", "d3", "d4", "d5")
TASKS = ("t2", "t12", "t22", "t32", "t42", "t52", "t62", "t72", "t82", "t92")


def get_config(variant: str = "gym_qwen3_1b7") -> ConfigDict:
    return paper.recipe("teacher_sources", variant, VARIANTS)


def sweep(
    name: str, arms: tuple[str, ...], rl: tuple[str, ...], steps: int, protocol: str
) -> ConfigDict:
    """Arms of a sweep; `name` ends in the student's size."""
    size = {"1b7": "1.7B", "4b": "4B"}[name.rpartition("_")[2]]
    domain = name.partition("_")[0]
    config = paper.study(
        f"teacher_sources-{name}",
        f"qwen3-{size.lower()}",
        f"Qwen3-{size}-Base",
        rows=",".join(f"{arm}=corpora/{arm}" for arm in arms),
        problems=f"problems-{domain}.parquet",
    )
    config.arms = arms
    config.rows.testbed = "rlve"
    paper.sft(config, rows=None, row_tokens=8192)
    paper.grpo(config, rl, steps=steps, prompt=4096, response=8192)
    paper.evaluation(config, ("math",), protocol)
    return config


def enigmata(name: str) -> ConfigDict:
    """The paper names no step; 75 is that of RLVE."""
    config = sweep(name, ("d1", "d6", "d12"), ("math",), 75, "enigmata_sources")
    config.needs += " and an environment that judges Enigmata"
    return config


def task_pool() -> ConfigDict:
    """Three seeds; RL of one step, which nobody looks at."""
    config = sweep("enigmata_qwen3_1b7", TASKS, ("math",), 1, "enigmata_sources")
    config.name = "teacher_sources-task_pool"
    config.needs += " and an environment that judges Enigmata"
    config.seeds = (0, 1, 2)
    return config


def gym() -> ConfigDict:
    """Which tasks is our choice: the paper names none. Evaluated on mathematics."""
    config = sweep("gym_qwen3_1b7", FIVE, GYM, 350, "teacher_sources")
    config.difficulties.rl = (1, 15)
    return config


VARIANTS = {
    "enigmata_qwen3_1b7": lambda: enigmata("enigmata_qwen3_1b7"),
    "enigmata_qwen3_4b": lambda: enigmata("enigmata_qwen3_4b"),
    "omega_qwen3_1b7": lambda: sweep(
        "omega_qwen3_1b7", FIVE, ("math",), 350, "omega_qwen3"
    ),
    "gym_qwen3_1b7": gym,
    "dapo_qwen3_1b7": lambda: sweep(
        "dapo_qwen3_1b7", FIVE, ("math",), 50, "teacher_sources"
    ),
    "dapo_qwen3_4b": lambda: sweep(
        "dapo_qwen3_4b", ("d1", "d12"), ("math",), 200, "teacher_sources"
    ),
    "task_pool": task_pool,
    "smoke": lambda: paper.smoke(
        "teacher_sources", "qwen3", arms=("diverse", "random")
    ),
}
