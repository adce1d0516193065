"""The main job in real processes that cost no imports: forked where these are done.

They are killed, and get signals, like those of a user's shell; the entry is the same.
Imports would take longer than all that such a small run computes; so would a compiler
that does its best.
"""

import os
import sys
import time
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from runs import ROOT, SMOKE, WAIT_S, Ended, scratch

_FORKS = get_context("forkserver")
_FORKS.set_forkserver_preload(["routejax.train"])


# The smoke recipe with less of everything, in few shapes; RL moves the weights.
SMALL = (
    "--config.arms=diverse,",
    "--config.checkpoint.every_s=0",
    "--config.logging.tensorboard=False",
    "--config.pool.prompts_per_cell=30",
    "--config.selection.n=96",
    "--config.envs.rl=modsum,count",
    "--config.envs.evaluation=modsum,count",
    "--config.problems.evaluation_per_cell=1",
    "--config.sft.epochs=3",
    "--config.sft.optimiser.name=adamw",
    "--config.grpo.steps=4",
)


class Forked(NamedTuple):
    """A process and the files that it prints into."""

    process: object
    said: Path

    def poll(self):
        return self.process.exitcode

    def kill(self):
        self.process.kill()

    def send_signal(self, number):
        os.kill(self.process.pid, number)


def start(root: Path, *flags: str, devices: int = 1) -> Forked:
    """A process of the main job, `SMALL` but for `flags`, with so many CPU devices."""
    given = {flag.partition("=")[0] for flag in flags}
    small = (flag for flag in SMALL if flag.partition("=")[0] not in given)
    argv = ["routejax.train", SMOKE, f"--workdir={root}", *small, *flags]
    return fork(_job, argv, devices=devices)


def fork(work, *args: object, devices: int = 1) -> Forked:
    """A process that does `work`, a function of a module, and nothing at its end."""
    said = scratch("said")
    said.mkdir()
    process = _FORKS.Process(target=_alone, args=(work, args, devices, said))
    process.start()
    return Forked(process, said)


def end(*started: Forked) -> list[Ended]:
    """How each ended; a hang is ended too."""
    until = time.monotonic() + WAIT_S
    for one in started:
        one.process.join(max(0.0, until - time.monotonic()))
    for one in started:
        one.process.kill()
        one.process.join()
    return [
        Ended(one.poll(), *((one.said / x).read_text() for x in ("out", "err")))
        for one in started
    ]


def _alone(work, args, devices, said):
    for number, name in ((1, "out"), (2, "err")):
        with (said / name).open("wb") as file:
            os.dup2(file.fileno(), number)
    os.environ.pop("XLA_FLAGS", None)  # the devices of the tests themselves
    import jax  # noqa: PLC0415

    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_disable_most_optimizations", True)
    jax.config.update("jax_num_cpu_devices", devices)
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    work(*args)


def _job(argv):
    from routejax import interrupt, train  # noqa: PLC0415

    interrupt.leave_at_once()
    sys.argv = argv
    os.chdir(ROOT)
    train.entry()
