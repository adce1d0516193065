"""Everything that fingerprints of a corpus can be set by; recipes state differences.

Blocks are keyword arguments: `pool` and `fingerprint` of `features.open_job`, `beam` of
`features.beam.run`. Lists are texts here, because a command line takes any text as it
is, but a tuple only in the quotes of Python.
"""

from __future__ import annotations

from ml_collections import ConfigDict
from ml_collections.config_dict import placeholder

from routejax.pools.layouts import FIELDS


def corpus() -> ConfigDict:
    """The defaults: released corpora, as they are published."""
    config = ConfigDict()
    config.name = "corpus"  # of the recipe; the folder of the run if none is given

    config.pool = ConfigDict()
    # files, folders or globs, separated by commas: Parquet, Arrow, lines of JSON
    config.pool.paths = ""
    config.pool.layout = "auto"  # one of pools.LAYOUTS, or recognised
    config.pool.columns = ConfigDict()  # where single fields lie, none by default
    for field in FIELDS:
        config.pool.columns[field] = placeholder(str)

    config.fingerprint = ConfigDict()
    config.fingerprint.family = "corpus"  # one of fingerprints.FAMILIES
    config.fingerprint.testbed = "openthoughts3"  # eligibility, of pools.TESTBEDS
    config.fingerprint.moments_over = "all"  # "all" rows or the "eligible" (paper C.2)
    config.fingerprint.engine = "auto"  # one of fingerprints.ENGINES; changes no byte
    config.fingerprint.rows_per_part = 4096  # input rows; 28 MB of features

    config.shard = "1/1"  # K/N: makes the K-th of N runs of parts
    config.threads = 2  # parts at a time, about 200 MB of memory each

    config.beam = ConfigDict()
    config.beam.runner = ""  # "" for none; DirectRunner, DataflowRunner, …
    config.beam.options = ""  # the runner's own, as on a command line
    return config
