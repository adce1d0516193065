"""Mistakes that trainers have made with data, packing and going on after a stop.

One test for each, named after what one would see.
"""

import dataclasses
import io
import json

import numpy as np
import optax
import pytest
from played_rollouts import PROBLEMS, letters, source_of, verdict
from rich.console import Console

from routejax import checkpoints, grpo, loop, progress, rollout, sft, update
from routejax.errors import UserError
from routejax.packing import Example, pack
from routejax.rollout import Decoding
from routejax.scoring import rows, score

DECODING = Decoding(
    slots=8, refill_at=1, max_new_tokens=5, prompt_tokens=8, temperature=1.0
)
ASKED = [
    dataclasses.replace(problem, prompt=text)
    for problem, text in zip(PROBLEMS, ("ab", "bc", "cd", "de", "ea"), strict=False)
]
STEPS = 4
RULE = optax.adam(0.02)
SETTINGS = {"updates": 2, "groups": "all", "row_multiple": 16}  # one shape for all


def test_an_overlong_prompt_is_not_cut_silently(student, params):
    long = dataclasses.replace(PROBLEMS[0], prompt="abcdefgh")
    with pytest.raises(UserError, match=f"{long.id}.*10 tokens, the limit is 8"):
        rollout.rollout(
            *(student, params, letters(), [*ASKED[:2], long]),
            **{"samples": 2, "seed": 0, "step": 0, "decoding": DECODING},
        )


def test_an_overlong_example_is_not_cut_silently():
    examples = [Example([2, 4], [5, 3]), Example([2, 4, 5], [6, 7, 3])]
    with pytest.raises(UserError, match="6 tokens but a row holds 5"):
        sft.batch(examples, row_tokens=5, row_multiple=1)


@pytest.fixture
def run(student, params, tmp_path):
    """Trains by real samples in a folder; `fails_at` is a step that never ends."""

    def roll(policy, problems, step):
        if step == run.fails_at:
            raise ConnectionError
        found = rollout.rollout(
            *(student, policy, letters(), problems),
            **{"samples": 4, "seed": 1, "step": step, "decoding": DECODING},
        )
        # Right is what has an even sum of ids, so that there are mixed groups.
        right = [sum(example.response) % 2 == 0 for example in found.examples]
        rewards = np.array(right, float).reshape(-1, 4)
        return dataclasses.replace(
            found,
            verdicts=[verdict(x) for x in right],
            rewards=rewards,
            truncated=np.zeros(len(right), bool),
        )

    def run(name, fails_at=None):
        run.fails_at = fails_at
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        log = folder / "log.jsonl"
        with (
            checkpoints.opened(folder / "c", keep=2, every_s=0.0) as saved,
            progress.track(Console(file=io.StringIO()), "t", STEPS, "steps") as shown,
        ):
            after = loop.train(
                update.start(params, RULE),
                source_of(student, params, roll=roll, problems=ASKED, **SETTINGS),
                grpo.loss(student, grpo.PRESETS["paper"], beta=0.01, temperature=1.0),
                RULE,
                steps=STEPS,
                checkpoints=saved,
                log=log,
                progress=shown,
            )
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        return update.checksum(after), [
            {k: v for k, v in row.items() if not k.endswith("_s")} for row in lines
        ]

    return run


def test_the_first_samples_after_a_resume_are_of_the_restored_weights(run):
    """Sampler and trainer agree at every step, and all is as if nothing had stopped."""
    whole = run("whole")
    with pytest.raises(ConnectionError):
        run("stopped", fails_at=2)
    resumed = run("stopped")
    assert resumed == whole
    assert [row["step"] for row in resumed[1]] == [1, 2, 3, 4]
    for row in resumed[1]:
        assert row["logp_gap"] < 1e-4
        assert row["mixed_groups"] > 0
    # The weights have moved by far more than that, so old ones would be seen.
    assert resumed[1][2]["policy_gap"] > 0.01
    assert resumed[1][2]["kl"] > 1e-4


def test_packed_examples_do_not_see_each_other(student, params):
    """Together and apart they have the same log-probabilities; no label is across."""
    examples = [Example([2, 4, 5], [6, 3]), Example([2, 7], [8, 9, 3])]
    together = pack(examples, row_tokens=10)
    assert len(together.tokens) == 1
    logps = np.asarray(score(student, params, rows(together)).logps)
    for number, example in enumerate(examples):
        alone = pack([example], row_tokens=10)
        wanted = np.asarray(score(student, params, rows(alone)).logps)[alone.response]
        own = together.response & (together.example == number)
        np.testing.assert_allclose(logps[own], wanted, atol=1e-5)
    batch = sft.batch(examples, row_tokens=10, row_multiple=1)
    kept = np.asarray(batch.weights)[0] > 0
    assert np.asarray(batch.rows.tokens)[0, kept].tolist() == [6, 3, 8, 9, 3]
    # The first token of an example is never a label: nothing of its own is before it.
    starts = np.flatnonzero(np.asarray(batch.rows.positions)[0] == 0)
    assert not kept[starts].any()
