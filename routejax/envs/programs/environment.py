"""A::B program simulation at seven levels: prompts, verdicts, and the key of a program.

Two forms of one problem: `programs` for pretrained students, with the rules in words
and a tagged answer, and `programs_short`, with the rules in a line, for students whose
vocabulary is a few hundred pieces. Rewriting itself is that of the environment `ab`; a
program may have any length.

There are two verifiers, one that rewrites and one in closed form. They agree on every
program, so verdicts do not depend on which is asked.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from routejax.envs.local.ab import ALPHABET, final_state, simulate
from routejax.envs.problem import Verdict
from routejax.envs.programs.levels import level_of, program, rewrites
from routejax.envs.symbols import NONE, spaced, symbols
from routejax.envs.tagged import INSTRUCTION, tagged, verdict
from routejax.traces import content_id

LONGEST = 4000  # characters of an answer; the longest right one has below 320

# Program → the state it ends in.
VERIFIERS: dict[str, Callable[[list[str]], list[str]]] = {
    "closed": final_state,
    "stepwise": simulate,
}

_PROMPT = f"""An A::B program is a row of the four symbols A#, #A, B# and #B.
It is computed by rewriting neighbors whose # face each other:
  A# #A  vanish
  B# #B  vanish
  A# #B  become  #B A#
  B# #A  become  #A B#
Nothing else is ever rewritten. Go on until no rule applies any more; the order does \
not matter.

Program: {{program}}

Which state does it end in? Answer with its symbols in order, parted by blanks, such \
as #B A# A#; if nothing is left, answer {NONE}. {INSTRUCTION}"""

_SHORT = (
    f"A# #A to {NONE}, B# #B to {NONE}, A# #B to #B A#, B# #A to #A B#. "
    "Rewrite: {program}"
)


def config_of(items: list[str]) -> dict:
    """What is kept of a program: its symbols, the rewrites it needs, the level."""
    steps = rewrites(items)
    return {"items": items, "rewrites": steps, "level": level_of(steps)}


def prompt_of(config: dict) -> str:
    """The prompt for pretrained students."""
    return _PROMPT.format(program=spaced(config["items"]))


def short_prompt_of(config: dict) -> str:
    """The prompt for small vocabularies."""
    return _SHORT.format(program=spaced(config["items"]))


def generator(
    prompt_of: Callable[[dict], str],
) -> Callable[[random.Random, int], tuple[str, dict]]:
    """`generate` of an environment with this prompt."""

    def generate(rng: random.Random, difficulty: int) -> tuple[str, dict]:
        config = config_of(program(rng, difficulty))
        return prompt_of(config), config

    return generate


def check(config: dict, answer: str, verifier: str = "closed") -> bool | None:
    """Whether the answer is the final state; None if it is not made of symbols."""
    if len(answer) > LONGEST:
        return None
    got = symbols(answer, ALPHABET)
    return None if got is None else got == VERIFIERS[verifier](config["items"])


def judge(config: dict, response: str) -> Verdict:
    """The verdict on the tagged answer of a response; total over all strings."""
    answer = tagged(response)
    return verdict(answer, None if answer is None else check(config, answer))


def key(config: dict) -> str:
    """Equal for one program in whatever form it is asked, so that splits part it."""
    return content_id("programs", spaced(config["items"]))
