"""One input row of any layout → its candidate solutions.

Left out: the canonical Parquet file, whose columns need no look at single rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from routejax.pools.layouts import COMMON, Layout
from routejax.pools.turns import (
    BadRow,
    Conversation,
    Turn,
    converse,
    parse,
    read_turns,
    respond,
    text_of,
)
from routejax.pools.values import (
    Path,
    as_json,
    identity,
    itself,
    label,
    look,
    plain,
    steps,
    verified,
    whole,
    without,
)
from routejax.spans import Span
from routejax.traces import Trace, content_id

# Keys of `meta` for what a canonical row has no column for.
OTHER_TURNS, ASSISTANT = "routejax_turns", "routejax_assistant"
_SPEAKERS = ("user", "assistant")


class Solution(NamedTuple):
    """One candidate solution of an input row, and what the stream says of it beyond.

    `span` is None where the response has to be searched; `turns` counts user and
    assistant turns, `characters` code points of all messages.
    """

    trace: Trace
    span: Span | None
    turns: int
    characters: int


class Unread(NamedTuple):
    """A candidate solution that could not be read; `id` is None where it has none."""

    id: str | None
    rule: str
    reason: str


def solutions(row: Any, layout: Layout) -> list[Solution | Unread]:
    """What a row holds, in order; at least one entry.

    Where a row holds several, their ids are its own with `/0`, `/1`, … behind. Whatever
    is wrong with a row is the matter of that row alone.
    """
    if not isinstance(row, dict):
        return [Unread(None, "not_an_object", f"a row must be an object, got {row!r}")]
    own, _ = look(row, layout.fields[0].get("id", COMMON["id"]), identity)
    try:
        entries = list(_entries(row, layout))
    except Exception as error:
        return [not_read(own, error)]
    found = []
    for number, (entry, fields) in enumerate(entries):
        given = f"{own}/{number}" if own and len(entries) > 1 else own
        try:
            found.append(_solution(entry, {**COMMON, **fields}, given))
        except Exception as error:
            found.append(not_read(given, error))
    return found


def not_read(own: str | None, error: Exception) -> Unread:
    """What is said of a row that raised this error."""
    if isinstance(error, BadRow):
        return Unread(own, error.rule, error.reason)
    if isinstance(error, RecursionError):
        return Unread(own, "json", "it is nested too deeply")
    if isinstance(error, UnicodeDecodeError):
        return Unread(own, "not_utf8", f"a text is not UTF-8: {error}")
    return Unread(own, "unexpected", f"{type(error).__name__}: {error}")


def other_turns(meta: str) -> list[Mapping[str, Any]]:
    """The turns beside prompt and response that `meta` keeps."""
    if OTHER_TURNS not in meta:
        return []
    try:
        kept = parse(meta)
    except BadRow:
        return []
    turns = kept.get(OTHER_TURNS) if isinstance(kept, dict) else None
    listed = turns if isinstance(turns, list) else []
    return [turn for turn in listed if isinstance(turn, dict)]


def count_turns(others: Sequence[Mapping[str, Any]]) -> int:
    """User and assistant turns, those of prompt and response among them."""
    return 2 + sum(turn.get("role") in _SPEAKERS for turn in others)


def count_characters(others: Sequence[Mapping[str, Any]]) -> int:
    """Code points of the other turns, their reasoning included."""
    texts = (turn.get(key) for turn in others for key in ("content", "reasoning"))
    return sum(len(text) for text in texts if isinstance(text, str))


def _entries(
    row: Mapping, layout: Layout
) -> Iterator[tuple[Mapping, Mapping[str, str]]]:
    """(row of one candidate, its fields): lists taken apart, absent variants left out.

    Raises:
        BadRow: a list that is none or is empty; no variant is there.
    """
    rows = [row]
    for place in layout.each:
        beside = layout.beside if place == layout.each[-1] else ()
        rows = [one for many in rows for one in _apart(many, place, beside)]
    if len(layout.fields) == 1:
        yield from ((one, layout.fields[0]) for one in rows)
        return
    there = [
        (one, fields)
        for one in rows
        for fields in layout.fields
        if look(one, fields.get("response") or fields["reasoning"], itself)[1]
    ]
    if not there:
        raise BadRow("no_response", "none of the layout's responses is there")
    yield from there


def _apart(row: Mapping, place: str, beside: Sequence[str]) -> Iterator[Mapping]:
    """The row once per entry of the list at `place`, with that entry in its stead."""
    entries, path = look(row, place, itself)
    if not isinstance(entries, list) or not entries:
        raise BadRow("no_response", f"{place} must be a list with entries")
    for number, entry in enumerate(entries):
        own = {
            name: row[name][number]
            for name in beside
            if isinstance(row.get(name), list) and len(row[name]) == len(entries)
        }
        yield _replaced({**row, **own}, path, entry)


def _replaced(row: Mapping, path: Path, value: Any) -> Mapping:
    head, *rest = path
    return {**row, head: _replaced(row[head], tuple(rest), value) if rest else value}


def _refused(rest: Mapping[str, Any]) -> str:
    """Why the fields that are left over could not be taken."""
    ids = [name for name in ("id", "prompt_id") if isinstance(rest.get(name), str)]
    if ids:
        return f"{', '.join(ids)} must be one line, got {rest[ids[0]]!r}"
    return f"{', '.join(rest)} have values of another type"


def _solution(row: Mapping, fields: Mapping[str, str], own: str | None) -> Solution:
    used: list[Path] = []

    def take(field: str, convert: Callable[[Any], Any] = itself) -> Any:
        value, path = look(row, fields.get(field, ""), convert)
        used.append(path)
        return value

    talk = _conversation(take, fields)
    source, group = take("source", label), take("group", label)
    take("id", identity)
    values = {
        "id": own or content_id("trace", source or "", talk.prompt, talk.response),
        "prompt_id": take("prompt_id", identity) or content_id("prompt", talk.prompt),
        "prompt": talk.prompt,
        "response": talk.response,
        "group": "all" if group is None else group,
        "source": source,
        **{name: take(name, convert) for name, convert in _PROVENANCE.items()},
    }
    kept = take("meta", as_json)
    rest = plain(without(row, [path for path in used if path]))
    if "meta" in fields and any(value != "" for value in rest.values()):
        raise BadRow("type", _refused(rest))
    meta = _meta(rest, talk) if kept is None else kept
    others = other_turns(meta)
    size = len(talk.prompt) + len(talk.response) + count_characters(others)
    return Solution(Trace(**values, meta=meta), talk.span, count_turns(others), size)


def _conversation(take: Callable[..., Any], fields: Mapping[str, str]) -> Conversation:
    """Prompt and response from messages, or from columns of their own.

    Raises:
        BadRow: one of them is not there, or is no text.
    """
    system = take("system", lambda value: value if isinstance(value, str) else None)
    context = (Turn("system", system),) if system else ()
    if "messages" in fields:
        asked = "user" if "completion" in fields else None
        turns = read_turns(take("messages"), text_role=asked)
        if "completion" in fields:
            turns += read_turns(take("completion"), text_role="assistant")
        return converse([*context, *turns])
    prompt, content, reasoning = take("prompt"), take("response"), take("reasoning")
    if content is None:
        content = take("answer")
    if prompt is None and "prompt" in fields:
        raise BadRow("no_prompt", f"there is nothing in {fields['prompt']}")
    if content is None and reasoning is None:
        raise BadRow("no_response", "there is neither a response nor reasoning")
    thought = None if reasoning is None else text_of(reasoning, "reasoning")
    response, span = respond(text_of(content, "response"), thought)
    return Conversation(text_of(prompt, "prompt"), response, span, context)


def _meta(rest: dict[str, Any], talk: Conversation) -> str:
    """JSON of what the row holds beyond the canonical columns."""
    if talk.context:
        rest[OTHER_TURNS] = [_as_dict(turn) for turn in talk.context]
    if talk.rest:
        rest[ASSISTANT] = plain(dict(talk.rest))
    return as_json(rest) or "{}"


def _as_dict(turn: Turn) -> dict[str, Any]:
    thought = {"reasoning": turn.reasoning} if turn.reasoning else {}
    kept = {"role": turn.role, "content": turn.content}
    return {**kept, **thought, **plain(dict(turn.rest))}


_PROVENANCE: dict[str, Callable[[Any], Any]] = {
    "verified": verified,
    "env": label,
    "difficulty": whole(31),
    "seed": whole(63),
    "steps": steps,
    "strategy": label,
}
