"""An entry on one host or on several: the flags that say so, and who does what.

On several hosts the same command runs on each, with --distributed where jax finds out
by itself how many there are (TPU pods, Slurm), else with --coordinator=HOST:PORT
--processes=N --process=I. The folder of the work must be one that all of them see; the
first process writes it and speaks for all.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NoReturn

import jax
from absl import flags
from rich.console import Console

from routejax import processes
from routejax.program import Work, run_program
from routejax.progress import terminal
from routejax.workdir import opened

DISTRIBUTED = flags.DEFINE_bool("distributed", False, "One of several processes.")
COORDINATOR = flags.DEFINE_string("coordinator", None, "HOST:PORT of process 0.")
PROCESSES = flags.DEFINE_integer("processes", None, "How many processes there are.")
PROCESS = flags.DEFINE_integer("process", None, "Which of them this one is, from 0.")


def run_together(work: Work, config: dict[str, Any], root: Path) -> None:
    """The work, in this process alone or together with others."""
    where = (COORDINATOR.value, PROCESSES.value, PROCESS.value)
    if DISTRIBUTED.value or any(given is not None for given in where):
        processes.join(*where)
    with processes.ending():
        work(config, root)


def console() -> Console:
    """Where the work speaks: the terminal of the first process."""
    return terminal(soft_wrap=True, quiet=not processes.first())


@contextmanager
def opened_by_first(root: Path, config: dict[str, Any]) -> Iterator[None]:
    """`workdir.opened` by the first process, of a folder that all of them see."""
    with ExitStack() as stack:
        processes.first_does(lambda: stack.enter_context(opened(root, config)))
        processes.require_shared(root)
        yield


def compile_once(root: Path) -> None:
    """Keeps compiled programs beside the run, so a restart does not compile again."""
    jax.config.update("jax_compilation_cache_dir", str((root / ".compiled").absolute()))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    # XLA's own caches put the folder's path into every key: a moved run would miss.
    jax.config.update("jax_persistent_cache_enable_xla_caches", "none")


def leave_with(work: Work, default: str) -> NoReturn:
    """Ends this process with the status of the work; `default` is its recipe."""
    status = run_program(work, default=default)
    sys.stdout.flush()
    processes.leave(status)
    sys.exit(status)
