"""Sokoban as an environment: prompts, verdicts, and the key that parts its splits.

Three forms of one problem: `sokoban` in the notation of level files with letters as
moves, `sokoban_ragen` in the notation of the RAGEN agent environments with words as
moves, both for pretrained students, and `sokoban_short` for students whose vocabulary
is a few hundred pieces.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from routejax.envs.problem import Verdict
from routejax.envs.sokoban.board import Board
from routejax.envs.sokoban.levels import level_of, puzzle
from routejax.envs.sokoban.moves import GRAMMARS, read, solves
from routejax.envs.sokoban.notation import NOTATIONS, XSB, canonical, draw, parse
from routejax.envs.sokoban.solver import lurd
from routejax.envs.tagged import INSTRUCTION, tagged, verdict
from routejax.traces import content_id

_PROMPT = """Solve this Sokoban puzzle: push every box onto a goal.

{board}

Signs: {legend}.
Rules: the player moves up, down, left or right, one cell at a time. Moving into a box \
pushes it one cell further if that cell holds no wall and no other box; boxes are \
never pulled. A move into a wall or a push that is blocked is illegal, and one illegal \
move makes the answer wrong. After the last move every box must be on a goal.
Answer with all moves of the player in order, {grammar}. {instruction}"""

# The four signs of every board; the two of things on goals explain themselves.
_SHORT = f"Push each {XSB.box} to a {XSB.goal} as {XSB.player}: U D L R.\n{{board}}"


def config_of(board: Board, solution: str, pushes: int, notation: str) -> dict:
    """What is kept of a puzzle: `rows` in xsb, a solution, pushes, level, notation."""
    return {
        "rows": draw(board),
        "notation": notation,
        "level": level_of(pushes),
        "pushes": pushes,
        "solution": solution,
    }


def prompt_of(config: dict) -> str:
    """The prompt for pretrained students, with the legend of the board's notation."""
    notation = config["notation"]
    return _PROMPT.format(
        board="\n".join(draw(parse(config["rows"]), notation)),
        legend=NOTATIONS[notation].legend,
        grammar=GRAMMARS[notation],
        instruction=INSTRUCTION,
    )


def short_prompt_of(config: dict) -> str:
    """The prompt for small vocabularies: the board under one line."""
    return _SHORT.format(board="\n".join(config["rows"]))


def generator(
    notation: str, prompt_of: Callable[[dict], str]
) -> Callable[[random.Random, int], tuple[str, dict]]:
    """`generate` of an environment in one notation."""

    def generate(rng: random.Random, difficulty: int) -> tuple[str, dict]:
        board, pushes = puzzle(rng, difficulty)
        config = config_of(board, lurd(board, pushes), len(pushes), notation)
        return prompt_of(config), config

    return generate


def check(config: dict, answer: str) -> bool | None:
    """Whether the moves solve the board; None if they break the grammar."""
    ways = read(answer.strip(), config["notation"])
    return None if ways is None else solves(parse(config["rows"]), ways)


def judge(config: dict, response: str) -> Verdict:
    """The verdict on the tagged answer of a response; total over all strings."""
    answer = tagged(response)
    return verdict(answer, None if answer is None else check(config, answer))


def key(config: dict) -> str:
    """Equal for all boards that must be in one split, in whatever form they are asked.

    Those are the eight rotations and reflections of a board, and the boards on which
    only the player stands elsewhere in the same space.
    """
    return content_id("sokoban", canonical(parse(config["rows"])))
