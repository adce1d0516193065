"""Stage `pool`: verified traces, the problems of RL and evaluation, and a tokenizer.

The traces are written by solvers, or are those of `given` that were chosen before.

The three problem sets are disjoint by content: no question of one is in another. By
the rule `overlong=drop` traces that no training row holds are left out here, before any
selection, so that selections of equal size stay so.
"""

from __future__ import annotations

import dataclasses
import string
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from routejax import envs, pools, tokenizer
from routejax.envs import Problem, registry
from routejax.errors import UserError
from routejax.progress import terminal, track
from routejax.stages import given, problem_files
from routejax.stages.checks import difficulties
from routejax.stages.overlong import FILE, apart, read_ids
from routejax.stages.run import Run
from routejax.stages.sft import opening
from routejax.traces import Trace, from_table
from routejax.workdir import read_json, write, write_json, write_parquet

TESTBED = "rlve"
SPLITS = ("rl", "evaluation")  # sets of problems beside those of the traces
_SIGNS = string.ascii_letters + string.digits + string.punctuation
LOOKED_AT = 2  # questions of each environment and difficulty


def pool(run: Run) -> dict[str, str]:
    """Hashes of `pool.parquet`, `rejected.parquet`, `tokenizer.model` and the problems.

    The folder also has `counts.json`: what was written, verified, kept, and rejected by
    which rule, with ids; and, by the rule, `overlong.jsonl` and `rl_overlong.jsonl`.
    """
    config = run.config
    parts = ("envs", "difficulties", "pool", "problems", "tokenizer")
    inputs = {part: config[part] for part in parts}
    if path := config["problems"]["path"]:
        inputs["problems"] = config["problems"] | {"path": problem_files.digest(path)}
    dropped = {block: config[block]["overlong"] == "drop" for block in ("sft", "grpo")}
    if config["rows"]["paths"]:
        del inputs["pool"]
        inputs["rows"] = given.identity(config["rows"], config["arms"])
    if any(dropped.values()):
        limits = (config["sft"]["row_tokens"], config["decoding"]["prompt_tokens"])
        inputs |= {"overlong": dropped, "limits": limits}
    return run.stage(run.root / "pool", inputs, lambda folder: _make(run, folder))


def read_problems(path: Path) -> list[Problem]:
    """The problems of a file that this stage wrote, in order."""
    return [Problem(**row) for row in read_json(path)]


def eligible_pool(run: Run) -> pa.Table:
    """The rows that may be selected, in pool order."""
    found = pools.read_pool(run.root / "pool" / "pool.parquet")
    if not run.config["rows"]["paths"]:  # which are all eligible
        found = pools.eligible(found, pools.TESTBEDS[TESTBED])[0]
    over = {*read_ids(run.root / "pool" / FILE)}
    if not over:
        return found
    return found.filter(
        pa.array([name not in over for name in found["id"].to_pylist()])
    )


def _make(run: Run, folder: Path) -> None:
    if run.config["rows"]["paths"]:
        counts = given.write_rows(run, folder)
    else:
        if run.weights:
            _look_ahead(run, folder)
        counts = _write_traces(run, folder)
    problems = {}
    for split in SPLITS:
        per_cell = run.config["problems"][f"{split}_per_cell"]
        drawn = _drawn(run, split, per_cell)
        counts[split] = {
            "problems": len(drawn.problems),
            "shortfalls": drawn.shortfalls,
        }
        problems[split] = drawn.problems
        rows = [dataclasses.asdict(problem) for problem in drawn.problems]
        write_json(folder / f"problems_{split}.json", rows)
    shortfalls = counts["pool"]["shortfalls"]
    _require_enough(run, counts["eligible"], shortfalls, len(problems["rl"]))
    table = pools.read_pool(folder / "pool.parquet")
    _require_disjoint(table, problems)
    _train_tokenizer(run, folder, table, problems)
    _count_overlong(run, folder, counts)
    write_json(folder / "counts.json", counts)


def _drawn(run: Run, split: str, per_cell: int) -> envs.ProblemSet:
    if path := run.config["problems"]["path"]:
        return problem_files.chosen(
            Path(path),
            run.config["envs"][split],
            difficulties(run.config["difficulties"][split]),
            per_cell,
            split=split,
        )
    return envs.problem_set(
        run.config["envs"][split],
        difficulties(run.config["difficulties"][split]),
        per_cell,
        split=split,
        seed=run.config["problems"]["seed"],
    )


def _count_overlong(run: Run, folder: Path, counts: dict[str, Any]) -> None:
    """Takes those that were left out off the counts, and tells of too few others."""
    rows, rl = len(read_ids(folder / FILE)), len(read_ids(folder / f"rl_{FILE}"))
    if not rows and not rl:
        return
    counts["rejected"]["overlong"] = rows
    counts["eligible"] = len(eligible_pool(run))
    counts["rl"]["overlong"] = rl
    left = counts["rl"]["problems"] - rl
    _require_enough(run, counts["eligible"], counts["pool"]["shortfalls"], left)


def _look_ahead(run: Run, folder: Path) -> None:
    """The first few questions of every cell against the limits, before all are made.

    A published tokenizer is there already; in how many ids it cuts a text nobody knows.
    """
    config = run.config
    span = difficulties(config["difficulties"]["sft"])
    few = {**config["pool"], "prompts_per_cell": LOOKED_AT}
    traces = envs.solver_pool(config["envs"]["sft"], span, **few).traces
    problems = {split: _drawn(run, split, LOOKED_AT).problems for split in SPLITS}
    if traces:
        silent = dataclasses.replace(run, console=terminal(quiet=True))
        _require_fit(silent, folder, run.tokenizer, traces, problems)


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
    """A question in two sets would make evaluation a memory test.

    By content, for in a file the same question may have other ids.
    """
    seen = dict.fromkeys(table["prompt_id"].to_pylist(), "sft")
    for split, drawn in problems.items():
        for problem in drawn:
            content = registry.problem_id(problem.env, problem.prompt)
            other = seen.setdefault(content, split)
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
    if run.config["problems"]["path"]:
        texts.append(" ".join(_SIGNS))  # those of other packages use all of them
    if run.weights:
        made = run.tokenizer
    else:
        made = tokenizer.train(texts, size=run.config["tokenizer"]["size"])
        write(folder / "tokenizer.model", made.files["tokenizer.model"])
    prompts = [problem.prompt for problem in problems["evaluation"]]
    tokenizer.audit(made, texts + prompts)
    _require_fit(run, folder, made, traces, problems)


def _require_fit(
    run: Run,
    folder: Path,
    made: tokenizer.Tokenizer,
    traces: Sequence[Trace],
    problems: Mapping[str, Sequence[Problem]],
) -> None:
    """Refuses now what would stop a later stage, all of it in one message."""
    for listed in folder.glob(f"*{FILE}"):  # of a start that was refused
        listed.unlink()
    found = [*_misfits(run, folder, made, traces, problems)]
    if found:
        raise UserError("; ".join(found))


def _misfits(
    run: Run,
    folder: Path,
    made: tokenizer.Tokenizer,
    traces: Sequence[Trace],
    problems: Mapping[str, Sequence[Problem]],
) -> Iterator[str]:
    unsound, lengths = None, []
    with track(run.console, "lengths", len(traces), "traces") as progress:
        for done, trace in enumerate(traces, 1):
            said = opening(made, trace.prompt, trace.response)
            turn = made.turn(trace.prompt, said)
            lengths.append(sum(map(len, turn)))
            unsound = unsound or _unsound(made, turn, trace)
            progress.update(done)
    yield from _refused(
        "traces",
        [trace.id for trace in traces],
        lengths,
        run.config["sft"]["row_tokens"],
        setting="sft.row_tokens",
        rule=run.config["sft"]["overlong"],
        block="sft",
        mend=("" if run.config["rows"]["paths"] else "lower pool.max_words, or ")
        + "raise it: "
        f"--config.sft.row_tokens={_roomy(max(lengths))}",
        to=folder / FILE,
    )
    sizes = {
        split: [len(made.prompt(problem.prompt)) for problem in drawn]
        for split, drawn in problems.items()
    }
    mend = f"raise it: {_longer(run, max(map(max, sizes.values())))}"
    for split, drawn in problems.items():
        # What is asked in the evaluation is asked whole, whoever is asked.
        rules = {"rl": (run.config["grpo"]["overlong"], "grpo")}
        rule, block = rules.get(split, ("error", ""))
        yield from _refused(
            f"prompts ({split})",
            [problem.id for problem in drawn],
            sizes[split],
            run.config["decoding"]["prompt_tokens"],
            setting="decoding.prompt_tokens",
            rule=rule,
            block=block,
            mend=mend,
            to=folder / f"{split}_{FILE}",
        )
    if unsound:
        yield unsound


def _refused(*what: Any, **how: Any) -> Iterator[str]:
    """What `apart` refuses, in words."""
    try:
        apart(*what, **how)
    except UserError as error:
        yield str(error)


def _unsound(
    made: tokenizer.Tokenizer, turn: tokenizer.Turn, trace: Trace
) -> str | None:
    try:
        tokenizer.require_sound(made, turn, trace.id)
    except UserError as error:
        return str(error)
    return None


def _roomy(needed: int) -> int:
    """A quarter more than is needed, for rows that are not yet written."""
    return -(-needed * 5 // 4 // 32) * 32


def _longer(run: Run, needed: int) -> str:
    """Flags for longer prompts; rows of RL hold a prompt and its response."""
    prompt = _roomy(needed)
    row = prompt + run.config["decoding"]["max_new_tokens"]
    flags = f"--config.decoding.prompt_tokens={prompt}"
    if row <= run.config["grpo"]["row_tokens"]:
        return flags
    return f"{flags} --config.grpo.row_tokens={row}"


def _require_enough(
    run: Run, eligible: int, shortfalls: Mapping[str, int], rl: int
) -> None:
    """Refuses a pool smaller than what is to be selected from it."""
    n, prompts = run.config["selection"]["n"], run.config["grpo"]["prompts"]
    if n > eligible and not run.config["rows"]["paths"]:
        cells = ", ".join(shortfalls)
        raise UserError(
            f"selection.n must be at most {eligible:,} (eligible rows of the pool), "
            f"got {n:,}; lower it or raise pool.prompts_per_cell or "
            "pool.traces_per_prompt"
            + (f" (no more questions for {cells})" if cells else "")
        )
    if prompts > rl:
        raise UserError(
            f"grpo.prompts must be at most {rl} (problems for RL), got {prompts}; "
            "lower it or raise problems.rl_per_cell"
        )
