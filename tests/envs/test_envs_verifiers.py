"""Each verifier against brute force: an oracle that shares no code with it."""

import functools
import itertools
import random

import pytest

from routejax.envs import DIFFICULTIES, ENVS, make_problem
from routejax.envs.local.ab import ALPHABET, final_state, simulate
from routejax.envs.local.ab import check as check_ab
from routejax.envs.local.brackets import check as check_brackets
from routejax.envs.local.countdown import check as check_countdown
from routejax.envs.local.distinct import check as check_distinct


def right_or_not(env, config, answer):
    """Whether the answer is right; None where it is not of the answer's form."""
    verdict = ENVS[env].judge(config, f"<think> So. </think> Answer: {answer}")
    return None if verdict.status == "unparsed" else verdict.solved


def texts(alphabet, lengths):
    """Every answer over an alphabet with one of the lengths."""
    for length in lengths:
        for items in itertools.product(alphabet, repeat=length):
            yield " ".join(items) or "none"


def balanced(text: str) -> bool:
    """By deleting adjacent pairs until nothing changes."""
    before = None
    while before != text:
        before = text
        for pair in ("()", "[]", "{}"):
            text = text.replace(pair, "")
    return not text


def rewritten_anyhow(program, rng):
    """The final state by rewriting a random facing pair each time."""
    rules = {("A#", "#A"): [], ("B#", "#B"): []}
    rules |= {("A#", "#B"): ["#B", "A#"], ("B#", "#A"): ["#A", "B#"]}
    state = list(program)
    while True:
        places = [i for i in range(len(state) - 1) if tuple(state[i : i + 2]) in rules]
        if not places:
            return state
        i = rng.choice(places)
        state[i : i + 2] = rules[tuple(state[i : i + 2])]


def test_ab_closed_form_equals_simulation_for_every_program_up_to_length_6():
    rng = random.Random(0)
    for length in range(7):
        for program in itertools.product(ALPHABET, repeat=length):
            expected = rewritten_anyhow(program, rng)
            assert simulate(list(program)) == expected
            assert final_state(list(program)) == expected


def test_ab_accepts_exactly_the_final_state():
    for program in itertools.product(ALPHABET, repeat=3):
        expected = " ".join(rewritten_anyhow(program, random.Random(1))) or "none"
        right = [
            text
            for text in texts(ALPHABET, range(4))
            if check_ab({"items": list(program)}, text)
        ]
        assert right == [expected]


def test_ab_worked_by_hand():
    # B# meets #A: they pass; A# meets #A: gone; B# is left. Then B# meets #B.
    program = ["A#", "B#", "#A", "#B", "#B", "A#"]
    assert final_state(program) == ["#B", "A#"]
    assert check_ab({"items": ["A#", "#A"]}, "none") is True
    assert check_ab({"items": ["A#", "#A"]}, "A# #A") is False


def test_brackets_accept_exactly_the_shortest_balancing_text():
    closers = list(texts(")]}", range(4)))
    for length in range(1, 4):
        for prefix in itertools.product("()[]{}", repeat=length):
            start = "".join(prefix)
            works = [t for t in closers if balanced(start + t.replace(" ", ""))]
            works = [t for t in works if t != "none"]
            if not works or balanced(start):
                continue
            shortest = min(works, key=len)
            config = {"items": list(prefix)}
            assert [t for t in closers if check_brackets(config, t)] == [shortest]


def test_countdown_accepts_every_right_pattern_and_no_other():
    numbers = [3, 1, 4, 1, 5]
    for target in range(-10, 16):
        for signs in itertools.product((1, -1), repeat=4):
            value = 3 + sum(s * x for s, x in zip(signs, numbers[1:], strict=True))
            words = ["3"]
            for s, x in zip(signs, numbers[1:], strict=True):
                words += ["+" if s > 0 else "-", str(x)]
            config = {"numbers": numbers, "target": target}
            assert check_countdown(config, " ".join(words)) == (value == target)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("3 + 1", True),
        ("1 + 3", False),  # another order
        ("3 + 01", False),
        ("2 + 2", False),  # other numbers
        ("3", False),
        ("3 + 1 +", None),
        ("3 * 1", None),
        ("+ 3 1", None),
        ("3+1", None),
        ("3 + -1", None),
        ("３ + 1", None),
        ("none", None),
    ],
)
def test_countdown_forms(answer, expected):
    assert check_countdown({"numbers": [3, 1], "target": 4}, answer) is expected


def oracle_sort(config):
    rest, out = list(config["items"]), []
    for digit in range(10):
        out += [digit] * rest.count(digit)
    return " ".join(map(str, out))


def oracle_modsum(config):
    clock = 0
    for _ in range(sum(config["items"])):
        clock = 0 if clock == 6 else clock + 1
    return str(clock)


def oracle_distinct(config):
    return " ".join(digit for digit in "0123456789" if int(digit) in config["items"])


TURN = {"R": 1, "U": 1j, "L": -1, "D": -1j}
GRID = {complex(x, y) for x in range(10) for y in range(10)}


def oracle_walk(config):
    cell = complex(*config["start"]) + sum(TURN[m] for m in config["moves"])
    return f"{int(cell.real) % 10} {int(cell.imag) % 10}"


def oracle_fence(config):
    cell = complex(*config["start"])
    for move in config["moves"]:
        cell += TURN[move] if cell + TURN[move] in GRID else 0
    return f"{int(cell.real)} {int(cell.imag)}"


def oracle_count(config):
    return str(len([x for x in config["items"] if x == config["letter"]]))


def oracle_reverse(config):
    return " ".join(reversed(config["items"]))


CELLS = [f"{x} {y}" for x in range(10) for y in range(10)]


@pytest.mark.parametrize(
    ("env", "oracle", "candidates"),
    [
        ("sort", oracle_sort, None),
        ("distinct", oracle_distinct, None),
        ("reverse", oracle_reverse, None),
        ("modsum", oracle_modsum, [str(n) for n in range(7)]),
        ("count", oracle_count, [str(n) for n in range(20)]),
        ("walk", oracle_walk, CELLS),
        ("fence", oracle_fence, CELLS),
    ],
)
def test_exactly_the_oracles_answer_is_accepted(env, oracle, candidates):
    for seed in range(60):
        problem = make_problem(env, DIFFICULTIES[seed % 5], seed)
        expected = oracle(problem.config)
        tried = candidates
        if tried is None:
            items = list(map(str, problem.config["items"]))
            orders = (itertools.permutations(items, n + 1) for n in range(len(items)))
            tried = sorted(set(map(" ".join, itertools.chain.from_iterable(orders))))
        assert expected in tried
        right = [t for t in tried if right_or_not(env, problem.config, t)]
        assert right == [expected]


def test_distinct_accepts_exactly_the_oracles_answer_for_every_three_digits():
    for items in itertools.product(range(4), repeat=3):
        config = {"items": list(items)}
        right = [t for t in texts("0123", range(4)) if check_distinct(config, t)]
        assert right == [oracle_distinct(config)]


def test_fence_ends_where_the_oracle_does_from_every_cell_near_the_fence():
    for x, y in itertools.product((0, 1, 8, 9), repeat=2):
        for moves in itertools.product("UDLR", repeat=4):
            config = {"start": [x, y], "moves": list(moves)}
            assert right_or_not("fence", config, oracle_fence(config)) is True


@pytest.mark.parametrize(
    ("env", "config", "answer"),
    [
        ("distinct", {"items": [3, 1, 3, 5]}, "1 3 5"),
        ("distinct", {"items": [2, 2, 0, 2]}, "0 2"),
        ("fence", {"start": [3, 4], "moves": ["U", "R", "R"]}, "5 5"),
        # Two moves stop at x = 9, so one back gives 8; on the torus it gives 0.
        ("fence", {"start": [9, 0], "moves": ["R", "R", "D", "L"]}, "8 0"),
    ],
)
def test_variants_worked_by_hand(env, config, answer):
    assert right_or_not(env, config, answer) is True


@pytest.mark.parametrize(
    ("env", "parent"), [("distinct", oracle_sort), ("fence", oracle_walk)]
)
@pytest.mark.parametrize("difficulty", [1, 5])
def test_the_parents_answer_to_a_variant_is_often_right_and_often_wrong(
    env, parent, difficulty
):
    problems = [make_problem(env, difficulty, seed) for seed in range(400)]
    right = sum(right_or_not(env, p.config, parent(p.config)) is True for p in problems)
    assert 80 < right < 340


@pytest.mark.parametrize("env", ["sort", "distinct", "reverse", "brackets", "ab"])
def test_a_foreign_symbol_is_unparsed_and_a_missing_one_is_wrong(env):
    for seed in range(20):
        problem = make_problem(env, 6, seed)
        check, config = functools.partial(right_or_not, env), problem.config
        assert check(config, "7x") is None
        assert check(config, "1, 2") is None
        assert check(config, "\u00e9") is None
        symbol = {"reverse": "F", "brackets": ")", "ab": "A#"}.get(env, "1")
        assert check(config, " ".join([symbol] * 20)) is False
