"""The `corpus` and `dolci` families: 137 continuous + 430 tree + 64 pattern features,
631 in all for `dolci`, and with 83 dense and 1,024 hash features 1,738 for `corpus`.

The blocks, their sizes and their order are the paper's (A.2, Table 2). `corpus` reads a
whole conversation, `dolci` the reasoning alone.
"""

import numpy as np
from jaxtyping import Float

from routejax.fingerprints import (
    continuous_corpus,
    dense,
    patterns_corpus,
    route_hash,
    rules_corpus,
)
from routejax.fingerprints.family import Family
from routejax.fingerprints.label import grammar
from routejax.fingerprints.marks_corpus import MARKS
from routejax.fingerprints.route import Route, route
from routejax.fingerprints.topology import Spelling, topology, topology_features

VERSION = rules_corpus.VERSION
VOCABULARY = rules_corpus.VOCABULARY
GRAMMAR = grammar(
    VOCABULARY, rules_corpus.RULES, rules_corpus.ROLES, rules_corpus.OPENERS, MARKS
)
# Paths are spelled as in the hash block, so that one digest serves both.
PATHS = Spelling(rules_corpus.LETTERS, before="path/")
DOLCI_BLOCKS = {
    "continuous": continuous_corpus.FEATURES,
    "tree": topology_features(VOCABULARY),
    "pattern": patterns_corpus.FEATURES,
}
BLOCKS = DOLCI_BLOCKS | {"dense": dense.FEATURES, "hash": route_hash.FEATURES}
DOLCI_FEATURES = tuple(f for features in DOLCI_BLOCKS.values() for f in features)
FEATURES = tuple(f for features in BLOCKS.values() for f in features)


def compute(prompt: str, reasoning: str, answer: str) -> Float[np.ndarray, "D"]:
    """The 1,738 features of a conversation, float32; zeros for no steps."""
    taken = route(reasoning, GRAMMAR)
    values = [
        *_shared(taken),
        *dense.dense(prompt, reasoning, answer, taken),
        *route_hash.route_hash(taken),
    ]
    return np.array(values, np.float64).astype(np.float32)


def dolci_compute(reasoning: str) -> Float[np.ndarray, "D"]:
    """The 631 features of a reasoning text, float32; zeros for no steps."""
    values = _shared(route(reasoning, GRAMMAR))
    return np.array(values, np.float64).astype(np.float32)


def _shared(taken: Route) -> list[float]:
    return [
        *continuous_corpus.continuous(taken),
        *topology(taken.types, taken.tree, VOCABULARY, PATHS).tolist(),
        *patterns_corpus.patterns(taken),
    ]


CORPUS = Family(
    name="corpus",
    version=VERSION,
    vocabulary=VOCABULARY,
    blocks=tuple((name, len(features)) for name, features in BLOCKS.items()),
    features=FEATURES,
    compute=compute,
    grammar=GRAMMAR,
    reads=("prompt", "reasoning", "answer"),
)
DOLCI = Family(
    name="dolci",
    version=VERSION,
    vocabulary=VOCABULARY,
    blocks=tuple((name, len(features)) for name, features in DOLCI_BLOCKS.items()),
    features=DOLCI_FEATURES,
    compute=dolci_compute,
    grammar=GRAMMAR,
)
