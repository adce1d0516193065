"""The dense block of the `corpus` family: 83 numbers about the whole conversation.

    sizes         18   characters, words, lines, paragraphs of each text; their shares
    shares        24   of eight groups of characters in each text
    entropies      7   of classes of characters, of types and pairs of types, of edges
    type places   30   first, last and mean place of each type
    marker places  4   first and last place of two markers

Lengths, entropies and marker positions are the paper's (A.2, "Feature vector"); which
ones is our choice. The texts are prompt, reasoning and answer, each counted after
`segment.normalise`, character by character: `CLASSES` is a table by code point, so no
pattern is searched for. Words are parted by white space; a line counts if it holds a
word; a paragraph is a run of such lines.

Every value is made of integers by one fixed sequence of + − · / log log1p in float64,
sums in index order, so that another engine can give the same bits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from math import log, log1p
from typing import NamedTuple

from routejax.fingerprints.family import Feature
from routejax.fingerprints.route import Route
from routejax.fingerprints.rules_corpus import VOCABULARY
from routejax.fingerprints.segment import normalise
from routejax.fingerprints.tree import EDGES

# Class of a character by its place in the table; two more follow: all other ASCII
# characters, control characters among them, and all characters beyond ASCII.
CLASSES = {
    "lower": "abcdefghijklmnopqrstuvwxyz",
    "upper": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "digit": "0123456789",
    "space": " ",
    "newline": "\n",
    "plus": "+",
    "minus": "-",
    "star": "*",
    "slash": "/",
    "equals": "=",
    "order": "<>",
    "script": "^_",
    "backslash": "\\",
    "dollar": "$",
    "round": "()",
    "square": "[]{}",
    "stop": ".",
    "comma": ",",
    "colon": ":;",
    "question": "?",
    "exclamation": "!",
    "quote": "'\"`",
}
CLASS_NAMES = (*CLASSES, "other", "non_ascii")

# Groups of classes whose shares are features.
GROUPS = {
    "upper": ("upper",),
    "digit": ("digit",),
    "newline": ("newline",),
    "operator": ("plus", "minus", "star", "slash", "equals", "order", "script"),
    "latex": ("backslash", "dollar"),
    "bracket": ("round", "square"),
    "punctuation": ("stop", "comma", "colon", "question", "exclamation", "quote"),
    "non_ascii": ("non_ascii",),
}
TEXTS = ("prompt", "reasoning", "answer")
SIZES = ("characters", "words", "lines", "paragraphs")
MARKERS = {
    "doubt": 'a step that opens with "wait", "hmm" or "hold on"',
    "asked": "a step that ends with a question mark",
}
ENTROPIES = {
    "types": "entropy of the step types over that of even types",
    "pairs": "entropy of the pairs of neighbouring types over that of even pairs",
    "late_types": "entropy of the types of the last third over that of even types",
    "edges": "entropy of the tree's types of edges over that of even ones",
}

FEATURES = (
    *(
        Feature(f"size/{text}/log_{size}", f"log(1 + {size} of the {text})")
        for text in TEXTS
        for size in SIZES
    ),
    *(
        Feature(f"size/{text}/log_word", f"log(1 + characters of the {text} per word)")
        for text in TEXTS
    ),
    Feature("size/reasoning/share", "share of the three texts that is reasoning"),
    Feature("size/answer/share", "share of the three texts that is answer"),
    Feature("size/reasoning/log_steps", "log(1 + steps per paragraph)"),
    *(
        Feature(f"share/{text}/{group}", f"share of {group} characters in the {text}")
        for text in TEXTS
        for group in GROUPS
    ),
    *(
        Feature(
            f"entropy/{text}",
            f"entropy of the {text}'s classes of characters over that of even ones",
        )
        for text in TEXTS
    ),
    *(Feature(f"entropy/{name}", meaning) for name, meaning in ENTROPIES.items()),
    *(
        Feature(f"place/{kind}/{name}", meaning)
        for kind in VOCABULARY
        for name, meaning in (
            ("first", f"share of steps before the first {kind}; 1 without one"),
            ("last", f"share of steps up to the last {kind}; 0 without one"),
            ("mean", f"mean place of {kind} from 0 to 1; 1/2 without one"),
        )
    ),
    *(
        Feature(f"marker/{name}/{end}", meaning)
        for name, marker in MARKERS.items()
        for end, meaning in (
            ("first", f"share of steps before the first of: {marker}; 1 without one"),
            ("last", f"share of steps up to the last of: {marker}; 0 without one"),
        )
    ),
)

_NUMBER_OF = {kind: i for i, kind in enumerate(VOCABULARY)}
_OTHER, _NON_ASCII = len(CLASSES), len(CLASSES) + 1
_CLASS_OF = {char: i for i, chars in enumerate(CLASSES.values()) for char in chars}
_GROUPS = [[CLASS_NAMES.index(n) for n in names] for names in GROUPS.values()]


class Counts(NamedTuple):
    """What is counted in a text: characters by class, words, lines, paragraphs."""

    classes: tuple[int, ...]
    words: int
    lines: int
    paragraphs: int

    @property
    def characters(self) -> int:
        return sum(self.classes)


def count(text: str) -> Counts:
    """The counts of a text, which is normalised first."""
    plain = normalise(text)
    classes = [0] * len(CLASS_NAMES)
    for char, times in Counter(plain).items():
        other = _OTHER if char < "\x80" else _NON_ASCII
        classes[_CLASS_OF.get(char, other)] += times
    filled = [bool(line.strip(" ")) for line in plain.split("\n")]
    starts = sum(b and not a for a, b in pairwise([False, *filled]))
    return Counts(tuple(classes), len(plain.split()), sum(filled), starts)


def dense(prompt: str, reasoning: str, answer: str, route: Route) -> list[float]:
    """The 83 values of a conversation, all zero if the reasoning has no steps."""
    if not route.types:
        return [0.0] * len(FEATURES)
    texts = [count(text) for text in (prompt, reasoning, answer)]
    types = [_NUMBER_OF[kind] for kind in route.types]
    return [
        *_sizes(texts, len(types)),
        *(share for text in texts for share in _shares(text)),
        *(entropy(text.classes) for text in texts),
        *_route_entropies(types, route.tree.edges),
        *(x for kind in range(len(VOCABULARY)) for x in _places(types, kind)),
        *(x for name in MARKERS for x in _ends(route, name)),
    ]


def entropy(counts: Sequence[int]) -> float:
    """Entropy of counts over that of even counts, 0 to 1.

    log n − (Σ c·log c) / n with n = Σ c, over the log of how many counts there are.
    Exactly 0 where one count holds all: a rounding error there would differ with n, and
    standardising would blow it up.
    """
    total, weighted = sum(counts), 0.0
    if max(counts) == total:
        return 0.0
    for times in counts:
        if times:
            weighted += times * log(times)
    return max(log(total) - weighted / total, 0.0) / log(len(counts))


def _sizes(texts: Sequence[Counts], steps: int) -> list[float]:
    prompt, reasoning, answer = (text.characters for text in texts)
    everything = prompt + reasoning + answer
    logs = [
        log1p(size)
        for text in texts
        for size in (text.characters, text.words, text.lines, text.paragraphs)
    ]
    return [
        *logs,
        *(log1p(text.characters / max(text.words, 1)) for text in texts),
        reasoning / everything,
        answer / everything,
        log1p(steps / texts[1].paragraphs),
    ]


def _shares(text: Counts) -> list[float]:
    size = max(text.characters, 1)
    return [sum(text.classes[i] for i in group) / size for group in _GROUPS]


def _route_entropies(types: Sequence[int], edges: Sequence[str]) -> list[float]:
    size, steps = len(VOCABULARY), len(types)
    late = [kind for i, kind in enumerate(types) if 3 * i >= 2 * steps]
    pairs = [a * size + b for a, b in pairwise(types)]
    return [
        entropy(_tally(types, size)),
        entropy(_tally(pairs, size * size)),
        entropy(_tally(late, size)),
        entropy([edges.count(edge) for edge in EDGES]),
    ]


def _tally(cells: Sequence[int], size: int) -> list[int]:
    counts = [0] * size
    for cell in cells:
        counts[cell] += 1
    return counts


def _places(types: Sequence[int], kind: int) -> list[float]:
    """First, last and mean place; step i of n lies at (i + ½) / n."""
    steps = len(types)
    at = [i for i, found in enumerate(types) if found == kind]
    if not at:
        return [1.0, 0.0, 0.5]
    mean = (2 * sum(at) + len(at)) / (2 * len(at) * steps)
    return [at[0] / steps, (at[-1] + 1) / steps, mean]


def _ends(route: Route, mark: str) -> list[float]:
    at = [i for i, note in enumerate(route.notes) if mark in note.marks]
    steps = len(route.notes)
    return [at[0] / steps, (at[-1] + 1) / steps] if at else [1.0, 0.0]
