"""The `omega` family part by part, by hand on short sequences of steps."""

from collections import Counter
from itertools import pairwise
from math import log, log1p

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routejax.errors import UserError
from routejax.fingerprints.omega import (
    BLOCKS,
    FEATURES,
    STRATEGIES,
    VOCABULARY,
    compute,
)

NAMES = [feature.name for feature in FEATURES]


def part(
    prefix: str, steps: str = "", strategy: str | None = None, response: str = ""
) -> dict[str, float]:
    """The features under `prefix` that are not zero; `steps` stand apart by spaces."""
    values = compute(steps.split(), strategy, response).tolist()
    named = zip(NAMES, values, strict=True)
    return {n.removeprefix(prefix): v for n, v in named if n.startswith(prefix) and v}


def path(name: str, steps: str) -> float:
    return part(f"path/{name}", steps).get("", 0.0)


def test_sizes_and_order_of_the_blocks():
    expected = (
        *(("frequency", 15), ("transition", 225), ("position", 30), ("path", 8)),
        *(("strategy", 32), ("cue", 12), ("density", 1)),
    )
    assert expected == BLOCKS
    assert len(NAMES) == len(set(NAMES)) == 323
    heads = [name.split("/")[0] for name in NAMES]
    blocks = [name for name, size in BLOCKS for _ in range(size)]
    assert heads == [*blocks[:-1], "cue"]
    assert all(f.meaning and "\n" not in f.meaning for f in FEATURES)
    assert (len(VOCABULARY), len(STRATEGIES)) == (15, 32)


def test_a_row_is_float32():
    row = compute(["setup"], "other", "x")
    assert (row.shape, row.dtype) == ((323,), np.float32)


def test_frequencies():
    assert part("frequency/", "setup factor factor conclude") == {
        "setup": 1 / 4,
        "factor": 2 / 4,
        "conclude": 1 / 4,
    }


def test_transitions_are_normalised_by_source():
    """factor is left for factor, expand and expand; bound, the last, for nothing."""
    found = part("transition/", "setup factor factor expand factor expand bound")
    assert found == pytest.approx(
        {
            "setup->factor": 1,
            "factor->factor": 1 / 3,
            "factor->expand": 2 / 3,
            "expand->factor": 1 / 2,
            "expand->bound": 1 / 2,
        }
    )


@pytest.mark.parametrize(
    ("steps", "first", "last"),
    [
        ("setup", {"setup": 1}, {"setup": 1}),
        ("setup conclude", {"setup": 1}, {"conclude": 1}),
        ("setup case conclude", {"setup": 1}, {"conclude": 1}),
        ("setup case bound conclude", {"setup": 0.5, "case": 0.5},
         {"bound": 0.5, "conclude": 0.5}),
        ("setup setup case bound bound bound conclude",
         {"setup": 2 / 3, "case": 1 / 3}, {"bound": 2 / 3, "conclude": 1 / 3}),
    ],
)  # fmt: skip
def test_thirds(steps, first, last):
    assert part("position/first/", steps) == pytest.approx(first)
    assert part("position/last/", steps) == pytest.approx(last)


def test_path_summaries():
    """Pairs: setup-factor, factor-factor ×2, factor-expand ×2, expand-factor."""
    steps = "setup factor factor factor expand factor expand"
    entropy = 2 * (1 / 6 * log(6)) + 2 * (2 / 6 * log(3))
    assert part("path/", steps) == pytest.approx(
        {
            "types_per_step": 3 / 7,
            "types_of_all": 3 / 15,
            "transition_entropy": entropy / log(225),
            "longest_run": 3 / 7,
            "transition_variety": 4 / 6,
            "self_transitions": 2 / 6,
            "recurring_transitions": 2 / 4,
            "strategy_switch": 1,  # factor factor factor | expand factor expand
        }
    )


def test_path_at_its_ends():
    assert path("transition_entropy", "setup factor setup factor setup") == (
        pytest.approx(log(2) / log(225))
    )
    assert path("transition_entropy", "bound bound bound") == 0
    assert path("self_transitions", "bound bound bound") == 1
    assert path("recurring_transitions", "bound bound bound") == 1
    assert path("recurring_transitions", "bound bound") == 0
    assert path("transition_variety", "setup bound case") == 1


def test_one_step_has_no_transitions():
    assert part("path/", "bound") == pytest.approx(
        {"types_per_step": 1, "types_of_all": 1 / 15, "longest_run": 1}
    )
    assert part("transition/", "bound") == {}


def test_two_steps_have_one_transition():
    for steps in ("bound bound", "bound case"):
        assert path("transition_variety", steps) == 1
        assert path("self_transitions", steps) == (steps == "bound bound")
        assert path("transition_entropy", steps) == 0


@pytest.mark.parametrize(
    ("steps", "switch"),
    [
        ("factor expand", 1),
        ("factor factor", 0),
        ("setup factor expand conclude", 1),
        ("setup setup setup factor", 0),
        ("setup conclude conclude", 0),
        ("factor case expand", 1),  # case is the middle one
        ("factor factor expand expand factor factor", 0),
        ("factor factor expand expand expand factor", 1),
        ("factor expand factor bound", 0),  # a tie that shares factor
        ("factor expand case bound", 1),  # a tie that shares nothing
        ("factor", 0),
    ],
)
def test_strategy_switch(steps, switch):
    assert path("strategy_switch", steps) == switch


def test_strategies():
    for place, name in enumerate(STRATEGIES):
        row = compute(None, name, "")
        assert np.flatnonzero(row).tolist() == [278 + place]
    assert part("strategy/", strategy="Power of a Point") == {"power_of_a_point": 1}
    for unknown in (None, "", "guesswork", "bounding and symmetry"):
        assert part("strategy/", strategy=unknown) == {}


def test_cues_are_the_last_thirteen():
    assert part("cue/", "setup", response="let me check it") == pytest.approx(
        {"composition/verification": 1, "log_density": log1p(1000 / 4)}
    )


@pytest.mark.parametrize("steps", [None, []])
def test_nothing_is_zero(steps):
    assert not compute(steps, None, "").any()
    assert not compute(steps, None, "No word of it.").any()


def test_other_spellings_are_the_same_row():
    plain = compute(["solve_equation", "setup"], "de_moivre", "x")
    other = compute(["Solve-Equation", "set up"], "De Moivre\u2019s formula", "x")
    assert np.array_equal(plain, other)


@pytest.mark.parametrize("step", ["guess", "", "1", None, 3])
def test_an_unknown_step_is_an_error_that_says_where(step):
    with pytest.raises(UserError, match=rf"setup, .* got {step!r} at step 1"):
        compute(["setup", step], None, "x")


KINDS = st.lists(st.sampled_from(VOCABULARY), max_size=30)


@settings(deadline=None, max_examples=100)
@given(KINDS, st.sampled_from([None, *STRATEGIES]), st.text(max_size=60))
def test_every_row_is_finite_and_in_its_range(steps, strategy, response):
    row = compute(steps, strategy, response)
    assert np.isfinite(row).all()
    assert (row >= 0).all()
    assert (row[:-1] <= 1 + 1e-6).all()
    frequency, transitions = row[:15], row[15:240].reshape(15, 15)
    assert frequency.sum() == pytest.approx(float(bool(steps)))
    sources = [kind in steps[:-1] for kind in VOCABULARY]
    assert transitions.sum(axis=1) == pytest.approx(np.array(sources, float))
    assert row[278:310].sum() == (strategy is not None)


@settings(deadline=None, max_examples=50)
@given(KINDS)
def test_backwards_swaps_the_thirds_and_keeps_the_summaries(steps):
    there, back = compute(steps, None, ""), compute(steps[::-1], None, "")
    assert np.array_equal(there[240:255], back[255:270])
    assert there[270:278] == pytest.approx(back[270:278])
    assert len(set(pairwise(steps))) == np.count_nonzero(there[15:240])
    counts = Counter(steps)
    assert [there[i] * len(steps) for i in range(15)] == pytest.approx(
        [counts[kind] for kind in VOCABULARY], abs=1e-4
    )
