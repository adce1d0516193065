# ---
# jupyter:
#   jupytext:
#     formats: py:percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Reading a finished study
#
# What two matched selections look like, and what they did to the student. Point
# `ROUTEJAX_RUN` at the folder of a run; the default is the main job's.

# %%
import json
import os
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from rich.console import Console

from routejax import fingerprints, pools, spans
from routejax.report.terminal import study_table

run = Path(os.environ.get("ROUTEJAX_RUN", "runs/rlve-local"))
if not (run / "results.json").exists():
    raise SystemExit(
        f"no finished run in {run}; run launch/local.sh, or set ROUTEJAX_RUN"
    )
results = json.loads((run / "results.json").read_text())
console = Console(width=100)
console.print(study_table(results))

# %% [markdown]
# ## How far apart are the routes of one problem?
#
# The statistics of the paper's Table 3, per arm: distances between the selected
# solutions of the same prompt, averaged over prompts.

# %%
for arm, entry in results["arms"].items():
    print(arm)
    for name, value in entry["selection"]["spread"].items():
        print(f"    {name:24} {value}")

# %% [markdown]
# ## Which features tell two selections apart?
#
# Difference of the arms' means in units of the pool's standard deviation. A feature
# name says what it counts; `fingerprints.describe` gives its definition.

# %%
family = "rlve"
pool = pools.read_pool(run / "pool" / "pool.parquet")
eligible, _ = pools.eligible(pool, pools.TESTBEDS[family])
features = np.load(run / "fingerprint" / "features.npy")
row_of = {name: row for row, name in enumerate(eligible["id"].to_pylist())}


def rows(arm: str) -> list[int]:
    """Rows of the pool that an arm selected."""
    chosen = pq.read_table(run / "select" / f"{arm}.parquet", columns=["id"])
    return [row_of[name] for name in chosen["id"].to_pylist()]


first, second = list(results["arms"])[:2]
spread = np.where(features.std(0) > 0, features.std(0), 1)
gap = (features[rows(first)].mean(0) - features[rows(second)].mean(0)) / spread
names = fingerprints.feature_names(family)
meaning = fingerprints.describe(family)
print(f"{first} minus {second}")
for index in np.argsort(-np.abs(gap))[:12]:
    print(f"{gap[index]:+.2f}  {names[index]:44} {meaning[names[index]]}")

# %% [markdown]
# ## One problem, two routes

# %%
table = eligible.to_pylist()
problem = table[0]["prompt_id"]
for trace in [row for row in table if row["prompt_id"] == problem][:2]:
    print(trace["prompt"], "|", trace["strategy"])
    for step in fingerprints.explain(spans.split(trace["response"]).reasoning, family):
        print(f"    {step.type:16} {step.step}")

# %% [markdown]
# ## What the student says before and after RL

# %%
seed = results["arms"][first]["seeds"][0]["seed"]
folder = run / "arms" / first / f"seed_{seed}"
before = pq.read_table(folder / "evaluate_sft" / "samples.parquet").to_pylist()
after = pq.read_table(folder / "evaluate_grpo" / "samples.parquet").to_pylist()
changed = [
    (old, new)
    for old, new in zip(before, after, strict=True)
    if new["solved"] and not old["solved"]
]
for old, new in changed[:2]:
    print(old["env"], "difficulty", old["difficulty"])
    print("    before:", old["response"])
    print("    after: ", new["response"])
