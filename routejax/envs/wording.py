"""Steps to response text: the four manners in which a route can be written.

- `plain`: opening, steps, answer.
- `check`: after the steps, a blank line and a second computation of another kind.
- `slip`: one step is first written wrong, then called wrong and done again.
- `plan`: the sub-goals stand in place of the opening.

Wordings are drawn once per response, so that the text stays predictable for a small
model; several wordings of one move exist, so that a route is not one fixed phrase.
"""

from __future__ import annotations

import random

from routejax.envs.route import Route, Step

CORRECTIONS = ("Wait, no.", "Actually, no.", "No, that is wrong.")
CHECKS = ("Check:", "Let me check:", "Verify:")


def slip(steps: list[Step], rng: random.Random) -> list[Step]:
    """The steps with one of them preceded by its wrong version and a correction."""
    at = rng.choice([i for i, step in enumerate(steps) if step.wrong])
    wrong = f"{steps[at].wrong} {rng.choice(CORRECTIONS)}"
    return [*steps[:at], Step(wrong), *steps[at:]]


def respond(
    route: Route,
    manner: str,
    config: dict,
    rng: random.Random,
    form: str = "Answer: {}",
) -> str:
    """One response: the route's reasoning in a closed span, then its answer."""
    opening = rng.choice(route.openings)
    steps, answer = route.work(config, rng)
    if manner == "plan":
        opening = str(route.plan)
    if manner == "slip":
        steps = slip(steps, rng)
    reasoning = " ".join([opening, *(step.text for step in steps)])
    if manner == "check":
        again = route.recheck(config, answer)
        reasoning += f"\n\n{rng.choice(CHECKS)} {again}"
    return f"<think> {reasoning} </think> {form.format(answer)}"
