"""Collectives of a compiled program: kinds, how often, and bytes over the wires.

Read from the program's text, with loops multiplied by the trip counts the compiler
found. Bytes are what one device sends, with the usual ring algorithms over n devices:

    all-gather, reduce-scatter, all-to-all    size · (n − 1)/n
    all-reduce                            2 · size · (n − 1)/n
    collective-permute                        size

`size` is that of the whole array of the group: the result of an all-gather, the operand
of a reduce-scatter. The CPU compiler that plans are made with has no pass that makes a
reduce-scatter of an all-reduce whose result is cut, so accelerators send less.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

KINDS = (
    "all-gather",
    "all-reduce",
    "reduce-scatter",
    "all-to-all",
    "collective-permute",
)

_BYTES = {"pred": 1, "bf16": 2, "f16": 2, "s32": 4, "u32": 4, "f32": 4}
_BYTES |= {"s8": 1, "u8": 1, "s16": 2, "u16": 2, "s64": 8, "u64": 8, "f64": 8}

_HEADER = re.compile(r"^(ENTRY )?%?([\w.\-]+) \(.*\) -> .* \{$")
_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%[\w.\-]+ = (.*?) ([\w\-]+)\((.*)$")
_CALLED = re.compile(r"(?:calls|to_apply|body|condition)=%?([\w.\-]+)")
_BRANCHES = re.compile(r"branch_computations=\{([^}]*)\}")
_TRIPS = re.compile(r'known_trip_count":\{"n":"(\d+)"')
_SHAPE = re.compile(r"\b([a-z]+\d*)\[([\d,]*)\]")
_LISTED = re.compile(r"replica_groups=\{\{([\d,]*)\}")
_TILED = re.compile(r"replica_groups=\[\d+,(\d+)\]")
_NAMED = re.compile(r"replica_groups=mesh\[([^\]]*)\][^{]*\{([^}]*)\}")
_AXIS = re.compile(r"'(\w+)'=(\d+)")
_USED = re.compile(r"'(\w+)'(?::\(\d+\)(\d+))?")


class Collective(NamedTuple):
    """All collectives of a kind in one call of the program."""

    count: float
    sent_bytes: float  # by one device


class _Step(NamedTuple):
    """An instruction that matters: a collective, or a call of other computations."""

    kind: str
    sent: float
    calls: tuple[str, ...]
    times: int


def collectives(text: str) -> dict[str, Collective]:
    """By kind; a loop whose trip count is not known counts once."""
    bodies, entry = _bodies(text)
    counts: dict[str, float] = defaultdict(float)
    sent: dict[str, float] = defaultdict(float)

    def visit(name: str, times: float) -> None:
        for step in bodies.get(name, ()):
            if step.kind:
                counts[step.kind] += times
                sent[step.kind] += times * step.sent
            for called in step.calls:
                visit(called, times * step.times)

    visit(entry, 1.0)
    return {k: Collective(counts[k], sent[k]) for k in KINDS if counts[k]}


def unknown_loops(text: str) -> int:
    """Loops of the program whose trip count the compiler did not find."""
    loops = [line for line in text.splitlines() if " while(" in line]
    return sum(_TRIPS.search(line) is None for line in loops)


def _bodies(text: str) -> tuple[dict[str, list[_Step]], str]:
    bodies: dict[str, list[_Step]] = {}
    entry = here = ""
    for line in text.splitlines():
        header = _HEADER.match(line)
        if header:
            here = header[2]
            bodies[here] = []
            entry = here if header[1] else entry
        elif here and (found := _INSTRUCTION.match(line)):
            bodies[here] += _steps(*found.groups())
    return bodies, entry


def _steps(shape: str, operation: str, rest: str) -> Iterator[_Step]:
    kind = operation.removesuffix("-start")
    if kind in KINDS:
        yield _Step(kind, _sent(kind, shape, operation, rest), (), 1)
        return
    calls = [*_CALLED.findall(rest)]
    for names in _BRANCHES.findall(rest):
        calls += [name.strip().lstrip("%") for name in names.split(",")]
    if calls and operation in ("while", "fusion", "call", "conditional"):
        trips = _TRIPS.search(rest)
        yield _Step("", 0.0, tuple(calls), int(trips[1]) if trips else 1)


def _sent(kind: str, shape: str, operation: str, rest: str) -> float:
    group = _group(rest)
    sizes = [_size(*found) for found in _SHAPE.findall(shape)]
    # An asynchronous start returns its operands beside its results.
    whole = sizes[-1] if operation.endswith("-start") else sum(sizes)
    if kind == "collective-permute":
        return whole
    if kind == "reduce-scatter":
        whole *= group
    return whole * (2 if kind == "all-reduce" else 1) * (group - 1) / group


def _size(kind: str, axes: str) -> int:
    return _BYTES.get(kind, 4) * math.prod(int(n) for n in axes.split(",") if n)


def _group(rest: str) -> int:
    """Devices that take part together; the compiler writes groups in three ways."""
    if tiled := _TILED.search(rest):
        return int(tiled[1])
    if named := _NAMED.search(rest):
        sizes = dict(_AXIS.findall(named[1]))
        used = _USED.findall(named[2])
        return math.prod(int(part or sizes[axis]) for axis, part in used)
    listed = _LISTED.search(rest)
    return len(listed[1].split(",")) if listed else 1
