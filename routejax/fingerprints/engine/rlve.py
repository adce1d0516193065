"""Rows to fingerprints of the family `rlve`, on arrays, by groups as in `corpus`.

plain → events → steps → tree → blocks
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Int8, Int32, Int64, UInt8, UInt64

from routejax.fingerprints import rlve as family
from routejax.fingerprints.engine import (
    blocks,
    corpus_patterns,
    notes,
    rlve_continuous,
    rlve_paths,
    rlve_patterns,
    said,
    scan,
    sha256,
    shape,
    tables,
    texts,
    walk,
)
from routejax.fingerprints.engine.kernel import allocating, kernel
from routejax.fingerprints.engine.rlve_types import MARK_NAMES, T
from routejax.fingerprints.engine.walk import ones
from routejax.fingerprints.rules_rlve import ROLES, VOCABULARY

GROUP = 1 << 20  # bytes of reasoning in a group; a longer row is a group of its own
_continues = blocks.mask_of(range(0x80, 0xC0))  # bytes that begin no character


class Rules(NamedTuple):
    """Everything of the family that does not depend on a row."""

    machines: tables.Machines
    tables: tables.Tables
    roles: Int8[np.ndarray, "18"]


def rules() -> Rules:
    """The family's tables, compiled in about a second."""
    machines, compiled = tables.compile_grammar(family.GRAMMAR, MARK_NAMES)
    return Rules(machines, compiled, walk.roles(ROLES, VOCABULARY))


class Room(NamedTuple):
    """Arrays that every row uses again, long enough for the longest."""

    text: UInt8[np.ndarray, "bytes"]
    bounds: Int64[np.ndarray, "rows+1"]
    counts: Int64[np.ndarray, "counts"]
    events: UInt64[np.ndarray, "bytes"]
    steps: notes.Steps
    stretches: notes.Stretches
    nodes: walk.Nodes
    paths: rlve_paths.Paths
    facts: corpus_patterns.Facts
    sums: rlve_continuous.Room
    group: Int32[np.ndarray, "steps"]
    before: Int32[np.ndarray, "steps"]
    table: Int32[np.ndarray, "slots"]


def room(size: int, rows: int, n: int) -> Room:
    """Room for groups of `rows` rows that take `size` bytes with their ends and a block
    more, for rows of at most `n` events."""
    steps, stretches = notes.room(n)
    return Room(
        np.empty(size, np.uint8),
        np.empty(rows + 1, np.int64),
        np.empty(texts.COUNTS, np.int64),
        np.empty(size, np.uint64),
        steps,
        stretches,
        walk.room(n, T),
        rlve_paths.room(n, VOCABULARY),
        corpus_patterns.room(n),
        rlve_continuous.room(),
        np.empty(n, np.int32),
        np.empty(n, np.int32),
        np.empty(4 * n, np.int32),
    )


@allocating
def group(reasonings, first, last, r, m, out):
    """Writes the features of rows first..last-1 to `out`, which holds zeros.

    The texts are (bytes, offsets). Returns 0, or without having written anything how
    many events a row needs room for.
    """
    rows = last - first
    data, offsets = reasonings
    at = np.int64(0)
    m.bounds[0] = 0
    for k in range(rows):
        begin, end = offsets[first + k], offsets[first + k + 1]
        at = texts.plain_text(data, begin, end, m.text, at, m.counts)
        m.text[at] = 0
        at += 1
        m.bounds[k + 1] = at
    counts = np.empty(rows, np.int64)
    scan.scan(m.text, m.bounds, rows, r.machines, m.events, counts)
    most = np.int64(0)
    for k in range(rows):
        most = max(most, counts[k])
    if most > m.group.size:
        return most
    for k in range(rows):
        begin, end = m.bounds[k], m.bounds[k + 1] - 1
        n = notes.read_row(
            m.text,
            begin,
            end,
            m.events,
            begin,
            r.tables,
            r.machines.first_cue,
            m.steps,
            m.stretches,
        )
        if n > 0:
            row(n, begin, end, r, m, out[first + k])
    return 0


@kernel
def row(n, begin, end, r, m, out):
    """Writes the blocks of the row text[begin:end] of n steps; n > 0."""
    steps, nodes, paths = m.steps, m.nodes, m.paths
    cursor = walk.grow(steps.kind, n, r.roles, nodes)
    walk.measure(n, nodes)
    said.number(m.text, steps, n, m.table, m.group, m.before)
    corpus_patterns.gather(steps.marks, n, m.facts)
    characters = _characters(m.text, begin, end, steps, n)
    verified = rlve_continuous.continuous(
        steps, n, nodes, characters, m.facts.count, m.sums, out[:159]
    )
    rlve_paths.path_hashes(nodes.step, n, nodes, paths)
    sha256.finish_all(paths.digests, paths.lanes, nodes.sums[walk.LEAVES])
    shape.topology(n, nodes, cursor, paths, out[159:1309])
    rlve_patterns.patterns(
        m.text, steps, n, nodes, m.facts, verified, m.group, m.before, out[1309:1373]
    )


@kernel
def _characters(text, begin, end, steps, n):
    """Characters of all steps; between steps lie ASCII characters only."""
    count = np.int64(0)
    for i in range(n):
        count += steps.end[i] - steps.begin[i]
    for at in range(begin, end, blocks.WIDTH):
        count -= ones(_continues(text, at) & blocks.below(end - at))
    return count
