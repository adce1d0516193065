"""The main job in two processes: killed, asked to stop, and the results of one."""

import os
import signal
import socket
import subprocess
import sys

import pytest
from runs import ROOT, SMOKE, WAIT_S, Ended, logs, results, scratch, wait_until

pytestmark = pytest.mark.slow

FLAGS = ("--config.arms=diverse,", "--config.checkpoint.every_s=0")


def start(root, count, *more):
    """The processes of a run on two devices, `count` of them, with CPU devices each."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    env = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS"}
    env |= {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": str(2 // count)}
    env |= {"JAX_CPU_COLLECTIVES_IMPLEMENTATION": "gloo"}
    command = [sys.executable, "-m", "routejax.train", SMOKE, f"--workdir={root}"]
    of_all = ["--coordinator", f"127.0.0.1:{port}", f"--processes={count}"]
    return [
        subprocess.Popen(
            [*command, *FLAGS, *more, *of_all, f"--process={i}"]
            if count > 1
            else [*command, *FLAGS],
            cwd=ROOT,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for i in range(count)
    ]


def end(processes):
    """How each ended; a hang is ended too."""
    try:
        found = [process.communicate(timeout=WAIT_S) for process in processes]
    finally:
        for process in processes:
            process.kill()
    codes = [process.returncode for process in processes]
    return [Ended(code, *said) for code, said in zip(codes, found, strict=True)]


def test_two_processes_are_killed_and_stopped_and_end_as_one_does():
    alone, root = scratch("alone"), scratch("two")
    assert [ended.status for ended in end(start(alone, 1))] == [0]

    # A kill of one ends the other; both are started again.
    log = root / "arms/diverse/seed_0/sft/metrics.jsonl"
    pair = start(root, 2)
    assert wait_until(lambda: lines(log) >= 5, pair[0])
    pair[1].kill()
    assert all(ended.status != 0 for ended in end(pair))

    # A signal to the one that writes nothing stops both after the same step.
    before, pair = lines(log), start(root, 2)
    assert wait_until(lambda: lines(log) > before + 5, pair[0])
    pair[1].send_signal(signal.SIGTERM)
    stopped = end(pair)
    assert [ended.status for ended in stopped] == [75, 75], stopped
    saved = [int(path.name) for path in (log.parent / "checkpoints").iterdir()]
    assert max(saved) == lines(log)
    assert said(stopped[1]) == []

    ended = end(start(root, 2))
    assert [one.status for one in ended] == [0, 0], ended
    assert said(ended[1]) == []
    assert results(root) == results(alone)
    assert logs(root) == logs(alone)


def said(ended):
    """Lines on stdout but for those of the CPUs' network library."""
    return [x for x in ended.out.splitlines() if not x.startswith("[Gloo]")]


def lines(log):
    return len(log.read_text().splitlines()) if log.exists() else 0


def test_a_mistake_in_the_work_of_the_first_is_told_by_both():
    """Prompts too long for the sampler: found by the first alone, after a while."""
    root = scratch("wrong")
    ended = end(start(root, 2, "--config.decoding.prompt_tokens=3"))
    assert [one.status for one in ended] == [2, 2]
    for one in ended:
        assert "decoding.prompt_tokens is 3" in one.err
        assert "Traceback" not in one.err
