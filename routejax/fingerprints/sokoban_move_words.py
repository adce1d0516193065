"""The words by which `sokoban_moves` tells walked directions from mere places.

All are our choice. Left out: which of them decides; the rules are in `sokoban_moves`.
"""

from routejax.fingerprints.lexicon import phrases

# Verbs that make the directions after them moves.
WALK = frozenset(
    phrases("""move, moves, moved, moving, go, goes, going, went, step, steps, stepped,
    stepping, walk, walks, walked, walking, head, heads, heading, travel, proceed,
    slide, continue, continuing, press, action, run""")
)
PUSH = frozenset(phrases("push, pushes, pushed, pushing, shove, shoves, shoving"))

# What may stand between the verb and the direction.
FILLER = frozenset(
    phrases("""the, a, an, b, c, this, that, its, my, box, boxes, crate, stone, player,
    it, him, them, worker, man, to, towards, toward, one, two, three, four, five, six,
    step, steps, square, squares, cell, cells, space, spaces, position, positions, tile,
    tiles, unit, units, further, straight, directly, again, back, all, way, itself,
    once, from, first, second, third, time, by, another, more, around, at,
    then""")
)
UNITS = frozenset(
    phrases("""time, times, step, steps, square, squares, cell, cells, space, spaces,
    position, positions, tile, tiles, unit, units""")
)
NUMBERS = {
    **dict(zip(phrases("one, two, three, four, five, six"), range(1, 7), strict=True)),
    **{"once": 1, "twice": 2, "thrice": 3},
}
MOST = 20  # a larger number is no count of steps

# Words before the verb, or after the direction, that deny or only weigh a move.
DENYING = frozenset(
    phrases("""not, no, can't, cannot, couldn't, don't, doesn't, didn't, won't, never,
    unable, impossible, isn't, blocked, avoid, prevents, instead""")
)
WEIGHING = frozenset(
    phrases("if, would, could, might, suppose, whether, able, try, trying")
)
DENYING_AFTER = frozenset(
    phrases("blocked, impossible, illegal, invalid, fails, isn't, can't, cannot")
)
# Words that turn a direction into a place, before it and after it.
PLACE_BEFORE = frozenset(
    phrases("""from, on, at, in, top, bottom, far, upper, lower, immediate, immediately,
    just, side, all, corner, most, end, line, lines, lined, set, look, looks, looking,
    boxes, goals, of""")
)
PLACE_AFTER = frozenset(
    phrases("""of, side, edge, neighbor, neighbour, neighbors, neighbours, cell, square,
    wall, corner, column, columns, row, rows, end, part, half, most, hand, box, goal,
    boxes, goals, next, now, away, after, before, above, below, here, there, beside,
    behind, in, at, on, over, until, unless, direction, position, room, region, area,
    adjacent""")
)
# The same before a single direction ("that's right"), and after one without a verb.
STATE_BEFORE = frozenset(phrases("is, are, that's, it's, what's, be, was"))
STATE_AFTER = frozenset(("is", "are", "has"))
# Words that join two directions of a chain.
THEN = frozenset(phrases("then, and, again, next, finally, afterwards"))
# Words that may stand before a direction in a list item of its own, and after it.
LIST_WORDS = frozenset(
    phrases("step, move, then, next, finally, first, now, action, player")
)
FOLLOW = frozenset(("to", "and", "then", "into", "again"))
# Words before the letters of moves, however few.
LABELS = frozenset(
    phrases("""move, moves, path, sequence, solution, answer, actions, plan, route,
    string, boxed, result, moveset""")
)
