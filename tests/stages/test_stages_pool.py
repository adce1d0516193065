"""The stages before training: what they make, refuse, and notice when it is damaged."""

import json
import os
import re
import shutil

import gguf_fields
import numpy as np
import pyarrow.parquet as pq
import pytest
from smoke_config import run_in, said

from routejax import chat, fingerprints, models, tokenizer
from routejax.errors import UserError
from routejax.models import weights
from routejax.stages import pool, select
from routejax.stages.checks import require_valid
from routejax.traces import SCHEMA
from routejax.workdir import sha256


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Folder and hashes of pool and features of the smoke recipe."""
    root = tmp_path_factory.mktemp("made") / "run"
    run = run_in(root)
    hashes = pool.pool(run)
    return root, hashes, select.fingerprint(run, hashes)


@pytest.fixture
def root(made, tmp_path):
    shutil.copytree(made[0], tmp_path / "run")
    return tmp_path / "run"


def files(folder):
    return {
        p.name: p.read_bytes() for p in folder.iterdir() if p.name != "seconds.json"
    }


def test_outputs_and_their_hashes(made):
    root, hashes, _ = made
    assert set(hashes) == {
        *("pool.parquet", "rejected.parquet", "counts.json", "tokenizer.model"),
        *("problems_rl.json", "problems_evaluation.json"),
    }
    for name, digest in hashes.items():
        assert sha256((root / "pool" / name).read_bytes()) == digest
    problems = pool.read_problems(root / "pool" / "problems_rl.json")
    assert [p.env for p in problems] == ["modsum"] * 12 + ["count"] * 12 + ["sort"] * 12
    counts = json.loads((root / "pool" / "counts.json").read_text())
    kept = counts["pool"]["written"] - sum(
        map(len, counts["pool"]["rejected"].values())
    )
    assert len(pq.read_table(root / "pool" / "pool.parquet")) == kept
    assert kept == counts["pool"]["kept"] == counts["eligible"]


def damage_row(path):
    """Another answer in one row, in a file that is a perfect pool otherwise."""
    table = pq.read_table(path)
    rows = table.to_pylist()
    rows[7]["response"] = "<think> x </think> Answer: 0"
    pq.write_table(table.from_pylist(rows, schema=SCHEMA), path)


def flip_byte(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    "damage", [damage_row, flip_byte, lambda path: os.truncate(path, 99), os.unlink]
)
def test_a_damaged_pool_is_noticed_and_made_anew(damage, root, made):
    before = files(root / "pool")
    damage(root / "pool" / "pool.parquet")
    run = run_in(root)
    assert pool.pool(run) == made[1]
    assert files(root / "pool") == before
    assert "has changed since it was written (pool.parquet); making it" in said(run)
    again = run_in(root)
    assert pool.pool(again) == made[1]
    assert said(again) == ""


def test_other_code_makes_the_stages_anew_and_says_so(root, made, monkeypatch):
    monkeypatch.setattr("routejax.workdir.code_hash", lambda: "other")
    run = run_in(root)
    hashes = pool.pool(run)
    assert hashes == made[1]  # the same bytes again
    select.fingerprint(run, hashes)
    told = said(run)
    for stage in ("pool", "fingerprint"):
        assert f"/{stage} was made with other code than now; making it anew" in told


REFUSED = {
    "short rows": (
        {"sft": {"row_tokens": 20}},
        r"traces have more than sft.row_tokens 20 tokens: \w+ \(\d+\), .* more; all "
        r"are in .*overlong.jsonl; set config.sft.overlong=drop to leave them out, or "
        r"lower pool.max_words, or raise it: --config.sft.row_tokens=\d+$",
    ),
    "short prompts": (
        {"decoding": {"prompt_tokens": 5}},
        r"36 of 36 prompts \(rl\) have more than decoding.prompt_tokens 5 tokens: .*; "
        r"48 of 48 prompts \(evaluation\) have more than decoding.prompt_tokens 5",
    ),
    "few problems": (
        {"grpo": {"prompts": 37}},
        r"grpo.prompts must be at most 36 \(problems for RL\), got 37",
    ),
    "small vocabulary": (
        {"tokenizer": {"size": 9}},
        r"tokenizer.size must be at least \d+ to hold the pool's alphabet, got 9",
    ),
    "short traces": (
        {"pool": {"max_words": 3}},
        r"none of 800 traces .*: over max_words \d+, .*; raise pool.max_words",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_would_stop_later_stops_here(case, tmp_path):
    changes, message = REFUSED[case]
    run = run_in(tmp_path / "run", **changes)
    with pytest.raises(UserError, match=message):
        pool.pool(run)
    assert not (tmp_path / "run" / "pool" / "stage.json").exists()
    assert not list((tmp_path / "run" / "pool").glob(".*"))


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_all_that_are_too_long_are_listed_in_a_file_that_the_next_start_clears(
    tmp_path,
):
    run = run_in(tmp_path / "run", sft={"row_tokens": 50}, selection={"n": 9})
    with pytest.raises(UserError, match=r"^\d+ of \d+ traces have more"):
        pool.pool(run)
    listed = lines_of(tmp_path / "run" / "pool" / "overlong.jsonl")
    rows = pq.read_table(tmp_path / "run" / "pool" / "pool.parquet").to_pylist()
    made = run.tokenizer
    turns = {x["id"]: made.turn(x["prompt"], x["response"]) for x in rows}
    lengths = {name: sum(map(len, turn)) for name, turn in turns.items()}
    assert 25 < len(listed) < len(rows)
    assert listed == [
        {"id": name, "tokens": tokens}
        for name, tokens in lengths.items()
        if tokens > 50
    ]
    hashes = pool.pool(run_in(tmp_path / "run"))
    assert "overlong.jsonl" not in hashes
    assert not (tmp_path / "run" / "pool" / "overlong.jsonl").exists()


def test_by_the_rule_they_leave_the_pool_before_any_selection(tmp_path):
    """Arms of 30 rows have 30, all of which fit; the counts say how many do not."""
    settings = {"row_tokens": 50, "overlong": "drop"}
    run = run_in(tmp_path / "run", sft=settings, selection={"n": 30})
    made = pool.pool(run)
    over = {x["id"] for x in lines_of(tmp_path / "run" / "pool" / "overlong.jsonl")}
    rows = len(pq.read_table(tmp_path / "run" / "pool" / "pool.parquet"))
    counts = json.loads((tmp_path / "run" / "pool" / "counts.json").read_text())
    assert counts["rejected"]["overlong"] == len(over) > 0
    assert counts["eligible"] == rows - len(over) == len(pool.eligible_pool(run))
    select.select(run, made, select.fingerprint(run, made))
    for arm in run.config["arms"]:
        chosen = pq.read_table(tmp_path / "run" / "select" / f"{arm}.parquet")
        assert len(chosen) == 30
        assert over.isdisjoint(chosen["id"].to_pylist())
        manifest = json.loads((tmp_path / "run" / "select" / f"{arm}.json").read_text())
        assert manifest["rejected"]["overlong"] == len(over)
    more = run_in(
        tmp_path / "more", sft=settings, selection={"n": counts["eligible"] + 1}
    )
    with pytest.raises(UserError, match=f"must be at most {counts['eligible']} .elig"):
        pool.pool(more)


def test_problems_of_rl_may_be_left_out_and_those_of_the_evaluation_not(tmp_path):
    few = {"envs": {"evaluation": ("modsum",)}, "grpo": {"overlong": "drop"}}
    run = run_in(tmp_path / "whole", **few)
    pool.pool(run)
    asked = pool.read_problems(tmp_path / "whole" / "pool" / "problems_rl.json")
    evaluated = tmp_path / "whole" / "pool" / "problems_evaluation.json"
    size = {x.id: len(run.tokenizer.prompt(x.prompt)) for x in asked}
    longest = max(
        len(run.tokenizer.prompt(x.prompt)) for x in pool.read_problems(evaluated)
    )
    over = [name for name, tokens in size.items() if tokens > longest]
    assert over
    limit = {"decoding": {"prompt_tokens": longest}}
    run = run_in(tmp_path / "run", **few, **limit)
    pool.pool(run)
    listed = lines_of(tmp_path / "run" / "pool" / "rl_overlong.jsonl")
    assert [x["id"] for x in listed] == over
    # As many as a step asks must be left.
    many = {"grpo": {"overlong": "drop", "prompts": len(asked) - len(over) + 1}}
    with pytest.raises(UserError, match=r"grpo.prompts must be at most \d+"):
        pool.pool(run_in(tmp_path / "few", **(few | many), **limit))
    limit = {"decoding": {"prompt_tokens": longest - 1}}
    with pytest.raises(UserError, match=r"^\d+ of \d+ prompts \(evaluation\) have mo"):
        pool.pool(run_in(tmp_path / "short", **few, **limit))


def test_too_few_rows_are_told_before_they_are_looked_at(tmp_path):
    """As many by name as the config allows; the cells have fewer questions."""
    settings = {"prompts_per_cell": 500, "traces_per_prompt": 2, "max_words": 38}
    run = run_in(tmp_path / "run", pool=settings, selection={"n": 4000})
    require_valid(run.config)  # 2 environments x 2 difficulties x 500 x 2
    with pytest.raises(
        UserError,
        match=r"selection.n must be at most [\d,]+ .*got 4,000; .* raise "
        r"pool.prompts_per_cell .*\(no more questions for modsum/1, ",
    ):
        pool.pool(run)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """A student whose padding is the end of a turn, with five ids and bytes."""
    folder = tmp_path_factory.mktemp("published") / "tiny"
    made = gguf_fields.fields(padding_token_id=gguf_fields.FIRST + 2)
    turn = chat.TEMPLATES["chatml"].replace("<|im_end|>", "<turn>")
    vocabulary = tokenizer.from_gguf(made | {"tokenizer.chat_template": turn})
    sizes = {"width": 8, "layers": 1, "heads": 2, "kv_heads": 1}
    sizes |= {"head_width": 4, "mlp_width": 8}
    student = models.create("qwen3", vocabulary=vocabulary.size, **sizes)
    weights.save(folder, student, student.init(0), files=vocabulary.files)
    return str(folder)


def test_a_published_tokenizer_is_tried_before_any_trace_is_written(
    checkpoint, tmp_path, monkeypatch
):
    """All that must be changed at once, and what it says is enough."""
    monkeypatch.setattr(pool, "_write_traces", lambda *_: pytest.fail("too late"))
    student, grpo = {"weights": checkpoint}, {"row_tokens": 72}  # 24 + 48
    with pytest.raises(UserError) as refused:
        pool.pool(run_in(tmp_path / "run", student=student, grpo=grpo))
    said = str(refused.value)
    flags = dict(re.findall(r"--config\.(\S+?)='?([^\s';]+)", said))
    assert {*flags} == {
        *("sft.row_tokens", "tokenizer.pad"),
        *("decoding.prompt_tokens", "grpo.row_tokens"),
    }
    pad = gguf_fields.FIRST + 2
    assert f"padding is id {pad} (<turn>), which the student is to learn" in said
    assert flags["tokenizer.pad"] == "<pad>"
    monkeypatch.undo()
    run = run_in(
        tmp_path / "run",
        student=student,
        sft={"row_tokens": int(flags["sft.row_tokens"])},
        decoding={"prompt_tokens": int(flags["decoding.prompt_tokens"])},
        grpo={"row_tokens": int(flags["grpo.row_tokens"])},
        tokenizer={"pad": flags["tokenizer.pad"]},
    )
    require_valid(run.config)
    assert "pool.parquet" in pool.pool(run)


def test_features_are_those_of_the_reasoning_alone(made):
    root, _, _ = made
    features = np.load(root / "fingerprint" / "features.npy")
    rows = pq.read_table(root / "pool" / "pool.parquet")["response"].to_pylist()
    assert features.shape == (len(rows), 1373)
    reasoning = rows[5].partition("<think>")[2].partition("</think>")[0].strip()
    np.testing.assert_array_equal(
        features[5], fingerprints.fingerprint(reasoning, "rlve")
    )


def chosen(root, made, **changes):
    run = run_in(root, **changes)
    select.select(run, made[1], made[2])
    return {
        arm: pq.read_table(root / "select" / f"{arm}.parquet")
        for arm in run.config["arms"]
    }


def test_more_rows_than_there_are_says_both_numbers(root, made):
    rows = len(pq.read_table(root / "pool" / "pool.parquet"))
    with pytest.raises(UserError, match=rf"n must be in 1..{rows} .*, got {rows + 1}"):
        chosen(root, made, selection={"n": rows + 1})
    assert {p.name for p in (root / "select").iterdir()} == {
        "inputs.json",
        "seconds.json",
    }


def test_every_row_may_be_chosen_and_one_too(root, made):
    rows = pq.read_table(root / "pool" / "pool.parquet")
    everything = {"n": len(rows), "group_by": "all"}
    for table in chosen(root, made, selection=everything).values():
        assert sorted(table["id"].to_pylist()) == sorted(rows["id"].to_pylist())
    for table in chosen(
        root, made, selection={"n": 1}, report={"map_rows": 1}
    ).values():
        assert len(table) == 1


def test_both_precisions_and_a_cap_per_prompt(root, made):
    """float32 reads phi itself; the cap holds in every arm."""
    exact = chosen(root, made)["similar"]["id"].to_pylist()
    plain = chosen(root, made, selection={"precision": "float32"})["similar"]
    assert len(set(exact) & set(plain["id"].to_pylist())) > 100
    capped = {"per_prompt": 1, "n": 100}
    for table in chosen(root, made, selection=capped).values():
        assert len(set(table["prompt_id"].to_pylist())) == 100


def test_the_map_shows_what_each_arm_took(root, made):
    tables = chosen(root, made, report={"map_rows": 10_000})
    plane = json.loads((root / "select" / "plane.json").read_text())
    ids = pq.read_table(root / "pool" / "pool.parquet")["id"].to_pylist()
    assert len(plane["x"]) == len(plane["y"]) == len(plane["env"]) == len(ids)
    for arm, table in tables.items():
        shown = {ids[place] for place in plane["arms"][arm]}
        assert shown == set(table["id"].to_pylist())
