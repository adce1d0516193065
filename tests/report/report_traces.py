"""Views of traces for the tests, one with a tree known by hand; a reader of pages."""

import html.parser

import numpy as np

from routejax import fingerprints
from routejax.fingerprints import Explained
from routejax.report.trace_page_view import TraceView

HOSTILE = "</p></script><script>alert('x')</script> <b a=\"1\"> & ' ]]> [red]no[/]"

# type, parent, edge; the step at 1 is the branch point, 5 and 2 were tried and left.
HAND = (
    ("parse", -1, ""),
    ("calculate", 0, "sequential"),
    ("branch", 1, "exploration"),
    ("calculate", 2, "sequential"),
    ("check", 3, "sequential"),
    ("hypothesize", 1, "exploration"),
    ("correct", 1, "backtracking"),
    ("check", 6, "sequential"),
    ("answer", 6, "sequential"),
)

TYPES = fingerprints.FAMILIES["rlve"].vocabulary


def hand_steps():
    return [
        Explained(f"text {i} of {kind}", kind, f"rule of {kind}", parent, edge)
        for i, (kind, parent, edge) in enumerate(HAND)
    ]


def grown(types):
    """Steps of these types, in the tree that the rlve family grows."""
    tree = fingerprints.tree(types, "rlve")
    return [
        Explained(f"{i}: {kind}", kind, "rule", parent, edge)
        for i, (kind, parent, edge) in enumerate(
            zip(types, tree.parents, tree.edges, strict=True)
        )
    ]


def a_view(**changes):
    known = {
        "id": "0123456789abcdef",
        "prompt": "How many?",
        "group": "math",
        "source": "a teacher",
        "verified": True,
        "span": "closed",
        "family": "rlve",
        "version": "rlve-1",
        "steps": hand_steps(),
        "names": ("even", "low", "high", "far", "still", "tie", "lowest"),
        "meanings": tuple(f"meaning of {i}" for i in range(7)),
        "values": np.array([1, 0, 3, 20, 2, 4, 0], np.float32),
        "pool_mean": np.array([1, 2, 1, 0, 0, 2, 2.0]),
        "pool_sigma": np.array([1, 1, 1, 2, 0, 1, 0.5]),
        "pool_rows": 200,
    }
    return TraceView(**(known | changes))


class Reader(html.parser.HTMLParser):
    """Checks that tags nest; collects tags, attributes, and the text of elements."""

    def __init__(self, page):
        super().__init__()
        self.open, self.elements = [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        element = (tag, dict(attrs), [])
        self.elements.append(element)
        if tag not in ("meta", "wbr", "input"):
            self.open.append(element)

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        for _, _, parts in self.open:
            parts.append(data)

    def all(self, tag, css=""):
        """Attributes and whole text of every such element, in order."""
        return [
            (attributes, "".join(parts))
            for name, attributes, parts in self.elements
            if name == tag and css in ["", *(attributes.get("class") or "").split()]
        ]

    def of(self, tag, css=""):
        return [text for _, text in self.all(tag, css)]

    def ids(self):
        return [at["id"] for _, at, _ in self.elements if "id" in at]
