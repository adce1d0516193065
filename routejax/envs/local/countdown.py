"""Put + or - between numbers, in their order, to reach a target.

Several sign patterns can be right. Routes look for the patterns whose partial results
stay in 0..9; the verifier accepts every right one.
"""

from __future__ import annotations

import random
from itertools import product

from routejax.envs.local.form import environment
from routejax.envs.route import Route, Step, Work
from routejax.envs.symbols import spaced

LARGEST = 5
TOP = 9


def generate(rng: random.Random, difficulty: int) -> tuple[str, dict]:
    """Numbers 1..5 and a target in 0..9 that some signs reach."""
    numbers = [rng.randint(1, LARGEST) for _ in range(3 + (difficulty + 1) // 4)]
    numbers[0] = rng.randint(1, TOP)
    total = numbers[0]
    for x in numbers[1:]:
        total = rng.choice([t for t in (total + x, total - x) if 0 <= t <= TOP])
    prompt = f"Make {total} from: {spaced(numbers)}"
    return prompt, {"numbers": numbers, "target": total}


def partials(numbers: list[int], signs: tuple[str, ...]) -> list[int]:
    """The results after the first, second, ... number."""
    values = [numbers[0]]
    for sign, x in zip(signs, numbers[1:], strict=True):
        values.append(values[-1] + x if sign == "+" else values[-1] - x)
    return values


def check(config: dict, answer: str) -> bool | None:
    """Whether the numbers in order, with the answer's signs, make the target.

    An answer that uses other numbers, or another order, is wrong; one that is no
    alternation of numbers and signs is not parsed.
    """
    words = answer.split()
    numbers, signs = words[0::2], tuple(words[1::2])
    shaped = len(words) % 2 == 1 and all(sign in ("+", "-") for sign in signs)
    if not shaped or not all(x.isascii() and x.isdecimal() for x in numbers):
        return None
    if numbers != [str(x) for x in config["numbers"]]:
        return False
    return partials(config["numbers"], signs)[-1] == config["target"]


def patterns(config: dict) -> tuple[list[tuple], list[tuple]]:
    """Sign patterns with all partial results in 0..9: those that reach it, and not."""
    numbers = config["numbers"]
    right, wrong = [], []
    for signs in product("+-", repeat=len(numbers) - 1):
        values = partials(numbers, signs)
        if all(0 <= value <= TOP for value in values):
            (right if values[-1] == config["target"] else wrong).append(signs)
    return right, wrong


def _expression(numbers: list[int], signs: tuple[str, ...]) -> str:
    text = str(numbers[0])
    for sign, x in zip(signs, numbers[1:], strict=True):
        text += f" {sign} {x}"
    return text


def _chain(numbers: list[int], signs: tuple[str, ...]) -> str:
    """Running result as one line: `3 + 1 = 4 - 2 = 2`."""
    text = str(numbers[0])
    values = partials(numbers, signs)
    for sign, x, value in zip(signs, numbers[1:], values[1:], strict=True):
        text += f" {sign} {x} = {value}"
    return text


def _guess(config: dict, rng: random.Random) -> Work:
    """A pattern that misses, where there is one, then a pattern that fits."""
    say, miss, again = rng.choice(
        (
            ("Guess {}.", "Not {}.", "Alternatively {}."),
            ("Maybe {}.", "That is not {}.", "Another way {}."),
        )
    )
    numbers, target = config["numbers"], config["target"]
    right, wrong = patterns(config)
    steps = []
    if wrong and rng.random() < 0.5:
        chain = _chain(numbers, rng.choice(wrong))
        steps += [Step(say.format(chain)), Step(miss.format(target))]
        say = again
    signs = rng.choice(right)
    chain = _chain(numbers, signs)
    off = chain[: chain.rindex("=")] + f"= {target + rng.choice((1, 2))}"
    steps.append(Step(say.format(chain), say.format(off)))
    return Work(steps, _expression(numbers, signs))


def _back(config: dict, rng: random.Random) -> Work:
    """From the target back to the first number, once into a dead end."""
    so, case = rng.choice(
        (("So {}.", "Case {}, not {}."), ("{}.", "If we {}, not {}."))
    )
    numbers, goal = config["numbers"], config["target"]
    signs = rng.choice(patterns(config)[0])
    values = partials(numbers, signs)
    steps = []
    for i in range(len(signs), 0, -1):
        sign, x, before = signs[i - 1], numbers[i], values[i - 1]
        if i == 1 and rng.random() < 0.5:
            other, dead = ("-", goal + x) if sign == "+" else ("+", goal - x)
            if dead >= 0:
                line = f"{goal} = {dead} {other} {x}"
                steps.append(Step(case.format(line, before)))
        off = f"{goal} = {before + rng.choice((1, 2))} {sign} {x}"
        steps.append(Step(so.format(f"{goal} = {before} {sign} {x}"), so.format(off)))
        goal = before
    return Work(steps, _expression(numbers, signs))


def _flip(config: dict, rng: random.Random) -> Work:
    """All plus first; half the excess is what the minus numbers must sum to."""
    say = rng.choice(("Flip {}, remaining {}.", "Flip {}, left with {}."))
    numbers, target = config["numbers"], config["target"]
    plus = ("+",) * (len(numbers) - 1)
    chain, total = _chain(numbers, plus), sum(numbers)
    off = chain[: chain.rindex("=")] + f"= {total + 1}"
    half = (total - target) // 2
    excess = f"{total} - {target} = {total - target}, half "
    steps = [
        Step(f"{chain}.", f"{off}."),
        Step(f"{excess}{half}.", f"{excess}{half + 1}."),
    ]
    signs = rng.choice(patterns(config)[0])
    for sign, x in zip(signs, numbers[1:], strict=True):
        if sign == "-":
            half -= x
            steps.append(Step(say.format(x, half), say.format(x, half + 1)))
    return Work(steps, _expression(numbers, signs))


def _greedy(config: dict, rng: random.Random) -> Work:
    """Always step toward the target, then flip the fewest signs that mend the end."""
    low, high = rng.choice((("Low", "High"), ("Below", "Above")))
    numbers, target = config["numbers"], config["target"]
    total, signs, steps = numbers[0], [], []
    for x in numbers[1:]:
        sign = "+" if total < target or total < x else "-"
        word = low if total < target else high
        after = total + x if sign == "+" else total - x
        line = f"{word} {total} {sign} {x} = "
        steps.append(Step(f"{line}{after}.", f"{line}{after + rng.choice((-1, 1))}."))
        signs.append(sign)
        total = after
    final = _mended(config, tuple(signs))
    for to in "+-":  # raise first, so that no total is negative
        for x, old, new in zip(numbers[1:], signs, final, strict=True):
            if old != new == to:
                total += 2 * x if to == "+" else -2 * x
                steps.append(Step(f"Flip {x} = {total}.", f"Flip {x} = {total + 1}."))
    return Work(steps, _expression(numbers, final))


def _mended(config: dict, signs: tuple[str, ...]) -> tuple[str, ...]:
    """The right pattern with the fewest changes; ties by order, + before -."""

    def changes(other: tuple[str, ...]) -> int:
        return sum(a != b for a, b in zip(signs, other, strict=True))

    return min(patterns(config)[0], key=changes)


def _evaluate(config: dict, answer: str) -> str:
    return f"{_chain(config['numbers'], tuple(answer.split()[1::2]))}."


ROUTES = {
    "guess": Route(("Guess the signs.", "Suppose some signs."), _guess, _evaluate),
    "back": Route(
        ("Go backward from the goal.", "Start at the goal."), _back, _evaluate
    ),
    "flip": Route(
        ("Add all of them.", "Compute with all +."),
        _flip,
        _evaluate,
        plan="First, add all. Then flip some signs.",
    ),
    "greedy": Route(
        ("Go toward the goal.", "Take the better sign each time."), _greedy, _evaluate
    ),
}

ENVIRONMENT = environment(
    "countdown", "reach a target with + and - in order", generate, check, ROUTES
)
