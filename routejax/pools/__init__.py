"""Pool files and the rows in them that may be selected.

write_pool, read_pool: one canonical format, checked completely
eligible: rows by the rules of a testbed, and the rejected ones with their rule
pool_sha256: the content of a pool in one hash
"""

from routejax.pools.eligibility import (
    REJECTED_SCHEMA,
    RULES,
    TESTBEDS,
    eligible,
    rejection_counts,
)
from routejax.pools.hashing import pool_sha256
from routejax.pools.poolfile import read_pool, write_pool

__all__ = [
    "REJECTED_SCHEMA",
    "RULES",
    "TESTBEDS",
    "eligible",
    "pool_sha256",
    "read_pool",
    "rejection_counts",
    "write_pool",
]
