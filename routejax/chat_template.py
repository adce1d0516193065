"""A chat template's text of a conversation: jinja2 in a sandbox, within bounds.

The template of a checkpoint is a program of somebody else's. It reaches nothing outside
the sandbox, whatever it raises is a message about the template, and both the steps it
takes (turns of loops, calls) and the text it writes have a limit, so that none goes on
for ever.

Left out: a bound for a single operation, such as `10 ** 10 ** 10` or doubling a text
forty times, which nothing in the same process can stop or weigh.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NoReturn

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.sandbox import ImmutableSandboxedEnvironment

from routejax.errors import UserError

Message = Mapping[str, str]

# Around what a template marks as generated; no text has these two characters, which
# Unicode keeps out of interchange.
_OPEN, _CLOSE = "\ufdd0", "\ufdd1"

# Of one rendering: a conversation of a hundred turns takes some thousand steps, and
# so many take one to three seconds.
_MOST_STEPS = 100_000
# Characters that a template may add to so many times what the messages say.
_MOST_ADDED, _MOST_TIMES = 1_000_000, 8


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
            UserError: the template refuses the conversation, fails, does not come to
                an end, or is no template; or a message is none.
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
        require_texts(messages)
        added = _MOST_TIMES * sum(len(message["content"]) for message in messages)
        world, template = self._compiled
        world.steps = 0
        try:
            parts = template.generate(
                messages=[dict(message) for message in messages],
                add_generation_prompt=prompts,
                tools=None,
                documents=None,
                **self.names,
            )
            return "".join(_bounded(parts, _MOST_ADDED + added))
        except jinja2.TemplateError as error:
            raise UserError(f"the chat template refuses: {_line(error)}") from error
        except Exception as error:  # a template may raise anything
            raise UserError(
                f"the chat template fails with {type(error).__name__}: {_line(error)}"
            ) from error

    @functools.cached_property
    def _compiled(self) -> tuple[_World, jinja2.Template]:
        loops = "jinja2.ext.loopcontrols"
        world = _World(
            trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loops]
        )
        world.filters |= {"tojson": _tojson, _COUNTED: world.counted}
        del world.globals["lipsum"]  # its own loop, as long as it is told
        world.globals["raise_exception"] = _refuse
        world.globals["strftime_now"] = lambda form: self.clock().strftime(form)
        try:
            tree = world.parse(self.source)
            for loop in tree.find_all(nodes.For):
                loop.iter = nodes.Filter(loop.iter, _COUNTED, [], [], None, None)
            return world, world.from_string(tree)
        except Exception as error:  # also of the Python that jinja2 makes of it
            raise UserError(f"the chat template is damaged: {_line(error)}") from error


def require_texts(messages: Sequence[Message]) -> None:
    """Raises UserError unless every message has a role and a content that are texts."""
    for message in messages:
        texts = [message.get(name) for name in ("role", "content")]
        if not all(isinstance(text, str) for text in texts):
            raise UserError(
                "a message must have a role and a content that are texts, got "
                f"{str(dict(message))[:80]}"
            )
        if {_OPEN, _CLOSE} & {*message["content"]}:
            raise UserError("a message has the noncharacter U+FDD0 or U+FDD1 in it")


_COUNTED = "counted"  # the filter around what every loop goes through


class _World(ImmutableSandboxedEnvironment):
    """The sandbox, which counts what a rendering does."""

    steps = 0

    def call(self, /, *args: Any, **kwargs: Any) -> Any:
        """A call in a template, of macros and of loops within themselves too."""
        self._step()
        return super().call(*args, **kwargs)

    def counted(self, items: Iterable[Any]) -> Iterator[Any]:
        """The same items, each a step."""
        for item in items:
            self._step()
            yield item

    def _step(self) -> None:
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise jinja2.TemplateError(f"it takes more than {_MOST_STEPS:,} steps")


def _bounded(parts: Iterable[str], most: int) -> Iterator[str]:
    size = 0
    for part in parts:
        size += len(part)
        if size > most:
            raise jinja2.TemplateError(f"it writes more than {most:,} characters")
        yield part


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


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


def _refuse(message: str = "it gives no reason") -> NoReturn:
    raise jinja2.TemplateError(message)
