"""The main job in real processes that cost no imports: forked where these are done.

They are killed, and get signals, like those of a user's shell; the entry is the same.
Imports would take longer than all that such a small run computes; so would a compiler
that does its best.
"""

import atexit
import os
import sys
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from runs import ROOT, SMOKE, WAIT_S, Ended

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
    """A process of the main job, `SMALL`, with so many CPU devices."""
    number = len([*root.parent.glob("said-*")])
    said = root.parent / f"said-{number}"
    said.mkdir(parents=True)
    argv = ["routejax.train", SMOKE, f"--workdir={root}", *SMALL, *flags]
    process = _FORKS.Process(target=_work, args=(argv, devices, said))
    process.start()
    return Forked(process, said)


def end(*started: Forked) -> list[Ended]:
    """How each ended; a hang is ended too."""
    for one in started:
        one.process.join(WAIT_S)
    for one in started:
        one.process.kill()
        one.process.join()
    return [
        Ended(one.poll(), *((one.said / x).read_text() for x in ("out", "err")))
        for one in started
    ]


def _work(argv, devices, said):
    for number, name in ((1, "out"), (2, "err")):
        with (said / name).open("wb") as file:
            os.dup2(file.fileno(), number)
    os.environ.pop("XLA_FLAGS", None)  # the devices of the tests themselves
    import jax  # noqa: PLC0415

    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_disable_most_optimizations", True)
    jax.config.update("jax_num_cpu_devices", devices)
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    from routejax import interrupt, train  # noqa: PLC0415

    interrupt.leave_at_once()
    sys.argv = argv
    os.chdir(ROOT)
    try:
        train.entry()
    finally:  # a forked process leaves these out; jax's waits for the other processes
        atexit._run_exitfuncs()
