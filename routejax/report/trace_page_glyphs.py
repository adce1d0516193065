"""How a step type looks: a colour for its kind and an outline within the kind.

Ten colours can be told apart with any colour vision, eighteen cannot; so types of one
kind differ by outline. The colours stand in `trace_page.css`, chosen so that any two
stay apart in normal vision and in the three kinds of colour blindness.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from routejax.fingerprints import Explained
from routejax.report.svg import el, marker
from routejax.report.traces import kind_of

# Outline of each type's node; a type that is not listed is a circle.
OUTLINES = {
    **dict.fromkeys(("setup", "parse", "decomposition", "decompose"), "square"),
    **dict.fromkeys(("exploration", "branch", "execute", "reason"), "triangle"),
    **dict.fromkeys(("verification", "check", "describe", "manipulate"), "diamond"),
    **dict.fromkeys(("enumerate", "insight", "conclusion", "answer"), "diamond"),
    **dict.fromkeys(("backward_reasoning", "hypothesize"), "wedge"),
    **dict.fromkeys(("backtracking", "correct"), "cross"),
    **dict.fromkeys(("assert", "evaluate"), "square"),
}


def type_name(step_type: str) -> str:
    """A step type as words: "track_progress" -> "track progress"."""
    return step_type.replace("_", " ")


def outline_of(step_type: str) -> str:
    """A name of `svg.MARKERS`."""
    return OUTLINES.get(step_type, "circle")


def css_of(step_type: str) -> str:
    """The class that brings the colour of the type."""
    return f"kind-{kind_of(step_type)}"


def glyph(step_type: str) -> str:
    """The type's node, at the size of the text around it."""
    drawn = marker(8, 8, outline_of(step_type), "mark", radius=5)
    return el("svg", drawn, viewBox="0 0 16 16", class_="glyph", aria_hidden="true")


def type_counts(steps: Sequence[Explained]) -> list[tuple[str, int]]:
    """Types with their counts, the most frequent first, ties by first appearance."""
    return Counter(step.type for step in steps).most_common()
