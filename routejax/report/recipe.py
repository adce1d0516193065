"""How to get these numbers again: recipe, pool, student, evaluation, hashes, times."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from routejax.report.inputs import Inputs
from routejax.report.layout import figure, not_run, swatch, table
from routejax.report.svg import bar, drawing, el, words
from routejax.report.wording import ABSENT, duration, escaped, listed, title


def recipe(inputs: Inputs) -> str:
    """Every setting by its name, and the hashes that fix recipe and selection."""
    settings = _facts(inputs.results.get("recipe"), names=str)
    if not settings:
        return not_run("recipe", "Recipe", "no recipe was recorded.")
    rows = [
        (
            swatch(arm) + escaped(arm.name),
            _hash(found.get("recipe_hash")),
            _hash(found.get("selection_sha256")),
            escaped(listed([str(run["seed"]) for run in found["seeds"]])),
        )
        for arm in inputs.arms
        for found in [inputs.results["arms"][arm.name]]
    ]
    hashes = table(["", "recipe", "selected ids (SHA-256)", "seeds"], rows)
    return figure(
        "recipe",
        "Recipe",
        el("div", table([], settings), hashes, class_="side-by-side"),
        units="the same for all arms but the selection",
        read=(
            "Arms with equal recipe hashes were trained alike but for their selection. "
            "The hash of the selected ids is that of the sorted list."
        ),
    )


def provenance(inputs: Inputs) -> str:
    """Pool, student and evaluation in figures."""
    parts = [
        ("Pool", _pool(inputs.results.get("pool"))),
        ("Student", _facts(inputs.results.get("student"))),
        ("Evaluation", _evaluation(inputs.results.get("evaluation"))),
    ]
    made = [el("div", el("h4", name), table([], rows)) for name, rows in parts if rows]
    if not made:
        return not_run("provenance", "Pool, student, evaluation", "nothing recorded.")
    return figure(
        "provenance",
        "Pool, student, evaluation",
        el("div", *made, class_="columns across3"),
        units="counts of rows, parameters and problems",
        read=(
            "Rejected rows are counted by the first rule that turned them away; the "
            "ids are in the selection's manifest."
        ),
    )


def times(inputs: Inputs) -> str:
    """Wall time of every stage as bars."""
    found: Mapping[str, float] = inputs.results.get("times") or {}
    if not found:
        return not_run("times", "Times", "no times were recorded.")
    longest = max(found.values()) or 1.0
    parts = []
    for row, (stage, seconds) in enumerate(found.items()):
        y = 4.0 + 24 * row
        width = max(1.0, 320 * seconds / longest)
        parts.append(words(152, y + 13, title(stage), "tick", anchor="end"))
        parts.append(bar((160, y + 1, width, 16), "time"))
        said = duration(seconds)
        parts.append(words(166 + width, y + 13, said, "tick", anchor="start"))
    said = ", ".join(f"{title(k)} {duration(s)}" for k, s in found.items())
    drawn = drawing(600, 8.0 + 24 * len(found), f"Wall time: {said}", *parts)
    return figure(
        "times",
        "Where the time went",
        el("div", drawn, class_="bars"),
        units=f"wall time, together {duration(sum(found.values()))}",
        read="All arms and seeds together; work that was found done counts nothing.",
        wide=False,
    )


def _facts(
    found: Mapping[str, Any] | None, names: Callable[[str], str] = title
) -> list[tuple[str, str]]:
    return [(escaped(names(k)), escaped(_said(v))) for k, v in (found or {}).items()]


def _pool(pool: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    if not pool:
        return []
    rows = [
        (title(key), escaped(_said(pool[key])))
        for key in ("rows", "prompts")
        if key in pool
    ]
    if pool.get("sha256"):
        rows.append(("SHA-256", _hash(pool["sha256"])))
    rejected = pool.get("rejected") or {}
    if rejected:
        rows += [
            (f"Rejected: {escaped(title(k).lower())}", _said(n))
            for k, n in rejected.items()
        ]
    else:
        rows.append(("Rejected", "none"))
    return rows


def _evaluation(found: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    # The long lists of problems are for machines.
    left_out = ("problem_ids", "envs", "difficulties")
    return _facts({k: v for k, v in (found or {}).items() if k not in left_out})


def _said(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{k} {_said(v)}" for k, v in value.items())
    if isinstance(value, list | tuple):
        ends = len(value) == 2 and all(isinstance(v, int) for v in value)
        return f"{value[0]} to {value[1]}" if ends else ", ".join(map(_said, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:g}"
    return ABSENT if value is None else str(value)


def _hash(digest: str | None) -> str:
    if not digest:
        return ABSENT
    return el("code", escaped(digest[:12]), title=digest)
