"""What `tests.benchmarks.tunix` has both sides do: sizes, shapes, and how it is timed.

Imports neither library, so that either environment can.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

# A Qwen3 of four million parameters, tied, float32.
SIZES = {
    "vocabulary": 512,
    "width": 256,
    "layers": 4,
    "heads": 4,
    "kv_heads": 2,
    "head_width": 64,
    "mlp_width": 1024,
    "rope_theta": 1e6,
    "norm_eps": 1e-6,
}
_MAPS = {  # of one layer: inputs and outputs
    "query": (256, 256),
    "key": (256, 128),
    "value": (256, 128),
    "out": (256, 256),
    "gate": (256, 1024),
    "up": (256, 1024),
    "down": (1024, 256),
}
GROUP = 4  # samples of a prompt
PASS_ROWS = 4  # rows of one forward and backward
BETA = 0.04
CLIP = 0.2
RATE = 1e-5  # of AdamW
# Ids that are special to Tunix, which takes a first id of 0 for none.
BEGIN, END, PAD, FIRST_WORD = 1, 0, 2, 3
NEVER = 10_000  # a stop id outside the vocabulary: every response has full length


class Shape(NamedTuple):
    """Rows of a batch and their tokens, a quarter of which are the prompt."""

    rows: int
    length: int

    @property
    def prompt(self) -> int:
        return self.length // 4

    @property
    def new(self) -> int:
        return self.length - self.prompt


SHAPES = {
    "base": Shape(16, 256),
    "twice the batch": Shape(32, 256),
    "twice the length": Shape(16, 512),
}
WARM, STEPS = 2, 4  # steps that compile and settle, and steps that are timed

Cost = tuple[float, int]  # CPU seconds of one step, of all threads, and its tokens


class Answers(NamedTuple):
    """What a side works out, whatever it takes; of the shape `base`."""

    losses: list[float]  # of the first steps of supervised training
    likeliest: list[list[int]]  # responses to the prompts of `rng` 0, at temperature 0


def weights() -> dict[str, np.ndarray]:
    """The embedding [V E] and every layer's maps [L in out]; scales of norms are 1."""
    rng, layers = np.random.default_rng(7), SIZES["layers"]

    def drawn(*shape: int) -> np.ndarray:
        return rng.normal(scale=shape[-2] ** -0.5, size=shape).astype(np.float32)

    maps = {name: drawn(layers, *shape) for name, shape in _MAPS.items()}
    # As wide as its columns, so that logits are of the order of one.
    embedding = drawn(SIZES["width"], SIZES["vocabulary"]).T
    embedding[PAD] = 0  # so never the likeliest: Tunix would not see it afterwards
    return {"embedding": embedding} | maps


def words(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.integers(FIRST_WORD, SIZES["vocabulary"], shape).astype(np.int32)


def prompts(rng: np.random.Generator, shape: Shape, count: int) -> np.ndarray:
    """Prompts [count, prompt], whose first id is the same in all."""
    rest = words(rng, count, shape.prompt - 1)
    return np.concatenate([np.full_like(rest[:, :1], BEGIN), rest], 1)


def reward(response: Any) -> float:
    """A number that differs within nearly every group."""
    return float(sum(map(int, response)) % 7)


def timed(step: Callable[[], int]) -> Cost:
    """Of a step that gives the number of its tokens, which is always the same."""
    for _ in range(WARM):
        step()
    began = time.process_time()
    (tokens,) = {step() for _ in range(STEPS)}
    return (time.process_time() - began) / STEPS, tokens


class Pulled:
    """Batches for a loop that pulls them; a step is the time between two pulls."""

    steps = WARM + STEPS + 1

    def __init__(self, batches: Iterator[Any], passes: int = 1):
        """`passes`: batches that the loop pulls for one step."""
        self._batches, self._passes, self._pulls = batches, passes, []

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        self._pulls.append(time.process_time())
        return next(self._batches)

    def cpu_s(self) -> float:
        pulls = self._pulls[:: self._passes]
        return (pulls[WARM + STEPS] - pulls[WARM]) / STEPS


def report(
    parts: dict[str, Callable[[Shape], Cost]],
    answers: Callable[[], Answers],
    versions: dict[str, str],
) -> None:
    """Does what the command line asks for; the last line has all that was found."""
    flags = argparse.ArgumentParser()
    flags.add_argument("--shapes", required=True)
    flags.add_argument("--parts", required=True)
    flags.add_argument("--answers", action="store_true")
    given = flags.parse_args()
    found, said = [], {"versions": versions}
    if given.answers:
        said["answers"] = answers()._asdict()
    for shape in given.shapes.split(","):
        for part in given.parts.split(","):
            seconds, tokens = parts[part](SHAPES[shape])
            one = {"shape": shape, "part": part, "cpu_s": seconds, "tokens": tokens}
            found.append(one)
    print(json.dumps(said | {"measured": found}))
