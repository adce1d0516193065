"""The smoke run: every stage, once, and everything that it leaves behind."""

import json
import re
from itertools import combinations

import pyarrow.parquet as pq
import pytest
from runs import copy, files, finished, logs, results, run, warm

from routejax.workdir import content_hash, sha256

pytestmark = pytest.mark.slow

ARMS = ("diverse", "similar")


@pytest.fixture(scope="module")
def root():
    return finished().root


@pytest.fixture(scope="module")
def found(root):
    return json.loads((root / "results.json").read_text())


def test_it_is_small_and_quiet():
    found = finished()
    assert found.ended.err == ""
    # Ninety seconds of wall time on two cores are at most 180 of CPU.
    assert found.cpu_s < 180
    assert found.peak_bytes < 4 * 2**30


def test_it_prints_every_stage_with_its_rate_and_a_table():
    out = finished().ended.out
    for stage in ("pool", "fingerprint", "select", "diverse seed 0 sft"):
        assert re.search(rf"^{stage}: (\d+)/\1  .*(/s|s/\w+)  \d+ s.*done$", out, re.M)
    assert "acc@1" in out
    assert "pass@4" in out
    assert "no difference can be told" in out
    assert out.rstrip().endswith("report.html")


def test_results_have_the_arms_matched_by_recipe_and_not_by_rows(found):
    arms = found["arms"]
    assert tuple(arms) == ARMS
    assert len({arm["recipe_hash"] for arm in arms.values()}) == 1
    assert len({arm["selection_sha256"] for arm in arms.values()}) == len(ARMS)
    for arm in arms.values():
        assert arm["selection"]["rows"] == found["recipe"]["selection.n"]
        (seed,) = arm["seeds"]
        assert seed["seed"] == 0
        for phase in ("sft", "rl"):
            assert seed[phase]["cells"]["all"]["problems"] == 48
            assert 0 < seed[phase]["cells"]["all"]["acc1"] < 1
        assert seed["weights"]["sft"] != seed["weights"]["grpo"]  # RL moved them


def test_every_number_of_results_follows_from_the_samples(root, found):
    """Counts are recounted from the judged responses; pass@4 is the share solved."""
    for arm in ARMS:
        for phase, stage in (("sft", "evaluate_sft"), ("rl", "evaluate_grpo")):
            path = root / "arms" / arm / "seed_0" / stage / "samples.parquet"
            samples = pq.read_table(path).to_pylist()
            counts: dict[str, int] = {}
            for row in samples:
                solved = row["solved"]
                counts[row["problem_id"]] = counts.get(row["problem_id"], 0) + solved
                assert not (solved and row["finish"] == "length")
            metrics = found["arms"][arm]["seeds"][0][phase]
            assert list(counts) == found["evaluation"]["problem_ids"]
            assert metrics["counts"] == list(counts.values())
            solved = sum(count > 0 for count in counts.values())
            passed = metrics["cells"]["all"]["passk"]["4"]
            assert passed == pytest.approx(solved / len(counts), abs=1e-6)


def test_the_three_problem_sets_share_no_question(root):
    table = pq.read_table(root / "pool" / "pool.parquet")
    asked = {"sft": set(table["prompt"].to_pylist())}
    for split in ("rl", "evaluation"):
        rows = json.loads((root / "pool" / f"problems_{split}.json").read_text())
        asked[split] = {row["prompt"] for row in rows}
        assert len(asked[split]) == len(rows)
    for a, b in combinations(asked.values(), 2):
        assert a
        assert b
        assert not a & b


def test_selections_come_from_the_pool_with_equal_budgets(root):
    pool = pq.read_table(root / "pool" / "pool.parquet").to_pylist()
    known = {row["id"]: row for row in pool}
    for arm in ARMS:
        rows = pq.read_table(root / "select" / f"{arm}.parquet").to_pylist()
        assert len({row["id"] for row in rows}) == len(rows) == 128
        for row in rows:
            assert known[row["id"]] == {key: row[key] for key in known[row["id"]]}
        envs = [row["env"] for row in rows]
        assert envs.count("modsum") == envs.count("count") == 64


def test_rl_leaves_the_reference_as_it_was(root, found):
    """The weights GRPO started from are those that SFT wrote, before and after."""
    for arm in ARMS:
        folder = root / "arms" / arm / "seed_0"
        before = json.loads((folder / "grpo" / "inputs.json").read_text())["weights"]
        assert before == (folder / "sft" / "weights.sha256").read_text()
        assert before == found["arms"][arm]["seeds"][0]["weights"]["sft"]


def test_the_report_needs_nothing_beside_it(root):
    page = (root / "report.html").read_text()
    assert not re.search(r"""(?:src|href)\s*=\s*["'](?!#|data:)""", page)
    assert not re.search(r"""url\(\s*["']?(?!#|data:|["'])""", page)
    assert "@import" not in page
    assert "diverse" in page
    assert page.rstrip().endswith("</html>")


def test_the_recipe_hash_is_of_what_the_stages_recorded(root, found):
    stages = ("sft", "evaluate_sft", "grpo", "evaluate_grpo")
    folder = root / "arms" / "similar" / "seed_0"
    recipe = {s: json.loads((folder / s / "recipe.json").read_text()) for s in stages}
    expected = content_hash({"seed_0": recipe})
    assert found["arms"]["similar"]["recipe_hash"] == expected


def test_the_same_command_again_prints_and_changes_nothing():
    root = copy("again")
    before = files(root)
    again = run(root)
    assert again.status == 0, again.err
    assert "acc@1" in again.out
    assert "seed 0" not in again.out  # no stage worked
    assert files(root) == before


def test_three_arms_and_two_seeds_and_the_old_ones_as_before(root):
    """What other arms and seeds there are changes nothing for an arm and a seed."""
    many = warm("many")
    ended = run(many, "--config.seeds=0,1", "--config.arms=diverse,similar,random")
    assert ended.status == 0, ended.err
    arms = json.loads((many / "results.json").read_text())["arms"]
    assert list(arms) == [*ARMS, "random"]
    assert len({arm["recipe_hash"] for arm in arms.values()}) == 1
    alone = json.loads((root / "results.json").read_text())["arms"]
    for name in ARMS:
        assert arms[name]["seeds"][0] == alone[name]["seeds"][0]
        assert arms[name]["selection_sha256"] == alone[name]["selection_sha256"]
    weights = {
        (name, seed["seed"]): seed["weights"]["grpo"]
        for name, arm in arms.items()
        for seed in arm["seeds"]
    }
    assert len(set(weights.values())) == len(weights) == 6
    shared = [p for p in logs(many) if "random" not in p and "seed_0" in p]
    assert {p: logs(many)[p] for p in shared} == logs(root)


def test_rows_changed_by_hand_stop_the_comparison():
    """An arm that lacks a row has another recipe, though it trains as many steps."""
    root = copy("unmatched")
    path = root / "select" / "similar.parquet"
    pq.write_table(pq.read_table(path).slice(1), path)
    mark = root / "select" / "stage.json"
    found = json.loads(mark.read_text())
    found["outputs"]["similar.parquet"] = sha256(path.read_bytes())
    mark.write_text(json.dumps(found))
    before = results(root)
    ended = run(root)
    assert ended.status == 2
    (line,) = ended.err.splitlines()
    assert line.startswith("routejax: arms diverse and similar did not follow one rec")
    assert "seed_0.sft.examples: 128 in diverse, 127 in similar" in line
    assert results(root) == before  # nothing half-written
