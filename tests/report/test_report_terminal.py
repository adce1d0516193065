import copy
import io

import pytest
from report_inputs import study_inputs
from rich.console import Console

from routejax.errors import UserError
from routejax.metrics import summarise_study
from routejax.report.terminal import study_table
from routejax.report.wording import percent, points


def printed(results, width=80):
    out = io.StringIO()
    Console(file=out, width=width, color_system=None).print(study_table(results))
    return out.getvalue()


def test_scores_and_verdicts_fit_80_columns():
    results = study_inputs()[0]
    text = printed(results)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= 80
    flat = " ".join(text.split())
    for pair in results["study"]["pairs"].values():
        assert pair["verdict"] in flat
    for arm in results["study"]["arms"].values():
        for cell in ("in_range", "seen", "unseen", "extrapolation"):
            cells = arm["cells"][cell]["passN"]
            assert f"{percent(cells['rl']['mean'])} ±" in flat
            assert f"{points(cells['gain']['mean'])} ±" in flat


def test_half_widths_by_hand():
    results = copy.deepcopy(study_inputs(("diverse",), 2)[0])
    cell = results["study"]["arms"]["diverse"]["cells"]["in_range"]["acc1"]
    cell["rl"] |= {"mean": 0.5, "lower": 0.46, "upper": 0.56}
    assert "50.0 ±5.0" in printed(results)


def test_arm_names_are_not_markup():
    results = copy.deepcopy(study_inputs(("diverse",), 2)[0])
    entries = {"[red]arm[/]": results["arms"]["diverse"]["seeds"]}
    results["arms"] = {"[red]arm[/]": results["arms"]["diverse"]}
    results["study"] = summarise_study(entries, resamples=20)
    assert "[red]arm[/]" in printed(results)


def test_missing_stage_is_a_dash():
    results = copy.deepcopy(study_inputs(("diverse",), 2)[0])
    for cell in results["study"]["arms"]["diverse"]["cells"].values():
        cell["passN"] |= {"rl": None, "gain": None}
    assert "–" in printed(results)


def test_refuses_other_formats():
    with pytest.raises(UserError, match="schema"):
        study_table({"schema": 0})
