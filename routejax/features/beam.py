"""The parts of a job as an Apache Beam pipeline, for corpora that outgrow a machine.

    numbers of parts ─reshuffle→ workers, each part by itself → two files per part

A worker opens the job from its settings and writes the files of a part as any other run
does, so every worker must see the pool and the folder under the same paths: on one
machine, on a shared file system, or in a bucket that is mounted as one. Moments and
manifest are collected afterwards by the process that began.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
        UserError: the folder is another job's; Beam does not know the runner.
    """
    job = open_job(**settings)
    claim(root, job)
    try:
        flags = PipelineOptions([f"--runner={runner}", *options])
        pipeline = beam.Pipeline(options=flags)
    except (ValueError, ImportError, AttributeError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"beam.runner {runner!r} cannot be used: {reason}") from error
    with pipeline:
        _ = (
            pipeline
            | "Number" >> beam.Create(missing(job, root))
            | "Spread" >> beam.Reshuffle()
            | "Make" >> beam.ParDo(MakePart(settings, str(root.absolute())))
        )
