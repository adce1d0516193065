"""Judging where it may take long, fail, or run what is not ours: in worker processes.

`Judges` gives verdicts, `Workers` run any function, `ask` puts one question from within
a parser. Workers are persistent, limited, in bubblewrap where there is one (`sandbox`),
and killed and replaced when they are late.
"""

from routejax.envs.judging.asking import ask
from routejax.envs.judging.judges import (
    SANDBOXES,
    Judges,
    Judging,
    Request,
    request,
)
from routejax.envs.judging.process import Setting
from routejax.envs.judging.workers import Batch, Call, Outcome, Workers

__all__ = [
    "SANDBOXES",
    "Batch",
    "Call",
    "Judges",
    "Judging",
    "Outcome",
    "Request",
    "Setting",
    "Workers",
    "ask",
    "request",
]
