"""`python -m routejax.select`: what it leaves, and what it leaves alone."""

import re

import numpy as np
import pyarrow.parquet as pq
import pytest
from features_pools import write_rows
from select_pools import (
    GROUPS,
    METHODS,
    ROOT,
    call_entry,
    chats,
    facts,
    finished,
    grouped,
    ids,
    made,
    over,
    write_grouped,
)

from routejax import selection, tokenizer, workdir

# How ml_collections loads a config file.
pytestmark = pytest.mark.filterwarnings("ignore:the load_module:DeprecationWarning")
REAL = ROOT.parent / "shared/data/traces"


@pytest.fixture
def command(monkeypatch, capsys, tmp_path):
    def call(*given, workdir=tmp_path / "run", **other):
        flag = f"--workdir={workdir}"
        return call_entry(monkeypatch, capsys, flag, *given, **other)

    return call


@pytest.fixture
def root():
    return finished().root


@pytest.fixture
def paths():
    return finished().paths


def test_what_is_said(root):
    out = finished().out
    shown = "\n".join(out)
    assert (
        out[0]
        == "Plan: diverse, similar, random: 12 rows each of a pool of 60 in 3 files"
    )
    assert "12 rows each of 58 eligible (60 in the pool), K = 5" in shown
    assert re.search(r"code +19 eligible +4 rows +2 clusters", shown)
    assert re.search(r"math +20 eligible +4 rows +2 clusters", shown)
    assert re.search(r"puzzle +19 eligible +4 rows +2 clusters", shown)
    assert re.search(r"about \d+\.\d GiB of memory of \d+\.\d GiB allowed", shown)
    assert out[-1] == f"Manifest: {root / 'manifest.json'}"


@pytest.mark.parametrize("method", METHODS)
def test_rows_have_the_pools_own_columns_untouched(method, root, paths):
    table = pq.read_table(root / f"selected/{method}.parquet")
    assert table.schema.names[-4:] == [
        f"routejax_{name}" for name in ("id", "rank", "cluster", "distance")
    ]
    own = {one["id"]: one for one in map(grouped, range(60))}
    assert len(table) == 12
    for one in table.to_pylist():
        assert {k: v for k, v in one.items() if "routejax" not in k} == own[one["id"]]
        assert one["routejax_id"] == one["id"]
    counts = [table["group"].to_pylist().count(name) for name in GROUPS]
    assert counts == [4, 4, 4]


@pytest.mark.parametrize("method", METHODS)
def test_every_file_of_a_selector_tells_the_same(method, root):
    table = pq.read_table(root / f"selected/{method}.parquet").sort_by("routejax_id")
    report, manifest = facts(root, method), workdir.read_json(root / "manifest.json")
    rows = report["rows"]
    assert rows["id"] == table["id"].to_pylist() == sorted(rows["id"])
    for name in ("prompt_id", "group", "source"):
        assert rows[name] == table[name].to_pylist()
    for name in ("rank", "cluster", "distance"):
        assert rows[name] == table[f"routejax_{name}"].to_pylist()
    sizes = [
        len(p) + len(r)
        for p, r in zip(
            table["prompt"].to_pylist(), table["response"].to_pylist(), strict=True
        )
    ]
    assert rows["characters"] == sizes
    entry = manifest["selectors"][method]
    assert entry["ids_sha256"] == selection.ids_sha256(rows["id"])
    assert entry["selected"] == 12
    assert entry["report"]["groups"]["math"]["budget"] == 4
    for name, sha256 in entry["files"].items():
        assert workdir.sha256((root / "selected" / name).read_bytes()) == sha256
    assert len(entry["files"]) == 3
    at = pq.read_table(root / "phi/rows.parquet")["id"].take(rows["at"]).to_pylist()
    assert at == rows["id"]


@pytest.mark.parametrize("method", METHODS)
def test_chats_are_the_same_rows_in_the_same_order(method, root):
    table = pq.read_table(root / f"selected/{method}.parquet").to_pylist()
    found = chats(root, method)
    for line, one in zip(found, table, strict=True):
        assert line["messages"] == [
            {"role": "user", "content": one["prompt"]},
            {"role": "assistant", "content": one["response"]},
        ]
        for name in ("id", "prompt_id", "group", "source"):
            assert line[name] == one[name]


def test_phi_is_that_of_the_whole_pool_at_once(root):
    """By the doors of the package, from the features as they lie there."""
    features = [pq.read_table(p) for p in sorted(root.glob("features/parts/*.parquet"))]
    found = {
        one["id"]: one["features"]
        for table in features
        for one in table.to_pylist()
        if one["failed"] == 127
    }
    every = np.array(
        [o["features"] for t in features for o in t.to_pylist()], np.float32
    )
    names = pq.read_table(root / "phi/rows.parquet")["id"].to_pylist()
    assert names == sorted(found)
    phi = selection.project(
        np.array([found[name] for name in names], np.float32),
        stats=selection.moments(every),
        variance_floor=1e-8,
    )
    grid = selection.to_grid(phi)
    assert np.array_equal(np.load(root / "phi/phi.npy"), grid.values)
    assert workdir.read_json(root / "phi/phi.json")["sha256"] == grid.sha256


def test_the_same_ids_whatever_threads_parts_and_order(root, command, tmp_path):
    order = np.random.default_rng(0).permutation(60).tolist()
    paths = write_grouped(tmp_path / "shuffled", order=order)
    status, _, err = command(
        *over(paths, "--config.threads=3", "--config.fingerprint.rows_per_part=7")
    )
    assert (status, err) == (0, [])
    one, two = root, tmp_path / "run"
    for method in METHODS:
        assert facts(two, method) == facts(one, method)
        tables = [
            pq.read_table(root / f"selected/{method}.parquet") for root in (one, two)
        ]
        first, second = (table.sort_by("id").to_pylist() for table in tables)
        assert first == second
    assert (two / "phi/phi.npy").read_bytes() == (one / "phi/phi.npy").read_bytes()


def test_a_second_run_makes_nothing(root, paths, command):
    before = {p: p.stat().st_mtime_ns for p in root.glob("*/*") if p.suffix != ".json"}
    files = made(root)
    status, out, _ = command(*over(paths), workdir=root)
    assert status == 0
    assert out[0].startswith("Plan: diverse, similar, random: 12 rows each of 58")
    assert {p: p.stat().st_mtime_ns for p in before} == before
    assert made(root) == files


def test_a_plan_writes_nothing(root, paths, command, tmp_path):
    status, out, err = command(*over(paths), "--plan")
    assert (status, err, len(out)) == (0, [], 2)
    assert not (tmp_path / "run").exists()
    status, out, err = command(*over(paths, finished().reused), "--plan")
    assert (status, err) == (0, [])
    assert "58 eligible" in out[0]
    assert not (tmp_path / "run").exists()


def test_fingerprints_are_reused(root, paths, command, tmp_path):
    status, out, _ = command(*over(paths, finished().reused, methods=("similar",)))
    assert status == 0
    assert not any(line.startswith("fingerprint") for line in out)
    assert not (tmp_path / "run/features").exists()
    assert ids(tmp_path / "run", "similar") == ids(root, "similar")


def test_per_prompt(root, paths, command, tmp_path):
    more = (
        finished().reused,
        "--config.selection.per_prompt=1",
        "--config.selection.group_by=all",
    )
    status, out, _ = command(*over(paths, *more))
    assert status == 0
    assert "43 left out by per_prompt" in out[0]
    root = tmp_path / "run"
    for method in METHODS:
        prompts = facts(root, method)["rows"]["prompt_id"]
        assert len(set(prompts)) == len(prompts) == 12
    capped = pq.read_table(root / "selected/capped.parquet")
    assert len(capped) == 43


def test_quotas(root, paths, command, tmp_path):
    status, _, _ = command(
        *over(paths, finished().reused, "--config.selection.quotas=math=9,code=2")
    )
    assert status == 0
    groups = facts(tmp_path / "run", "diverse")["rows"]["group"]
    assert [groups.count(name) for name in GROUPS] == [2, 9, 1]


def test_float32(root, paths, command, tmp_path):
    more = ("--config.selection.precision=float32", "--config.selection.engine=sklearn")
    status, _, err = command(*over(paths, finished().reused, *more))
    assert (status, err) == (0, [])
    phi = np.load(tmp_path / "run/phi/phi.npy")
    grid = np.load(root / "phi/phi.npy")
    assert phi.dtype == np.float32
    assert np.array_equal(np.rint(phi.astype(float) * selection.SCALE), grid)


def test_vectors_of_a_file(root, paths, command, tmp_path):
    """Of the whole pool in its order, without a file of ids."""
    values = np.random.default_rng(0).standard_normal((60, 5)).astype(np.float32)
    np.save(tmp_path / "v.npy", values)
    flag = f"--config.selection.embeddings={tmp_path / 'v.npy'}"
    given = over(paths, finished().reused, flag, methods=("embedding_fps",))
    status, out, err = command(*given)
    assert (status, err) == (0, [])
    assert len(ids(tmp_path / "run", "embedding_fps")) == 12
    first = ids(tmp_path / "run", "embedding_fps")
    said = "v.npy has no ids: its vectors are taken to be in the order of the pool"
    assert any(said in line for line in out)
    # Named the other way round, the vectors belong to other rows.
    names = pq.read_table(finished().root / "features/rows.parquet")["id"].to_pylist()
    (tmp_path / "v.ids.txt").write_text("\n".join(reversed(names)))
    assert command(*given)[0] == 0
    assert ids(tmp_path / "run", "embedding_fps") != first
    (tmp_path / "v.ids.txt").unlink()
    np.save(tmp_path / "v.npy", values[:59])
    status, _, err = command(*given)
    assert status == 2
    assert "has 59 vectors for 60 ids" in err[-1]


def test_vectors_are_looked_at_before_any_work(paths, command, tmp_path):
    np.save(tmp_path / "v.npy", np.ones((3, 2, 5), np.float32))
    flag = f"--config.selection.embeddings={tmp_path / 'v.npy'}"
    given = over(paths, finished().reused, flag, methods=("random", "embedding_fps"))
    status, _, err = command(*given, "--plan")
    assert status == 2
    assert "v.npy" in err[-1]
    assert not (tmp_path / "run").exists()
    np.save(tmp_path / "v.npy", np.ones((3, 5), np.float32))
    (tmp_path / "v.ids.txt").write_text("a\nb\nc")
    status, _, err = command(*given)
    assert status == 2
    assert "has no vector for 58 of 58 candidates" in err[-1]
    assert not (tmp_path / "run").exists()


def test_tables_of_our_own_fingerprints_are_written_again(paths, command, tmp_path):
    assert command(*over(paths))[0] == 0
    table = tmp_path / "run/features/rows.parquet"
    whole, chosen = table.read_bytes(), ids(tmp_path / "run", "diverse")
    table.write_bytes(b"other")
    assert command(*over(paths))[0] == 0
    assert table.read_bytes() == whole
    assert ids(tmp_path / "run", "diverse") == chosen


def test_rejected_rows_are_told_of(paths, command):
    _, out, _ = command(*over(paths, finished().reused), "--plan")
    [said] = [line for line in out if "not eligible: " in line]
    assert "1 non_empty, 1 complete_span" in said
    assert "rejected.parquet" in said


def test_words_by_a_tokenizer(root, paths, command, tmp_path):
    """Of all messages, by a model of our own; the order of the pool changes nothing."""
    texts = [text for n in range(60) for text in grouped(n)["response"].split("\n")]
    made = tokenizer.train([*texts, grouped(0)["prompt"]], size=120)
    model = made.files["tokenizer.model"]
    (tmp_path / "t.model").write_bytes(model)
    flag = f"--config.selection.tokenizer={tmp_path / 't.model'}"
    given = over(paths, finished().reused, flag)
    given = (*given, "--config.selection.methods=lexical_fps")
    status, _, err = command(*given)
    assert (status, err) == (0, [])
    found = facts(tmp_path / "run", "lexical_fps")
    assert found["report"]["space"]
    assert min(x for x in found["rows"]["distance"] if x is not None) > 0
    order = np.random.default_rng(1).permutation(60).tolist()
    shuffled = write_grouped(tmp_path / "shuffled", order=order)
    again = over(shuffled, flag, methods=("lexical_fps",))
    assert command(*again, workdir=tmp_path / "two")[0] == 0
    assert facts(tmp_path / "two", "lexical_fps") == found


ALL = (*METHODS, "topology_fps", "topology_clusters")


def test_one_row(command, tmp_path):
    pool = write_rows(tmp_path / "p.jsonl", [grouped(0)])
    status, _, err = command(*over([pool], n=1, methods=ALL))
    assert (status, err) == (0, [])
    for method in ALL:
        assert ids(tmp_path / "run", method) == ["t0000"]


def test_identical_rows_are_taken_in_order_of_id(command, tmp_path):
    rows = [grouped(5, id=f"x{n}", group="a") for n in (3, 1, 4, 0, 2)]
    pool = write_rows(tmp_path / "p.parquet", rows)
    status, _, err = command(*over([pool], n=3, methods=("diverse", "similar")))
    assert (status, err) == (0, [])
    for method in ("diverse", "similar"):
        assert ids(tmp_path / "run", method) == ["x0", "x1", "x2"]


@pytest.mark.slow
@pytest.mark.skipif(not REAL.exists(), reason="the shared traces are not there")
def test_real_traces(command, tmp_path):
    status, out, err = command()
    assert (status, err) == (0, [])
    assert "900 rows each of 4,696 eligible (7,971 in the pool), K = 360" in "\n".join(
        out
    )
    source = {
        one["id"]: one
        for path in REAL.glob("*.parquet")
        for one in pq.read_table(path).to_pylist()
    }
    for method in ALL:
        table = pq.read_table(tmp_path / f"run/selected/{method}.parquet").to_pylist()
        assert len(table) == 900
        for one in table:
            own = {k: v for k, v in one.items() if "routejax_" not in k}
            assert own == source[one["id"]]
        for line, one in zip(chats(tmp_path / "run", method), table, strict=True):
            assert [m["content"] for m in line["messages"][-2:]] == [
                one["prompt"],
                one["response"],
            ]
