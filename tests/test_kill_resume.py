"""Runs that are killed or asked to stop, and go on: the results are the same bytes."""

import functools
import json
import random
import shutil
import signal
import time

import forked
import pyarrow.parquet as pq
import pytest
from runs import (
    copy,
    end,
    finished,
    logs,
    results,
    run,
    scratch,
    start,
    wait_until,
    warm,
    weights,
)

from routejax import interrupt
from routejax.workdir import read_json

pytestmark = pytest.mark.slow

ROWS = ("sft/metrics.jsonl", "grpo/metrics.jsonl")
SAVING = {
    "checkpoint": "arms/*/*/*/checkpoints/*.orbax-checkpoint-tmp*",
    "weights": "arms/*/*/*/weights.orbax-checkpoint-tmp*",
    "evaluation": "arms/*/*/evaluate_*/parts/*.parquet",
}


def leftovers(root):
    """Unfinished files and folders anywhere in a run."""
    names = ("*.tmp", "*.part", "*orbax-checkpoint-tmp*", "checkpoints", "parts")
    return [p for name in names for p in root.rglob(name) if ".compiled" not in p.parts]


def assert_like_an_uninterrupted_run(root, whole=None):
    whole = whole or finished().root
    assert weights(root) == weights(whole)
    assert logs(root) == logs(whole)
    assert results(root) == results(whole)
    assert leftovers(root) == []


def test_killed_while_it_writes_and_five_times_at_random_moments():
    """While it saves a checkpoint, the weights, samples; then after so many steps."""
    root = warm("killed")
    for what, pattern in SAVING.items():
        process = start(root)
        saving = functools.partial(is_there, root, pattern)
        assert wait_until(saving, process), f"no {what} was ever being written"
        process.kill()
        end(process)
    rng = random.Random(20260924)
    total = sum(map(len, logs(finished().root).values()))
    for _ in range(5):
        process = start(root)
        steps = Steps(root, rng.randint(1, total // 8))
        assert wait_until(steps.done, process), "the run is over before it is killed"
        time.sleep(rng.uniform(0, 0.05))
        process.kill()
        end(process)
    assert run(root).status == 0
    assert_like_an_uninterrupted_run(root)


# Everything that a step may be made of besides: several updates of a rollout, passes
# of rows, prompts sampled in addition, and looks at what is held out. And limits that
# some rows and prompts of RL do not keep.
OPTIONS = (
    "--config.sft.overlong=drop",
    "--config.sft.row_tokens=64",
    "--config.grpo.overlong=drop",
    "--config.decoding.prompt_tokens=10",
    "--config.envs.evaluation=modsum,",
    "--config.problems.evaluation_per_cell=2",
    "--config.sft.device_rows=4",
    "--config.sft.evaluate_every=4",
    "--config.sft.heldout_share=0.1",
    "--config.grpo.updates=2",
    "--config.grpo.device_rows=8",
    "--config.grpo.refill=1",
    "--config.grpo.min_mixed=8",
    "--config.grpo.evaluate_every=2",
    "--config.grpo.evaluate_problems=8",
    "--config.checkpoint.keep_every=3",
)


def test_with_every_option_on_it_is_killed_at_random_steps():
    whole, root = scratch("whole"), scratch("options")
    (ended,) = forked.end(forked.start(whole, *OPTIONS))
    assert ended.status == 0, ended
    sft, grpo = (logs(whole)[f"arms/diverse/seed_0/{x}"] for x in ROWS)
    assert all(("eval_loss" in x) == (x["step"] % 4 == 0) for x in sft[:-1])
    assert [x["step"] for x in grpo if "eval_pass4" in x] == [2, 4]
    assert any(x["refills"] for x in grpo)
    assert_what_is_left_out_is_counted_and_listed(whole)

    shutil.copytree(whole / ".compiled", root / ".compiled")
    rng = random.Random(20260925)
    for least, most in ((1, 6), (5, 9), (3, 7)):
        process = forked.start(root, *OPTIONS)
        steps = Steps(root, rng.randint(least, most))
        assert wait_until(steps.done, process), "the run is over before it is killed"
        time.sleep(rng.uniform(0, 0.05))
        process.kill()
        forked.end(process)
    (ended,) = forked.end(forked.start(root, *OPTIONS))
    assert ended.status == 0, ended
    assert_like_an_uninterrupted_run(root, whole)


def assert_what_is_left_out_is_counted_and_listed(root):
    arm, counts = root / "arms/diverse/seed_0", read_json(root / "pool/counts.json")
    over = {x["id"] for x in lines_of(root / "pool/overlong.jsonl")}
    assert counts["rejected"]["overlong"] == len(over) > 0
    chosen = pq.read_table(root / "select/diverse.parquet").to_pylist()
    prompts = {x["id"]: x["prompt"] for x in chosen}
    assert len(prompts) == 96  # as many as are asked for, in spite of those
    assert over.isdisjoint(prompts)
    kept = {x["id"]: x["side"] for x in lines_of(arm / "sft/sides.jsonl")}
    facts = read_json(arm / "sft/examples.json")
    assert facts["heldout"] + facts["aside"] == len(kept) == 10
    assert [*kept.values()].count("heldout") == facts["heldout"]
    out = {prompts.pop(name) for name, side in kept.items() if side == "heldout"}
    assert out.isdisjoint(prompts.values())
    assert read_json(arm / "sft/recipe.json")["examples"] == 86

    over = {x["id"] for x in lines_of(root / "pool/rl_overlong.jsonl")}
    assert counts["rl"]["overlong"] == len(over) > 0
    assert {x["id"] for x in lines_of(arm / "grpo/overlong.jsonl")} == over
    assert {x["overlong"] for x in lines_of(arm / "grpo/metrics.jsonl")} == {len(over)}
    for path in (arm / "grpo/rollouts").glob("*.parquet"):
        assert over.isdisjoint(pq.read_table(path)["problem"].to_pylist())


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


class Steps:
    """Whether a run has logged so many steps since this was made.

    Steps and not seconds, so that a slow machine is killed at the same places.
    """

    def __init__(self, root, wanted):
        self._root, self._wanted, self._seen = root, wanted, {}
        self._look()

    def done(self):
        self._wanted -= self._look()
        return self._wanted <= 0

    def _look(self):
        """Logs that have grown since the last look; on resuming they may shrink."""
        paths = self._root.glob("arms/*/*/*/metrics.jsonl")
        sizes = {path: path.stat().st_size for path in paths}
        grown = sum(size > self._seen.get(path, 0) for path, size in sizes.items())
        self._seen = sizes
        return grown


def is_there(root, pattern):
    return any(root.glob(pattern))


@pytest.mark.parametrize(
    ("number", "stage"), [(signal.SIGTERM, "sft"), (signal.SIGINT, "grpo")]
)
def test_asked_to_stop_it_saves_its_step_and_says_so(number, stage):
    """Begins where all is done but this stage of one arm and what follows it."""
    root = copy("asked")
    stages = ["sft", "evaluate_sft", "grpo", "evaluate_grpo"]
    for name in stages[stages.index(stage) :]:
        shutil.rmtree(root / "arms/similar/seed_0" / name)
    log = root / "arms/similar/seed_0" / stage / "metrics.jsonl"
    process = start(root)
    assert wait_until(lambda: log.exists() and log.stat().st_size, process)
    process.send_signal(number)
    ended = end(process)
    assert ended.status == 75
    assert ended.err == (
        f"{interrupt.waits(number.name)}\n"
        f"routejax: stopped by {number.name}; everything finished is saved, "
        "run the same command to go on\n"
    )
    done = len(log.read_text().splitlines())
    saved = [int(p.name) for p in (log.parent / "checkpoints").iterdir()]
    assert max(saved) == done
    assert f"similar seed 0 {stage}: {done}/" in ended.out
    assert run(root).status == 0
    assert_like_an_uninterrupted_run(root)
