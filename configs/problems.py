"""Sets of problems: which environments, at which difficulties, how many.

    python -m routejax.problems --config=configs/problems.py:local --out=local.parquet
    python -m routejax.problems --config=configs/problems.py:sokoban --show=3

A split has `per_cell` problems of every pair of environment and difficulty; the splits
are disjoint by content, whatever is drawn when. Blocks are those of
`stages.problem_sets`; lists of names are tuples, on the command line
`--config.sets.rl.envs=sort,walk`.
"""

from __future__ import annotations

from ml_collections import ConfigDict

from routejax.errors import UserError

LOCAL = ("sort", "modsum", "brackets", "ab", "walk", "countdown", "distinct", "fence")


def get_config(variant: str = "local") -> ConfigDict:
    """The config of a variant.

    Raises:
        UserError: there is no such variant.
    """
    if variant not in VARIANTS:
        raise UserError(
            f"configs/problems.py has no variant {variant!r}; there are "
            f"{', '.join(VARIANTS)}"
        )
    config = ConfigDict()
    config.name = f"problems-{variant}"
    config.seed = 0  # another one draws other problems, of the same splits

    config.sets = ConfigDict()
    envs = VARIANTS[variant]
    # Paper 3.3: difficulties 1-5, 1-10, 1-15.
    config.sets.sft = cells(envs, last=5, per_cell=20)
    config.sets.rl = cells(envs, last=10, per_cell=20)
    config.sets.evaluation = cells(envs, last=15, per_cell=4)

    # stages.problem_sets.Limits
    config.limits = ConfigDict()
    config.limits.longest_prompt = 8000  # characters; some generators give millions
    config.limits.draw_timeout_s = 20.0  # wall time of one draw
    config.limits.draws = 50  # of a cell for each problem wanted, and 200 more
    config.limits.failures = 20  # draws of a cell that fail or are too long

    # judging.Workers; changes nothing in what is drawn
    config.workers = ConfigDict()
    config.workers.count = 2  # processes
    config.workers.memory_mb = 4096  # of address space that a draw may take
    config.workers.sandbox = True  # bubblewrap where it works
    config.workers.readable = ()  # folders that generators read in their sandbox
    return config


def cells(envs: tuple[str, ...], *, last: int, per_cell: int) -> ConfigDict:
    """What one split wants."""
    config = ConfigDict()
    config.envs = envs  # names of envs.ENVS; () leaves the split out
    config.difficulties = (1, last)  # first and last
    config.per_cell = per_cell  # problems of each environment at each difficulty
    return config


# Ten each whose questions are short at small difficulties; envs.ENVS has all there are.
GYM = (
    *("gym:basic_arithmetic", "gym:chain_sum", "gym:gcd", "gym:leg_counting"),
    *("gym:letter_counting", "gym:number_sorting", "gym:simple_equations"),
    *("gym:spell_backward", "gym:time_intervals", "gym:word_sorting"),
)
RLVE = (
    *("rlve:CRT", "rlve:Division", "rlve:Fibonacci", "rlve:GCDOne_Counting"),
    *("rlve:LCM", "rlve:Multiplication", "rlve:NegativeBase", "rlve:RootExtraction"),
    *("rlve:Sorting", "rlve:SubsetSum"),
)
VARIANTS = {
    "local": LOCAL,
    "gym": GYM,  # needs reasoning-gym: pip install "routejax[gym]"
    # Needs rlve-gym: pip install "routejax[rlve]"; or RLVE_PATH, a checkout of RLVE.
    "rlve": RLVE,
    "sokoban": ("sokoban", "sokoban_short"),
    "programs": ("programs", "programs_short"),
}
