"""What a selection will do, before it does it: rows, quotas, clusters, memory, time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Bool

from routejax.errors import UserError
from routejax.selection import cluster_counts, cluster_total, group_budgets
from routejax.stages.select_costs import Cost, Size, costs, fingerprint_s
from routejax.stages.select_features import eligible_rows, within_cap
from routejax.stages.select_memory import GIB, allowed_bytes
from routejax.stages.select_run import SelectRun


class Group(NamedTuple):
    """`eligible` rows of a group that can be chosen, those to choose, its clusters."""

    eligible: int
    quota: int
    clusters: int


class Plan(NamedTuple):
    """Attributes:
    rows: of the pool, readable or not; eligible: of them.
    capped: eligible rows that `per_prompt` leaves out.
    n, K: rows to choose, and clusters asked for over all groups.
    groups: by name.
    costs: memory and time expected, by stage.
    """

    rows: int
    eligible: int
    capped: int
    n: int
    K: int
    groups: dict[str, Group]
    costs: dict[str, Cost]

    @property
    def bytes(self) -> float:
        return max(cost.bytes for cost in self.costs.values())


def make_plan(run: SelectRun, manifest: Mapping[str, Any]) -> Plan:
    """The plan over finished fingerprints.

    Raises:
        UserError: n or quotas that the eligible rows cannot fill; see `group_budgets`.
    """
    settings, table = run.settings, eligible_rows(run.features)
    stays = within_cap(table["prompt_id"], settings.per_prompt)
    sizes = group_sizes(table, stays, settings.group_by)
    budgets = group_budgets(sizes, settings.n, settings.quotas)
    total = cluster_total(settings.n) if settings.K is None else settings.K
    clusters = cluster_counts(total, budgets, settings.n, sizes)
    size = Size(
        run.job.pool.rows,
        len(table),
        len(manifest["features"]),
        settings.r or len(manifest["features"]),
        tuple((sizes[name], budgets[name], clusters[name]) for name in sizes),
    )
    groups = {n: Group(sizes[n], budgets[n], clusters[n]) for n in sorted(sizes)}
    return Plan(
        size.rows,
        len(table),
        int((~stays).sum()),
        settings.n,
        total,
        groups,
        costs(size, settings),
    )


def group_sizes(
    table: pa.Table, stays: Bool[np.ndarray, "E"], group_by: str
) -> dict[str, int]:
    """Rows that can be chosen, by group."""
    if group_by == "all":
        return {"all": int(stays.sum())}
    counts = table["group"].filter(pa.array(stays)).value_counts().to_pylist()
    return {count["values"]: count["counts"] for count in counts}


def lines(run: SelectRun, plan: Plan, rejected: Mapping[str, int]) -> Iterator[str]:
    """The plan as it is printed; `rejected` counts rows by the rule that they break."""
    left_out = f", {plan.capped:,} left out by per_prompt" if plan.capped else ""
    yield (
        f"Plan: {', '.join(run.settings.methods)}: {plan.n:,} rows each of "
        f"{plan.eligible:,} eligible ({plan.rows:,} in the pool{left_out}), "
        f"K = {plan.K:,}"
    )
    if any(rejected.values()):
        said = ", ".join(f"{n:,} {rule}" for rule, n in rejected.items() if n)
        where = run.features / "rejected.parquet"
        yield f"  not eligible: {said}; the reason of each is in {where}"
    names = {name: name or '""' for name in plan.groups}
    width = max(map(len, names.values()))
    for name, group in plan.groups.items():
        yield (
            f"  {names[name]:<{width}}  {group.eligible:>11,} eligible  "
            f"{group.quota:>9,} {_plural(group.quota, 'row')}  "
            f"{group.clusters:>8,} {_plural(group.clusters, 'cluster')}"
        )
    seconds = sum(cost.seconds for cost in plan.costs.values())
    stages = ", ".join(f"{n} {_time(c.seconds)}" for n, c in plan.costs.items())
    yield f"  about {_time(seconds)} on one core ({stages})"
    yield (
        f"  about {plan.bytes / GIB:.1f} GiB of memory of "
        f"{allowed_bytes() / GIB:.1f} GiB allowed"
    )


def lines_before(run: SelectRun) -> Iterator[str]:
    """What can be said before there are fingerprints."""
    rows, files = run.job.pool.rows, len(run.job.files)
    yield (
        f"Plan: {', '.join(run.settings.methods)}: {run.settings.n:,} rows each of a "
        f"pool of {rows:,} in {files} {'file' if files == 1 else 'files'}"
    )
    yield (
        f"  fingerprints first, in {run.features}: about "
        f"{_time(fingerprint_s(rows, run.threads))} with {run.threads} threads for "
        "traces of 20,000 characters; then eligible rows, groups and quotas are known"
    )


def require_memory(plan: Plan) -> None:
    """Nothing comes out.

    Raises:
        UserError: the selection needs more memory than it may use.
    """
    allowed = allowed_bytes()
    if plan.bytes > allowed:
        stage = max(plan.costs, key=lambda name: plan.costs[name].bytes)
        raise UserError(
            f"the selection needs about {plan.bytes / GIB:.1f} GiB of memory (stage "
            f"{stage}), {allowed / GIB:.1f} GiB are allowed; use a larger machine, a "
            "smaller pool, or fewer projected features (selection.r)"
        )


def _plural(count: int, word: str) -> str:
    return word if count == 1 else f"{word}s"


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
