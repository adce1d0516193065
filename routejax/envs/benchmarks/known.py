"""The benchmarks that are known: where their columns stand and how a row is read.

A row becomes (prompt, gold, meta); the table says by which function. Column names are
those of the published files, and the plain ones (`problem`, `answer`) for one's own.
Of GPQA, BRUMO, CMIMC, Beyond AIME and Enigmata no file was at hand: names are those
that their publishers' programs read. A file with others is refused, and they are told.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from routejax.envs.answers.choices import LETTERS
from routejax.envs.answers.extract import last_box
from routejax.envs.benchmarks.question import Cells, parsed, text
from routejax.envs.tagged import INSTRUCTION
from routejax.errors import UserError

PROMPT = ("problem", "question", "prompt", "query", "input", "messages")
ANSWER = ("answer", "final_answer", "ground_truth", "gold", "target", "solution")
ID = ("id", "unique_id", "problem_idx", "task_id", "record_id", "key", "custom_id")
_SETTING = ("setting", "setting_key", "family", "problem_family", "subject", "category")
# What makes a response readable for `answers`. [ours]
BOX = "\n\nPlease reason step by step, and put your final answer within \\boxed{}."
LETTER = "\n\nEnd with a line `Answer: X`, where X is the letter of the right choice."
CHOICE_SEED = 0  # of the order of choices
_TOLERANCE = re.compile(r"[0-9]{0,9}\.?[0-9]{1,9}(e-?[0-9]{1,2})?", re.ASCII | re.I)


class Read(NamedTuple):
    """What a row says; `kind` only where rows of one file differ in it."""

    prompt: str
    gold: str | None
    meta: dict
    kind: str = ""


@dataclass(frozen=True)
class Known:
    """A benchmark: its title, how many rows its full set has (0: no one number)."""

    title: str
    kind: str
    rows: int
    read: Callable[[Cells], Read]


def plain(cells: Cells) -> Read:
    """A question in mathematics with its answer."""
    gold = text(cells.first(ANSWER, "answer"))
    return Read(boxed(user_turn(cells)), gold, cells.others((*PROMPT, *ANSWER[:1])))


def user_turn(cells: Cells) -> str:
    """The user turn; of a conversation its last one."""
    found = cells.first(PROMPT, "question")
    if isinstance(found, list):
        turns = [turn for turn in found if isinstance(turn, dict)]
        found = next(
            (t.get("content") for t in turns[::-1] if t.get("role") == "user"), None
        )
        if not found:
            raise UserError(f"{cells.where}: the conversation has no user turn")
    return text(found).strip()


def boxed(prompt: str) -> str:
    """The prompt with a request for a box, where it has none."""
    return prompt if "\\boxed" in prompt else prompt + BOX


def gsm8k(cells: Cells) -> Read:
    """As published the answer is a solution that ends with `#### 18`."""
    prompt, gold, meta, _ = plain(cells)
    assert gold is not None
    *steps, last = gold.split("####")
    meta |= {"solution": steps[0].strip()} if steps else {}
    return Read(prompt, last.strip(), meta)


def solution(cells: Cells) -> Read:
    """The answer, or the last box of the solution where there is no such column."""
    if any(name in cells for name in ANSWER[:-1]):
        return plain(cells)
    gold = last_box(text(cells.first(("solution",), "solution")))
    if not gold:
        raise UserError(f"{cells.where}: the solution has no \\boxed answer")
    return Read(boxed(user_turn(cells)), gold, cells.others((*PROMPT, "solution")))


def olympiad(cells: Cells) -> Read:
    """Several answers as one list, and the tolerance of the rows that have one."""
    gold = cells.first(("answer", "final_answer"), "answer")
    golds = gold if isinstance(gold, list) else [gold]
    meta = cells.others((*PROMPT, "answer", "final_answer"))
    if cells.get("error"):
        meta["tolerance"] = _tolerance(cells)
    return Read(boxed(user_turn(cells)), ", ".join(map(text, golds)), meta)


def _tolerance(cells: Cells) -> str:
    """The first of those that a cell has."""
    found = text(cells["error"]).split(",")[0].strip()
    if not _TOLERANCE.fullmatch(found):
        raise UserError(
            f"{cells.where}: the error must be a number such as 0.01 or 1e-2; "
            f"got {found!r}"
        )
    return found


def omega(cells: Cells) -> Read:
    """With the setting (problem family and level) within which splits are made."""
    gold = text(cells.first(("answer", "ground_truth"), "answer"))
    meta = cells.others((*PROMPT, "answer", "ground_truth"))
    name = next((name for name in _SETTING if cells.get(name)), None)
    meta["setting"] = text(cells[name]) if name else ""
    return Read(boxed(user_turn(cells)), gold, meta)


def gpqa(cells: Cells) -> Read:
    """Four choices in an order that depends on the question and `CHOICE_SEED` alone."""
    question = text(cells.first(("question",), "question")).strip()
    right = text(cells.first(("correct_answer",), "correct answer")).strip()
    wrong = (f"incorrect_answer_{i}" for i in (1, 2, 3))
    choices = [right, *(text(cells.first((w,), "wrong answer")).strip() for w in wrong)]
    order = random.Random(f"{CHOICE_SEED}/{question}").sample(range(4), 4)
    lines = (f"{LETTERS[i]}. {choices[k]}" for i, k in enumerate(order))
    prompt = question + "\n\n" + "\n".join(lines) + LETTER
    return Read(
        prompt, LETTERS[order.index(0)], {"choices": [choices[k] for k in order]}
    )


def instructions(cells: Cells) -> Read:
    """A prompt with the instructions that a response must follow."""
    meta = cells.others(PROMPT)
    for name in ("instruction_id_list", "kwargs"):
        meta[name] = cells.first((name,), name)
    wanted, given = meta["instruction_id_list"], meta["kwargs"]
    if not _list_of(wanted, str) or not _list_of(given, dict | None):
        raise UserError(
            f"{cells.where}: instruction_id_list must be a list of names and kwargs "
            "one of objects"
        )
    if len(wanted) != len(given):
        raise UserError(
            f"{cells.where}: instruction_id_list and kwargs differ in length"
        )
    # Parquet fills the arguments of all instructions with nulls.
    given = ({k: v for k, v in (one or {}).items() if v is not None} for one in given)
    return Read(user_turn(cells), None, meta | {"kwargs": list(given)})


def _list_of(value: Any, kind: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, kind) for one in value)


def humaneval(cells: Cells) -> Read:
    """A function to complete, its tests and its name."""
    meta = cells.others(PROMPT)
    for name in ("test", "entry_point"):
        meta[name] = text(cells.first((name,), name))
    return Read(text(cells.first(PROMPT, "question")), None, meta)


def rlve(cells: Cells) -> Read:
    """A prompt with the environment and the configuration that verify it."""
    found = cells.first(("metadata",), "environment")
    meta = parsed(cells.where, "metadata", found)
    if not (
        isinstance(meta, dict)
        and isinstance(meta.get("environment"), str)
        and isinstance(meta.get("config"), dict)
    ):
        raise UserError(f"{cells.where}: metadata needs `environment` and `config`")
    return Read(f"{user_turn(cells)}\n\n{INSTRUCTION}", None, dict(meta))


def enigmata(cells: Cells) -> Read:
    """A puzzle with its task, whose own verifier reads answer and meta.

    The task stands in a column, or in the meta of rows that its generators have made.
    """
    for name in ("answer", "meta"):
        if name not in cells:
            cells.first((name,), name)  # which tells the columns there are
    found = cells.others(PROMPT)
    found["meta"] = parsed(cells.where, "meta", cells["meta"])
    inner = found["meta"] if isinstance(found["meta"], dict) else {}
    task = inner.get("task_name") or cells.first(("task_name",), "task")
    return Read(user_turn(cells), None, found | {"task": text(task)})


def _math(title: str, rows: int, read: Callable[[Cells], Read] = plain) -> Known:
    return Known(title, "math", rows, read)


KNOWN: dict[str, Known] = {
    "aime2024": _math("AIME 2024", 30),
    "aime2025": _math("AIME 2025", 30),
    "aime2026": _math("AIME 2026", 30),
    "amc2023": _math("AMC 2023", 40),
    "hmmt_feb_2025": _math("HMMT February 2025", 30),
    "hmmt_nov_2025": _math("HMMT November 2025", 30),
    "hmmt_feb_2026": _math("HMMT February 2026", 0),
    "brumo2025": _math("BRUMO 2025", 30),
    "brumo2026": _math("BRUMO 2026", 0),
    "cmimc2025": _math("CMIMC 2025", 40),
    "cmimc2026": _math("CMIMC 2026", 0),
    "beyond_aime": _math("Beyond AIME", 100),
    "math500": _math("MATH-500", 500),
    "olympiadbench": _math("OlympiadBench", 675, olympiad),
    "minerva": _math("Minerva", 272, solution),
    "gsm8k": _math("GSM8K", 1319, gsm8k),
    "omega_explorative": _math("OMEGA explorative", 0, omega),
    "omega_compositional": _math("OMEGA compositional", 0, omega),
    "omega_transformative": _math("OMEGA transformative", 0, omega),
    "omega500": _math("OMEGA-500", 500, omega),
    "gpqa_diamond": Known("GPQA-Diamond", "choice", 198, gpqa),
    "ifeval": Known("IFEval", "ifeval", 541, instructions),
    "ifbench": Known("IFBench", "ifbench", 300, instructions),
    "humaneval": Known("HumanEval", "humaneval", 164, humaneval),
    "rlve_heldout": Known("RLVE, held-out environments", "rlve", 128, rlve),
    "enigmata": Known("Enigmata", "enigmata", 0, enigmata),
}
