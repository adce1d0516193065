"""The 13 cue features of the `omega` family, and the cues they count.

The six families, composition, late fractions and density are the paper's (A.6); the
cues, and how they are read, are our choice:

* A cue is a sequence of words, whatever spaces, commas or dashes lie between; letter
  case and the kind of apostrophe do not matter (as in `lexicon`). It does not reach
  over the end of a sentence or a blank line.
* Every word belongs to one hit at most: the first cue from the left, the longest where
  several begin ("double check" is one hit, "wait no" is backtracking alone).
* A hit lies where its first character lies; the second half of L characters begins at
  L / 2. Words are parted by white space.

Left out: the meaning of a hit ("do not check" counts as verification).
"""

import re
from math import log1p

import numpy as np
from jaxtyping import Float

from routejax.fingerprints.family import Feature
from routejax.fingerprints.lexicon import Cue, lexicon, phrases
from routejax.fingerprints.segment import normalise

# Family → rows of (why these are its signs, phrases).
CUES = {
    "verification": (
        (
            "says that it checks",
            """check, checks, checking, double check, double checking, recheck,
            rechecking, cross check, verify, verifies, verifying, verified,
            verification, confirm, confirms, confirming, make sure, to be sure,
            sanity check, validate, let me test, let's test""",
        ),
        (
            "puts a result back into where it came from",
            """plug back, plugging back, plug it back, substitute back,
            substituting back, substitute it back""",
        ),
        (
            "asks for or reports the outcome of a check",
            """is that right, is this right, is that correct, is this correct,
            does that work, does this work, does that make sense, does this make sense,
            checks out, as expected, is consistent, consistent with, matches""",
        ),
    ),
    "backtracking": (
        (
            "gives up a route or goes back on it",
            """backtrack, backtracking, go back, going back, start over,
            starting over, start again, from scratch, redo, scratch that, reconsider,
            rethink, dead end, doesn't work, does not work, didn't work, won't work""",
        ),
        (
            "owns up to an error; a bare 'wait' seldom does and is doubt",
            """wait no, no wait, actually no, made a mistake, my mistake,
            made an error, that's wrong, that is wrong, this is wrong, that's not right,
            that is not right, that's incorrect, i was wrong, i misread, i miscounted,
            i miscalculated, i forgot, oops, correction, let me correct, let me fix""",
        ),
    ),
    "uncertainty": (
        (
            "weighs without deciding",
            """maybe, perhaps, possibly, probably, presumably, might, seems,
            seem, i think, i believe, i guess, i suppose, i wonder, apparently""",
        ),
        (
            "says that it does not know",
            """not sure, i'm unsure, unsure, not certain, uncertain, unclear,
            not clear, i don't know, not obvious, confused, confusing, confusion""",
        ),
        ("hesitates", "wait, hmm, hm, hold on, let me think"),
    ),
    "alternative": (
        (
            "turns to another way",
            """alternatively, alternative, another way, another approach,
            another method, another idea, another option, another possibility,
            another strategy, another angle, different approach, different way,
            different method, different strategy, other approach, other way,
            other method, or maybe, or perhaps, instead, on the other hand""",
        ),
        (
            "proposes to try something else",
            """what about, how about, what if, try another, try a different,
            let me try, let's try, think differently""",
        ),
    ),
    "contradiction": (
        (
            "finds that two things cannot both hold",
            """contradiction, contradictions, contradict, contradicts,
            contradicting, contradictory, inconsistent, conflict, conflicts, absurd""",
        ),
        (
            "finds something impossible",
            """impossible, not possible, can't be, cannot be, can not be,
            can't happen, cannot happen, no solution, no solutions, violates""",
        ),
    ),
    "enumeration": (
        (
            "goes through all there is",
            """enumerate, enumerates, enumerating, enumeration, list all,
            list them, list out, listing, all possible, all possibilities, all cases,
            each case, every case, for each, one by one, iterate, iterating,
            go through, going through, try all, brute force, exhaustive,
            exhaustively""",
        ),
        (
            "names cases by number",
            """case 1, case 2, case 3, case 4, case 5, case a, case b, case c,
            case i, case ii, case iii, first case, second case, third case,
            two cases, three cases, four cases, several cases""",
        ),
    ),
}
FAMILIES = tuple(CUES)

FEATURES = (
    *(
        Feature(f"cue/composition/{name}", f"share of {name} cues among all cue hits")
        for name in FAMILIES
    ),
    *(
        Feature(
            f"cue/late/{name}",
            f"share of the {name} hits in the second half of the response",
        )
        for name in FAMILIES
    ),
    Feature("cue/log_density", "log(1 + 1000 · cue hits / words of the response)"),
)

_TREE = lexicon(
    (
        Cue(phrase, name)
        for name, rows in CUES.items()
        for _, listed in rows
        for phrase in phrases(listed)
    ),
    openers=(),
).tree
_WORD_OR_END = re.compile(r"[A-Za-z0-9]+(?:'[A-Za-z]+)?|[.!?]+(?=\s)|\n *(?=\n)", re.A)


def hits(text: str) -> list[tuple[int, str]]:
    """Position and family of each cue hit, in order; `text` is normalised."""
    said, at = [], []
    for match in _WORD_OR_END.finditer(text):
        said.append(match.group().lower())
        at.append(match.start())
    said.append("\n")  # no cue begins or ends beyond
    found = []
    place = 0
    while place < len(at):
        name, after = _longest(said, place)
        if name:
            found.append((at[place], name))
        place = after
    return found


def _longest(said: list[str], place: int) -> tuple[str, int]:
    """Family of the longest cue that begins at `place`, and the place after it."""
    name, after = "", place + 1
    node, reached = _TREE.get(said[place]), place + 1
    while node is not None:
        if "" in node:
            name, after = node[""][0][0], reached
        node = node.get(said[reached])
        reached += 1
    return name, after


def cue_features(response: str) -> Float[np.ndarray, "13"]:
    """Six composition fractions, six late fractions, log density; float64.

    A family without hits has composition and late fraction zero.
    """
    text = normalise(response)
    found = hits(text)
    count = dict.fromkeys(FAMILIES, 0)
    late = dict.fromkeys(FAMILIES, 0)
    for at, name in found:
        count[name] += 1
        late[name] += 2 * at >= len(text)
    density = log1p(1000 * len(found) / max(1, len(text.split())))
    return np.array(
        [
            *(count[name] / max(1, len(found)) for name in FAMILIES),
            *(late[name] / max(1, count[name]) for name in FAMILIES),
            density,
        ]
    )
