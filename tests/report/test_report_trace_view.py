import importlib.resources
import itertools
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_traces import TYPES, a_view, grown, hand_steps

from routejax import fingerprints
from routejax.errors import UserError
from routejax.report.svg import MARKERS
from routejax.report.trace_page_glyphs import OUTLINES, css_of, outline_of
from routejax.report.trace_page_outline import Extent, extent, outline
from routejax.report.trace_page_view import cue_span, differences
from routejax.report.traces import KINDS, kind_of
from routejax.report.wording import visible

TYPE_LISTS = st.lists(st.sampled_from(TYPES), max_size=60)


def test_outline_by_hand():
    steps = hand_steps()
    rows = outline(steps)
    assert [row.depth for row in rows] == [0, 1, 2, 3, 4, 2, 2, 3, 3]
    assert [row.lane for row in rows] == [0, 0, 1, 1, 1, 1, 0, 0, 0]
    assert [row.trunk for row in rows] == [1, 1, 0, 0, 0, 0, 1, 0, 1]
    assert [row.check for row in rows] == [0, 0, 0, 0, 1, 0, 0, 1, 0]
    assert [row.detour for row in rows] == [0, 0, 1, 0, 0, 1, 0, 0, 0]
    assert [row.onward for row in rows] == [1, 6, 3, -1, -1, -1, 8, -1, -1]
    assert extent(steps, rows) == Extent(
        steps=9, depth=4, leaves=4, types=7, checks=2, explored=2, returned=1
    )


def test_the_hand_made_tree_is_one_that_grows():
    kinds = [step.type for step in hand_steps()]
    found = [(step.parent, step.edge) for step in grown(kinds)]
    assert found == [(step.parent, step.edge) for step in hand_steps()]


def test_no_steps():
    assert outline([]) == []
    assert extent([], []) == Extent(0, 0, 0, 0, 0, 0, 0)


@given(TYPE_LISTS)
@settings(deadline=None)
def test_outline_keeps_the_tree(types):
    steps = grown(types)
    rows = outline(steps)
    tree = fingerprints.tree(types, "rlve")
    assert tuple(row.depth for row in rows) == tree.depths
    assert [row.children for row in rows] == tree.children()
    for i, (step, row) in enumerate(zip(steps, rows, strict=True)):
        if not i:
            continue
        up = rows[step.parent]
        assert row.lane == up.lane + row.detour
        if row.check:
            assert not row.children
            assert kind_of(step.type) == "verification"
        # Between a step and its parent the parent's lane is crossed by nothing.
        between = rows[step.parent + 1 : i]
        assert all(other.lane > up.lane or other.check for other in between)
    trunk = [i for i, row in enumerate(rows) if row.trunk]
    if steps:
        assert trunk[-1] == tree.cursor
        assert [steps[i].parent for i in trunk] == [-1, *trunk[:-1]]


def test_differences_by_hand():
    above, below = differences(a_view(), 10)
    # z: even 0, low -2, high +2, far +10, still 2 of sigma 1, tie +2, lowest -4
    assert [(one.name, one.z) for one in above] == [
        ("far", 10),
        ("high", 2),
        ("still", 2),
        ("tie", 2),
    ]
    assert [(one.name, one.value, one.mean, one.z) for one in below] == [
        ("lowest", 0, 2, -4),
        ("low", 0, 2, -2),
    ]
    assert [one.name for one in differences(a_view(), 2)[0]] == ["far", "high"]
    assert above[0].meaning == "meaning of 3"
    assert differences(a_view(pool_mean=None, pool_sigma=None), 2) is None


def test_hashed_features_come_last():
    names = [
        f"hash/{k:04}" if name == "far" else name
        for k, name in enumerate(a_view().names)
    ]
    above, _ = differences(a_view(names=names), 10)
    assert [one.z for one in above] == [2, 2, 2, 10]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"pool_mean": None}, "go together"),
        ({"pool_sigma": np.ones(5)}, "pool_sigma must have 7 entries.* got 5"),
        ({"values": np.ones(8)}, "values must have 7 entries.* got 8"),
        ({"meanings": ("a",)}, "meanings must have 7 entries.* got 1"),
        ({"cues": ("a",)}, r"one entry per step \(9\) or none, got 1"),
    ],
)
def test_parts_that_do_not_belong_together(changes, said):
    with pytest.raises(UserError, match=said):
        a_view(**changes)


def test_visible_by_hand():
    assert visible("a\r\nb\rc\td") == "a\nb\nc\td"
    assert visible("\x1b[31m\0\x7f") == "␛[31m␀␡"
    assert visible("a\u202eb\ud800c\x9b") == "a\ufffdb\ufffdc\ufffd"
    assert visible("שלום 你好 👩‍👧 e\u0301") == "שלום 你好 👩‍👧 e\u0301"


def test_cue_span_by_hand():
    def found(step, cue):
        span = cue_span(step, cue)
        return span and step[slice(*span)]

    assert found("So wait, no: that", "wait no") == "wait, no"
    assert found("Let's Double-check it", "double check") == "Double-check"
    assert found("unchecked, then check", "check") == "check"
    assert found("unchecked, then check", "Check!") == "check"
    assert found("THAT'S WRONG", "that's wrong") == "THAT'S WRONG"
    assert found("nothing of it", "check") is None
    assert found("anything", "") is None


# Ten types of spec and paper for released corpora, eighteen for RLVE.
VOCABULARIES = {
    "ten": (
        *("setup", "computation", "deduction", "verification", "backtracking"),
        *("exploration", "backward_reasoning", "decomposition", "commentary"),
        "conclusion",
    ),
    "eighteen": TYPES,
}


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_types_differ_in_colour_or_outline(vocabulary):
    looks = [(css_of(kind), outline_of(kind)) for kind in VOCABULARIES[vocabulary]]
    assert len(looks) == len(set(looks))


def test_outlines_are_drawn_and_belong_to_known_types():
    assert set(OUTLINES.values()) <= set(MARKERS)
    assert {kind_of(kind) for kind in OUTLINES} <= set(KINDS)


# Linear RGB as seen without one kind of cones (Machado et al. 2009, severity 1).
SIGHT = {
    "normal": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
# OKLab (Ottosson 2020): linear RGB to cones, cube root of cones to lightness, a, b.
CONES = [
    [0.4122214708, 0.5363325363, 0.0514459929],
    [0.2119034982, 0.6806995451, 0.1073969566],
    [0.0883024619, 0.2817188376, 0.6299787005],
]
LAB = [
    [0.2104542553, 0.7936177850, -0.0040720468],
    [1.9779984951, -2.4285922050, 0.4505937099],
    [0.0259040371, 0.7827717662, -0.8086757660],
]


def oklab(colour, sight):
    parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.asarray(SIGHT[sight]) @ linear, 0, 1)
    return np.asarray(LAB) @ np.cbrt(np.asarray(CONES) @ seen)


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_colours_of_kinds_stay_apart(sight, mode):
    css = importlib.resources.files("routejax.report") / "trace_page.css"
    pattern = r"\.kind-(\w+) \{ --k: light-dark\((#\w{6}), (#\w{6})\)"
    found = {
        name: (light, dark)[mode == "dark"]
        for name, light, dark in re.findall(pattern, css.read_text("utf-8"))
    }
    assert set(found) == set(KINDS)
    for one, other in itertools.combinations(found, 2):
        apart = np.linalg.norm(oklab(found[one], sight) - oklab(found[other], sight))
        assert apart >= 0.1, (one, other, apart)
