"""Who answers: a checkpoint of a run, or published weights, and with which decoding."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from routejax import checkpoints, processes
from routejax.envs import Problem
from routejax.errors import UserError
from routejax.evaluation.questions import Questions
from routejax.evaluation.settings import PHASES, SIZES, TRUNCATION, arms
from routejax.models import Params, weights
from routejax.rollout import Decoding
from routejax.stages.run import Run
from routejax.workdir import content_hash, read_json

# Files of a checkpoint that decide what it answers.
_DECISIVE = (".safetensors", ".gguf", ".whl", ".json", ".model", ".jinja", ".txt")


class Answering(NamedTuple):
    """A student that can be asked.

    Attributes:
        run: its sizes, tokenizer and mesh.
        load: gives its parameters, in their places.
        made_by: what of it decides a sample.
        about: where it comes from, for people.
        decoding: arguments of `rollout.Decoding`, and `seed`.
    """

    run: Run
    load: Callable[[], Params]
    made_by: Mapping[str, Any]
    about: Mapping[str, Any]
    decoding: Mapping[str, Any]


def answering(config: Mapping[str, Any], console: Console) -> Answering:
    """The student of a config that `settings.read` has checked.

    Raises:
        UserError: there is no such run, arm, seed, phase or checkpoint, or it is not
            finished; the mesh does not divide it; a decoding is not said.
    """
    found = (_of_run if config["student"]["run"] else _published)(config, console)
    if unset := [name for name, value in found.decoding.items() if value is None]:
        raise UserError(
            f"config.decoding.{unset[0]} must be set for published weights, and so "
            f"must every other of {', '.join(unset)}; the variants of "
            "configs/evaluate.py have the paper's"
        )
    found.run.require_divides()
    return found


def _of_run(config: Mapping[str, Any], console: Console) -> Answering:
    asked, root = config["student"], Path(config["student"]["run"])
    folder = checkpoint(root, asked["arm"], asked["seed"], asked["phase"])
    own = _tuples(read_json(root / "config.json"))
    changed = {"attention": asked["attention"]}
    changed |= {"dtype": asked["dtype"]} if asked["dtype"] else {}
    run = _run(config, console, root, own["student"] | changed, own["tokenizer"])
    digest = (folder / "weights.sha256").read_text()
    decoding = {name: own["evaluation"][name] for name in ("temperature", *TRUNCATION)}
    decoding |= {name: own["decoding"][name] for name in SIZES}
    named = {name: asked[name] for name in ("run", "arm", "seed", "phase")}
    return Answering(
        run,
        lambda: checkpoints.load_weights(
            folder / "weights", run.fresh(asked["seed"]), digest
        ),
        _made_by(run, digest),
        {**named, "name": own["name"]},
        {**decoding, "seed": asked["seed"]} | _given(config["decoding"]),
    )


def checkpoint(root: Path, arm: str, seed: int, phase: str) -> Path:
    """The folder of a run's stage that has finished weights.

    Raises:
        UserError: there is none; what there is instead.
    """
    if not (root / "config.json").is_file() or not (root / "arms").is_dir():
        raise UserError(
            f"config.student.run: {root} is not the folder of a run with trained arms"
        )
    if arm not in arms(root):
        raise UserError(f"no arm {arm!r} in {root}; there are {', '.join(arms(root))}")
    own = root / "arms" / arm / f"seed_{seed}"
    if not own.is_dir():
        seeds = sorted(
            int(path.name[5:]) for path in own.parent.glob("seed_*") if path.is_dir()
        )
        raise UserError(
            f"no seed {seed} of arm {arm} in {root}; there are "
            f"{', '.join(map(str, seeds)) or 'none'}"
        )
    done = [name for name in PHASES if (own / name / "weights.sha256").is_file()]
    if phase not in done:
        raise UserError(
            f"{own / phase} has no finished weights; phases that have some are "
            f"{', '.join(done) or 'none'}: --config.student.phase=, or let the run end"
        )
    return own / phase


def _published(config: Mapping[str, Any], console: Console) -> Answering:
    path = config["student"]["weights"]
    settings = {name: config["student"][name] for name in ("dtype", "attention")}
    run = _run(
        config, console, Path(), {**settings, "weights": path}, config["tokenizer"]
    )
    run.student  # noqa: B018  a folder that is none is refused before it is hashed
    digest = processes.first_does(lambda: digest_of(Path(path)))

    def load() -> Params:
        places = run.placement and run.placement.shardings
        kind = settings["dtype"] or "float32"
        return weights.load(path, dtype=kind, sharding=places)[1]

    unset = dict.fromkeys(("temperature", *TRUNCATION, *SIZES))
    decoding = {**unset, "seed": 0} | _given(config["decoding"])
    return Answering(run, load, _made_by(run, digest), {"weights": path}, decoding)


def digest_of(path: Path) -> str:
    """Of the files of published weights that decide what they answer."""
    files = [path] if path.is_file() else sorted(path.iterdir())
    found = {}
    for file in files:
        if file.is_file() and file.suffix in _DECISIVE:
            with file.open("rb") as opened:
                found[file.name] = hashlib.file_digest(opened, "sha256").hexdigest()
    return content_hash(found)


def _run(
    config: Mapping[str, Any],
    console: Console,
    root: Path,
    student: Mapping[str, Any],
    tokenizer: Mapping[str, Any],
) -> Run:
    parts = {"student": student, "tokenizer": tokenizer}
    parts |= {name: config[name] for name in ("mesh", "judging")}
    return Run(root=root, config=parts, console=console)


def _made_by(run: Run, digest: str) -> dict[str, Any]:
    named = run.config["tokenizer"].get("template", "")
    template = Path(named)
    return {
        "weights": digest,
        "tokenizer": run.tokenizer.digest,
        "template": content_hash(template.read_text())
        if named and template.is_file()
        else named,
        "system": run.config["tokenizer"].get("system", ""),
        "dtype": run.config["student"].get("dtype") or "float32",
    }


def _given(block: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in block.items() if value is not None}


def _tuples(value: Any) -> Any:
    """JSON as a config is: lists are tuples."""
    if isinstance(value, dict):
        return {key: _tuples(inner) for key, inner in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def decoding_of(who: Answering, questions: Questions) -> Decoding:
    """The decoding of one set, whose own cap comes before that of all."""
    given = {name: value for name, value in who.decoding.items() if name != "seed"}
    if questions.asked.max_new_tokens:
        given["max_new_tokens"] = questions.asked.max_new_tokens
    return Decoding(**given)


def made_by(who: Answering, questions: Questions) -> dict[str, Any]:
    """All that decides the samples of a set, beside the questions."""
    decoding = decoding_of(who, questions)
    names = ("temperature", *TRUNCATION, "max_new_tokens")
    chosen = {name: getattr(decoding, name) for name in names}
    return {**who.made_by, **chosen, "seed": who.decoding["seed"]}


def require_fit(who: Answering, questions: Questions) -> None:
    """Every prompt fits.

    Raises:
        UserError: some are too long, or have what the tokenizer does not know.
    """
    most = who.decoding["prompt_tokens"]
    sizes = [_size(who, questions.name, problem) for problem in questions.problems]
    over = sum(size > most for size in sizes)
    if over:
        longest = max(sizes)
        problem = questions.problems[sizes.index(longest)]
        raise UserError(
            f"set {questions.name}: {over} of {len(sizes)} prompts have more tokens "
            f"than decoding.prompt_tokens, {most}; the longest, of question "
            f"{problem.id}, has {longest}. Raise it: "
            f"--config.decoding.prompt_tokens={_round(longest)}"
        )


def _size(who: Answering, name: str, problem: Problem) -> int:
    try:
        return len(who.run.tokenizer.prompt(problem.prompt))
    except UserError as error:
        raise UserError(f"set {name}, question {problem.id}: {error}") from error


def _round(needed: int) -> int:
    return -(-needed // 32) * 32
