"""Sokoban boards and A::B programs in number, beside checkers that are not ours.

    python -m tests.benchmarks.sokoban [--boards 1000] [--workers 2] [--programs 2000]
        [--json]

Boards: as many of each of the four levels, generated and solved, no two the same up to
the eight symmetries. Every stored solution is played by the small checker of the tests
and, where reasoning-gym is installed, by its verifier (which wants other signs; its
score must be 1 for the solution and below 1 without the last move).

Programs: drawn over all difficulties, final states of both verifiers against those of
reasoning-gym and rlve-gym where they are installed. Neither needs to be: an environment
for both is made by

    python -m venv DIR && DIR/bin/pip install reasoning-gym==0.1.25 rlve-gym==0.0.1 \\
        networkx sympy numpy && DIR/bin/pip install -e .
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import multiprocessing
import random
import sys
import time
import types
from collections import Counter

from routejax.envs.local.ab import final_state, simulate
from routejax.envs.programs.levels import BANDS, program
from routejax.envs.sokoban.levels import LEVELS, SIZES, level_of, puzzle
from routejax.envs.sokoban.notation import canonical, draw
from routejax.envs.sokoban.solver import lurd
from tests import sokoban_cases

# Our signs to those of reasoning-gym's boards.
_SIGNS = str.maketrans("#-.$*@+", "+-X@$*%")


def board(job: tuple[int, int]) -> dict:
    """One board of a difficulty: rows, solution, pushes, CPU seconds."""
    difficulty, seed = job
    began = time.process_time()
    found = puzzle(random.Random(f"benchmark/{difficulty}/{seed}"), difficulty)
    return {
        "rows": draw(found.board),
        "key": canonical(found.board),
        "solution": lurd(found.board, found.pushes),
        "pushes": len(found.pushes),
        "cpu_s": time.process_time() - began,
    }


def jobs(number: int, first: int) -> list[tuple[int, int]]:
    """As many jobs for each level, over its difficulties, with seeds from `first`."""
    found = []
    for low, high in LEVELS.values():
        own = [d for d, size in SIZES.items() if low <= size.pushes[0] <= high]
        found += [(own[i % len(own)], i) for i in range(first, first + number)]
    return sorted(found, reverse=True)  # the long ones first


def drawn_boards(number: int, workers: int) -> tuple[list[dict], int]:
    """Different boards, `number` of them for each level, and how many came again."""
    found: dict[str, dict[str, dict]] = {name: {} for name in LEVELS}
    again = first = 0
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        while missing := max(number - len(own) for own in found.values()):
            wanted = [
                (difficulty, seed)
                for difficulty, seed in jobs(missing, first)
                if len(found[str(level_of(SIZES[difficulty].pushes[0]))]) < number
            ]
            first += missing
            for made in pool.imap_unordered(board, wanted):
                own = found[str(level_of(made["pushes"]))]
                again += made["key"] in own
                if len(own) < number:
                    own.setdefault(made["key"], made)
    return [made for own in found.values() for made in own.values()], again


def boards(number: int, workers: int) -> dict:
    """Figures of the generated boards and of the checks of their solutions."""
    began = time.monotonic()
    found, again = drawn_boards(number // len(LEVELS), workers)
    wall = time.monotonic() - began
    judge = _reasoning_gym_sokoban()
    played = sum(sokoban_cases.play(b["rows"], b["solution"]) for b in found)
    figures: dict = {
        "boards": len(found),
        "drawn_again": again,
        "wall_s": round(wall, 1),
        "solutions_played": played,
    }
    if judge:
        figures["reasoning_gym_right"] = sum(
            judge(b["rows"], b["solution"]) >= 1 for b in found
        )
        figures["reasoning_gym_cut_short_right"] = sum(
            judge(b["rows"], b["solution"][:-1]) >= 1 for b in found
        )
    for name in LEVELS:
        own = [b for b in found if level_of(b["pushes"]) == name]
        seconds = sorted(b["cpu_s"] for b in own)
        figures[name] = {
            "boards": len(own),
            "cpu_s_mean": round(sum(seconds) / len(own), 4),
            "cpu_s_most": round(seconds[-1], 3),
            "longest_solution": max(len(b["solution"]) for b in own),
        }
    return figures


def _reasoning_gym_sokoban():
    if importlib.util.find_spec("reasoning_gym") is None:
        return None
    gym = importlib.import_module("reasoning_gym")
    data = gym.create_dataset("sokoban", size=1, seed=0)

    def score(rows: list[str], solution: str) -> float:
        drawn = "\n".join(" ".join(row.translate(_SIGNS)) for row in rows)
        entry = {"metadata": {"gamestr": drawn}}
        return data.score_answer(solution.upper(), entry)

    return score


def programs(number: int) -> dict:
    """How many final states of drawn programs equal those of others."""
    rng = random.Random("benchmark")
    drawn = [program(rng, 1 + i % len(BANDS)) for i in range(number)]
    ours = [final_state(items) for items in drawn]
    equal = Counter(
        stepwise=sum(simulate(p) == f for p, f in zip(drawn, ours, strict=True))
    )
    for name, other in (("reasoning_gym", _their_ab()), ("rlve", _their_programs())):
        if other:
            equal[name] = sum(other(p, f) for p, f in zip(drawn, ours, strict=True))
    return {"programs": number, "empty": ours.count([]), **equal}


def _their_ab():
    if importlib.util.find_spec("reasoning_gym") is None:
        return None
    ab = importlib.import_module("reasoning_gym.algorithmic.ab")

    def equal(items: list[str], final: list[str]) -> bool:
        steps, endless = ab.compute_steps(list(items), max_steps=1000)
        return not endless and steps[-1] == final

    return equal


def _their_programs():
    """RLVE's scorer, on a program of ours; torch is only asked for a seed by it."""
    if importlib.util.find_spec("Gym") is None:
        return None
    stub = types.ModuleType("torch")
    stub.manual_seed = lambda seed: None  # type: ignore[attr-defined]
    sys.modules.setdefault("torch", stub)
    path = "Gym.environments.ab_program_simulation.environment"
    env = importlib.import_module(path).ABProgramSimulation_Environment(
        answer_markers=("<answer>", "</answer>")
    )

    def equal(items: list[str], final: list[str]) -> bool:
        _generate_as(env, items)
        return env.scorer(f"<answer>{' '.join(final)}</answer>") == 1

    return equal


def _generate_as(env, items: list[str]) -> None:
    """Lets their generator compute the final state of this program."""
    theirs = importlib.import_module(type(env).__module__)
    theirs.random = types.SimpleNamespace(
        randint=lambda low, high: 1,
        choices=lambda *_, k: [["A#", "#A", "B#", "#B"].index(i) for i in items],
    )
    env.parameter = {"N": len(items), "max_steps": 1000}
    env._generate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--boards", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--programs", type=int, default=2000)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    figures = {
        "sokoban": boards(args.boards, args.workers),
        "programs": programs(args.programs),
    }
    print(json.dumps(figures, indent=None if args.json else 2))


if __name__ == "__main__":
    main()
