"""Conversations as the student's own chat template writes them, and what is learned.

    messages ─template→ text ─tokenizer→ ids, with the assistant's characters marked

The text is rendered once and cut into ids once; characters are then mapped to ids by
the bytes each id stands for, so that no id is of another text than the whole. What is
learned is what a template marks with `{% generation %}`, else everything an assistant
message adds after the words that prompt for it, up to the id that ends the turn.

A template that ends its prompt with an opening `<think>` has the response go on from
there. One that drops or rewrites what the assistant said is refused: the student would
learn something else than the pool's traces.

Left out: tools and documents.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from routejax.chat_template import Message, Template, require_texts
from routejax.errors import UserError
from routejax.tokenizer import Form, Pieces, Tokenizer, Turn, require_no_control

THINK = "<think>"

# For base models without a template of their own, whose vocabulary has these ids.
TEMPLATES = {
    "chatml": (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n"
        "{{ m.content }}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    ),
    # The assistant begins by thinking: the opening tag is part of the prompt.
    "think": (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n"
        "{{ m.content }}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}"
    ),
}


class Masked(NamedTuple):
    """A conversation as ids; `learned` marks those an assistant says."""

    ids: list[int]
    learned: list[bool]


def template_of(
    tokenizer: Tokenizer,
    named: str | None = None,
    *,
    clock: Callable[[], datetime] = datetime.now,
) -> Template:
    """The template of a tokenizer, or the one that is named.

    Args:
        named: a name of `TEMPLATES`, or the path of a file with a template; None is the
            checkpoint's own.

    Raises:
        UserError: the checkpoint has none and none is named; or no such file.
    """
    source = tokenizer.template
    if named in TEMPLATES:
        source = TEMPLATES[named]
    elif named:
        if not Path(named).is_file():
            raise UserError(
                f"a chat template must be one of {', '.join(TEMPLATES)} or a file, "
                f"got {named!r}"
            )
        try:
            source = Path(named).read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise UserError(f"the chat template {named} is no text: {error}") from error
    if not source:
        raise UserError(
            "the checkpoint has no chat template (base models often have none): name "
            f"one of {', '.join(TEMPLATES)} or a file with one as tokenizer.template, "
            "or 'none' for the plain form"
        )
    texts = {number: text for text, number in tokenizer.special.items()}
    ids = {"bos": tokenizer.bos, "eos": tokenizer.eos, "pad": tokenizer.pad}
    names = {f"{n}_token": texts.get(i, "") for n, i in ids.items() if i is not None}
    return Template(source=source, names=names, clock=clock)


def chatting(
    tokenizer: Tokenizer,
    named: str | None = None,
    *,
    system: str | None = None,
    clock: Callable[[], datetime] = datetime.now,
) -> Tokenizer:
    """The tokenizer with turns in the form of a chat template; see `template_of`.

    The id with which the template ends an assistant's turn stops responses too,
    whatever `generation_config.json` says.

    Args:
        named: "none" keeps the plain form.
        system: content of a system message before every turn.

    Raises:
        UserError: no template, one whose turns end with no id of their own, one that
            leaves the system message out, or a system message that spells a control id.
    """
    if named == "none":
        if system:
            raise UserError(
                "the plain form has no place for tokenizer.system; leave it empty or "
                "name a chat template as tokenizer.template"
            )
        return tokenizer
    template = template_of(tokenizer, named, clock=clock)
    before = [] if system is None else [_message("system", system)]
    end = _end(tokenizer, template, bool(before))
    stops = tuple(sorted({*tokenizer.stops, end}))
    used = dataclasses.replace(tokenizer, stops=stops, eos=end)
    for message in before:
        require_no_control(used, message["content"])

    def prompt(text: str) -> list[int]:
        written = _prompt(used, template, [*before, _message("user", text)])
        return _begun(used, used.encode(written))

    def turn(asked: str, said: str) -> Turn:
        return _turn(used, template, [*before, _message("user", asked)], said)

    return dataclasses.replace(used, form=Form(prompt, turn))


def masked(
    tokenizer: Tokenizer, template: Template, messages: Sequence[Message]
) -> Masked:
    """A whole conversation as ids, every assistant message marked.

    An id is learned if all its bytes are the assistant's; of a turn, everything up to
    the id that stops it.

    Raises:
        UserError: a text spells a control id, the ids do not give the text back, the
            template writes a message otherwise than it was said, or does not mark the
            end of a turn as the assistant's.
    """
    require_texts(messages)
    for message in messages:
        require_no_control(tokenizer, message["content"])
    said = [m["content"] for m in messages if m["role"] == "assistant"]
    if not said:
        raise UserError("the conversation has no assistant message to learn from")
    text = template.render(messages)
    _require_written(text, [m for m in messages if m["role"] != "assistant"])
    pieces = tokenizer.split(text)
    _require_whole(tokenizer, pieces.ids, text)
    spans = template.generated(messages) or _spans(template, messages, text)
    if len(spans) != len(said):
        raise UserError(
            f"the chat template marks {len(spans)} parts with {{% generation %}} where "
            f"there are {len(said)} assistant messages; name another template"
        )
    learned = [False] * len(pieces.ids)
    for (begin, end), one in zip(spans, said, strict=True):
        _, goes_on = _opened(text[:begin], one)
        for i in _learned(tokenizer, pieces, text, (begin, end), goes_on):
            learned[i] = True
    ids = _begun(tokenizer, pieces.ids)
    return Masked(ids, [False] * (len(ids) - len(learned)) + learned)


def _spans(
    template: Template, messages: Sequence[Message], text: str
) -> list[tuple[int, int]]:
    """Characters each assistant message adds to the words that prompt for it."""
    spans = []
    for i, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        before = template.render(messages[:i], prompts=True)
        after = template.render(messages[: i + 1])
        if not (text.startswith(before) and text.startswith(after)):
            raise UserError(
                "the chat template writes earlier turns otherwise once there are later "
                "ones, so it cannot be told what the assistant said; use one with "
                "{% generation %}"
            )
        spans.append((len(before), len(after)))
    return spans


def _prompt(tokenizer: Tokenizer, template: Template, asked: list[Message]) -> str:
    """The text that asks for an answer, every message in it as it was said."""
    require_no_control(tokenizer, asked[-1]["content"])
    written = template.render(asked, prompts=True)
    _require_written(written, asked)
    return written


def _turn(
    tokenizer: Tokenizer, template: Template, asked: list[Message], said: str
) -> Turn:
    """Ids of one finished turn, its prompt as it is when the student is sampled."""
    require_no_control(tokenizer, said)
    prompt = _prompt(tokenizer, template, asked)
    opening, goes_on = _opened(prompt, said)
    text = template.render([*asked, _message("assistant", opening + goes_on)])
    if not text.startswith(prompt):
        raise _otherwise(goes_on)
    pieces = tokenizer.split(text)
    _require_whole(tokenizer, pieces.ids, text)
    border = len(prompt.encode())
    # A space that a SentencePiece model puts first has no bytes: it is the response's.
    spans = enumerate(zip(pieces.starts, pieces.ends, strict=True))
    after = (i for i, (start, end) in spans if start >= border or end > border)
    first = next(after, len(pieces.ids))
    ids, begin = pieces.ids[:first], len(prompt)
    if first < len(pieces.ids) and pieces.starts[first] < border:
        # An id over the border is never sampled: the prompt has its own ids then.
        ids, text, begin = tokenizer.encode(prompt), text[begin:], 0
        pieces = tokenizer.split(text)
    learned = _learned(tokenizer, pieces, text, (begin, len(text)), goes_on)
    return Turn(_begun(tokenizer, ids), [pieces.ids[i] for i in learned])


def _message(role: str, content: str) -> Message:
    return {"role": role, "content": content}


def _opened(prompt: str, said: str) -> tuple[str, str]:
    """The opening of the reasoning that a prompt ends in, and what then goes on."""
    if not prompt.rstrip().endswith(THINK):
        return "", said
    return prompt[prompt.rindex(THINK) :], said.lstrip().removeprefix(THINK).lstrip()


def _learned(
    tokenizer: Tokenizer,
    pieces: Pieces,
    text: str,
    span: tuple[int, int],
    said: str,
) -> range:
    """Which pieces of an assistant's part of a text are learned: said, then its end.

    Raises:
        UserError: the part is not what was said and then, spaces apart, an id that
            stops it.
    """
    begin, end = (len(text[:place].encode()) for place in span)
    first = next(
        (i for i, at in enumerate(pieces.starts) if at >= begin), len(pieces.ids)
    )
    inside = [i for i in range(first, len(pieces.ids)) if pieces.ends[i] <= end]
    stop = next((i for i in inside if pieces.ids[i] in tokenizer.stops), None)
    if stop is None:
        raise UserError(
            "the chat template ends the assistant's turn with no id that stops it "
            f"({text[span[0] : span[1]][-40:]!r}), so a student would never learn to "
            "stop; name another as tokenizer.template"
        )
    until = text.encode()[begin : pieces.starts[stop]].decode(errors="replace")
    if _parts(until) != _parts(said):
        whole = text[slice(*span)].lstrip().startswith(said.strip())
        if whole and len(until.strip()) < len(said.strip()):
            raise UserError(
                f"the response has id {pieces.ids[stop]} in it, which ends a turn, "
                f"after {until[-60:]!r}; leave the row out or mend it"
            )
        raise _otherwise(said)
    return range(first, stop + 1)


def _parts(text: str) -> list[str]:
    """A text for comparison: without spaces around it and around its reasoning's tags.

    Templates write those in a way of their own; all others must stay.
    """
    return re.split(r"\s*(</?think>)\s*", text.strip())


def _otherwise(said: str) -> UserError:
    return UserError(
        "the chat template does not write the assistant's turn as it was said "
        f"({said[:60]!r} …); it drops or moves the reasoning, or changes the text. "
        "Name another as tokenizer.template, such as 'think' or a file"
    )


def _require_written(text: str, messages: Sequence[Message]) -> None:
    """Raises UserError if a message, spaces around it apart, is not in the text."""
    for message in messages:
        role, content = message["role"], message["content"]
        if content.strip() not in text:
            raise UserError(
                f"the chat template leaves out or changes the {role} message "
                f"({content[:60]!r} …); name another as tokenizer.template"
                + (", or leave tokenizer.system empty" if role == "system" else "")
            )


def _begun(tokenizer: Tokenizer, ids: list[int]) -> list[int]:
    """With BOS where the model wants it and the template does not write it."""
    if not tokenizer.begins or ids[:1] == [tokenizer.bos]:
        return ids
    assert tokenizer.bos is not None
    return [tokenizer.bos, *ids]


def _end(tokenizer: Tokenizer, template: Template, system: bool) -> int:
    """The id a rendered assistant turn ends with.

    Raises:
        UserError: there is none, or the template leaves a message out.
    """
    # No template says these by itself, so one that ignores a role is seen.
    asked = [_message("system", "Count in sevens.")] * system
    asked.append(_message("user", "What is 7919 + 2?"))
    _require_written(template.render(asked, prompts=True), asked)
    text = template.render([*asked, _message("assistant", "four")])
    _require_written(text, asked)
    rest = tokenizer.encode(text[text.rfind("four") + len("four") :])
    if not rest or rest[0] not in tokenizer.silent:
        raise UserError(
            "the chat template ends the assistant's turn with no control id "
            f"({text[-40:]!r}), so a student would never learn to stop; name another "
            "as tokenizer.template"
        )
    return rest[0]


def _require_whole(tokenizer: Tokenizer, ids: Sequence[int], text: str) -> None:
    """Raises UserError unless the ids give the rendered text, control ids included."""
    back, wanted = tokenizer.join(ids), tokenizer.turned(text)
    if back != wanted:
        at = next(
            (i for i, (a, b) in enumerate(zip(back, wanted, strict=False)) if a != b),
            min(len(back), len(wanted)),
        )
        raise UserError(
            f"the tokenizer does not keep {wanted[at : at + 60]!r}: it gives "
            f"{back[at : at + 60]!r}"
        )
