"""What an evaluation is asked for: its config, read and checked before any work.

Left out: what only the files can tell, such as how many questions there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from routejax.envs import DIFFICULTIES, SPLITS
from routejax.envs.benchmarks import KNOWN
from routejax.errors import UserError
from routejax.stages.checks import LARGEST_SEED, Rule, flat, require_rules, whole

PROBLEMS, RUN = "problems", "run"  # readers beside those of benchmarks
READERS = (*KNOWN, "mixture", PROBLEMS, RUN)
PHASES = ("sft", "grpo")
ENDS = (".jsonl", ".ndjson", ".json", ".csv", ".parquet")
TRUNCATION = ("top_k", "top_p", "min_p")
SIZES = ("max_new_tokens", "prompt_tokens", "slots", "refill_at")


class Asked(NamedTuple):
    """One set of questions; fields as in `configs/evaluate.py:asked`."""

    name: str
    path: Path | None
    reads: str
    split: str
    difficulties: tuple[int, int]
    subset: int
    samples: int
    passes: tuple[int, ...]
    max_new_tokens: int | None


class Sets(NamedTuple):
    """The sets that have a file, and the names of those that have none."""

    asked: list[Asked]
    absent: list[str]


def _real(wanted: str, least: float, most: float) -> Rule:
    def holds(value: Any) -> bool:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and least <= value <= most

    return Rule(wanted, holds)


def _unset(rule: Rule) -> Rule:
    return Rule(rule.wanted, lambda value: value is None or rule.holds(value))


def _known(names: Sequence[str]) -> Rule:
    return Rule(f"one of {', '.join(names)}", lambda value: value in names)


def _span(value: Any) -> bool:
    level = whole(DIFFICULTIES[0], DIFFICULTIES[-1])
    pair = isinstance(value, tuple | list) and len(value) == 2
    return pair and all(map(level.holds, value)) and value[0] <= value[1]


def _counts(value: Any) -> bool:
    return isinstance(value, tuple | list) and all(map(whole(1).holds, value))


_COUNT = whole(1)
RULES = {
    "student.seed": whole(0, LARGEST_SEED),
    "student.phase": _known(PHASES),
    "decoding.temperature": _unset(_real("a number of at least 0", 0, 1e9)),
    "decoding.top_k": _unset(whole(0)),
    "decoding.top_p": _unset(_real("above 0 and at most 1", 1e-9, 1)),
    "decoding.min_p": _unset(_real("in 0..1", 0, 1)),
    "decoding.seed": _unset(whole(0, LARGEST_SEED)),
    **{f"decoding.{name}": _unset(_COUNT) for name in SIZES},
    "problems_per_part": _COUNT,
    "responses_per_part": _COUNT,
    "resamples": _COUNT,
}
SET_RULES = {
    "reads": _known(READERS),
    "split": _known(tuple(SPLITS)),
    "difficulties": Rule("first and last difficulty within 1..15", _span),
    "subset": whole(0),
    "samples": _COUNT,
    "passes": Rule("a list of k, each at least 1", _counts),
    "max_new_tokens": _unset(_COUNT),
}


def read(config: Mapping[str, Any]) -> Sets:
    """The sets of a config.

    Raises:
        UserError: the recipe is of another kind; a field is out of its range; who
            answers is not said, or twice; a file that is named is not there; no set
            has a file.
    """
    if not {"student", "sets", "samples", "files"} <= config.keys():
        raise UserError(
            f"the recipe {config.get('name')!r} is not one of evaluations; choose a "
            "variant of configs/evaluate.py"
        )
    require_rules(flat(config), RULES)
    for name, block in config["sets"].items():
        rules = {f"sets.{name}.{field}": rule for field, rule in SET_RULES.items()}
        require_rules({f"sets.{name}.{k}": v for k, v in block.items()}, rules)
        _require_passes(name, block)
    _require_one(config)
    found = _sets(config)
    if not found.asked:
        raise UserError(
            f"no set has a file: name the folder with --config.files=FOLDER, or one "
            f"with --config.sets.NAME.path=FILE; sets are {', '.join(config['sets'])}"
        )
    return found


def _require_passes(name: str, block: Mapping[str, Any]) -> None:
    over = [k for k in block["passes"] if k > block["samples"]]
    if over:
        raise UserError(
            f"config.sets.{name}.passes must be at most its samples, "
            f"{block['samples']}, got {over[0]}: pass@k takes k samples of a question"
        )


def _require_one(config: Mapping[str, Any]) -> None:
    """Exactly one of those who could answer."""
    student = config["student"]
    fields = {
        "student.run": student["run"],
        "student.weights": student["weights"],
        "samples": config["samples"],
    }
    given = [name for name, value in fields.items() if value]
    if len(given) != 1:
        raise UserError(
            "exactly one must be named: --config.student.run=RUN with "
            "--config.student.arm=NAME, --config.student.weights=DIR, or "
            f"--config.samples=FILE; got {' and '.join(given) or 'none of them'}"
        )
    if given == ["student.run"] and not student["arm"]:
        raise UserError(
            f"name an arm of the run: --config.student.arm=; {student['run']} has "
            f"{', '.join(arms(Path(student['run']))) or 'none'}"
        )


def arms(run: Path) -> list[str]:
    """Names of a run's arms."""
    return sorted(path.name for path in run.glob("arms/*") if path.is_dir())


def _sets(config: Mapping[str, Any]) -> Sets:
    folder = Path(config["files"]) if config["files"] else None
    if folder and not folder.is_dir():
        raise UserError(f"config.files: there is no folder {str(folder)!r}")
    asked, absent = [], []
    for name, block in config["sets"].items():
        path = _path(name, block, folder)
        if path is None and block["reads"] != RUN:
            absent.append(name)
            continue
        asked.append(Asked(name, **{**block, "path": path}))
    for one in asked:
        if one.reads == RUN and not config["student"]["run"]:
            raise UserError(
                f"the set {one.name} has the questions of a run: name it with "
                "--config.student.run=RUN, or choose a variant with files of questions "
                "such as configs/evaluate.py:released"
            )
    return Sets(asked, absent)


def _path(name: str, block: Mapping[str, Any], folder: Path | None) -> Path | None:
    if block["path"]:
        path = Path(block["path"])
        if not path.is_file():
            raise UserError(f"config.sets.{name}.path: there is no file {str(path)!r}")
        return path
    there = [*_in(folder, name)] if folder and block["reads"] != RUN else []
    if len(there) > 1:
        raise UserError(
            f"{folder} has several files of the set {name}: "
            f"{', '.join(path.name for path in there)}; name one with "
            f"--config.sets.{name}.path=FILE"
        )
    return there[0] if there else None


def _in(folder: Path, name: str) -> Iterator[Path]:
    for end in ENDS:
        if (path := folder / f"{name}{end}").is_file():
            yield path
