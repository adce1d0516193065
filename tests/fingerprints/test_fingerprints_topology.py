"""The topology block by hand on two small trees, its size for both vocabularies."""

import hashlib
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routejax.fingerprints.rules_rlve import ROLES, VOCABULARY
from routejax.fingerprints.topology import topology, topology_features
from routejax.fingerprints.tree import grow

NAMES = [feature.name for feature in topology_features(VOCABULARY)]


def features(types: str) -> dict[str, float]:
    kinds = types.split()
    values = topology(kinds, grow(kinds, ROLES), VOCABULARY)
    return dict(zip(NAMES, values.tolist(), strict=True))


def bucket(path: str) -> str:
    head = hashlib.sha256(path.encode()).digest()[:8]
    return f"path/{int.from_bytes(head, 'big') % 40:02d}"


def test_sizes():
    assert len(NAMES) == len(set(NAMES)) == 1150
    assert len(topology_features([f"type {i}" for i in range(10)])) == 430


def test_every_feature_of_a_small_tree():
    """parse ─ calculate ┬ check;  ┬e hypothesize ─ calculate;  └b correct."""
    expected = {
        "transition/sequential/parse->calculate": 1,
        "transition/sequential/calculate->check": 1,
        "transition/sequential/hypothesize->calculate": 1,
        "transition/exploration/calculate->hypothesize": 1,
        "transition/backtracking/calculate->correct": 1,
        "edge/parse/sequential": 1,
        "edge/hypothesize/sequential": 1,
        "edge/calculate/sequential": 1 / 3,
        "edge/calculate/backtracking": 1 / 3,
        "edge/calculate/exploration": 1 / 3,
        # depths 0 1 2 2 3 2: tiers shallow, shallow, middle, middle, deep, middle
        "tier/shallow/parse": 1 / 2,
        "tier/shallow/calculate": 1 / 2,
        "tier/shallow/nodes": 2 / 6,
        "tier/shallow/forks": 1 / 2,
        "tier/shallow/entropy": log(2) / log(18),
        "tier/middle/check": 1 / 3,
        "tier/middle/hypothesize": 1 / 3,
        "tier/middle/correct": 1 / 3,
        "tier/middle/nodes": 3 / 6,
        "tier/middle/leaves": 2 / 3,
        "tier/middle/explored": 1 / 3,
        "tier/middle/backtracked": 1 / 3,
        "tier/middle/entropy": log(3) / log(18),
        "tier/deep/calculate": 1,
        "tier/deep/nodes": 1 / 6,
        "tier/deep/leaves": 1,
        "shape/log_nodes": log(7),
        "shape/log_depth": log(4),
        "shape/log_leaves": log(4),
        "shape/log_width": log(4),
        "shape/log_children": log(4),
        "shape/leaves": 3 / 6,
        "shape/forks": 1 / 6,
        "shape/mean_depth": 10 / 6 / 3,
        "shape/mean_leaf_depth": 7 / 3 / 3,
        "shape/explored": 1 / 5,
        "shape/backtracked": 1 / 5,
        "shape/trunk": 3 / 6,
    }
    for path in (
        "parse>calculate>check",
        "parse>calculate>hypothesize>calculate",
        "parse>calculate>correct",
    ):
        expected[bucket(path)] = expected.get(bucket(path), 0) + 1 / 3
    got = features("parse calculate check hypothesize calculate correct")
    assert {k: v for k, v in got.items() if v} == pytest.approx(expected)


def test_rows_are_normalised_per_edge_type_and_parent_type():
    got = features("parse check check check infer parse infer")
    assert got["transition/sequential/parse->check"] == pytest.approx(3 / 5)
    assert got["transition/sequential/parse->infer"] == pytest.approx(2 / 5)
    assert got["transition/sequential/infer->parse"] == 1
    assert got["edge/parse/sequential"] == 1


def test_tiers_tell_exploration_from_backtracking():
    """Depths 0 1 1 1: two of the deepest are explored, one comes back."""
    got = features("parse branch branch correct")
    assert got["tier/middle/explored"] == pytest.approx(2 / 3)
    assert got["tier/middle/backtracked"] == pytest.approx(1 / 3)


def test_one_step():
    got = {k: v for k, v in features("infer").items() if v}
    assert got == pytest.approx(
        {
            "tier/shallow/infer": 1,
            "tier/shallow/nodes": 1,
            "tier/shallow/leaves": 1,
            bucket("infer"): 1,
            "shape/log_nodes": log(2),
            "shape/log_leaves": log(2),
            "shape/log_width": log(2),
            "shape/leaves": 1,
            "shape/trunk": 1,
        }
    )


def test_no_steps():
    assert not any(features("").values())


@settings(deadline=None, max_examples=100)
@given(st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=40))
def test_what_holds_for_every_tree(types):
    values = topology(types, grow(types, ROLES), VOCABULARY)
    assert np.isfinite(values).all()
    assert (values >= 0).all()
    moves = values[:972].reshape(54, 18).sum(axis=1)
    shares = values[972:1026].reshape(18, 3).sum(axis=1)
    for sums in (moves, shares):
        assert np.all(np.isclose(sums, 1) | (sums == 0))
    tiers = values[1026:1098].reshape(3, 24)
    assert tiers[:, 18].sum() == pytest.approx(1)
    assert np.all(np.isclose(tiers[:, :18].sum(axis=1), tiers[:, 18] > 0))
    assert values[1098:1138].sum() == pytest.approx(1)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=40))
def test_paths_equal_hashes_of_written_out_paths(types):
    grown = grow(types, ROLES)
    counts = dict.fromkeys([name for name in NAMES if name.startswith("path/")], 0)
    for leaf, children in enumerate(grown.children()):
        if children == 0:
            path, node = [], leaf
            while node >= 0:
                path.append(types[node])
                node = grown.parents[node]
            counts[bucket(">".join(reversed(path)))] += 1
    got = topology(types, grown, VOCABULARY)[1098:1138]
    assert got.tolist() == pytest.approx(
        [c / sum(counts.values()) for c in counts.values()]
    )


def test_the_hash_is_stable():
    """SHA-256 of "infer" begins with 92bc2e4121158762; mod 40 that is 2."""
    assert bucket("infer") == "path/02"
    assert features("infer")["path/02"] == 1
