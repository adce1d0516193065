"""Fingerprints of a whole pool, larger than memory, as files.

    pool ─parts→ each part alone → parts/part-00000.parquet, .json → moments, manifest

A part is a fixed piece of one input file, so its files are the same whoever makes them:
one process, several threads, the jobs of a scheduler's array, or the workers of a Beam
pipeline (`beam`). What is left to do is what has no file yet.

open_job: a pool, a family and a testbed, checked
run_shard: the parts of one shard; missing: those that nobody has made yet
collect: eligible rows, moments and manifest of all parts
read_features: what was made, part by part
"""

from routejax.features.claim import claim, is_claimed
from routejax.features.collect import collect, missing
from routejax.features.folder import examples
from routejax.features.job import MOST_THREADS, Job, at_least_one, open_job
from routejax.features.part import part_files
from routejax.features.run import run_shard
from routejax.features.stored import read_features

__all__ = [
    "MOST_THREADS",
    "Job",
    "at_least_one",
    "claim",
    "collect",
    "examples",
    "is_claimed",
    "missing",
    "open_job",
    "part_files",
    "read_features",
    "run_shard",
]
