"""The parts of a job as an Apache Beam pipeline, for corpora that outgrow a machine.

    numbers of parts ─reshuffle→ workers, each part by itself → two files per part

A worker opens the job from its settings and writes the files of a part as any other run
does, so every worker must see the pool and the folder under the same paths: on one
machine, on a shared file system, or in a bucket that is mounted as one. Moments and
manifest are collected afterwards by the process that began.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import Any

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions

from routejax.errors import UserError
from routejax.features.claim import claim
from routejax.features.collect import missing
from routejax.features.folder import is_done
from routejax.features.job import Job, open_job
from routejax.features.run import write_part

_WHERE = " [while running"  # what Beam adds to an error of the work
_OF_BEAM = ("DirectRunner", "DataflowRunner", "InteractiveRunner")


class MakePart(beam.DoFn):
    """Writes the files of the part with this number, and yields the number."""

    def __init__(self, settings: Mapping[str, Any], root: str):
        self._settings, self._root = dict(settings), root
        self._job: Job | None = None

    def process(self, element: int) -> Iterator[int]:
        self._job = self._job or open_job(**self._settings)
        part, root = self._job.parts[element], Path(self._root)
        if not is_done(root, part):  # a worker may be given a part twice
            write_part(self._job, root, part)
        yield element


def run(
    settings: Mapping[str, Any],
    root: Path,
    *,
    runner: str,
    options: Sequence[str] = (),
) -> None:
    """Makes every part of the job that is not there yet; waits for the end.

    `settings` are the arguments of `open_job`, `options` the runner's own.

    Raises:
        UserError: the folder is another job's; Beam does not know the runner or one of
            its options, or cannot reach it; the pool is damaged.
    """
    job = open_job(**settings)
    claim(root, job)
    flags = _options(runner, options)
    with _usable(runner), beam.Pipeline(options=flags) as pipeline:
        _ = (
            pipeline
            | "Number" >> beam.Create(missing(job, root))
            | "Spread" >> beam.Reshuffle()
            | "Make" >> beam.ParDo(MakePart(settings, str(root.absolute())))
        )


def _options(runner: str, options: Sequence[str]) -> PipelineOptions:
    """The runner's options, read.

    Raises:
        UserError: a value that is none of its option; an option that does not exist,
            where Beam itself and not a server of the runner's has the list of them.
    """
    flags = PipelineOptions([f"--runner={runner}", *options])
    said = io.StringIO()
    try:
        with redirect_stderr(said), _quiet():
            known = flags.get_all_options()
            given = flags.get_all_options(retain_unknown_options=True)
    except SystemExit as error:  # how its parser ends, after a page of usage
        reason = said.getvalue().strip().rpartition("error: ")[2]
        raise UserError(f"beam.options cannot be used: {reason}") from error
    unknown = sorted(given.keys() - known.keys())
    if unknown and runner.endswith(_OF_BEAM):
        names = ", ".join(f"--{name}" for name in unknown)
        raise UserError(f"beam.options: {runner} has no option {names}; remove it")
    return flags


@contextmanager
def _usable(runner: str) -> Iterator[None]:
    """Raises: UserError, where the runner fails and not the work that it is given."""
    try:
        with _quiet():
            yield
    except UserError as error:
        raise UserError(str(error).partition(_WHERE)[0]) from error
    except (ValueError, ImportError, AttributeError, RuntimeError, OSError) as error:
        _, of_ours, told = str(error).rpartition(f"{UserError.__name__}: ")
        if of_ours:
            raise UserError(told.partition(_WHERE)[0].strip()) from error
        if _WHERE in str(error):
            raise  # a defect of the work
        reason = " ".join(str(error).split())
        raise UserError(f"beam.runner {runner!r} cannot be used: {reason}") from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what Beam logs of errors that are told, and of options looked at."""
    handlers = logging.getLogger().handlers
    for handler in handlers:
        handler.addFilter(_is_news)
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(_is_news)


def _is_news(record: logging.LogRecord) -> bool:
    raised = record.exc_info[1] if record.exc_info else None
    text = record.getMessage()
    told = UserError.__name__ in text or "Discarding unparseable args" in text
    return not (told or isinstance(raised, UserError))
