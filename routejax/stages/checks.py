"""The config as a whole, before any work: every name known, every number in its range.

The functions that own a setting refuse it too, but some only after an hour of training;
here a mistake costs a second and leaves no file. `RULES` has an entry for every field
of `configs/base.py`. Left out: what only the finished pool can tell, such as the length
of its traces; the stage that makes it says that.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from routejax import models, scalars
from routejax.envs import DIFFICULTIES, ENVS, registry, strategies
from routejax.envs.judging import SANDBOXES
from routejax.errors import UserError
from routejax.fingerprints import FAMILIES
from routejax.grpo import CORRECTIONS, PRESETS
from routejax.mesh import MESH_AXES
from routejax.models import MODELS, SIZES
from routejax.models.attention import IMPLEMENTATIONS
from routejax.models.config import LAYER_TYPES
from routejax.models.execution import DTYPES, REMAT
from routejax.pools import LAYOUTS, TESTBEDS
from routejax.selection import ENGINES, SELECTORS
from routejax.selection.candidates import PRECISIONS
from routejax.stages import published
from routejax.update import OPTIMISERS

LARGEST_SEED = 2**32 - 1  # of jax and numpy alike
EXPORTS = ("original", "float32", "bfloat16", "float16")  # dtypes of an export
LARGEST_TUNING_RATE = 1e-3  # of weights that have learned before; more is a warning


class Rule(NamedTuple):
    """What a field must be, in words and as a test that takes any value."""

    wanted: str
    holds: Callable[[Any], bool]


def whole(least: int, most: int | None = None) -> Rule:
    bounds = f"of at least {least}" if most is None else f"in {least}..{most}"

    def holds(value: Any) -> bool:
        whole = isinstance(value, int) and not isinstance(value, bool)
        return whole and least <= value and (most is None or value <= most)

    return Rule(f"a whole number {bounds}", holds)


def _number(wanted: str, holds: Callable[[float], bool]) -> Rule:
    def finite(value: Any) -> bool:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and math.isfinite(value) and holds(value)

    return Rule(f"a finite number {wanted}", finite)


def _or_none(rule: Rule) -> Rule:
    return Rule(f"{rule.wanted}, or None", lambda v: v is None or rule.holds(v))


def _one_of(names: Iterable[str]) -> Rule:
    known = tuple(names)
    return Rule(f"one of {', '.join(known)}", lambda value: value in known)


def _list_of(rule: Rule) -> Rule:
    def holds(value: Any) -> bool:
        listed = isinstance(value, tuple | list) and len(value) > 0
        return listed and all(map(rule.holds, value)) and len({*value}) == len(value)

    return Rule(f"a list without repeats, each entry {rule.wanted}", holds)


def _is_span(value: Any) -> bool:
    level = whole(DIFFICULTIES[0], DIFFICULTIES[-1])
    pair = isinstance(value, tuple | list) and len(value) == 2
    return pair and all(map(level.holds, value)) and value[0] <= value[1]


_TEXT = Rule("text", lambda value: isinstance(value, str))
_FLAG = Rule("True or False", lambda value: isinstance(value, bool))
_COUNT = whole(1)
_SEED = whole(0, LARGEST_SEED)
_AXIS = Rule("at least 1, or -1 for the rest", lambda v: v == -1 or _COUNT.holds(v))
_POSITIVE = _number("above 0", lambda x: x > 0)
_NOT_NEGATIVE = _number("of at least 0", lambda x: x >= 0)
_SHARE = _number("in 0..1", lambda x: 0 <= x <= 1)
_DECAY = _number("of at least 0 and below 1", lambda x: 0 <= x < 1)
_ENVS = _list_of(_one_of(ENVS))
_SPAN = Rule(
    f"first and last difficulty within {DIFFICULTIES[0]}..{DIFFICULTIES[-1]}", _is_span
)

_OPTIMISER = {
    "name": _one_of(OPTIMISERS),
    "learning_rate": _POSITIVE,
    "warmup_share": _SHARE,
    "final_share": _NOT_NEGATIVE,
    "b1": _DECAY,
    "b2": _DECAY,
    "eps": _POSITIVE,
    "weight_decay": _NOT_NEGATIVE,
    "clip_norm": _POSITIVE,
}
RULES: dict[str, Rule] = {
    "name": Rule("the name of the recipe", bool),
    "needs": _TEXT,
    # those that work in vectors of their own need a file; `routejax.select` takes it
    "arms": _list_of(_one_of(n for n, m in SELECTORS.items() if m.space is None)),
    "seeds": _list_of(_SEED),
    **{f"envs.{split}": _ENVS for split in ("sft", "rl", "evaluation")},
    **{f"difficulties.{split}": _SPAN for split in ("sft", "rl", "evaluation")},
    "rows.paths": _TEXT,
    "rows.layout": _one_of(("auto", *LAYOUTS)),
    "rows.testbed": _one_of(TESTBEDS),
    "rows.n": _or_none(_COUNT),
    "rows.seed": _SEED,
    "pool.prompts_per_cell": _COUNT,
    "pool.traces_per_prompt": _COUNT,
    "pool.max_words": _COUNT,
    "pool.seed": _SEED,
    "problems.rl_per_cell": _COUNT,
    "problems.evaluation_per_cell": _COUNT,
    "problems.seed": _SEED,
    "problems.path": _TEXT,
    "tokenizer.size": _COUNT,
    **{f"tokenizer.{name}": _TEXT for name in ("template", "system", "pad")},
    "selection.family": _one_of(FAMILIES),
    "selection.group_by": _one_of(("env", "all")),
    "selection.n": _COUNT,
    "selection.K": _or_none(_COUNT),
    "selection.r": _or_none(_COUNT),
    "selection.projection_seed": _SEED,
    "selection.seed": _SEED,
    "selection.n_init": _COUNT,
    "selection.max_iter": _COUNT,
    "selection.batch": _COUNT,
    "selection.per_prompt": _or_none(_COUNT),
    "selection.precision": _one_of(PRECISIONS),
    "selection.engine": _one_of(ENGINES),
    "student.size": _or_none(_one_of(("", *SIZES))),  # "": that of the weights
    "student.weights": _or_none(_TEXT),
    "student.family": _or_none(_one_of(MODELS)),
    "student.width": _or_none(_COUNT),
    "student.layers": _or_none(_COUNT),
    "student.heads": _or_none(_COUNT),
    "student.kv_heads": _or_none(_COUNT),
    "student.head_width": _or_none(_COUNT),
    "student.mlp_width": _or_none(_COUNT),
    "student.rope_theta": _or_none(_POSITIVE),
    "student.norm_eps": _or_none(_POSITIVE),
    "student.tied": _or_none(_FLAG),
    "student.window": _or_none(_COUNT),
    "student.layer_types": _or_none(
        Rule(
            f"a list of {' and '.join(LAYER_TYPES)}",
            lambda value: len(value) > 0 and {*value} <= {*LAYER_TYPES},
        )
    ),
    "student.attention": _one_of(("auto", *IMPLEMENTATIONS)),
    "student.remat": _one_of(REMAT),
    "student.dtype": _or_none(_one_of(DTYPES)),
    "student.logit_chunk": _COUNT,
    **{f"mesh.{axis}": _AXIS for axis in MESH_AXES},
    "mesh.devices": _or_none(_COUNT),
    "sft.epochs": _COUNT,
    "sft.steps": _or_none(_COUNT),
    "sft.batch_examples": _COUNT,
    "sft.row_tokens": _COUNT,
    "sft.row_multiple": _COUNT,
    "sft.device_rows": _or_none(_COUNT),
    "sft.overlong": _one_of(("error", "drop")),
    "sft.evaluate_every": whole(0),
    "sft.heldout_share": _number("above 0 and below 1", lambda x: 0 < x < 1),
    **{f"sft.optimiser.{name}": rule for name, rule in _OPTIMISER.items()},
    "grpo.steps": _COUNT,
    "grpo.stop_at": _or_none(_COUNT),
    "grpo.prompts": _COUNT,
    "grpo.samples": whole(2),  # a group of one has nothing to compare with
    "grpo.preset": _one_of(PRESETS),
    "grpo.beta": _NOT_NEGATIVE,
    "grpo.groups": _one_of(("mixed", "all")),
    "grpo.updates": _COUNT,
    "grpo.refill": whole(0),
    "grpo.min_mixed": _COUNT,
    "grpo.sampler_correction": _one_of(CORRECTIONS),
    "grpo.sampler_cap": _POSITIVE,
    "grpo.temperature": _POSITIVE,
    "grpo.row_tokens": _COUNT,
    "grpo.row_multiple": _COUNT,
    "grpo.device_rows": _or_none(_COUNT),
    "grpo.overlong": _one_of(("error", "drop")),
    "grpo.evaluate_every": whole(0),
    "grpo.evaluate_problems": _COUNT,
    "grpo.evaluate_samples": _COUNT,
    "grpo.max_logp_gap": _POSITIVE,
    "grpo.rollouts_every": whole(0),
    **{f"grpo.optimiser.{name}": rule for name, rule in _OPTIMISER.items()},
    "decoding.slots": _COUNT,
    "decoding.refill_at": _COUNT,
    "decoding.max_new_tokens": _COUNT,
    "decoding.prompt_tokens": _COUNT,
    "decoding.parts": _COUNT,
    "judging.workers": whole(0),
    "judging.timeout_s": _POSITIVE,
    "judging.memory_mb": _COUNT,
    "judging.sandbox": _one_of(SANDBOXES),
    "judging.unsafe_code": _FLAG,
    "judging.readable": Rule(
        "a list of folders", lambda value: isinstance(value, tuple | list)
    ),
    "evaluation.samples": _COUNT,
    "evaluation.temperature": _NOT_NEGATIVE,
    "evaluation.top_k": whole(0),
    "evaluation.top_p": _number("above 0 and at most 1", lambda x: 0 < x <= 1),
    "evaluation.min_p": _SHARE,
    "evaluation.max_new_tokens": _or_none(_COUNT),
    "evaluation.problems_per_part": _COUNT,
    "evaluation.resamples": _COUNT,
    "logging.tensorboard": Rule("true or false", lambda v: isinstance(v, bool)),
    "logging.wandb": _TEXT,
    "export.dtype": _one_of(("none", *EXPORTS)),
    "checkpoint.every_s": _NOT_NEGATIVE,
    "checkpoint.keep": _COUNT,
    "checkpoint.keep_every": whole(0),
    "checkpoint.best": _TEXT,
    "checkpoint.best_is": _one_of(("least", "most")),
    "report.map_rows": _COUNT,
}
# Of rows that were chosen before: arms are named by whoever chose them, and their
# prompts need not be of an environment here.
GIVEN_RULES = {
    "arms": _list_of(
        Rule(
            "letters, digits, _ and -", lambda v: bool(re.fullmatch(r"[\w-]+", str(v)))
        )
    ),
    "envs.sft": Rule(
        f"a list of names among {', '.join(ENVS)}, or none",
        lambda value: isinstance(value, tuple | list) and {*value} <= {*ENVS},
    ),
}


def require_valid(config: Mapping[str, Any]) -> None:
    """Refuses a config that cannot be run to its end, naming every field in question.

    Raises:
        UserError: the recipe needs another machine, a field is out of its range, a
            verifier needs a package that is not installed, or the checkpoint is not
            there or not the student of the recipe.
    """
    if config["needs"]:
        raise UserError(
            f"the recipe {config['name']} needs {config['needs']}; with these, add "
            "--config.student.weights=DIR --config.needs= to the command. "
            "`configs/rlve.py` (local) and `configs/rlve.py:smoke` run anywhere"
        )
    values = flat(config)
    require_rules(values, rules_for(values))
    scalars.require(**config["logging"])
    if config["student"]["weights"]:
        published.student(config["student"])
    elif not (config["student"]["size"] or config["student"]["family"]):
        raise UserError(
            f"the recipe {config['name']} starts from published weights: name their "
            "folder with --config.student.weights=DIR"
        )
    if wrong := list(misfits(values)):
        raise UserError("; ".join(wrong))
    registry.require(values["envs.rl"] + values["envs.evaluation"])
    if not config["student"]["weights"]:
        models.create(vocabulary=values["tokenizer.size"], **config["student"])


def rules_for(values: Mapping[str, Any]) -> dict[str, Rule]:
    """The rules of every field of a study, from the values of all."""
    return RULES | GIVEN_RULES if values["rows.paths"] else RULES


def require_rules(values: Mapping[str, Any], rules: Mapping[str, Rule]) -> None:
    """Raises UserError with every field whose value breaks its rule."""
    wrong = [
        f"config.{field} must be {rule.wanted}, got {values[field]!r}"
        for field, rule in rules.items()
        if not rule.holds(values[field])
    ]
    if wrong:
        raise UserError("; ".join(wrong))


def cautions(config: Mapping[str, Any]) -> Iterator[str]:
    """A line for each rate at which published weights would forget what they know."""
    if not config["student"]["weights"]:
        return
    for phase in ("sft", "grpo"):
        rules = config.get(phase, {}).get("optimiser")
        if rules and (
            rules["name"] == "muon" or rules["learning_rate"] > LARGEST_TUNING_RATE
        ):
            yield (
                f"Warning: config.{phase}.optimiser is {rules['name']} at "
                f"{rules['learning_rate']:g}, made for a student from scratch; on "
                "published weights it undoes what they know. adamw at 1e-5 is usual "
                "(`configs/rlve.py:pretrained`)"
            )


def flat(config: Mapping[str, Any], at: str = "") -> dict[str, Any]:
    """Every field by its path, such as "grpo.optimiser.eps"."""
    found = {}
    for key, value in config.items():
        name = f"{at}.{key}".strip(".")
        found |= flat(value, name) if isinstance(value, Mapping) else {name: value}
    return found


def difficulties(bounds: tuple[int, int]) -> range:
    """The range from first to last, both included."""
    return range(bounds[0], bounds[1] + 1)


def misfits(values: Mapping[str, Any]) -> Iterator[str]:
    """Fields that are right each by itself and cannot go together."""
    for field, limit, why in _limits(values):
        if values[field] > limit:
            yield (
                f"config.{field} must be at most {limit} ({why}), got {values[field]}"
            )
    for split in ("rl", "evaluation"):
        others = [env for env in values[f"envs.{split}"] if ENVS[env].isolated]
        if others and not values["problems.path"]:
            yield (
                f"config.envs.{split} has {', '.join(others)}, whose problems must be "
                "made before, by python -m routejax.problems or, of your own questions "
                "and benchmarks, routejax.stages.problem_files.save; then "
                "--config.problems.path=FILE.parquet"
            )
    stop = values["grpo.stop_at"]
    if stop is not None and stop > values["grpo.steps"]:
        yield (
            f"config.grpo.stop_at must be at most grpo.steps, {values['grpo.steps']}, "
            f"got {stop}"
        )
    longest = values["decoding.prompt_tokens"] + values["decoding.max_new_tokens"]
    if values["grpo.row_tokens"] < longest:
        yield (
            f"config.grpo.row_tokens must be at least {longest} "
            "(decoding.prompt_tokens + decoding.max_new_tokens), "
            f"got {values['grpo.row_tokens']}"
        )


def _limits(values: Mapping[str, Any]) -> Iterator[tuple[str, int, str]]:
    if not values["rows.paths"]:
        yield from _pool_limits(values)
    cells = len(values["envs.rl"]) * len(difficulties(values["difficulties.rl"]))
    problems = cells * values["problems.rl_per_cell"]
    yield (
        "grpo.prompts",
        problems,
        "problems for RL that there can be; raise problems.rl_per_cell",
    )


def _pool_limits(values: Mapping[str, Any]) -> Iterator[tuple[str, int, str]]:
    ways, env = min((len(strategies(env)), env) for env in values["envs.sft"])
    yield "pool.traces_per_prompt", ways, f"routes times manners of env {env!r}"
    cells = len(values["envs.sft"]) * len(difficulties(values["difficulties.sft"]))
    prompts, traces = values["pool.prompts_per_cell"], values["pool.traces_per_prompt"]
    wanted = -(-values["selection.n"] // (cells * traces))
    yield (
        "selection.n",
        cells * prompts * traces,
        f"rows that this pool can have at most, {cells} pairs of environment and "
        f"difficulty x {prompts} prompts x {traces} traces; raise "
        f"pool.prompts_per_cell well above {wanted}, for some have fewer questions",
    )
