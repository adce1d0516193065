"""Samples of RL as people see them: summaries by hand, filters, cards, and the page."""

import io
import json
import re

import pytest
from report_rollouts import a_run, a_sample, a_wrong, an_index
from report_traces import HOSTILE, Reader
from rich.console import Console

from routejax.report import rollouts_page, rollouts_text, rollouts_view
from routejax.report.rollouts_page import Shown


def test_steps_by_hand():
    cut = a_wrong(group="all_fail", finish="length", status="no_answer", tokens=96)
    samples = [*a_run(steps=(4,)), cut, cut]
    samples[-2:] = [a_wrong(**vars(cut) | {"problem": "p9", "step": 4})] * 2
    (line,) = rollouts_view.steps(an_index(samples))
    assert line._asdict() == {
        "run": "diverse, seed 0",
        "step": 4,
        "prompts": 4,
        "samples": 8,
        "reward": 3 / 8,
        "all_fail": 0.5,
        "mixed": 0.25,
        "all_correct": 0.25,
        "tokens": (3 * 3 + 3 * 9 + 2 * 96) / 8,
        "longest": 96,
        "truncated": 0.25,
        "unparsed": 0.25,
    }


def test_runs_and_steps_have_a_line_each():
    rows = an_index([*a_run(), *a_run(run="similar, seed 0")])
    lines = [(line.run, line.step) for line in rollouts_view.steps(rows)]
    names = ("diverse, seed 0", "similar, seed 0")
    assert lines == [(run, step) for run in names for step in (1, 2)]


@pytest.mark.parametrize(
    ("name", "places"),
    [
        (None, [6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5]),  # newest step first
        ("all-fail", [6, 7, 0, 1]),
        ("mixed", [8, 9, 2, 3]),
        ("all-correct", [10, 11, 4, 5]),
        ("truncated", []),
        ("unparsed", []),
        ("longest", [0, 1, 3, 6, 7, 9, 2, 4, 5, 8, 10, 11]),  # wrong ones have more
    ],
)
def test_filters_by_hand(name, places):
    assert rollouts_view.chosen(an_index(a_run()), name).tolist() == places


@pytest.mark.parametrize(
    ("name", "change"),
    [("truncated", {"finish": "length"}), ("unparsed", {"status": "no_answer"})],
)
def test_samples_without_an_end_or_an_answer_are_found(name, change):
    rows = an_index([a_sample(), a_wrong(**change), a_wrong(sample=2)])
    assert rollouts_view.chosen(rows, name).tolist() == [1]


def test_every_filter_is_one():
    rows = an_index(a_run())
    for name in rollouts_view.FILTERS:
        assert len(rollouts_view.chosen(rows, name)) < len(rows) or name == "longest"


def test_a_bound_takes_whole_groups_of_steps_far_apart():
    rows = an_index(a_run(steps=range(1, 10)))
    every = rollouts_view.chosen(rows, None)
    group = 2 * rollouts_view._OVERHEAD + 3 + 9  # of two samples, one right
    step = 3 * group
    assert rollouts_view.fitting(rows, every, 10**6) == [*range(54)]
    found = rollouts_view.fitting(rows, every, 3 * step)
    assert {place // 6 + 1 for place in found} == {9, 1, 5}
    failed = 2 * rollouts_view._OVERHEAD + 9 + 9
    part = rollouts_view.fitting(rows, every, step + failed + group)
    assert part == [*range(4), *range(48, 54)]
    assert rollouts_view.fitting(rows, every, 1) == [48, 49]  # one group in any case
    assert rollouts_view.fitting(rows, every[:0], 1) == []


def test_a_filter_brings_the_whole_group():
    rows = an_index([a_sample(), a_wrong(finish="length"), *a_run(steps=(2,))])
    places = rollouts_view.chosen(rows, "truncated")
    assert rollouts_view.fitting(rows, places, 1000) == [0, 1]


# Terminal ----------------------------------------------------------------------------


def printed(shown, width=100, **settings):
    out = Console(file=io.StringIO(), width=width, **settings)
    out.print(shown)
    return out.file.getvalue()


def test_a_card_says_what_became_of_a_sample():
    text = printed(rollouts_text.cards([a_sample(), a_wrong()]))
    for words in (
        *("diverse, seed 0 · step 1 · sort 2 · p0 · sample 0", "right · reward 1.00"),
        *("advantage +1.50 · 3 tokens · ended by stop", "group mixed · trained on"),
        *("wrong: 2 1, expected 1 2", "advantage −0.50 · 9 tokens", "Sort: 2 1"),
    ):
        assert words in text


@pytest.mark.parametrize(
    ("sample", "words"),
    [
        (a_sample(), "right"),
        (a_wrong(), "wrong: 2 1, expected 1 2"),
        (a_wrong(expected=None), "wrong: 2 1"),
        (a_wrong(finish="length"), "cut off"),
        (a_wrong(status="no_answer", answer=None), "no answer"),
        (a_wrong(status="unparsed"), "answer of another form"),
        (a_wrong(status="timeout", answer=None), "timeout"),
    ],
)
def test_verdicts_in_words(sample, words):
    assert rollouts_text.judged(sample) == words


@pytest.mark.parametrize("width", [30, 60, 200])
def test_cards_wrap_to_the_width(width):
    sample = a_sample(response="word " * 90, prompt="Ask " * 40)
    text = printed(rollouts_text.cards([sample]), width)
    assert max(map(len, text.splitlines())) <= width
    assert text.count("word") == 90


def test_one_sample_is_whole_and_long_ones_of_several_are_cut():
    long = a_sample(response="start " + "x" * 5000 + " zebra")
    one, two = (printed(rollouts_text.cards(found)) for found in ([long], [long, long]))
    assert one.count("x") > 5000
    assert two.count("start") == two.count(" zebra") == 2
    assert two.count("3,812 characters, whole with --n=1") == 2


def test_colours_only_on_a_terminal():
    shown = rollouts_text.cards([a_sample()])
    assert "\x1b" not in printed(shown)
    assert "\x1b[" in printed(shown, force_terminal=True, color_system="standard")


def test_text_from_outside_is_neither_markup_nor_control():
    odd = "[red]no[/] \x1b[2J \u202e"
    sample = a_wrong(response=odd, prompt=odd, answer=odd, env=odd, status="answered")
    text = printed(rollouts_text.cards([sample]), force_terminal=True)
    assert "[red]no[/]" in text
    assert "\x1b[2J" not in text
    assert "␛[2J" in text
    assert "\u202e" not in text


def test_many_steps_are_some_with_the_first_and_the_last():
    lines = [*rollouts_view.steps(an_index(a_run(steps=range(1, 101))))]
    text = printed(rollouts_text.summary(lines))
    found = re.findall(r"^ *(\d+) +0\.500 ", text, re.M)
    assert len(found) == rollouts_text.SHOWN
    assert (found[0], found[-1]) == ("1", "100")
    assert "88 steps between these not shown" in text


# The page ----------------------------------------------------------------------------


def a_page(samples, **changes):
    lines = [*rollouts_view.steps(an_index(samples))]
    known = {
        "samples": samples,
        "lines": lines,
        "of": len(samples),
        "workdir": "runs/x",
    }
    return rollouts_page.rollouts_page(Shown(**(known | changes)))


def data_of(page):
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)
    return json.loads(found[1])


@pytest.fixture(scope="module")
def page():
    return a_page([*a_run(), *a_run(run="similar, seed 3")])


def test_page_is_well_formed_and_needs_no_network(page):
    reader = Reader(page)
    assert page.startswith("<!doctype html>")
    assert len(reader.ids()) == len(set(reader.ids()))
    assert not re.search(r"https?:|//[a-z]|url\(|@import|<link|\ssrc=", page)
    assert "default-src 'none'" in page


def test_the_same_samples_give_the_same_bytes(page):
    assert a_page([*a_run(), *a_run(run="similar, seed 3")]) == page


def test_every_sample_is_in_the_page_with_its_group(page):
    found = data_of(page)
    assert len(found["groups"]) == 12
    assert all(len(group["samples"]) == 2 for group in found["groups"])
    group = found["groups"][1]
    assert (group["step"], group["problem"], group["outcome"]) == (1, "p1", "mixed")
    assert group["samples"][0] == {
        "sample": 0,
        "judged": "right",
        "solved": True,
        "reward": 1.0,
        "advantage": 1.5,
        "tokens": 3,
        "cut": False,
        "status": "answered",
        "pieces": [0, 1, 2],
        "logps": [-50, -100, 0],
        "spelt": 3,
    }
    assert found["pieces"] == ["1", " 2", ""]


def test_pieces_that_do_not_spell_the_text_leave_it_as_it_is():
    """An end that has a name is no part of the text."""
    named = a_sample(pieces=["1", " 2", "<|end|>"])
    other = a_sample(pieces=["1", "\ufffd", ""], sample=1)
    group = data_of(a_page([named, other]))["groups"][0]
    assert group["samples"][0]["spelt"] == 2
    assert group["samples"][1]["text"] == "1 2"
    assert "spelt" not in group["samples"][1]


def test_what_can_be_chosen_is_what_there_is(page):
    reader = Reader(page)
    options = reader.of("option")
    for words in ("all runs", "similar, seed 3", "all steps", "2", "sort"):
        assert words in options
    kinds = [at["data-value"] for at, _ in reader.all("button", "toggle")]
    assert kinds == ["all_fail", "mixed", "all_correct", "cut", "unparsed", "on"]


def test_columns_know_their_step(page):
    columns = [at for at, _ in Reader(page).all("rect", "column")]
    names = ("diverse, seed 0", "similar, seed 3")
    assert [(at["data-run"], at["data-step"]) for at in columns] == [
        (run, step) for run in names for step in ("1", "2")
    ]
    assert "reward 0.500" in columns[0]["data-tip"]


def test_hostile_text_stays_text():
    sample = a_wrong(
        **dict.fromkeys(("prompt", "response", "problem", "env"), HOSTILE + "\x00"),
        run=HOSTILE,
        answer=HOSTILE,
        pieces=[HOSTILE, "", ""],
    )
    page = a_page([sample], workdir=HOSTILE)
    assert "alert('x')</script>" not in page.replace("&#x27;", "'")
    Reader(page)
    raw = page.partition('id="data">')[2].partition("</script>")[0]
    assert not {*"<>&"} & {*raw}
    (group,) = data_of(page)["groups"]
    assert group["prompt"] == HOSTILE + "␀"
    assert "\x00" not in page


def test_a_page_that_is_not_all_says_how_many_and_how_to_see_others():
    samples = a_run(steps=(3,))
    page = a_page(samples, of=6000, workdir="my runs/x")
    (text,) = Reader(page).of("p", "standfirst")
    assert text.startswith("This page has 6 of 6,000 samples, from 1 step.")
    assert "python -m routejax.rollouts 'my runs/x' --step=N" in text
