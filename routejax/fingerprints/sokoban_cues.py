"""What a Sokoban trace says it does, beside its cells and moves: cues, and objects.

The activities of the second and third group of signatures are the paper's (A.7); the
phrases are our choice. They are read clause by clause with `lexicon`: whole words,
whatever stands between them. A phrase may count in two activities, but no phrase of one
activity holds another of it, so that nothing counts twice.

Left out: languages other than English.
"""

from routejax.fingerprints.lexicon import Cue, lexicon, phrases

ROLES = ("player", "box", "goal", "wall", "floor")

# Word → the role it names. Drawn signs have none: "@" is a player or a box.
OBJECTS = {
    word: role
    for role, words in {
        "player": """player, player's, worker, man, agent, keeper, character, i, i'm,
        i'll, we, we're, we'll, me, my, myself, standing, stand""",
        "box": "box, boxes, box's, crate, crates, stone, stones",
        "goal": """goal, goals, goal's, target, targets, destination, destinations,
        storage, dock""",
        "wall": "wall, walls, obstacle, obstacles",
        "floor": "floor, empty, free, open, floors, clear",
    }.items()
    for word in phrases(words)
}

# Activity → (what it says, phrases).
TRAVEL = {
    "corridor": (
        "a narrow way",
        """corridor, corridors, passage, passages, hallway, tunnel, narrow, one wide,
        single file, bottleneck""",
    ),
    "scan": (
        "cell after cell, row after row",
        """row by row, column by column, cell by cell, one by one, each row, each cell,
        every cell, every row, each column, each square, every square, scan, scanning,
        go through, going through, left to right, top to bottom""",
    ),
    "reach": (
        "which cells can be reached",
        """reach, reachable, reaches, accessible, access, neighbors, neighbours,
        adjacent cells, adjacent squares, bfs, breadth first, explore, exploring,
        flood fill, surrounding, shortest path""",
    ),
}
BOXES = {
    "backward": (
        "works back from the goals",
        """work backwards, working backwards, work backward, working backward,
        backwards from, backward from, from the goal, from the goals, from the target,
        from the targets, start with the goal, start with the goals, reverse, pull,
        pulling, pulled, solved state, last push, final push, final position""",
    ),
    "forward": (
        "pushes a box towards a goal",
        """push the box to, push the box towards, push the box toward, push it to,
        push it towards, push it toward, push it onto, push the box onto,
        push the box into, push box, push this box, get the box to, move the box to,
        move the box onto, bring the box, start with the box, start with box,
        start by pushing""",
    ),
    "pair": (
        "gives each box its goal",
        """pair, pairs, pairing, assign, assigned, assignment, match, matched, matching,
        which box, which goal, which target, nearest goal, closest goal, nearest target,
        closest target, nearest box, closest box, goes to goal, goes to target,
        box for, its goal, its target, manhattan""",
    ),
    "line": (
        "the line a box can be pushed along",
        """line, lined up, align, aligned, aligns, same row, same column,
        path is clear, path clear, along the row, along the column""",
    ),
    "stance": (
        "where the player must stand to push",
        """behind the box, behind it, opposite side, other side, get behind, be behind,
        stand at, to push it, need to be at, needs to be at, must be at, have to be at,
        position myself, get around, go around, walk around, get to the left,
        get to the right, get above, get below, reposition, from the left of,
        from the right of, from above, from below""",
    ),
    "deadlock": (
        "positions where a box would be stuck",
        """deadlock, deadlocks, deadlocked, dead square, dead squares, dead end, stuck,
        trapped, trap, immovable, unsolvable, irreversible, frozen, freeze,
        can't be moved, cannot be moved, can't be pushed, cannot be pushed,
        can't push it, can't move it, never be moved, no way to push,
        against the wall, along the wall, unpushable""",
    ),
    "corner": ("corners", "corner, corners, cornered"),
    "order": (
        "which box comes first",
        """which order, in what order, order of, first box, second box, other box,
        out of the way, in the way, blocks, blocking, make room, before pushing,
        must go first, next box, remaining box, remaining boxes, last box""",
    ),
    "placed": (
        "a box is on a goal",
        """on goal, on the goal, on a goal, on target, on the target, on a target,
        onto the goal, onto the target, onto goal, in place, placed, already on""",
    ),
    "solved": (
        "all boxes are home",
        """all boxes, both boxes, solved, puzzle is complete, every box, level complete,
        all goals, all targets""",
    ),
}
REBUILD = {
    "wall": (
        "walls read again",
        """wall, walls, border, borders, boundary, boundaries, surrounded, outer,
        obstacle""",
    ),
    "landmark": (
        "landmarks",
        """room, rooms, door, doorway, entrance, gap, opening, top left, top right,
        bottom left, bottom right, upper left, upper right, lower left, lower right,
        middle, center, centre, edge, top row, bottom row, left column, right column,
        open area, alcove""",
    ),
    "locate": (
        "finds out where things are",
        """located, location, locate, position, positions, coordinates,
        coordinate, find the player, find the box, find the boxes, find the goals,
        player is at, box is at, goal is at, boxes are at, goals are at, i am at,
        i'm at, we are at, where is, parse, parsing""",
    ),
    "state": (
        "lists the state",
        """state, now the, now at, now player, now box,
        now i'm, so now, after this, after that, board now, the board is, updated,
        current position, currently, so far, configuration,
        looks like, becomes""",
    ),
    "correct": (
        "goes back on a reading",
        """wait no, no wait, wait the, wait that's, wait i, wait is, actually, misread,
        mistake, wrong, incorrect, i mean, sorry,
        oops, let me recheck, let me redo, recount, re examine, re read, reread,
        look again, not right, correction, hold on, double check, let me check,
        that's not""",
    ),
    "index": (
        "how rows and columns are counted",
        """index, indexed, indexing, indices, count, counting, numbered,
        coordinate system, starting from, characters, length""",
    ),
    "legend": (
        "what the signs mean",
        """represents, represent, symbol, symbols, legend, denotes, denote, means,
        stands for, marked, indicates""",
    ),
}

CUES = TRAVEL | BOXES | {f"rebuild {name}": row for name, row in REBUILD.items()}

LEXICON = lexicon(
    (
        Cue(phrase, tag)
        for tag, (_, listed) in CUES.items()
        for phrase in phrases(listed)
    ),
    openers=(),
)
