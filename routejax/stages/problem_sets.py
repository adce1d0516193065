"""Drawing sets of problems by workers: whole cells, in a fixed order, by many at once.

A cell is an environment at a difficulty. Its seeds are a row of its own, and what they
draw is looked at in that order, so a set is the same for any number of workers; only a
draw that ends at the time limit depends on the machine. A question goes to the split
that its content gives it (`envs.split_of`) for as long as that split wants more of the
cell, and is used once in an environment.
"""

from __future__ import annotations

import dataclasses
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, NamedTuple

from routejax.envs import DIFFICULTIES, Problem, registry, split_of
from routejax.envs.judging import Call, Outcome, Workers, tasks
from routejax.errors import UserError
from routejax.workdir import read_json, write_json

DRAW = f"{tasks.__name__}:draw"
_SHOWN = 5  # environments in one message
_AHEAD = (4, 64)  # fewest and most draws on their way; else twice what is wanted


class Cell(NamedTuple):
    """An environment at a difficulty, and how many problems each split wants of it."""

    env: str
    difficulty: int
    wanted: Mapping[str, int]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Limits:
    """When a draw, and when a cell, is given up.

    Attributes:
        longest_prompt: characters.
        draw_timeout_s: wall time of one draw.
        draws: at most so many for each problem that is wanted, and 200 more.
        failures: at most so many draws of a cell that fail or are too long.
    """

    longest_prompt: int
    draw_timeout_s: float
    draws: int
    failures: int


def cells(sets: Mapping[str, Mapping[str, Any]]) -> list[Cell]:
    """The cells that the splits ask for together, each once, by their first mention.

    A set has `envs`, `difficulties` (first and last) and `per_cell`. No cell of a
    difficulty that an environment does not have is made.

    Raises:
        UserError: an environment or a difficulty does not exist.
    """
    wanted: dict[tuple[str, int], dict[str, int]] = {}
    for split, asked in sets.items():
        first, last = asked["difficulties"]
        if not DIFFICULTIES[0] <= first <= last <= DIFFICULTIES[-1]:
            raise UserError(
                f"sets.{split}.difficulties must be first and last within "
                f"{DIFFICULTIES[0]}..{DIFFICULTIES[-1]}; got {first}, {last}"
            )
        for env in asked["envs"]:
            known = registry.environment(env).difficulties
            for difficulty in (d for d in range(first, last + 1) if d in known):
                own = wanted.setdefault((env, difficulty), {})
                own[split] = asked["per_cell"]
    return [Cell(env, level, own) for (env, level), own in wanted.items()]


def draw(
    all_cells: Sequence[Cell],
    workers: Workers,
    limits: Limits,
    *,
    seed: int,
    at_once: int,
    folder: Path,
    table: str = tasks.TABLE,
    done: Callable[[int, str], None] = lambda number, name: None,
) -> list[dict[str, Any]]:
    """What came of each cell, in order; `folder` keeps those that are finished.

    Each is {env, difficulty, problems, counts, too_long, failed}: `problems` by split
    and in the order drawn, as fields of `Problem`; `counts` of all draws by what became
    of them; ids of prompts beyond the limit; and [seed, why] of draws that failed.
    """
    by_env: dict[str, list[Cell]] = {}
    for cell in all_cells:
        by_env.setdefault(cell.env, []).append(cell)
    finished, lock = Counter[str](), threading.Lock()

    def told(cell: Cell) -> None:
        with lock:
            finished["cells"] += 1
            done(finished["cells"], f"{cell.env}/{cell.difficulty}")

    def of_env(own: Sequence[Cell]) -> list[dict[str, Any]]:
        found, seen = [], set[str]()
        for cell in own:
            path = _part(folder, cell.env, cell.difficulty)
            if not path.exists():
                made = _drawn(cell, workers, limits, seed, table, seen)
                write_json(path, made)
            found.append(read_json(path, dict))
            rows = found[-1]["problems"].values()
            seen |= {row["id"] for kept in rows for row in kept}
            told(cell)
        return found

    made = _together(of_env, list(by_env.values()), at_once, workers)
    by_cell = {(one["env"], one["difficulty"]): one for own in made for one in own}
    return [by_cell[cell.env, cell.difficulty] for cell in all_cells]


def require_drawn(made: Sequence[Mapping[str, Any]], folder: Path) -> None:
    """Every environment gave a problem, or at least none of its draws failed.

    Otherwise its cells are taken away, so that they are drawn again once that is
    mended.

    Raises:
        UserError: the environments that gave none, and why.
    """
    by_env: dict[str, list[Mapping[str, Any]]] = {}
    for cell in made:
        by_env.setdefault(cell["env"], []).append(cell)
    lost = {}
    for env, own in by_env.items():
        whys = Counter(why for cell in own for _, why in cell["failed"])
        if whys and not any(rows for cell in own for rows in cell["problems"].values()):
            lost[env] = whys.most_common(1)[0][0]
            for cell in own:
                _part(folder, env, cell["difficulty"]).unlink()
    if lost:
        shown = [f"{env} ({why})" for env, why in [*lost.items()][:_SHOWN]]
        more = f" and {len(lost) - _SHOWN} more" if len(lost) > _SHOWN else ""
        raise UserError(
            f"no problem could be drawn of {'; '.join(shown)}{more}. Mend that "
            "and run the same command again, which keeps what else was drawn; or leave "
            "them out of config.sets"
        )


def _part(folder: Path, env: str, difficulty: int) -> Path:
    return folder / f"{env.replace(':', '.')}-{difficulty:02d}.json"


def _together(
    work: Callable, items: Sequence[Any], at_once: int, workers: Workers
) -> list[Any]:
    """Work of all items by threads; where one fails, or a signal comes, all end."""
    with ThreadPoolExecutor(max(1, at_once)) as threads:
        futures = [threads.submit(work, item) for item in items]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
            failed = [f for f in futures if f.done() and f.exception()]
            return [future.result() for future in failed or futures]
        finally:
            if not all(future.done() for future in futures):
                threads.shutdown(wait=False, cancel_futures=True)
                workers.close()  # those who wait for them end


def _drawn(
    cell: Cell,
    workers: Workers,
    limits: Limits,
    seed: int,
    table: str,
    seen: set[str],
) -> dict[str, Any]:
    problems: dict[str, list[Problem]] = {split: [] for split in cell.wanted}
    counts, too_long, failed = Counter[str](), [], []
    ids = set(seen)
    for number, outcome in _draws(cell, workers, limits, seed, table, problems):
        counts["draws"] += 1
        if outcome.status != "ok":
            counts[outcome.status] += 1
            failed.append([number, outcome.detail])
            kept = None
        else:
            problem = _problem(outcome.value, cell, number)
            kept = _place(problem, problems, cell.wanted, ids, limits.longest_prompt)
            counts[kept] += 1
            if kept == "too long":
                too_long.append(problem.id)
            elif kept == "kept":
                ids.add(problem.id)
                problems[split_of(problem)].append(problem)
        if len(failed) + len(too_long) >= limits.failures or _full(cell, problems):
            break
    return {
        "env": cell.env,
        "difficulty": cell.difficulty,
        "problems": {s: [*map(dataclasses.asdict, p)] for s, p in problems.items()},
        "counts": dict(sorted(counts.items())),
        "too_long": sorted(set(too_long)),
        "failed": failed,
    }


def _draws(
    cell: Cell,
    workers: Workers,
    limits: Limits,
    seed: int,
    table: str,
    problems: Mapping[str, Sequence[Problem]],
) -> Iterator[tuple[int, Outcome]]:
    """The cell's seeds and what they drew, in order; asked for some at a time."""
    rng = random.Random(f"{seed}/{cell.env}/{cell.difficulty}")
    modules = tasks.environment(table, cell.env).modules
    left = 200 + limits.draws * sum(cell.wanted.values())
    while left > 0:
        missing = sum(cell.wanted.values()) - sum(map(len, problems.values()))
        size = min(left, max(_AHEAD[0], min(2 * missing, _AHEAD[1])))
        seeds = [rng.randrange(2**31) for _ in range(size)]
        calls = [
            Call(DRAW, (table, *cell[:2], n), limits.draw_timeout_s, modules)
            for n in seeds
        ]
        yield from zip(seeds, workers.submit(calls).result(), strict=True)
        left -= size


def _problem(values: Any, cell: Cell, seed: int) -> Problem:
    """The problem that a worker sent; what it says of itself is looked at.

    Raises:
        UserError: it is no problem, or another one's.
    """
    fields = [field.name for field in dataclasses.fields(Problem)]
    if not isinstance(values, list) or len(values) != len(fields):
        raise UserError(f"a draw of {cell.env} gave what is no problem: {values!r:.80}")
    problem = Problem(**dict(zip(fields, values, strict=True)))
    if not isinstance(problem.prompt, str) or not isinstance(problem.config, dict):
        raise UserError(f"a draw of {cell.env} gave what is no problem: {values!r:.80}")
    identity = registry.problem_id(cell.env, problem.prompt)
    asked = (identity, cell.env, cell.difficulty, seed)
    if (problem.id, problem.env, problem.difficulty, problem.seed) != asked:
        raise UserError(f"a draw of {cell.env} gave another problem than was asked for")
    return problem


def _place(
    problem: Problem,
    problems: Mapping[str, Sequence[Problem]],
    wanted: Mapping[str, int],
    ids: set[str],
    longest_prompt: int,
) -> str:
    """What becomes of a problem, in one word or two."""
    if problem.id in ids:
        return "duplicate"
    if len(problem.prompt) > longest_prompt:
        return "too long"
    split = split_of(problem)
    if split not in wanted:
        return "of another split"
    return "kept" if len(problems[split]) < wanted[split] else "beyond"


def _full(cell: Cell, problems: Mapping[str, Sequence[Problem]]) -> bool:
    return all(len(problems[split]) >= n for split, n in cell.wanted.items())
