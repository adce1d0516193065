import itertools
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routejax.errors import UserError
from routejax.metrics import pass_values, route_curves
from routejax.metrics.routes import expected_routes


def by_enumeration(keys, k):
    """Mean number of different routes over all subsets of k samples."""
    subsets = list(itertools.combinations(keys, k))
    return np.mean([len(set(subset) - {None}) for subset in subsets])


keys = st.lists(st.sampled_from(["a", "b", "c", "d", None]), min_size=1, max_size=8)


@given(keys)
@settings(deadline=None, max_examples=120)
def test_equals_all_subsets(keys):
    ks = range(1, len(keys) + 1)
    found = expected_routes([keys], ks)[0]
    assert found == pytest.approx([by_enumeration(keys, k) for k in ks], abs=1e-12)
    assert found[-1] == len(set(keys) - {None})
    assert (np.diff(found) > -1e-12).all()


def test_by_hand():
    # a a b b: two draws are of one route in 2 of 6 cases
    found = expected_routes([list("aabb"), list("aaaa"), [None] * 4], [1, 2, 4])
    assert found.tolist() == [
        [pytest.approx(1), pytest.approx(10 / 6), 2],
        [pytest.approx(1), pytest.approx(1), 1],
        [0, 0, 0],
    ]


def test_one_key_for_all_correct_samples_is_coverage():
    counts = [0, 1, 3, 5, 2]
    prompts = [["right"] * c + [None] * (5 - c) for c in counts]
    found = expected_routes(prompts, range(1, 6))
    np.testing.assert_allclose(found, pass_values(counts, 5), atol=1e-14)


SFT = [list("abab"), ["a", None, None, "b"], [None] * 4, list("abcd")]
RL = [list("aaaa"), ["a", "a", "b", None], ["c", None, "c", None], list("aabb")]


def curves(**options):
    return route_curves({"sft": SFT, "rl": RL}, [1, 2], resamples=300, **options)


def test_attempts_count_accuracy_and_variety():
    found = curves()
    assert (found["prompts"], found["left_out"]) == (4, 0)
    by_hand = {
        name: [np.mean([by_enumeration(p, k) for p in prompts]) for k in (1, 2)]
        for name, prompts in (("sft", SFT), ("rl", RL))
    }
    for name, expected in by_hand.items():
        assert found["curves"][name]["mean"] == pytest.approx(expected, abs=1e-6)
    gap = np.subtract(by_hand["sft"], by_hand["rl"])
    assert found["gaps"]["sft|rl"]["mean"] == pytest.approx(gap, abs=1e-6)
    assert found["paired_method"] == "paired bootstrap over questions"
    json.dumps(found, allow_nan=False)


def test_found_counts_variety_alone():
    found = curves(way="found")
    # the third prompt has no route before RL
    assert (found["prompts"], found["left_out"]) == (3, 1)
    assert found["curves"]["sft"]["mean"][0] == 1.0
    # a b: 2; a b a b: 10 / 6; a b c d: 2
    expected = (2 + 10 / 6 + 2) / 3
    assert found["curves"]["sft"]["mean"][1] == pytest.approx(expected, abs=1e-6)
    # a a b: two of three pairs differ
    expected = (1 + 5 / 3 + 10 / 6) / 3
    assert found["curves"]["rl"]["mean"][1] == pytest.approx(expected, abs=1e-6)


def test_policies_share_the_draws():
    same = route_curves({"x": SFT, "y": SFT}, [2], resamples=50)
    assert same["gaps"]["x|y"] == {"mean": [0.0], "lower": [0.0], "upper": [0.0]}
    gap = curves()["gaps"]["sft|rl"]
    assert all(gap["lower"][i] <= gap["mean"][i] <= gap["upper"][i] for i in (0, 1))


def test_environments_are_drawn_whole():
    found = curves(envs=["e", "e", "e", "e"])
    curve = found["curves"]["rl"]
    assert curve["lower"] == curve["mean"] == curve["upper"]
    assert found["method"] == "bootstrap over environments"


@pytest.mark.parametrize(
    ("policies", "ks", "options", "message"),
    [
        (
            {"a": SFT},
            [5],
            {},
            "k = 5 needs 5 samples of every prompt, got 4 of the one",
        ),
        ({"a": SFT}, [0], {}, "k of 1 or more"),
        ({"a": SFT}, [], {}, "k of 1 or more"),
        ({}, [1], {}, "a policy or more"),
        ({"a": []}, [1], {}, "no prompt has"),
        ({"a": SFT}, [1], {"way": "all"}, "way must be one of attempts, found"),
        ({"a": SFT}, [1], {"envs": ["e"]}, "got 1 for 4 prompts"),
        ({"a": SFT, "b": RL[:2]}, [1], {}, "a and b must answer the same prompts"),
        (
            {"a": SFT, "b": [*RL[:3], list("ab")]},
            [1],
            {},
            "got 4 and 2 of the prompt in row 3",
        ),
        (
            {"a": [[None]], "b": [["x"]]},
            [1],
            {"way": "found"},
            r"no prompt has 1 sample",
        ),
    ],
)
def test_refuses(policies, ks, options, message):
    with pytest.raises(UserError, match=message):
        route_curves(policies, ks, resamples=9, **options)
