import copy
import html.parser
import re
import xml.etree.ElementTree as ET

import pytest
from report_inputs import study_inputs

from routejax.errors import UserError
from routejax.metrics import summarise_study
from routejax.report.page import SECTIONS, render
from routejax.report.wording import percent, points, points_span, score_span

VOID = {"meta", "link", "br", "img", "input", "hr"}
HOSTILE = "</script><script>alert('x')</script> <b a=\"1\"> & ' ]]>"


class Reader(html.parser.HTMLParser):
    """Checks that tags nest, and collects ids, text, scripts and attributes."""

    def __init__(self, page):
        super().__init__()
        self.open, self.ids, self.text = [], [], []
        self.tags, self.attributes = [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.text.append(data)


def drawings(page):
    return [ET.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", page, re.S)]


def without_rl(inputs):
    results = copy.deepcopy(inputs[0])
    for arm in results["arms"].values():
        for run in arm["seeds"]:
            run["rl"] = None
    entries = {name: arm["seeds"] for name, arm in results["arms"].items()}
    results["study"] = summarise_study(entries, resamples=50)
    return results, {}, {}, {}


def only_results(inputs):
    kept = ("schema", "study")
    results = {key: value for key, value in inputs[0].items() if key in kept}
    results["arms"] = {
        name: {"seeds": arm["seeds"]} for name, arm in inputs[0]["arms"].items()
    }
    return results, {}, {}, {}


SIX = (
    "diverse",
    "similar",
    "random",
    "topology_fps",
    "embedding_fps",
    "lexical_fps",
)
CASES = {
    "three arms": study_inputs,
    "two arms, one seed": lambda: study_inputs(("diverse", "similar"), 1),
    "one arm": lambda: study_inputs(("diverse",), 2),
    "six arms": lambda: study_inputs(SIX, 1),
    "32 samples": lambda: study_inputs(("diverse", "similar"), 1, 32),
    "one sample": lambda: study_inputs(("diverse", "similar"), 1, 1),
    "nothing but results": lambda: only_results(study_inputs()),
    "RL not run": lambda: without_rl(study_inputs(("diverse", "similar"), 1)),
    "one arm, RL not run": lambda: without_rl(study_inputs(("diverse",), 2)),
}


@pytest.fixture(params=CASES, scope="module")
def page(request):
    return render(*CASES[request.param]())


def test_page_is_well_formed(page):
    reader = Reader(page)
    assert page.startswith("<!doctype html>")
    assert len(reader.ids) == len(set(reader.ids))
    for anchor in SECTIONS:
        assert anchor in reader.ids
    links = [value[1:] for name, value in reader.attributes if name == "href"]
    assert set(links) <= set(reader.ids)


def test_drawings_are_well_formed_and_labelled(page):
    found = drawings(page)
    assert found
    for svg in found:
        assert svg.get("aria-label") or svg.get("aria-hidden") == "true"
        for node in svg.iter():
            for name, value in node.attrib.items():
                if name in ("d", "x", "y", "width", "height", "cx", "cy", "r"):
                    assert not re.search(r"nan|inf|None|e[+-]\d", value), (name, value)
                if name in ("width", "height", "r", "fill-opacity"):
                    assert float(value) >= 0


def test_figures_have_titles_and_say_how_to_read_them(page):
    figures = re.findall(r"<figure.*?</figure>", page, re.S)
    assert len(figures) >= len(SECTIONS)
    for figure in figures:
        assert re.search(r"<figcaption[^>]*><b>[^<]+</b>", figure)
        assert "How to read this." in figure or "Not run: " in figure


def test_no_number_is_missing_in_silence(page):
    said = " ".join(Reader(page).text)
    assert not re.search(r"\b(nan|inf|None|null|undefined)\b", said)


def test_page_needs_no_network(page):
    assert not re.search(r"https?:|//[a-z]|url\(|@import|<link|\ssrc=", page)
    assert "default-src 'none'" in page


def test_every_number_of_the_main_table_is_there():
    inputs = study_inputs()
    text = Reader(render(*inputs)).text
    study = inputs[0]["study"]
    checked = 0
    for arm in study["arms"].values():
        for cell in ("in_range", "seen", "unseen", "extrapolation"):
            for outcome in ("acc1", "passN"):
                for stage in ("sft", "rl", "gain"):
                    found = arm["cells"][cell][outcome][stage]
                    say, span = (
                        (points, points_span)
                        if stage == "gain"
                        else (percent, score_span)
                    )
                    assert say(found["mean"]) in text
                    assert span(found) in text
                    checked += 1
    assert checked == 3 * 4 * 2 * 3


def test_verdicts_stand_in_the_page():
    inputs = study_inputs()
    said = " ".join(Reader(render(*inputs)).text).lower()
    for pair in inputs[0]["study"]["pairs"].values():
        assert pair["verdict"].lower() in said


def test_missing_parts_are_named():
    said = " ".join(Reader(render(*only_results(study_inputs()))).text)
    for what in ("training curves", "laid out", "selection", "traces", "recipe"):
        assert re.search(rf"Not run: [^.]*{what}", said), what
    assert said.count("Not run: ") == 8
    whole = " ".join(Reader(render(*study_inputs())).text)
    assert "Not run: " not in whole


def test_rl_not_run_is_said():
    page = render(*without_rl(study_inputs(("diverse", "similar"), 1)))
    assert "cannot be compared yet: RL was not run" in page
    assert "Not run: RL has not been run." in page


def test_hostile_text_is_escaped():
    results, curves, plane, examples = copy.deepcopy(study_inputs(("diverse",), 2))
    step = {"type": HOSTILE, "text": HOSTILE}
    examples["diverse"][0] |= {
        "prompt": HOSTILE,
        "env": HOSTILE,
        "strategy": HOSTILE,
        "steps": [step],
    }
    examples["diverse"][1] |= {"steps": [], "response": HOSTILE}
    plane["env"] = [HOSTILE] * len(plane["env"])
    results["config"] = HOSTILE
    results["recipe"][HOSTILE] = HOSTILE
    results["pool"]["rejected"][HOSTILE] = 1
    results["arms"]["diverse"]["selection"]["by_strategy"][HOSTILE] = 5
    page = render(results, curves, plane, examples)
    reader = Reader(page)
    assert reader.tags.count("script") == 1
    assert "<script>alert" not in page
    assert HOSTILE in "".join(reader.text)
    drawings(page)


def test_hostile_arm_name_is_escaped():
    results, curves, plane, examples = copy.deepcopy(study_inputs(("diverse",), 2))
    results["arms"] = {HOSTILE: results["arms"]["diverse"]}
    entries = {HOSTILE: results["arms"][HOSTILE]["seeds"]}
    results["study"] = summarise_study(entries, resamples=20)
    plane["arms"] = {HOSTILE: plane["arms"]["diverse"]}
    page = render(
        results, {HOSTILE: curves["diverse"]}, plane, {HOSTILE: examples["diverse"]}
    )
    assert Reader(page).tags.count("script") == 1
    drawings(page)


def test_numbers_that_are_not_there_are_left_out_of_curves():
    results, curves, plane, examples = copy.deepcopy(study_inputs(("diverse",), 2))
    curves["diverse"]["0"]["grpo"]["reward"][3] = None
    curves["diverse"]["1"]["grpo"]["kl"] = [float("nan")] * 60
    page = render(results, curves, plane, examples)
    assert "nan" not in " ".join(Reader(page).text)
    drawings(page)


def test_same_input_same_bytes():
    inputs = study_inputs()
    assert render(*inputs) == render(*copy.deepcopy(inputs))


def test_refuses_other_formats():
    results = study_inputs()[0]
    with pytest.raises(UserError, match="schema 1, got 2"):
        render({**results, "schema": 2}, {}, {}, {})
    with pytest.raises(UserError, match="must have a study"):
        render({**results, "study": None}, {}, {}, {})


def test_every_figure_and_every_training_curve_is_drawn():
    page = render(*study_inputs())
    figures = dict(re.findall(r'<figure id="([^"]+)".*?>(.*?)</figure>', page, re.S))
    assert list(figures) == [
        *("scores", "attempts", "difficulty", "solved", "environments", "signal"),
        *("training", "space", "spread", "composition", "traces", "recipe"),
        *("provenance", "times"),
    ]
    assert figures["training"].count('<div class="panel">') == 6
    # three arms of three seeds in six panels, and a mean of each arm
    assert figures["training"].count('class="curve seed"') == 9 * 6
    assert figures["training"].count('class="curve after"') == 3 * 6
    # an arm before and after RL in each of four cells
    assert figures["attempts"].count('class="curve before"') == 3 * 4 + 1
    assert figures["traces"].count('<details class="trace"') == 3 * 3
    assert figures["environments"].count('class="heat"') == 3 * (8 * 15 + 5)
