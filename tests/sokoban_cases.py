"""Sokoban a second time, in another way: dictionaries of cells, search over all moves.

Shares nothing with the package but the letters of moves and the signs of level files.
`play` is the checker of solutions, `fewest_pushes` the reference for the solver.
"""

from collections import deque

BOARDS = {
    # name: rows, fewest pushes (None: cannot be solved), all counted by hand
    "one push": (("#####", "#@$.#", "#####"), 1),
    "around": (("#####", "#.$@#", "#---#", "#####"), 1),
    "turn": (("######", "#@---#", "#-$--#", "#--.##", "######"), 2),
    "solved": (("#####", "#-@*#", "#####"), 0),
    "corner": (("#####", "#$-@#", "#--.#", "#####"), None),
    "edge": (("######", "#-$--#", "#@---#", "#--.-#", "######"), None),
    # both boxes can get to the goal beside them, neither to the one above
    "one goal for two": (
        ("########", "#@-.####", "#-----.#", "#-#$$-##", "########"),
        None,
    ),
}
DELTAS = {"u": (-1, 0), "d": (1, 0), "l": (0, -1), "r": (0, 1)}


def read(rows):
    """Walls, goals, boxes and the player, by (row, column)."""
    cells = {(r, c): sign for r, line in enumerate(rows) for c, sign in enumerate(line)}

    def of(signs):
        return frozenset(cell for cell, sign in cells.items() if sign in signs)

    (player,) = of("@+")
    return of("#"), of(".*+"), of("$*"), player


def play(rows, moves):
    """Whether the moves are all possible and end with a box on every goal."""
    walls, goals, boxes, player = read(rows)
    boxes = set(boxes)
    for move in moves.lower():
        down, right = DELTAS[move]
        player = (player[0] + down, player[1] + right)
        if player in walls:
            return False
        if player in boxes:
            beyond = (player[0] + down, player[1] + right)
            if beyond in walls or beyond in boxes:
                return False
            boxes.remove(player)
            boxes.add(beyond)
    return boxes == goals


def fewest_pushes(rows):
    """By breadth-first search over every single move, pushes costing 1, steps 0."""
    walls, goals, boxes, player = read(rows)
    queue, best = deque([(0, boxes, player)]), {(boxes, player): 0}
    while queue:
        pushes, boxes, player = queue.popleft()
        if best[boxes, player] < pushes:
            continue
        if boxes == goals:
            return pushes
        for down, right in DELTAS.values():
            there = (player[0] + down, player[1] + right)
            cost, after = pushes, boxes
            if there in walls:
                continue
            if there in boxes:
                beyond = (there[0] + down, there[1] + right)
                if beyond in walls or beyond in boxes:
                    continue
                cost, after = pushes + 1, boxes - {there} | {beyond}
            if cost < best.get((after, there), 1 << 30):
                best[after, there] = cost
                (queue.append if cost > pushes else queue.appendleft)(
                    (cost, after, there)
                )
    return None
