"""Runs that are killed or asked to stop, and go on: the results are the same bytes."""

import random
import re
import shutil
import signal
import time

import pytest
from runs import end, finished, is_running, logs, results, run, start, wait_until, warm

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


def test_killed_five_times_at_random_moments():
    root = warm("killed")
    rng = random.Random(20260924)
    hits = 0
    for _ in range(5):
        process = start(root)
        if wait_until(lambda: is_running(root), process):
            time.sleep(rng.uniform(0.5, 6.0))
        hits += process.poll() is None
        process.kill()
        end(process)
    assert hits >= 3, "the run is over before it is killed; kill it earlier"
    assert run(root).status == 0
    assert_like_an_uninterrupted_run(root)


def test_killed_while_it_writes():
    """Checkpoints and weights are killed half-written, several of each."""
    root = warm("writing")
    for what, times in (("checkpoint", 2), ("weights", 1)):
        for _ in range(times):
            process = start(root)

            def saving(pattern=SAVING[what]):
                return any(root.glob(pattern))

            assert wait_until(saving, process), f"no {what} was ever being written"
            process.kill()
            end(process)
    assert run(root).status == 0
    assert_like_an_uninterrupted_run(root)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_asked_to_stop_it_saves_its_step_and_says_so(number):
    root = warm("asked")
    log = root / "arms/diverse/seed_0/sft/metrics.jsonl"
    if number == signal.SIGINT:  # stop in RL: begin with SFT done
        shutil.copytree(finished().root, root, dirs_exist_ok=True)
        for stage in ("grpo", "evaluate_grpo"):
            shutil.rmtree(root / "arms/diverse/seed_0" / stage)
        log = root / "arms/diverse/seed_0/grpo/metrics.jsonl"
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
    again = run(root)
    assert again.status == 0
    assert re.search(rf"diverse seed 0 {log.parent.name}: (\d+)/\1 .*done", again.out)
    assert_like_an_uninterrupted_run(root)
