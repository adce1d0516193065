import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_traces import HOSTILE, TYPES, a_view, grown, hand_steps
from rich.cells import cell_len
from rich.console import Console

from routejax.fingerprints import Explained
from routejax.report.trace_page_outline import outline
from routejax.report.trace_text import (
    STYLES,
    UNFOLDED,
    explained_text,
    tree_lines,
    tree_plan,
)
from routejax.report.traces import KINDS


def printed(view, width=100, **options):
    out = io.StringIO()
    Console(file=out, width=width, **options).print(explained_text(view))
    return out.getvalue()


def drawn(steps):
    view = a_view(steps=steps)
    return [line.plain for line in tree_lines(view, outline(steps))]


def test_tree_by_hand():
    assert drawn(hand_steps()) == [
        "┌ 1 parse  text 0 of parse",
        "│ 2 calculate  text 1 of calculate",
        "├╌╮ 3 branch  text 2 of branch",
        "│ │ 4 calculate  text 3 of calculate",
        "│ └─ 5 check  text 4 of check",
        "├╌╴ 6 hypothesize  text 5 of hypothesize",
        "║ 7 correct  text 6 of correct",
        "├─ 8 check  text 7 of check",
        "│ 9 answer  text 8 of answer",
    ]


def test_long_trees_are_folded():
    kinds = ["parse", *["calculate"] * 30, "check", *["branch"] * 3, "infer", "answer"]
    kinds += ["correct", "infer", *["calculate", "infer"] * 4]
    assert len(kinds) > UNFOLDED
    assert drawn(grown(kinds)) == [
        "┌ 1 parse  0: parse",
        "│ 2–32  calculate ×30, check",
        "├╌╴ 33–34  branch ×2",
        "┆ 35 branch  34: branch",
        "├─╮ 36 infer  35: infer",
        "│ │ 37 answer  36: answer",
        "║ 38 correct  37: correct",
        "│ 39–47  infer ×5, calculate ×4",
    ]


@given(st.lists(st.sampled_from(TYPES), min_size=1, max_size=80), st.booleans())
@settings(deadline=None)
def test_every_step_is_in_one_line(kinds, folded):
    view = a_view(steps=grown(kinds))
    lines = tree_plan(view, outline(view.steps), folded=folded)
    steps = [i for line in lines for i in range(line.first, line.last + 1)]
    assert steps == list(range(len(kinds)))
    if not folded:
        assert all(line.first == line.last for line in lines)


def test_a_long_straight_trace_is_two_lines():
    assert drawn(grown(["parse", *["calculate"] * 1500])) == [
        "┌ 1 parse  0: parse",
        "│ 2–1501  calculate ×1,500",
    ]


def test_steps_with_type_reason_and_text():
    cues = ["", "", "", "", "of check", "", "", "", ""]
    lines = printed(a_view(cues=cues)).splitlines()
    rows = [line for line in lines if line.split()[1:2] and line.split()[1] in TYPES]
    rows = [row for row in rows if row[0] in "123456789"]
    assert len(rows) == len(hand_steps())
    for i, (row, step) in enumerate(zip(rows, hand_steps(), strict=True)):
        number, kind, *_ = row.split()
        assert (number, kind) == (str(i + 1), step.type)
        assert ("“of check”" if i == 4 else step.rule) in row
        assert row.rstrip().endswith(step.step)


def test_types_are_coloured_and_cues_underlined():
    out = printed(
        a_view(cues=["text 0", *[""] * 8]), force_terminal=True, color_system="standard"
    )
    assert "\x1b[33mbranch" in out
    assert "\x1b[1;4mtext 0" in out
    assert set(STYLES) == {*KINDS, "other"}


@pytest.mark.parametrize("width", [40, 60, 100, 200])
def test_no_line_is_wider_than_the_terminal(width):
    steps = [
        Explained("数" * 200, "calculate", "computes", -1, ""),
        Explained("x" * 100_000, "branch", "tries " * 20, 0, "exploration"),
        Explained("two\n\nlines\tand a tab", "infer", "infers", 1, "sequential"),
    ]
    lines = printed(a_view(steps=steps), width).splitlines()
    assert max(cell_len(line) for line in lines) <= width
    steps_and_tree = [line for line in lines if "two lines and a tab"[:5] in line]
    assert len(steps_and_tree) == 2


def test_text_is_neither_markup_nor_orders_to_the_terminal():
    text = f"{HOSTILE}\x1b[2J\x07\x9b0m\u202e"
    view = a_view(
        steps=[Explained(text, text, text, -1, "")],
        id=text,
        source=text,
        names=[text] * 7,
        meanings=[text] * 7,
    )
    out = printed(view, 2000)
    assert not any(sign in out for sign in ("\x1b", "\x07", "\x9b", "\u202e"))
    # Id and source; type and text in list and tree, and the rule; six features.
    assert out.count("[red]no[/]␛[2J␇") == 2 + 5 + 6 * 2


def test_features_that_differ():
    out = printed(a_view())
    rows = [line.split() for line in out.splitlines() if "meaning of" in line]
    assert [row[:4] for row in rows] == [
        ["far", "20.0", "0", "+10.0"],
        ["high", "3.00", "1.00", "+2.0"],
        ["still", "2.00", "0", "+2.0"],
        ["tie", "4.00", "2.00", "+2.0"],
        ["lowest", "0", "2.00", "−4.0"],
        ["low", "0", "2.00", "−2.0"],
    ]
    assert "200 traces" in out


def test_without_pool_or_steps():
    out = printed(a_view(pool_mean=None, pool_sigma=None, pool_rows=None))
    assert "No statistics of a pool" in out
    assert "+10.0" not in out
    assert "It has no steps." in printed(a_view(steps=[]))


def test_head():
    out = printed(a_view(verified=False, source=None))
    assert out.startswith("0123456789abcdef\n")
    for said in ("group math", "source unknown", "not verified", "span closed"):
        assert said in out
    assert "family rlve, version rlve-1" in out
