"""The rules of the tree one by one, and what holds for every sequence."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routejax.errors import UserError
from routejax.fingerprints import tree
from routejax.fingerprints.rules_rlve import ROLES, VOCABULARY
from routejax.fingerprints.tree import grow

# types → parents; s, b, e: by which edge
CASES = {
    "ordinary steps follow the cursor": ("parse reason infer", "-1 s0 s1"),
    "checks are leaves, the cursor stays": (
        "parse check evaluate infer check",
        "-1 s0 s0 s0 s3",
    ),
    "exploration leaves from the cursor": ("parse reason branch infer", "-1 s0 e1 s2"),
    "a further one is a sibling": (
        "parse reason hypothesize infer branch infer hypothesize",
        "-1 s0 e1 s2 e1 s4 e1",
    ),
    "an answer closes the branch": (
        "parse branch infer answer branch",
        "-1 e0 s1 s2 e3",
    ),
    "a subgoal closes the branch": ("parse branch decompose branch", "-1 e0 s1 e2"),
    "inference does not close it": ("parse branch infer branch", "-1 e0 s1 e0"),
    "a correction returns to the open branch point": (
        "parse reason branch infer infer correct infer",
        "-1 s0 e1 s2 s3 b1 s5",
    ),
    "which stays open": (
        "parse reason branch correct branch correct",
        "-1 s0 e1 b1 e1 b1",
    ),
    "else to the grandparent": ("parse reason infer infer correct", "-1 s0 s1 s2 b1"),
    "also after the branch is closed": (
        "parse branch answer infer infer correct",
        "-1 e0 s1 s2 s3 b2",
    ),
    "else to the root": ("parse infer correct", "-1 s0 b0"),
    "also from the root itself": ("parse correct correct", "-1 b0 b0"),
    "checks do not move what a correction sees": (
        "parse reason infer infer check evaluate correct",
        "-1 s0 s1 s2 s3 s3 b1",
    ),
    "the first step is the root": ("check check infer", "-1 s0 s0"),
    "and opens no branch": ("branch infer hypothesize branch", "-1 s0 e1 e1"),
    "and corrects nothing": ("correct infer", "-1 s0"),
    "no steps": ("", ""),
}
EDGE = {"s": "sequential", "b": "backtracking", "e": "exploration"}


@pytest.mark.parametrize(("types", "links"), CASES.values(), ids=CASES)
def test_links(types, links):
    grown = grow(types.split(), ROLES)
    written = links.split()
    assert grown.parents == tuple(int(link.lstrip("sbe")) for link in written)
    assert grown.edges == tuple(EDGE.get(link[0], "") for link in written)


def test_depths_children_and_cursor():
    grown = grow(["parse", "reason", "branch", "infer", "correct", "check"], ROLES)
    assert grown.parents == (-1, 0, 1, 2, 1, 4)
    assert grown.depths == (0, 1, 2, 3, 2, 3)
    assert grown.children() == [1, 2, 1, 0, 1, 0]
    assert grown.cursor == 4
    assert grow([], ROLES) == ((), (), (), -1)


@settings(deadline=None, max_examples=200)
@given(st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=60))
def test_what_holds_for_every_sequence(types):
    grown = grow(types, ROLES)
    cursor = 0
    for i in range(1, len(types)):
        parent, edge = grown.parents[i], grown.edges[i]
        above = {cursor}
        while cursor != 0 and grown.parents[min(above)] >= 0:
            above.add(grown.parents[min(above)])
        assert parent in above | {0}
        assert grown.depths[i] == grown.depths[parent] + 1
        explores, returns = (
            types[i] in ROLES.exploration,
            types[i] in ROLES.backtracking,
        )
        assert (edge == "exploration", edge == "backtracking") == (explores, returns)
        if types[i] in ROLES.verification:
            assert parent == cursor
            assert grown.children()[i] == 0
        else:
            cursor = i
    assert grown.cursor == cursor


def test_a_long_sequence_does_not_recurse():
    grown = grow(["infer"] * 50_000, ROLES)
    assert grown.depths[-1] == 49_999


def test_the_public_door_knows_its_types():
    assert tree(["parse", "check"], "rlve").parents == (-1, 0)
    with pytest.raises(UserError, match="'verify' at step 1"):
        tree(["parse", "verify"], "rlve")
