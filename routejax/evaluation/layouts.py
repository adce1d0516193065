"""Rows of files that other programs wrote, as responses with what is known of them.

Recognised by their columns, whichever program wrote them:

    prompt, response              lines of one's own; `responses` for several
    prompt, outputs[{text, …}]    vLLM's outputs, finish_reason and token_ids with them
    custom_id, response.body      batches in OpenAI's form (`vllm run-batch`)
    doc, resps, arguments         lm-eval with --log_samples
    input, output                 what verl's trainer dumps of its rollouts
    prompt[messages], responses   what verl's generation writes

A prompt may be text, messages (the last turn of the user counts), or text in ChatML as
a template has written it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from routejax.envs.benchmarks.files import Row
from routejax.envs.benchmarks.known import ID
from routejax.errors import UserError

IDS = ("problem_id", "prompt_id", *ID)
PROMPTS = ("prompt", "problem", "question", "query", "input", "messages")
RESPONSES = (
    *("response", "responses", "output", "outputs", "resps", "choices"),
    *("completion", "completions", "generation", "generations", "generated_text"),
    "text",
)
NUMBERS = ("sample", "sample_index", "sample_idx", "sample_id")
_FINISHES = {"length": "length", "max_tokens": "length"} | dict.fromkeys(
    ("stop", "eos", "eos_token", "end_turn"), "stop"
)
_LENGTHS = ("tokens", "num_tokens", "completion_tokens")
# What a row may say of its decoding, by our names.
_DECODING = {name: name for name in ("temperature", "top_k", "top_p", "min_p")} | {
    name: "max_new_tokens"
    for name in ("max_new_tokens", "max_tokens", "max_completion_tokens")
}
_DECODING["max_gen_toks"] = "max_new_tokens"
# With control ids, or as it is read when these are left out.
_CHATML = re.compile(
    r"(?:.*<\|im_start\|>user\n(.*?)<\|im_end\|>\n?<\|im_start\|>assistant\n.*"
    r"|(?:system\n.*?\n)?user\n(.*)\nassistant\n(?:<think>\n*)?)\s*",
    re.DOTALL,
)


class Said(NamedTuple):
    """One response.

    Attributes:
        where: its row, "line 3".
        ids: what may be the id of its question.
        prompts: what may be its prompt.
        key: its number among those of its question, if the row says one.
        finish: "stop", "length", or None where that is not known.
    """

    where: str
    ids: list[str]
    prompts: list[str]
    response: str
    key: str | None
    finish: str | None
    tokens: int | None
    decoding: dict[str, float]


def responses(row: Row) -> Iterator[Said]:
    """The responses of a row.

    Raises:
        UserError: it has none, or one that is no text; or neither id nor prompt.
    """
    cells = {str(name).strip().lower(): value for name, value in row.cells.items()}
    name = next((n for n in RESPONSES if cells.get(n) is not None), None)
    if name is None:
        raise UserError(
            f"{row.where}: no column with the response; wanted one of "
            f"{', '.join(RESPONSES)}; the columns are {', '.join(cells)}"
        )
    inner = _object(cells.get("doc"))  # the question as lm-eval had it
    ids = [str(b[n]) for b in (cells, inner) for n in IDS if b.get(n) is not None]
    prompts = [text for value in _asked(cells, inner) for text in _texts(value)]
    if not ids and not prompts:
        raise UserError(
            f"{row.where}: neither an id ({', '.join(IDS)}) nor a prompt "
            f"({', '.join(PROMPTS)}) of the question; the columns are "
            f"{', '.join(cells)}"
        )
    number = _number(cells)
    for n, found in enumerate(_flat(cells[name], f"{row.where}, {name}")):
        key = number
        if key is None and "doc_id" in cells:
            key = f"{cells['doc_id']}/{n}"
        yield Said(
            row.where,
            ids,
            prompts,
            found["text"],
            key,
            _FINISHES.get(str(found.get("finish") or cells.get("finish_reason"))),
            found.get("tokens") or _length(cells),
            _decoding(cells),
        )


def _asked(cells: Mapping[str, Any], inner: Mapping[str, Any]) -> Iterator[Any]:
    yield from (block[n] for block in (cells, inner) for n in PROMPTS if block.get(n))
    yield from _arguments(cells.get("arguments"))


def _arguments(value: Any) -> Iterator[Any]:
    """Texts and settings of lm-eval's requests, old form and new."""
    if isinstance(value, Mapping):
        for one in value.values():
            yield from one.values() if isinstance(one, Mapping) else (one,)
    elif isinstance(value, list):
        for one in value:
            yield from one if isinstance(one, list) else (one,)


def _texts(value: Any) -> Iterator[str]:
    """What a prompt may be: the user's turn, or the text itself."""
    if isinstance(value, str):
        yield value
        if match := _CHATML.fullmatch(value):
            yield match[1] if match[1] is not None else match[2]
    elif isinstance(value, list):
        turns = [one for one in value if isinstance(one, Mapping)]
        asked = [one.get("content") for one in turns if one.get("role") == "user"]
        if asked and isinstance(asked[-1], str):
            yield asked[-1]


def _flat(value: Any, where: str) -> Iterator[dict[str, Any]]:
    """Every response within a cell, as `text`, `finish` and `tokens`."""
    if isinstance(value, str):
        yield {"text": value}
    elif isinstance(value, list) and value:
        for one in value:
            yield from _flat(one, where)
    elif isinstance(value, Mapping) and isinstance(value.get("body"), Mapping):
        yield from _flat(value["body"].get("choices"), where)
    elif isinstance(value, Mapping) and (text := _said(value)) is not None:
        ids = value.get("token_ids")
        yield {
            "text": text,
            "finish": value.get("finish_reason"),
            "tokens": len(ids) if isinstance(ids, list | tuple) else None,
        }
    else:
        raise UserError(f"{where}: a response is wanted, got {str(value)[:60]!r}")


def _said(value: Mapping[str, Any]) -> str | None:
    """The text of one output; reasoning that stands beside it goes back into it."""
    if isinstance(value.get("message"), Mapping):
        return _said(value["message"])
    text = next((t for t in (value.get("text"), value.get("content")) if t), None)
    thought = value.get("reasoning_content") or value.get("reasoning")
    if thought:
        return f"<think>\n{thought}\n</think>\n\n{text or ''}"
    if text is None and ("text" in value or "content" in value):
        return ""
    return text if isinstance(text, str) else None


def _number(cells: Mapping[str, Any]) -> str | None:
    value = next((cells[n] for n in NUMBERS if cells.get(n) is not None), None)
    return None if value is None else str(value)


def _length(cells: Mapping[str, Any]) -> int | None:
    value = next((cells[n] for n in _LENGTHS if cells.get(n) is not None), None)
    return value if isinstance(value, int) else None


def _decoding(cells: Mapping[str, Any]) -> dict[str, float]:
    blocks = [cells, _object(cells.get("sampling_params"))]
    blocks += [v for v in _arguments(cells.get("arguments")) if isinstance(v, Mapping)]
    found = {}
    for block in blocks:
        for name, own in _DECODING.items():
            value = block.get(name)
            if isinstance(value, int | float) and not isinstance(value, bool):
                # -1 is how some programs say that all tokens may be drawn
                found[own] = max(value, 0) if own == "top_k" else value
        if block.get("do_sample") is False:
            found["temperature"] = 0
    return found


def _object(value: Any) -> Mapping[str, Any]:
    """A cell that is an object, or the JSON of one; else an empty one."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return value if isinstance(value, Mapping) else {}
