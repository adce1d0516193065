"""The page of a selection: well formed, alone, escaped, and it says what it shows."""

import html.parser
import json
import re
import xml.etree.ElementTree as ET

import pytest
from report_choice import NAMES, a_report

from routejax.errors import UserError
from routejax.report.choice_page import SECTIONS, choice_page

VOID = {"meta", "link", "br", "img", "input", "hr"}
HOSTILE = "</p></script><script>alert('x')</script> <b a=\"1\"> & ' ]]>\x1b\u202e"


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


def without_blocks():
    report = a_report()
    for one in report["selectors"].values():
        one["spread"] = None
        for row in one["rows"]:
            row["route"] = None
    return report | {"ratio": None, "separating": None, "grammar": False}


def one_group():
    report = a_report()
    for one in report["selectors"].values():
        one["quotas"] = {"all": one["quotas"]["math"]}
        one["geometry"] |= {"clusters": None, "looked_at": 20}
    report["pool"]["read"] = 10
    return report


CASES = {
    "three": a_report,
    "two": lambda: a_report(NAMES[:2]),
    "one": lambda: a_report(NAMES[:1]),
    "without blocks": without_blocks,
    "one group, samples": one_group,
}


@pytest.fixture(params=CASES, scope="module")
def page(request):
    return choice_page(CASES[request.param]())


def rows_of(page):
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)
    assert found
    assert not {*"<>&"} & {*found[1]}
    return json.loads(found[1])


def test_page_is_well_formed(page):
    reader = Reader(page)
    assert page.startswith("<!doctype html>")
    assert len(reader.ids) == len(set(reader.ids))
    assert {*SECTIONS} <= {*reader.ids}
    inside = [v[1:] for n, v in reader.attributes if n == "href" and v[0] == "#"]
    assert {*inside} <= {*reader.ids}


def test_drawings_are_well_formed_and_labelled(page):
    found = [ET.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", page, re.S)]
    assert found
    for svg in found:
        assert svg.get("aria-label") or svg.get("aria-hidden") == "true"
        for node in svg.iter():
            for name, value in node.attrib.items():
                if name in ("d", "x", "y", "width", "height", "cx", "cy", "r"):
                    assert not re.search(r"nan|inf|None|e[+-]\d", value), (name, value)


def test_figures_have_titles_and_say_how_to_read_them(page):
    figures = re.findall(r"<figure.*?</figure>", page, re.S)
    assert len(figures) == 9
    for figure in figures:
        assert re.search(r"<figcaption[^>]*><b>[^<]+</b>", figure)
        assert "How to read this." in figure or "Not run: " in figure


def test_no_number_is_missing_in_silence(page):
    said = " ".join(Reader(page).text)
    assert not re.search(r"\b(nan|inf|None|null|undefined)\b", said)


def test_page_needs_no_network(page):
    assert not re.search(r"https?:|url\(|@import|<link|\ssrc=", page)
    assert "default-src 'none'" in page
    links = [v for n, v in Reader(page).attributes if n == "href"]
    assert all(link.startswith(("#", "routes/row-")) for link in links)


def test_what_is_said():
    said = " ".join(Reader(choice_page(a_report())).text)
    assert "Solutions of one prompt lie 2.00 times as far apart in diverse" in said
    assert "6 rows each of 53 eligible traces" in said
    assert "Of 4 clusters of diverse, hit 100.0 % 75.0 % 50.0 %" in said
    assert "30.5" in said
    assert "code could not give what an even split asks for" in said
    assert "would share 53.3 %" in said
    assert "--why=ID" in said
    assert "--explain=ID" in said
    one = " ".join(Reader(choice_page(a_report(NAMES[:1]))).text)
    assert "6 rows chosen by diverse" in one
    assert one.count("Not run: ") == 1


def test_samples_and_missing_blocks_are_told():
    said = " ".join(Reader(choice_page(one_group())).text)
    assert "20 of its 53 rows" in said
    assert "10 of its 53 eligible rows" in said
    said = " ".join(Reader(choice_page(without_blocks())).text)
    assert "has no blocks of continuous, topology and pattern" in said
    assert "reads no steps in the text" in said


def test_the_script_gets_every_row_where_it_is_drawn():
    report = a_report()
    found = rows_of(choice_page(report))
    assert [one["name"] for one in found["selectors"]] == [*NAMES]
    fields = found["fields"]
    first = dict(zip(fields, found["selectors"][0]["rows"][1], strict=True))
    assert first["id"] == "row-1"
    assert first["near"] == "row-2"
    assert first["route"] == "routes/row-0000001.html"
    # (0.1 + 0.6) / 1.2 and (-0.1 + 0.6) / 1.2 of 360
    assert (first["x"], first["y"]) == (210.0, 210.0)
    outside = a_report()
    outside["selectors"]["diverse"]["rows"][0] |= {"x": -9.0, "y": -9.0}
    row = rows_of(choice_page(outside))["selectors"][0]["rows"][0]
    assert row[-2:] == [0.0, 360.0]


def test_hostile_text_is_escaped():
    report = a_report()
    report |= {"config": HOSTILE, "family": HOSTILE, "routejax": HOSTILE}
    report["commands"] = {"why": HOSTILE, "route": HOSTILE}
    for one in report["selectors"].values():
        one["by_source"] = {HOSTILE: 6}
        one["quotas"][HOSTILE] = one["quotas"].pop("code")
        for row in one["rows"]:
            row.update(dict.fromkeys(("id", "group", "source", "near"), HOSTILE))
    report["pool"] |= {"sources": {HOSTILE: 53}, "groups": {HOSTILE: 3, "math": 50}}
    for found in (report["separating"]["shift"], report["separating"]["spread"]):
        for one in found:
            one |= {"feature": HOSTILE, "meaning": HOSTILE}
    page = choice_page(report)
    reader = Reader(page)
    assert reader.tags.count("script") == 3
    assert "<script>alert" not in page
    assert "&amp;amp;" not in page
    assert "&amp;lt;" not in page
    assert rows_of(page)["selectors"][0]["rows"][0][0] == HOSTILE
    for svg in re.findall(r"<svg.*?</svg>", page.replace("\x1b", ""), re.S):
        ET.fromstring(svg)


def test_the_same_report_gives_the_same_bytes():
    assert choice_page(a_report()) == choice_page(a_report())


def test_another_schema_is_refused():
    with pytest.raises(UserError, match="schema 1, got 2"):
        choice_page(a_report() | {"schema": 2})
