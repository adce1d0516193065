"""Two byte automata that find, in one walk, everything a trace is cut and read by.

    cues        words of a lexicon's phrases, whatever lies between them (`lexicon`)
    borders     places where a step may end or a protected stretch may begin or end

Both read the same 64 byte classes. The cue automaton is Aho-Corasick over letters and
one separator sign: runs of bytes that belong to no word count as one separator, so a
phrase fires however it is spaced, and a word that merely begins like a cue does not.
An apostrophe is held back until the next byte tells whether it joins a word ("don't").

States that report something stand last in a table, so that one comparison per byte
tells them.

Left out: the walk itself (`scan`), and what a report means (`cuts`, `notes`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import UInt8, UInt16

from routejax.fingerprints.lexicon import words

CLASSES = 64
LETTERS = "abcdefghijklmnopqrstuvwxyz"
DIGITS = "0123456789"

# What a border state reports, at the byte that completes it.
SENTENCE, NEWLINE, MARKER, WIDE_STOP, STRETCH, END = range(1, 7)

_STOPS = b".!?"
_PAUSES = b",;:-"
_CLOSERS = b"\"')}*_`]"
_ELLIPSIS, _EM, _EN = "…".encode(), "—".encode(), "–".encode()
_WIDE = tuple(sign.encode() for sign in "。！？")
_SPECIAL = sorted(set(b"".join((_ELLIPSIS, _EM, _EN, *_WIDE))))
# Letters that a discourse marker of `segment` can begin with.
MARKER_LETTERS = frozenset("wbonhatlms")


def byte_classes() -> UInt8[np.ndarray, "256"]:
    """Class of each byte; the case of a letter does not matter."""
    groups: list[bytes] = [
        *((letter + letter.upper()).encode() for letter in LETTERS),
        *(digit.encode() for digit in DIGITS),
        *(b"'", b" ", b"\n", _STOPS, b",;:-", b'")}*_', b"]", b"[", b"\\", b"$"),
        *(b"<", b"/", b"`", b"\x00"),
        *(bytes([byte]) for byte in _SPECIAL),
    ]
    table = np.full(256, len(groups), np.uint8)  # every other ASCII sign
    table[128:] = len(groups) + 1  # every other byte of a non-ASCII character
    for number, group in enumerate(groups):
        table[list(group)] = number
    assert len(groups) + 2 <= CLASSES, "byte classes must fit 64"
    return table


class Machine(NamedTuple):
    """A table of transitions; a state from `first` on reports `reports[state - first]`.

    `table` holds the next state at [64 x state + class]; state 0 is the start.
    """

    table: UInt16[np.ndarray, "entries"]
    first: int
    reports: tuple[Hashable, ...]


def machine(
    start: Hashable,
    step: Callable[[Hashable, int], Hashable],
    report: Callable[[Hashable], Hashable | None],
) -> Machine:
    """Every state reachable from `start`, numbered, the reporting ones last."""
    moves: dict[Hashable, list[Hashable]] = {}
    queue = deque([start])
    while queue:
        state = queue.popleft()
        if state in moves:
            continue
        moves[state] = [step(state, kind) for kind in range(CLASSES)]
        queue.extend(moves[state])
    silent = [state for state in moves if report(state) is None]
    loud = [state for state in moves if report(state) is not None]
    number = {state: i for i, state in enumerate([*silent, *loud])}
    assert number[start] == 0, "the start must be silent"
    assert len(number) < 1 << 16, f"{len(number)} states do not fit 16 bits"
    table = np.array([number[to] for state in number for to in moves[state]], np.uint16)
    reports = tuple(report(state) for state in loud)
    return Machine(table, len(silent), reports)


class Trie(NamedTuple):
    """Aho-Corasick over signs: `next[node][sign]` for 38 signs, outputs per node.

    Signs are the 26 letters, the 10 digits, the apostrophe and the separator.
    """

    next: list[list[int]]
    outputs: list[tuple[int, ...]]


_SIGNS = len(LETTERS) + len(DIGITS) + 2
_APOSTROPHE, _GAP = _SIGNS - 2, _SIGNS - 1
_SIGN_OF = {sign: i for i, sign in enumerate(LETTERS + DIGITS + "'")}


def trie(phrases: Sequence[Sequence[str]]) -> Trie:
    """The automaton that finds each phrase, given as words, between separators."""
    children: list[dict[int, int]] = [{}]
    ends: list[list[int]] = [[]]
    for number, phrase in enumerate(phrases):
        node = 0
        for sign in _signs(phrase):
            if sign not in children[node]:
                children[node][sign] = len(children)
                children.append({})
                ends.append([])
            node = children[node][sign]
        ends[node].append(number)
    return _with_failures(children, ends)


def _signs(phrase: Sequence[str]) -> list[int]:
    signs = [_GAP]
    for word in phrase:
        signs += [*(_SIGN_OF[letter] for letter in word), _GAP]
    return signs


def _with_failures(children: list[dict[int, int]], ends: list[list[int]]) -> Trie:
    fail = [0] * len(children)
    table = [[0] * _SIGNS for _ in children]
    table[0] = [children[0].get(sign, 0) for sign in range(_SIGNS)]
    queue = deque(children[0].values())
    while queue:
        node = queue.popleft()
        below = table[fail[node]]
        table[node] = [children[node].get(sign, below[sign]) for sign in range(_SIGNS)]
        for sign, child in children[node].items():
            fail[child] = below[sign]
            ends[child] += ends[fail[child]]
            queue.append(child)
    return Trie(table, [tuple(found) for found in ends])


def cue_machine(phrases: Iterable[str]) -> Machine:
    """Reports, at the byte after a phrase's last word, the numbers of the phrases."""
    automaton = trie([words(phrase) for phrase in phrases])
    kinds = _word_kinds()
    start = ("gap", automaton.next[0][_GAP], 0)

    def step(state: Hashable, kind: int) -> Hashable:
        return _word_step(automaton.next, state, kinds[kind])

    def report(state: Hashable) -> Hashable | None:
        return automaton.outputs[state[2]] or None  # type: ignore[index]

    return machine(start, step, report)


def _word_kinds() -> list[int]:
    """What a class is to a word: a sign's number, or the separator's."""
    kinds = [_GAP] * CLASSES
    classes = byte_classes()
    for sign in LETTERS + DIGITS + "'":
        kinds[classes[ord(sign)]] = _SIGN_OF[sign]
    return kinds


def _word_step(after: list[list[int]], state: Hashable, sign: int) -> Hashable:
    """One byte of the word automaton: (phase, node, node whose phrases ended).

    Phases: between words ("gap"), in a word ("word"), after an apostrophe that may join
    it ("held"), and in the letters behind such an apostrophe ("tail").
    """
    phase, node, _ = state  # type: ignore[misc]
    if phase == "gap":
        if sign in (_GAP, _APOSTROPHE):
            return (phase, node, 0)
        return ("word", after[node][sign], 0)
    if phase == "held" and sign < len(LETTERS):
        return ("tail", after[after[node][_APOSTROPHE]][sign], 0)
    if phase == "word" and sign == _APOSTROPHE:
        return ("held", node, 0)
    if phase == "word" and sign != _GAP:
        return (phase, after[node][sign], 0)
    if phase == "tail" and sign < len(LETTERS):
        return (phase, after[node][sign], 0)
    ended = after[node][_GAP]  # the word is over
    if sign in (_GAP, _APOSTROPHE):
        return ("gap", ended, ended)
    return ("word", after[ended][sign], ended)


def border_machine() -> Machine:
    """Reports a kind (`SENTENCE` …) at the byte that completes a possible border.

    SENTENCE   first white space after . ? ! … and closing quotes or brackets
    NEWLINE    first line break of a run of white space that is no SENTENCE
    MARKER     a letter that may begin a marker, after , ; : or a dash and white space
    WIDE_STOP  。！？
    STRETCH    last byte of ``` \\[ \\] $$, or the byte after \\ or < that may begin
               the name of a protected stretch
    END        the byte that ends every row
    """
    names = _class_names()
    return machine(
        ("", "", ""), lambda state, kind: _border_step(state, names[kind]), _reported
    )


def _class_names() -> list[str]:
    """A short name per class: the byte itself where a border can tell it."""
    names = ["other"] * CLASSES
    classes = byte_classes()
    for letter in LETTERS:
        names[classes[ord(letter)]] = letter
    for sign in " \n[]\\$</`'":
        names[classes[ord(sign)]] = sign
    names[classes[0]] = "end"
    names[classes[ord(".")]] = "stop"
    names[classes[ord(",")]] = "pause"
    names[classes[ord(")")]] = "closer"
    for byte in _SPECIAL:
        names[classes[byte]] = f"x{byte:02x}"
    return names


def _reported(state: Hashable) -> Hashable | None:
    return state[2] or None  # type: ignore[index]


def _border_step(state: Hashable, name: str) -> Hashable:
    """(memory, last bytes, report) after one more byte.

    Memory: "" or "closed" (after a sentence end and its closers), "pause" (after a
    comma, …), "paused" (and white space), "space" (white space whose break has been
    reported). Last bytes: the start of a sign of several bytes.
    """
    memory, last, _ = state  # type: ignore[misc]
    sign, last = _joined(last, name)
    if sign == "end":
        return ("", "", END)
    if sign in (" ", "\n"):
        return _white(memory, sign)
    if sign == "stop":
        return ("closed", last, 0)
    if sign == "pause":
        return ("pause", last, 0)
    if sign == "wide":
        return ("", last, WIDE_STOP)
    report = 0
    if sign in ("```", "\\[", "\\]", "$$", "\\b", "\\e", "</", "<t"):
        report = STRETCH
    elif memory == "paused" and sign in MARKER_LETTERS:
        report = MARKER
    closes = memory == "closed" and name in ("closer", "'", "]", "`")
    return ("closed" if closes else "", last, report)


def _white(memory: str, sign: str) -> Hashable:
    if memory == "closed":
        return ("space", "", SENTENCE)
    if memory in ("pause", "paused"):
        # A line break behind a comma is reported too: no marker may follow.
        fresh = sign == "\n"
        return ("paused", "", NEWLINE if fresh else 0)
    if sign == "\n" and memory != "space":
        return ("space", "", NEWLINE)
    return (memory if memory == "space" else "", "", 0)


_JOINS = {
    ("xe2", "x80"): ("", "e280"),
    ("e280", "xa6"): ("stop", ""),
    ("e280", "x94"): ("pause", ""),
    ("e280", "x93"): ("pause", ""),
    ("xe3", "x80"): ("", "e380"),
    ("e380", "x82"): ("wide", ""),
    ("xef", "xbc"): ("", "efbc"),
    ("efbc", "x81"): ("wide", ""),
    ("efbc", "x9f"): ("wide", ""),
    ("`", "`"): ("", "``"),
    ("``", "`"): ("```", "``"),
    ("$", "$"): ("$$", "$"),
    ("\\", "["): ("\\[", ""),
    ("\\", "]"): ("\\]", ""),
    ("\\", "b"): ("\\b", ""),
    ("\\", "e"): ("\\e", ""),
    ("<", "/"): ("</", ""),
    ("<", "t"): ("<t", ""),
}


def _joined(last: str, name: str) -> tuple[str, str]:
    """The sign that `name` completes or is, and what it may begin."""
    if (last, name) in _JOINS:
        return _JOINS[last, name]
    begins = name in ("`", "$", "\\", "<", "xe2", "xe3", "xef")
    return name, name if begins else ""
