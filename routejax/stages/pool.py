"""Stage `pool`: verified traces, the problems of RL and evaluation, and a tokenizer.

The three problem sets are disjoint by content: no question of one is in another.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from routejax import envs, pools, tokenizer
from routejax.envs import Problem
from routejax.errors import UserError
from routejax.progress import track
from routejax.stages.checks import difficulties
from routejax.stages.run import Run
from routejax.traces import from_table
from routejax.workdir import read_json, write, write_json, write_parquet

TESTBED = "rlve"


def pool(run: Run) -> dict[str, str]:
    """Hashes of `pool.parquet`, `rejected.parquet`, `tokenizer.model` and the problems.

    The folder also has `counts.json`: what was written, verified, kept, and rejected by
    which rule, with ids.
    """
    config = run.config
    parts = ("envs", "difficulties", "pool", "problems", "tokenizer")
    inputs = {part: config[part] for part in parts}
    return run.stage(run.root / "pool", inputs, lambda folder: _make(run, folder))


def read_problems(path: Path) -> list[Problem]:
    """The problems of a file that this stage wrote, in order."""
    return [Problem(**row) for row in read_json(path)]


def _make(run: Run, folder: Path) -> None:
    config = run.config
    counts = _write_traces(run, folder)
    problems = {}
    for split in ("rl", "evaluation"):
        drawn = envs.problem_set(
            config["envs"][split],
            difficulties(config["difficulties"][split]),
            config["problems"][f"{split}_per_cell"],
            split=split,
            seed=config["problems"]["seed"],
        )
        counts[split] = {
            "problems": len(drawn.problems),
            "shortfalls": drawn.shortfalls,
        }
        problems[split] = drawn.problems
        rows = [dataclasses.asdict(problem) for problem in drawn.problems]
        write_json(folder / f"problems_{split}.json", rows)
    table = pools.read_pool(folder / "pool.parquet")
    _require_disjoint(table, problems)
    _train_tokenizer(run, folder, table, problems)
    write_json(folder / "counts.json", counts)


def _write_traces(run: Run, folder: Path) -> dict:
    settings, config = run.config["pool"], run.config
    span = difficulties(config["difficulties"]["sft"])
    prompts = len(config["envs"]["sft"]) * len(span) * settings["prompts_per_cell"]
    with track(run.console, "pool", prompts, "prompts") as progress:
        made = envs.solver_pool(
            config["envs"]["sft"], span, progress=progress, **settings
        )
    if not made.traces:
        raise UserError(
            f"none of {made.counts['written']} traces may stay in the pool: "
            f"{_counted(made.counts['rejected'])}; raise pool.max_words"
        )
    pools.write_pool(folder / "pool.parquet", made.traces)
    rules = pools.TESTBEDS[TESTBED]
    table = pools.read_pool(folder / "pool.parquet")
    eligible, rejected = pools.eligible(table, rules)
    if not len(eligible):
        raise UserError(f"no row of the pool is eligible; rules: {', '.join(rules)}")
    write_parquet(folder / "rejected.parquet", rejected)
    return {
        "pool": made.counts,
        "eligible": len(eligible),
        "rejected": pools.rejection_counts(rejected, rules),
        "sha256": pools.pool_sha256(table),
    }


def _counted(rejected: dict[str, list[str]]) -> str:
    return ", ".join(f"{reason} {len(ids)}" for reason, ids in rejected.items())


def _require_disjoint(table: pa.Table, problems: dict[str, list[Problem]]) -> None:
    """A question in two sets would make evaluation a memory test."""
    seen = dict.fromkeys(table["prompt_id"].to_pylist(), "sft")
    for split, drawn in problems.items():
        for problem in drawn:
            other = seen.setdefault(problem.id, split)
            if other != split:
                raise UserError(
                    f"problem {problem.id} is in both {other} and {split}: "
                    f"{problem.prompt!r}; the sets must be disjoint"
                )


def _train_tokenizer(
    run: Run, folder: Path, table: pa.Table, problems: dict[str, list[Problem]]
) -> None:
    """Trains on the pool and the RL prompts; evaluation text is only checked.

    A published student brings its own, and all text is only checked.
    """
    traces = list(from_table(table))
    texts = [f"{trace.prompt}\n{trace.response}" for trace in traces]
    texts += [problem.prompt for problem in problems["rl"]]
    if run.weights:
        made = run.tokenizer
    else:
        made = tokenizer.train(texts, size=run.config["tokenizer"]["size"])
        write(folder / "tokenizer.model", made.files["tokenizer.model"])
    prompts = [problem.prompt for problem in problems["evaluation"]]
    tokenizer.audit(made, texts + prompts)
    _require_fit(run, made, traces, problems)


def _require_fit(
    run: Run, made: tokenizer.Tokenizer, traces: Sequence, problems: dict
) -> None:
    """Refuses now what would stop training later."""
    config = run.config
    limit, width = config["sft"]["row_tokens"], config["decoding"]["prompt_tokens"]
    if len(problems["rl"]) < config["grpo"]["prompts"]:
        raise UserError(
            f"grpo.prompts must be at most {len(problems['rl'])} (problems for RL), "
            f"got {config['grpo']['prompts']}; lower it or raise problems.rl_per_cell"
        )
    for trace in traces:
        length = sum(map(len, made.turn(trace.prompt, trace.response)))
        if length > limit:
            raise UserError(
                f"trace {trace.id} ({trace.env}) has {length} tokens, sft.row_tokens "
                f"is {limit}; lower pool.max_words or raise sft.row_tokens"
            )
    for problem in (p for drawn in problems.values() for p in drawn):
        length = len(made.prompt(problem.prompt))
        if length > width:
            raise UserError(
                f"problem {problem.id} ({problem.env}) has a prompt of {length} "
                f"tokens, decoding.prompt_tokens is {width}; raise it"
            )
