"""Evaluations: whose samples, of which questions, how many, how decoded, how judged.

    python -m routejax.evaluate --config=configs/evaluate.py --config.student.run=RUN
        --config.student.arm=diverse
    python -m routejax.evaluate --config=configs/evaluate.py:released
        --config.student.weights=DIR --config.files=FOLDER

The default asks a finished run's student the questions of its own evaluation. The other
variants are the paper's evaluations (`envs.benchmarks.PROTOCOLS`, which has the section
of each number), with published weights on files of benchmarks: each set's own `path`,
or NAME.jsonl (.json, .csv, .parquet) in the folder `files`. Sets without a file are
left out, and named. They take an accelerator; none of them was run with the paper's
students.
"""

from __future__ import annotations

from ml_collections import ConfigDict
from ml_collections.config_dict import placeholder

from routejax.envs.benchmarks import KNOWN, PROTOCOLS, Protocol
from routejax.errors import UserError

RUN = "run"  # the variant that is not the paper's


def get_config(variant: str = RUN) -> ConfigDict:
    """The config of a variant.

    Raises:
        UserError: there is no such variant.
    """
    if variant != RUN and variant not in PROTOCOLS:
        raise UserError(
            f"configs/evaluate.py has no variant {variant!r}; there are "
            f"{', '.join((RUN, *PROTOCOLS))}"
        )
    config = base()
    config.name = f"evaluate-{variant}"
    if variant == RUN:
        config.sets.evaluation = asked(samples=8, passes=(8,), reads="run")
    else:
        of_paper(config, variant, PROTOCOLS[variant])
    return config


def base() -> ConfigDict:
    """Everything that can be set; `sets` is filled by the variants."""
    config = ConfigDict()
    config.name = "evaluate"

    # Who answers: a checkpoint of a run, or published weights, or nobody: `samples`.
    config.student = ConfigDict()
    config.student.run = ""  # folder of a run of routejax.train
    config.student.arm = ""  # of the run
    config.student.seed = 0  # training seed
    config.student.phase = "grpo"  # or sft: after RL, or before it
    config.student.weights = ""  # a folder in the Hugging Face layout, or a GGUF file
    config.student.dtype = placeholder(str)  # of the work; None: float32, or the run's
    config.student.attention = "auto"

    # Samples made elsewhere, in files that commas separate: JSONL, JSON, CSV, Parquet
    # with prompt, response and, where there is one, id (evaluation.layouts).
    config.samples = ""

    # Of published weights: chat.chatting.
    config.tokenizer = ConfigDict()
    config.tokenizer.template = ""  # "" its own; chatml, think, none, or a file
    config.tokenizer.system = ""  # a system message before every turn
    config.tokenizer.pad = ""  # text of another padding id than the checkpoint's

    config.files = ""  # folder with a file for each set, NAME.jsonl and so on
    config.sets = ConfigDict()  # by name; see `asked`

    # rollout.Decoding. None is that of the run, where a run's student answers.
    config.decoding = ConfigDict()
    config.decoding.temperature = placeholder(float)  # 0 takes the likeliest token
    config.decoding.top_k = placeholder(int)  # likeliest tokens; 0 is all
    config.decoding.top_p = placeholder(float)
    config.decoding.min_p = placeholder(float)
    config.decoding.max_new_tokens = placeholder(int)
    config.decoding.prompt_tokens = placeholder(int)  # longest prompt
    config.decoding.slots = placeholder(int)  # rows decoded together
    config.decoding.refill_at = placeholder(int)  # idle rows that let others in
    config.decoding.seed = placeholder(int)  # of the samples; None: the training seed

    config.problems_per_part = 60  # a kill loses at most one part of the samples

    # mesh.make_mesh, as in configs/base.py
    config.mesh = ConfigDict()
    config.mesh.replica = 1
    config.mesh.data = -1
    config.mesh.fsdp = 1
    config.mesh.tensor = 1
    config.mesh.devices = placeholder(int)

    # envs.judging.Judges, as in configs/base.py
    config.judging = ConfigDict()
    config.judging.workers = 2
    config.judging.timeout_s = 10.0
    config.judging.memory_mb = 2048
    config.judging.sandbox = "auto"
    config.judging.unsafe_code = False
    config.judging.readable = ()
    config.responses_per_part = 4096  # judged between two files of verdicts

    config.resamples = 2000  # of the bootstrap over questions
    return config


def asked(
    *,
    samples: int,
    passes: tuple[int, ...],
    reads: str,
    difficulties: tuple[int, int] = (1, 15),
    subset: int = 0,
) -> ConfigDict:
    """One set of questions."""
    config = ConfigDict()
    config.path = ""  # its file; "" looks in the folder `files`
    # What the file is: a name of envs.benchmarks.KNOWN or "mixture"; "problems" of
    # routejax.problems; "run" needs no file, for the run has it.
    config.reads = reads
    config.split = "evaluation"  # of a file of problems
    config.difficulties = difficulties  # of a file of problems: first and last
    config.subset = subset  # questions of a benchmark, by a hash of their ids; 0: all
    config.samples = samples  # N of each question
    config.passes = tuple(k for k in passes if 1 < k <= samples)  # k in the table
    config.max_new_tokens = placeholder(int)  # None: that of `decoding`
    return config


# What reads the file of a set that is not named after a benchmark.
READS = {
    **dict.fromkeys(("omega",), "omega_explorative"),
    **dict.fromkeys(("enigmata_id", "enigmata_ood"), "enigmata"),
    **dict.fromkeys(("rlve", "rlve_1_10", "rlve_11_15"), "problems"),
    **dict.fromkeys(("sokoban", "program_simulation"), "problems"),
    "dolci_math": "mixture",
}
DIFFICULTIES = {"rlve_1_10": (1, 10), "rlve_11_15": (11, 15)}
SUBSETS = ("omega_qwen3", "omega_olmo3")  # protocols that read a part of their file
# Caps where the paper gives none for the evaluation: those of its RL (Table 7), and of
# RLVE that of 32 samples (A.3). [ours]
RESPONSE_TOKENS = {
    "omega_qwen3": 2_048,
    "omega_olmo3": 12_288,
    "enigmata_sources": 8_192,
    "rlve_qwen3": 32_768,
    "sokoban": 8_192,
    "program_simulation": 8_192,
}
PROMPT_TOKENS = {"omega_qwen3": 2_048}
LONGEST_PROMPT = 4_096  # tokens; of Table 7, where no context is given


def of_paper(config: ConfigDict, variant: str, protocol: Protocol) -> None:
    """The numbers of a protocol, and ours where it has none."""
    decoding, response = config.decoding, protocol.response_tokens
    decoding.temperature = 1.0 if protocol.temperature is None else protocol.temperature
    decoding.top_p = 1.0 if protocol.top_p is None else protocol.top_p
    decoding.top_k, decoding.min_p, decoding.seed = 0, 0.0, 0
    decoding.max_new_tokens = response or RESPONSE_TOKENS[variant]
    decoding.prompt_tokens = PROMPT_TOKENS.get(variant, LONGEST_PROMPT)
    if protocol.context_tokens and response:
        decoding.prompt_tokens = protocol.context_tokens - response
    decoding.slots, decoding.refill_at = 64, 8
    config.student.dtype = "bfloat16"
    for name, samples in protocol.samples.items():
        config.sets[name] = asked(
            samples=samples,
            passes=protocol.passes,
            reads=name if name in KNOWN else READS[name],
            difficulties=DIFFICULTIES.get(name, (1, 15)),
            subset=(protocol.questions or {})[name] if variant in SUBSETS else 0,
        )
