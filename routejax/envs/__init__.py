"""Verifiable environments: problem + text to reward, and routes that solve them.

`ENVS` lists what exists. Those of other packages (`adapters`), whose verifiers may run
model output as a program, draw and judge in a process of their own (`judging`).
"""

from routejax.envs.pool import Pool, solver_pool, strategies
from routejax.envs.problem import DIFFICULTIES, Environment, Problem, Verdict
from routejax.envs.registry import (
    ENVS,
    judge,
    make_problem,
    right_answer,
    write_trace,
)
from routejax.envs.route import Route
from routejax.envs.splits import SPLITS, ProblemSet, problem_set, split_of

__all__ = [
    "DIFFICULTIES",
    "ENVS",
    "SPLITS",
    "Environment",
    "Pool",
    "Problem",
    "ProblemSet",
    "Route",
    "Verdict",
    "judge",
    "make_problem",
    "problem_set",
    "right_answer",
    "solver_pool",
    "split_of",
    "strategies",
    "write_trace",
]
