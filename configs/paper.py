"""What the paper's recipes share: a published student, its SFT, its RL, its evaluation.

A testbed's file has a selection, for `routejax.select`, and studies of its rows, for
`routejax.train`; both hold the paper's numbers, those of Table 7 unless said otherwise.
Where the paper is silent a line says that the number is ours. How responses are
sampled is that of `envs.benchmarks.PROTOCOLS`; a study asks every question as often as
the benchmark of the protocol that is asked most.

`smoke` is the form of a testbed that runs anywhere: two steps of SFT and of RL, a tiny
student of the same family, and traces that solvers write. Its numbers mean nothing.
"""

from __future__ import annotations

from ml_collections import ConfigDict

from configs.base import base, optimiser
from configs.rlve import two_steps
from routejax.envs.benchmarks import PROTOCOLS
from routejax.errors import UserError


def recipe(file: str, variant: str, variants: dict) -> ConfigDict:
    """The config of a variant.

    Raises:
        UserError: there is no such variant.
    """
    if variant not in variants:
        raise UserError(
            f"configs/{file}.py has no variant {variant!r}; there are "
            f"{', '.join(name for name in variants if name)}"
        )
    return variants[variant]()


def short(size: str) -> str:
    """As variants are named: "1.7B" is 1b7."""
    whole, _, part = size.removesuffix("B").partition(".")
    return f"{whole}b{part}"


def study(
    name: str, size: str, weights: str, *, rows: str, problems: str
) -> ConfigDict:
    """A study of rows that were chosen before, with one published student.

    `rows` and `problems` are where they are looked for, as `rows.paths` and
    `problems.path` take it.
    """
    config = base()
    config.name = name
    config.needs = (
        f"the weights of {weights}, a TPU or GPU mesh, rows in {rows} "
        f"(--config.rows.paths) and problems in {problems} (--config.problems.path)"
    )
    config.student.size = size
    config.student.dtype = "bfloat16"  # of the work; masters are float32
    config.student.remat = "full"
    config.mesh.data = 1
    config.mesh.fsdp = -1
    config.rows.paths = rows
    config.problems.path = problems
    config.problems.rl_per_cell = 1_000_000  # all there are
    config.problems.evaluation_per_cell = 1_000_000
    config.envs.sft = ()
    config.difficulties.rl = (1, 1)  # questions that are not graded
    config.difficulties.evaluation = (1, 1)
    config.selection.group_by = "all"
    config.checkpoint.every_s = 600.0  # parameters and two moments, each time
    return config


def sft(
    config: ConfigDict,
    *,
    rows: int | None,
    row_tokens: int = 16_384,
    learning_rate: float = 1e-5,
    steps: int | None = None,
) -> None:
    """Full parameters, batches of 32; one epoch, or so many steps of it."""
    config.rows.n = rows
    config.sft.epochs = 1
    config.sft.steps = steps
    config.sft.batch_examples = 32
    config.sft.row_tokens = row_tokens
    config.sft.overlong = "drop"  # ours: the paper names a limit, not what it does
    config.sft.device_rows = 1
    config.sft.optimiser = optimiser(learning_rate=learning_rate)


def grpo(
    config: ConfigDict,
    envs: tuple[str, ...],
    *,
    steps: int,
    prompt: int,
    response: int,
    stop_at: int | None = None,
) -> None:
    """128 prompts of eight responses a step, learning rate 1e-6, KL 0.001."""
    config.envs.rl = envs
    config.grpo.steps = steps
    config.grpo.stop_at = stop_at
    config.grpo.prompts = 128
    config.grpo.samples = 8
    config.grpo.beta = 0.001
    config.grpo.groups = "all"
    config.grpo.overlong = "drop"  # ours, as in SFT
    config.grpo.row_tokens = prompt + response
    config.grpo.device_rows = 1
    config.grpo.optimiser = optimiser(learning_rate=1e-6)
    config.decoding.prompt_tokens = prompt
    config.decoding.max_new_tokens = response


def evaluation(config: ConfigDict, envs: tuple[str, ...], protocol: str) -> None:
    """As a protocol of the paper says; what it leaves open stays as in the base."""
    config.envs.evaluation = envs
    found = PROTOCOLS[protocol]
    config.evaluation.samples = max(found.samples.values())
    config.evaluation.max_new_tokens = found.response_tokens
    for name in ("temperature", "top_p"):
        if (value := getattr(found, name)) is not None:
            config.evaluation[name] = value


def smoke(
    name: str,
    student: str,
    family: str = "rlve",
    arms: tuple[str, ...] = ("diverse", "similar"),
    env: str = "",
) -> ConfigDict:
    """Two steps of SFT and of RL with a tiny student, on traces of solvers.

    Args:
        student: its family.
        family: of the fingerprint. Solvers annotate no steps, so of `omega` only cues
            and density are not zero.
        arms: selectors of the pool that solvers write.
        env: an environment of the testbed whose problems are small; "" for easier ones.
    """
    config = base()
    config.name = f"{name}-smoke"
    two_steps(config, student, env)
    config.arms = arms
    config.selection.family = family
    if family in ("omega", "sokoban"):
        config.selection.r = None
    return config


def released(
    name: str, arms: tuple[str, ...], stop_at: int, protocol: str
) -> ConfigDict:
    """Of a released corpus (C.2): OLMo3-7B, and a schedule of 64 steps of RL."""
    config = study(
        name,
        "olmo3-7b",
        "OLMo3-7B",
        rows=f"runs/{name.partition('-')[0]}",
        problems="problems-dolci-rl-zero-mix.parquet",
    )
    config.arms = arms
    config.selection.family = "corpus"
    config.tokenizer.template = "think"
    sft(config, rows=100_000)
    mixture = ("math", "code", "instructions", "choice")
    grpo(config, mixture, steps=64, prompt=4096, response=16_384, stop_at=stop_at)
    evaluation(config, ("math", "choice", "instructions"), protocol)
    return config
