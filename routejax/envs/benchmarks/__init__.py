"""Files of questions as published or as a user has them, and how the paper uses them.

`read_questions` reads a known benchmark or a mixture of sources; `problem_of` makes a
problem of a question, to be sampled and judged; `judge` decides responses in
mathematics and multiple choice; `split` puts OMEGA problems apart;
`PROTOCOLS` has sample counts, decoding, caps and aggregation.
"""

from routejax.envs.benchmarks.known import KNOWN, Known
from routejax.envs.benchmarks.omega import Sides, split, subset
from routejax.envs.benchmarks.protocols import OMEGA_SIDES, PROTOCOLS, Protocol
from routejax.envs.benchmarks.question import KINDS, Question
from routejax.envs.benchmarks.reading import Questions, read_questions
from routejax.envs.benchmarks.verdicts import judge, problem_of

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
    "problem_of",
    "read_questions",
    "split",
    "subset",
]
