"""The `sokoban` family as a whole: sizes, notations, any text, time."""

import os
import re
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_fingerprints_sokoban_traces import (
    BOARDS,
    CELLS,
    ROUTES,
    VOICES,
    board,
    chain,
    features,
    replay,
    solve,
    tour,
    walker,
)

from routejax.fingerprints.sokoban import BLOCKS, FEATURES, compute

NAMES = [feature.name for feature in FEATURES]
ROUTE = "rrddlurdrrulldd"

# What must not depend on how cells or moves are written: the graph, and of the travel
# what is measured on the walk.
OF_THE_WALK = [
    name
    for name in NAMES
    if name.startswith("graph/")
    or (
        name.startswith("travel/")
        and not re.search("moves|denied|places|words|list|reading_order|fans", name)
    )
]


def of_the_walk(text: str) -> list[float]:
    found = features(text)
    return [found[name] for name in OF_THE_WALK]


def test_sizes():
    assert BLOCKS == (("travel", 45), ("boxes", 57), ("rebuild", 35), ("graph", 65))
    assert len(NAMES) == len(set(NAMES)) == sum(size for _, size in BLOCKS) == 202
    heads = [name.split("/")[0] for name in NAMES]
    assert heads == [name for name, size in BLOCKS for _ in range(size)]
    assert all(f.meaning and "\n" not in f.meaning for f in FEATURES)
    row = compute("Go up.")
    assert (row.shape, row.dtype) == ((202,), np.float32)


def test_one_route_in_every_notation_of_cells():
    plain = of_the_walk(chain(tour((11, 11), ROUTE)))
    assert sum(map(bool, plain)) > 40
    for notation in CELLS:
        told = chain(tour((11, 11), ROUTE), notation)
        assert of_the_walk(told) == plain, notation


def test_one_route_in_every_notation_of_moves():
    """With a start, without one, and as told by its cells."""
    plain = of_the_walk(chain(tour((11, 11), ROUTE)))
    for notation, write in ROUTES.items():
        assert of_the_walk(write(ROUTE)) == plain, notation
        started = f"The player is at (4, 7).\n{write(ROUTE)}"
        assert of_the_walk(started) == plain, notation


@pytest.mark.parametrize("here", BOARDS)
def test_a_whole_trace_in_every_notation(here):
    """Not the walk alone: everything but the counts per word and places in the text."""
    free = re.compile("per_word|says_|words|early|late|last_board|places|reading_order")
    kept = [i for i, name in enumerate(NAMES) if not free.search(name)]
    plain = compute(walker(here))[kept]
    for notation in CELLS:
        assert np.array_equal(compute(walker(here, notation))[kept], plain), notation


@pytest.mark.parametrize("here", BOARDS)
def test_cells_and_moves_tell_the_same_walk(here):
    told = solve(here)
    cells = [state.player for state in replay(here, told)]
    assert of_the_walk(chain(cells)) == of_the_walk(told.upper())
    words = ". ".join(f"Push {w}" if w.isupper() else f"Move {w}" for w in told)
    string = f"Moves: {told}"
    assert of_the_walk(words) == of_the_walk(string)
    assert features(words)["boxes/pushes"] == features(string)["boxes/pushes"] > 0


def test_boards_in_other_signs_are_not_read_as_moves():
    here = BOARDS[2]
    for signs in ("#@$.*+ ", "#PXO√S_", "#@$.*+-"):
        drawn = "#######\n#     #\n# $#$ #\n#. @ .#\n#######".translate(
            dict(zip(map(ord, "#@$.*+ "), signs, strict=True))
        )
        found = features(f"{drawn}\nMove up.")
        assert found["rebuild/log_rows"] == pytest.approx(np.log(6))
        assert found["travel/log_moves"] == pytest.approx(np.log(2))
    assert board("#######\n#     #\n# $#$ #\n#. @ .#\n#######") == here


@pytest.mark.parametrize(
    "text", ["", " \n\t ", "Hello there.", "3.14 + 2 = 5.14", "数"]
)
def test_nothing_found_is_a_zero_vector(text):
    assert not compute(text).any()


def test_spelling_does_not_matter():
    text = VOICES["worrier"](BOARDS[1]) + "\nI can't go up. It's stuck."
    fancy = text.replace("'", "\u2019").replace("\n", "\r\n").replace("It", "It")
    assert np.array_equal(compute(text), compute(fancy))
    assert features(text)["travel/denied"] > 0


PIECES = st.sampled_from(
    [
        *re.findall(r"\s*\S+", " ".join(voice(BOARDS[1]) for voice in VOICES.values())),
        *("\n", "\n\n", "RRUU", " rrUl", " →", " ↑↓", "(1,2)", " r3c4", ":", " x2"),
        *(" 99", " twice", " to the", "1. ", "- ", "`#@#`", "\ud800", "\x00", "\u2028"),
    ]
)


@settings(deadline=None, max_examples=100)
@given(st.one_of(st.lists(PIECES, max_size=80).map("".join), st.text()))
def test_every_text_has_finite_features_in_their_range(text):
    row = compute(text)
    assert np.isfinite(row).all()
    assert (row >= 0).all()
    named = zip(NAMES, row.tolist(), strict=True)
    free = re.compile("log_|says_|words|per_word|places|mean_degree")
    assert not [(n, v) for n, v in named if v > 1 + 1e-6 and not free.search(n)]


@settings(deadline=None, max_examples=30)
@given(st.text("udlr", min_size=1, max_size=40), st.integers(0, 9), st.integers(0, 9))
def test_the_origin_does_not_matter(ways, down, right):
    """Counting from 0, from 1, or from anywhere."""
    here = compute(chain(tour((45, 45), ways)))
    there = compute(chain(tour((45 + down, 45 + right), ways)))
    assert here == pytest.approx(there, abs=1e-6)


@settings(deadline=None, max_examples=30)
@given(st.text("udlr", min_size=1, max_size=40))
def test_a_mirrored_route_mirrors_its_directions_alone(ways):
    """Left for right changes what is left or right and nothing else."""
    mirrored = ways.translate(str.maketrans("lr", "rl"))
    here = features(chain(tour((45, 45), ways)))
    there = features(chain(tour((45, 45), mirrored)))
    for name, value in here.items():
        swapped = re.sub("left|right", lambda m: _OTHER[m[0]], name)
        if name != "travel/reading_order":
            assert there[swapped] == pytest.approx(value, abs=1e-6), name


_OTHER = {"left": "right", "right": "left"}


def test_voices_differ_more_than_boards():
    """In what it says of boxes and board, a trace is nearer to its voice on another
    board than to other voices."""
    said = [i for i, n in enumerate(NAMES) if n.startswith(("boxes/", "rebuild/"))]
    rows = {
        (name, i): compute(voice(here))[said]
        for name, voice in VOICES.items()
        for i, here in enumerate(BOARDS[1:])
    }
    table = np.stack(list(rows.values())).astype(float)
    spread = table.std(axis=0)
    table = (table - table.mean(axis=0)) / np.where(spread > 0, spread, 1)
    apart = np.linalg.norm(table[:, None] - table[None], axis=2)
    voice = np.array([list(VOICES).index(name) for name, _ in rows])
    np.fill_diagonal(apart, np.inf)
    assert (voice[apart.argmin(axis=1)] == voice).mean() >= 0.9


def test_time_is_linear_in_the_length():
    """Sixteen times the text takes about sixteen times the time."""
    text = "\n".join(voice(BOARDS[1]) for voice in VOICES.values())

    def seconds(times: int) -> float:
        took = []
        for _ in range(2):
            start = time.process_time()
            compute(text * times)
            took.append(time.process_time() - start)
        return min(took)

    assert seconds(16) < 40 * seconds(1) + 0.2


@pytest.mark.parametrize(
    "sign", ["R", "#", "# ", "(", "(1,2", "`#", "1,2,", "up ", "\n"]
)
def test_hostile_texts_are_read_in_linear_time(sign):
    """Quadratic work on 30,000 characters would take minutes."""
    start = time.process_time()
    compute(sign * (30_000 // len(sign)) + "x")
    assert time.process_time() - start < 5


def test_nothing_depends_on_the_hash_seed():
    script = (
        "import sys; from routejax.fingerprints.sokoban import compute;"
        "sys.stdout.write(compute(sys.stdin.read()).tobytes().hex())"
    )
    text = "\n".join(voice(BOARDS[1]) for voice in VOICES.values())
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONHASHSEED": "7"},
        input=text,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == compute(text).tobytes().hex()
