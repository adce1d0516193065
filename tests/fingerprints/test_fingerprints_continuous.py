"""The continuous block by hand on small routes, part by part."""

from math import log, log1p, sqrt

import pytest
from fingerprints_routes import made

from routejax.fingerprints.continuous_rlve import FEATURES, SELECTED, continuous
from routejax.fingerprints.rules_rlve import VOCABULARY

NAMES = [feature.name for feature in FEATURES]


def part(prefix: str, *args, **kwargs) -> dict[str, float]:
    """The features under `prefix` of a made route, without the prefix."""
    values = continuous(made(*args, **kwargs)).tolist()
    named = zip(NAMES, values, strict=True)
    return {n.removeprefix(prefix): v for n, v in named if n.startswith(prefix)}


def nonzero(values: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in values.items() if value}


def test_sizes_of_the_parts():
    parts = {}
    for name in NAMES:
        head = name.split("/")[0]
        parts[head] = parts.get(head, 0) + 1
    assert parts == {
        "frequency": 18,
        "position": 54,
        "length": 18,
        "selected": 36,
        "step_length": 12,
        "revision": 12,
        "subgoal": 9,
    }
    assert len(NAMES) == len(set(NAMES)) == 159


def test_selected_transitions_are_moves_of_the_graph():
    assert len(set(SELECTED)) == 36
    assert all(a in VOCABULARY and b in VOCABULARY and a != b for a, b in SELECTED)


def test_frequencies():
    assert nonzero(part("frequency/", "parse infer infer answer")) == {
        "parse": 1 / 4,
        "infer": 2 / 4,
        "answer": 1 / 4,
    }


def test_positions():
    """Steps 0 1 | 2 3 | 4 of five, and a third without steps is zero."""
    assert nonzero(part("position/", "parse infer infer check answer")) == {
        "parse/early": 1 / 2,
        "infer/early": 1 / 2,
        "infer/middle": 1 / 2,
        "check/middle": 1 / 2,
        "answer/late": 1,
    }
    assert nonzero(part("position/", "parse answer")) == {
        "parse/early": 1,
        "answer/middle": 1,
    }


def test_lengths_by_type():
    texts = ["a b c", "a", "a b c d", "x_1=2, y"]
    assert nonzero(part("length/", "parse infer infer answer", texts)) == pytest.approx(
        {"parse": log(4), "infer": log1p(2.5), "answer": log(3)}
    )


def test_selected_transitions():
    """infer is left for check, answer and check; infer→infer is no move of G."""
    route = "infer infer check infer answer check correct infer check branch"
    assert nonzero(part("selected/", route)) == pytest.approx(
        {
            "infer->check": 2 / 3,
            "infer->answer": 1 / 3,
            "check->correct": 1 / 3,
            "answer->check": 1,
        }
    )


def test_step_lengths():
    texts = ["a b c", "a", "a b c d e f g h", "a b", "a b c d e f"]
    got = part("step_length/", "infer " * 5, texts)
    lengths = [3, 1, 8, 2, 6]
    deviation = sqrt(sum((n - 4) ** 2 for n in lengths) / 5)
    entropy = -sum(n / 20 * log(n / 20) for n in lengths)
    assert got == pytest.approx(
        {
            "log_total": log(21),
            "log_mean": log(5),
            "log_median": log(4),
            "log_deviation": log1p(deviation),
            "log_p90": log(9),
            "log_longest": log(9),
            "short": 3 / 5,
            "long": 0,
            "log_early": log(3),  # steps 0 and 1
            "log_late": log(7),  # step 4
            "evenness": entropy / log(5),
            "word_length": (5 + 1 + 15 + 3 + 11) / 20,
        }
    )


def test_step_lengths_at_their_ends():
    one = part("step_length/", "infer", ["a b"])
    assert (one["evenness"], one["log_deviation"], one["log_late"]) == (0, 0, 0)
    even = part("step_length/", "infer " * 10, ["a b"] * 10)
    assert even["evenness"] == pytest.approx(1)
    assert even["log_deviation"] == 0
    ranked = part("step_length/", "infer " * 10, ["w " * n for n in range(1, 11)])
    assert ranked["log_median"] == pytest.approx(log(6))  # the 5th of 10 is 5
    assert ranked["log_p90"] == pytest.approx(log(10))  # the 9th of 10 is 9
    thirds = part("step_length/", "infer " * 6, ["w " * n for n in range(1, 7)])
    assert thirds["log_early"] == pytest.approx(log1p(1.5))
    assert thirds["log_late"] == pytest.approx(log1p(5.5))
    long = part("step_length/", "infer infer", ["w " * 40, "w " * 41])
    assert long["long"] == 1 / 2


WORDS = ["w"] * 20


def test_verification_and_revision():
    """Places: 0 parse 1 check 2 evaluate 3 correct 4 check 5 answer 6 infer 7 correct
    8 infer 9 check."""
    route = "parse check evaluate correct check answer infer correct infer check"
    got = part("revision/", route, WORDS[:10], {0: ["doubt"], 3: ["doubt"]})
    assert got == pytest.approx(
        {
            "doubts": 2 / 10,
            "log_checks": log(4),
            "first_check": 1 / 10,
            "last_check": 10 / 10,
            "mean_gap": 4 / 10,
            "longest_run": 2 / 10,
            "before_answer": 1,
            "after_answer": 1 / 4,
            "refuted": 1 / 3,
            "log_corrections": log(3),
            "first_correction": 3 / 10,
            "rechecked": 2 / 2,
        }
    )


def test_reach_of_the_windows():
    def value(name: str, route: str) -> float:
        return part("revision/", route, WORDS[: len(route.split())])[name]

    assert value("before_answer", "check infer infer answer") == 1
    assert value("before_answer", "check infer infer infer answer") == 0
    assert value("refuted", "check infer correct") == 1
    assert value("refuted", "check infer infer correct") == 0
    assert value("rechecked", "correct infer infer evaluate") == 1
    assert value("rechecked", "correct infer infer infer evaluate") == 0
    assert value("rechecked", "evaluate correct") == 0


def test_revision_without_checks_or_corrections():
    got = nonzero(part("revision/", "parse answer", WORDS[:2]))
    assert got == {"first_check": 1, "first_correction": 1}


def test_subgoals():
    """Stretches 1–2, 3–6 and 7 of eight steps."""
    route = "parse decompose infer decompose check reason infer decompose"
    marks = {1: ["numbered", "ordinal"], 3: ["ordinal"], 7: ["ordinal"]}
    lengths = [2, 4, 1]
    mean = 7 / 3
    deviation = sqrt(sum((n - mean) ** 2 for n in lengths) / 3)
    assert part("subgoal/", route, WORDS[:8], marks) == pytest.approx(
        {
            "log_count": log(4),
            "first": 1 / 8,
            "last": 1,
            "mean_stretch": mean / 8,
            "unevenness": deviation / mean,
            "concluded": 2 / 3,
            "verified": 1 / 3,
            "numbered": 1 / 8,
            "ordinal": 3 / 8,
        }
    )


def test_no_subgoal():
    got = part("subgoal/", "parse infer", WORDS[:2], {0: ["numbered"]})
    assert nonzero(got) == {"first": 1, "numbered": 1 / 2}


def test_no_steps():
    assert not continuous(made("")).any()
