"""Programs that a model writes, judged by their tests in a sandbox.

The program is the last fenced block of Python (`program`); it runs in a process that
knows its inputs alone (`running`), for what was expected is compared outside
(`testing`). Left out: languages other than Python, packages other than its library.
"""

from routejax.envs.code.environment import ENVIRONMENTS, verdict
from routejax.envs.code.program import program
from routejax.envs.code.questions import config_of, suite_of
from routejax.envs.code.running import Limits
from routejax.envs.code.testing import OUTCOMES, Result, Suite, results

__all__ = [
    "ENVIRONMENTS",
    "OUTCOMES",
    "Limits",
    "Result",
    "Suite",
    "config_of",
    "program",
    "results",
    "suite_of",
    "verdict",
]
