"""The main job in two processes: killed, asked to stop, and the results of one."""

import shutil
import signal
import socket
import time

import pytest
from forked import end, fork, start
from runs import logs, results, scratch, wait_until, weights

from routejax import processes


def coordinator():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{found.getsockname()[1]}"


def start_two(root, *flags):
    """Two processes of one run, with a device each."""
    of_both = (*flags, f"--coordinator={coordinator()}", "--processes=2")
    return [start(root, *of_both, f"--process={i}") for i in range(2)]


def lines(log):
    return log.read_bytes().count(b"\n") if log.exists() else 0


def said(ended):
    """Lines on stdout but for those of the CPUs' network library."""
    return [x for x in ended.out.splitlines() if not x.startswith("[Gloo]")]


def assert_equal_runs(found, wanted):
    assert weights(found) == weights(wanted)
    assert logs(found) == logs(wanted)
    assert results(found) == results(wanted)


def leave_one_after_the_other(where, number):
    processes.join(where, 2, number)
    with processes.ending():
        pass
    time.sleep(2 * number)
    processes.leave(0)


def test_the_first_waits_for_the_other_at_the_end_whatever_ends_its_interpreter():
    where = coordinator()
    both = end(*(fork(leave_one_after_the_other, where, number) for number in (0, 1)))
    assert [ended.status for ended in both] == [0, 0], both


@pytest.mark.slow
def test_two_processes_are_killed_and_stopped_and_end_as_one_does():
    alone, root = scratch("alone"), scratch("two")
    (ended,) = end(start(alone, devices=2))
    assert ended.status == 0, ended
    assert len({*weights(alone).values()}) == 2  # RL has moved them

    # A kill of one ends the other.
    log = root / "arms/diverse/seed_0/sft/metrics.jsonl"
    pair = start_two(root)
    assert wait_until(lambda: lines(log) >= 3, pair[0])
    pair[1].kill()
    assert all(ended.status != 0 for ended in end(*pair))

    # A signal to the one that writes nothing stops both after the same step.
    before, pair = lines(log), start_two(root)
    assert wait_until(lambda: lines(log) > before + 2, pair[0])
    pair[1].send_signal(signal.SIGTERM)
    stopped = end(*pair)
    assert [ended.status for ended in stopped] == [75, 75], stopped
    assert said(stopped[1]) == []
    saved = [int(path.name) for path in (log.parent / "checkpoints").iterdir()]
    assert max(saved) == lines(log) < len(logs(alone)[str(log.relative_to(root))])

    # One process goes on with what two have begun, and so do two.
    one = scratch("one")
    shutil.copytree(root, one, ignore=shutil.ignore_patterns(".compiled"))
    shutil.copytree(alone / ".compiled", one / ".compiled")
    (ended,) = end(start(one, devices=2))
    assert ended.status == 0, ended
    assert_equal_runs(one, alone)
    both = end(*start_two(root))
    assert [ended.status for ended in both] == [0, 0], both
    assert said(both[1]) == []
    assert_equal_runs(root, alone)


@pytest.mark.slow
def test_a_mistake_in_the_work_of_the_first_is_told_by_both():
    """Prompts too long for the sampler: found by the first alone, after a while."""
    root = scratch("wrong")
    ended = end(*start_two(root, "--config.decoding.prompt_tokens=3"))
    assert [one.status for one in ended] == [2, 2]
    for one in ended:
        assert "have more than decoding.prompt_tokens 3 tokens" in one.err
        assert "Traceback" not in one.err
