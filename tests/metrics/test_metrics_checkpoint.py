import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routejax.errors import UserError
from routejax.metrics import CELLS, bootstrap_mean, checkpoint_metrics

TOY = {
    "counts": [0, 1, 2, 2, 0, 1],
    "samples": 2,
    "envs": ["sort", "sort", "walk", "walk", "count", "count"],
    "difficulties": [1, 12, 1, 12, 1, 12],
    "seen": ["sort", "walk"],
    "in_range": (1, 10),
    "bootstrap_seed": 0,
    "resamples": 200,
}


def test_by_hand():
    metrics = checkpoint_metrics(**TOY)
    cells = metrics["cells"]
    assert list(cells) == list(CELLS)
    assert cells["all"]["problems"] == 6
    assert cells["all"]["acc1"] == cells["all"]["passk"]["1"] == 0.5
    assert cells["all"]["passk"]["2"] == round(4 / 6, 6)
    assert cells["all"]["solved"] == 4
    assert cells["all"]["groups"] == {
        "all_fail": round(2 / 6, 6),
        "mixed": round(2 / 6, 6),
        "all_correct": round(2 / 6, 6),
        "informative": round(2 / 6, 6),
    }
    assert cells["in_range"]["passk"]["2"] == round(1 / 3, 6)
    assert cells["extrapolation"]["acc1"] == round(2 / 3, 6)
    assert cells["seen"]["problems"] == 4
    assert cells["unseen"]["acc1"] == 0.25
    assert cells["seen_in_range"]["acc1"] == 0.5
    assert cells["unseen_extrapolation"]["passk"] == {"1": 0.5, "2": 1.0}
    assert metrics["membership"] == {
        "seen": [1, 1, 1, 1, 0, 0],
        "in_range": [1, 0, 1, 0, 1, 0],
    }
    assert list(metrics["by_env"]) == ["count", "sort", "walk"]
    assert metrics["by_env"]["walk"]["acc1"] == 1.0
    assert "acc1_low" not in metrics["by_env"]["walk"]
    assert list(metrics["by_difficulty"]) == ["1", "12"]
    assert metrics["by_difficulty"]["12"]["passk"]["2"] == 1.0
    assert metrics["by_env_and_difficulty"]["sort"] == {
        "1": {"problems": 1, "acc1": 0.0, "passN": 0.0},
        "12": {"problems": 1, "acc1": 0.5, "passN": 1.0},
    }


def test_cells_without_questions_are_none():
    metrics = checkpoint_metrics(**{**TOY, "seen": [], "in_range": (1, 20)})
    assert metrics["cells"]["seen"] is None
    assert metrics["cells"]["extrapolation"] is None
    assert metrics["cells"]["unseen_in_range"]["problems"] == 6
    json.dumps(metrics, allow_nan=False)


def test_difficulty_below_the_range_is_outside_it_too():
    metrics = checkpoint_metrics(**{**TOY, "in_range": (2, 12)})
    assert metrics["membership"]["in_range"] == [0, 1, 0, 1, 0, 1]


def test_intervals_are_those_of_the_bootstrap():
    metrics = checkpoint_metrics(**TOY)
    solved = [count > 0 for count in TOY["counts"]]
    expected = bootstrap_mean(solved, seed=0, resamples=200)
    cell = metrics["cells"]["all"]
    assert cell["passk_low"]["2"] == pytest.approx(expected.lower, abs=1e-6)
    assert cell["passk_high"]["2"] == pytest.approx(expected.upper, abs=1e-6)
    assert cell["acc1_low"] == cell["passk_low"]["1"] <= cell["acc1"]


questions = st.lists(
    st.tuples(
        st.integers(0, 4),
        st.sampled_from(["a", "b", "c"]),
        st.integers(1, 15),
    ),
    min_size=1,
    max_size=40,
)


@given(questions, st.sets(st.sampled_from(["a", "b"])))
@settings(deadline=None, max_examples=40)
def test_cells_partition_and_json_is_stable(rows, seen):
    counts, envs, difficulties = (list(column) for column in zip(*rows, strict=True))
    asked = {
        "counts": np.array(counts),
        "samples": 4,
        "envs": envs,
        "difficulties": difficulties,
        "seen": sorted(seen),
        "in_range": (1, 10),
        "bootstrap_seed": 1,
        "resamples": 20,
    }
    metrics = checkpoint_metrics(**asked)

    def size(name, key="problems"):
        cell = metrics["cells"][name]
        return cell[key] if cell else 0

    for key in ("problems", "solved"):
        whole = size("all", key)
        assert whole == size("in_range", key) + size("extrapolation", key)
        assert whole == size("seen", key) + size("unseen", key)
        quarters = [name for name in CELLS if name.count("_") and "seen" in name]
        assert whole == sum(size(name, key) for name in quarters)
        assert whole == sum(cell[key] for cell in metrics["by_env"].values())
        assert whole == sum(cell[key] for cell in metrics["by_difficulty"].values())
    for cell in metrics["cells"].values():
        if cell:
            assert list(cell["passk"]) == ["1", "2", "3", "4"]
            assert cell["passk"]["4"] == round(cell["solved"] / cell["problems"], 6)
    text = json.dumps(metrics, allow_nan=False)
    assert json.dumps(checkpoint_metrics(**asked)) == text
    assert json.loads(text) == metrics


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"counts": [0, 1, 3, 2, 0, 1]}, "got 3 in row 2"),
        ({"envs": ["sort"]}, "envs must hold one entry per question"),
        ({"difficulties": [1]}, "difficulties must hold one entry per question"),
        ({"difficulties": [1, None, 1, 1, 1, 1]}, "difficulties must be whole numbers"),
        ({"in_range": (10, 1)}, r"got \(10, 1\)"),
        ({"resamples": 0}, "resamples"),
    ],
)
def test_refuses(change, message):
    with pytest.raises(UserError, match=message):
        checkpoint_metrics(**{**TOY, **change})
