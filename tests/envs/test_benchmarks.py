"""Files of questions: hand-written rows of every known benchmark, and bad files."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from routejax.envs.benchmarks import KINDS, KNOWN, judge, read_questions
from routejax.envs.benchmarks.known import BOX, CHOICE_SEED, LETTER
from routejax.envs.tagged import INSTRUCTION
from routejax.errors import UserError

SUM = {"problem": "What is 2 + 3?", "answer": "5"}
INSTRUCTED = {
    "key": 7,
    "prompt": "Write without commas.",
    "instruction_id_list": ["punctuation:no_comma"],
    "kwargs": [{"n": None}],
}

# A row as published, and what it becomes: prompt, gold, part of meta.
ROWS = {
    **{
        name: [(SUM, SUM["problem"] + BOX, "5", {})]
        for name, known in KNOWN.items()
        if known.kind == "math"
    },
    "aime2024": [
        ({"ID": "I-1", "Problem": " P ", "Answer": 33}, "P" + BOX, "33", {}),
        (
            {"problem_idx": 2, "problem": "Q \\boxed", "answer": 4.0},
            "Q \\boxed",
            "4",
            {},
        ),
    ],
    "gsm8k": [
        (
            {"question": "Q", "answer": "2 + 3 = <<2+3=5>>5\n#### 5"},
            "Q" + BOX,
            "5",
            {"solution": "2 + 3 = <<2+3=5>>5"},
        ),
    ],
    "minerva": [
        (
            {"problem": "Q", "solution": "so \\boxed{\\frac{1}{2}}"},
            "Q" + BOX,
            "\\frac{1}{2}",
            {},
        ),
        (SUM, SUM["problem"] + BOX, "5", {}),
    ],
    "olympiadbench": [
        (
            {
                "question": "Q",
                "final_answer": ["$1$", "$2$"],
                "unit": "%",
                "error": "1e-1",
            },
            "Q" + BOX,
            "$1$, $2$",
            {"unit": "%", "tolerance": "1e-1"},
        ),
        ({"problem": "Q", "answer": "3", "error": None}, "Q" + BOX, "3", {}),
    ],
    "omega_explorative": [
        (
            {
                "id": "g_1",
                "setting_key": "gcd_3",
                "messages": [{"role": "user", "content": "Q \\boxed{}"}],
                "ground_truth": "[1, 2]",
            },
            "Q \\boxed{}",
            "[1, 2]",
            {"setting": "gcd_3"},
        ),
    ],
    "ifeval": [
        (
            INSTRUCTED,
            "Write without commas.",
            None,
            {"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]},
        ),
    ],
    "ifbench": [(INSTRUCTED, "Write without commas.", None, {})],
    "humaneval": [
        (
            {"task_id": "H/0", "prompt": "def f():\n", "test": "T", "entry_point": "f"},
            "def f():\n",
            None,
            {"test": "T", "entry_point": "f"},
        ),
    ],
    "rlve_heldout": [
        (
            {
                "prompt": "P",
                "metadata": '{"environment": "Canon", "config": {"seed": 1}}',
            },
            f"P\n\n{INSTRUCTION}",
            None,
            {"environment": "Canon", "config": {"seed": 1}},
        ),
    ],
    "enigmata": [
        (
            {"prompt": "P", "task_name": "slant", "answer": "a", "meta": '{"n": 3}'},
            "P",
            None,
            {"task": "slant", "answer": "a", "meta": {"n": 3}},
        ),
        (
            {"prompt": "P", "answer": [[1]], "meta": {"task_name": "maze"}},
            "P",
            None,
            {"task": "maze", "answer": [[1]], "meta": {"task_name": "maze"}},
        ),
    ],
}


def written(folder, rows, name="file.jsonl"):
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("name", [n for n in KNOWN if n != "gpqa_diamond"])
def test_a_row_of_every_known_benchmark(tmp_path, name):
    for number, (row, prompt, gold, meta) in enumerate(ROWS[name]):
        path = written(tmp_path, [row], f"{number}.jsonl")
        (question,) = read_questions(path, name).questions
        assert (question.prompt, question.gold) == (prompt, gold)
        assert question.kind == KNOWN[name].kind
        assert meta.items() <= question.meta.items()
        json.dumps(question.meta)
        if gold is not None:
            assert judge(question, f"\\boxed{{{gold}}}").solved


CHOICES = {
    "Record ID": "rec1",
    "Question": "Which is prime?",
    "Correct Answer": "7",
    "Incorrect Answer 1": "4",
    "Incorrect Answer 2": "6",
    "Incorrect Answer 3": "8",
}


def test_choices_are_shuffled_by_question_and_seed_alone(tmp_path):
    assert CHOICE_SEED == 0
    csv = tmp_path / "gpqa.csv"
    rows = [
        CHOICES | {"Record ID": i, "Question": f"Which is prime, {i}?"}
        for i in range(60)
    ]
    text = "\n".join(",".join(f'"{v}"' for v in row.values()) for row in rows)
    csv.write_text(",".join(CHOICES) + "\n" + text)
    found = read_questions(csv, "gpqa_diamond").questions
    for question in found:
        lines = question.prompt.removesuffix(LETTER).splitlines()[-4:]
        assert sorted(line[3:] for line in lines) == ["4", "6", "7", "8"]
        assert f"{question.gold}. 7" in lines
        assert question.kind == "choice"
        assert judge(question, f"Answer: {question.gold}").solved
    assert {question.gold for question in found} == set("ABCD")
    some = written(tmp_path, rows[::-7])
    again = read_questions(some, "gpqa_diamond").questions
    by_id = {question.id: question for question in found}
    assert all(by_id[question.id].prompt == question.prompt for question in again)


def test_every_format_gives_the_same_questions(tmp_path):
    rows = [
        {"id": str(i), "problem": f"{i} + 1?", "answer": str(i + 1)} for i in range(3)
    ]
    jsonl = written(tmp_path, rows)
    (tmp_path / "file.json").write_text(json.dumps(rows))
    lines = [",".join(rows[0]), *(",".join(row.values()) for row in rows)]
    (tmp_path / "file.csv").write_text("\ufeff" + "\r\n".join(lines))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "file.parquet")
    wanted = read_questions(jsonl, "aime2024")
    assert len(wanted.questions) == 3
    for kind in ("json", "csv", "parquet"):
        assert read_questions(tmp_path / f"file.{kind}", "aime2024") == wanted


def test_ids_come_from_the_place_where_there_is_no_column(tmp_path):
    found = read_questions(written(tmp_path, [SUM, SUM]), "aime2024")
    assert [q.id for q in found.questions] == ["aime2024-0", "aime2024-1"]
    assert (found.duplicates, found.full) == (1, 30)


MIXED = [
    {"prompt": "user: Add.", "ground_truth": ["5"], "dataset": ["math"]},
    {"prompt": "Choose.", "ground_truth": ["B"], "dataset": ["mcq"]},
    {"prompt": "Obey.", "ground_truth": ['[{"id": 1}]'], "dataset": ["ifeval"]},
    {"prompt": "Code.", "ground_truth": ["[1]"], "dataset": ["code_stdio"]},
    {"prompt": "Chat.", "ground_truth": ["hm"], "dataset": ["general-quality"]},
]


def test_each_row_of_a_mixture_names_its_verifier(tmp_path):
    found = read_questions(written(tmp_path, MIXED), "mixture")
    kinds = ["math", "choice", "ifeval", "code_stdio"]
    assert [q.kind for q in found.questions] == kinds
    assert [q.gold for q in found.questions] == ["5", "B", None, None]
    assert found.questions[0].prompt == "Add." + BOX
    assert found.questions[2].meta["ground_truth"] == [{"id": 1}]
    assert found.unverified == ("mixture-4",)
    assert set(kinds) <= set(KINDS)


def test_an_unknown_source_lists_the_known_ones(tmp_path):
    path = written(tmp_path, [MIXED[0], MIXED[0] | {"dataset": "maths"}])
    with pytest.raises(UserError, match=r"line 2: .* one of math, gsm8k.*got 'maths'"):
        read_questions(path, "mixture")
    found = read_questions(path, "mixture", sources={"maths": "math"})
    assert len(found.questions) == 2
    with pytest.raises(UserError, match="kinds of sources must be among math"):
        read_questions(path, "mixture", sources={"maths": "mathematics"})


BAD = [
    ("", "has no rows"),
    ("\n\n", "has no rows"),
    ('{"problem": "Q", "answer": "5"', "line 1: no JSON"),
    ('{"problem": "Q", "answer": "5"}\n[1]\n', "line 2: a JSON object is wanted"),
    (
        '{"problem": "Q"}',
        r"line 1: no column with the answer; wanted one of answer, .*problem",
    ),
    ('{"answer": "5"}', "line 1: no column with the question; wanted one of problem, "),
    ('{"problem": "Q", "answer": null}', "line 1: the answer is missing in column"),
    ('\n{"problem": "Q", "answer": " "}', "line 2: the answer is missing in column"),
    ('{"problem": " ", "answer": "5"}', "line 1: the question is missing"),
    (
        '{"id": 1, "problem": "Q", "answer": "5"}\n'
        '{"id": 1, "problem": "R", "answer": "6"}',
        "1 ids stand in several rows: '1' in line 1, line 2",
    ),
    ("[" * 10**5, "line 1: no JSON .maximum recursion"),
    ('{"problem": "caf\\ud800", "answer": "5"}', "line 1: no JSON .* surrogates"),
    ('{"problem": "Q", "answer": NaN}', "line 1: the answer is missing in column"),
    ('{"problem": NaN, "answer": "5"}', "line 1: the question is missing in column"),
    ('{"id": " ", "problem": "Q", "answer": "5"}', "line 1: the id is blank in col"),
    (
        '{"problem": "Q", "Problem": "R", "answer": "5"}',
        "line 1: several columns are 'problem' but for case",
    ),
]


@pytest.mark.parametrize(("text", "message"), BAD)
def test_a_bad_file_is_told_with_its_row(tmp_path, text, message):
    path = tmp_path / "bad.jsonl"
    path.write_text(text)
    with pytest.raises(UserError, match=message) as caught:
        read_questions(path, "aime2024")
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.parquet", b"PAR1 no", "damaged or no Parquet"),
        ("a.json", b"{}", "a JSON list of objects is wanted"),
        ("a.json", b"[", "no JSON"),
        ("a.json", b"[" * 10**5, "no JSON"),
        ("a.json", b'[{"problem": "\\udc00", "answer": "5"}]', "no JSON .* surrogates"),
        ("a.json", '[{"problem": "Q"}]'.encode("utf-16"), "no JSON"),
        ("a.jsonl", b'{}\n{"problem": "caf\xe9"}', "line 2: no JSON .* byte 0xe9"),
        ("a.csv", b"problem,answer\nQ\n", "row 1: not as many cells"),
        ("a.csv", b"problem,answer\nQ,5,6\n", "row 1: not as many cells"),
        ("a.csv", b"problem,answer\n\xff,5\n", "no CSV"),
        ("a.txt", b"x", "must end in one of .jsonl"),
    ],
)
def test_a_damaged_file_is_told(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=message):
        read_questions(tmp_path / name, "aime2024")


@pytest.mark.parametrize("end", ["jsonl", "json", "csv", "parquet"])
def test_a_file_that_cannot_be_read_is_told(tmp_path, end):
    (tmp_path / f"a.{end}").symlink_to("/proc/self/mem")
    with pytest.raises(UserError, match=r"cannot be read: Input/output|damaged or no"):
        read_questions(tmp_path / f"a.{end}", "aime2024")


def test_parquet_with_what_is_no_utf8_is_told(tmp_path):
    raw = pa.array([b"caf\xe9"])
    latin = pa.Array.from_buffers(pa.string(), 1, raw.buffers())
    pq.write_table(
        pa.table({"problem": ["Q"], "answer": latin}), tmp_path / "a.parquet"
    )
    with pytest.raises(UserError, match="behind row 0"):
        read_questions(tmp_path / "a.parquet", "aime2024")


OBEYED = {k: v for k, v in INSTRUCTED.items() if k != "key"}
MISSHAPEN = [
    *(
        ("ifeval", OBEYED | odd, "line 1: instruction_id_list must be a list of names")
        for odd in (
            {"instruction_id_list": "a", "kwargs": "a"},
            {"instruction_id_list": 3},
            {"instruction_id_list": [3]},
            {"kwargs": ["a"]},
        )
    ),
    *(
        ("rlve_heldout", {"prompt": "P", "metadata": odd}, f"line 1: metadata {told}")
        for odd, told in (
            ("{", "is not JSON"),
            ("[" * 10**5, "is not JSON"),
            (3, "needs `environment`"),
            ({"environment": ["Canon"], "config": {}}, "needs `environment`"),
            ({"environment": "Canon", "config": 3}, "needs `environment`"),
        )
    ),
    (
        *("enigmata", {"prompt": "P", "answer": 1, "meta": "[" * 10**5}),
        "line 1: meta is not JSON",
    ),
    *(
        ("olympiadbench", SUM | {"error": odd}, "line 1: the error must be a number")
        for odd in ("about 1", float("inf"), [1, 2], "1e999999999", "-0.1")
    ),
]


@pytest.mark.parametrize(("name", "row", "message"), MISSHAPEN)
def test_cells_of_another_shape_are_told_with_their_row(tmp_path, name, row, message):
    with pytest.raises(UserError, match=message):
        read_questions(written(tmp_path, [row]), name)


def test_an_instruction_without_arguments_may_have_null(tmp_path):
    row = OBEYED | {"kwargs": [None]}
    (question,) = read_questions(written(tmp_path, [row]), "ifeval").questions
    assert question.meta["kwargs"] == [{}]


@pytest.mark.parametrize("error", ["0.01", "1e-2", ".5", "3", 0.5, 2, "1e-1,1e-2"])
def test_tolerances_as_files_have_them(tmp_path, error):
    row = SUM | {"error": error}
    (question,) = read_questions(written(tmp_path, [row]), "olympiadbench").questions
    assert judge(question, "\\boxed{5}").solved


def test_parquet_cut_short_is_told(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.Table.from_pylist([SUM] * 5000), path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(UserError, match="damaged or no Parquet"):
        read_questions(path, "aime2024")


def test_an_absent_file_and_an_unknown_benchmark(tmp_path):
    with pytest.raises(UserError, match="is no file"):
        read_questions(tmp_path / "no.jsonl", "aime2024")
    with pytest.raises(UserError, match=r"one of aime2024.*did you mean 'aime2024'"):
        read_questions(tmp_path, "aime24")


@pytest.mark.parametrize(
    ("name", "row", "message"),
    [
        ("enigmata", {"prompt": "P", "answer": 1}, "the meta; .* are prompt, answer$"),
        (
            *("enigmata", {"prompt": "P", "answer": 1, "meta": "{}", "name": "slant"}),
            "the task; wanted one of task_name; .* are prompt, answer, meta, name$",
        ),
        (
            *("enigmata", {"prompt": "P", "answer": 1, "meta": "{"}),
            "line 1: meta is not JSON",
        ),
        (
            *("gpqa_diamond", {"question": "Q", "answer": "7"}),
            "the correct answer; wanted .*correct_answer; .* are question, answer$",
        ),
        *(
            (name, {"text": "Q", "answer": "7"}, "the question; .* are text, answer$")
            for name in ("brumo2025", "cmimc2025", "beyond_aime")
        ),
    ],
)
def test_columns_that_are_not_those_wanted_are_told(tmp_path, name, row, message):
    with pytest.raises(UserError, match=message):
        read_questions(written(tmp_path, [row]), name)


def test_another_judge_is_named(tmp_path):
    (question,) = read_questions(written(tmp_path, [INSTRUCTED]), "ifeval").questions
    with pytest.raises(UserError, match="kind 'ifeval' is judged by 'instructions'"):
        judge(question, "text")


def test_a_tolerance_of_a_row_counts(tmp_path):
    row = {"problem": "Q", "answer": "4.2", "error": "1e-1", "unit": "%"}
    (question,) = read_questions(written(tmp_path, [row]), "olympiadbench").questions
    assert judge(question, "\\boxed{4.25\\%}").solved
    assert not judge(question, "\\boxed{4.35}").solved
