import numpy as np
import pytest

from routejax.errors import UserError
from routejax.metrics.scored import Scored, bands, matched, score_samples


def part(arm="diverse", **changes):
    options = {
        "benchmark": "aime",
        "ids": ("q1", "q2", "q3"),
        "counts": np.array([0, 1, 2]),
        "samples": 2,
        "decoding": {"temperature": 0.7, "top_p": 0.95},
        "envs": ("x", "x", "y"),
        "strata": {"difficulty": [1, 12, 1]},
    }
    return Scored(arm, **{**options, **changes})


def test_samples_are_counted_by_question():
    found = score_samples(
        "diverse",
        "aime",
        ["b", "a", "b", "a", "c", "c"],
        [1, 0, 1, 0, 0, 1],
        decoding={"temperature": 0.7},
        seed=3,
        envs=["y", "x", "y", "x", "z", "z"],
        strata={"difficulty": [2, 1, 2, 1, 3, 3]},
    )
    assert found.ids == ("b", "a", "c")
    assert found.counts.tolist() == [2, 0, 1]
    assert (found.samples, found.seed, found.envs) == (2, 3, ("y", "x", "z"))
    assert found.strata == {"difficulty": [2, 1, 3]}
    for scores in ([True, False], [1.0, 0.0], np.array([True, False], object)):
        assert score_samples("a", "b", ["q", "q"], scores).counts.tolist() == [1]


def test_counting_equals_a_slow_loop():
    draw = np.random.Generator(np.random.PCG64(0))
    ids = draw.permutation([f"q{i}" for i in range(40) for _ in range(5)]).tolist()
    solved = draw.random(200) < 0.4
    found = score_samples("a", "b", ids, solved)
    slow = {}
    for name, right in zip(ids, solved, strict=True):
        slow[name] = slow.get(name, 0) + int(right)
    assert dict(zip(found.ids, found.counts.tolist(), strict=True)) == slow
    assert list(found.ids) == list(slow)


def test_questions_are_matched_by_id():
    a, b = part(), part("similar", counts=np.array([2, 0, 1]))
    turned = b.keep(np.array([2, 0, 1]))
    assert turned.ids == ("q3", "q1", "q2")
    found = matched(a, turned)
    assert (found.ids, found.envs) == (a.ids, a.envs)
    assert found.counts.tolist() == [2, 0, 1]
    assert found.strata == a.strata


def test_one_side_of_a_cut():
    found = part().side("difficulty", 1)
    assert (found.ids, found.counts.tolist()) == (("q1", "q3"), [0, 2])
    assert (found.envs, found.strata) == (("x", "y"), {"difficulty": [1, 1]})


def test_bands_of_the_paper():
    assert bands([1, 10, 11, 15]) == ["1-10", "1-10", "11-15", "11-15"]
    assert bands([3], [(1, 5)]) == ["1-5"]
    with pytest.raises(UserError, match="difficulty 16 in row 1 lies in 0"):
        bands([1, 16])
    with pytest.raises(UserError, match="difficulty 5 in row 0 lies in 2"):
        bands([5], [(1, 5), (5, 9)])


HERE = "arms diverse and similar cannot be compared on aime: "


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"benchmark": "amc"}, HERE + "the other is amc"),
        ({"samples": 4}, HERE + "2 and 4 samples per question"),
        (
            {"decoding": {"temperature": 1.0, "top_p": 0.95}},
            HERE + "their samples were decoded with temperature 0.7 and 1.0",
        ),
        (
            {"decoding": {"temperature": 0.7}},
            HERE + "their samples were decoded with top_p 0.95 and not set",
        ),
        (
            {"ids": ("q1", "q2", "q4")},
            HERE
            + r"1 question\(s\) of the first are not among those of the other: q3;",
        ),
        ({"envs": ("x", "y", "y")}, HERE + "their questions have different env"),
        ({"strata": {}}, HERE + "they cut their questions by difficulty differently"),
        ({"strata": {"difficulty": [1, 1, 1]}}, "by difficulty differently"),
    ],
)
def test_what_differs_is_named(change, message):
    with pytest.raises(UserError, match=message):
        matched(part(), part("similar", **change))


def test_seeds_of_one_arm_are_named_as_such():
    with pytest.raises(UserError, match="seeds 0 and 4 of arm diverse cannot be"):
        matched(part(), part(seed=4, samples=8))


def test_more_questions_of_the_second_arm_are_named():
    first = part().keep(np.array([0, 1]))
    with pytest.raises(UserError, match=r"1 question\(s\) of the second .* other: q3"):
        matched(first, part("similar"))
    many = {"envs": None, "strata": {}, "counts": np.zeros(9, int)}
    long = part("similar", ids=tuple(f"q{i}" for i in range(9)), **many)
    short = part(envs=None, strata={})
    with pytest.raises(
        UserError, match=r"6 question.* of the second .*: q0, q4, q5, …;"
    ):
        matched(short, long)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ids": (), "counts": []}, r"aime of arm diverse \(seed 0\) has no question"),
        ({"counts": np.array([0, 3, 1])}, "aime of arm diverse .*got 3 in row 1"),
        ({"counts": np.array([0.0, 1.0, 1.0])}, "must be integers"),
        ({"ids": ("q1", "q2", "q1")}, "question 'q1' twice"),
        ({"counts": np.array([0, 1])}, "counts must have one entry for each of 3"),
        ({"envs": ("x",)}, "envs must have one entry for each of 3 questions, got 1"),
        ({"strata": {"band": ["a"]}}, "band must have one entry for each of 3"),
    ],
)
def test_refuses(change, message):
    with pytest.raises(UserError, match=message):
        part(**change)


@pytest.mark.parametrize(
    ("ids", "scores", "options", "message"),
    [
        ([], [], {}, "benchmark aime of arm a has no sample"),
        (["p", "p"], [1.0, np.nan], {}, "must be 0 or 1, got nan in row 1; 1 row"),
        (["p", "p"], [True, None], {}, "must be 0 or 1, got None in row 1"),
        (["p", "p"], [0.5, 2.0], {}, "got 0.5 in row 0; 2 row"),
        (["p", "p"], ["yes", "no"], {}, "got yes in row 0"),
        (["p", "p", "q"], [1, 0, 1], {}, "got 2 of 'p' and 1 of 'q'"),
        (["p"], [1, 0], {}, "1 ids and 2 scores"),
        (["p", "q"], [1, 0], {"envs": ["x"]}, "one entry per sample"),
    ],
)
def test_refuses_samples(ids, scores, options, message):
    with pytest.raises(UserError, match=message):
        score_samples("a", "aime", ids, scores, **options)
