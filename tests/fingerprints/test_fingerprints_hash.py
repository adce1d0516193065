"""The hash block: its labels by hand, its places by the definition, linear time."""

import hashlib
import time
from collections import Counter
from math import sqrt

import fingerprints_routes
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routejax.fingerprints.route import Route
from routejax.fingerprints.route_hash import FEATURES, route_hash
from routejax.fingerprints.rules_corpus import LETTERS, ROLES, VOCABULARY
from routejax.fingerprints.tree import grow


def made(types: str) -> Route:
    taken = fingerprints_routes.made(types)
    return taken._replace(tree=grow(taken.types, ROLES))


def hashed(labels: list[str]) -> list[float]:
    """The definition: each label by itself."""
    signed = [0] * 1024
    for label in labels:
        digest = hashlib.sha256(label.encode()).digest()
        signed[int.from_bytes(digest[:8], "big") % 1024] += -1 if digest[8] % 2 else 1
    return [value / sqrt(len(labels)) for value in signed]


def labels_of(route: Route) -> list[str]:
    """Every label written out, paths step by step; time is quadratic."""
    types, tree = route.types, route.tree
    labels = [
        "ngram/" + ">".join(types[i : i + n])
        for n in (1, 2, 3, 4)
        for i in range(len(types) - n + 1)
    ]
    children = Counter(tree.parents)
    for i, kind in enumerate(types):
        labels.append(f"node/{kind}/{min(children[i], 3)}")
        if i:
            labels.append(f"edge/{types[tree.parents[i]]}>{kind}/{tree.edges[i]}")
        if not children[i]:
            path, node = "", i
            while node >= 0:
                path, node = LETTERS[types[node]] + path, tree.parents[node]
            labels.append(f"path/{path}")
    attempt = None
    for kind in types:
        if kind in ("exploration", "backtracking"):
            labels += [] if attempt is None else [f"attempt/{attempt}"]
            attempt = ""
        elif attempt is not None:
            attempt += LETTERS[kind]
    return labels


SMALL = "setup computation verification exploration computation exploration"
LABELS = [
    "ngram/setup",
    "ngram/computation",
    "ngram/verification",
    "ngram/exploration",
    "ngram/computation",
    "ngram/exploration",
    "ngram/setup>computation",
    "ngram/computation>verification",
    "ngram/verification>exploration",
    "ngram/exploration>computation",
    "ngram/computation>exploration",
    "ngram/setup>computation>verification",
    "ngram/computation>verification>exploration",
    "ngram/verification>exploration>computation",
    "ngram/exploration>computation>exploration",
    "ngram/setup>computation>verification>exploration",
    "ngram/computation>verification>exploration>computation",
    "ngram/verification>exploration>computation>exploration",
    "node/setup/1",
    "node/computation/3",
    "node/verification/0",
    "node/exploration/1",
    "node/computation/0",
    "node/exploration/0",
    "edge/setup>computation/sequential",
    "edge/computation>verification/sequential",
    "edge/computation>exploration/exploration",
    "edge/exploration>computation/sequential",
    "edge/computation>exploration/exploration",
    "path/SCV",
    "path/SCEC",
    "path/SCE",
    "attempt/C",
]


def test_the_labels_of_a_small_route():
    """setup ─ computation ┬ verification; ┬e exploration ─ computation;
    └e exploration."""
    assert sorted(labels_of(made(SMALL))) == sorted(LABELS)
    assert route_hash(made(SMALL)) == hashed(LABELS)


def test_one_step_digit_by_digit():
    """`printf LABEL | sha256sum`, bytes 6 and 7 mod 1,024, lowest bit of byte 8:

    ngram/commentary   80eb881e2ad7 1c16 d3   22 −
    node/commentary/0  f7c62fdebd4d 2690 20  656 +
    path/N             6daedcdecd27 d18d 6b  397 −
    """
    got = {i: value for i, value in enumerate(route_hash(made("commentary"))) if value}
    one = 1 / sqrt(3)
    assert got == {22: -one, 656: one, 397: -one}


def test_attempts_lie_between_two_events():
    def attempts(types: str) -> list[str]:
        labels = labels_of(made(types))
        return [label for label in labels if label.startswith("attempt/")]

    assert attempts("setup exploration setup setup") == []
    assert attempts("exploration setup backtracking exploration") == [
        "attempt/S",
        "attempt/",
    ]


@settings(deadline=None, max_examples=100)
@given(st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=60))
def test_every_route_hashes_the_labels_written_out(types):
    route = made(" ".join(types))
    assert route_hash(route) == hashed(labels_of(route))


def test_each_kind_of_label_is_told_from_the_others():
    """Routes that share all n-grams but not the tree, or the tree but not the order."""
    vectors = [
        route_hash(made(types))
        for types in (
            "setup exploration deduction exploration",
            "setup exploration deduction backtracking",
            "setup exploration conclusion exploration",
            "setup deduction verification deduction",
            "setup deduction deduction verification",
        )
    ]
    assert len({tuple(vector) for vector in vectors}) == len(vectors)


def test_nothing_is_capped_and_time_is_linear():
    """A path of 20,000 steps with 10,000 leaves: 10⁸ letters if written out."""
    steps = 20_000
    route = made("deduction verification " * (steps // 2))
    begin = time.process_time()
    vector = route_hash(route)
    assert time.process_time() - begin < 2
    labels = 4 * steps - 6 + 2 * steps - 1 + steps // 2
    total = sum(vector) * sqrt(labels)
    assert total == pytest.approx(round(total))
    assert len({round(v * sqrt(labels)) for v in vector}) > 10


def test_features_and_no_steps():
    names = [feature.name for feature in FEATURES]
    assert (names[0], names[-1], len(set(names))) == ("hash/0000", "hash/1023", 1024)
    assert route_hash(made("")) == [0] * 1024
