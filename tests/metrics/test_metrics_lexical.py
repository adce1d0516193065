import itertools
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routejax.errors import UserError
from routejax.metrics.lexical import (
    PREFIXES,
    RESAMPLES,
    SEED,
    Question,
    bigrams,
    jaccard_distance,
    lexical_gain,
    mean_distance,
)


def test_numbers_of_the_paper():
    assert (PREFIXES, SEED, RESAMPLES) == ((128, 512), 20260924, 20000)


def test_bigrams_keep_case_and_markup():
    text = "\n The  the\t<b>the</b> end. Never reached"
    assert bigrams(text, 4) == {
        ("The", "the"),
        ("the", "<b>the</b>"),
        ("<b>the</b>", "end."),
    }
    assert bigrams("a b a b", 4) == {("a", "b"), ("b", "a")}
    assert bigrams("a b c", 3) is not None
    assert bigrams("a b c ", 4) is None
    assert bigrams("", 2) is None
    with pytest.raises(UserError, match="2 tokens or more, got 1"):
        bigrams("a b", 1)


def test_jaccard_by_hand():
    # {ab, bc, cd} and {ab, bc, cx}: two of four are shared
    assert jaccard_distance(bigrams("a b c d", 4), bigrams("a b c x", 4)) == 0.5
    assert jaccard_distance(bigrams("a b", 2), bigrams("a b", 2)) == 0.0
    assert jaccard_distance(bigrams("a b", 2), bigrams("b a", 2)) == 1.0
    assert jaccard_distance(frozenset(), frozenset()) == 0.0


def test_mean_over_pairs_by_hand():
    texts = ["a b c d", "a b c x", "a b c d and what follows", "too short", "p q r s"]
    # of the four long enough: 0.5, 0, 1; 0.5, 1; 1
    assert mean_distance(texts, 4) == pytest.approx(4 / 6)
    assert mean_distance(texts[:1] + texts[3:4], 4) is None
    assert mean_distance([], 4) is None


words = st.lists(st.sampled_from("abc"), max_size=12).map(" ".join)


@given(st.lists(words, max_size=7), st.integers(2, 8))
@settings(deadline=None, max_examples=150)
def test_mean_equals_all_pairs_of_sets(texts, prefix):
    sets = [bigrams(text, prefix) for text in texts]
    pairs = list(itertools.combinations([s for s in sets if s is not None], 2))
    found = mean_distance(texts, prefix)
    if not pairs:
        assert found is None
        return
    slow = [jaccard_distance(x, y) for x, y in pairs]
    assert found == pytest.approx(np.mean(slow), abs=1e-12)


def toy(seed, share):
    """Completions of 9 questions in 3 environments; `share` of the words is common."""
    draw = np.random.Generator(np.random.PCG64(seed))
    found = {}
    for env, n in (("sort", 2), ("walk", 3), ("count", 4)):
        for i in range(n):
            drawn = draw.integers(3, 40, size=(2 + i, 6))
            drawn[draw.random(drawn.shape) < share] = 0
            found[Question(env, i, 1 + i)] = [" ".join(map(str, row)) for row in drawn]
    return found


def test_gain_equals_a_slow_loop():
    a, b = toy(0, 0.3), toy(1, 0.6)
    a[Question("sort", 0, 1)] = ["one alone is not eligible at all"]
    del b[Question("walk", 2, 3)]
    b[Question("walk", 2, 4)] = a[Question("walk", 2, 3)]  # another difficulty
    found = lexical_gain(a, b, prefix=6, seed=4, resamples=250)
    rows = {}
    for question in sorted(set(a) & set(b)):
        both = mean_distance(a[question], 6), mean_distance(b[question], 6)
        if None not in both:
            rows.setdefault(question.env, []).append(both)
    assert {env: len(of) for env, of in rows.items()} == {
        **dict(count=4, sort=1, walk=2),
    }
    mean_a, mean_b = np.mean([row for of in rows.values() for row in of], axis=0)
    draw, gains, names = np.random.Generator(np.random.PCG64(4)), [], list(rows)
    for _ in range(250):
        drawn = [row for i in draw.integers(3, size=3) for row in rows[names[i]]]
        left, right = np.mean(drawn, axis=0)
        gains.append(100 * (left - right) / right)
    assert (found.a, found.b) == pytest.approx((mean_a, mean_b), abs=1e-12)
    assert found.gain == pytest.approx(100 * (mean_a / mean_b - 1), abs=1e-9)
    bounds = np.quantile(gains, [0.025, 0.975])
    assert (found.lower, found.upper) == pytest.approx(bounds, abs=1e-9)
    assert (found.questions, found.envs, found.unmeasured) == (7, 3, 3)
    assert found.method == "paired bootstrap over environments"
    json.dumps(found.as_dict(), allow_nan=False)


def test_more_completions_give_a_question_no_more_weight():
    # distances 1 and 0 in arm a, whatever the number of pairs
    many = [f"{i} {i}x" for i in range(9)]
    a = {Question("e", 0, 1): many, Question("f", 0, 1): ["p q", "p q"]}
    b = {Question("e", 0, 1): ["x y", "y x"], Question("f", 0, 1): ["x y", "y x"]}
    found = lexical_gain(a, b, prefix=2, resamples=20)
    assert (found.a, found.b, found.gain) == (0.5, 1.0, -50.0)


def test_an_arm_that_never_varies_has_no_relative_gain():
    same = {Question("e", 0, 1): ["x y", "x y"]}
    varied = {Question("e", 0, 1): ["x y", "y x"]}
    found = lexical_gain(varied, same, prefix=2, resamples=20)
    assert (found.gain, found.lower, found.upper) == (None, None, None)


def test_refuses_where_nothing_is_eligible():
    one = {Question("e", 0, 1): ["x y", "x y"]}
    other = {Question("e", 1, 1): ["x y", "x y"]}
    with pytest.raises(UserError, match="1 and 1 questions, 0 shared"):
        lexical_gain(one, other, prefix=2)
    with pytest.raises(UserError, match="two correct completions of 128 tokens"):
        lexical_gain(one, one, prefix=128)
