"""Answers to Sokoban boards: where they are read, their grammar, and the replay."""

import random

import pytest
import sokoban_cases as cases

from routejax.envs.sokoban.environment import check, generator, judge, prompt_of
from routejax.envs.sokoban.moves import (
    GRAMMARS,
    LONGEST,
    read,
    replay,
    solves,
    write,
)
from routejax.envs.sokoban.notation import draw, parse
from routejax.envs.tagged import LONGEST_RESPONSE, tagged

BOARD = ("######", "#-.$@#", "#----#", "######")
CONFIG = {"rows": list(BOARD), "notation": "xsb"}

READ = {
    # answer: moves in the notation of level files, and in that of RAGEN
    "LLUR": ("llur", None),
    "lLuR": ("llur", None),
    "L, L,U R\n": ("llur", None),
    "l": ("l", None),
    "Left": (None, "l"),
    "Left || Left || Up": (None, "llu"),
    "left||DOWN||right": (None, "ldr"),
    "Left, Up": (None, None),
    "Left Up": (None, None),
    "Left || ": (None, None),
    "|| Left": (None, None),
    "LLUR.": (None, None),
    "moves: L": (None, None),
    "LLX": (None, None),
    "L2": (None, None),
    "←": (None, None),
    "": (None, None),
    " ,": (None, None),
    "L" * LONGEST: ("l" * LONGEST, None),
    "L" * (LONGEST + 1): (None, None),
    "\ud800": (None, None),
    "Ｌ": (None, None),
}


@pytest.mark.parametrize("answer", READ, ids=lambda text: repr(text[:20]))
def test_the_grammar_by_hand(answer):
    assert (read(answer, "xsb"), read(answer, "ragen")) == READ[answer]


def test_the_examples_of_the_prompts_keep_their_own_grammar():
    for notation, grammar in GRAMMARS.items():
        example = grammar.rsplit("for example ", 1)[1]
        ways = read(example, notation)
        assert ways
        assert read(write(ways, notation), notation) == ways


REPLAYED = {
    # moves on BOARD: whether they solve it, and how many are legal
    "l": (True, 1),
    "ll": (False, 2),  # solved after the first, not after the last
    "llr": (False, 3),
    "r": (False, 0),  # a wall
    "lr": (True, 2),
    "ul": (False, 0),
    "lll": (False, 2),  # the box stands at the wall
    "dllurrrl": (False, 5),  # its third push is against the wall
    "": (False, 0),
}


@pytest.mark.parametrize("ways", REPLAYED)
def test_replay_by_hand(ways):
    board = parse(BOARD)
    assert (solves(board, ways), replay(board, ways).legal) == REPLAYED[ways]
    assert cases.play(BOARD, ways) == solves(board, ways)


def test_a_box_is_not_pushed_into_a_box():
    rows = ("#######", "#.$$@.#", "#######")
    assert replay(parse(rows), "l")[1:] == (0, 0)
    assert not cases.play(rows, "l")


def test_replay_agrees_with_the_independent_checker_on_random_moves():
    rng = random.Random(1)
    solved = 0
    for seed in range(60):
        _, config = generator("xsb", prompt_of)(random.Random(seed), 1 + seed % 8)
        board, solution = parse(config["rows"]), config["solution"].lower()
        tries = ["".join(rng.choices("udlr", k=rng.randint(1, 6))) for _ in range(20)]
        for at in range(len(solution) + 1):
            tries.append(solution[:at] + rng.choice("udlr") + solution[at:])
            tries.append(solution[:at])
        for ways in tries:
            assert solves(board, ways) == cases.play(config["rows"], ways)
            solved += solves(board, ways)
    assert solved > 60


RESPONSES = {
    "<answer>L</answer>": ("L", "answered", True),
    "<think> so </think> <answer> l </answer>": ("l", "answered", True),
    "supplied by the template </think><answer>L</answer>": ("L", "answered", True),
    "I think <answer>R</answer> no, <answer>L</answer>.": ("L", "answered", True),
    "<answer>L</answer> no, <answer>R</answer>": ("R", "answered", False),
    "<think><answer>L</answer>": (None, "no_answer", False),
    "<think><answer>L</answer></think>": (None, "no_answer", False),
    "<think><answer>L</answer></think> R": (None, "no_answer", False),
    "<answer>L": (None, "no_answer", False),
    "L</answer>": (None, "no_answer", False),
    "</answer>L<answer>": (None, "no_answer", False),
    "L": (None, "no_answer", False),
    "": (None, "no_answer", False),
    "<answer></answer>": ("", "unparsed", False),
    "<answer>push it left</answer>": ("push it left", "unparsed", False),
    "<answer>RRRR</answer>": ("RRRR", "answered", False),
}


@pytest.mark.parametrize("response", RESPONSES)
def test_where_an_answer_is_read(response):
    answer, status, solved = RESPONSES[response]
    verdict = judge(CONFIG, response)
    assert (verdict.answer, verdict.status, verdict.solved) == (answer, status, solved)
    assert verdict.score == float(solved)


HOSTILE = (
    *("<answer>" * 40_000, "</answer>" * 40_000, "<think>" * 40_000, "\0" * 9000),
    *("<answer>" + "L" * 10**6 + "</answer>", "<answer>\ud800\udfff</answer>"),
    *("<answer>" + "(" * 3000 + "</answer>", "<answer>__import__('os')</answer>"),
    *("<answer>9**9**9**9</answer>", "<answer>\u202eL</answer>", "|| " * 100_000),
    "<answer>" + "Left || " * 100_000 + "Left</answer>",
)


@pytest.mark.parametrize("notation", GRAMMARS)
def test_judging_is_total_and_bounded(notation):
    rng = random.Random(0)
    drawn = [
        "".join(rng.choices("<answer>/LRUD|, \n\ud800é", k=40)) for _ in range(300)
    ]
    for response in (*HOSTILE, *drawn):
        verdict = judge({**CONFIG, "notation": notation}, response)
        assert not verdict.solved
        assert verdict.status in ("no_answer", "unparsed", "answered")
        assert len(verdict.answer or "") <= 8000
    assert tagged("x" * LONGEST_RESPONSE + "<answer>L</answer>") == "L"


@pytest.mark.parametrize("notation", GRAMMARS)
def test_stored_solutions_are_accepted_and_others_are_not(notation):
    generate = generator(notation, prompt_of)
    configs = [generate(random.Random(seed), 4)[1] for seed in range(30)]
    crossed = 0
    for config, other in zip(configs, configs[1:] + configs[:1], strict=True):
        assert check(config, write(config["solution"], notation))
        crossed += bool(check(config, write(other["solution"], notation)))
        assert config["rows"] == draw(parse(config["rows"]))
    assert crossed <= 2


def test_a_seed_draws_the_same_bytes():
    generate = generator("xsb", prompt_of)
    assert generate(random.Random("a"), 3) == generate(random.Random("a"), 3)
    prompt, config = generate(random.Random("sokoban"), 2)
    assert config["rows"] == [
        *("######", "#--.-#", "#---@#", "#-$-##", "##--##", "######")
    ], prompt  # so in every process
