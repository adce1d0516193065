"""Which directions in a clause are moves, and which only say where something is.

"Left" and "right" stand in prose far more often than they are walked, so directions
that follow each other are read as one chain and the chain must show that it is walked:

* a verb of moving or pushing stands before it with nothing but filler between ("push
  the box two steps to the right"),
* two directions or more in a row without a verb ("Right, Right, then Up"), three
  letters or more ("RRU", "R, R, U"), two arrows or more or one that points up or down,
* or a line or list item of its own ("3. Left").

Not walked: a place ("the cell to the left of", "from the right", "up: wall"), a
diagonal ("up-left"), the list of all directions ("U, D, L, R"). A move that the clause
denies ("cannot move up") or weighs ("if I push right", "to push right, …") is known but
not walked. Capitals among small letters are pushes, as in the usual notation of
solutions.

Left out: moves that are described by their effect alone.
"""

from __future__ import annotations

from typing import NamedTuple

from routejax.fingerprints import sokoban_move_words as wording
from routejax.fingerprints.sokoban_notation import (
    DIRECTIONS,
    WAYS,
    Cell,
    Clause,
    Token,
)

_PREFIX = 6  # tokens before the direction of a list item; "Step 3: move the player"
_AXES = (frozenset("UD"), frozenset("LR"))


class Moves(NamedTuple):
    """Moves told in a row: u, d, l, r, with capitals for pushes.

    `state` is walked, denied or weighed.
    """

    at: int
    ways: str
    state: str


class Chain(NamedTuple):
    """Directions in a row: `ways` as letters, in the case in which they are written."""

    kind: str
    ways: str
    end: int
    loose: bool  # joined by nothing but "and"
    diagonal: bool


def described(clause: Clause) -> tuple[list[Moves], int]:
    """The moves of a clause in order, and how many directions only name a place."""
    tokens = clause.tokens
    moves: list[Moves] = []
    places = at = 0
    while at < len(tokens):
        if tokens[at].kind not in DIRECTIONS:
            at += 1
            continue
        chain = _chain(tokens, at)
        verb = _verb(tokens, at)
        if chain.ways and _is_walked(clause, at, chain, verb):
            moves.append(_moves(clause, at, chain, verb))
        elif chain.diagonal or _is_place(tokens, at, chain, verb):
            places += len(chain.ways)
        at = chain.end
    return moves, places


def _chain(tokens: list[Token], at: int) -> Chain:
    """The longest chain that begins at `at`, with its counts carried out."""
    words = tokens[at].kind == "way"
    ways = ""
    joints: set[str] = set()
    ahead = at
    end = at
    while ahead < len(tokens) and tokens[ahead].kind in DIRECTIONS:
        if (tokens[ahead].kind == "way") != words:
            break
        once = _ways(tokens[ahead])
        count, end = _count(tokens, ahead + 1)
        if not ways and words:
            count = max(count, _count_before(tokens, at))
        ways += once * count
        ahead = end
        between = set()
        while ahead < min(end + 3, len(tokens)) and _is_joint(tokens[ahead]):
            between.add(_joint(tokens[ahead]))
            ahead += 1
        if ahead < len(tokens) and tokens[ahead].kind in DIRECTIONS:
            joints |= between or {""}
    kind = "way" if words else "sign"
    loose = joints == {"and"}
    return Chain(kind, ways, end, loose, words and "dash" in joints)


def _ways(token: Token) -> str:
    said = str(token.value)
    if token.kind == "way":
        return WAYS[said]
    if token.kind == "counted":
        letter, number = said.strip("0123456789"), said.strip("UDLR")
        return letter * min(int(number), wording.MOST)
    return said


def _is_joint(token: Token) -> bool:
    return token.kind in ("link", "dash") or token.value in wording.THEN


def _joint(token: Token) -> str:
    return str(token.value) if token.kind == "word" else token.kind


def _count(tokens: list[Token], at: int) -> tuple[int, int]:
    """How often the direction before `at` is walked, and where reading goes on."""
    said = tokens[at : at + 3]
    if said and said[0].value == "by":
        said, at = said[1:], at + 1
    if not said:
        return 1, at
    number = _number(said[0])
    if said[0].kind == "times" or said[0].value in ("twice", "thrice", "once"):
        return number, at + 1
    if not 0 < number <= wording.MOST:
        return 1, at
    if len(said) > 1 and said[1].value in wording.UNITS:
        return number, at + 2
    noun = len(said) > 1 and said[1].kind in ("word", "object")
    if noun and said[1].value not in wording.THEN:
        return 1, at  # "right 2 boxes"
    return number, at + 1


def _count_before(tokens: list[Token], at: int) -> int:
    """The number of "two squares to the" before a direction; 1 without one."""
    while at > 0 and tokens[at - 1].value in ("to", "the", "towards"):
        at -= 1
    if at < 2 or tokens[at - 1].value not in wording.UNITS:
        return 1
    number = _number(tokens[at - 2])
    return number if 0 < number <= wording.MOST else 1


def _number(token: Token) -> int:
    if token.kind == "word":
        return wording.NUMBERS.get(str(token.value), 0)
    if token.kind in ("number", "times"):
        said = str(token.value).lstrip("xX× ")
        return min(int(said[:4]), wording.MOST + 1) if said.isdecimal() else 0
    return 0


def _verb(tokens: list[Token], at: int) -> int:
    """Where the verb of the chain at `at` stands; -1 without one."""
    for place in range(at - 1, max(at - 11, -1), -1):
        token = tokens[place]
        if token.value in wording.PUSH or token.value in wording.WALK:
            return place
        if token.kind not in ("cell", "number") and token.value not in wording.FILLER:
            return -1
    return -1


def _is_walked(clause: Clause, at: int, chain: Chain, verb: int) -> bool:
    if chain.diagonal or _is_place(clause.tokens, at, chain, verb):
        return False
    if verb >= 0:
        return True
    ways = chain.ways.upper()
    if _names_all(ways):
        return False
    if chain.kind == "way":
        if len(ways) == 2 and frozenset(ways) in _AXES:
            return False  # "left, right"
        many = len(ways) >= 2 and not chain.loose
    else:
        many = _is_plan(clause.tokens, at, chain)
    return many or _is_listed(clause, at, chain.end)


def _is_place(tokens: list[Token], at: int, chain: Chain, verb: int) -> bool:
    """Whether the words around a chain of words make it a place."""
    return chain.kind == "way" and (
        _is_place_before(tokens, at, chain, verb)
        or _is_place_after(tokens, chain, verb)
    )


def _is_place_before(tokens: list[Token], at: int, chain: Chain, verb: int) -> bool:
    before = tokens[at - 1].value if at else ""
    if before == "the":
        before = tokens[at - 2].value if at > 1 else ""
        if before not in ("to", "towards", "toward"):
            return True
    if before in wording.PLACE_BEFORE or (before == "to" and verb < 0):
        return True
    if before in wording.STATE_BEFORE:
        return len(chain.ways) == 1
    return before == "moves" and tokens[at].value == "left"  # "3 moves left"


def _is_place_after(tokens: list[Token], chain: Chain, verb: int) -> bool:
    if chain.end == len(tokens):
        return False
    after = tokens[chain.end]
    if after.value in wording.STATE_AFTER:
        return len(chain.ways) == 1 and verb < 0
    return after.kind == "colon" or after.value in wording.PLACE_AFTER


def _is_listed(clause: Clause, at: int, end: int) -> bool:
    """Whether the chain is all that its line or list item says."""
    if at > _PREFIX:
        return False
    before, after = clause.tokens[:at], clause.tokens[end : end + 1]
    marks = [t for t in before if t.kind in ("item", "number", "dash", "colon")]
    if len(marks) + sum(t.value in wording.LIST_WORDS for t in before) < len(before):
        return False
    if not after:
        return bool(before) or clause.lined
    if after[0].value in wording.PUSH:
        return True
    follows = after[0].kind in ("cell", "link") or after[0].value in wording.FOLLOW
    return bool(before) and follows


def _names_all(ways: str) -> bool:
    """Whether four directions are listed by axis, as legends do and no walk does."""
    return len(ways) == 4 and {frozenset(ways[:2]), frozenset(ways[2:])} == set(_AXES)


def _is_plan(tokens: list[Token], at: int, chain: Chain) -> bool:
    """Whether letters or arrows are moves by their number or by what stands before."""
    first = tokens[at]
    if first.kind == "arrows":
        return True
    if first.kind == "counted" and len(set(chain.ways)) < 2:
        return False  # "R3" may be a row
    if len(chain.ways) >= (4 if chain.ways.islower() else 3):
        return True
    said = [token for token in tokens[max(at - 2, 0) : at] if token.kind != "colon"]
    return bool(said) and said[-1].value in wording.LABELS


def _moves(clause: Clause, at: int, chain: Chain, verb: int) -> Moves:
    tokens, ways = clause.tokens, chain.ways
    said_after = tokens[chain.end].value if chain.end < len(tokens) else ""
    said_before = tokens[verb].value if verb >= 0 else ""
    if said_before in wording.PUSH or said_after in wording.PUSH:  # "Right (push)"
        ways = ways.upper()
    elif ways.isupper():
        ways = ways.lower()
    state = _state(tokens, verb if verb >= 0 else at, chain.end)
    return Moves(clause.starts[at], ways, state)


def _state(tokens: list[Token], at: int, end: int) -> str:
    """Denied or weighed by the four words before the verb, denied by those after."""
    before = _same_part(tokens[at - 1 : at - 5 if at > 4 else None : -1] if at else [])
    after = _same_part(tokens[end : end + 4])
    if not (
        wording.DENYING.isdisjoint(before) and wording.DENYING_AFTER.isdisjoint(after)
    ):
        return "denied"
    purpose = before[:1] == ["to"] and before[1:] in ([], ["order", "in"])
    weighed = purpose or after[:1] == ["or"] or not wording.WEIGHING.isdisjoint(before)
    return "weighed" if weighed else "walked"


def _same_part(tokens: list[Token]) -> list[str | Cell]:
    """What the tokens say up to the first comma or "but" or "so"."""
    said = []
    for kind, value in tokens:
        if kind == "link" or value in ("but", "so"):
            break
        said.append(value)
    return said
