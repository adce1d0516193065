"""Answers made to hang, crash or fool a judge; and a comparison that does not end."""

import random
import time
from collections import Counter

import pytest

from routejax.envs.answers import ENVIRONMENTS, decide, judge, verdicts
from routejax.envs.judging import Judges, Outcome, Request
from routejax.errors import UserError
from tests.benchmarks import attacks
from tests.benchmarks.judging import peak_mib

pytest.importorskip("math_verify", reason="the extra `math` is not installed")

OPEN = ("\\cot x", "\\boxed{\\frac{1}{\\tan x}}")


def judged(found):
    """Verdicts in order, and the longest time of one in seconds."""
    given, longest = [], 0.0
    for one in found:
        start = time.perf_counter()
        gold = one.request.config["gold"]
        given.append(judge(gold, one.request.response, kind="math"))
        longest = max(longest, time.perf_counter() - start)
    return given, longest


def test_hostile_answers_neither_hang_nor_hide_honest_ones():
    found = attacks.answers(500)
    before = peak_mib()
    given, longest = judged(found)
    assert len(given) == 500
    assert attacks.lost(found, given) == []
    assert longest < 2 * verdicts.ASKED_S + 60  # the last is the start of a worker
    assert peak_mib() - before < 200
    assert not attacks.written()


_TEXT = r"""
1 2 12 0 x y n e i + - * / = < ! | % : ; , . ^ _ ' " & $ ~ # { } ( ) [ ] é ² and cm pi
\pi \frac \sqrt \{ \} \le \pm \cup \in \infty \% \left \sin \log \\ \binom \lfloor
\rfloor \approx \ne \emptyset \mathbb{R} ^\circ \text{cm} \text{or} \overline{3} f(x)
\begin{pmatrix} \end{pmatrix} \angle 1e5 apples
"""
PIECES = (*_TEXT.split(), " ", "\x00")


def test_any_text_has_a_verdict_and_the_same_in_both_directions():
    rng, counted = random.Random(0), Counter()
    for _ in range(4000):
        one, other = ("".join(rng.choices(PIECES, k=rng.randint(1, 7))) for _ in "ab")
        one = rng.choice((one, f"{other}+0", f"{{{other}}}"))
        found = []
        for gold, answer in ((one, other), (other, one)):
            try:
                verdict = decide(gold, f"\\boxed{{{answer}}}", kind="math")
            except UserError:  # a gold of spaces or type-setting only
                break
            found.append(getattr(verdict, "solved", None))
        if len(found) == 2 and None not in found and "_" not in one + other:
            assert found[0] == found[1], (one, other)
            counted[found[0]] += 1
    assert min(counted[True], counted[False]) > 100


def test_a_verdict_in_another_place_is_seen():
    found = [one for one in attacks.answers(40) if one.wanted]
    given, _ = judged(found)
    assert attacks.lost(found, given) == []
    given[1], given[3] = given[3], given[1]
    assert attacks.lost(found, given) == [1, 3]


@pytest.mark.parametrize(
    "answer",
    [
        *(
            "9^{9^{9}}",
            "(10^9)!",
            "2^{10^{10}}",
            "3!!!!",
            "10^{10^{10^{10}}}",
            "1e9999",
        ),
        *("+".join(["(x+y+1)^{16}"] * 70), "*".join(["(x+1)^{24}"] * 80)),
        *("\\binom{3000}{1500}" * 40, "^".join("x" * 300), "-" * 900 + "x"),
        *("+".join(f"9^{{9999}}x^{{{i}}}" for i in range(60)), "\\sqrt" * 190 + "2"),
        *("1+\\frac{1}{x+" * 38 + "1" + "}" * 38, "x_{" * 39 + "1" + "}" * 39),
        *("\\cup".join(["(0,1)"] * 80), ",".join("1" * 490), "=".join("x" * 400)),
    ],
)
def test_our_own_rules_are_never_slow(answer):
    start = time.process_time()
    for gold in ("5", "x^2+1", "(1,2)", "1,2,3", "x=5"):
        assert not getattr(
            decide(gold, f"\\boxed{{{answer}}}", kind="math"), "solved", 0
        )
    assert time.process_time() - start < 10


def test_a_comparison_that_does_not_end_is_a_timeout(monkeypatch):
    monkeypatch.setattr(verdicts, "ASKED_S", 1e-6)
    verdict = judge(*OPEN, kind="math")
    assert (verdict.status, verdict.solved) == ("timeout", False)
    monkeypatch.undo()
    assert judge(*OPEN, kind="math").solved


def test_a_comparison_that_raises_is_an_error(monkeypatch):
    monkeypatch.setattr(verdicts, "ask", lambda *_, **__: Outcome("error"))
    verdict = judge(*OPEN, kind="math")
    assert (verdict.status, verdict.solved) == ("error", False)


def test_the_missing_extra_is_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"pip install 'routejax\[math\]'"):
        judge(*OPEN, kind="math")


def test_judges_take_both_as_environments():
    asked = [
        Request("math", {"gold": OPEN[0]}, OPEN[1]),
        Request("math", {"gold": "4.2", "tolerance": "0.1"}, "\\boxed{4.25}"),
        Request("math", {"gold": "5"}, "\\boxed{6}"),
        Request("choice", {"gold": "B"}, "Answer: B"),
    ]
    with Judges(workers=1, timeout_s=60.0) as judges:
        found = judges.judge(asked)
        stats = judges.stats()
    assert [verdict.solved for verdict in found] == [True, True, False, True]
    assert {verdict.status for verdict in found} == {"answered"}
    assert (stats["workers"], stats["here"]) == (1, 3)


def test_their_problems_are_not_generated():
    for env in ENVIRONMENTS:
        with pytest.raises(UserError, match="read from files"):
            env.generate(None, 1)  # type: ignore[arg-type]
