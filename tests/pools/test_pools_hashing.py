"""The hash of a pool sees every value and nothing but the rows."""

import dataclasses
import hashlib

import pyarrow as pa
import pytest

from routejax.pools import pool_sha256, read_pool, write_pool
from routejax.traces import Trace, to_table

ROWS = [
    Trace(id="a", prompt_id="p", prompt="é", response="x", difficulty=1, steps=["s"]),
    Trace(id="b", prompt_id="p", prompt="é", response="y", verified=True),
    Trace(id="c", prompt_id="q", prompt="z", response="x\n", seed=2**40),
]
CHANGES = {
    "id": "d",
    "prompt_id": "r",
    "prompt": "e",
    "response": "x ",
    "group": "math",
    "source": "",
    "verified": False,
    "env": "sum",
    "difficulty": 2,
    "seed": 0,
    "steps": [],
    "strategy": "s",
    "meta": "{ }",
}


def test_the_hash_by_hand():
    rows = [
        '["a","p","é","x","all",null,null,null,1,null,["s"],null,"{}"]',
        '["b","p","é","y","all",null,true,null,null,null,null,null,"{}"]',
        '["c","q","z","x\\n","all",null,null,null,null,1099511627776,null,null,"{}"]',
    ]
    hashes = sorted(hashlib.sha256(row.encode()).digest() for row in rows)
    expected = hashlib.sha256(b"".join(hashes)).hexdigest()
    assert pool_sha256(to_table(ROWS)) == expected


def test_order_chunks_and_files_do_not_matter(tmp_path):
    table = to_table(ROWS)
    digest = pool_sha256(table)
    assert pool_sha256(to_table(ROWS[::-1])) == digest
    assert pool_sha256(pa.concat_tables([table.slice(2), table.slice(0, 2)])) == digest
    one, two = tmp_path / "1.parquet", tmp_path / "2.parquet"
    write_pool(one, ROWS[1:])
    write_pool(two, ROWS[:1])
    assert pool_sha256(read_pool([one, two])) == digest


@pytest.mark.parametrize("field", CHANGES)
def test_every_value_matters(field):
    assert set(CHANGES) == {f.name for f in dataclasses.fields(Trace)}
    changed = dataclasses.replace(ROWS[0], **{field: CHANGES[field]})
    assert pool_sha256(to_table([changed, *ROWS[1:]])) != pool_sha256(to_table(ROWS))


def test_values_do_not_run_into_each_other():
    one = dataclasses.replace(ROWS[0], prompt="ab", response="c")
    other = dataclasses.replace(ROWS[0], prompt="a", response="bc")
    assert pool_sha256(to_table([one])) != pool_sha256(to_table([other]))
    assert pool_sha256(to_table(ROWS[:2])) != pool_sha256(to_table(ROWS))
