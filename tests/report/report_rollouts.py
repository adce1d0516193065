"""Samples for the tests, and the index of the files they would come from."""

import pyarrow as pa

from routejax.report import rollouts_view
from routejax.report.rollouts_view import Sample


def a_sample(**changes):
    known = {
        "run": "diverse, seed 0",
        "step": 1,
        "problem": "p0",
        "env": "sort",
        "difficulty": 2,
        "sample": 0,
        "prompt": "Sort: 2 1",
        "response": "1 2",
        "response_ids": [7, 8, 3],
        "pieces": ["1", " 2", ""],
        "logps": [-0.5, -1.0, 0.0],
        "reward": 1.0,
        "solved": True,
        "answer": "1 2",
        "status": "answered",
        "expected": "1 2",
        "group": "mixed",
        "advantage": 1.5,
        "trained": True,
        "finish": "stop",
        "tokens": 3,
    }
    return Sample(**(known | changes))


def a_wrong(**changes):
    known = {"sample": 1, "reward": 0.0, "solved": False, "answer": "2 1"}
    return a_sample(**(known | {"advantage": -0.5, "tokens": 9} | changes))


def a_run(steps=(1, 2), problems=3, run="diverse, seed 0"):
    """Two samples of each problem in each step: outcomes fail, mixed, right, fail …"""
    made = []
    for step in steps:
        for number in range(problems):
            group = ("all_fail", "mixed", "all_correct")[number % 3]
            right = {"all_fail": (), "mixed": (0,), "all_correct": (0, 1)}[group]
            made += [
                (a_sample if i in right else a_wrong)(
                    run=run, step=step, problem=f"p{number}", sample=i, group=group
                )
                for i in (0, 1)
            ]
    return made


def an_index(samples):
    """The index of files that hold these samples."""
    parts: dict = {}
    for sample in samples:
        parts.setdefault((sample.run, sample.step), []).append(sample)
    return rollouts_view.index(
        (run, pa.Table.from_pylist([columns(sample) for sample in found]))
        for (run, _), found in parts.items()
    )


def columns(sample):
    return {name: getattr(sample, name) for name in rollouts_view.COLUMNS}
