"""A::B programs: rewrite facing pairs until none is left.

Symbols `A#` and `B#` face right, `#A` and `#B` face left. Where a right-facing symbol
stands directly before a left-facing one, equal letters vanish and different letters
change places. Every order of rewriting ends in the same state.
"""

from __future__ import annotations

import random

from routejax.envs.local.form import environment
from routejax.envs.route import Route, Step, Work
from routejax.envs.symbols import spaced, symbols

ALPHABET = ("A#", "#A", "B#", "#B")
LETTERS = "AB"


def generate(rng: random.Random, difficulty: int) -> tuple[str, dict]:
    """4 to 7 symbols, at least one facing pair among them."""
    length = 4 + (difficulty + 1) // 6 + rng.randrange(2)
    while True:
        items = [rng.choice(ALPHABET) for _ in range(length)]
        if step(items) is not None:
            return f"Rewrite: {spaced(items)}", {"items": items}


def step(state: list[str]) -> list[str] | None:
    """The state after rewriting its leftmost facing pair; None if there is none."""
    for i in range(len(state) - 1):
        a, b = state[i : i + 2]
        if a[1] == "#" and b[0] == "#":
            new = [] if a[0] == b[1] else [b, a]
            return [*state[:i], *new, *state[i + 2 :]]
    return None


def simulate(program: list[str]) -> list[str]:
    """The final state, by rewriting step by step."""
    state = program
    while (after := step(state)) is not None:
        state = after
    return state


def final_state(program: list[str]) -> list[str]:
    """The final state in closed form.

    Each left-facing symbol removes the nearest earlier unmatched right-facing symbol
    of its letter, or else survives; survivors keep their order, left-facing first.
    """
    out: list[str] = []
    waiting: list[str] = []
    for symbol in program:
        if symbol[1] == "#":
            waiting.append(symbol)
        elif (partner := symbol[1] + "#") in waiting:
            _remove_last(waiting, partner)
        else:
            out.append(symbol)
    return out + waiting


def _remove_last(symbols: list[str], symbol: str) -> None:
    """Remove the last occurrence in place."""
    del symbols[len(symbols) - 1 - symbols[::-1].index(symbol)]


def check(config: dict, answer: str) -> bool | None:
    """Whether the answer is the final state (`none` if nothing is left)."""
    got = symbols(answer, ALPHABET)
    return None if got is None else got == final_state(config["items"])


def _rewrite(config: dict, rng: random.Random) -> Work:
    """One left-facing symbol after the other moves until it vanishes or is out."""
    say = rng.choice(("Move {}: {}.", "{} makes {}."))
    items, steps = config["items"], []
    for i, symbol in enumerate(items):
        if symbol[0] != "#":
            continue
        before = final_state(items[:i])
        done, rest = final_state(items[: i + 1]), items[i + 1 :]
        if done == [*before, symbol]:
            continue
        bad = [*before, *rest] if len(done) > len(before) else [symbol, *before, *rest]
        steps.append(
            Step(
                say.format(symbol, spaced([*done, *rest])),
                say.format(symbol, spaced(bad)),
            )
        )
    return Work(steps, spaced(final_state(items)))


def _stack(config: dict, rng: random.Random) -> Work:
    """Right-facing symbols wait on a stack, left-facing ones meet them or get out."""
    wait, leave = rng.choice((("{} waits.", "{} is out."), ("Keep {}.", "So {} out.")))
    meet = rng.choice(("{} meets {}, left with {}.", "{} ends {}, remaining {}."))
    out: list[str] = []
    waiting: list[str] = []
    steps = []
    for symbol in config["items"]:
        partner = symbol[1] + "#"
        if symbol[1] == "#":
            waiting.append(symbol)
            steps.append(Step(wait.format(symbol), leave.format(symbol)))
        elif partner in waiting:
            _remove_last(waiting, partner)
            text = meet.format(symbol, partner, spaced(waiting))
            steps.append(Step(text, leave.format(symbol)))
        else:
            out.append(symbol)
            wrong = meet.format(symbol, partner, spaced(waiting))
            steps.append(Step(leave.format(symbol), wrong))
    return Work(steps, spaced(out + waiting))


def _backward(config: dict, rng: random.Random) -> Work:
    """From the right: left-facing symbols are awaited, right-facing ones meet them."""
    seek, stay = rng.choice(
        (("{} waits.", "So {} stays."), ("Keep {}.", "Thus {} stays."))
    )
    meet = rng.choice(("{} meets {}, left with {}.", "{} ends {}, remaining {}."))
    coming: list[str] = []
    staying: list[str] = []
    steps = []
    for symbol in config["items"][::-1]:
        partner = "#" + symbol[0]
        if symbol[0] == "#":
            coming.insert(0, symbol)
            steps.append(Step(seek.format(symbol)))
        elif partner in coming:
            coming.remove(partner)
            text = meet.format(symbol, partner, spaced(coming))
            steps.append(Step(text, stay.format(symbol)))
        else:
            staying.insert(0, symbol)
            wrong = meet.format(symbol, partner, spaced(coming))
            steps.append(Step(stay.format(symbol), wrong))
    return Work(steps, spaced(coming + staying))


def _letters(config: dict, rng: random.Random) -> Work:
    """Each letter alone, then both results by direction."""
    only = rng.choice(("{}: {}. So {}.", "Case {}: {}. Then {}."))
    items, steps = config["items"], []
    for letter in LETTERS:
        own = [s for s in items if letter in s]
        left = final_state(own)
        if not own:
            continue
        bad = own if own != left else left[1:]
        steps.append(
            Step(
                only.format(letter, spaced(own), spaced(left)),
                only.format(letter, spaced(own), spaced(bad)),
            )
        )
    return Work(steps, spaced(final_state(items)))


def _cancel(config: dict, rng: random.Random) -> Work:
    """Remove matching pairs of one letter, then sort the rest by direction."""
    say = rng.choice(("Cancel {} {}, left with {}.", "{} {} cancel, remaining {}."))
    items, steps = list(config["items"]), []
    final = final_state(items)
    while len(items) > len(final):
        i, j = _partners(items)
        text = say.format(items[i], items[j], spaced(_without(items, i, j)))
        bad = say.format(items[i], items[j], spaced(_without(items, i)))
        steps.append(Step(text, bad))
        items = _without(items, i, j)
    if items != final:
        bad = [s for s in items if s[1] == "#"] + [s for s in items if s[0] == "#"]
        text = "Rearrange: {}."
        wrong = text.format(spaced(bad)) if bad != final else None
        steps.append(Step(text.format(spaced(final)), wrong))
    return Work(steps, spaced(final))


def _partners(items: list[str]) -> tuple[int, int]:
    """Positions of a partner and of the first left-facing symbol that has one."""
    for j, symbol in enumerate(items):
        own = [i for i in range(j) if items[i] == symbol[1] + "#"]
        if symbol[0] == "#" and own:
            return own[-1], j
    raise ValueError(f"no pair cancels in {items}")


def _without(items: list[str], *positions: int) -> list[str]:
    return [s for i, s in enumerate(items) if i not in positions]


def _by_letter(config: dict, answer: str) -> str:
    parts = []
    for letter in LETTERS:
        left = final_state([s for s in config["items"] if letter in s])
        parts.append(f"{letter} gives {spaced(left)}")
    return f"{', '.join(parts)}."


def _by_direction(config: dict, answer: str) -> str:
    final = final_state(config["items"])
    out, stay = [s for s in final if s[0] == "#"], [s for s in final if s[1] == "#"]
    return f"out {spaced(out)}, stay {spaced(stay)}."


ROUTES = {
    "rewrite": Route(
        ("Simulate from the left.", "Run step by step."), _rewrite, _by_letter
    ),
    "stack": Route(("Keep a stack.", "Keep what waits so far."), _stack, _by_letter),
    "backward": Route(
        ("Go backward from the right.", "Start at the end."), _backward, _by_letter
    ),
    "letters": Route(
        ("Split the letters.", "Break down by letters."),
        _letters,
        _by_direction,
        plan="First, compute each letter. Then join.",
    ),
    "cancel": Route(
        ("Notice that equal letters cancel.", "Cancel the pairs."), _cancel, _by_letter
    ),
}

ENVIRONMENT = environment(
    "ab", "run an A::B program to its final state", generate, check, ROUTES
)
