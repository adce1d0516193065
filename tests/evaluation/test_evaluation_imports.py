"""Samples made elsewhere: every layout, and every row accounted for."""

import json
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from entries import OLD_IMPORT, signals_kept
from evaluated_runs import command, metrics_of, samples_of, write_lines

from routejax.envs.benchmarks.files import Row
from routejax.errors import UserError
from routejax.evaluation import layouts

pytestmark = pytest.mark.filterwarnings(OLD_IMPORT)

CHATML = "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\nHow?<|im_end|>\n"
CHATML += "<|im_start|>assistant\n"
BODY = {
    "choices": [
        {
            "index": 0,
            "message": {"content": "so", "reasoning_content": "hm"},
            "finish_reason": "length",
        }
    ]
}
ARGUMENTS = {"gen_args_0": {"arg_0": "Q: How?", "arg_1": {"temperature": 0.6}}}

# cells: ids, prompts among which is "How?", responses, finish of the first, keys
LAYOUTS = {
    "plain": (
        {"id": 3, "prompt": "How?", "response": "so", "finish_reason": "stop"},
        (["3"], ["so"], "stop", [None]),
    ),
    "several": (
        {"prompt": "How?", "responses": ["so", "thus"]},
        ([], ["so", "thus"], None, [None, None]),
    ),
    "numbered": (
        {"prompt": "How?", "sample": 0, "response": "so"},
        ([], ["so"], None, ["0"]),
    ),
    "vllm": (
        {
            "prompt": CHATML,
            "outputs": [
                {"text": "so", "finish_reason": "length", "token_ids": [1, 2]},
                {"text": "", "finish_reason": "stop", "token_ids": [2]},
            ],
        },
        ([], ["so", ""], "length", [None, None]),
    ),
    "batch": (
        {"custom_id": "a-1", "response": {"body": BODY}, "prompt": "How?"},
        (["a-1"], ["<think>\nhm\n</think>\n\nso"], "length", [None]),
    ),
    "lm-eval": (
        {
            "doc_id": 5,
            "doc": {"id": "a-1", "question": "How?"},
            "arguments": ARGUMENTS,
            "resps": [["so", "thus"]],
        },
        (["a-1"], ["so", "thus"], None, ["5/0", "5/1"]),
    ),
    "lm-eval as text": (
        {
            "doc_id": 5,
            "doc": json.dumps({"question": "How?"}),
            "arguments": [["Q: How?", {"do_sample": False}]],
            "resps": [["so"]],
        },
        ([], ["so"], None, ["5/0"]),
    ),
    "verl's trainer": (
        {"input": "system\nBe kind.\nuser\nHow?\nassistant\n", "output": "so"},
        ([], ["so"], None, [None]),
    ),
    "verl's generation": (
        {"prompt": [{"role": "user", "content": "How?"}], "responses": ["so"]},
        ([], ["so"], None, [None]),
    ),
}


@pytest.mark.parametrize("what", LAYOUTS)
def test_layouts_by_hand(what):
    cells, (ids, texts, finish, keys) = LAYOUTS[what]
    found = [*layouts.responses(Row("line 1", cells))]
    assert [one.response for one in found] == texts
    assert [one.key for one in found] == keys
    assert found[0].finish == finish
    assert found[0].ids == ids
    assert "How?" in found[0].prompts


def test_lengths_and_decodings_that_rows_tell():
    (first, _) = layouts.responses(Row("line 1", LAYOUTS["vllm"][0]))
    assert first.tokens == 2
    (first, _) = layouts.responses(Row("line 1", LAYOUTS["lm-eval"][0]))
    assert first.decoding == {"temperature": 0.6}
    (first,) = layouts.responses(Row("line 1", LAYOUTS["lm-eval as text"][0]))
    assert first.decoding == {"temperature": 0}
    cells = {"id": 1, "text": "x", "top_k": -1, "max_tokens": 9, "tokens": 4}
    (first,) = layouts.responses(Row("line 1", cells))
    assert first.decoding == {"top_k": 0, "max_new_tokens": 9}
    assert first.tokens == 4


BAD_ROWS = {
    "no response": ({"prompt": "How?"}, "line 7: no column with the response; wanted"),
    "null": ({"prompt": "How?", "response": None}, "no column with the response"),
    "no question": ({"response": "so"}, "line 7: neither an id .* nor a prompt"),
    "a number": ({"id": 1, "response": 5}, "line 7, response: a response is wanted"),
    "an empty list": ({"id": 1, "responses": []}, "a response is wanted, got '\\[\\]'"),
    "a failed request": (
        {"custom_id": "a", "response": {"body": None}},
        "a response is wanted",
    ),
}


@pytest.mark.parametrize("what", BAD_ROWS)
def test_rows_that_are_no_samples_are_named(what):
    cells, said = BAD_ROWS[what]
    with pytest.raises(UserError, match=said):
        [*layouts.responses(Row("line 7", cells))]


# Through the entry --------------------------------------------------------------------

QUESTIONS = [
    {"id": f"q{n}", "problem": f"What is {n} + {n}?", "answer": str(2 * n)}
    for n in range(1, 4)
]


def said(n, value, **more):
    prompt = QUESTIONS[n - 1]["problem"]
    return {"prompt": prompt, "response": f"It is \\boxed{{{value}}}.", **more}


# Right: two of question 1, one of 2, none of 3.
ROWS = [said(1, 2), said(1, 2), said(2, 4), said(2, 5), said(3, 7), said(3, 8)]


@pytest.fixture
def take(monkeypatch, capsys, tmp_path):
    write_lines(tmp_path / "aime2025.jsonl", QUESTIONS)

    def call(rows, *flags, samples=2, name="it"):
        if not isinstance(rows, str):
            rows = str(write_lines(tmp_path / "made.jsonl", rows))
        given = (
            f"--config.samples={rows}",
            f"--config.files={tmp_path}",
            f"--config.sets.aime2025.samples={samples}",
            f"--config.sets.aime2025.passes={samples},",
            *flags,
        )
        return command(
            monkeypatch, capsys, tmp_path / name, *given, variant="single_teacher"
        )

    with signals_kept():
        yield call


def test_samples_are_taken_and_scored(take, tmp_path):
    ended = take(ROWS)
    assert ended.status == 0, ended.err
    found = metrics_of(tmp_path / "it")
    one = found["sets"]["aime2025"]
    assert one["counts"] == [2, 1, 0]
    assert one["problem_ids"] == ["aime2025/q1", "aime2025/q2", "aime2025/q3"]
    assert one["acc1"]["mean"] == 0.5
    assert one["passk"]["2"]["mean"] == pytest.approx(2 / 3, abs=1e-6)
    assert one["passk"]["2"]["n"] == 3
    assert one["finish"] == {"unknown": 6}
    assert one["tokens"] == {"mean": None, "n": 0}
    assert one["made_by"]["temperature"] == 0.7
    assert found["mean"] is None
    assert "brumo2025" in found["absent"]
    assert "their decoding is not in the files" in ended.out
    assert "3 questions in" in ended.out  # of the 30 that were published
    again = take(ROWS)
    assert again.status == 0
    assert metrics_of(tmp_path / "it") == found


def test_what_is_not_taken_is_counted_and_listed(take, tmp_path):
    rows = [
        *(said(n, 2 * n, sample=s) for n in (1, 2, 3) for s in (0, 1)),
        said(1, 9, sample=1),  # its number again
        {"prompt": "Who?", "response": "Me", "id": "other"},
        {"id": "q2", "response": "\\boxed{4}", "prompt": "2 plus 2?", "sample": 2},
        said(3, 6, sample=2, id="q1"),  # the id of another question
    ]
    ended = take(rows)
    assert ended.status == 0, ended.err
    listed = json.loads((tmp_path / "it/import.json").read_text())
    (unmatched,), (duplicate,) = listed["unmatched"], listed["duplicates"]
    assert "line 8: no question has id other or prompt 'Who?'" in unmatched
    assert "line 7: sample 1 of question aime2025/q1 again" in duplicate
    assert listed["responses"] == 10
    assert listed["taken"]["aime2025"] == 8
    assert listed["matched_by_id_alone"] == 1
    assert listed["id_of_another_question"] == 1
    assert listed["missing"] == {"aime2025": {"aime2025/q1": 2}}
    assert "Imported 8 of 10 responses" in ended.out
    assert "1 of no question that is asked" in ended.out
    assert "1 with the number of an earlier one" in ended.out
    assert samples_of(tmp_path / "it/aime2025").num_rows == 8


def test_unequal_numbers_are_refused_and_listed(take, tmp_path):
    ended = take([*ROWS[:5]])
    assert ended.status == 2
    assert "1 of 3 questions have fewer than 2 samples; aime2025/q3 has 1" in ended.err
    flags = ("--config.sets.aime2025.samples=1", "--config.sets.aime2025.passes=1,")
    assert f"or ask for fewer: {' '.join(flags)}; " in ended.err
    assert ended.err.count("\n") == 1
    listed = json.loads((tmp_path / "it/import.json").read_text())
    assert listed["missing"] == {"aime2025": {"aime2025/q3": 1}}
    assert take([*ROWS[:5]], samples=1).status == 0


def test_one_prompt_of_two_questions_needs_an_id(take, tmp_path):
    twin = {**QUESTIONS[0], "id": "twin"}
    write_lines(tmp_path / "aime2025.jsonl", [*QUESTIONS, twin])
    rows = [*ROWS, said(1, 2, id="twin"), said(1, 3, id="twin")]
    ended = take(rows)
    assert ended.status == 2
    listed = json.loads((tmp_path / "it/import.json").read_text())
    assert len(listed["unmatched"]) == 2
    assert "its prompt is that of 2 questions; ids would" in listed["unmatched"][0]
    rows[:2] = [said(1, 2, id="q1"), said(1, 2, id="q1")]
    ended = take(rows, name="with_ids")
    assert ended.status == 0, ended.err
    counts = metrics_of(tmp_path / "with_ids")["sets"]["aime2025"]["counts"]
    assert counts == [2, 1, 0, 1]


def test_cut_off_responses_are_not_right(take, tmp_path):
    rows = [{**row, "finish_reason": "stop"} for row in ROWS]
    rows[0]["finish_reason"] = "length"
    assert take(rows).status == 0
    one = metrics_of(tmp_path / "it")["sets"]["aime2025"]
    assert one["counts"] == [1, 1, 0]
    assert one["finish"] == {"length": 1, "stop": 5}


def test_parquet_with_several_responses_in_a_row(take, tmp_path):
    rows = [
        {
            "prompt": [{"role": "user", "content": QUESTIONS[n]["problem"]}],
            "responses": [row["response"] for row in ROWS[2 * n : 2 * n + 2]],
        }
        for n in range(3)
    ]
    path = tmp_path / "made.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path)
    assert take(str(path)).status == 0
    assert metrics_of(tmp_path / "it")["sets"]["aime2025"]["counts"] == [2, 1, 0]


MISTAKES = {
    "two decodings": (
        [{**ROWS[0], "temperature": 0.7}, {**ROWS[1], "temperature": 1.0}, *ROWS[2:]],
        r"samples of two decodings: temperature 0.7 in .*line 1, temperature 1 in .*"
        "line 2; import each into a --workdir of its own",
    ),
    "another decoding than the protocol's": (
        [{**row, "temperature": 1.0} for row in ROWS],
        "they have temperature 1, the config 0.7. Set --config.decoding.FIELD",
    ),
    "none of our questions": (
        [{"prompt": "Who?", "response": "Me"}],
        "none of 1 responses of .* is of a question that is asked: .*line 1: no quest",
    ),
    "no JSON": ("broken", "line 1: no JSON"),
    "no such file": ("/no/such.jsonl", "/no/such.jsonl is no file"),
    "no response": ([{"prompt": "Who?"}], "made.jsonl, line 1: no column with the res"),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_a_mistake_is_one_line(what, take, tmp_path):
    rows, wanted = MISTAKES[what]
    if rows == "broken":
        (tmp_path / "broken.jsonl").write_text("{")
        rows = str(tmp_path / "broken.jsonl")
    ended = take(rows)
    assert ended.status == 2
    assert ended.err.count("\n") == 1
    assert re.search(wanted, ended.err), ended.err
    assert not (tmp_path / "it/metrics.json").exists()


def test_other_files_are_never_mixed_in(take):
    assert take(ROWS).status == 0
    ended = take([*ROWS, said(1, 5)])
    assert ended.status == 2
    assert "has samples of other settings: files: [" in ended.err
