import itertools

import numpy as np
import pytest

from routejax.errors import UserError
from routejax.fingerprints import DETAILS, FAMILIES, explain, route_keys
from routejax.fingerprints.corpus import CORPUS
from routejax.fingerprints.route_key import route_key, walk_key
from routejax.metrics import expected_routes

TYPES = (
    *("setup", "computation", "computation", "verification", "computation"),
    *("exploration", "exploration", "deduction", "backtracking", "conclusion"),
)


def test_details_by_hand():
    by = CORPUS.grammar
    assert route_key(TYPES, by, "steps") == TYPES
    assert route_key(TYPES, by, "outline") == (
        *("setup", "computation", "verification", "computation", "exploration"),
        *("deduction", "backtracking", "conclusion"),
    )
    assert route_key(TYPES, by, "turns") == (
        *("verification", "exploration", "backtracking", "conclusion"),
    )
    assert route_key(("computation",), by, "turns") == ()


def test_a_coarser_detail_joins_routes_and_never_splits_them():
    draw = np.random.Generator(np.random.PCG64(0))
    kinds = CORPUS.vocabulary
    routes = [tuple(draw.choice(kinds, n)) for n in draw.integers(1, 5, 300)]
    for fine, coarse in itertools.pairwise(DETAILS):
        joined = {}
        for types in routes:
            key = route_key(types, CORPUS.grammar, fine)
            found = route_key(types, CORPUS.grammar, coarse)
            assert joined.setdefault(key, found) == found
        assert len(set(joined.values())) < len(joined)


ADDS = "We need the sum. 3 + 4 = 7. {} Therefore the answer is {}."
CHECKED = ADDS.format("Let me check: 7 - 4 = 3.", 7)


def test_wording_and_numbers_do_not_matter():
    other = "We need the sum. 12 + 30 = 42. Let me verify: 42 - 30 = 12. So the "
    other += "final answer is 42."
    types = [[step.type for step in explain(t, "corpus")] for t in (CHECKED, other)]
    assert types[0] == types[1]
    for detail in DETAILS:
        a, b = route_keys([CHECKED, other], "corpus", detail)
        assert a == b
        assert len(a) == 32


def test_what_was_done_does_matter():
    plain, longer = ADDS.format("", 7), ADDS.format("7 + 1 = 8. 8 + 1 = 9.", 7)
    checked, straight, long = route_keys([CHECKED, plain, longer], "corpus")
    assert straight == long != checked
    _, straight, long = route_keys([CHECKED, plain, longer], "corpus", "steps")
    assert straight != long
    # "turns" of a route that never turns are empty, and yet it is a route
    assert route_keys(["3 + 4 = 7.", "3 + 4 = 7. 7 + 1 = 8."], "corpus", "turns")[0]


def test_nothing_has_no_key():
    assert route_keys(["", None, "  \n"], "rlve") == [None] * 3
    assert route_keys(["Nowhere to go."], "sokoban") == [None]


def test_walks_by_hand():
    # right, right, back once and on, down: a loop of two, then a corner
    walk = [(1, 1), (1, 2), (1, 3), (1, 2), (1, 3), (2, 3), (3, 3)]
    assert walk_key(walk, "steps") == (
        *((0, 0), (0, 1), (0, 2), (0, 1), (0, 2), (1, 2), (2, 2)),
    )
    assert walk_key(walk, "outline") == ((0, 0), (0, 1), (0, 2), (1, 2), (2, 2))
    assert walk_key(walk, "turns") == ((0, 0), (0, 2), (2, 2))
    # once around a block and then up: the block is cut out
    around = [(0, 0), (0, 1), (1, 1), (1, 0), (0, 0), (-1, 0)]
    assert walk_key(around, "outline") == ((0, 0), (-1, 0))
    assert walk_key([(5, 5)], "turns") == ((0, 0),)
    assert walk_key([], "steps") == ()


@pytest.mark.parametrize("detail", DETAILS)
def test_walks_share_a_key_on_shifted_boards(detail):
    here = "The player at (1,1) goes to (1,2), (1,3), (2,3)."
    there = "Start: player at (5,4). Then (5,5). Then (5,6), and (6,6)."
    away = "The player at (1,1) goes to (2,1), (3,1), (3,2)."
    a, b, c = route_keys([here, there, away], "sokoban", detail)
    assert a == b != c


@pytest.mark.parametrize("family", [f for f in FAMILIES if f != "omega"])
def test_keys_are_counted_as_they_are(family):
    texts = [CHECKED, CHECKED, ADDS.format("", 7), None]
    keys = route_keys(texts, family)
    assert expected_routes([keys], [4])[0, 0] == len(set(keys) - {None})


def test_refuses():
    with pytest.raises(UserError, match="detail must be one of steps, outline, turns"):
        route_keys(["x"], "corpus", "all")
    with pytest.raises(UserError, match="samples have their text alone"):
        route_keys(["x"], "omega")
    with pytest.raises(UserError, match="family must be one of"):
        route_keys(["x"], "none")
