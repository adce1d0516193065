"""Everything that fingerprints of a corpus and selections from it can be set by.

Recipes state differences. Blocks are keyword arguments: `pool` and `fingerprint` of
`features.open_job`, `beam` of `features.beam.run`; `selection` is read by
`stages.select_settings`. Lists are texts here, because a command line takes any text as
it is, but a tuple only in the quotes of Python.
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

    # routejax.select
    config.features = ""  # folder of finished fingerprints; "" makes them in the run's
    config.selection = selection()

    config.beam = ConfigDict()
    config.beam.runner = ""  # "" for none; DirectRunner, DataflowRunner, …
    config.beam.options = ""  # the runner's own, as on a command line
    return config


def selection() -> ConfigDict:
    """What is chosen, and how; the numbers are those of released corpora (C.2)."""
    config = ConfigDict()
    config.methods = "diverse,similar,random"  # of selection.SELECTORS; each chooses n
    config.n = 100_000  # rows
    config.K = placeholder(int)  # clusters over all groups; None: 0.4 n
    config.group_by = "group"  # budgets per "group" (domain label), or "all" together
    config.quotas = ""  # rows by group, "math=33334,code=33333"; others share the rest
    config.per_prompt = placeholder(int)  # most candidates of one prompt

    # from features to phi (selection.project)
    config.r = placeholder(int)  # projected features; None for no projection
    config.r = 96
    config.projection_seed = 42
    config.unscaled = 0  # last features left as they are, for indicators
    config.variance_floor = 1e-8
    config.precision = "exact"  # integers: the same ids everywhere; or "float32"

    config.seed = 42  # of k-means and of random draws
    # k-means: `cpu` and `jax` give the same clusters on every machine; `sklearn` is the
    # paper's own and takes hours where they take minutes
    config.engine = "cpu"
    config.n_init = 3
    config.max_iter = 50
    config.batch = 65_536  # rows, at most
    config.global_clusters = 200  # of topology_clusters (C.4)

    # What some selectors need beside the pool; "" where they are not asked for.
    config.embeddings = ""  # of embedding_fps: npy, Parquet or Zarr, vectors by id
    config.gradients = ""  # of gradient_fps, likewise
    config.tokenizer = ""  # of lexical_fps: tokenizer.json, or a SentencePiece model
    return config
