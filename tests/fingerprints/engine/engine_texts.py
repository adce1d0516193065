"""Odd texts for both engines, and the kernels' reading of a text step by step.

Only this file knows how the inner kernels are called.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from routejax.fingerprints import (
    marks_corpus,
    marks_rlve,
    rules_corpus,
    rules_rlve,
)
from routejax.fingerprints.label import Grammar, read
from routejax.fingerprints.lexicon import words
from routejax.fingerprints.segment import segment

TABLES = (rules_corpus.RULES, rules_rlve.RULES, marks_corpus.MARKS, marks_rlve.MARKS)
CUES = sorted(
    {cue for rows in TABLES for row in rows for cue in (*row.cues, *row.opening)}
)
OPENERS = sorted(rules_corpus.OPENERS | rules_rlve.OPENERS)

# What comes between: ends of sentences, pauses, kinds of white space, list marks.
ENDS = [
    ". ",
    "? ",
    "! ",
    ".\n",
    ".\n\n",
    "... ",
    "\u2026 ",
    '." ',
    ".) ",
    ".** ",
    "?!\n",
]
PAUSES = [", ", "; ", ": ", " \u2014 ", " - ", "-", ",\n", ":\n\n", ",", " \u2013 "]
WHITE = [" ", "  ", "\n", "\n\n", "\n \n", "\r\n", "\r\n\r\n", "\r", "\t", "\x0b"]
WHITE += ["\x1c", "\x85", "\xa0", "\u1680", "\u2003", "\u2028", "\u2029", "\u202f"]
WHITE += ["\u205f", "\u3000", "\x1f", "\r\r\n", "\n\t\n"]
LISTS = [
    "1. ",
    "\n2. ",
    "\n12) ",
    "\n- ",
    "\n* ",
    "\n\u2022 ",
    "\na) ",
    "\n(b) ",
    "b. ",
]
LISTS += ["\n# ", "\n## ", "\nStep 1. ", "Case 2: ", "\n**3.** ", "I. ", "i.\n\n", "> "]
ABBREVIATED = [
    "e.g. ",
    "i.e. 3",
    "Dr. No",
    "vs. ",
    "Eq. (3) ",
    "eq. \\",
    "U.S. ",
    "x, y. ",
]
ABBREVIATED += ["No. 4", "fig. 2", "approx. ", "APPROX. A", "sec. $x$", "p. 3", "al. A"]
NUMBERS = [
    "3",
    "3.5",
    "-1",
    "2 + 2 = 4",
    "1, 2, 3, 4",
    "1 2 3",
    "A B C",
    "(1,2), (3,4)",
]
NUMBERS += [
    "5! = 120",
    "x_1",
    "3 < 4",
    "2 \u2264 3",
    "7 \u00d7 8",
    "\\frac{1}{2}",
    "a, b, c and d",
]
NUMBERS += ["0.1.2", "3\\leq 4", "3 \\le4", "->", "\u2192", "=> 3", "\\to x", "\\too"]
ODD = [
    "\u2018",
    "\u2019",
    "\u201c",
    "\u201d",
    "\u02bc",
    "\uff07",
    "\uff02",
    "\u3002",
    "\uff01",
]
ODD += [
    "\uff1f",
    "\u3002\uff01 ",
    "it's2",
    "rock'n'roll",
    "'tis",
    "don't'",
    "\x00",
    "\U0001f600",
]
ODD += [
    "\u212a",
    "\u0130",
    "\u017f",
    "\u00e9",
    "\u6570",
    "\ufeff",
    "x" * 70,
    "y" * 300,
    "_",
    "`",
]
ODD += [
    "\u2010",
    "\u20ac",
    "\u1681",
    "\u3001",
    "\uff03",
    "\u02bb",
    "\xc2",
    "\u2030",
    "\u2060",
]
ODD += [
    "*",
    "**",
    "__",
    "~",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    '"',
    "'",
    "\\",
    "/",
    "<",
    ">",
]
CLOSED = ["```\nx = 1.\n\nSo y. Z\n```", "$$a. B\n\nC$$", "\\[ x. So\n\n\\]", "````"]
CLOSED += ["\\begin{align}A. B\n\nC\\end{align}", "<tool_call>A. B</tool_call>", "$x$ "]
CLOSED += ["\\\\[2pt]", "\\```", "\\begin{foo}", "<tool>", "\\begin{cases*}"]
MARKS = ["```", "$$", "\\[", "\\]", "\\begin{array}", "\\end{array}", "<tool_call>"]
MARKS += ["</tool_call>", "\\begin{align*}", "\\end{align}", "``````", "$$$"]
PLAIN = [
    "the sum of it",
    "We take one",
    "And then x",
    "it is",
    "Now",
    "a",
    "Foo bar baz",
]

BETWEEN = (ENDS, PAUSES, WHITE, LISTS, ABBREVIATED, NUMBERS, ODD, CLOSED, MARKS)

# What a made sentence consists of, by weight; a mark left open is rare.
WEIGHTED = (
    *((9, CUES), (3, OPENERS), (4, PLAIN), (2, NUMBERS), (1, ABBREVIATED), (1, ODD)),
    *((1, PAUSES), (1, WHITE)),
)
KINDS = [pieces for weight, pieces in WEIGHTED for _ in range(weight)]


def _cased(phrase: str) -> list[str]:
    opened = phrase[:1].upper() + phrase[1:]
    return [opened, opened, phrase, phrase.upper(), opened.replace(" ", ", ")]


_PIECES = st.one_of(
    st.sampled_from(CUES + OPENERS).flatmap(lambda c: st.sampled_from(_cased(c))),
    st.sampled_from(PLAIN + NUMBERS + ABBREVIATED),
    st.sampled_from(ENDS + PAUSES),
    st.sampled_from(ENDS + LISTS + WHITE),
    st.sampled_from(ODD + CLOSED + MARKS),
)
TEXTS = st.one_of(
    st.integers(0, 1 << 30).map(lambda seed: made(seed, 2)[1]),
    st.lists(_PIECES, max_size=40).map("".join),
    st.lists(_PIECES, max_size=25).map(" ".join),
    st.text(
        st.sampled_from(" \n.,:-!?'\"`*_)]$\\[aAsSoO1\u3002\u2026\u2014\x00"),
        max_size=40,
    ),
)


def made(seed: int, count: int, sentences: int = 30) -> list[str]:
    """Random texts of up to so many sentences; every fifth leaves a stretch open."""
    rng = np.random.default_rng(seed)

    def one_of(pieces: list[str]) -> str:
        return pieces[rng.integers(len(pieces))]

    def sentence() -> str:
        words = [one_of(KINDS[k]) for k in rng.integers(len(KINDS), size=4)]
        said = one_of([" ", " ", ", "]).join(words[: rng.integers(1, 5)])
        said = one_of(_cased(said)) if rng.random() < 0.8 else said
        before = one_of(LISTS) if rng.random() < 0.1 else ""
        behind = one_of(CLOSED) if rng.random() < 0.03 else ""
        return before + said + behind + one_of(ENDS if rng.random() < 0.9 else WHITE)

    texts = []
    for i in range(count):
        parts = [sentence() for _ in range(rng.integers(sentences + 1))]
        if i % 5 == 0:
            parts.insert(len(parts) // 2, one_of(MARKS))
        texts.append("".join(parts))
    return texts


def batch(
    reasonings: Sequence[str],
    prompts: Sequence[str] | None = None,
    answers: Sequence[str] | None = None,
    kind: pa.DataType | None = None,
) -> pa.RecordBatch:
    """A batch of conversations; texts that are not given are the reasonings turned."""
    turned = list(reversed(reasonings))
    columns = {"prompt": prompts or turned, "reasoning": reasonings}
    columns["answer"] = answers or turned[1:] + turned[:1]
    kind = kind or pa.string()
    return pa.record_batch({name: pa.array(c, kind) for name, c in columns.items()})


class Read(NamedTuple):
    """A step as read: its text, the rank of its rule, its marks, its words, those that
    white space parts, and the first step of the row that says the same."""

    text: str
    rank: int
    marks: frozenset[str]
    said: tuple[str, ...]
    count: int
    first: int


def by_reference(text: str, by: Grammar) -> list[Read]:
    """The reading that the reference gives."""
    notes = read(segment(text), by)
    first: dict[tuple[str, ...], int] = {}
    ranks = {id(rule): rank for rank, rule in enumerate(by.rules)}
    return [
        Read(
            note.text,
            ranks[id(note.rule)],
            note.marks,
            note.words,
            len(note.text.split()),
            first.setdefault(note.words, i),
        )
        for i, note in enumerate(notes)
    ]


class Kernels:
    """The kernels that read a text, for one grammar."""

    def __init__(self, by: Grammar, marks: Sequence[str]):
        from routejax.fingerprints import engine  # noqa: F401, PLC0415
        from routejax.fingerprints.engine import tables  # noqa: PLC0415

        self.marks = tuple(marks)
        self.machines, self.tables = tables.compile_grammar(by, self.marks)

    def read(self, texts: Sequence[str]) -> list[list[Read]]:
        """The reading of each text, all of them scanned at once."""
        from routejax.fingerprints.engine import notes, scan  # noqa: PLC0415

        text, bounds = self._plain(texts)
        events, counts = np.empty(len(text), np.uint64), np.empty(len(texts), np.int64)
        scan.scan(text, bounds, len(texts), self.machines, events, counts)
        most = int(counts.max(initial=1))
        steps, stretches = notes.room(most)
        rows = []
        for begin, after in pairwise(bounds):
            n = notes.read_row(
                *(text, begin, after - 1, events, begin, self.tables),
                *(self.machines.first_cue, steps, stretches),
            )
            rows.append(self._steps(text, steps, n))
        return rows

    def _plain(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """The texts made plain, each with a NUL behind it, and where each begins."""
        from routejax.fingerprints.engine import texts as plain  # noqa: PLC0415

        parts = [text.encode() for text in texts]
        data = np.array([*b"".join(parts), 0], np.uint8)
        out = np.empty(len(data) + len(parts) + 64, np.uint8)
        counts = np.empty(plain.COUNTS, np.int64)
        starts = np.cumsum([0, *map(len, parts)])
        bounds = np.zeros(len(parts) + 1, np.int64)
        for i in range(len(parts)):
            end = plain.plain_text(
                data, starts[i], starts[i + 1], out, bounds[i], counts
            )
            out[end] = 0
            bounds[i + 1] = end + 1
        return out, bounds

    def _steps(self, text: np.ndarray, steps: NamedTuple, n: int) -> list[Read]:
        from routejax.fingerprints.engine import said  # noqa: PLC0415

        group, before = np.empty((2, n), np.int32)
        said.number(text, steps, n, np.empty(4 * n + 2, np.int32), group, before)
        firsts: dict[int, int] = {}
        rows = []
        for i in range(n):
            a, b, s = (int(x[i]) for x in (steps.begin, steps.end, steps.said))
            bits = int(steps.marks[i])
            first = firsts.setdefault(int(group[i]), i)
            assert (before[i] < 0) == (first == i)
            rows.append(
                Read(
                    text[a:b].tobytes().decode(),
                    int(steps.rank[i]),
                    frozenset(m for k, m in enumerate(self.marks) if bits >> k & 1),
                    tuple(words("\u00a7" + text[s:b].tobytes().decode())),
                    int(steps.words[i]),
                    first,
                )
            )
        return rows
