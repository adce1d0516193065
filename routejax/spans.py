"""Where the reasoning of a response lies: the text between a known pair of markers.

`find` reads a response of any generator and says in `Span.state` what it found; `split`
knows one form only, the one that a reward asks for. Both are the definition: a faster
reader of many responses must give the same.

A chat template that was left in the text ends at its last assistant marker. A text
that begins with an opening marker is read by that pair, any other by the first pair of
`PAIRS` that has a marker in it; markers of other pairs are then text like any other.
Left out: reasoning in a field of its own (state `field`), which readers of pools know.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import islice, takewhile
from typing import NamedTuple

# How sure one can be of a span; `several` and `none` are read, but never complete.
STATES = ("closed", "close_only", "open_only", "none", "several", "field")
COMPLETE_STATES = frozenset({"closed", "close_only", "field"})


class Pair(NamedTuple):
    """An opening and a closing marker; a bare pair is words and opens only a text."""

    opens: str
    closes: str
    bare: bool = False


THINK = Pair("<think>", "</think>")
PAIRS: tuple[Pair, ...] = (
    THINK,
    Pair("<|begin_of_thought|>", "<|end_of_thought|>"),
    # channels: whatever stands between analysis and the final channel is reasoning
    Pair("<|channel|>analysis<|message|>", "<|channel|>final<|message|>"),
    Pair("[THINK]", "[/THINK]"),
    Pair("<|START_THINKING|>", "<|END_THINKING|>"),
    Pair("<seed:think>", "</seed:think>"),
    Pair("<thinking>", "</thinking>"),
    Pair("<thought>", "</thought>"),
    Pair("<reasoning>", "</reasoning>"),
    # special tokens that a decoder has stripped to their bare words
    Pair("think\n", "\nanswer\n", bare=True),
)

# Names of special tokens; each is written with ASCII or with full-width bars.
_NAMES = (
    *("begin_of_text", "end_of_text", "begin_of_sentence", "end_of_sentence"),
    *("begin▁of▁sentence", "end▁of▁sentence", "endoftext", "eot_id", "im_start"),
    *("im_end", "end", "return", "user", "User", "system", "start_header_id"),
    *("end_header_id", "begin_of_solution", "end_of_solution", "pad", "eos"),
    *("START_RESPONSE", "END_RESPONSE", "START_OF_TURN_TOKEN", "END_OF_TURN_TOKEN"),
)
# Stripped wherever they stand. The last opens each channel, so it is no turn's end.
TOKENS = (
    *(f"<{bar}{name}{bar}>" for name in _NAMES for bar in "|｜"),
    *("<start_of_turn>", "<end_of_turn>", "<eos>", "<bos>", "</s>", "[INST]"),
    "<|start|>assistant",
)
# Everything up to the last of these is the template's, not the model's.
ASSISTANT = (
    *(f"<{bar}{name}{bar}>" for name in ("Assistant", "assistant") for bar in "|｜"),
    "<|im_start|>assistant",
    "<|start_header_id|>assistant<|end_header_id|>",
    "<|CHATBOT_TOKEN|>",
    "<start_of_turn>model",
    "[/INST]",
)

CUT, TOKEN, OPEN, CLOSE = range(4)
# The state by the kinds of the markers of the pair; everything else is `several`.
_NAMED = {(OPEN, CLOSE): "closed", (CLOSE,): "close_only", (OPEN,): "open_only"}


def _markers() -> dict[str, tuple[int, int]]:
    """Marker → (kind, number of its pair), the longest first; a bare pair has none."""
    table = {text: (CUT, -1) for text in ASSISTANT}
    table |= {text: (TOKEN, -1) for text in TOKENS}
    for number, pair in enumerate(PAIRS):
        if not pair.bare:
            table |= {pair.opens: (OPEN, number), pair.closes: (CLOSE, number)}
    return dict(sorted(table.items(), key=lambda item: (-len(item[0]), item[0])))


MARKERS = _markers()
_ANY = re.compile("|".join(map(re.escape, MARKERS)))
_SPACE = re.compile(r"\s*")  # the same characters as those that `str.strip` strips
_JOIN = "\n\n"
_Range = tuple[int, int]


class Span(NamedTuple):
    """How the reasoning was found, the reasoning, and the answer behind it.

    Both texts are without special tokens and stripped. Several blocks are joined by a
    blank line, blank ones left out. With state `none` all of the text is reasoning;
    with `none` and `open_only` there is no answer.
    """

    state: str
    reasoning: str
    answer: str


class Strict(NamedTuple):
    """Reasoning and answer of a response in the one form that a reward asks for.

    `reasoning` is None unless there is exactly one closed, non-blank span; `answer` is
    the text after the last closing marker, or the whole response if there is none.
    """

    reasoning: str | None
    answer: str


class _Mark(NamedTuple):
    kind: int
    pair: int
    start: int
    end: int


def find(text: str) -> Span:
    """The reasoning of a response and its answer, whichever markers it uses."""
    marks = [_Mark(*MARKERS[m[0]], *m.span()) for m in _ANY.finditer(text)]
    start = max((mark.end for mark in marks if mark.kind == CUT), default=0)
    marks = [mark for mark in marks if mark.start >= start]
    tokens = [mark for mark in marks if mark.kind == TOKEN]
    pair, begin = _pair(text, start, marks)
    if pair < 0:
        return Span("none", _clean(text, (start, len(text)), tokens), "")
    own = _bare(text, pair, begin) if PAIRS[pair].bare else marks
    own = [mark for mark in own if mark.pair == pair]
    blocks, rest = _blocks(own, start, len(text))
    pieces = (_clean(text, block, tokens) for block in blocks)
    kinds = tuple(mark.kind for mark in own)
    state = _NAMED.get(kinds, "several")
    return Span(state, _JOIN.join(filter(None, pieces)), _clean(text, rest, tokens))


def complete(span: Span) -> bool:
    """Whether there is exactly one span, closed, not blank, and text after it."""
    return span.state in COMPLETE_STATES and bool(span.reasoning and span.answer)


def split(response: str) -> Strict:
    """Reasoning and answer, both stripped, if the response is `<think>…</think> …`."""
    opens, closes, _ = THINK
    head, marker, answer = response.rpartition(closes)
    if not marker:
        return Strict(None, response.strip())
    before, opened, inside = head.partition(opens)
    whole = opened and not before.strip() and opens not in inside
    reasoning = inside.strip() if whole and closes not in inside else ""
    return Strict(reasoning or None, answer.strip())


def _pair(text: str, start: int, marks: list[_Mark]) -> tuple[int, int]:
    """The number of the pair that decides, -1 if there is none, and where text begins.

    It begins behind white space and special tokens.
    """
    begin = _behind_space(text, start)
    for mark in marks:
        if mark.start != begin or mark.kind != TOKEN:
            break
        begin = _behind_space(text, mark.end)
    for mark in marks:
        if mark.start == begin and mark.kind == OPEN:
            return mark.pair, begin
    for number, pair in enumerate(PAIRS):
        if pair.bare and text.startswith(pair.opens, begin):
            return number, begin
    return min((mark.pair for mark in marks if mark.pair >= 0), default=-1), begin


def _bare(text: str, pair: int, begin: int) -> list[_Mark]:
    """The opening words of a bare pair and, where they come, its closing words."""
    opens, closes, _ = PAIRS[pair]
    end = begin + len(opens)
    at = text.find(closes, end)
    close = [_Mark(CLOSE, pair, at, at + len(closes))] if at >= 0 else []
    return [_Mark(OPEN, pair, begin, end), *close]


def _blocks(own: list[_Mark], start: int, end: int) -> tuple[list[_Range], _Range]:
    """The blocks of reasoning between the markers of one pair, and the answer.

    A closing marker without its opening one ends a block that began where the last one
    ended; an opening marker inside a block ends that block and begins another.
    """
    blocks, begin, behind = [], None, start
    for mark in own:
        if mark.kind == CLOSE:
            blocks.append((behind if begin is None else begin, mark.start))
            begin, behind = None, mark.end
        else:
            blocks += [] if begin is None else [(begin, mark.start)]
            begin = mark.end
    if begin is None:
        return blocks, (behind, end)
    return [*blocks, (begin, end)], (end, end)


def _clean(text: str, within: _Range, tokens: list[_Mark]) -> str:
    """The text of [start, end) without its special tokens, stripped."""
    pieces, (last, end) = [], within
    first = bisect_left(tokens, last, key=lambda mark: mark.start)
    for mark in takewhile(lambda mark: mark.start < end, islice(tokens, first, None)):
        pieces.append(text[last : mark.start])
        last = mark.end
    return "".join([*pieces, text[last:end]]).strip()


def _behind_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
