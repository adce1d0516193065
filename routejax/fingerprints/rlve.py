"""The `rlve` family: 159 continuous + 1,150 topology + 64 pattern features = 1,373.

The blocks and their order are the paper's (A.2, A.5, Table 2).
"""

import numpy as np
from jaxtyping import Float

from routejax.fingerprints import continuous_rlve, patterns_rlve, rules_rlve
from routejax.fingerprints.family import Family
from routejax.fingerprints.label import grammar
from routejax.fingerprints.marks_rlve import MARKS
from routejax.fingerprints.route import route
from routejax.fingerprints.topology import topology, topology_features

VOCABULARY = rules_rlve.VOCABULARY
GRAMMAR = grammar(
    VOCABULARY, rules_rlve.RULES, rules_rlve.ROLES, rules_rlve.OPENERS, MARKS
)
BLOCKS = {
    "continuous": continuous_rlve.FEATURES,
    "topology": topology_features(VOCABULARY),
    "pattern": patterns_rlve.FEATURES,
}


def compute(reasoning: str) -> Float[np.ndarray, "D"]:
    """The 1,373 features of a reasoning text, float32."""
    taken = route(reasoning, GRAMMAR)
    return np.concatenate(
        [
            continuous_rlve.continuous(taken),
            topology(taken.types, taken.tree, VOCABULARY),
            patterns_rlve.patterns(taken),
        ]
    ).astype(np.float32)


RLVE = Family(
    name="rlve",
    version=rules_rlve.VERSION,
    vocabulary=VOCABULARY,
    blocks=tuple((name, len(features)) for name, features in BLOCKS.items()),
    features=tuple(f for features in BLOCKS.values() for f in features),
    compute=compute,
    grammar=GRAMMAR,
)
