"""The solver: hand-counted boards, the reference search, and sound deadlocks."""

import random
from itertools import permutations

import pytest
import sokoban_cases as cases

from routejax.envs.sokoban.board import WAYS, bits, reachable, shifted
from routejax.envs.sokoban.deadlock import LOST, ground, is_frozen, least_pushes
from routejax.envs.sokoban.levels import LEVELS, SIZES, level_of, puzzle
from routejax.envs.sokoban.notation import draw, parse
from routejax.envs.sokoban.rooms import dig, pull_layers, solved_room
from routejax.envs.sokoban.solver import lurd, moves, solve
from routejax.errors import UserError


@pytest.mark.parametrize("name", cases.BOARDS)
def test_boards_counted_by_hand(name):
    rows, pushes = cases.BOARDS[name]
    found = solve(parse(rows))
    assert cases.fewest_pushes(rows) == pushes
    if pushes is None:
        assert found[:2] == ("unsolvable", None)
    else:
        assert found.status == "solved"
        assert len(found.pushes) == pushes


def test_a_solution_is_written_with_steps_small_and_pushes_capital():
    board = parse(("#####", "#.$@#", "#---#", "#####"))
    assert lurd(board, solve(board).pushes) == "L"
    board = parse(("######", "#.$--#", "#--@-#", "######"))
    assert lurd(board, solve(board).pushes) == "uL"
    board = parse(("######", "#@---#", "#-$--#", "#--.##", "######"))
    assert lurd(board, solve(board).pushes) in ("dRurD", "rDldR")


def small_boards(number):
    """Random positions of small rooms, solvable or not."""
    rng = random.Random(7)
    for _ in range(number):
        boxes = rng.randint(1, 3)
        room = solved_room(rng, 4, 5, 12 + boxes, boxes)
        *placed, player = rng.sample(list(bits(room.floor)), boxes + 1)
        yield room.at(sum(placed), player)


def test_pushes_are_as_few_as_breadth_first_search_finds():
    solved = lost = 0
    for board in small_boards(1500):
        rows = draw(board)
        found, fewest = solve(board), cases.fewest_pushes(rows)
        if fewest is None:
            assert found.status == "unsolvable"
            lost += 1
            continue
        assert len(found.pushes) == fewest
        assert cases.play(rows, lurd(board, found.pushes))
        assert least_pushes(ground(board), board.boxes) <= fewest
        solved += fewest > 0
    assert solved > 60
    assert lost > 60


def test_the_lower_bound_is_the_cheapest_pairing_of_boxes_and_goals():
    # both boxes are one push from the left goal, so one of them must go to the right
    board = parse(
        ("########", "###-####", "###$---#", "#@$.-.-#", "###----#", "########")
    )
    assert least_pushes(ground(board), board.boxes) == 1 + 3
    seen = 0
    for board in small_boards(300):
        area = ground(board)
        pairings = [
            sum(d.get(b, LOST) for b, d in zip(order, area.distances, strict=True))
            for order in permutations(list(bits(board.boxes)))
        ]
        assert least_pushes(area, board.boxes) == min(*pairings, LOST)
        seen += min(pairings) < LOST
    assert seen > 10


def test_frozen_and_dead_positions_are_lost_and_some_are_found():
    frozen = dead = 0
    for board in small_boards(400):
        area = ground(board)
        stuck = [is_frozen(area, board.boxes, box) for box in bits(board.boxes)]
        no_pairs = least_pushes(area, board.boxes) >= LOST
        if any(stuck) or no_pairs:
            assert cases.fewest_pushes(draw(board)) is None
        frozen += any(stuck) and not board.boxes & ~area.alive
        dead += no_pairs
    assert frozen > 5
    assert dead > 50


FROZEN = {
    # two by two, with walls and without; boxes against a wall; a chain; all on goals
    ("######", "#--$$#", "#.-$$#", "#...@#", "######"): True,
    ("######", "#-$$-#", "#-..@#", "#----#", "######"): True,
    ("######", "#-**-#", "#---@#", "#----#", "######"): False,
    ("######", "#-*$-#", "#-.-@#", "#----#", "######"): True,
    ("#######", "#-----#", "#-$$--#", "#--..@#", "#-----#", "#######"): False,
}


@pytest.mark.parametrize("rows", FROZEN, ids=lambda rows: rows[1])
def test_frozen_boxes_by_hand(rows):
    board = parse(rows)
    area = ground(board)
    assert all(
        is_frozen(area, board.boxes, box) == FROZEN[rows] for box in bits(board.boxes)
    )


def test_the_cap_leaves_a_board_unknown_and_many_boxes_are_refused():
    board = puzzle(random.Random(0), 9).board
    assert solve(board, cap=1) == ("unknown", None, 1)
    assert solve(board).status == "solved"
    row = "#" + "$" * 11 + "." * 11 + "@#"
    wall = "#" * len(row)
    with pytest.raises(UserError, match="1 to 10 boxes; got 11"):
        solve(parse((wall, row, wall)))


def test_a_layer_of_pulls_needs_as_many_pushes():
    rng = random.Random(3)
    seen = 0
    for _ in range(12):
        room = solved_room(rng, 4, 5, 13, 2)
        layers = pull_layers(room, 9, 20_000)
        for depth, layer in enumerate(layers):
            boxes, area = rng.choice(layer)
            board = room.at(boxes, rng.choice(list(bits(area))))
            assert cases.fewest_pushes(draw(board)) == depth
            seen += 1
    assert seen > 40
    assert len(pull_layers(room, 2, 20_000)) <= 3
    assert pull_layers(room, 9, 0) == []


def test_dug_cells_are_connected_and_as_many_as_asked():
    for seed in range(50):
        cells = set(dig(random.Random(seed), 5, 6, 14))
        assert 14 <= len(cells) <= 17
        assert all(0 <= row < 5 and 0 <= column < 6 for row, column in cells)
        found, waiting = set(), [min(cells)]
        while waiting:
            cell = waiting.pop()
            if cell in cells and cell not in found:
                found.add(cell)
                waiting += [(cell[0] + d, cell[1] + r) for d, r in WAYS.values()]
        assert found == cells


@pytest.mark.parametrize("difficulty", list(SIZES)[:12])
def test_difficulties_have_the_pushes_of_their_band(difficulty):
    least, most = SIZES[difficulty].pushes
    for seed in range(4):
        board, pushes = puzzle(random.Random(f"{difficulty}/{seed}"), difficulty)
        assert least <= len(pushes) <= most
        assert board.boxes.bit_count() == SIZES[difficulty].boxes
        assert cases.play(draw(board), lurd(board, pushes))


def test_an_expert_board():
    board, pushes = puzzle(random.Random(2), 13)
    assert level_of(len(pushes)) == "expert"
    assert cases.play(draw(board), lurd(board, pushes))
    assert sum(len(walk) for walk, _ in moves(board, pushes)) + len(pushes) == len(
        lurd(board, pushes)
    )


def test_levels_and_difficulties_leave_no_gap():
    def flat(bands):
        return [n for low, high in bands for n in range(low, high + 1)]

    assert flat(LEVELS.values()) == list(range(1, 49))
    assert flat(size.pushes for size in SIZES.values()) == list(range(1, 49))
    assert list(SIZES) == list(range(1, 16))
    assert [level_of(n) for n in (0, 1, 5, 6, 12, 13, 24, 25, 48, 49)] == [
        *(None, "easy", "easy", "medium", "medium"),
        *("hard", "hard", "expert", "expert", None),
    ]


def test_sets_of_cells():
    board = parse(("#####", "#@$.#", "#####"))
    assert [board.cell(bit) for bit in bits(board.floor)] == [(1, 1), (1, 2), (1, 3)]
    assert shifted(board.player, board.steps["r"]) == board.boxes
    assert reachable(board.player, board.floor & ~board.boxes, 5) == board.player
