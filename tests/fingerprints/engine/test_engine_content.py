"""Every content test on bytes says what its regular expression says."""

import numpy as np
import pytest

pytest.importorskip("numba")

from hypothesis import given, settings
from hypothesis import strategies as st

from routejax.fingerprints import engine  # noqa: F401
from routejax.fingerprints.engine import content
from routejax.fingerprints.label import CONTENT

# What each expression is made of, and what comes near to it.
ALPHABETS = {
    "arithmetic": "=|3|0|)|(|+|*|/|^|×|÷|·|−|-|\\times|\\cdot|\\div|\\frac|\\dfrac"
    "|\\sqrt|\\time|\\|frac| |\n|x|\u2013|\u00c3|\u00d8|\u2212",
    "comparison": "3|42|<|>|≤|≥|\\le|\\leq|\\ge|\\geq|\\lex|\\leqq|\\l|q|_|-| |\n|x|≦"
    "|\u2263",
    "listing": "3|-1|2.5|7.|.|a|B|bc|(1,2)|(x, yy)|(|)|, |,|,  |, and |and |_| |-"
    "|1, |2.5, |-3,|a, |B, and |(1,2), |, 4|, x|, |,|é|(1234567890123,2)|(,1)|(\n,1)"
    "|(123456789012,2)|(éééééééééééé,2)",
    "row": "3|-1|-|A|b|B2|1'|_|#|.|é|数|'| |  |\n|AB|3.5|😀",
    "arrow": "-|>|=|->|=>|→|⇒|\\to|\\too|\\to_|\\rightarrow|\\right|↑|⇐|\\| |x|←",
    "code": "`|``|```|a| |\n|\\",
    "numbered": "1|12|123|.|)|:|step |Case |PART |part|*|_|#|>|(|-| |\n|a|•|é|1.|1:",
    "question": "?|\"|'|)|]|*|_| |.|a|?!|\n|}|\u2026",
}


# Per test steps that pass and that just do not.
NEAR = [
    ("arithmetic", "2 \\times (3", "2 \\time 3"),
    ("arithmetic", "3−2", "3–2"),
    ("arithmetic", "a = b", "a \\cdot b"),
    *(("arithmetic", f"3 {sign}(4", f"x {sign}(4") for sign in "+*/^×÷·−-"),
    *(("arithmetic", f")\\{name} 4", f"\\{name} 4") for name in ("cdot", "div")),
    *(("arithmetic", f"\\{name}", name) for name in ("frac", "dfrac", "sqrt")),
    *(("comparison", f"3{sign} -4", f"3{sign} x") for sign in "<>≤≥"),
    ("comparison", "3 \\leq -4", "3 \\leqq 4"),
    ("comparison", "3≤4", "3≦4"),
    ("listing", "1, 2, 3, and 4", "x.1, 2, 3, 4"),
    ("listing", "(1,2),(3,4),a,b", "1, 2, 3, .4"),
    ("listing", f"1, 2, 3, ({'é' * 12},x)", f"1, 2, 3, ({'é' * 13},x)"),
    ("row", "1  2 -3", "1 2 3'"),
    ("row", "so\n# . A", "so\n# . AB"),
    ("arrow", "a \\to b", "a \\top b"),
    ("arrow", "a->b", "a- >b"),
    ("arrow", "a =>", "a ="),
    ("arrow", "→", "←"),
    ("arrow", "⇒", "⇐"),
    ("arrow", "\\rightarrow", "\\rightarow"),
    ("code", "x ```", "x `` `"),
    ("numbered", "** Step 12: go", "Step 123: go"),
    ("question", 'why?")', "why?."),
]


def strings(name: str) -> st.SearchStrategy[str]:
    """Steps: pieces of the alphabet, alone or in the midst of a step that nearly passes
    or just does, perhaps behind so many words that they cross the end of a block of 64
    bytes. Steps have no white space at their ends."""
    pieces = st.lists(st.sampled_from(ALPHABETS[name].split("|")), max_size=14)
    near = st.sampled_from([step for who, *two in NEAR if who == name for step in two])
    cut, few = st.integers(0, 15), pieces.map(lambda p: "".join(p[:3]))
    mended = st.builds(lambda s, a, k, p: s[:a] + p + s[a + k :], near, cut, cut, few)
    steps = st.one_of(pieces.map("".join), mended)
    filled = st.builds(
        lambda k, s: ("and so on to " * 10)[-k:] + s, st.integers(45, 130), steps
    )
    return st.one_of(steps, filled).map(str.strip)


def says(name: str, step: str) -> bool:
    """The kernel's word; what lies around the step would pass any test."""
    parts = ["9=9?```->1. ", step, " = 9, 1, 2, 3, 4 < 5 -> ```?" * 3]
    a, b, c = (part.encode() for part in parts)
    text, number = np.array([*a, *b, *c], np.uint8), content.NAMES.index(name)
    return bool(content.holds(number, text, len(a), len(a) + len(b)))


def test_there_is_one_for_each():
    assert sorted(content.NAMES) == sorted(CONTENT) == sorted(ALPHABETS)


@pytest.mark.parametrize(("name", "passes", "fails"), NEAR)
def test_by_hand(name, passes, fails):
    assert (says(name, passes), says(name, fails)) == (True, False)
    assert (bool(CONTENT[name](passes)), bool(CONTENT[name](fails))) == (True, False)


@pytest.mark.parametrize("name", list(ALPHABETS))
def test_any_step(name):
    seen = set()

    @settings(deadline=None, max_examples=250, database=None)
    @given(strings(name))
    def check(step):
        expected = bool(CONTENT[name](step))
        seen.add(expected)
        assert says(name, step) == expected

    check()
    assert seen == {False, True}


@settings(deadline=None, max_examples=150)
@given(st.text(max_size=30).map(str.strip), st.sampled_from(list(ALPHABETS)))
def test_any_text(text, name):
    step = " ".join(text.split())
    assert says(name, step) == bool(CONTENT[name](step))
