"""Chat messages as released → one prompt, one response, and what stood around them.

Takes messages as objects with role/content or from/value, their list as a JSON string,
content as text, null or a list of blocks, and reasoning in a field of its own. The
response is the last assistant turn, the prompt the last user turn before it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from routejax import spans
from routejax.spans import Span

# Name of a role in the wild → ours.
ROLES: dict[str, str] = {
    **dict.fromkeys(("user", "human", "prompter"), "user"),
    **dict.fromkeys(("assistant", "gpt", "model", "chatgpt", "bot"), "assistant"),
    **dict.fromkeys(("system", "developer"), "system"),
    **dict.fromkeys(("tool", "function", "observation", "ipython"), "tool"),
}
ROLE_KEYS = ("role", "from")
CONTENT_KEYS = ("content", "value")
REASONING_KEYS = ("reasoning_content", "reasoning", "thinking", "thoughts", "thought")
# Kinds of content blocks whose text is reasoning, and those whose text is content.
REASONING_BLOCKS = ("thinking", "reasoning")
TEXT_BLOCKS = ("text", "output_text", "input_text")


class BadRow(Exception):
    """A row that cannot be read: the rule that says so, and the reason in words."""

    def __init__(self, rule: str, reason: str):
        super().__init__(reason)
        self.rule, self.reason = rule, reason


class Turn(NamedTuple):
    """One message; `reasoning` is None without a field for it, `rest` is other keys."""

    role: str
    content: str
    reasoning: str | None = None
    rest: Mapping[str, Any] = {}


class Conversation(NamedTuple):
    """One candidate solution; `context` is every other turn, in order.

    `span` is None where the response itself has to be searched.
    """

    prompt: str
    response: str
    span: Span | None
    context: tuple[Turn, ...] = ()
    rest: Mapping[str, Any] = {}


def read_turns(messages: Any, text_role: str | None = None) -> list[Turn]:
    """The turns of a list of messages or of its JSON.

    With `text_role` a text is no JSON but one turn of that role.

    Raises:
        BadRow: what is no such thing.
    """
    if isinstance(messages, str) and text_role:
        return [Turn(text_role, messages)]
    if isinstance(messages, str):
        messages = parse(messages)
    if isinstance(messages, dict):
        messages = [messages]
    if not isinstance(messages, Sequence) or isinstance(messages, str):
        raise BadRow("messages", f"messages must be a list, got {_short(messages)}")
    return [_turn(message) for message in messages]


def converse(turns: Sequence[Turn]) -> Conversation:
    """The last assistant turn and the user turn that it answers.

    Raises:
        BadRow: no assistant turn, or no user turn before the last one.
    """
    answers = [i for i, turn in enumerate(turns) if turn.role == "assistant"]
    if not answers:
        raise BadRow("no_response", "there is no assistant turn")
    last = answers[-1]
    asked = [i for i, turn in enumerate(turns[:last]) if turn.role == "user"]
    if not asked:
        raise BadRow("no_prompt", "there is no user turn before the assistant's")
    response, span = respond(turns[last].content, turns[last].reasoning)
    others = (t for i, t in enumerate(turns) if i not in (last, asked[-1]))
    prompt = turns[asked[-1]].content
    return Conversation(prompt, response, span, tuple(others), turns[last].rest)


def respond(content: str, reasoning: str | None) -> tuple[str, Span | None]:
    """The whole assistant turn, and its span if the reasoning has its own field.

    A reasoning field that is not blank wins over markers in the content. The turn is
    then put together with the markers `<think>`, so that it can be trained on.
    """
    if reasoning is None or not reasoning.strip():
        return content, None
    inner, outer = spans.find(reasoning), spans.find(content)
    thought = inner.reasoning if inner.state != "none" else reasoning.strip()
    answer = content.strip() if outer.state == "none" else outer.answer
    opens, closes, _ = spans.THINK
    whole = f"{opens}\n{thought}\n{closes}\n\n{answer}"
    return whole, Span("field", thought, answer)


def parse(text: str | bytes) -> Any:
    """The value of a JSON text.

    Raises:
        BadRow: it is none, or is nested too deeply.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadRow("json", f"no JSON: {error}") from error


def text_of(value: Any, what: str) -> str:
    """Text, or "" for null.

    Raises:
        BadRow: a value of another kind.
    """
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadRow("not_text", f"{what} must be text, got {_short(value)}")
    return value


def _turn(message: Any) -> Turn:
    if not isinstance(message, dict):
        raise BadRow("messages", f"a message must be an object, got {_short(message)}")
    role = _first(message, ROLE_KEYS)
    if not isinstance(role, str):
        raise BadRow("role", f"a message must say its role, got {_short(message)}")
    content, inside = _content(_first(message, CONTENT_KEYS))
    field = _reasoning(_first(message, REASONING_KEYS))
    known = {*ROLE_KEYS, *CONTENT_KEYS, *REASONING_KEYS}
    rest = {k: v for k, v in message.items() if k not in known and v is not None}
    name = ROLES.get(role.strip().lower(), role)
    return Turn(name, content, field or inside or None, rest)


def _content(value: Any) -> tuple[str, str]:
    """Text and reasoning of a content, which may be a list of blocks."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        return text_of(value, "content"), ""
    texts, thoughts = [], []
    for block in value:
        if isinstance(block, str):
            texts.append(block)
            continue
        if not isinstance(block, dict):
            raise BadRow("messages", f"no content block: {_short(block)}")
        kind = block.get("type")
        inner = _first(block, ("text", "content", *REASONING_KEYS, "summary"))
        if kind in REASONING_BLOCKS:
            thoughts.append(_reasoning(inner))
        elif kind in (*TEXT_BLOCKS, None) and isinstance(inner, str):
            texts.append(inner)
        else:  # a call, an image: opaque, but not lost
            texts.append(json.dumps(_plain_block(block), ensure_ascii=False))
    return "\n\n".join(texts), "\n\n".join(filter(None, thoughts))


def _plain_block(block: Mapping) -> dict:
    return {k: v for k, v in block.items() if v is not None}


def _reasoning(value: Any) -> str:
    """Text of a reasoning field, which may itself be blocks."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        text, thoughts = _content(value)
        return "\n\n".join(filter(None, (thoughts, text)))
    return text_of(value, "reasoning")


def _first(record: Mapping, keys: Sequence[str]) -> Any:
    """The first value that is not null."""
    return next((record[k] for k in keys if record.get(k) is not None), None)


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
