"""The parts of one shard, made by threads, each written when it is done.

A part is done when its JSON is there; it is written after the Parquet file, and both
appear whole or not at all. So a run that was killed goes on at the next part.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from queue import SimpleQueue

from rich.console import Console

from routejax import fingerprints
from routejax.errors import UserError
from routejax.features import folder
from routejax.features.claim import claim
from routejax.features.job import MOST_THREADS, Job, at_least_one
from routejax.features.part import part_files
from routejax.pools import Part
from routejax.progress import Stage, track


def run_shard(
    job: Job, root: Path, shard: tuple[int, int], threads: int, console: Console
) -> None:
    """Makes the parts of shard (k, n) that are not there yet.

    The pool's parts are cut into n runs of about equal length, numbered from 1: parts
    that follow each other are read fastest. Several shards may be made at once over one
    folder, by processes that share its file system.

    Raises:
        UserError: the folder is another job's or cannot be written; this shard is being
            made by another process; the input is damaged; fewer than one thread.
    """
    at_least_one("threads", threads, at_most=MOST_THREADS)
    claim(root, job)
    number, of = shard
    mine = parts_of(job.parts, shard)
    with folder.locked(root / f".lock-{number}-of-{of}", wait=False):
        todo = [part for part in mine if not folder.is_done(root, part)]
        if note := fingerprints.slow(job.family, job.engine):
            console.print(note, highlight=False)
        name = "fingerprint" if of == 1 else f"fingerprint {number}/{of}"
        rows, ready = (sum(part.rows for part in ps) for ps in (mine, todo))
        with track(console, name, rows, "rows", rows - ready) as stage:
            _work(job, root, todo, threads, stage)


def parts_of(parts: Sequence[Part], shard: tuple[int, int]) -> Sequence[Part]:
    """The parts of shard (k, n); none where there are fewer parts than shards."""
    number, of = shard
    return parts[len(parts) * (number - 1) // of : len(parts) * number // of]


def write_part(job: Job, root: Path, part: Part) -> None:
    """Makes and writes one part; the JSON, which says that it is done, last.

    Raises:
        UserError: the input is damaged or gone, or the folder cannot be written.
    """
    try:
        files = part_files(job, part)
    except OSError as error:
        raise UserError(
            f"pool file {part.path} cannot be read ({error.strerror or error}); bring "
            "it back and run the same command again"
        ) from error
    for kind, data in files.items():
        folder.write(folder.part_path(root, part, kind), data)


def next_part(lanes: Sequence[deque[Part]], lane: int) -> Part | None:
    """The next part of a lane; an empty one first takes half of the longest lane's.

    Each lane stays a run of parts that follow each other, so that a thread reads on
    where it stopped.
    """
    if not lanes[lane]:
        longest = max(lanes, key=len)
        for _ in range((len(longest) + 1) // 2):
            lanes[lane].appendleft(longest.pop())
    return lanes[lane].popleft() if lanes[lane] else None


def _work(
    job: Job, root: Path, todo: Sequence[Part], threads: int, stage: Stage
) -> None:
    """Every part by one of the threads.

    The threads end with the process: an error, or a request to stop, need not wait for
    parts that are half done, for their files appear whole or not at all.
    """
    lanes = [deque(parts_of(todo, (k, threads))) for k in range(1, threads + 1)]
    turn, stop = threading.Lock(), threading.Event()
    made: SimpleQueue[Part | BaseException] = SimpleQueue()

    def work(lane: int) -> None:
        try:
            while not stop.is_set():
                with turn:
                    part = next_part(lanes, lane)
                if part is None:
                    return
                write_part(job, root, part)
                made.put(part)
        except BaseException as error:  # raised again where the parts are awaited
            made.put(error)

    for lane in range(min(threads, len(todo))):
        threading.Thread(target=work, args=(lane,), daemon=True).start()
    try:
        _await(made, len(todo), _bytes_per_row(job), stage)
    finally:
        stop.set()


def _await(
    made: SimpleQueue[Part | BaseException],
    count: int,
    sizes: dict[str, float],
    stage: Stage,
) -> None:
    """Says how far the parts are until `count` of them are made."""
    began, done, size = time.monotonic(), stage.done, 0.0
    for _ in range(count):
        part = made.get()
        if isinstance(part, BaseException):
            raise part
        done += part.rows
        size += part.rows * sizes[part.path]
        rate = size / max(time.monotonic() - began, 1e-9) / 1e6
        stage.update(done, f"{rate:.3g} MB/s of files")


def _bytes_per_row(job: Job) -> dict[str, float]:
    """Bytes of each input file over its rows, to tell how fast the input is read."""
    return {
        source.index.path: Path(source.index.path).stat().st_size
        / max(source.index.rows, 1)
        for source in job.pool.sources
    }
