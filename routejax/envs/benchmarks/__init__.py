"""Files of questions as published or as a user has them, and how the paper uses them.

`read_questions` reads a known benchmark or a mixture of sources; `judge` decides
responses in mathematics and multiple choice; `split` puts OMEGA problems apart;
`PROTOCOLS` has sample counts, decoding, caps and aggregation.
"""

from routejax.envs.benchmarks.known import KNOWN, Known
from routejax.envs.benchmarks.omega import Sides, split, subset
from routejax.envs.benchmarks.protocols import OMEGA_SIDES, PROTOCOLS, Protocol
from routejax.envs.benchmarks.question import KINDS, Question
from routejax.envs.benchmarks.reading import Questions, read_questions
from routejax.envs.benchmarks.verdicts import judge

__all__ = [
    "KINDS",
    "KNOWN",
    "OMEGA_SIDES",
    "PROTOCOLS",
    "Known",
    "Protocol",
    "Question",
    "Questions",
    "Sides",
    "judge",
    "read_questions",
    "split",
    "subset",
]
