"""Samples made elsewhere, as samples of our questions; nothing of them is lost.

A row belongs to the question with exactly its prompt, with or without the words that we
add to it; where there is none, or are several, to that of its id. What is not taken is
counted and listed in `import.json`, with the reason, and told: rows without a question,
rows whose number is that of an earlier one, and questions that have fewer samples than
others.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from routejax.envs.benchmarks.files import read_rows
from routejax.envs.benchmarks.known import BOX, LETTER
from routejax.envs.tagged import INSTRUCTION
from routejax.errors import UserError
from routejax.evaluation import samples
from routejax.evaluation.layouts import Said, responses
from routejax.evaluation.questions import Questions
from routejax.evaluation.settings import TRUNCATION
from routejax.pools import parse_paths
from routejax.workdir import write_json

RECORD = "import.json"
_ADDED = (BOX, LETTER, f"\n\n{INSTRUCTION}")  # behind the prompt of a file
_SETTINGS = ("temperature", *TRUNCATION, "max_new_tokens")

Key = tuple[int, int]  # numbers of a set and of a question in it


class Found(NamedTuple):
    """What files hold."""

    files: list[str]
    digests: list[str]
    said: list[Said]
    decoding: dict[str, float]  # what their rows say of it, if they do


class Sorted(NamedTuple):
    """Responses by question, and what was left: lines of text."""

    taken: dict[Key, list[Said]]
    unmatched: list[str]
    duplicates: list[str]
    by_id_alone: int
    other_id: int
    same_text: int


def read_files(text: str) -> Found:
    """All responses of the files that commas separate.

    Raises:
        UserError: a file or a row cannot be read; rows were decoded in two ways.
    """
    files, said, digests = parse_paths(text), [], []
    for file in files:
        for row in read_rows(file):
            try:
                own = [*responses(row)]
            except UserError as error:
                raise UserError(f"{file}, {error}") from None
            said += [one._replace(where=f"{file}, {one.where}") for one in own]
        digests.append(hashlib.sha256(Path(file).read_bytes()).hexdigest())
    return Found(files, digests, said, _one_decoding(said))


def _one_decoding(said: Sequence[Said]) -> dict[str, float]:
    known = [one for one in said if one.decoding]
    for one in known:
        if one.decoding != known[0].decoding:
            raise UserError(
                f"samples of two decodings: {_settings(known[0].decoding)} in "
                f"{known[0].where}, {_settings(one.decoding)} in {one.where}; import "
                "each into a --workdir of its own"
            )
    return known[0].decoding if known else {}


def _settings(decoding: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in decoding.items())


def made_by(
    found: Found, config: Mapping[str, Any], questions: Questions
) -> dict[str, Any]:
    """What made the samples, as far as that is known; see `sampling.json`.

    Raises:
        UserError: their rows say another decoding than the config.
    """
    given = {n: v for n, v in config["decoding"].items() if n in _SETTINGS}
    if questions.asked.max_new_tokens:
        given["max_new_tokens"] = questions.asked.max_new_tokens
    wrong = [
        f"{name} {value:g}, the config {given[name]:g}"
        for name, value in found.decoding.items()
        if given[name] is not None and given[name] != value
    ]
    if wrong:
        raise UserError(
            f"{', '.join(found.files)}: its samples were decoded otherwise than the "
            f"config says: they have {'; '.join(wrong)}. Set --config.decoding.FIELD "
            "to theirs, or make them as the config says"
        )
    return {"files": found.digests, **given, **found.decoding}


def import_sets(
    found: Found, sets: Sequence[Questions], config: Mapping[str, Any], root: Path
) -> list[str]:
    """Writes the samples of every set that has none yet; lines to tell the user.

    Raises:
        UserError: a folder has samples of other files; no row has a question.
    """
    made = [made_by(found, config, questions) for questions in sets]
    for one, questions in zip(made, sets, strict=True):
        samples.require_same(root / questions.name, one)
    found_rows = _sorted(found.said, sets)
    write_json(root / RECORD, _record(found, found_rows, sets))
    if not found_rows.taken:
        raise UserError(
            f"none of {len(found.said)} responses of {', '.join(found.files)} is of a "
            f"question that is asked: {found_rows.unmatched[0]}; all are listed in "
            f"{root / RECORD}"
        )
    for at, questions in enumerate(sets):
        folder = root / questions.name
        own = {q: said for (s, q), said in found_rows.taken.items() if s == at}
        if own and not samples.parts(folder):
            samples.write_record(folder, made[at], {"files": found.files})
            samples.write_part(samples.next_part(folder), _rows(own, questions))
    return _lines(found, found_rows, root)


def _sorted(said: Sequence[Said], sets: Sequence[Questions]) -> Sorted:
    by_id, by_prompt = _index(sets)
    taken: dict[Key, list[Said]] = defaultdict(list)
    unmatched, duplicates, alone, other, same = [], [], 0, 0, 0
    keys: set[tuple[Key, str]] = set()
    texts: set[tuple[Key, str]] = set()
    for one in said:
        named = {key for i in one.ids for key in by_id.get(i, ())}
        asked = {k for p in one.prompts for k in by_prompt.get(p.strip(), ())}
        both = named & asked or asked or named
        if len(both) != 1:
            unmatched.append(f"{one.where}: {_why(one, named, asked)}")
            continue
        (key,) = both
        if one.key is not None and (key, one.key) in keys:
            duplicates.append(
                f"{one.where}: sample {one.key} of question {_name(sets, key)} again"
            )
            continue
        keys |= {(key, one.key)} if one.key is not None else set()
        alone += bool(one.prompts) and not asked
        other += bool(named and asked) and not named & asked
        same += (key, one.response) in texts
        texts.add((key, one.response))
        taken[key].append(one)
    return Sorted(dict(taken), unmatched, duplicates, alone, other, same)


def _index(
    sets: Sequence[Questions],
) -> tuple[dict[str, set[Key]], dict[str, set[Key]]]:
    """Questions by what may be their id, and by what may be their prompt."""
    by_id: dict[str, set[Key]] = defaultdict(set)
    by_prompt: dict[str, set[Key]] = defaultdict(set)
    for s, questions in enumerate(sets):
        before = f"{questions.asked.reads}/"
        for q, problem in enumerate(questions.problems):
            for name in {problem.id, problem.id.removeprefix(before)}:
                by_id[name].add((s, q))
            for added in ("", *_ADDED):
                by_prompt[problem.prompt.removesuffix(added).strip()].add((s, q))
    return by_id, by_prompt


def _why(one: Said, named: set[Key], asked: set[Key]) -> str:
    if several := len(named & asked or asked or named):
        by = "prompt" if asked else "id"
        return f"its {by} is that of {several} questions; ids would tell them apart"
    shown = repr(one.prompts[0][:60]) if one.prompts else "none"
    return f"no question has id {', '.join(one.ids) or 'none'} or prompt {shown}"


def _name(sets: Sequence[Questions], key: Key) -> str:
    return sets[key[0]].problems[key[1]].id


def _rows(own: Mapping[int, Sequence[Said]], questions: Questions) -> dict[str, list]:
    rows: dict[str, list] = {field.name: [] for field in samples.SCHEMA}
    for q in sorted(own):
        problem = questions.problems[q]
        digest = samples.prompt_sha256(problem)
        for n, one in enumerate(own[q]):
            values = (problem.id, n, digest, one.response, one.finish, one.tokens, None)
            for name, value in zip(rows, values, strict=True):
                rows[name].append(value)
    return rows


def _record(found: Found, rows: Sorted, sets: Sequence[Questions]) -> dict[str, Any]:
    there = {
        questions.name: {
            problem.id: len(rows.taken.get((s, q), ()))
            for q, problem in enumerate(questions.problems)
        }
        for s, questions in enumerate(sets)
    }
    missing = {
        name: {i: n for i, n in own.items() if n < max(own.values())}
        for name, own in there.items()
    }
    return {
        "files": found.files,
        "responses": len(found.said),
        "taken": {name: sum(own.values()) for name, own in there.items()},
        "unmatched": rows.unmatched,
        "duplicates": rows.duplicates,
        "matched_by_id_alone": rows.by_id_alone,
        "id_of_another_question": rows.other_id,
        "same_text_again": rows.same_text,
        "decoding": found.decoding,
        "finish": dict(Counter(str(one.finish) for one in found.said)),
        # Questions with fewer samples than the set's others, and how many they have.
        "missing": {name: own for name, own in missing.items() if own},
        "samples": {name: max(own.values()) for name, own in there.items()},
    }


def _lines(found: Found, rows: Sorted, root: Path) -> list[str]:
    taken = sum(map(len, rows.taken.values()))
    lines = [f"Imported {taken:,} of {len(found.said):,} responses"]
    for title, left in (
        ("of no question that is asked", rows.unmatched),
        ("with the number of an earlier one", rows.duplicates),
    ):
        if left:
            lines.append(f"{len(left):,} {title}, such as {left[0]}")
    if rows.by_id_alone:
        lines.append(f"{rows.by_id_alone:,} by their id; their prompts are not ours")
    if rows.other_id:
        lines.append(
            f"{rows.other_id:,} have the id of another question; the prompt counts"
        )
    if rows.same_text:
        lines.append(
            f"{rows.same_text:,} with a text that their question has already; kept"
        )
    if not found.decoding:
        lines.append("their decoding is not in the files: it is as the config says")
    if len(lines) > 1:
        lines.append(f"all are listed in {root / RECORD}")
    return lines
