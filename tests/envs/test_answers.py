"""Mathematics judged: hand-written pairs by rule, and the cases of a longer file."""

import json
from pathlib import Path

import pytest

from routejax.envs.answers import Open, decide, judge
from routejax.errors import UserError

# (gold, answer): the same, decided without symbolic algebra, in both directions.
SAME = [
    *(("7", "007"), ("-3", "−3"), ("1234567", "1,234,567"), ("1000", "1{,}000")),
    *(("10000", "10,\\!000"), ("5", "$5$"), ("5", "\\(5\\)"), ("5", "5.")),
    *(("5", "\\text{5}"), ("5", "\\mathrm{5}"), ("5", "x=5"), ("5", "5.0")),
    *(("\\frac{1}{2}", "0.5"), ("\\frac{1}{2}", "1/2"), ("\\frac12", ".5")),
    *(("\\dfrac{3}{4}", "\\tfrac{6}{8}"), ("-\\frac{1}{3}", "\\frac{-1}{3}")),
    *(("\\frac{7}{4}", "1\\frac{3}{4}"), ("8/3", "2 2/3"), ("\\frac43", "4/3")),
    *(("0.\\overline{3}", "\\frac{1}{3}"), ("1.2\\overline{45}", "\\frac{137}{110}")),
    *(("4.5e33", "4.5 \\times 10^{33}"), ("3e-2", "0.03"), ("2^{10}", "1024")),
    *(("10!", "3628800"), ("\\binom{5}{2}", "10"), ("\\lfloor 7/2 \\rfloor", "3")),
    *(("|{-3}|", "3"), ("\\sqrt{16}", "4"), ("\\sqrt[3]{8}", "2")),
    # roots, pi, i
    *(("3\\sqrt{13}", "\\sqrt{117}"), ("\\frac{1}{\\sqrt{3}}", "\\frac{\\sqrt3}{3}")),
    *(("\\sqrt{6}", "\\sqrt2 \\cdot \\sqrt3"), ("\\frac{\\pi}{2}", "pi/2")),
    *(("2\\pi", "2π"), ("6-5i", "-5i+6"), ("i^2", "-1"), ("\\frac{1}{i}", "-i")),
    *(("\\sqrt{-4}", "2i"), ("1-\\frac{2}{\\pi}", "\\frac{\\pi-2}{\\pi}")),
    *(("\\frac{1}{1+\\sqrt2}", "\\sqrt2-1"), ("8^{2/3}", "4")),
    # symbols
    *(("(a+5)(b+2)", "ab+2a+5b+10"), ("x^2+2x+1", "(x+1)^2"), ("2k+2", "2(k+1)")),
    *(("\\frac{n(n+1)}{2}", "\\frac{n^2+n}{2}"), ("2^{n+1}", "2 \\cdot 2^n")),
    *(("4^n", "2^{2n}"), ("2^{k-n}", "\\frac{2^k}{2^n}"), ("e^{-2t}", "1/e^{2t}")),
    *(("\\frac{x^2-1}{x-1}", "x+1"), ("\\cot x", "\\cot(x)"), ("E_{1}", "E_1")),
    # names, equations
    *(("f(x)=2x", "2x"), ("x=5", "5=x"), ("P(A)=\\frac12", "0.5")),
    *(("y=2x+3", "2x-y+3=0"), ("\\frac{x^2}{4}+y^2=1", "x^2+4y^2=4")),
    *(("42", "6*7=42"), ("\\text{Area}=12", "12"), ("m_{\\max}=n-1", "n-1")),
    # percent, degrees, money, units
    *(("28\\%", "28"), ("28%", "0.28"), ("28\\%", "28 percent"), ("62.5%", "5/8")),
    *(("90^\\circ", "90"), ("90^{\\circ}", "90 degrees"), ("90", "90°")),
    *(("\\$18.90", "18.9"), ("\\$32,\\!348", "32348"), ("36", "36 dollars")),
    *(("35", "35 \\text{ cm}"), ("35", "35 cm"), ("864 \\mbox{ inches}^2", "864")),
    *(("15\\mbox{ cm}^2", "15\\text{ centimeters}^2"), ("600/7", "\\frac{600}7 km/h")),
    *(("12", "12 apples"), ("3", "3\\text{ m}"), ("9.8", "9.8 \\mathrm{~m/s}")),
    # decimals for numbers that none writes exactly
    *(
        ("\\frac{1}{12}", "0.0833333333"),
        ("\\pi", "3.14159265"),
        ("\\sqrt2", "1.4142136"),
    ),
    *(("\\frac{1}{3}", "0.3333333"), ("100/3", "\\frac{100}{3} \\approx 33.3")),
    # lists, sets, both signs
    *(
        ("1,2", "2, 1"),
        ("1, 2", "1 and 2"),
        ("1,2", "\\{2,1\\}"),
        ("1,2", "1 \\text{ or } 2"),
    ),
    *(("\\pm 3", "3,-3"), ("1 \\pm \\sqrt{19}", "1-\\sqrt{19}, 1+\\sqrt{19}")),
    *(("\\{1\\pm\\sqrt{5},-2\\}", "-2, 1-\\sqrt5, 1+\\sqrt5"), ("x=1, x=2", "1,2")),
    *(("n=2,3,4", "4,3,2"), ("(1,8),(2,7)", "(2,7), (1,8)"), ("x=\\pm 2", "2,-2")),
    *(("\\{5\\}", "5"), ("3,5,7", "3, 5, \\text{and } 7")),
    *(("(\\pm 1, \\mp 2)", "(1,-2), (-1,2)"), ("3 \\mp 1", "2, 4")),
    # tuples, vectors, matrices
    *(("(3,\\frac{\\pi}{2})", "\\left(3,\\frac{\\pi}{2}\\right)"), ("(1,2)", "1,2")),
    *(("(1,2,3)", "[1,2,3]"), ("(1,2,3)", "\\langle 1,2,3\\rangle")),
    (
        "\\begin{pmatrix} 1 & 2 \\\\ 3 & 4 \\end{pmatrix}",
        "\\begin{bmatrix}1&2\\\\3&4\\\\\\end{bmatrix}",
    ),
    ("\\begin{pmatrix} 1/5 \\\\ 2 \\end{pmatrix}", "(0.2, 2)"),
    ("\\begin{pmatrix} 1 & 2 \\\\ 3 & 4 \\end{pmatrix}", "[[1, 2], [3, 4]]"),
    # intervals
    *(("\\emptyset", "\\{\\}"), ("\\mathbb{R}", "(-\\infty, \\infty)")),
    *(
        ("(-\\infty,3)", "x<3"),
        ("[-2,7]", "-2 \\le x \\le 7"),
        ("x \\in [-2,7]", "[-2,7]"),
    ),
    *(("(2,\\infty)", "x > 2"), ("(2,\\infty)", "2 < t"), ("[2,5)", "5 > x \\geq 2")),
    *(("(0,9)\\cup(9,36)", "(9,36) \\cup (0,9)"), ("(-\\infty,0]", "x≤0")),
    ("(-\\infty,0)\\cup(0,\\infty)", "x \\neq 0"),
    # words
    *(
        ("\\text{Evelyn}", "Evelyn"),
        ("\\text{even}", "\\textbf{Even}"),
        ("east", "East"),
    ),
    *(("\\text{(C)}", "C"), ("12:00", "12:00"), ("52_8", "52_{8}")),
]

DIFFERENT = [
    *(("5", "6"), ("5", "50"), ("52_8", "528"), ("52_8", "52_9")),
    *(
        ("100/3", "33.3"),
        ("\\pi", "3.14"),
        ("\\frac{1}{12}", "0.083"),
        ("1/2", "0.50001"),
    ),
    *(("10000000", "10000001"), ("1234567", "1234567.1"), ("2", "2 2/3")),
    *(("1/2004!", "\\frac{1}{2006!}"), ("2^{-99}", "2^{-98}"), ("10^{-20}", "0")),
    *(
        ("1,2,3", "\\sin(x)"),
        ("\\pm 3", "3"),
        ("1,2", "1"),
        ("3", "1,2,3"),
        ("1331 and 1728", "1728"),
    ),
    *(("n=2,3,4", "n=1,2,3"), ("x=1,y=2", "x=2,y=1"), ("x=5", "y=5")),
    *(("(1,2)", "(2,1)"), ("[2,5)", "(2,5)"), ("(0,1)", "(0,1.5)"), ("(0,1]", "0,1")),
    *(("x<3", "x \\le 3"), ("x<3", "x>3"), ("(0,1)\\cup(2,3)", "(0,1)")),
    *(("12:00", "1:00"), ("3:4", "3:5"), ("\\text{east}", "west"), ("even", "neve")),
    *(
        ("15\\text{ cm}", "15\\text{ m}"),
        ("5", "5 million"),
        ("28", "0.28"),
        ("I(0)", "0"),
    ),
    *(("3x-y+13=0", "3x+4y+14=0"), ("2x+3=7", "7"), ("5", "x=5=7"), ("x^2", "y^2")),
    *(("1-\\frac{1}{e}", "1+\\frac{1}{e}"), ("2^n", "2^{n+1}"), ("\\sqrt2", "\\sqrt3")),
    *(("5", "5+0i+x"), ("0", "\\{\\}"), ("\\{1\\}", "\\{\\}"), ("1", "\\frac{1}{0}")),
    (
        "\\begin{pmatrix} 1 \\\\ 2 \\end{pmatrix}",
        "\\begin{pmatrix} 1 & 2 \\end{pmatrix}",
    ),
    ("\\begin{pmatrix} 1 & 2 \\end{pmatrix}", "\\begin{pmatrix} 2 & 1 \\end{pmatrix}"),
]

# Only symbolic algebra can tell these; True where they are the same.
LEFT_OPEN = [
    ("\\cot x", "\\frac{1}{\\tan x}", True),
    ("\\sin(2x)", "2\\sin x\\cos x", True),
    ("\\binom{2n}{n}", "\\frac{(2n)!}{n!n!}", True),
    ("\\ln 8", "3 \\ln 2", True),
    ("\\ln 8", "4 \\ln 2", False),
    # numbers so small that an absolute tolerance takes them for equal
    ("\\frac{\\ln 2}{10^{30}}", "\\frac{\\ln 3}{10^{30}}", False),
    ("e^{-99\\pi}", "e^{-98\\pi}", False),
    ("\\sin(\\frac{\\pi}{6})", "\\frac12", True),
]


def boxed(answer: str) -> str:
    return f"So it is \\boxed{{{answer}}}."


@pytest.mark.parametrize(("gold", "answer"), SAME)
def test_the_same_answer(gold, answer):
    for one, other in ((gold, answer), (answer, gold)):
        verdict = decide(one, boxed(other), kind="math")
        assert not isinstance(verdict, Open)
        assert (verdict.solved, verdict.score) == (True, 1.0)
        assert verdict.status == "answered"


@pytest.mark.parametrize(("gold", "answer"), DIFFERENT)
def test_another_answer(gold, answer):
    for one, other in ((gold, answer), (answer, gold)):
        verdict = decide(one, boxed(other), kind="math")
        assert not isinstance(verdict, Open)
        assert (verdict.solved, verdict.score) == (False, 0.0)


def test_digits_of_a_base_without_the_base():
    assert judge("52_8", boxed("52"), kind="math").solved
    assert not judge("52", boxed("52_8"), kind="math").solved


@pytest.mark.parametrize(("gold", "answer", "right"), LEFT_OPEN)
def test_symbolic_algebra_decides_the_rest(gold, answer, right):
    pytest.importorskip("math_verify", reason="the extra `math` is not installed")
    for one, other in ((gold, answer), (answer, gold)):
        assert isinstance(decide(one, boxed(other), kind="math"), Open)
        verdict = judge(one, boxed(other), kind="math")
        assert (verdict.solved, verdict.status) == (right, "answered")


# Response, and the answer found in it with its status, whatever the gold.
FOUND = [
    ("", None, "no_answer"),
    ("It is 5.", None, "no_answer"),
    ("Final answer: **5**", None, "no_answer"),
    ("\\boxed{}", None, "no_answer"),
    ("\\boxed{ }", None, "no_answer"),
    ("\\boxed 5", None, "no_answer"),
    ("\\boxed{5", None, "no_answer"),
    ("\\boxed{\\frac{1}{2}", None, "no_answer"),
    ("\\boxed{5} or \\boxed{6}", "6", "answered"),
    ("\\boxed{5} then \\boxed{6", "5", "answered"),
    ("use \\boxed here: \\boxed{\\boxed{5}}", "{5}", "answered"),
    ("\\boxed {5}", "5", "answered"),
    ("\\boxed{\\{1,2\\}}", "\\{1,2\\}", "answered"),
    ("<think>\\boxed{5}</think> I do not know", None, "no_answer"),
    ("<think>\\boxed{5}</think> \\boxed{6}", "6", "answered"),
    ("<think>first \\boxed{5}, then", None, "no_answer"),
    ("thought </think> \\boxed{6}", "6", "answered"),
    ("\\boxed{" + "1+" * 600 + "1}", ("1+" * 600)[:1000], "unparsed"),
    ("\\boxed{the value is 5 plus x}", "the value is 5 plus x", "unparsed"),
    ("\\boxed{9^{9^{9}}}", "9^{9^{9}}", "unparsed"),
    ("\\boxed{5\x00}", "5\x00", "unparsed"),
    ("\\boxed{٥}", "٥", "unparsed"),
    ("\\boxed{\ud800}", "\ud800", "unparsed"),
    ("\\boxed{,,,}", ",,,", "unparsed"),
]


@pytest.mark.parametrize(("response", "answer", "status"), FOUND)
def test_where_the_answer_stands(response, answer, status):
    verdict = decide("4096", response, kind="math")
    assert not isinstance(verdict, Open)
    assert (verdict.answer, verdict.status, verdict.solved) == (answer, status, False)


@pytest.mark.parametrize(
    ("gold", "answer", "tolerance", "right"),
    [
        ("4.2", "4.3", "0.1", True),
        ("4.2", "4.31", "0.1", False),
        ("\\pi", "3.14", "0.01", True),
        ("(1, 2)", "(1.05, 2)", "0.1", True),
        ("5", "5", "0", True),
        ("5", "x", "0.1", False),
    ],
)
def test_a_tolerance_is_absolute(gold, answer, tolerance, right):
    verdict = judge(gold, boxed(answer), kind="math", tolerance=tolerance)
    assert verdict.solved is right


@pytest.mark.parametrize("gold", ["", "  ", None, 5])
def test_a_gold_without_text_is_a_mistake(gold):
    with pytest.raises(UserError, match="gold answer"):
        judge(gold, "\\boxed{5}", kind="math")


def test_an_unknown_kind_lists_the_known_ones():
    with pytest.raises(UserError, match="math, choice; got 'maths'"):
        judge("5", "\\boxed{5}", kind="maths")


def recorded() -> list:
    path = Path(__file__).parents[3] / "shared" / "data" / "cases" / "checker.json"
    if not path.exists():
        absent = pytest.mark.skip(reason="the longer file of cases is absent")
        return [pytest.param(None, marks=absent)]
    return [pytest.param(c, id=c["id"]) for c in json.loads(path.read_text())]


# Where our convention is another one: a response without a box has no answer.
OURS = {"markdown_bold": False}


@pytest.mark.parametrize("case", recorded())
def test_recorded_case(case):
    verdict = decide(case["gold"], case["prediction"], kind=case["kind"])
    assert not isinstance(verdict, Open)
    assert case["policy_choice"] or case["id"] not in OURS
    assert verdict.solved is OURS.get(case["id"], case["verdict"])


@pytest.mark.parametrize("tolerance", ["abc", "", "-1", "1/0"])
def test_a_tolerance_that_is_no_number_is_told(tolerance):
    with pytest.raises(UserError, match=r"must be a decimal such as 0\.01"):
        judge("3.14", "\\boxed{3.1415}", kind="math", tolerance=tolerance)
