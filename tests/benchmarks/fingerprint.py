"""Speed of `corpus` fingerprints beside other ways to read the same rows.

    python -m tests.benchmarks.fingerprint --traces DIR [--megabytes 300] [--json]

Every Parquet file of DIR (columns `id`, `response` and others, as a pool has them) is
copied with new ids to a temporary folder until there are N megabytes of responses. On
these rows are measured, one after the other in one run:

    engine     arrays engine, one thread of this process: Parquet → 1,738 features
    command    python -m routejax.fingerprint with 1 and 2 threads, files written
    reference  what defines a fingerprint, in plain Python
    regex      one alternation of all cues, searched for and nothing else
    cotstruct, rtsa   published packages that cut a trace into steps and type them

The last four take every k-th row, about `--sample` megabytes, and get their text as
Python strings for nothing: reading, and the import of a package, is not counted. What
is not installed is said in the table (`pip install regex cotstruct rtsa`).

A megabyte is 10⁶ UTF-8 bytes of `response`, for everybody, also where only the
reasoning in it is looked at. CPU seconds are user and system time of all threads;
kernels are compiled before. With `--json` the last line is an object with
`mb_per_cpu_s` and `rows_per_cpu_s` of the engine, and every measurement.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from routejax import fingerprints, pools
from routejax.errors import UserError

ROOT = Path(__file__).parents[2]
FAMILY = fingerprints.FAMILIES["corpus"]
PAPER_MB = 2_142_332 * 30_000 / 1e6  # rows of three released corpora, 30 KB each
CORES = 2

# Runs a command and prints what it used. A process of its own, because a child starts
# with the peak memory of its parent, and this one is small.
_WATCH = """
import json, resource, subprocess, sys, time
began = time.perf_counter()
done = subprocess.run(sys.argv[1:], stdout=-1, stderr=-2, text=True)
wall_s = time.perf_counter() - began
used = resource.getrusage(resource.RUSAGE_CHILDREN)
unit = 1 if sys.platform == "darwin" else 1024
found = dict(status=done.returncode, said=done.stdout[-2000:], wall_s=wall_s)
found |= dict(cpu_s=used.ru_utime + used.ru_stime, peak_mb=used.ru_maxrss * unit / 1e6)
print(json.dumps(found))
"""


class Rows(NamedTuple):
    """Some rows of a pool: their number, and megabytes of their responses."""

    count: int
    megabytes: float


@dataclasses.dataclass(frozen=True)
class Measured:
    """What it took to read some rows; `why_not` instead, if it could not be done."""

    name: str
    rows: int = 0
    megabytes: float = 0.0
    cpu_s: float = math.nan
    wall_s: float = math.nan
    peak_mb: float | None = None
    why_not: str = ""

    @property
    def mb_per_cpu_s(self) -> float:
        return self.megabytes / self.cpu_s

    def as_json(self) -> dict[str, Any]:
        """Facts and rates; those of a measurement that was not made are left out."""
        if self.why_not:
            return {"why_not": self.why_not}
        facts = dataclasses.asdict(self)
        del facts["name"], facts["why_not"]
        return facts | {
            "mb_per_cpu_s": self.mb_per_cpu_s,
            "rows_per_cpu_s": self.rows / self.cpu_s,
            "mb_per_wall_s": self.megabytes / self.wall_s,
            "paper_hours_on_2_cores": self.paper_hours(),
        }

    def paper_hours(self) -> float:
        """Hours for the paper's corpora on two cores that are both kept busy."""
        return PAPER_MB / self.mb_per_cpu_s / CORES / 3600


def repeat(traces: Path, megabytes: float, folder: Path) -> tuple[Rows, int]:
    """Rows of the copies that now lie in `folder`, and how many copies there are.

    Raises:
        UserError: no Parquet file in `traces`, or one without the two columns.
    """
    files = sorted(traces.glob("*.parquet"))
    if not files:
        raise UserError(f"--traces must be a folder of Parquet files, got {traces}")
    once = [_measure_file(file) for file in files]
    count, size = sum(r.count for r in once), sum(r.megabytes for r in once)
    copies = max(1, math.ceil(megabytes / size))
    for file in files:
        table = pq.read_table(file)
        for copy in range(copies):
            ids = pc.call_function(
                "binary_join_element_wise", [table["id"], str(copy), "-"]
            )
            column = table.schema.get_field_index("id")
            renamed = table.set_column(column, "id", ids)
            name = f"{file.stem}-{copy:03d}.parquet"
            pq.write_table(renamed, folder / name, compression="zstd")
    return Rows(count * copies, size * copies), copies


def _measure_file(file: Path) -> Rows:
    names = pq.read_schema(file).names
    if not {"id", "response"} <= set(names):
        raise UserError(
            f"{file} must have columns id and response, got {', '.join(names)}"
        )
    found = _size(pq.read_table(file, columns=["response"])["response"])
    if not found.megabytes:
        raise UserError(f"{file} has no response with text in it")
    return found


def _size(responses: Any) -> Rows:
    sizes = pc.call_function("binary_length", [responses])
    return Rows(len(responses), (pc.call_function("sum", [sizes]).as_py() or 0) / 1e6)


def batches(folder: Path, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """The rows of a folder of pool files, as the command reads them."""
    pool = pools.open_pool(folder)
    for part in pool.parts():
        for batch in pool.read(part, columns):
            yield batch.rows


def sample(traces: Path, every: int) -> pa.Table:
    """Every k-th row: what the family reads, and the response."""
    columns, tables, row = (*FAMILY.reads, "response"), [], 0
    for batch in batches(traces, columns):
        taken = pa.array(range(-row % every, len(batch), every), pa.int64())
        tables.append(pa.Table.from_batches([batch]).take(taken))
        row += len(batch)
    return pa.concat_tables(tables)


def engine(folder: Path) -> None:
    for batch in batches(folder, FAMILY.reads):
        fingerprints.features(batch, FAMILY.name, "arrays")


def timed(name: str, rows: Rows, work: Callable[[], object]) -> Measured:
    """What `work` takes in this process."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return Measured(name, rows.count, rows.megabytes, cpu, wall)


def command(rows: Rows, folder: Path, threads: int, *settings: str) -> Measured:
    """What the command takes, from its start to the manifest.

    Raises:
        UserError: it failed.
    """
    with tempfile.TemporaryDirectory(prefix="features-", dir=folder.parent) as out:
        line = [sys.executable, "-m", "routejax.fingerprint"]
        line += ["--config=configs/openthoughts3.py", f"--workdir={out}"]
        line += [f"--config.pool.paths={folder}", f"--config.threads={threads}"]
        watched = [sys.executable, "-c", _WATCH, *line, *settings]
        done = subprocess.run(watched, cwd=ROOT, capture_output=True, check=True)
    found = json.loads(done.stdout)
    status, said = found.pop("status"), found.pop("said")
    if status:
        raise UserError(f"{' '.join(line)} ended with status {status}:\n{said}")
    name = f"command, {threads} thread{'s' * (threads > 1)}"
    return Measured(name, rows.count, rows.megabytes, **found)


Reader = Callable[[str], object]


def _reference() -> Callable[..., object]:
    return FAMILY.compute


def _regex() -> Reader:
    regex = importlib.import_module("regex")
    grammar = FAMILY.grammar
    assert grammar is not None, "the family reads text"
    cues = {cue for rule in grammar.rules for cue in (*rule.cues, *rule.opening)}
    longest_first = sorted(map(regex.escape, cues), key=lambda cue: (-len(cue), cue))
    pattern = regex.compile(rf"\b(?:{'|'.join(longest_first)})\b", regex.IGNORECASE)
    return lambda text: sum(1 for _ in pattern.finditer(text))


def _cotstruct() -> Reader:
    return importlib.import_module("cotstruct").StepClassifier().classify


def _rtsa() -> Reader:
    extractor = importlib.import_module("rtsa.extractors").RuleBasedExtractor()
    return lambda text: extractor.extract(text, trace_id="")


# Name → what makes the reader, and the columns that it is given.
READERS: dict[str, tuple[Callable[[], Callable[..., object]], tuple[str, ...]]] = {
    "reference": (_reference, FAMILY.reads),
    "regex, cues only": (_regex, ("reasoning",)),
    "cotstruct": (_cotstruct, ("reasoning",)),
    "rtsa": (_rtsa, ("reasoning",)),
}


def read_sample(name: str, rows: pa.Table) -> Measured:
    """What a reader takes for the sample."""
    make, columns = READERS[name]
    values = list(zip(*(rows[c].to_pylist() for c in columns), strict=True))
    try:
        read = make()
        read(*values[0])  # tables that are made at first use
        return timed(name, _size(rows["response"]), lambda: [read(*v) for v in values])
    except Exception as error:  # a foreign package may fail as it likes; the table says
        if name == "reference":
            raise
        return Measured(name, why_not=f"{type(error).__name__}: {error}")


def measure(
    traces: Path, megabytes: float, sampled: float, say: Callable[[str], None]
) -> list[Measured]:
    """All measurements, the engine's first."""
    with tempfile.TemporaryDirectory(prefix="fingerprint-") as scratch:
        once, folder = Path(scratch) / "once", Path(scratch) / "pool"
        once.mkdir()
        folder.mkdir()
        say("copying the traces")
        few, _ = repeat(traces, 0, once)
        rows, copies = repeat(traces, megabytes, folder)
        size = f"{rows.megabytes:.1f} MB in {copies} copies"
        say(f"{rows.count:,} rows, {size}; compiling")
        engine(once)
        command(few, once, CORES, "--config.fingerprint.engine=arrays")
        say("engine")
        found = [timed("engine, 1 thread", rows, lambda: engine(folder))]
        for threads in (1, CORES):
            say(f"command with {threads} threads")
            found.append(command(rows, folder, threads))
        part = sample(once, max(1, round(few.megabytes / sampled)))
    for name in READERS:
        say(name)
        found.append(read_sample(name, part))
    return found


def table(found: list[Measured]) -> Table:
    """The measurements as people read them."""
    shown = Table(title="corpus, 1,738 features")
    shown.add_column("")
    heads = ("MB read", "MB/CPU-s", "rows/CPU-s", "engine is × faster", "MB/s wall")
    for head in (*heads, "2,142,332 × 30 KB, 2 cores", "peak MB"):
        shown.add_column(head, justify="right")
    for one in found:
        if one.why_not:
            shown.add_row(one.name, f"not measured: {one.why_not.splitlines()[0]}")
            continue
        shown.add_row(
            one.name,
            f"{one.megabytes:.1f}",
            f"{one.mb_per_cpu_s:.3g}",
            f"{one.rows / one.cpu_s:,.0f}",
            f"{found[0].mb_per_cpu_s / one.mb_per_cpu_s:.3g}",
            f"{one.megabytes / one.wall_s:.3g}",
            f"{one.paper_hours():.3g} h",
            "" if one.peak_mb is None else f"{one.peak_mb:,.0f}",
        )
    return shown


def summary(found: list[Measured]) -> dict[str, Any]:
    """The engine's two rates, then every measurement by name."""
    all_of_it = {one.name: one.as_json() for one in found}
    ours = all_of_it[found[0].name]
    rates = {name: ours[name] for name in ("mb_per_cpu_s", "rows_per_cpu_s")}
    return rates | {"family": FAMILY.name, "measured": all_of_it}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--traces", type=Path, required=True, help="folder of Parquet")
    parser.add_argument("--megabytes", type=float, default=300, help="of responses")
    parser.add_argument("--sample", type=float, default=2, help="MB for slow readers")
    parser.add_argument("--json", action="store_true", help="an object as last line")
    asked = parser.parse_args()
    if min(asked.megabytes, asked.sample) <= 0:
        parser.error("--megabytes and --sample must be above 0")
    beside = Console(stderr=True)
    say = lambda text: beside.print(text, highlight=False, style="dim")  # noqa: E731
    try:
        found = measure(asked.traces, asked.megabytes, asked.sample, say)
    except UserError as error:
        parser.error(str(error))
    Console(width=None if sys.stdout.isatty() else 132).print(table(found))
    if asked.json:
        print(json.dumps(summary(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
