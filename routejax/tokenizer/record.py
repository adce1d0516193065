"""One record for every tokenizer: its ids, its special ids, and the form of a turn."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from routejax.errors import UserError


class Pieces(NamedTuple):
    """Ids of a text, and the bytes of its UTF-8 that each stands for.

    Pieces of one character share its bytes where a character has several ids.
    """

    ids: list[int]
    starts: list[int]
    ends: list[int]


class Turn(NamedTuple):
    """Ids of what a student is given, and of what it is to say, its end included."""

    prompt: list[int]
    response: list[int]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Tokenizer:
    """Text to ids and back, and how a conversation of one turn is written.

    Attributes:
        size: ids are below it, V at most; an embedding may have more rows.
        bos: id that begins a text, where there is one.
        eos: id that ends a turn.
        pad: id of padding. Nothing here depends on it: padding is known by its place.
        stops: every id that ends a response, `eos` among them, in order.
        begins: whether the model wants `bos` before everything.
        special: control ids and ends by the text that is read as them; no text of a
            turn may have it.
        files: what is written beside exported weights, by name.
        template: the chat template that came with it.
        split: text to pieces, control ids recognised by their text.
        join: ids to text, control ids too.
        turned: text as the tokenizer turns it before splitting (NFC, say).
        form: how turns are written where it is not the plain form.
    """

    size: int
    eos: int
    split: Callable[[str], Pieces]
    join: Callable[[Sequence[int]], str]
    bos: int | None = None
    pad: int | None = None
    stops: tuple[int, ...] = ()
    begins: bool = False
    special: Mapping[str, int] = dataclasses.field(default_factory=dict)
    files: Mapping[str, bytes] = dataclasses.field(default_factory=dict)
    template: str | None = None
    turned: Callable[[str], str] = str
    form: Form | None = None

    def __post_init__(self) -> None:
        if self.begins and self.bos is None:
            raise UserError(
                "the model wants BOS before every text (add_bos_token), but neither "
                "tokenizer_config.json nor generation_config.json names one"
            )

    @functools.cached_property
    def silent(self) -> frozenset[int]:
        """Ids that give no text: padding, beginning, ends, and the control ids."""
        ends = {self.eos, *self.stops, self.bos, self.pad}
        return frozenset(i for i in (*self.special.values(), *ends) if i is not None)

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 of the files, for recipes."""
        digest = hashlib.sha256()
        for name in sorted(self.files):
            digest.update(f"{name} {len(self.files[name])}\n".encode())
            digest.update(self.files[name])
        return digest.hexdigest()

    def encode(self, text: str) -> list[int]:
        """Ids of `text`, with nothing added before or after.

        Raises:
            UserError: it is no text (half a surrogate pair), or, the local student's
                only: a character it does not know.
        """
        require_text(text)
        return self.split(text).ids

    def decode(self, ids: Sequence[int]) -> str:
        """Text of `ids`; control ids, padding and ends give no text."""
        return self.join([i for i in map(int, ids) if i not in self.silent])

    def prompt(self, text: str) -> list[int]:
        """Ids of a user turn as the student sees it before it answers."""
        return (self.form or plain(self)).prompt(text)

    def turn(self, prompt: str, response: str) -> Turn:
        """Ids of a finished turn, such that the prompt's are those of `prompt`.

        Raises:
            UserError: a text has the text of a control id in it, or does not come back
                from its ids.
        """
        return (self.form or plain(self)).turn(prompt, response)

    def response(self, text: str) -> list[int]:
        """Ids of a finished answer in the plain form: text, then the end."""
        return [*self.encode(text), self.eos]


class Form(NamedTuple):
    """How a turn is written; see `Tokenizer.prompt` and `Tokenizer.turn`."""

    prompt: Callable[[str], list[int]]
    turn: Callable[[str, str], Turn]


def plain(tokenizer: Tokenizer) -> Form:
    """Beginning if it is wanted, prompt, newline, response, end; no template."""

    def prompt(text: str) -> list[int]:
        first = (
            [tokenizer.bos] if tokenizer.begins and tokenizer.bos is not None else []
        )
        return [*first, *tokenizer.encode(text + "\n")]

    def turn(asked: str, said: str) -> Turn:
        for text in (asked, said):
            require_no_control(tokenizer, text)
        made = Turn(prompt(asked), tokenizer.response(said))
        require_kept(tokenizer, made.prompt, asked + "\n")
        require_kept(tokenizer, made.response, said)
        return made

    return Form(prompt, turn)


def require_no_control(tokenizer: Tokenizer, text: str) -> None:
    """Raises UserError if a text spells a control id, which may end its turn."""
    require_text(text)
    turned = tokenizer.turned(text)
    found = [name for name in tokenizer.special if name in text or name in turned]
    if found:
        raise UserError(
            f"a text has {', '.join(found)} in it, which this tokenizer reads as "
            f"control ids: {excerpt(text, found[0])!r}; leave the row out or mend it"
        )


def require_text(text: str) -> None:
    """Raises UserError if a text has half a surrogate pair, which UTF-8 cannot write.

    JSON can: `"\\ud800"`.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UserError(
            f"a text has U+{ord(text[error.start]):04X} in it, half a surrogate pair, "
            f"after {text[max(0, error.start - 30) : error.start]!r}; leave the row "
            "out or mend it"
        ) from error


def require_kept(tokenizer: Tokenizer, ids: Sequence[int], text: str) -> None:
    """Raises UserError if the text does not come back from its ids."""
    back, wanted = tokenizer.decode(ids), tokenizer.turned(text)
    if back != wanted:
        raise UserError(
            f"the tokenizer does not keep {text[:80]!r}: it gives {back[:80]!r}"
        )


def excerpt(text: str, part: str) -> str:
    """The part with a little of what is around it."""
    at = text.find(part)
    return text[max(0, at - 30) : at + len(part) + 30]
