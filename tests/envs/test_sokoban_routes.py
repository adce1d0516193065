"""Solver-written Sokoban routes: true sentences, one answer, what fingerprints read."""

import random
import re

import numpy as np
import pytest
import sokoban_cases as cases

from routejax.envs.sokoban.environment import check, generator, prompt_of
from routejax.envs.sokoban.moves import replay
from routejax.envs.sokoban.notation import draw, parse
from routejax.envs.sokoban.routes import ROUTES, runs
from routejax.envs.wording import respond
from routejax.fingerprints.sokoban import compute
from routejax.fingerprints.sokoban_read import read

CONFIGS = [
    generator(notation, prompt_of)(random.Random(f"{notation}/{seed}"), 1 + seed % 10)[
        1
    ]
    for notation in ("xsb", "ragen")
    for seed in range(20)
]
EVERY_ROUTE = pytest.mark.parametrize("route", ROUTES)


def text_of(route, config, manner="plain", seed=0):
    response = respond(ROUTES[route], manner, config, random.Random(seed))
    return response.removeprefix("<think> ").split(" </think>")[0]


def test_runs_by_hand():
    board = parse(("#######", "#@$--.#", "#---###", "#######"))
    (run,) = runs(board, "RRR")
    assert run[:5] == ("", "r", 3, (1, 2), (1, 5))
    board = parse(("######", "#@---#", "#-$--#", "#--.##", "######"))
    first, second = runs(board, "dRurD")
    assert first[:5] == ("d", "r", 1, (2, 2), (2, 3))
    assert second[:5] == ("ur", "d", 1, (2, 3), (3, 3))
    assert first.before == board
    assert second.before == first.after
    assert second.after.is_solved


def test_runs_put_together_are_the_solution():
    for config in CONFIGS:
        board = parse(config["rows"])
        found = runs(board, config["solution"])
        told = "".join(run.walk + run.way.upper() * run.count for run in found)
        assert told == config["solution"]
        assert sum(run.count for run in found) == config["pushes"]
        assert found[-1].after.is_solved


@EVERY_ROUTE
def test_every_manner_is_written_and_its_answer_is_right(route):
    for seed, config in enumerate(CONFIGS):
        for manner in ROUTES[route].manners:
            response = respond(ROUTES[route], manner, config, random.Random(seed))
            reasoning, answer = response.split(" </think> Answer: ")
            assert check(config, answer), response
            assert reasoning.count("\n\n") == (manner == "check")
            assert "  " not in reasoning


@EVERY_ROUTE
def test_each_solution_has_a_step_that_can_go_wrong(route):
    for config in CONFIGS:
        steps, _ = ROUTES[route].work(config, random.Random(0))
        assert any(step.wrong for step in steps)
        assert all(step.text != step.wrong for step in steps)


CELL = r"\((\d+), (\d+)\)"


def cells(text):
    return [(int(r) - 1, int(c) - 1) for r, c in re.findall(CELL, text)]


def visited(config):
    """The player's cells, by the independent reading of the board."""
    at = cases.read(config["rows"])[3]
    path = [at]
    for move in config["solution"].lower():
        down, right = cases.DELTAS[move]
        path.append((path[-1][0] + down, path[-1][1] + right))
    return path


def test_cells_are_those_that_the_player_visits_and_a_slip_is_not():
    for config in CONFIGS:
        assert cells(text_of("cells", config)) == visited(config)
        assert cells(text_of("cells", config, "slip")) != visited(config)


def test_boards_drawn_again_are_those_after_the_moves_named():
    for config in CONFIGS:
        board, signs = parse(config["rows"]), config["notation"]
        text = text_of("redraw", config)
        told = re.findall(r"\b([udlrUDLR]+)(?::| give)\n((?:#.*\n)+)", text)
        assert "".join(moves for moves, _ in told) == config["solution"]
        for moves, drawn in told:
            board = replay(board, moves.lower()).board
            assert drawn.splitlines() == draw(board, signs)
        assert board.is_solved


def test_pushes_lead_a_box_from_where_it_is_told_to_be():
    for config in CONFIGS:
        boxes = set(cases.read(config["rows"])[2])
        told = cells(text_of("push", config))
        for start, end in zip(told[::2], told[1::2], strict=True):
            assert start in boxes
            boxes = boxes - {start} | {end}
        assert boxes == cases.read(config["rows"])[1]


def test_goals_are_given_to_boxes_and_runs_are_told_backwards():
    for config in CONFIGS:
        _, goals, boxes, _ = cases.read(config["rows"])
        text = text_of("goals", config)
        told = re.findall(rf"from {CELL} to {CELL}", text)
        state = set(goals)
        for *start, row, column in told:
            end = (int(row) - 1, int(column) - 1)
            assert end in state
            state = state - {end} | {(int(start[0]) - 1, int(start[1]) - 1)}
        assert state == boxes
        pairs = text.split("At the end")[0]
        assert set(cells(pairs)) == boxes | goals
        assert len(cells(pairs)) == 2 * len(boxes)


def test_dead_cells_are_lost_for_a_box_by_the_reference():
    for config in CONFIGS[:10]:
        walls, goals, _, _ = cases.read(config["rows"])
        first = text_of("dead", config).split(" is stuck for good on ")[1]
        dead = set(cells(first.split("\n")[0].split(". ")[0]))
        assert not dead & (walls | goals)
        for row, column in dead:
            assert not reaches_a_goal((row, column), walls, goals)


def reaches_a_goal(box, walls, goals):
    """Whether a box alone gets from a cell to some goal, the player being anywhere."""
    found, waiting = {box}, [box]
    while waiting:
        row, column = waiting.pop()
        for down, right in cases.DELTAS.values():
            there, behind = (row + down, column + right), (row - down, column - right)
            if not {there, behind} & walls and there not in found:
                found.add(there)
                waiting.append(there)
    return bool(found & goals)


@pytest.mark.parametrize("route", ["push", "cells"])
def test_the_fingerprints_read_the_moves_that_a_route_tells(route):
    for config in CONFIGS:
        moves = [m for m in read(text_of(route, config)).moves if m.state == "walked"]
        assert "".join(m.ways for m in moves) == config["solution"]


def test_the_fingerprints_tell_routes_apart():
    names = list(ROUTES)
    vectors = np.array([[compute(text_of(r, c)) for c in CONFIGS] for r in names])
    flat = vectors.reshape(-1, vectors.shape[-1])
    flat = (flat - flat.mean(0)) / np.maximum(flat.std(0), 1e-6)
    own = np.repeat(np.arange(len(names)), len(CONFIGS))
    distance = np.linalg.norm(flat[:, None] - flat[None], axis=2)
    np.fill_diagonal(distance, np.inf)
    assert (own[distance.argmin(1)] == own).mean() > 0.75  # by chance 0.2
