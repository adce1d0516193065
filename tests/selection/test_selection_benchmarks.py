"""The measuring commands give what others read from their last line."""

import json
import os
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest

from tests.benchmarks import selection
from tests.benchmarks.one_hash import ROOT


def last_line(name, *given):
    done = subprocess.run(
        [sys.executable, "-m", f"tests.benchmarks.{name}", *given, "--json"],
        cwd=ROOT,
        env=os.environ,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_a_selection_by_stages():
    sizes = ("--rows=2000", "--clusters=30", "--budget=150", "--features=40")
    found = last_line("selection", *sizes)
    stages = {part: found[part]["stages"] for part in ("features", "selection")}
    assert [*stages["features"]] == ["moments", "project", "grid"]
    assert [*stages["selection"]] == [
        "candidates",
        "clusters",
        "quotas",
        "within",
        "similar",
        "rest",
    ]
    total = found["selection"]["total"]["wall_s"]
    parts = sum(stage["wall_s"] for stage in stages["selection"].values())
    assert parts == pytest.approx(total)
    assert found["wall_s"] > total > 0
    peaks = [stage.get("peak_gib", 0) for stage in stages["selection"].values()]
    assert max(peaks) <= found["selection"]["peak_gib"] <= found["peak_gib"] < 4
    assert found["selection"]["clusters_formed"] == 30
    hashes = found["selection"]["sha256"]
    assert hashes["diverse"] != hashes["similar"]


@pytest.mark.slow
def test_farthest_points_beside_loops():
    found = last_line("farthest_point", "--rows=4000", "--picks=400")
    assert found["same_picks"] is True
    assert found["numpy_over_ours"] > 0
    assert [size["rows"] for size in found["sizes"]] == [1000, 2000, 4000]


def test_memory_of_a_stage_is_its_own():
    clocks = selection.Clocks()
    with clocks.stage("large"):
        np.ones(2**26).sum()  # half a GiB
    with clocks.stage("small"):
        np.ones(2**10).sum()
    large, small = (clocks.stages[name]["peak_gib"] for name in ("large", "small"))
    assert large > small + 0.4
    assert clocks.highest >= large


def test_blocks_of_features_differ():
    blocks = [*selection.feature_blocks(2 * selection.BLOCK + 5, 30)]
    assert [len(block) for block in blocks] == [selection.BLOCK, selection.BLOCK, 5]
    assert not any(np.array_equal(a[:5], b[:5]) for a, b in pairwise(blocks))
