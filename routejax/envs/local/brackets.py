"""Close an open bracket prefix: the shortest text that balances it."""

from __future__ import annotations

import random

from routejax.envs.local.form import environment
from routejax.envs.route import Route, Step, Work
from routejax.envs.symbols import spaced, symbols

PAIRS = {"(": ")", "[": "]", "{": "}"}
OPENERS = {close: opener for opener, close in PAIRS.items()}


def generate(rng: random.Random, difficulty: int) -> tuple[str, dict]:
    """4 to 8 brackets, a prefix of balanced text that leaves at least one open."""
    length = 4 + (difficulty + 1) // 5 + rng.randrange(2)
    while True:
        items: list[str] = []
        stack: list[str] = []
        for _ in range(length):
            if stack and rng.random() < 0.45:
                items.append(PAIRS[stack.pop()])
            else:
                stack.append(rng.choice("([{"))
                items.append(stack[-1])
        if stack:
            return f"Close: {spaced(items)}", {"items": items}


def closing(items: list[str]) -> list[str]:
    """The closers, innermost first, that balance the prefix."""
    stack: list[str] = []
    for c in items:
        if c in PAIRS:
            stack.append(PAIRS[c])
        else:
            stack.pop()
    return stack[::-1]


def check(config: dict, answer: str) -> bool | None:
    """Whether the answer is exactly the missing closers."""
    got = symbols(answer, [*PAIRS, *OPENERS])
    return None if got is None else got == closing(config["items"])


def _other_closer(opener: str, rng: random.Random) -> str:
    """A closer that does not match."""
    return rng.choice([close for o, close in PAIRS.items() if o != opener])


def _stacks(
    config: dict,
    rng: random.Random,
    say: str,
    entry: dict[str, str],
    *,
    top_first: bool,
) -> tuple[list[str], list[Step]]:
    """The final stack of entries, and steps that show it after each bracket read."""
    stack: list[str] = []
    steps = []

    def line(c: str, shown: list[str]) -> str:
        return say.format(c, spaced(shown[::-1] if top_first else shown))

    for c in config["items"]:
        before = list(stack)
        if c in PAIRS:
            stack.append(entry[c])
            bad = [*before, entry[rng.choice([o for o in PAIRS if o != c])]]
        else:
            stack.pop()
            bad = before
        steps.append(Step(line(c, stack), line(c, bad)))
    return stack, steps


def _stack(config: dict, rng: random.Random) -> Work:
    say = rng.choice(("Read {}: {}.", "After {}: {}."))
    openers = {opener: opener for opener in PAIRS}
    stack, steps = _stacks(config, rng, say, openers, top_first=False)
    return Work(steps, spaced(PAIRS[c] for c in stack[::-1]))


def _expect(config: dict, rng: random.Random) -> Work:
    say = rng.choice(("With {} need {}.", "Since {} need {}."))
    stack, steps = _stacks(config, rng, say, PAIRS, top_first=True)
    return Work(steps, spaced(stack[::-1]))


def _cancel(config: dict, rng: random.Random) -> Work:
    say = rng.choice(("Cancel {} {}, left with {}.", "{} {} cancel, remaining {}."))
    items, steps = list(config["items"]), []
    closers = [c for c in items if c in OPENERS]
    for _ in closers:
        at = min(i for i, c in enumerate(items) if c in OPENERS)
        bad = [*items[: at - 1], *items[at + 2 :]] or items[: at + 1]
        opener, close = items[at - 1 : at + 1]
        items = items[: at - 1] + items[at + 1 :]
        wrong = say.format(opener, close, spaced(bad)) if bad != items else None
        steps.append(Step(say.format(opener, close, spaced(items)), wrong))
    for c in items[::-1]:
        off = _other_closer(c, rng)
        steps.append(Step(f"So {c} {PAIRS[c]}.", f"So {c} {off}."))
    return Work(steps, spaced(PAIRS[c] for c in items[::-1]))


def _right(config: dict, rng: random.Random) -> Work:
    skip, need = rng.choice(
        (("Skip {} {}.", "So {} {}."), ("Pass {} {}.", "Thus {} {}."))
    )
    pending, found, steps = 0, [], []
    for c in config["items"][::-1]:
        if c in PAIRS and not pending:
            off = _other_closer(c, rng)
            found.append(PAIRS[c])
            steps.append(Step(need.format(c, PAIRS[c]), need.format(c, off)))
            continue
        off = pending
        pending += 1 if c in OPENERS else -1
        steps.append(Step(skip.format(c, pending), skip.format(c, off)))
    return Work(steps, spaced(found))


def _depth(config: dict, rng: random.Random) -> Work:
    say, level = rng.choice(
        (("Levels {}.", "Level {} is {} {}."), ("We have {}.", "At {} is {} {}."))
    )
    depth, open_at, marks = 0, {}, []
    for c in config["items"]:
        depth += c in PAIRS
        marks.append(f"{c} {depth}")
        if c in PAIRS:
            open_at[depth] = c
        depth -= c in OPENERS
    bad = f"{spaced(marks[:-1])} {config['items'][-1]} {depth + 2}"
    steps = [Step(say.format(spaced(marks)), say.format(bad))]
    for d in range(depth, 0, -1):
        c = open_at[d]
        off = _other_closer(c, rng)
        steps.append(Step(level.format(d, c, PAIRS[c]), level.format(d, c, off)))
    return Work(steps, spaced(PAIRS[open_at[d]] for d in range(depth, 0, -1)))


def _counts(config: dict, answer: str) -> str:
    opened = sum(c in PAIRS for c in config["items"])
    closed = len(config["items"]) - opened
    return f"{opened} - {closed} = {opened - closed} are open."


def _openers(config: dict, answer: str) -> str:
    left = [OPENERS[c] for c in closing(config["items"])[::-1]]
    return f"open {spaced(left)} so {answer}."


ROUTES = {
    "stack": Route(("Keep a stack.", "Keep what is open so far."), _stack, _counts),
    "expect": Route(
        ("List what must be closed.", "Since each needs one, list all."),
        _expect,
        _openers,
    ),
    "cancel": Route(
        ("Cancel the pairs.", "Notice that pairs cancel."),
        _cancel,
        _counts,
        plan="First, cancel the pairs. Then close them.",
    ),
    "right": Route(
        ("Go backward from the right.", "Start at the end."), _right, _openers
    ),
    "depth": Route(
        ("Compute each level.", "Calculate the level."),
        _depth,
        _openers,
        plan="First, compute each level. Then close them.",
    ),
}

ENVIRONMENT = environment(
    "brackets", "close an open bracket prefix", generate, check, ROUTES
)
