"""Vectors from files: every format gives the same rows, and every mistake is named."""

import errno
import json
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tensorstore

from routejax.errors import UserError
from routejax.selection import (
    Grid,
    open_vectors,
    scale_for,
    select,
    select_all,
    to_grid,
    vector_files,
    vectors,
)
from routejax.selection.columns import texts

IDS = [f"id-{i:02d}" for i in range(12)]


def drawn(rows=12, width=5, dtype="f4", seed=0):
    return np.random.default_rng(seed).normal(size=(rows, width)).astype(dtype)


def write_npy(folder, values, ids):
    np.save(folder / "v.npy", values)
    (folder / "v.ids.txt").write_text("".join(f"{name}\n" for name in ids))
    return folder / "v.npy"


def write_npy_with_parquet(folder, values, ids):
    np.save(folder / "v.npy", values)
    pq.write_table(pa.table({"id": ids}), folder / "v.ids.parquet")
    return folder / "v.npy"


def _lists(values, fixed):
    flat = pa.array(values.reshape(-1))
    if fixed:
        return pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
    starts = np.arange(len(values) + 1, dtype="i4") * values.shape[1]
    return pa.ListArray.from_arrays(pa.array(starts), flat)


def write_parquet(folder, values, ids, fixed=True):
    lists = _lists(values, fixed)
    table = pa.table({"n": range(len(ids)), "id": ids, "vector": lists})
    pq.write_table(table, folder / "v.parquet", row_group_size=5)
    return folder / "v.parquet"


def write_lists(folder, values, ids):
    return write_parquet(folder, values, ids, fixed=False)


def write_parts(folder, values, ids):
    for part, rows in (("a", slice(0, 7)), ("b", slice(7, None))):
        (folder / "parts" / part).mkdir(parents=True)
        made = write_parquet(folder / "parts" / part, values[rows], ids[rows])
        made.rename(folder / "parts" / f"{part}.parquet")
        (folder / "parts" / part).rmdir()
    return folder / "parts"


def write_zarr(folder, values, ids, driver="zarr", chunk=5):
    spec = {
        "driver": driver,
        "kvstore": {"driver": "file", "path": f"{folder}/v.zarr/"},
    }
    if driver == "zarr":
        spec["metadata"] = {"chunks": [chunk, 2]}
    store = tensorstore.open(
        spec, create=True, dtype=values.dtype.name, shape=values.shape
    ).result()
    store.write(values).result()
    (folder / "v.ids.txt").write_text("\n".join(ids))
    return folder / "v.zarr"


def write_zarr3(folder, values, ids):
    return write_zarr(folder, values, ids, "zarr3")


WRITERS = [
    write_npy,
    write_npy_with_parquet,
    write_parquet,
    write_lists,
    write_parts,
    write_zarr,
    write_zarr3,
]


def expected(values, scale=4080):
    values = np.asarray(values, float)
    return to_grid(values / np.linalg.norm(values, axis=1, keepdims=True), scale)


def rows_for(found, ids):
    return vectors.rows_of_ids(found, texts("ids", ids))


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("entries", [2**22, 10])
def test_every_format_gives_the_same_rows(tmp_path, monkeypatch, write, dtype, entries):
    monkeypatch.setattr(vector_files, "_BLOCK_ENTRIES", entries)  # two rows at a time
    values = drawn(dtype=dtype)
    order = np.random.default_rng(1).permutation(12)
    path = write(tmp_path, values[order], [IDS[i] for i in order])
    found = open_vectors(path)
    wanted = [IDS[i] for i in (7, 0, 11, 3)]
    grid = vectors.read_rows(found, rows_for(found, wanted))
    assert grid.values.tolist() == expected(values[[7, 0, 11, 3]]).values.tolist()
    assert grid.scale == 4080
    unit = vectors.read_rows(found, rows_for(found, wanted), exact=False)
    assert unit.dtype == np.float32
    assert np.linalg.norm(unit, axis=1) == pytest.approx(np.ones(4), abs=1e-6)


def test_bfloat16_in_zarr(tmp_path):
    name = tensorstore.bfloat16.numpy_dtype
    values = drawn().astype(name)
    found = open_vectors(write_zarr(tmp_path, values, IDS))
    grid = vectors.read_rows(found, np.arange(12))
    assert grid.sha256 == expected(values.astype("f8")).sha256


def test_big_endian_and_column_order(tmp_path):
    values = drawn(dtype=">f4")
    found = open_vectors(write_npy(tmp_path, np.asfortranarray(values), IDS))
    grid = vectors.read_rows(found, np.arange(12))
    assert grid.sha256 == expected(values).sha256


def test_lengths_at_the_ends_of_what_floats_hold(tmp_path):
    values = drawn(dtype="f8") * np.logspace(-300, 300, 12)[:, None]
    found = open_vectors(write_npy(tmp_path, values, IDS))
    grid = vectors.read_rows(found, np.arange(12))
    assert np.linalg.norm(grid.values, axis=1) == pytest.approx(4080, abs=2)


@pytest.mark.parametrize("width", [1, 96, 1024, 1025, 3584, 4096, 20_000])
def test_the_scale_holds_for_any_row_of_the_width(width):
    scale = scale_for(width)
    assert (scale == 4080) == (width <= 1024)
    assert scale + np.sqrt(width) / 2 <= 4096
    assert width <= 1024 or scale + 1 + np.sqrt(width) / 2 > 4096
    worst = np.full((1, width), np.ceil(scale / np.sqrt(width)) - 0.5) / scale
    worst /= max(1.0, np.linalg.norm(worst))
    assert to_grid(worst, scale).scale == scale  # each entry is rounded the same way


def test_wide_vectors_get_a_lower_scale(tmp_path):
    values = drawn(width=4096)
    found = open_vectors(write_npy(tmp_path, values, IDS))
    grid = vectors.read_rows(found, np.arange(12))
    assert grid.scale == 4064
    assert grid.sha256 == expected(values, 4064).sha256


def test_in_a_scratch_file(tmp_path):
    path = write_npy(tmp_path, drawn(), IDS)
    before = sorted(tmp_path.iterdir())
    rows = np.arange(12)
    found = vectors.read_rows(open_vectors(path, scratch=tmp_path), rows)
    assert isinstance(found.values, np.memmap)
    assert sorted(tmp_path.iterdir()) == before  # it has no name, so none is left
    assert found.sha256 == vectors.read_rows(open_vectors(path), rows).sha256


def test_a_full_disk_is_told(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    found = open_vectors(write_npy(tmp_path, drawn(), IDS), scratch=tmp_path)
    with pytest.raises(UserError, match=r"cannot hold 0.0 GiB .*No space left"):
        vectors.read_rows(found, np.arange(12))


def pool(ids=IDS, **more):
    return {
        "ids": ids,
        "groups": ["a" if i % 3 else "b" for i in range(len(ids))],
        "prompt_ids": ids,
        "phi": np.eye(12, dtype="f4")[: len(ids)],
        "n": 6,
    } | more


@pytest.mark.parametrize("write", WRITERS)
def test_selecting_by_vectors_of_a_file(tmp_path, write):
    values = drawn()
    order = np.random.default_rng(2).permutation(12)
    path = write(tmp_path, values[order], [IDS[i] for i in order])
    spaces = {"embedding": open_vectors(path), "gradient": values}
    chosen = dict(select_all(["embedding_fps", "gradient_fps"], **pool(spaces=spaces)))
    one, other = chosen.values()
    assert one.ids == other.ids
    assert np.array_equal(one.distance, other.distance)
    assert one.report["space"] == other.report["space"] | {"name": "embedding"}
    by_group = sorted(range(12), key=lambda i: (not i % 3, i))  # a, then b
    assert one.report["space"]["grid"] == {
        "scale": 4080,
        "sha256": expected(values[by_group]).sha256,
    }
    assert one.report["space"]["features"] == 5


def test_vectors_of_rows_that_are_no_candidates_do_not_matter(tmp_path):
    values = drawn()
    values[4:6] = np.nan
    values[6] = 0
    found = open_vectors(write_npy(tmp_path, values, IDS))
    ids = IDS[:4] + IDS[7:]
    chosen = select("gradient_fps", **pool(ids, spaces={"gradient": found}))
    assert set(chosen.ids) < set(ids)


def test_the_order_of_the_pool_stands_in_for_ids(tmp_path):
    np.save(tmp_path / "v.npy", drawn())
    with pytest.raises(UserError, match=r"v.npy has no ids; .* v.ids.txt"):
        open_vectors(tmp_path / "v.npy")
    found = open_vectors(tmp_path / "v.npy", pool_ids=IDS)
    assert rows_for(found, IDS[3:5]).tolist() == [3, 4]
    with pytest.raises(UserError, match="12 vectors for 11 ids"):
        open_vectors(tmp_path / "v.npy", pool_ids=IDS[1:])
    (tmp_path / "mine.txt").write_text("\n".join(IDS[::-1]))
    found = open_vectors(
        tmp_path / "v.npy", ids=tmp_path / "mine.txt", pool_ids=IDS[1:]
    )
    assert rows_for(found, IDS[:1]).tolist() == [11]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"ids": [*IDS[:11], "id-03"]},
            "1 ids more than once, first 'id-03' in ro.* 3",
        ),
        ({"ids": IDS[:11]}, "12 vectors for 11 ids"),
        ({"ids": ["x", *IDS[1:11], "y"]}, r"no vector for 2 of 12 .*'id-00' \(row 0\)"),
        ({"values": drawn()[:, 0]}, r"must hold a matrix, .* the shape \(12,\)"),
        ({"values": np.zeros((12, 0), "f4")}, r"a matrix, .* the shape \(12, 0\)"),
        ({"values": np.ones((12, 5), "i4")}, "one of float16, .* got int32"),
        ({"values": np.full((12, 5), "a")}, "one of float16, .* got str"),
    ],
)
def test_mistakes_are_named(tmp_path, change, words):
    arguments = {"values": drawn(), "ids": IDS} | change
    with pytest.raises(UserError, match=words):
        rows_for(open_vectors(write_npy(tmp_path, **arguments)), IDS)


@pytest.mark.parametrize("write", [write_npy, write_parquet, write_zarr])
@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.nan, "must be finite; .* in row 3 .id 'id-03'., 4 .*, 5 .id 'id-05'., ..."),
        (np.inf, "must be finite; .* in row 3 .id 'id-03'., 4 .*, 5 .id 'id-05'., ..."),
        (0, "must be not zero; .* in row 3 .id 'id-03'., 4 .*, 5 .id 'id-05'., ..."),
    ],
)
def test_rows_without_a_direction_are_named(tmp_path, write, value, words):
    values = drawn()
    values[3:7] = value
    found = open_vectors(write(tmp_path, values, IDS))
    with pytest.raises(UserError, match=words):
        select("embedding_fps", **pool(spaces={"embedding": found}))


def test_mistakes_in_parquet_are_named(tmp_path, monkeypatch):
    path = tmp_path / "v.parquet"

    def opened(table, **options):
        pq.write_table(pa.table(table), path)
        return open_vectors(path, **options)

    good = [[1.0, 2.0]] * 3
    for table, options, words in (
        ({"v": good}, {}, "has no column 'id', only v"),
        ({"id": list("abc")}, {}, "one column of lists, got none"),
        ({"id": list("abc"), "v": good, "w": good}, {}, "lists, got v, w"),
        ({"id": list("abc"), "v": good}, {"vector_column": "w"}, "no column 'w'"),
        ({"id": list("abc"), "v": [1.0] * 3}, {"vector_column": "v"}, "got none"),
        ({"id": list("abc"), "v": [[1]] * 3}, {}, "one of float16, .* got int64"),
        ({"id": ["a", None, "c"], "v": good}, {}, "got None in row 1"),
        ({"id": list("abc"), "v": [None, *good[1:]]}, {}, "no vector in its first row"),
        (
            {
                "id": pa.array([], pa.string()),
                "v": pa.array([], pa.list_(pa.float32())),
            },
            {},
            "has no rows",
        ),
    ):
        with pytest.raises(UserError, match=words):
            opened(table, **options)
    monkeypatch.setattr(vector_files, "_BLOCK_ENTRIES", 2)  # a row at a time
    for lists, words in (
        ([*good[:2], [1.0]], "2 features like the first, .* has 1 in row 2"),
        ([*good[:2], None], "2 features like the first, .* has 0 in row 2"),
        ([good[0], [1.0, None], good[0]], "empty entry in the vector of row 1"),
    ):
        found = opened({"id": list("abc"), "v": lists})
        with pytest.raises(UserError, match=words):
            vectors.read_rows(found, np.arange(3))


def test_files_that_are_something_else(tmp_path):
    (tmp_path / "v.npy").write_bytes(b"nothing")
    (tmp_path / "v.parquet").write_bytes(b"nothing")
    (tmp_path / "v.csv").write_text("1,2")
    (tmp_path / "empty").mkdir()
    np.save(tmp_path / "objects.npy", np.array([[{}]]), allow_pickle=True)
    for name, words in (
        ("v.npy", "cannot be read as npy"),
        ("objects.npy", "cannot be read as npy"),
        ("v.parquet", "cannot be read as parquet"),
        ("v.csv", r"must be in a .npy or .parquet file"),
        ("empty", r"must be in a .npy or .parquet file"),
        ("absent.npy", "there is no .*absent.npy"),
    ):
        with pytest.raises(UserError, match=words):
            open_vectors(tmp_path / name, pool_ids=IDS)
    np.save(tmp_path / "good.npy", drawn())
    with pytest.raises(UserError, match=r"there is no .*ids.txt"):
        open_vectors(tmp_path / "good.npy", ids=tmp_path / "ids.txt")
    (tmp_path / "ids.txt").write_bytes(b"\xff\n" * 12)
    with pytest.raises(UserError, match="must be ids in UTF-8"):
        open_vectors(tmp_path / "good.npy", ids=tmp_path / "ids.txt")


def test_a_zarr_group_or_a_damaged_array(tmp_path):
    path = write_zarr(tmp_path, drawn(), IDS)
    (tmp_path / ".zgroup").write_text("{}")
    with pytest.raises(UserError, match="is a Zarr group; give the folder of the arr"):
        open_vectors(tmp_path)
    (path / ".zarray").write_text(json.dumps({"shape": "?"}))
    with pytest.raises(UserError, match="cannot be read as zarr"):
        open_vectors(path)


def test_a_space_of_the_wrong_size_is_told_at_once():
    for source, words in (
        (drawn(11), r"one row per candidate \(12\), got 11"),
        (Grid(np.ones((11, 2), "i2"), 1, ""), r"one row per candidate \(12\), got 11"),
    ):
        with pytest.raises(UserError, match=words):
            select_all(["gradient_fps"], **pool(spaces={"gradient": source}))
    grid = expected(drawn())
    with pytest.raises(UserError, match=r"needs the vectors .* themselves, got a grid"):
        select_all(
            ["gradient_fps"], **pool(spaces={"gradient": grid}, precision="float32")
        )
