"""Coverage after RL in every environment at every difficulty, one map per arm."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from routejax.report.inputs import Inputs, Look
from routejax.report.layout import figure, not_run, panel, panels
from routejax.report.svg import bar, drawing, el, path, words
from routejax.report.wording import decimal, percent, points

_LEFT, _TOP, _RIGHT, _ROW, _WIDTH = 92, 24, 40, 20, 400

Scores = Mapping[tuple[str, int], float]


class Grid(NamedTuple):
    """Rows and columns of every map: seen environments stand first."""

    envs: list[str]
    seen: int
    levels: list[int]
    last: int | None  # hardest difficulty trained on

    @property
    def cell(self) -> float:
        return (_WIDTH - _LEFT - _RIGHT) / len(self.levels)

    @property
    def height(self) -> float:
        return _TOP + _ROW * len(self.envs) + (8 if self.split else 0) + 34

    @property
    def split(self) -> bool:
        return 0 < self.seen < len(self.envs)

    def y(self, row: int) -> float:
        return _TOP + _ROW * row + (8 if self.split and row >= self.seen else 0)

    def x(self, column: int) -> float:
        return _LEFT + self.cell * column


def environments(inputs: Inputs) -> str:
    """pass@N by environment and difficulty, and the first two arms' difference."""
    tables = {arm: table for arm in inputs.arms if (table := _scores(inputs, arm.name))}
    if not tables:
        return not_run("environments", "Environments", "no checkpoint after RL.")
    grid = _grid(inputs, tables)
    drawn = [
        panel(arm.name, _map(grid, table, arm, inputs.samples), arm=arm)
        for arm, table in tables.items()
    ]
    first = list(tables)[:2]
    if first[1:]:
        a, b = first
        title = f"{a.name} minus {b.name}, points"
        drawn.append(panel(title, _difference(grid, tables[a], tables[b], (a, b))))
    return figure(
        "environments",
        "Environment by environment",
        panels(*drawn, across=2 if len(drawn) in (2, 4) else 3),
        units=f"pass@{inputs.samples} after RL in percent, {inputs.over_seeds()}",
        read=(
            "Rows are environments, those without traces in SFT below the gap; "
            "columns are difficulties, beyond training right of the dashed line. "
            "Stronger colour is more solved; the number at the end of a row is its "
            "mean. In the difference a square has the colour of the arm ahead."
        ),
    )


def _scores(inputs: Inputs, arm: str) -> dict[tuple[str, int], float]:
    found: dict[tuple[str, int], list[float]] = {}
    for metrics in inputs.checkpoints(arm, "rl"):
        for env, by_level in metrics["by_env_and_difficulty"].items():
            for level, cell in by_level.items():
                found.setdefault((env, int(level)), []).append(cell["passN"])
    return {key: sum(values) / len(values) for key, values in found.items()}


def _grid(inputs: Inputs, tables: Mapping[Look, Scores]) -> Grid:
    keys = {key for table in tables.values() for key in table}
    envs = sorted({env for env, _ in keys})
    known = set((inputs.results.get("evaluation") or {}).get("seen") or [])
    seen = [env for env in envs if env in known]
    return Grid(
        seen + [env for env in envs if env not in known],
        len(seen),
        sorted({level for _, level in keys}),
        ((inputs.results.get("evaluation") or {}).get("in_range") or (0, None))[1],
    )


def _map(grid: Grid, table: Scores, arm: Look, samples: int) -> str:
    def tip(value: float | None) -> str:
        said = "no problems" if value is None else f"{percent(value)} %"
        return f"{arm.name}\npass@{samples}: {said}"

    label = f"pass@{samples} of {arm.name} by environment and difficulty"
    key = _key(lambda value: "heat", [0, 0.25, 0.5, 0.75, 1], ("0", "100 %"), grid)
    squares = _squares(grid, table, 1.0, lambda value: "heat", tip)
    means = _means(grid, table, percent)
    return drawing(
        _WIDTH, grid.height, label, _frame(grid), squares, means, _edge(grid), key
    )


def _difference(grid: Grid, one: Scores, two: Scores, arms: tuple[Look, Look]) -> str:
    a, b = arms
    gaps = {key: one[key] - two[key] for key in one if key in two}
    reach = max([abs(gap) for gap in gaps.values()] + [1e-9])

    def tip(gap: float | None) -> str:
        said = "no problems" if gap is None else f"{points(gap)} points"
        return f"{a.name} minus {b.name}\n{said}"

    def css(gap: float) -> str:
        return f"side {a.css if gap >= 0 else b.css}"

    end = decimal(100 * reach, 0)
    key = _key(css, [-1, -0.5, 0, 0.5, 1], (f"−{end}", f"+{end} points"), grid)
    squares = _squares(grid, gaps, reach, css, tip)
    means = _means(grid, gaps, points)
    label = f"Difference {a.name} minus {b.name} by environment and difficulty"
    return drawing(
        _WIDTH, grid.height, label, _frame(grid), squares, means, _edge(grid), key
    )


def _squares(
    grid: Grid,
    table: Scores,
    reach: float,
    css: Callable[[float], str],
    tip: Callable[[float | None], str],
) -> str:
    parts = []
    for row, env in enumerate(grid.envs):
        for column, level in enumerate(grid.levels):
            value = table.get((env, level))
            said = f"{env}, difficulty {level}\n{tip(value)}"
            x, y = grid.x(column) + 0.5, grid.y(row) + 0.5
            box = (x, y, grid.cell - 1, _ROW - 1.0)
            if value is None:
                parts.append(bar(box, "nothing", tip=said))
                continue
            strength = min(1.0, abs(value) / reach)
            parts.append(bar(box, "cell"))
            parts.append(bar(box, css(value), tip=said, strength=strength))
    return "".join(parts)


def _means(grid: Grid, table: Scores, say: Callable[[float], str]) -> str:
    parts = []
    for row, env in enumerate(grid.envs):
        values = [table[env, level] for level in grid.levels if (env, level) in table]
        if values:
            text = say(sum(values) / len(values))
            parts.append(
                words(_WIDTH - 2, grid.y(row) + 14, text, "tick", anchor="end")
            )
    return "".join(parts)


def _frame(grid: Grid) -> str:
    parts = [words(_LEFT - 6, 14, "difficulty", "tick", anchor="end")]
    step = 1 if len(grid.levels) <= 16 else len(grid.levels) // 12
    for column, level in list(enumerate(grid.levels))[::step]:
        parts.append(words(grid.x(column) + grid.cell / 2, 14, str(level), "tick"))
    for row, env in enumerate(grid.envs):
        name = env if len(env) <= 13 else f"{env[:12]}…"
        parts.append(words(_LEFT - 6, grid.y(row) + 14, name, "tick", anchor="end"))
    parts.append(words(_WIDTH - 2, 14, "mean", "tick", anchor="end"))
    return "".join(parts)


def _key(
    css: Callable[[float], str],
    steps: list[float],
    ends: tuple[str, str],
    grid: Grid,
) -> str:
    y = grid.height - 20
    parts = [words(_LEFT - 6, y + 10, ends[0], "tick", anchor="end")]
    for i, step in enumerate(steps):
        box = (_LEFT + 18.0 * i, y, 18.0, 12.0)
        parts.append(bar(box, "cell") + bar(box, css(step), strength=abs(float(step))))
    x = _LEFT + 18 * len(steps) + 6
    parts.append(words(x, y + 10, ends[1], "tick", anchor="start"))
    return "".join(parts)


def _edge(grid: Grid) -> str:
    inside = [x for x in grid.levels if grid.last is not None and x <= grid.last]
    if not inside or len(inside) == len(grid.levels):
        return ""
    x = grid.x(len(inside))
    ends = [(x, _TOP - 4.0), (x, grid.y(len(grid.envs) - 1) + _ROW + 2)]
    return el("path", d=path(ends), class_="edge")
