"""How fast responses are judged, beside math-verify alone, and what hostile ones do.

    python -m tests.benchmarks.judging [--only NAME ...] [--hostile 10000] [--json]
        [--golds FILE.jsonl] [--instructions FILE.jsonl]

integers      responses of 2,000 characters with an integer in a box, right and wrong,
              by `answers.judge` in one process and in two at once: responses a second.
golds         every gold of FILE (MATH-500; JSONL with `answer`) as an answer to itself,
              with \\dfrac for \\frac too, and to the question before: by
              `answers.judge`, and the same by math-verify alone, in the same run,
              `verify(parse(gold), parse(answer))` with its defaults. Needs FILE.
programs      small programs with one test, by `Judges` with two workers in a sandbox.
instructions  one response to every prompt of FILE (IFEval), by the same. Needs FILE and
              the extra `instructions`.
hostile       `attacks.mixed` by the same: how many verdicts were lost or in another
              place, attacks that were solved, processes and files that were left,
              growth of memory beyond the responses, the largest process.

With `--json` the last line is an object of the figures. The exit status is 1 where a
verdict is wrong or something was left.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import logging
import resource
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from routejax.envs.answers import Open, decide, judge
from routejax.envs.benchmarks import read_questions
from routejax.envs.instructions import config_of
from routejax.envs.judging import Judges, Request, sandbox
from routejax.envs.problem import STATUSES
from tests.benchmarks import attacks

FILES = Path(__file__).parents[3] / "shared" / "data" / "benchmarks"
PROSE = "and so the reasoning above goes on with another step of the same kind. "
INTEGERS = 20_000
MEASURES = ("integers", "golds", "programs", "instructions", "hostile")


def _boxed(text: str) -> str:
    return f"\\boxed{{{text}}}"


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


def paced(requests: Sequence[Request]) -> float:
    """Requests a second by workers that have started; all must be solved or wrong."""
    with Judges(workers=2, timeout_s=60.0) as judges:
        judges.judge(requests[:8])
        start = time.perf_counter()
        verdicts = judges.judge(requests)
        seconds = time.perf_counter() - start
    assert {verdict.status for verdict in verdicts} <= {"answered", "error"}
    return len(requests) / seconds


def programs(count: int = 200) -> dict[str, float]:
    """Programs a second: their output compared, and the value of their function."""
    found = {}
    for name, printed in (("printed_per_s", True), ("called_per_s", False)):
        text = "def f(): return {0}\nprint({0})"
        found[name] = paced(
            [
                attacks.program(text.format(i), i, attacks.LONG, printed=printed)
                for i in range(count)
            ]
        )
    return found


def followed(path: Path) -> dict[str, float]:
    """Responses a second, of one instruction or some each."""
    questions = read_questions(path, "ifeval").questions
    requests = [
        Request("instructions", config_of(q.kind, q.prompt, q.meta), PROSE * 5, q.id)
        for q in questions
    ]
    return {"responses": len(requests), "per_s": paced(requests)}


def attacked(count: int) -> dict[str, Any]:
    """What became of hostile responses, and of this process and the machine."""
    found, token = attacks.mixed(count), uuid.uuid4().hex
    before, start = peak_mib(), time.perf_counter()
    with Judges(workers=2, timeout_s=60.0, environment={"TOKEN": token}) as judges:
        verdicts = judges.judge([one.request for one in found])
        started = judges.stats()["started"]
    seconds = time.perf_counter() - start
    told: dict[str, Any] = {"responses": len(found), "seconds": seconds}
    for name, of_programs in (("answers", False), ("programs", True)):
        own = [
            verdict
            for verdict, one in zip(verdicts, found, strict=True)
            if attacks.is_program(one) == of_programs and not one.wanted
        ]
        statuses = Counter(verdict.status for verdict in own)
        told[f"{name}_attacks"] = len(own)
        told[f"{name}_solved"] = sum(verdict.solved for verdict in own)
        told |= {f"{name}_{status}": statuses[status] for status in STATUSES}
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return told | {
        "lost": len(attacks.lost(found, verdicts)),
        "workers_started": started,
        "processes_left": left(token),
        "files_written": len(attacks.written()),
        "megabytes": sum(len(one.request.response) for one in found) / 1e6,
        "grown_mib": peak_mib() - before,
        "largest_process_mib": children.ru_maxrss / 1024,
    }


def left(token: str) -> int:
    """Processes that have the token in their environment when ten seconds are over."""
    until, found = time.monotonic() + 10, 1
    while found and time.monotonic() < until:
        found = 0
        for path in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):  # it has ended, or is another user's
                found += token.encode() in path.read_bytes()
        time.sleep(0.1)
    return found


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    parser = argparse.ArgumentParser(description="How fast responses are judged.")
    parser.add_argument("--only", nargs="+", default=MEASURES, choices=MEASURES)
    parser.add_argument("--golds", type=Path, default=FILES / "math500.jsonl")
    parser.add_argument("--instructions", type=Path, default=FILES / "ifeval.jsonl")
    parser.add_argument("--hostile", type=int, default=10_000)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    logging.disable(logging.CRITICAL)
    known = importlib.util.find_spec("if_verifiable") and args.instructions.exists()
    measures: dict[str, Callable[[], dict[str, Any]] | None] = {
        "integers": speeds,
        "golds": (lambda: golds(args.golds)) if args.golds.exists() else None,
        "programs": programs if sandbox.found() else None,
        "instructions": (lambda: followed(args.instructions)) if known else None,
        "hostile": (lambda: attacked(args.hostile)) if sandbox.found() else None,
    }
    figures = {}
    for name in args.only:
        if measure := measures[name]:
            figures[name] = measure()
            table = (f"{k} {v:,.10g}" for k, v in figures[name].items())
            print(name, ", ".join(table), flush=True)
        else:
            print(f"{name}: not measured; what it needs is missing")
    if args.json:
        print(json.dumps(figures))
    hostile = figures.get("hostile", {})
    bad = ("lost", "programs_solved", "processes_left", "files_written")
    return int(any(hostile.get(name) for name in bad))


if __name__ == "__main__":
    sys.exit(main())
