"""Rows to fingerprints of the families `corpus` and `dolci`, on arrays, by groups.

    plain and counted → events → steps → tree → blocks

A group is as many rows as fit a cache; its arrays are made once and used again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Int8, Int32, Int64, UInt8, UInt64

from routejax.fingerprints import corpus as family
from routejax.fingerprints.engine import (
    corpus_continuous,
    corpus_dense,
    corpus_hash,
    corpus_patterns,
    notes,
    said,
    scan,
    sha256,
    shape,
    tables,
    texts,
    walk,
)
from routejax.fingerprints.engine.kernel import allocating, kernel
from routejax.fingerprints.marks_corpus import MARKS
from routejax.fingerprints.rules_corpus import LETTERS, ROLES, VOCABULARY

GROUP = 1 << 20  # bytes of reasoning in a group; a longer row is a group of its own


class Rules(NamedTuple):
    """Everything of the family that does not depend on a row."""

    machines: tables.Machines
    tables: tables.Tables
    roles: Int8[np.ndarray, "10"]
    behaves: corpus_continuous.Behaves
    markers: Int64[np.ndarray, "2"]
    places: corpus_hash.Places
    asked: Int64[np.ndarray, "asked"]


def rules() -> Rules:
    """The family's tables, compiled in about a second."""
    marks = tuple(mark.name for mark in MARKS)
    machines, compiled = tables.compile_grammar(family.GRAMMAR, marks)
    return Rules(
        machines,
        compiled,
        walk.roles(ROLES, VOCABULARY),
        corpus_continuous.behaves(marks),
        corpus_dense.markers(marks),
        corpus_hash.places(),
        corpus_patterns.asked(marks),
    )


class Room(NamedTuple):
    """Arrays that every row uses again, long enough for the longest."""

    text: UInt8[np.ndarray, "bytes"]
    bounds: Int64[np.ndarray, "rows+1"]
    counts: Int64[np.ndarray, "rows 3 counts"]
    events: UInt64[np.ndarray, "bytes"]
    steps: notes.Steps
    stretches: notes.Stretches
    nodes: walk.Nodes
    hashes: shape.Hashes
    facts: corpus_patterns.Facts
    group: Int32[np.ndarray, "steps"]
    before: Int32[np.ndarray, "steps"]
    table: Int32[np.ndarray, "slots"]
    tally: Int64[np.ndarray, "1024"]


def room(size: int, rows: int, n: int) -> Room:
    """Room for groups of `rows` rows that take `size` bytes with their ends and a block
    more, for rows of at most `n` events, and for prompts and answers of that size."""
    letters = "".join(LETTERS[kind] for kind in VOCABULARY)
    steps, stretches = notes.room(n)
    return Room(
        np.empty(size, np.uint8),
        np.empty(rows + 1, np.int64),
        np.empty((rows, 3, texts.COUNTS), np.int64),
        np.empty(size, np.uint64),
        steps,
        stretches,
        walk.room(n),
        shape.room(n, letters, "path/"),
        corpus_patterns.room(n),
        np.empty(n, np.int32),
        np.empty(n, np.int32),
        np.empty(4 * n, np.int32),
        np.empty(1024, np.int64),
    )


@allocating
def group(prompts, reasonings, answers, first, last, r, m, out):
    """Writes the features of rows first..last-1 to `out`, which holds zeros.

    Each of the three texts is (bytes, offsets). `out` has 631 or 1,738 columns.
    Returns 0, or without having written anything how many events a row needs room for.
    """
    rows = last - first
    full = out.shape[1] > 631
    at = np.int64(0)
    m.bounds[0] = 0
    if full:
        for k in range(rows):
            for which in range(2):
                data, offsets = prompts if which == 0 else answers
                texts.plain_text(
                    data,
                    offsets[first + k],
                    offsets[first + k + 1],
                    m.text,
                    0,
                    m.counts[k, 2 * which],
                )
    for k in range(rows):
        data, offsets = reasonings
        at = texts.plain_text(
            data,
            offsets[first + k],
            offsets[first + k + 1],
            m.text,
            at,
            m.counts[k, 1],
        )
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
            _row(n, k, r, m, out[first + k], full)
    return 0


@kernel
def _row(n, k, r, m, out, full):
    """The blocks of one row of n steps."""
    steps, nodes, hashes = m.steps, m.nodes, m.hashes
    cursor = walk.grow(steps.kind, n, r.roles, nodes)
    walk.measure(n, nodes)
    said.number(m.text, steps, n, m.table, m.group, m.before)
    corpus_continuous.continuous(
        steps, n, nodes, r.behaves, steps.words, m.tally, out[:137]
    )
    shape.path_hashes(steps.kind, n, nodes, hashes)
    labels = nodes.sums[walk.LEAVES]
    if full:
        labels = corpus_hash.attempts(steps.kind, n, r.places.event, hashes, labels)
    sha256.finish_all(hashes.digests, hashes.lanes, labels)
    shape.topology(n, nodes, cursor, hashes, out[137:567])
    corpus_patterns.patterns(
        m.text, steps, n, nodes, m.facts, r.asked, m.group, m.before, out[567:631]
    )
    if full:
        corpus_dense.dense(
            n, nodes, m.counts[k], m.facts, r.markers, m.tally, out[631:714]
        )
        corpus_hash.route_hash(
            steps.kind, n, nodes, r.places, hashes, labels, out[714:1738]
        )
