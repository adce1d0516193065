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
# # The geometry of a selection
#
# Where a pool lies in the space of routes, what each selector takes from it, and how
# the solutions of one problem differ. Point `ROUTEJAX_SELECTION` at the folder of a
# run of `routejax.select`. Without it, one is made: over `../shared/data/traces` if
# that folder is there, else over a small pool that solvers write.

# %%
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from routejax import envs, fingerprints, pools, selection, spans
from routejax.report.wording import ABSENT, percent, signed, significant

console = Console(width=100)
here = Path(__file__).parent if "__file__" in globals() else Path.cwd()
clone = here.resolve().parent
real = clone.parent / "shared" / "data" / "traces"
if named := os.environ.get("ROUTEJAX_SELECTION"):
    run = Path(named)
else:
    run = Path(tempfile.mkdtemp(prefix="routejax-geometry-"))
    if real.exists():
        given = ["--config=configs/local_traces.py", f"--config.pool.paths={real}"]
    else:
        written = envs.solver_pool(
            list(envs.ENVS)[:6], [2, 3], 4, 6, seed=0, max_words=400
        )
        pools.write_pool(run / "pool.parquet", written.traces)
        given = ["--config=configs/rlve_pool.py", "--config.selection.n=60"]
        given += [f"--config.pool.paths={run / 'pool.parquet'}"]
    folder = run / "selection"
    command = ["-m", "routejax.select", *given, f"--workdir={folder}"]
    subprocess.run([sys.executable, *command], cwd=clone, check=True)
    run = folder
if not (run / "report.json").exists():
    raise SystemExit(f"no finished selection in {run}; run routejax.select there first")
report = json.loads((run / "report.json").read_text())
names = report["order"]
print(f"{run / 'report.html'} shows all of this as a page")

# %% [markdown]
# ## The pool
#
# `phi` has a row of length 1 for every eligible trace, in order of their ids. Few
# dimensions hold little of its variance: routes differ in many ways at once.

# %%
rows = pq.read_table(run / "phi" / "rows.parquet")
facts = json.loads((run / "phi" / "phi.json").read_text())
phi = np.load(run / "phi" / "phi.npy") / facts.get("scale", 1)
groups = rows["group"].to_numpy()
plane = selection.principal_plane(phi)
held = plane.var(axis=0).sum() / phi.var(axis=0).sum()
print(f"{len(phi):,} eligible traces of {report['pool']['solutions']:,}", end=", ")
print(f"{len(set(rows['prompt_id'].to_pylist())):,} prompts")
print(f"the principal plane holds {percent(held)} % of the variance")
print(f"Vendi score of the pool: {significant(selection.vendi(phi))}")
for group in sorted(set(groups)):
    inside = phi[groups == group]
    mean = np.linalg.norm(inside.mean(axis=0))
    print(
        f"    {group:12} {len(inside):6,} rows, Vendi "
        f"{significant(selection.vendi(inside))}, length of the mean {mean:.2f}"
    )

# %% [markdown]
# ## How far apart the selections are
#
# Distances of the pool to a selection, the effective number of different rows, and the
# five statistics of the paper's Table 3, taken inside prompts.

# %%
table = Table("", *names, title="What each selector took")
geometry = {name: report["selectors"][name]["geometry"] for name in names}
for key in ("covering_radius", "mean_nearest_distance", "vendi"):
    table.add_row(key, *(significant(geometry[name][key]) for name in names))
spread = {name: report["selectors"][name]["spread"] for name in names}
for key in spread[names[0]] or ():
    table.add_row(key, *(significant(spread[name][key]) for name in names))
console.print(table)
if report["ratio"]:
    one, two = report["compared"]
    print(f"{one} over {two}:")
    for key, value in report["ratio"].items():
        print(f"    {key:22} {ABSENT if value is None else f'{value:.2f}'}")

# %% [markdown]
# ## Coverage against the number of rows
#
# Selections of other sizes from the same `phi`. Rows picked far apart bring the
# loneliest row near first; those nearest the mean do so last.

# %%
sizes = sorted({max(1, len(phi) * share // 100) for share in (2, 5, 10, 20)})
table = Table("rows", "selector", "covering radius", "mean distance", "Vendi")
for n in sizes:
    made = selection.select_all(
        ["diverse", "similar", "random"],
        ids=rows["id"],
        groups=rows["group"],
        prompt_ids=rows["prompt_id"],
        phi=phi.astype(np.float32),
        n=n,
        engine="cpu",
    )
    for name, chosen in made:
        reached = selection.coverage(phi, chosen.rows)
        vendi = selection.vendi(phi[chosen.rows])
        values = map(significant, (reached.radius, reached.mean_nearest, vendi))
        table.add_row(f"{n:,}", name, *values)
console.print(table)

# %% [markdown]
# ## What separates two selections
#
# Means in deviations of the pool; the effect is Cohen's d. A feature's name says what
# it counts.

# %%
found = report["separating"]
if found:
    one, two = found["of"], found["to"]
    print(f"effect of {one} minus {two}")
    for row in found["shift"]:
        print(f"{signed(row['effect'], 2)}  {row['feature']:44} {row['meaning']}")

# %% [markdown]
# ## One problem, many solutions
#
# The prompt of which most solutions were chosen by any selector: who chose which, the
# route of each as the first letters of its steps, and how far apart they lie.

# %%
chosen_by: dict[str, list[str]] = {}
texts: dict[str, str] = {}
for name in names:
    for line in (run / "selected" / f"{name}.chat.jsonl").read_text().splitlines():
        one_row = json.loads(line)
        chosen_by.setdefault(one_row["id"], []).append(name)
        texts[one_row["id"]] = one_row["messages"][-1]["content"]
ids, prompts = rows["id"].to_pylist(), rows["prompt_id"].to_pylist()
by_prompt: dict[str, list[int]] = {}
for place, (row_id, prompt) in enumerate(zip(ids, prompts, strict=True)):
    if row_id in chosen_by:
        by_prompt.setdefault(prompt, []).append(place)
prompt, places = max(by_prompt.items(), key=lambda item: (len(item[1]), item[0]))
print(f"prompt {prompt}: {len(places)} chosen solutions")
for place in places[:12]:
    reasoning = spans.split(texts[ids[place]]).reasoning or ""
    steps = ""
    if report["grammar"]:
        types = [
            step.type for step in fingerprints.explain(reasoning, report["family"])
        ]
        steps = " ".join(kind[:4] for kind in types[:12])
    print(f"{ids[place]}  {', '.join(chosen_by[ids[place]])}")
    print(f"    {steps}{' …' if steps else ''}")
if len(places) > 1:
    gaps = np.linalg.norm(phi[places][:, None] - phi[places], axis=2)
    apart = gaps[np.triu_indices(len(places), 1)]
    print(f"distances between them: {apart.min():.2f} to {apart.max():.2f}")
