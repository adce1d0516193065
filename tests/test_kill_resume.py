"""Runs that are killed or asked to stop, and go on: the results are the same bytes."""

import functools
import random
import shutil
import signal
import time

import pytest
from runs import (
    copy,
    end,
    finished,
    is_running,
    logs,
    results,
    run,
    start,
    wait_until,
    warm,
)

pytestmark = pytest.mark.slow

SAVING = {
    "checkpoint": "arms/*/*/*/checkpoints/*.orbax-checkpoint-tmp*",
    "weights": "arms/*/*/*/weights.orbax-checkpoint-tmp*",
}


def leftovers(root):
    """Unfinished files and folders anywhere in a run."""
    names = ("*.tmp", "*.part", "*orbax-checkpoint-tmp*", "checkpoints", "parts")
    return [p for name in names for p in root.rglob(name) if ".compiled" not in p.parts]


def assert_like_an_uninterrupted_run(root):
    assert results(root) == results(finished().root)
    assert logs(root) == logs(finished().root)
    assert leftovers(root) == []


def test_killed_while_it_writes_and_five_times_at_random_moments():
    """In the middle of a checkpoint, in the middle of the weights, then anywhere."""
    root = warm("killed")
    for what, pattern in SAVING.items():
        process = start(root)
        saving = functools.partial(is_there, root, pattern)
        assert wait_until(saving, process), f"no {what} was ever being written"
        process.kill()
        end(process)
    rng = random.Random(20260924)
    hits = 0
    for _ in range(5):
        process = start(root)
        if wait_until(lambda: is_running(root), process):
            time.sleep(rng.uniform(0.01, 0.12) * finished().wall_s)
        hits += process.poll() is None
        process.kill()
        end(process)
    assert hits >= 3, "the run is over before it is killed; kill it earlier"
    assert run(root).status == 0
    assert_like_an_uninterrupted_run(root)


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
        f"routejax: stopped by {number.name}; everything finished is saved, "
        "run the same command to go on\n"
    )
    done = len(log.read_text().splitlines())
    saved = [int(p.name) for p in (log.parent / "checkpoints").iterdir()]
    assert max(saved) == done
    assert f"similar seed 0 {stage}: {done}/" in ended.out
    assert run(root).status == 0
    assert_like_an_uninterrupted_run(root)
