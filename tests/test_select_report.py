"""The report of a whole selection: files, numbers that agree with others, `--why`."""

import json
import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest
from select_pools import METHODS, ROOT, call_entry, facts, finished, over

from routejax import features, fingerprints, selection, workdir
from routejax.select import commands

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
def report(root):
    return workdir.read_json(root / "report.json")


def test_the_page_is_of_the_report(root, report):
    from routejax.report.choice_page import choice_page  # noqa: PLC0415

    assert (root / "report.html").read_text() == choice_page(report)
    assert f"Report: {root / 'report.html'}" in finished().out


def test_schema(report):
    assert set(report) == {
        *("schema", "routejax", "config", "commands", "family", "grammar", "pool"),
        *("order", "selectors", "overlap", "compared", "ratio", "separating"),
    }
    assert report["order"] == [*METHODS]
    assert report["compared"] == ["diverse", "similar"]
    assert report["pool"]["eligible"] == report["pool"]["read"] == 58
    assert sum(report["pool"]["groups"].values()) == 58
    assert sum(report["pool"]["map"]["rows"]) == 58
    for one in report["selectors"].values():
        assert sum(one["by_source"].values()) == sum(one["by_length"].values()) == 12
        assert len(one["rows"]) == one["selected"] == 12


@pytest.mark.parametrize("method", METHODS)
def test_distances_are_those_of_all_pairs(method, root, report):
    phi = np.load(root / "phi/phi.npy").astype(float) / selection.SCALE
    at = np.array(facts(root, method)["rows"]["at"])
    gaps = np.sqrt(((phi[:, None] - phi[at]) ** 2).sum(axis=2))
    found = report["selectors"][method]
    geometry = found["geometry"]
    assert geometry["covering_radius"] == pytest.approx(gaps.min(1).max(), abs=1e-5)
    assert geometry["mean_nearest_distance"] == pytest.approx(
        gaps.min(1).mean(), abs=1e-5
    )
    assert geometry["looked_at"] == 58
    assert geometry["quantiles"][-1] == pytest.approx(gaps.min(1).max(), abs=1e-4)
    assert geometry["vendi"] == pytest.approx(selection.vendi(phi[at]), abs=1e-3)
    ids = pq.read_table(root / "phi/rows.parquet")["id"].to_pylist()
    own = gaps[at]
    np.fill_diagonal(own, np.inf)
    for row in found["rows"]:
        place = ids[:].index(row["id"])
        here = own[at.tolist().index(place)]
        assert row["near_distance"] == pytest.approx(here.min(), abs=1e-4)
        assert gaps[place, at.tolist().index(ids.index(row["near"]))] == pytest.approx(
            here.min(), abs=1e-4
        )


def test_clusters_that_are_hit(report):
    hit = {n: one["geometry"]["clusters"] for n, one in report["selectors"].items()}
    assert {one["of"] for one in hit.values()} == {hit["diverse"]["hit"]}
    assert all(1 <= one["hit"] <= one["of"] for one in hit.values())
    assert hit["diverse"]["of"] == 6  # two in each of three groups


@pytest.mark.parametrize("method", METHODS)
def test_spread_is_that_of_all_features_at_once(method, root, report):
    known = {}
    for names, values in features.read_features(root / "features"):
        known |= dict(zip(names, values, strict=True))
    rows = facts(root, method)["rows"]
    blocks = fingerprints.block_slices("dolci")
    spread = selection.spread(
        np.array([known[name] for name in rows["id"]]),
        rows["prompt_id"],
        continuous=blocks["continuous"],
        topology=blocks["tree"],
        patterns=blocks["pattern"],
    )
    for key, value in report["selectors"][method]["spread"].items():
        if value is None:
            assert np.isnan(getattr(spread, key))
        else:
            assert value == pytest.approx(getattr(spread, key), abs=1e-5)


def test_separating_features_are_those_of_the_whole_matrix(root, report):
    known = {}
    for names, values in features.read_features(root / "features"):
        known |= dict(zip(names, values, strict=True))
    table = pq.read_table(root / "features/moments.parquet")
    sigma = np.sqrt(np.maximum(table["variance"].to_numpy(), 1e-8))
    sigma[table["variance"].to_numpy() == 0] = 1
    names = fingerprints.feature_names("dolci")
    for row in report["separating"]["shift"]:
        column = names.index(row["feature"])
        mean = table["mean"].to_numpy()[column]
        z = {}
        for method in METHODS:
            ids = facts(root, method)["rows"]["id"]
            raw = np.array([known[name][column] for name in ids])
            z[method] = np.clip((raw - mean) / sigma[column], -5, 5)
            assert row["mean"][method] == pytest.approx(z[method].mean(), abs=1e-3)
        within = np.sqrt((z["diverse"].var() + z["similar"].var()) / 2)
        effect = (z["diverse"].mean() - z["similar"].mean()) / max(within, 1e-3)
        assert row["effect"] == pytest.approx(effect, rel=1e-2, abs=1e-3)
    sizes = [abs(row["effect"]) for row in report["separating"]["shift"]]
    assert sizes == sorted(sizes, reverse=True)


def test_routes_are_drawn_and_linked(root, report):
    for one in report["selectors"].values():
        for row in one["rows"]:
            page = (root / row["route"]).read_text()
            assert f"<h1>{row['id']}</h1>" in page
            assert "not eligible" not in page


def test_overlap(root, report):
    found = report["overlap"]
    for i, a in enumerate(METHODS):
        for j, b in enumerate(METHODS):
            both = {*facts(root, a)["rows"]["id"]} & {*facts(root, b)["rows"]["id"]}
            assert found["rows"][i][j] == len(both)
    # groups of 19, 20 and 19 rows give four each
    assert found["by_chance"] == pytest.approx(16 / 19 * 2 + 16 / 20, abs=0.05)


def test_why_of_a_row_that_was_chosen(root, command):
    rows = facts(root, "diverse")["rows"]
    place = 3
    status, out, err = command(
        *over(finished().paths), f"--why={rows['id'][place]}", workdir=root
    )
    assert (status, err) == (0, [])
    shown = "\n".join(out)
    assert (
        out[0]
        == f"{rows['id'][place]}  group {rows['group'][place]}, prompt "
        + (rows["prompt_id"][place])
    )
    assert "  diverse: chosen" in out
    assert f"pick {rows['rank'][place] + 1} of its cluster" in shown
    assert f"at distance {rows['distance'][place]:.4f} to the nearest earlier" in shown
    assert f"cluster {rows['cluster'][place]} of 2: " in shown
    named = next(
        row
        for row in workdir.read_json(root / "report.json")["selectors"]["diverse"][
            "rows"
        ]
        if row["id"] == rows["id"][place]
    )
    said = f"nearest other chosen row: {named['near']} at {named['near_distance']:.4f}"
    assert said in shown


def found_group(root, at):
    return pq.read_table(root / "phi/rows.parquet")["group"][at].as_py()


def test_why_of_a_row_that_was_not(root, command):
    chosen = {name for m in METHODS for name in facts(root, m)["rows"]["id"]}
    ids = pq.read_table(root / "phi/rows.parquet")["id"].to_pylist()
    other = next(name for name in ids if name not in chosen)
    status, out, err = command(*over(finished().paths), f"--why={other}", workdir=root)
    assert (status, err) == (0, [])
    assert sum(line.endswith(": not chosen") for line in out) == len(METHODS)
    assert sum("nearest chosen row: " in line for line in out) == len(METHODS)
    at = ids.index(other)
    cluster = pq.read_table(root / "picks/diverse/clusters.parquet")["cluster"][at]
    group = facts(root, "diverse")["report"]["groups"][found_group(root, at)]
    size = group["cluster_sizes"][cluster.as_py()]
    assert any(
        line.strip().startswith(f"cluster {cluster} of ") and f": {size} row" in line
        for line in out
    )
    assert not any("pick 1" in line for line in out)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("t9999", "no row of the pool has the id 't9999'; near it in order: "),
        ("t0003", "'t0003', row 3 of "),
        ("", "no row of the pool has the id ''"),
    ],
)
def test_why_of_what_cannot_be_chosen(root, command, name, said):
    status, out, err = command(*over(finished().paths), f"--why={name}", workdir=root)
    assert (status, out) == (2, [])
    assert len(err) == 1
    assert said in err[0]


def test_why_wants_a_finished_selection(command, tmp_path):
    status, _, err = command(*over(finished().paths), "--why=t0001")
    assert status == 2
    assert "is not finished; run the same command without --why first" in err[0]
    assert not (tmp_path / "run").exists()


def test_a_report_that_is_lost_is_made_from_what_was_measured(root, command, tmp_path):
    """And it goes on where it was killed: a finished measure stays as it is."""
    copy = tmp_path / "run"
    shutil.copytree(root, copy)
    found = copy / "measures/similar"
    before = {p: p.stat().st_mtime_ns for p in copy.glob("measures/*/*.parquet")}
    wanted = workdir.read_json(copy / "report.json")
    (copy / "report.html").unlink()
    (copy / "report.json").unlink()
    (found / "stage.json").unlink()
    status, _, err = command(*over(finished().paths), workdir=copy)
    assert (status, err) == (0, [])
    after = {p: p.stat().st_mtime_ns for p in copy.glob("measures/*/*.parquet")}
    assert {p for p in before if before[p] != after[p]} == {found / "picks.parquet"}
    made = workdir.read_json(copy / "report.json")
    assert made | {"commands": None} == wanted | {"commands": None}
    assert (copy / "report.html").exists()


def test_commands_leave_out_what_is_not_of_the_other():
    run = finished()
    argv = ["select", "--config=c.py", "--workdir", "x y", "--why", "t1", "--plan"]
    argv += ["--config.pool.paths=a b", "--noplan"]

    class Run:
        root, features = run.root, run.root / "features"

    found = commands(argv, Run)
    same = "--config=c.py '--config.pool.paths=a b'"
    assert found["why"] == (
        f"python -m routejax.select {same} --workdir={run.root} --why="
    )
    assert found["route"] == (
        f"python -m routejax.fingerprint {same} --workdir={run.root / 'features'} "
        "--html=route.html --explain="
    )


def test_a_family_without_steps_has_no_routes_and_no_spread(command, tmp_path):
    status, _, err = command(
        *over(finished().paths),
        "--config.fingerprint.family=sokoban",
        "--config.selection.methods=random",
    )
    assert (status, err) == (0, [])
    found = workdir.read_json(tmp_path / "run/report.json")
    assert found["selectors"]["random"]["spread"] is None
    assert found["separating"] is None
    assert not found["grammar"]
    assert not list((tmp_path / "run/routes").glob("*.html"))
    page = (tmp_path / "run/report.html").read_text()
    assert "reads no steps in the text" in page


@pytest.mark.slow
@pytest.mark.skipif(not REAL.exists(), reason="the shared traces are not there")
def test_real_routes_lie_further_apart_in_diverse(command, tmp_path):
    """By 1.12 at 900 of 4,696 rows; the paper's 2.3 is of a far larger pool."""
    status, _, err = command("--config.selection.methods=diverse,similar,random")
    assert (status, err) == (0, [])
    found = json.loads((tmp_path / "run/report.json").read_text())
    assert found["ratio"]["topology_distance"] == pytest.approx(1.12, abs=0.05)
    assert found["ratio"]["response_distance"] > 1.05
    geometry = {n: one["geometry"] for n, one in found["selectors"].items()}
    vendi = [geometry[name]["vendi"] for name in ("similar", "random", "diverse")]
    assert vendi == sorted(vendi)
    clusters = geometry["similar"]["clusters"]
    assert clusters["hit"] < 0.7 * clusters["of"]
    assert min(one["spread"]["prompts"] for one in found["selectors"].values()) > 150


def test_why_of_another_selection_is_refused(root, command):
    """The answer would be about rows that nobody asked for."""
    given = over(finished().paths, "--why=t0000", "--config.selection.seed=7")
    status, _, err = command(*given, workdir=root)
    assert status == 2
    assert "belongs to a run with another config" in err[-1]
    assert "selection.seed: 42 there, 7 now" in err[-1]
