"""A run whose student was never trained, and the entry as a command in this process."""

import dataclasses
import importlib
import importlib.util
import io
import json
import sys
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from entries import forget

from routejax import checkpoints, envs, tokenizer, workdir

ROOT = Path(__file__).parent.parent.parent
RECIPE = ROOT / "configs" / "evaluate.py"
SIZES = {"width": 16, "layers": 1, "heads": 2, "kv_heads": 1, "mlp_width": 16}
NEW_TOKENS = 6


class Ended(NamedTuple):
    status: int
    out: str
    err: str


def smoke_config():
    spec = importlib.util.spec_from_file_location("r", ROOT / "configs" / "rlve.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    config = module.get_config("smoke").to_dict()
    config["student"] |= SIZES
    config["decoding"] |= {"max_new_tokens": NEW_TOKENS, "slots": 8, "refill_at": 2}
    return config


def problems(count=3):
    """Some of each of two difficulties, in the order of a run's own."""
    found = envs.problem_set(["count"], [1, 2], count, split="evaluation", seed=0)
    return found.problems


def make_run(root, arms=("diverse", "similar"), asked=None):
    """The folder of a run that is finished but for its training."""
    from routejax.stages.run import Run  # noqa: PLC0415

    config, asked = smoke_config(), asked or problems()
    config["mesh"]["devices"] = 1
    workdir.write_json(root / "config.json", config)
    rows = [dataclasses.asdict(problem) for problem in asked]
    workdir.write_json(root / "pool" / "problems_evaluation.json", rows)
    texts = [
        envs.write_trace(problem, route, "plain", 0)
        for problem in asked
        for route in [next(iter(envs.ENVS[problem.env].routes))]
    ]
    texts += [problem.prompt for problem in asked]
    made = tokenizer.train(texts, size=120)
    workdir.write(root / "pool" / "tokenizer.model", made.files["tokenizer.model"])
    run = Run(root=root, config=config, console=None)
    for number, arm in enumerate(arms):
        folder = run.arm(arm, 0) / "grpo"
        folder.mkdir(parents=True, exist_ok=True)
        digest = checkpoints.save_weights(folder / "weights", run.student.init(number))
        workdir.write(folder / "weights.sha256", digest)
    return root


def command(monkeypatch, capsys, workdir, *given, variant="", config=None):
    """How the entry ended, and what it said."""
    entry = importlib.import_module("routejax.evaluate")
    recipe = f"{config or RECIPE}{variant and ':'}{variant}"
    argv = ["evaluate", f"--config={recipe}", f"--workdir={workdir}"]
    argv += ["--config.mesh.devices=1", "--config.judging.workers=0", *given]
    monkeypatch.setattr(sys, "argv", argv)
    monkeypatch.setattr(entry, "compile_once", lambda root: None)
    forget()
    program = importlib.import_module("routejax.program")
    status = program.run_program(entry.main)
    return Ended(status, *capsys.readouterr())


def of_run(run, *, arm="diverse", samples=2):
    own = f"--config.sets.evaluation.samples={samples}"
    return (
        f"--config.student.run={run}",
        f"--config.student.arm={arm}",
        own,
        f"--config.sets.evaluation.passes={samples},",
        "--config.problems_per_part=2",
    )


def samples_of(folder):
    """All samples of a set, in the order of question and number."""
    parts = sorted((folder / "samples").glob("part_*.parquet"))
    table = pa.concat_tables([pq.read_table(part) for part in parts])
    return table.sort_by([("problem_id", "ascending"), ("sample", "ascending")])


def metrics_of(root):
    return json.loads((root / "metrics.json").read_text())


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def quiet():
    from rich.console import Console  # noqa: PLC0415

    return Console(file=io.StringIO(), soft_wrap=True)
