"""Answers in mathematics and multiple choice, judged against a gold text.

`judge` gives the verdict on a response; `decide` does so by our own rules alone, and
says what they leave open. `ENVIRONMENTS` has the same as environments.
"""

from routejax.envs.answers.environments import ENVIRONMENTS
from routejax.envs.answers.verdicts import Open, decide, judge

__all__ = ["ENVIRONMENTS", "Open", "decide", "judge"]
