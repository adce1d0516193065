"""Small pools of made-up traces, some of them with what real ones get wrong."""

import json

import pyarrow as pa
import pyarrow.parquet as pq

from routejax import workdir
from routejax.features import open_job

_STEPS = (
    "Let me set x = {n} and look at the equation.",
    "So {n} + 1 = {m}, which gives the next value.",
    "Wait, that is wrong, I made a mistake there.",
    "Alternatively, try another way with {m} cases.",
    "Let me check: {n} * 2 = {k}. Yes, that is correct.",
    "Therefore the answer is {m}.",
)


def thought(n):
    """Reasoning that differs from n to n in its route."""
    picked = [_STEPS[(n * k + k * k) % len(_STEPS)] for k in range(1, 4 + n % 9)]
    return "\n\n".join(step.format(n=n, m=n + 1, k=2 * n) for step in picked)


def row(n, **other):
    answer = f"The answer is {n + 1}."
    made = {
        "id": f"t{n:04d}",
        "prompt": f"What follows {n % 11}?",
        "response": f"<think>\n{thought(n)}\n</think>\n{answer}",
    }
    return made | other


def write_rows(path, rows, group=5):
    """The rows as Parquet, or as lines of JSON; a text stands for a line as it is."""
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=group)
    else:
        lines = [one if isinstance(one, str) else json.dumps(one) for one in rows]
        path.write_text("".join(line + "\n" for line in lines))
    return str(path)


def write_pool(folder):
    """Three files, 61 rows: blank, cut off, not JSON, and an id that is there twice."""
    folder.mkdir(exist_ok=True)
    first = [row(n) for n in range(30)]
    first[3] = row(3, response="")
    first[7] = row(7, response=f"<think>{thought(7)}")
    second = [row(n) for n in range(30, 52)]
    second[4] = "{this is no JSON}"
    second[9] = row(2)
    third = [row(n) for n in range(52, 61)]
    return [
        write_rows(folder / "a.parquet", first),
        write_rows(folder / "b.jsonl", second),
        write_rows(folder / "c.parquet", third, group=9),
    ]


def job_over(paths, **settings):
    given = {"family": "dolci", "testbed": "openthoughts3", "rows_per_part": 4}
    return open_job(paths, **(given | settings))


def hashes(root):
    """SHA-256 of every file that a job leaves, by name."""
    files = sorted(p for p in root.rglob("*") if p.is_file())
    shown = [p for p in files if not p.name.startswith(".")]
    return {str(p.relative_to(root)): workdir.sha256(p.read_bytes()) for p in shown}
