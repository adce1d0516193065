"""Training and sampling beside google-tunix: the same Qwen3, the same shapes.

    python -m tests.benchmarks.tunix --tunix-python VENV/bin/python [--rounds 3]
        [--shapes base,…] [--parts sft,sampler,grpo] [--json]

google-tunix has an environment of its own, because its versions are not ours:

    python3 -m venv VENV && VENV/bin/pip install google-tunix==0.1.7

Every round runs ours, then Tunix, each in a process of its own with one compilation
cache for all rounds; a step is measured after two that compile and settle. What counts
is CPU seconds of all threads, which other programs on the machine disturb least:

    sft      one update on rows of random tokens, packing included
    sampler  seconds per new token; every row has its own prompt
    grpo     samples (four to a prompt), reference log-probabilities, one update

Both take AdamW; ours also clips the gradient. Both train in passes of four rows and add
up the gradients, which makes an SFT step of Tunix faster than all rows at once. Both
sample all rows at once and take the reference's log-probabilities by four rows.

Both start from the same weights. In the first round each also says what it works out:
the losses of three updates, and the responses at temperature 0. These must agree, as
must the number of new tokens of every step, or there is nothing to compare.

With `--json` the last line is an object: `ours_over_tunix` by shape and part (medians
over the rounds), `rounds`, `versions`, `agreement`, and `bars` with those that are not
met. The exit status is 1 if there are any.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.benchmarks.tiny_qwen3 import SHAPES

ROOT = Path(__file__).parents[2]
BARS = {"sft": 0.8, "sampler": 0.5, "grpo": 0.5}  # ours over theirs, at most
SAME_LOSS = 1e-5  # relative; float32 sums in another order
SIDES = {
    "ours": "tests.benchmarks.tunix_ours",
    "tunix": "tests.benchmarks.tunix_theirs",
}


def require_tunix(python: str) -> None:
    """Leaves with a message where that interpreter has no Tunix."""
    found = "import importlib.util as u, sys; sys.exit(not u.find_spec('tunix.rl'))"
    try:
        done = subprocess.run([python, "-c", found], capture_output=True, check=False)
        missing = done.returncode != 0
    except OSError:
        missing = True
    if missing:
        sys.exit(
            f"tunix: {python} cannot import google-tunix. Make an environment for it "
            "(python3 -m venv VENV && VENV/bin/pip install google-tunix==0.1.7) and "
            "give its interpreter: --tunix-python VENV/bin/python"
        )


def measured(side: str, python: str, cache: Path, *given: str) -> dict[str, Any]:
    """What one side says in a process of its own."""
    done = subprocess.run(
        [python, "-W", "ignore", "-m", SIDES[side], *given],
        cwd=ROOT,
        env=os.environ
        | {"JAX_PLATFORMS": "cpu", "JAX_COMPILATION_CACHE_DIR": str(cache / side)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"tunix: the side {side} failed:\n{done.stderr[-4000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def costs(said: dict[str, Any]) -> dict[str, dict[str, float]]:
    """By shape and part: CPU seconds of a step, for the sampler of a new token."""
    found: dict[str, dict[str, float]] = {}
    for one in said["measured"]:
        per = one["tokens"] if one["part"] == "sampler" else 1
        found.setdefault(one["shape"], {})[one["part"]] = one["cpu_s"] / per
    return found


def agreement(said: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """How far the answers of both sides are apart.

    Leaves with a message where they did not do the same work.
    """
    ours, theirs = (said[side]["answers"] for side in SIDES)
    losses = list(zip(ours["losses"], theirs["losses"], strict=True))
    apart = max(abs(a - b) / b for a, b in losses)
    rows = list(zip(ours["likeliest"], theirs["likeliest"], strict=True))
    equal = sum(a == b for a, b in rows)
    new = [[one["tokens"] for one in said[side]["measured"]] for side in SIDES]
    if apart > SAME_LOSS or equal < len(rows) or new[0] != new[1]:
        sys.exit(
            f"tunix: the sides do not do the same. Losses (ours, theirs): {losses}; "
            f"equal responses at temperature 0: {equal} of {len(rows)}; tokens of a "
            f"step: {new}"
        )
    return {"losses": losses, "loss_apart": apart, "equal_responses": equal}


def ratios(rounds: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Median over the rounds of ours, over that of Tunix."""

    def median(side: str, shape: str, part: str) -> float:
        return statistics.median(one[side][shape][part] for one in rounds)

    return {
        shape: {
            part: round(median("ours", shape, part) / median("tunix", shape, part), 3)
            for part in parts
        }
        for shape, parts in rounds[0]["ours"].items()
    }


def missed(found: dict[str, dict[str, float]]) -> list[str]:
    return [
        f"{part}, {shape}: {value} is above {BARS[part]}"
        for shape, parts in found.items()
        for part, value in parts.items()
        if value > BARS[part]
    ]


def main() -> int:
    flags = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    flags.add_argument("--tunix-python", default=sys.executable, help="its interpreter")
    flags.add_argument("--rounds", type=int, default=3)
    flags.add_argument("--shapes", default=",".join(SHAPES))
    flags.add_argument("--parts", default=",".join(BARS))
    flags.add_argument("--json", action="store_true", help="last line as an object")
    given = flags.parse_args()
    require_tunix(given.tunix_python)
    pythons = {"ours": sys.executable, "tunix": given.tunix_python}
    asked = (f"--shapes={given.shapes}", f"--parts={given.parts}")
    rounds, versions, agreed = [], {}, {}
    with tempfile.TemporaryDirectory() as cache:
        for number in range(given.rounds):
            one, said = {}, {}
            first = () if number else ("--answers",)
            for side, python in pythons.items():
                said[side] = measured(side, python, Path(cache), *asked, *first)
                one[side] = costs(said[side])
                versions[side] = said[side]["versions"]
                print(f"round {number + 1}, {side}: {one[side]}", flush=True)
            rounds.append(one)
            agreed = agreed or agreement(said)
    found = ratios(rounds)
    for shape, parts in found.items():
        shown = ", ".join(f"{part} {value:.2f}" for part, value in parts.items())
        print(f"{shape}: ours over Tunix, {shown}")
    bars = missed(found)
    print("\n".join(bars) or "every bar is met")
    if given.json:
        told = {
            "ours_over_tunix": found,
            "rounds": rounds,
            "versions": versions,
            "agreement": agreed,
            "bars": {"limits": BARS, "missed": bars},
        }
        print(json.dumps(told))
    return int(bool(bars))


if __name__ == "__main__":
    sys.exit(main())
