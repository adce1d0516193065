"""What a stage prints, on a terminal and in a log."""

import io
from pathlib import Path

import pytest
from rich.console import Console

import routejax
from routejax import progress


@pytest.fixture
def clock(monkeypatch):
    """A clock that tests move; `now[0]` in seconds."""
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    return now


def console(terminal=False):
    return Console(file=io.StringIO(), force_terminal=terminal, width=100)


def test_a_narrow_terminal_has_lines_instead_of_a_bar(clock):
    out = Console(file=io.StringIO(), force_terminal=True, width=20)
    with progress.track(out, "sft", 2, "steps") as stage:
        clock[0] += 16
        stage.update(1)
    assert out.file.getvalue().startswith("sft: 1/2  16.0 \ns/step  16 s\n")


def lines(out):
    return out.file.getvalue().splitlines()


def test_a_log_gets_a_line_every_few_seconds_and_one_at_the_end(clock):
    out = console()
    with progress.track(out, "sft", 100, "steps") as stage:
        for done in range(1, 101):
            clock[0] += 0.5
            stage.update(done, f"loss {done}")
    assert progress.HEARTBEAT_S == 15.0
    assert lines(out) == [
        "sft: 31/100  500 ms/step  16 s  ETA 34 s  loss 31",
        "sft: 62/100  500 ms/step  31 s  ETA 19 s  loss 62",
        "sft: 93/100  500 ms/step  46 s  ETA 4 s  loss 93",
        "sft: 100/100  500 ms/step  50 s  done",
    ]


def test_slow_units_are_told_in_seconds_per_unit_and_none_has_no_eta(clock):
    out = console()
    with progress.track(out, "grpo", 3, "steps") as stage:
        clock[0] += 40
        stage.update(0)
        clock[0] += 40
        stage.update(2)
    assert lines(out) == [
        "grpo: 0/3  0.0 steps/s  40 s",
        "grpo: 2/3  40.0 s/step  80 s  ETA 40 s",
        "grpo: 2/3  40.0 s/step  80 s  ETA 40 s  done",
    ]


def test_resumed_work_does_not_count_into_the_rate(clock):
    out = console()
    with progress.track(out, "sft", 100, "steps", done=80) as stage:
        clock[0] += 20
        stage.update(90)
    assert lines(out)[0] == "sft: 90/100  2.0 s/step  20 s  ETA 20 s"


@pytest.mark.parametrize("terminal", [False, True])
def test_work_that_begins_elsewhere_than_thought(terminal, clock):
    """A damaged checkpoint gives way to an older one: 60 and not 80 are finished."""
    out = console(terminal)
    with progress.track(out, "sft", 100, "steps", done=80) as stage:
        stage.begin(60)
        clock[0] += 20
        stage.update(70)
    assert "70/100" in out.file.getvalue()
    assert "2.0 s/step" in out.file.getvalue()


def test_a_first_unit_that_compiles_foretells_nothing(clock):
    out = console()
    with progress.track(out, "sft", 100, "steps") as stage:
        clock[0] += 60
        stage.update(1)
        clock[0] += 16
        stage.update(9)
    assert lines(out)[:2] == [
        "sft: 1/100  60.0 s/step  60 s",
        "sft: 9/100  2.0 s/step  76 s  ETA 182 s",
    ]


def test_counts_are_told_by_the_second_from_the_second_step_on(clock):
    out = console()
    counted = "sampled_tokens"
    with progress.track(out, "grpo", 9, "steps", counted=counted) as stage:
        clock[0] += 60  # compiles
        stage.update(1, "", {counted: 3000, "tokens": 1})
        clock[0] += 10
        stage.update(2, "", {counted: 3000})
        clock[0] += 10
        stage.update(3, "", {counted: 1000})
        clock[0] += 10
        stage.update(4)
    assert lines(out) == [
        "grpo: 1/9  60.0 s/step  50 sampled tokens/s  60 s",
        "grpo: 3/9  10.0 s/step  200 sampled tokens/s  80 s  ETA 60 s",
        "grpo: 4/9  10.0 s/step  133 sampled tokens/s  90 s  ETA 50 s  done",
    ]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_what_stops_is_not_called_done(error, clock):
    out = console()
    with pytest.raises(error), progress.track(out, "pool", 9, "prompts"):
        raise error
    assert lines(out) == ["pool: 0/9  0.0 prompts/s  0 s  stopped"]


def test_a_terminal_shows_one_bar_with_rate_time_and_note():
    out = console(terminal=True)
    with progress.track(out, "sft", 4, "steps") as stage:
        stage.update(4, "loss 0.5")
    text = out.file.getvalue()
    assert "sft" in text
    assert "4/4" in text
    assert "/step" in text
    assert "loss 0.5" in text
    assert "done" not in text


def test_text_on_the_terminal_is_no_markup_and_no_emoji(capsys):
    text = "runs/[/old] has [red] :key: [bold]"
    progress.terminal(soft_wrap=True).print(text, highlight=False)
    assert capsys.readouterr().out == f"{text}\n"


@pytest.mark.parametrize("width", [100, 200])
def test_names_and_notes_of_a_bar_are_no_markup(width):
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=width, color_system=None)
    with progress.track(console, "pool [/a]", 2, "rows") as stage:
        stage.update(1, "sort [/b]")
    assert "pool [/a]" in out.getvalue()
    assert "sort [/b]" in out.getvalue()


def test_every_console_of_the_package_is_a_terminal():
    """Others take square brackets in paths and messages for their own."""
    for path in Path(routejax.__file__).parent.rglob("*.py"):
        made = "Console(" in path.read_text()
        assert made == (path.name == "progress.py"), path
