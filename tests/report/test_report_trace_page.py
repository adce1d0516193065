import importlib.resources
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_traces import HOSTILE, TYPES, Reader, a_view, grown, hand_steps

from routejax import fingerprints
from routejax.fingerprints import Explained
from routejax.report.trace_page import explained_page, summary
from routejax.report.trace_page_features import CLIP, z_bar
from routejax.report.trace_page_outline import extent, outline
from routejax.report.trace_page_tree import plan
from routejax.report.wording import visible

MIXED = [TYPES[7 * i % 18] for i in range(400)]
CASES = {
    "by hand": {},
    "one step": {"steps": hand_steps()[:1]},
    "no step": {"steps": []},
    "a straight line": {"steps": grown(["calculate"] * 50)},
    "many attempts": {"steps": grown(["parse", *["branch"] * 300])},
    "all types": {"steps": grown(MIXED)},
    "no pool": {"pool_mean": None, "pool_sigma": None, "pool_rows": None},
    "nothing known": {"source": None, "verified": None, "prompt": " "},
    "an unknown type": {"steps": [Explained("text", "new type", "rule", -1, "")]},
}


@pytest.fixture(params=CASES, scope="module")
def view(request):
    return a_view(**CASES[request.param])


@pytest.fixture(scope="module")
def page(view):
    return explained_page(view)


def drawings(page):
    return [ET.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", page, re.S)]


def shown(reader):
    """The texts of the steps in order."""
    texts = [(at, text) for at, text in reader.all("p") if at.get("dir") == "auto"]
    return [text for at, text in texts if at.get("class") != "prompt"]


def the_tree(page):
    return next(svg for svg in drawings(page) if svg.get("id") == "tree")


def test_page_is_well_formed(page):
    reader = Reader(page)
    assert page.startswith("<!doctype html>")
    ids = reader.ids()
    assert len(ids) == len(set(ids))
    links = [at["href"] for at, _ in reader.all("a")]
    assert {link[1:] for link in links} <= set(ids)
    for svg in drawings(page):
        assert svg.get("aria-label") or svg.get("aria-hidden") == "true"
        for node in svg.iter():
            for value in node.attrib.values():
                assert not re.search(r"\b(nan|inf|None)\b|\de[+-]\d", value)


def test_page_needs_no_network(page):
    assert not re.search(r"https?:|//[a-z]|url\(|@import|<link|\ssrc=", page)
    assert "default-src 'none'" in page


def test_every_step_stands_once_in_order(view, page):
    reader = Reader(page)
    items = [at["id"] for at, _ in reader.all("li")]
    assert items == [f"s{i + 1}" for i in range(len(view.steps))]
    assert len(reader.all("ol", "walked")) == bool(view.steps)
    assert shown(reader) == [visible(step.step) for step in view.steps]
    for text, step in zip(reader.of("li"), view.steps, strict=True):
        assert step.type.replace("_", " ") in text
        assert step.rule in text


def test_one_node_per_step_and_one_edge_per_child(view, page):
    if not view.steps:
        assert 'id="tree"' not in page
        return
    tree = the_tree(page)
    nodes = [node for node in tree.iter("a")]
    assert [node.get("href") for node in nodes] == [
        f"#s{i + 1}" for i in range(len(view.steps))
    ]
    assert [int(node.get("data-up")) - 1 for node in nodes] == [
        step.parent for step in view.steps
    ]
    edges = [part for part in tree.iter("path") if part.get("id")]
    assert [edge.get("id") for edge in edges] == [
        f"e{i + 1}" for i, step in enumerate(view.steps) if step.parent >= 0
    ]
    for edge in edges:
        step = view.steps[int(edge.get("id")[1:]) - 1]
        assert step.edge in edge.get("class").split()


def test_legend_counts_the_types(view, page):
    keys = Reader(page).of("button", "type")
    counts = {}
    for step in view.steps:
        counts[step.type] = counts.get(step.type, 0) + 1
    assert sorted(keys) == sorted(
        f"{kind.replace('_', ' ')}{count:,}" for kind, count in counts.items()
    )


def test_edges_differ_by_form():
    paths = {
        part.get("id"): part.get("d")
        for part in the_tree(explained_page(a_view())).iter("path")
    }
    assert "Q" in paths["e3"]
    assert "Q" in paths["e6"]
    assert all("Q" not in paths[f"e{i}"] for i in (2, 4, 5, 7, 8, 9))
    css = asset("trace_page.css")
    for edge in ("exploration", "backtracking"):
        assert re.search(rf"\.link\.{edge} {{[^}}]*stroke-dasharray", css)


def test_spots_by_hand():
    where = plan(outline(hand_steps()))
    xs = [x for x, _ in where.spots]
    lane, beside = xs[2] - xs[0], xs[7] - xs[6]
    assert lane > beside > 0
    assert [x - xs[0] for x in xs] == [
        *(0, 0, lane, lane, lane + beside, lane, 0, beside, 0)
    ]
    ys = [y for _, y in where.spots]
    assert ys == sorted(set(ys))
    assert all(0 < x < where.width and 0 < y < where.height for x, y in where.spots)


def test_deep_nests_stay_narrow():
    # Each attempt is left inside the one before: a lane of its own for every one.
    steps = [Explained("root", "parse", "r", -1, "")]
    for i in range(200):
        steps.append(Explained("a", "branch", "r", i, "exploration"))
    steps += [
        Explained("b", "branch", "r", i, "exploration") for i in range(199, -1, -1)
    ]
    rows = outline(steps)
    assert max(row.lane for row in rows) == 200
    assert plan(rows).width < 700


def test_head_says_where_the_trace_is_from():
    text = Reader(explained_page(a_view(group="a group", span="close-only"))).of("main")
    for said in ("0123456789abcdef", "a group", "a teacher", "yes", "close-only"):
        assert said in text[0]
    assert "rlve, version rlve-1" in text[0]
    assert "How many?" in text[0]
    assert "200 traces" in text[0]
    unknown = explained_page(a_view(source=None, verified=None, prompt=""))
    assert unknown.count("<dd>unknown</dd>") == 2
    assert "The prompt is empty." in unknown
    assert "<dd>no</dd>" in explained_page(a_view(verified=False))


def test_summary_by_hand():
    def said(steps):
        return summary(extent(steps, outline(steps)))

    assert said(hand_steps()) == (
        "9 steps of 7 types, in a tree of depth 4 with 4 leaves. The route sets out "
        "another way twice, turns back once and stops to check twice."
    )
    assert said(grown(["parse", "infer"])) == (
        "2 steps of 2 types, in a tree of depth 1 with 1 leaf. The route leads "
        "straight to its end."
    )
    assert said([]) == "It has no steps."


def test_cues_are_underlined():
    cues = ["", "", "TEXT 2", *[""] * 6]
    reader = Reader(explained_page(a_view(cues=cues)))
    assert reader.of("u", "cue") == ["text 2"]
    assert "rule of branch: “TEXT 2”" in reader.of("li")[2]
    assert not Reader(explained_page(a_view())).of("u")


def test_z_bars_in_order():
    page = explained_page(a_view())
    reader = Reader(page)
    assert reader.of("td", "score") == [
        *("+10.0", "+2.0", "+2.0", "+2.0", "−4.0", "−2.0")
    ]
    assert reader.of("code")[:6] == [*("far", "high", "still", "tie", "lowest", "low")]
    assert page.count('class="zfill more"') == 5  # four bars, one with a point
    assert page.count('class="zfill less"') == 2


def test_length_of_z_bars():
    def widths(z):
        return [float(r.get("width")) for r in ET.fromstring(z_bar(z)).iter("rect")]

    whole = float(ET.fromstring(z_bar(1.0)).get("viewBox").split()[2])
    assert widths(CLIP) == widths(-CLIP) == [whole]
    assert widths(1.0) == pytest.approx([whole / CLIP], abs=0.01)
    assert widths(-2.5) == pytest.approx([whole / 2], abs=0.01)
    assert z_bar(7.0).count("zfill") == 2
    assert widths(7.0) == widths(700.0)


def test_without_a_pool_the_page_says_so():
    page = explained_page(a_view(pool_mean=None, pool_sigma=None, pool_rows=None))
    assert "No statistics of a pool" in page
    assert 'class="score"' not in page
    assert 'class="zfill' not in page
    # The features themselves are there: five of seven are not zero.
    assert "All 5 features that are not zero, of 7" in page
    assert "No statistics of a pool" not in explained_page(a_view())


def test_nothing_differs():
    view = a_view(values=a_view().pool_mean.astype(np.float32))
    assert Reader(explained_page(view)).of("p", "absent") == ["Nothing."] * 2


def test_hostile_text_is_escaped():
    steps = [
        Explained(HOSTILE, HOSTILE, HOSTILE, -1, ""),
        Explained(f"cue {HOSTILE}", "check", HOSTILE, 0, "sequential"),
    ]
    view = a_view(
        **dict.fromkeys(
            ("id", "prompt", "group", "source", "span", "family", "version"), HOSTILE
        ),
        steps=steps,
        cues=(HOSTILE, "cue"),
        names=tuple(f"{HOSTILE}{i}" for i in range(7)),
        meanings=(HOSTILE,) * 7,
    )
    page = explained_page(view)
    reader = Reader(page)
    assert len(reader.of("script")) == 2
    assert "<script>alert" not in page
    assert reader.of("h1") == [HOSTILE]
    assert reader.of("p", "prompt") == [HOSTILE]
    assert [HOSTILE in text for text in reader.of("li")] == [True, True]
    drawings(page)


# Lone halves of pairs and control characters among the rest.
ODD = st.text(st.characters(codec=None), min_size=1, max_size=40)


@given(st.lists(ODD, min_size=1, max_size=5), ODD, ODD)
@settings(deadline=None, max_examples=60)
def test_any_text_is_shown_and_breaks_nothing(texts, name, cue):
    steps = [
        Explained(text, TYPES[i], name, i - 1, "sequential" if i else "")
        for i, text in enumerate(texts)
    ]
    view = a_view(steps=steps, id=name, prompt=cue, cues=[cue] * len(steps))
    page = explained_page(view)
    assert page.encode("utf-8").decode("utf-8") == page
    reader = Reader(page)
    assert reader.of("h1") == [visible(name)]
    assert shown(reader) == [visible(text) for text in texts]
    drawings(page)


def test_long_and_code_steps_are_marked():
    steps = [
        Explained("x" * 100_000, "calculate", "computes", -1, ""),
        Explained("```\ncode\n```", "execute", "code", 0, "sequential"),
    ]
    reader = Reader(explained_page(a_view(steps=steps)))
    assert reader.of("p", "long") == ["x" * 100_000]
    assert reader.of("p", "code") == ["```\ncode\n```"]


def test_a_real_text_from_end_to_end():
    text = "Let's see: 3 + 4 = 7. Let me check: 4 + 3 = 7. So the answer is 7."
    names = fingerprints.describe("rlve")
    values = fingerprints.fingerprint(text, "rlve")
    steps = fingerprints.explain(text, "rlve")
    view = a_view(
        steps=steps,
        names=list(names),
        meanings=list(names.values()),
        values=values,
        pool_mean=np.zeros(len(names)),
        pool_sigma=np.ones(len(names)),
    )
    reader = Reader(explained_page(view))
    assert len(steps) > 1
    assert shown(reader) == [step.step for step in steps]
    assert len(reader.of("td", "score")) > 5


def asset(name):
    return (importlib.resources.files("routejax.report") / name).read_text("utf-8")


def test_the_script_finds_what_it_asks_for():
    script = asset("trace_page.js")
    asked = re.findall(r'getElementById\("(\w+)"\)', script)
    page = explained_page(a_view())
    assert set(asked) >= {"texts", "drawn", "tree", "row", "strip", "overview"}
    assert set(asked) <= set(Reader(page).ids())
    for css in ("window", "over", "walked", "node", "type"):
        assert re.search(rf'class="([\w-]+ )*{css}[ "]', page), css


def test_same_view_same_bytes():
    assert explained_page(a_view()) == explained_page(a_view())
