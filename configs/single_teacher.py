r"""The pool of one teacher: 10,000, 25,000 or 50,000 rows, and their study (Table 7).

python -m routejax.fingerprint \
    --config=configs/single_teacher.py --config.pool.paths=FILES
python -m routejax.select \
    --config=configs/single_teacher.py:50k --config.pool.paths=FILES \
    --workdir=runs/single_teacher-50k
python -m routejax.train --config=configs/single_teacher.py:qwen3_4b_50k \
    --config.student.weights=DIR --config.needs=
python -m routejax.train --config=configs/single_teacher.py:smoke

The rows are split evenly over the pool's domains, at most eight of one prompt. K is
0.4 n (our choice: the paper gives none here). RL is on one set of prompts with a boxed
answer. The paper evaluates RL at step 50 (10k) and 30 (25k, 50k) and names no longer
schedule, so these are the steps here.

Hardware: the paper names none; `python -m routejax.plan` with the same flags says what
a mesh must hold.
Paper: diverse leads similar by 3.39 to 6.17 points of mean pass@8 over ten benchmarks.
Measured: not run.
"""

from __future__ import annotations

from ml_collections import ConfigDict

from configs import paper
from configs.corpora import corpus

ROWS = {"10k": 10_000, "25k": 25_000, "50k": 50_000}
# Rows: steps of SFT, step of RL.
STEPS = {"10k": (300, 50), "25k": (700, 30), "50k": (1500, 30)}


def get_config(variant: str = "50k") -> ConfigDict:
    return paper.recipe("single_teacher", variant, VARIANTS)


def selection(rows: int) -> ConfigDict:
    config = corpus()
    config.name = "single_teacher"
    config.fingerprint.family = "dolci"
    config.fingerprint.testbed = "single_teacher"
    config.fingerprint.moments_over = "eligible"
    config.selection.n = rows
    config.selection.per_prompt = 8
    config.selection.variance_floor = 0.0
    return config


def qwen3(size: str) -> ConfigDict:
    """A student of Qwen3-4B-Base on `size` rows."""
    config = paper.study(
        f"single_teacher-qwen3_4b_{size}",
        "qwen3-4b",
        "Qwen3-4B-Base",
        rows=f"runs/single_teacher-{size}",
        problems="problems-single-teacher.parquet",
    )
    config.selection.family = "dolci"
    steps, last = STEPS[size]
    paper.sft(config, rows=ROWS[size], learning_rate=5e-6, steps=steps)
    paper.grpo(config, ("math",), steps=last, prompt=4096, response=12_288)
    paper.evaluation(config, ("math",), "single_teacher")
    return config


VARIANTS = {
    **{size: lambda rows=rows: selection(rows) for size, rows in ROWS.items()},
    **{f"qwen3_4b_{size}": lambda size=size: qwen3(size) for size in ROWS},
    "smoke": lambda: paper.smoke("single_teacher", "qwen3", "dolci"),
}
