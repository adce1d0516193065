"""Gold answers match themselves: hand-written ones, and every file that is there."""

from pathlib import Path

import pytest

from routejax.envs.answers import Open, decide
from routejax.envs.benchmarks import read_questions

FOLDER = Path(__file__).parents[3] / "shared" / "data" / "benchmarks"
# Name of a file there: the benchmark, its rows, and golds that only their text tells.
FILES = {
    "aime2024": ("aime2024", 30, 0),
    "aime2025": ("aime2025", 30, 0),
    "aime2026": ("aime2026", 30, 0),
    "amc2023": ("amc2023", 40, 0),
    "gsm8k_test": ("gsm8k", 1319, 0),
    "hmmt_feb_2025": ("hmmt_feb_2025", 30, 0),
    "humaneval": ("humaneval", 164, 0),
    "ifbench": ("ifbench", 300, 0),
    "ifeval": ("ifeval", 541, 0),
    "math500": ("math500", 500, 0),
    "minerva_math": ("minerva", 272, 7),
    "olympiadbench_675": ("olympiadbench", 675, 1),
    "olympiadbench_qwen": ("olympiadbench", 675, 1),
    "omega500": ("omega500", 500, 0),
    "rlve_heldout_128": ("rlve_heldout", 128, 0),
}

GOLDS = [
    *("7", "-3", "0.25", "1,234", "10{,}000", "\\frac{3}{7}", "-\\frac{\\pi}{4}"),
    *("5\\sqrt{7}", "2+3i", "40^\\circ", "12\\%", "\\$4.50", "9 \\text{ cm}^2"),
    *("x=4", "1,-2", "$3$,$4$", "\\{1\\pm\\sqrt{3},-2\\}", "(2,-1)", "(1,8), (2,7)"),
    *("(-\\infty,2)\\cup(5,\\infty)", "y = 3x+1", "2k+1", "\\text{Tom}", "\\text{(D)}"),
    *(
        "\\begin{pmatrix} 1/4 \\\\ -2 \\end{pmatrix}",
        "305_7",
        "1\\frac{2}{5}",
        "3.1e-5",
    ),
    *("\\lfloor n/3 \\rfloor+1", "\\binom{2n}{n}", "f(n)=n, g(n)=2", "2^{n}-n-1"),
    *(
        "\\frac{\\log 2}{\\log 3}",
        "e^{-2 t}/5+C_{1} e^{t}",
        "\\cot x",
        "k \\geqslant 2",
    ),
]


def same(gold: str) -> bool | None:
    """Whether the gold answers itself, read and not only as the same text."""
    verdict = decide(gold, f"It is \\boxed{{{{{gold}}}}}", kind="math")
    return None if isinstance(verdict, Open) else verdict.solved


@pytest.mark.parametrize("gold", GOLDS)
def test_a_gold_answers_itself(gold):
    assert same(gold) is True


@pytest.mark.skipif(not FOLDER.exists(), reason="files of benchmarks are absent")
@pytest.mark.parametrize("file", FILES)
def test_golds_of_a_file_answer_themselves(file):
    name, rows, by_text = FILES[file]
    found = read_questions(FOLDER / f"{file}.jsonl", name)
    assert len(found.questions) == found.full == rows
    golds = [q.gold for q in found.questions if q.gold is not None and q.kind == "math"]
    for gold in golds:
        verdict = decide(gold, f"\\boxed{{{gold}}}", kind="math")
        assert not isinstance(verdict, Open)
        assert verdict.solved
    apart = [gold for gold in golds if same(gold) is not True]
    assert len(apart) == by_text, apart


@pytest.mark.skipif(not FOLDER.exists(), reason="files of benchmarks are absent")
def test_every_file_there_is_read():
    assert {path.stem for path in FOLDER.glob("*.jsonl")} == set(FILES)
