"""A solution as the messages of its conversation, the form that trainers read.

The response is the whole assistant turn with its reasoning between markers, as it is
trained on. Roles are `system`, `user`, `assistant` and `tool`. Other keys of a message
than its role and content are left out, but for what tools need.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from routejax.pools.layouts import COMMON, LAYOUTS, Layout
from routejax.pools.reading import Source
from routejax.pools.recognition import fits, recognise, unwrapped
from routejax.pools.rows import other_turns
from routejax.pools.turns import BadRow, Turn, read_turns, respond
from routejax.pools.values import itself, look

_OF_TOOLS = ("tool_calls", "tool_call_id", "name")


def chat(
    prompt: str,
    response: str,
    meta: str,
    row: Callable[[], Mapping[str, Any]],
    source: Source,
) -> list[dict[str, Any]]:
    """The messages in their order.

    A canonical row keeps its turns beside prompt and response without saying where
    they stood. Where these are more than a system message, the order is taken from the
    messages of the input row; and where that has none, they come before the prompt.
    """
    asked = {"role": "user", "content": prompt}
    answered = {"role": "assistant", "content": response}
    others = other_turns(meta)
    if any(turn.get("role") != "system" for turn in others):
        turns = _turns(row(), source)
        last = max((i for i, t in enumerate(turns) if _answers(t)), default=-1)
        if last >= 0:
            whole = [_message(turn) for turn in turns]
            return [*whole[:last], answered, *whole[last + 1 :]]
    before = sorted(others, key=lambda turn: turn.get("role") != "system")
    return [*(_as_message(turn) for turn in before), asked, answered]


def contents(prompt: str, response: str, meta: str) -> str:
    """All messages as one text, a line end between two: what words are counted in."""
    others = [turn.get("content") or "" for turn in other_turns(meta)]
    return "\n".join([*others, prompt, response])


def _turns(row: Mapping[str, Any], source: Source) -> Sequence[Turn]:
    """The turns of an input row that holds a list of messages, else none."""
    row, layout = _laid_out(row, source)
    fields = {**COMMON, **layout.fields[0]}
    if "messages" not in fields:
        return []
    asked = "user" if "completion" in fields else None
    try:
        turns = read_turns(look(row, fields["messages"], itself)[0], text_role=asked)
        if "completion" in fields:
            more, _ = look(row, fields["completion"], itself)
            turns += read_turns(more, text_role="assistant")
    except BadRow:
        return []
    system, _ = look(row, fields["system"], _text)
    return [*([Turn("system", system)] if system else []), *turns]


def _laid_out(
    row: Mapping[str, Any], source: Source
) -> tuple[Mapping[str, Any], Layout]:
    """The row and its layout, as the reader of the pool takes them."""
    if fits(source.layout, row) or not source.per_row:
        return row, source.layout
    inner = unwrapped(row)
    key = None if fits(source.layout, inner) else recognise(inner)
    return inner, LAYOUTS[key] if key else source.layout


def _message(turn: Turn) -> dict[str, Any]:
    content, _ = respond(turn.content, turn.reasoning)
    return {"role": turn.role, "content": content, **_for_tools(turn.rest)}


def _as_message(turn: Mapping[str, Any]) -> dict[str, Any]:
    content, _ = respond(turn.get("content") or "", turn.get("reasoning"))
    return {"role": turn.get("role"), "content": content, **_for_tools(turn)}


def _for_tools(rest: Mapping[str, Any]) -> dict[str, Any]:
    return {key: rest[key] for key in _OF_TOOLS if rest.get(key) is not None}


def _answers(turn: Turn) -> bool:
    return turn.role == "assistant"


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
