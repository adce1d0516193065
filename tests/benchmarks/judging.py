"""How fast answers are judged, beside math-verify alone, and what hostile ones do.

    python -m tests.benchmarks.judging [--golds FILE.jsonl] [--hostile 10000] [--json]

integers   responses of 2,000 characters with an integer in a box, right and wrong, by
           `answers.judge` in one process and in two at once: responses per second.
golds      every gold of FILE (MATH-500; JSONL with `answer`) as an answer to itself,
           with \\dfrac for \\frac too, and to the question before: by
           `answers.judge`, and the same by math-verify alone, in the same run,
           `verify(parse(gold), parse(answer))` with its defaults. Needs FILE.
hostile    power towers, megabytes, nested brackets, Python, null bytes, surrogates,
           and honest answers between them that show whether any verdict is lost or in
           another place; longest time of one, all of them, growth of memory beyond
           the responses.

With `--json` the last line is an object of the figures. The exit status is 1 where a
verdict is wrong.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import random
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from routejax.envs.answers import Open, decide, judge
from routejax.envs.problem import STATUSES

GOLDS = Path(__file__).parents[3] / "shared" / "data" / "benchmarks" / "math500.jsonl"
PROSE = "and so the reasoning above goes on with another step of the same kind. "
INTEGERS = 20_000
MARK = Path(tempfile.gettempdir()) / f"judged-{os.getpid()}"  # made by code that runs


class Hostile(NamedTuple):
    """A response, and the answer that its verdict must have if it is an honest one."""

    gold: str
    response: str
    answer: str | None


def _boxed(text: str) -> str:
    return f"\\boxed{{{text}}}"


def hostile(count: int, seed: int = 0) -> list[Hostile]:
    """Responses made to hang, crash or fool a judge; every second one is honest."""
    rng = random.Random(seed)
    found = []
    for i in range(count):
        if i % 2:
            gold = str(i if i % 4 == 1 else i + 1)
            found.append(Hostile(gold, f"so {_boxed(str(i))}", str(i)))
        else:
            made = rng.choice(_ATTACKS)(rng)
            found.append(Hostile(rng.choice(_TARGETS), made, None))
    return found


def _nested(rng: random.Random) -> str:
    opens, closes = rng.choice(
        ("()", "[]", "{}", ("\\sqrt{", "}"), ("\\frac{1}{", "}"))
    )
    depth = rng.choice((30, 300, 3000))
    return _boxed(opens * depth + "x" + closes * depth)


def _tower(rng: random.Random) -> str:
    base, height = rng.randint(2, 10**4), rng.randint(2, 60)
    close = rng.choice(("", "!"))
    return _boxed(f"{base}" + f"^{{{base}" * height + "}" * height + close)


def _sums(rng: random.Random) -> str:
    term = rng.choice(
        ("x+", "(x+y+1)^{24}*", "9^{9999}x+", "\\sqrt{99991}+", "1/99991+")
    )
    return _boxed(term * rng.choice((20, 60, 2000)) + "1")


def _bytes(rng: random.Random) -> str:
    odd = rng.choice(("\x00", "\ud800", "٣", "７", "\u202e", "\\", '"', "\U0001d7d8"))
    where = rng.choice((odd * 300, odd, odd + "5" + odd))
    return rng.choice((_boxed(where), where + _boxed("5"), _boxed("5") + where))


def _megabyte(rng: random.Random) -> str:
    piece = rng.choice(("x", "{", "}", "\\boxed{", "1", " ", "<think>", "answer is "))
    text = piece * (10**6 // len(piece))
    return rng.choice((text, _boxed(text), text + _boxed("5")))


def _python(rng: random.Random) -> str:
    code = rng.choice(
        (
            f"__import__('os').system('touch {MARK}')",
            "().__class__.__base__.__subclasses__()",
            "eval('9**9**9')",
            f"open('{MARK}','w')",
            "[x for x in iter(int, 1)]",
        )
    )
    return _boxed(code)


def _repeated(rng: random.Random) -> str:
    piece = rng.choice(
        ("-", "^2", "!", "\\pm 1", "=x", ",1", "|", "\\cup(0,1)", "'", "&")
    )
    return _boxed("x" + piece * rng.choice((5, 90, 400)))


def _functions(rng: random.Random) -> str:
    name = rng.choice(("\\sin", "\\ln", "\\exp", "\\tan"))
    depth = rng.choice((2, 3, 12, 200))
    return _boxed(f"{name}(" * depth + "x" + ")" * depth)


_ATTACKS = (
    *(_nested, _tower, _sums, _bytes, _python, _repeated, _tower, _sums, _bytes),
    *(_nested, _python, _repeated, _nested, _sums, _repeated, _functions, _megabyte),
)
_TARGETS = (
    "5",
    "x^2+1",
    "(1,2)",
    "1,2,3",
    "[0,1)",
    "x=5",
    "\\frac{1}{3}",
    "\\text{no}",
)


def lost(found: list[Hostile], verdicts: list) -> list[int]:
    """Places where a verdict is not that of the response there."""
    places = []
    for i, (one, verdict) in enumerate(zip(found, verdicts, strict=True)):
        wanted = (one.answer, one.answer == one.gold)
        if one.answer and (verdict.answer, verdict.solved) != wanted:
            places.append(i)
    return places


def judged(found: list[Hostile]) -> tuple[list, float]:
    """Verdicts in order, and the longest time of one in seconds."""
    verdicts, longest = [], 0.0
    for one in found:
        start = time.perf_counter()
        verdicts.append(judge(one.gold, one.response, kind="math"))
        longest = max(longest, time.perf_counter() - start)
    return verdicts, longest


def integers(count: int = INTEGERS) -> float:
    """Seconds for so many responses with an integer, half of them right."""
    golds = [str(i % 1000) for i in range(count)]
    responses = [PROSE * 28 + _boxed(str((i + i % 2) % 1000)) for i in range(count)]
    start = time.perf_counter()
    solved = sum(
        judge(gold, response, kind="math").solved
        for gold, response in zip(golds, responses, strict=True)
    )
    seconds = time.perf_counter() - start
    assert solved == count // 2, f"{solved} of {count} solved"
    return seconds


def speeds() -> dict[str, float]:
    """Responses per second in one process, and in two at once."""
    one = INTEGERS / integers()
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as two:
        list(two.map(integers, (100, 100)))
        start = time.perf_counter()
        list(two.map(integers, (INTEGERS, INTEGERS)))
        both = 2 * INTEGERS / (time.perf_counter() - start)
    return {"per_s": one, "per_s_two_processes": both}


def by_us(pairs: list[tuple[str, str]]) -> list[bool]:
    return [judge(gold, _boxed(answer), kind="math").solved for gold, answer in pairs]


def by_math_verify(pairs: list[tuple[str, str]]) -> list[bool]:
    from math_verify import parse, verify  # noqa: PLC0415

    return [
        verify(parse(_boxed(gold)), parse(_boxed(answer))) for gold, answer in pairs
    ]


def golds(path: Path) -> dict[str, float]:
    """Pairs per second by both, how many we leave open, where the two differ."""
    texts = [json.loads(line)["answer"] for line in path.read_text().splitlines()]
    pairs = []
    for gold, other in zip(texts, texts[1:] + texts[:1], strict=True):
        pairs += [
            (gold, gold),
            (gold, gold.replace("\\frac", "\\dfrac")),
            (gold, other),
        ]
    ours, our_speed = _timed(by_us, pairs)
    theirs, their_speed = _timed(by_math_verify, pairs)
    assert all(ours[::3]), "a gold does not answer itself"
    assert all(ours[1::3]), "a gold with \\dfrac does not answer itself"
    differ = [p for p, a, b in zip(pairs, ours, theirs, strict=True) if a != b]
    for gold, answer in differ:
        print(f"  differ: {gold!r} and {answer!r}")
    left = sum(isinstance(decide(a, _boxed(b), kind="math"), Open) for a, b in pairs)
    return {
        "pairs": len(pairs),
        "open": left,
        "differ": len(differ),
        "per_s": our_speed,
        "math_verify_per_s": their_speed,
        "ratio": our_speed / their_speed,
    }


def _timed(
    way: Callable[[list[tuple[str, str]]], list[bool]], pairs: list[tuple[str, str]]
) -> tuple[list[bool], float]:
    """What it finds and pairs per second, without imports and starts."""
    way([("\\cot x", "1/\\tan x")])
    start = time.perf_counter()
    found = way(pairs)
    return found, len(pairs) / (time.perf_counter() - start)


def attacked(count: int) -> dict[str, float]:
    found = hostile(count)
    before, start = peak_mib(), time.perf_counter()
    verdicts, longest = judged(found)
    seconds = time.perf_counter() - start
    attacks = [v for v, one in zip(verdicts, found, strict=True) if one.answer is None]
    statuses = Counter(verdict.status for verdict in attacks)
    return {
        "responses": len(found),
        "lost": len(lost(found, verdicts)),
        "solved": sum(verdict.solved for verdict in attacks),
        **{status: statuses[status] for status in STATUSES},
        "seconds": seconds,
        "longest_s": longest,
        "megabytes": sum(len(one.response) for one in found) / 1e6,
        "grown_mib": peak_mib() - before,
        "executed": MARK.exists(),
    }


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    parser = argparse.ArgumentParser(description="How fast answers are judged.")
    parser.add_argument("--golds", type=Path, default=GOLDS)
    parser.add_argument("--hostile", type=int, default=10_000)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    logging.disable(logging.CRITICAL)
    figures: dict[str, dict[str, float]] = {"integers": speeds()}
    if args.golds.exists():
        figures["golds"] = golds(args.golds)
    figures["hostile"] = attacked(args.hostile)
    for name, table in figures.items():
        print(name, ", ".join(f"{k} {v:,.10g}" for k, v in table.items()))
    if args.json:
        print(json.dumps(figures))
    bad = figures["hostile"]["lost"] or figures["hostile"]["executed"]
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
