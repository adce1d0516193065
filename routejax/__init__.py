"""routejax: choose reasoning traces by route, then fine-tune and reinforce on them.

Data flows one way and imports only point down (see `tests/test_layers.py`).

Letters in array shapes, the same everywhere:

    N  rows of a pool (traces)          D  raw features of a fingerprint
    R  projected features               K  clusters
    Q  prompts of one batch             G  samples per prompt
    B  rows of a model batch            T  tokens in a row
    P  prompt tokens                    S  key/value cache slots
    V  vocabulary                       E  embedding width
    H  query heads                      J  key/value heads
    C  width of one head                L  layers
"""

__version__ = "0.1.0"

import sys

if sys.argv[:1] == [
    "-m"
]:  # `python -m routejax.train` and its like look for their file
    # Imported here for entries alone: their own imports take seconds.
    from routejax import interrupt, streams

    streams.fill()
    interrupt.leave_at_once()
