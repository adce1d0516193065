"""Pool files and the rows in them that may be selected.

write_pool, read_pool: one canonical format, checked completely
open_pool: files of any known layout, larger than memory, as parts and batches
eligible: rows of a table by the rules of a testbed, and the others with their rule
judge, Memory: the same for a stream, batch by batch
pool_sha256: the content of a pool in one hash
"""

from routejax.pools.eligibility import (
    REJECTED_SCHEMA,
    Memory,
    Verdicts,
    columns_for,
    eligible,
    judge,
    rejected_rows,
    rejection_counts,
    unreadable_rows,
)
from routejax.pools.files import Index, require_state
from routejax.pools.hashing import pool_sha256
from routejax.pools.layouts import LAYOUTS
from routejax.pools.opened import Part, Pool, open_pool
from routejax.pools.paths import parse_paths, require_apart
from routejax.pools.poolfile import read_pool, write_pool
from routejax.pools.rules import RULES, TESTBEDS
from routejax.pools.stream import STREAM_SCHEMA, Batch, Unreadable

__all__ = [
    "LAYOUTS",
    "REJECTED_SCHEMA",
    "RULES",
    "STREAM_SCHEMA",
    "TESTBEDS",
    "Batch",
    "Index",
    "Memory",
    "Part",
    "Pool",
    "Unreadable",
    "Verdicts",
    "columns_for",
    "eligible",
    "judge",
    "open_pool",
    "parse_paths",
    "pool_sha256",
    "read_pool",
    "rejected_rows",
    "rejection_counts",
    "require_apart",
    "require_state",
    "unreadable_rows",
    "write_pool",
]
