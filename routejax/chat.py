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
import functools
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.sandbox import ImmutableSandboxedEnvironment

from routejax.errors import UserError
from routejax.tokenizer import Form, Tokenizer, Turn, require_no_control

THINK = "<think>"

# Around what a template marks as generated; no text has these two characters, which
# Unicode keeps out of interchange.
_OPEN, _CLOSE = "\ufdd0", "\ufdd1"

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

Message = Mapping[str, str]


class Masked(NamedTuple):
    """A conversation as ids; `learned` marks those an assistant says."""

    ids: list[int]
    learned: list[bool]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Template:
    """A chat template, ready to render.

    Attributes:
        source: the jinja2 text.
        names: what it may use by name, such as `bos_token`.
        clock: what it takes for now; a template with a date renders another text every
            day, so recipes fix it.
    """

    source: str
    names: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    clock: Callable[[], datetime] = datetime.now

    def render(self, messages: Sequence[Message], *, prompts: bool = False) -> str:
        """The conversation's text; `prompts` adds the words that ask for an answer.

        Raises:
            UserError: the template refuses the conversation, or is no template.
        """
        return self._marked(messages, prompts).replace(_OPEN, "").replace(_CLOSE, "")

    def generated(self, messages: Sequence[Message]) -> list[tuple[int, int]]:
        """Where the rendered text is marked as generated, by characters, in order."""
        spans, at, begin = [], 0, 0
        for character in self._marked(messages, prompts=False):
            if character == _OPEN:
                begin = at
            elif character == _CLOSE:
                spans.append((begin, at))
            else:
                at += 1
        return spans

    def _marked(self, messages: Sequence[Message], prompts: bool) -> str:
        for message in messages:
            if {_OPEN, _CLOSE} & {*message["content"]}:
                raise UserError("a message has the noncharacter U+FDD0 or U+FDD1 in it")
        try:
            return self._compiled.render(
                messages=[dict(message) for message in messages],
                add_generation_prompt=prompts,
                tools=None,
                documents=None,
                **self.names,
            )
        except jinja2.TemplateError as error:
            raise UserError(f"the chat template refuses: {error}") from error

    @functools.cached_property
    def _compiled(self) -> jinja2.Template:
        loops = "jinja2.ext.loopcontrols"
        world = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loops]
        )
        world.filters["tojson"] = _tojson
        world.globals["raise_exception"] = _refuse
        world.globals["strftime_now"] = lambda form: self.clock().strftime(form)
        try:
            return world.from_string(self.source)
        except jinja2.TemplateError as error:
            raise UserError(f"the chat template is damaged: {error}") from error


class _Generation(Extension):
    """`{% generation %} … {% endgeneration %}`: what is inside, between two marks."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Any) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        call = self.call_method("_mark")
        return nodes.CallBlock(call, [], [], body).set_lineno(line)

    def _mark(self, caller: Callable[[], str]) -> str:
        return _OPEN + caller() + _CLOSE


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Plain JSON: jinja2's own filter sorts keys and escapes for HTML."""
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )


def _refuse(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)


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
        source = Path(named).read_text()
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
        UserError: no template, or one whose turns end with no id of their own.
    """
    if named == "none":
        return tokenizer
    template = template_of(tokenizer, named, clock=clock)
    before = [] if system is None else [{"role": "system", "content": system}]
    end = _end(tokenizer, template)
    stops = tuple(sorted({*tokenizer.stops, end}))
    used = dataclasses.replace(tokenizer, stops=stops, eos=end)

    def prompt(text: str) -> list[int]:
        require_no_control(used, text)
        asked = [*before, _message("user", text)]
        return _begun(used, used.encode(template.render(asked, prompts=True)))

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
        UserError: a text spells a control id, the ids do not give the text back, or it
            cannot be told what the assistant said.
    """
    for message in messages:
        require_no_control(tokenizer, message["content"])
    text = template.render(messages)
    pieces = tokenizer.split(text)
    _require_whole(tokenizer, pieces.ids, text)
    spans = template.generated(messages) or _spans(template, messages, text)
    if not spans:
        raise UserError("the conversation has no assistant message to learn from")
    learned = [False] * len(pieces.ids)
    for begin, end in spans:
        first, last = (len(text[:place].encode()) for place in (begin, end))
        for i, number in enumerate(pieces.ids):
            if pieces.starts[i] >= first and pieces.ends[i] <= last:
                learned[i] = True
                if number in tokenizer.stops:
                    break
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


def _turn(
    tokenizer: Tokenizer, template: Template, asked: list[Message], said: str
) -> Turn:
    """Ids of one finished turn, its prompt as it is when the student is sampled."""
    for message in (*asked, _message("assistant", said)):
        require_no_control(tokenizer, message["content"])
    prompt = template.render(asked, prompts=True)
    opening, goes_on = "", said
    if prompt.rstrip().endswith(THINK):  # the response goes on from there
        opening = prompt[prompt.rindex(THINK) :]
        goes_on = said.lstrip().removeprefix(THINK).lstrip()
    text = template.render([*asked, _message("assistant", opening + goes_on)])
    if not text.startswith(prompt) or not _same(text[len(prompt) :], goes_on):
        raise UserError(
            "the chat template does not write the assistant's turn as it was said "
            f"({said[:60]!r} …); it drops or moves the reasoning. Name a Think "
            "template as tokenizer.template, such as 'think' or a file"
        )
    pieces = tokenizer.split(text)
    _require_whole(tokenizer, pieces.ids, text)
    border = len(prompt.encode())
    first = sum(end <= border for end in pieces.ends)
    ids, rest = pieces.ids[:first], pieces.ids[first:]
    if rest and pieces.starts[first] < border:
        # An id over the border is never sampled: the prompt has its own ids then.
        ids, rest = tokenizer.encode(prompt), tokenizer.encode(text[len(prompt) :])
    ends = [i for i, number in enumerate(rest) if number in tokenizer.stops]
    return Turn(_begun(tokenizer, ids), rest[: ends[0] + 1] if ends else rest)


def _message(role: str, content: str) -> Message:
    return {"role": role, "content": content}


def _same(written: str, said: str) -> bool:
    """Whether what was said stands first in what was written, spaces apart."""
    return "".join(written.split()).startswith("".join(said.split()))


def _begun(tokenizer: Tokenizer, ids: list[int]) -> list[int]:
    """With BOS where the model wants it and the template does not write it."""
    if not tokenizer.begins or ids[:1] == [tokenizer.bos]:
        return ids
    assert tokenizer.bos is not None
    return [tokenizer.bos, *ids]


def _end(tokenizer: Tokenizer, template: Template) -> int:
    """The id a rendered assistant turn ends with."""
    probe = [_message("user", "2+2?"), _message("assistant", "four")]
    text = template.render(probe)
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
