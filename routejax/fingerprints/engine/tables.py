"""A grammar compiled into arrays that the kernels read.

One cue may serve several rules and marks; `hits` lists, per reporting state of the cue
automaton, what its phrases fire. Phrases of one word that need no look at their place
are folded into one rank and one set of marks per state.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int16, Int32, Int64, UInt8, UInt16, UInt64

from routejax.fingerprints.engine.automaton import (
    Machine,
    border_machine,
    byte_classes,
    cue_machine,
)
from routejax.fingerprints.engine.content import NAMES
from routejax.fingerprints.engine.signs import pack
from routejax.fingerprints.label import CONTENT, Grammar
from routejax.fingerprints.lexicon import words

MAX_MARKS = 62


class Machines(NamedTuple):
    """Both automata (`automaton`) as `scan` walks them."""

    classes: UInt8[np.ndarray, "256"]
    cues: UInt16[np.ndarray, "cue_entries"]
    first_cue: np.uint64
    borders: UInt16[np.ndarray, "border_entries"]
    first_border: np.uint64


class Tables(NamedTuple):
    """What `notes` asks of a grammar.

    Per border state its kind; per reporting cue state the best rank and the marks of
    plain words, and the hits that must be looked at: hit_at[k]:hit_at[k + 1] of
    `hit_rank` (the rank of a rule, or -1 - the bit of a mark), `hit_opens`, and
    hit_words[k]:hit_words[k + 1] of `word_lengths`, last word first.
    """

    border_kind: Int64[np.ndarray, "border_states"]
    plain_rank: Int16[np.ndarray, "reports"]
    plain_marks: UInt64[np.ndarray, "reports"]
    hit_at: Int32[np.ndarray, "reports+1"]
    hit_rank: Int16[np.ndarray, "hits"]
    hit_opens: Bool[np.ndarray, "hits"]
    hit_words: Int32[np.ndarray, "hits+1"]
    word_lengths: Int32[np.ndarray, "words"]
    openers: UInt64[np.ndarray, "openers"]
    content_rank: Int16[np.ndarray, "tests"]
    content_test: Int64[np.ndarray, "tests"]
    marked_bit: Int64[np.ndarray, "marked"]
    marked_test: Int64[np.ndarray, "marked"]
    kind_of_rank: Int16[np.ndarray, "rules"]


class _Phrase(NamedTuple):
    said: tuple[str, ...]
    fires: list[tuple[int, bool]]  # rank or -1 - bit, and whether it opens


def compile_grammar(by: Grammar, marks: tuple[str, ...]) -> tuple[Machines, Tables]:
    """The automata and tables of a grammar; bit k of a step's marks is `marks[k]`."""
    assert len(marks) <= MAX_MARKS, f"{len(marks)} marks do not fit {MAX_MARKS} bits"
    bit = {name: k for k, name in enumerate(marks)}
    found = _phrases(by, bit)
    cues = cue_machine([" ".join(phrase.said) for phrase in found])
    borders = border_machine()
    machines = Machines(
        byte_classes(),
        cues.table,
        np.uint64(cues.first),
        borders.table,
        np.uint64(borders.first),
    )
    kinds = {kind: i for i, kind in enumerate(by.vocabulary)}
    tests = {id(CONTENT[name]): k for k, name in enumerate(NAMES)}
    return machines, Tables(
        np.array([0] * borders.first + list(borders.reports), np.int64),
        *_hits(cues, found, len(by.rules)),
        openers=np.array(sorted(pack(word) for word in by.cues.openers), np.uint64),
        content_rank=np.array([rank for rank, _ in by.content], np.int16),
        content_test=np.array([tests[id(t)] for _, t in by.content], np.int64),
        marked_bit=np.array([bit[name] for name, _ in by.tested], np.int64),
        marked_test=np.array([tests[id(t)] for _, t in by.tested], np.int64),
        kind_of_rank=np.array([kinds[rule.type] for rule in by.rules], np.int16),
    )


def _phrases(by: Grammar, bit: dict[str, int]) -> list[_Phrase]:
    """Every phrase of the grammar's lexicon once, with all that it fires."""
    found: list[_Phrase] = []
    todo = [((), by.cues.tree)]
    while todo:
        said, node = todo.pop()
        fires = [
            (tag if isinstance(tag, int) else -1 - bit[tag], opens)
            for tag, opens in node.get("", ())
        ]
        if fires:
            _check_plain(said)
            found.append(_Phrase(said, fires))
        todo += [((*said, w), child) for w, child in node.items() if w]
    return found


def _check_plain(said: tuple[str, ...]) -> None:
    """A one-word cue must not be able to be the mark of a list item ("1.", "b)")."""
    assert all(words(word) == [word] for word in said)
    short = len(said) == 1 and (len(said[0]) == 1 or said[0].isdigit())
    assert not short, f"cue {said[0]!r} may be the mark of a list item"


def _hits(cues: Machine, found: list[_Phrase], rules: int) -> tuple[np.ndarray, ...]:
    rank, marks, at = [], [], [0]
    hit_rank, opens, hit_words, lengths = [], [], [0], []
    for report in cues.reports:
        best, bits = rules, 0
        for number in report:  # type: ignore[attr-defined]
            said, fires = found[number]
            for fired, opening in fires:
                if len(said) > 1 or opening:
                    hit_rank.append(fired)
                    opens.append(opening)
                    lengths += [len(word) for word in reversed(said)]
                    hit_words.append(len(lengths))
                elif fired >= 0:
                    best = min(best, fired)
                else:
                    bits |= 1 << (-1 - fired)
        rank.append(best)
        marks.append(bits)
        at.append(len(hit_rank))
    return (
        np.array(rank, np.int16),
        np.array(marks, np.uint64),
        np.array(at, np.int32),
        np.array(hit_rank, np.int16),
        np.array(opens, np.bool_),
        np.array(hit_words, np.int32),
        np.array(lengths, np.int32),
    )
