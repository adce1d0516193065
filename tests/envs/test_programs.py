"""A::B programs: both verifiers on every short program, levels, prompts, verdicts."""

import random
from collections import Counter
from itertools import product

import pytest

from routejax.envs import SPLITS, problem_set, write_trace
from routejax.envs import judge as judge_problem
from routejax.envs.local.ab import ALPHABET, ROUTES, final_state, simulate, step
from routejax.envs.programs.environment import (
    LONGEST,
    VERIFIERS,
    check,
    config_of,
    generator,
    judge,
    key,
    prompt_of,
    short_prompt_of,
)
from routejax.envs.programs.levels import BANDS, LEVELS, level_of, program, rewrites

BY_HAND = {
    # program: (rewrites, final state)
    "A#": (0, "A#"),
    "#A A#": (0, "#A A#"),
    "A# #A": (1, ""),
    "A# #B": (1, "#B A#"),
    "B# A# #B #A B#": (3, "B#"),
    "A# B# #A #B": (3, ""),
    "A# A# #B #B": (4, "#B #B A# A#"),
    "B# B# #A #B B# #B": (4, "#A B#"),
}


@pytest.mark.parametrize("text", BY_HAND)
def test_programs_by_hand(text):
    items, (count, final) = text.split(), BY_HAND[text]
    assert rewrites(items) == count
    for verifier in VERIFIERS.values():
        assert verifier(items) == final.split()


def short_programs():
    for length in range(1, 8):
        yield from map(list, product(ALPHABET, repeat=length))


def test_both_verifiers_agree_on_all_programs_up_to_seven_symbols():
    number = 0
    for items in short_programs():
        count, state = 0, items
        while (after := step(state)) is not None:
            count, state = count + 1, after
        assert VERIFIERS["closed"](items) == VERIFIERS["stepwise"](items) == state
        assert rewrites(items) == count
        number += 1
    assert number == 21_844


def rewritten_anywhere(items, rng):
    """Final state and number of rewrites in a random order of rewriting."""
    state, count = list(items), 0
    while True:
        at = [
            i
            for i in range(len(state) - 1)
            if state[i].endswith("#") and state[i + 1].startswith("#")
        ]
        if not at:
            return state, count
        i = rng.choice(at)
        a, b = state[i], state[i + 1]
        state[i : i + 2] = [] if a[0] == b[1] else [b, a]
        count += 1


@pytest.mark.parametrize("difficulty", list(BANDS))
def test_levels_hold_at_every_difficulty_and_any_order_gives_the_same(difficulty):
    (least, most), (shortest, longest) = BANDS[difficulty]
    rng = random.Random(difficulty)
    for _ in range(12):
        items = program(rng, difficulty)
        assert shortest <= len(items) <= longest
        assert least <= rewrites(items) <= most
        want = (final_state(items), rewrites(items))
        assert simulate(items) == want[0]
        assert rewritten_anywhere(items, rng) == want


def test_levels_and_difficulties_leave_no_gap():
    def flat(bands):
        return [n for low, high in bands for n in range(low, high + 1)]

    assert flat(LEVELS.values()) == list(range(1, 91))
    assert flat(steps for steps, _ in BANDS.values()) == list(range(1, 91))
    assert list(BANDS) == list(range(1, 16))
    assert [level_of(n) for n in (0, 1, 90, 91)] == [None, "tiny", "extreme", None]
    for (low, high), _ in BANDS.values():
        assert level_of(low) == level_of(high)


def test_a_band_is_hit_within_a_few_draws():
    class Counting(random.Random):
        drawn = 0

        def choices(self, *args, **kwargs):
            self.drawn += 1
            return super().choices(*args, **kwargs)

    for difficulty in BANDS:
        rng = Counting(difficulty)
        for _ in range(60):
            program(rng, difficulty)
        assert rng.drawn < 60 * 8


CONFIG = config_of(["A#", "#B", "B#"])
EMPTY = config_of(["A#", "#A"])
RESPONSES = [
    (CONFIG, "<think> x </think> <answer> #B  A#\nB# </answer>", "answered", True),
    (CONFIG, "<answer>#B A# B#</answer>", "answered", True),
    (CONFIG, "<answer>A# #B B#</answer>", "answered", False),
    (CONFIG, "<answer>#B A#</answer>", "answered", False),
    (CONFIG, "<answer>#B A# B# B#</answer>", "answered", False),
    (CONFIG, "<answer>none</answer>", "answered", False),
    (CONFIG, "<answer>#B, A#, B#</answer>", "unparsed", False),
    (CONFIG, "<answer>#b a# b#</answer>", "unparsed", False),
    (CONFIG, "<answer>`#B A# B#`</answer>", "unparsed", False),
    (CONFIG, "<answer></answer>", "unparsed", False),
    (CONFIG, "#B A# B#", "no_answer", False),
    (CONFIG, "<think> <answer>#B A# B#</answer>", "no_answer", False),
    (EMPTY, "<answer>none</answer>", "answered", True),
    (EMPTY, "<answer>none none</answer>", "unparsed", False),
    (EMPTY, "<answer></answer>", "unparsed", False),
    (EMPTY, "<answer>A#</answer>", "answered", False),
    (EMPTY, "", "no_answer", False),
    (CONFIG, "<answer>" + "A# " * LONGEST + "</answer>", "unparsed", False),
    (CONFIG, "<answer>\ud800</answer>", "unparsed", False),
]


@pytest.mark.parametrize(("config", "response", "status", "solved"), RESPONSES)
def test_verdicts_by_hand(config, response, status, solved):
    verdict = judge(config, response)
    assert (verdict.status, verdict.solved) == (status, solved)
    assert verdict.score == float(solved)


def test_both_verifiers_give_the_same_verdicts():
    rng = random.Random(0)
    right = 0
    for _ in range(400):
        config = config_of(program(rng, rng.choice(list(BANDS)[:6])))
        answer = " ".join(rng.choice([simulate(config["items"]), config["items"]]))
        verdicts = {check(config, answer or "none", v) for v in VERIFIERS}
        assert len(verdicts) == 1
        right += verdicts == {True}
    assert 100 < right < 300


@pytest.mark.parametrize("form", [prompt_of, short_prompt_of])
def test_every_prompt_states_the_rules_the_program_and_the_empty_state(form):
    generate = generator(form)
    seen = set()
    for difficulty in BANDS:
        prompt, config = generate(random.Random(f"a/{difficulty}"), difficulty)
        assert (prompt, config) == generate(
            random.Random(f"a/{difficulty}"), difficulty
        )
        assert " ".join(config["items"]) in prompt
        folded = " ".join(prompt.split())
        for rule in ("A# #B", "B# #A", "A# #A", "B# #B", "#B A#", "#A B#", "none"):
            assert rule in folded
        seen.add(prompt)
    assert len(seen) == len(BANDS)
    assert len(form(config_of(["A#", "#A"]))) < (
        150 if form is short_prompt_of else 900
    )


def test_one_program_has_one_key_in_every_form_and_another_program_another():
    keys = Counter(key(config_of(items)) for items in short_programs())
    assert set(keys.values()) == {1}
    assert len(keys) == 21_844


@pytest.mark.parametrize("route", ROUTES)
def test_routes_of_rewriting_solve_programs_of_every_length(route):
    for difficulty in BANDS:
        config = config_of(program(random.Random(f"r/{difficulty}"), difficulty))
        steps, answer = ROUTES[route].work(config, random.Random(0))
        assert check(config, answer)
        assert any(step.wrong for step in steps)


@pytest.mark.parametrize("env", ["programs", "programs_short"])
def test_every_trace_of_a_set_is_accepted_where_the_form_asks_for_the_answer(env):
    drawn = problem_set([env], [1, 5, 9], 4, split="sft", seed=0)
    assert not drawn.shortfalls
    for problem in drawn.problems:
        for route, found in ROUTES.items():
            for manner in found.manners:
                response = write_trace(problem, route, manner, 0)
                assert judge_problem(problem, response).solved
                assert ("<answer>" in response) == (env == "programs")


def test_no_program_is_in_two_splits_in_any_form():
    programs = {
        split: {
            " ".join(problem.config["items"])
            for env in ("programs", "programs_short")
            for problem in problem_set([env], [1, 2], 120, split=split, seed=1).problems
        }
        for split in SPLITS
    }
    assert all(len(found) > 60 for found in programs.values())
    assert not programs["sft"] & programs["rl"]
    assert not (programs["sft"] | programs["rl"]) & programs["evaluation"]
