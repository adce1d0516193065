"""Names for the types and marks of the `rlve` family, as the kernels number them."""

from __future__ import annotations

from routejax.fingerprints.engine import blocks
from routejax.fingerprints.marks_rlve import MARKS
from routejax.fingerprints.rules_rlve import ROLES, VOCABULARY

T = len(VOCABULARY)
NUMBER = {kind: number for number, kind in enumerate(VOCABULARY)}
CORRECT, CHECK, BRANCH, PARSE, ANSWER, INFER, MANIPULATE, CALCULATE = range(8)
DECOMPOSE, DESCRIBE, EVALUATE = 11, 12, 13
TRACK_PROGRESS, HYPOTHESIZE = 15, 16
assert VOCABULARY[:8] == ("correct", "check", "branch", "parse", "answer", "infer",
                          "manipulate", "calculate")  # fmt: skip
assert VOCABULARY[11:14] == ("decompose", "describe", "evaluate")
assert VOCABULARY[15:17] == ("track_progress", "hypothesize")
assert ROLES.verification == {"check", "evaluate"}
assert ROLES.exploration == {"branch", "hypothesize"}
assert ROLES.backtracking == {"correct"}

# Bit of each mark in `Steps.marks`.
MARK_NAMES = tuple(mark.name for mark in MARKS)
BIT = {name: bit for bit, name in enumerate(MARK_NAMES)}

verifies = blocks.mask_of([CHECK, EVALUATE])
checks = blocks.mask_of([CHECK])
corrects = blocks.mask_of([CORRECT])
answers = blocks.mask_of([ANSWER])
