r"""OMEGA: fingerprints and 50,000 rows (A.6), and the studies of D.3 and Table 7.

python -m routejax.fingerprint --config=configs/omega.py --config.pool.paths=FILES
python -m routejax.select --config=configs/omega.py --config.pool.paths=FILES
python -m routejax.train --config=configs/omega.py:olmo3_7b \
    --config.student.weights=DIR --config.needs=
python -m routejax.train --config=configs/omega.py:smoke

The selection is from the whole pool of traces with annotated steps, without projection;
K is 0.4 n (our choice: the paper gives none here). `olmo3_7b` trains on its rows.

`qwen3_1b7`, `qwen3_4b` and `qwen3_14b` compare a multi-model corpus with a single-model
one: --config.rows.paths=multi=FILES,single=FILES. The paper says that there are three
sizes and names 4B and 14B; that the smallest is 1.7B is our reading. So are 9,600 rows,
which 300 steps of 32 take.

Hardware: the paper names none; `python -m routejax.plan` with the same flags says what
a mesh must hold.
Paper: OLMo3-7B pass@64 45.4 % diverse, 39.4 % similar; Qwen3-4B 33.3 % multi-model,
21.7 % single-model; at 14B multi-model leads by 1.3 points.
Measured: not run.
"""

from __future__ import annotations

from ml_collections import ConfigDict

from configs import paper
from configs.corpora import corpus


def get_config(variant: str = "") -> ConfigDict:
    return paper.recipe("omega", variant, VARIANTS)


def selection() -> ConfigDict:
    config = corpus()
    config.name = "omega"
    config.fingerprint.family = "omega"
    config.fingerprint.testbed = "omega"
    config.fingerprint.moments_over = "eligible"
    config.selection.n = 50_000
    config.selection.group_by = "all"
    config.selection.r = None
    config.selection.variance_floor = 0.0
    return config


def olmo3() -> ConfigDict:
    """One SFT epoch on selected rows; batches of 32 and their length are ours here."""
    config = paper.study(
        "omega-olmo3_7b",
        "olmo3-7b",
        "OLMo3-7B",
        rows="runs/omega",
        problems="problems-omega.parquet",
    )
    config.selection.family = "omega"
    config.selection.r = None
    paper.sft(config, rows=50_000)
    paper.grpo(config, ("math",), steps=75, prompt=4096, response=12_288)
    paper.evaluation(config, ("math",), "omega_olmo3")
    return config


def qwen3(size: str) -> ConfigDict:
    """Corpora of two kinds of generators. "2,048-token prompt and response cap"."""
    config = paper.study(
        f"omega-qwen3_{paper.short(size)}",
        f"qwen3-{size.lower()}",
        f"Qwen3-{size}-Base",
        rows="multi=corpora/omega_multi,single=corpora/omega_single",
        problems="problems-omega.parquet",
    )
    config.arms = ("multi", "single")
    config.rows.testbed = "omega"
    config.selection.family = "omega"
    config.selection.r = None
    paper.sft(config, rows=9600, steps=300)
    paper.grpo(config, ("math",), steps=75, prompt=2048, response=2048)
    paper.evaluation(config, ("math",), "omega_qwen3")
    return config


VARIANTS = {
    "": selection,
    "qwen3_1b7": lambda: qwen3("1.7B"),
    "qwen3_4b": lambda: qwen3("4B"),
    "qwen3_14b": lambda: qwen3("14B"),
    "olmo3_7b": olmo3,
    "smoke": lambda: paper.smoke("omega", "olmo3", "omega"),
}
