"""SentencePiece models of published students.

Such a model never reads control ids from text, so texts are cut at them first. A model
may put a space before every text; it goes again when ids become text.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any

import sentencepiece

from routejax.errors import UserError
from routejax.tokenizer.record import Pieces, Tokenizer, require_text

_SPACE = "\u2581"  # how SentencePiece writes a space


def pieces_of(model: Any, text: str) -> Pieces:
    """Pieces of a text without control ids, by a SentencePiece processor.

    Raises:
        UserError: the model rewrites the text before it splits it.
    """
    ids = model.EncodeAsIds(text)
    ends, at = [], 0
    for number in ids:
        at += _width(model, number)
        ends.append(at)
    # A space that the model itself put before the text has no bytes there.
    extra = at - len(text.encode())
    if extra not in (0, 1) or (extra and not model.IdToPiece(ids[0])[0] == _SPACE):
        raise UserError(
            f"the SentencePiece model rewrites {text[:80]!r} before it splits it; "
            "use the checkpoint's tokenizer.json"
        )
    ends = [end - extra for end in ends]
    return Pieces(ids, [0, *ends[:-1]][: len(ends)], ends)


def _width(model: Any, number: int) -> int:
    """Bytes of text that a piece stands for."""
    if model.IsByte(number):
        return 1
    piece = model.IdToPiece(number)
    return len(piece.replace(_SPACE, " ").encode())


def read(model: bytes) -> Any:
    """The library's own object of a model.

    Raises:
        UserError: it is none.
    """
    pieces = sentencepiece.SentencePieceProcessor()
    try:
        pieces.LoadFromSerializedProto(model)
    except RuntimeError as error:
        raise UserError(f"no SentencePiece model: {error}") from error
    return pieces


def find(pieces: Any, text: str) -> int | None:
    """Id of the piece that is exactly this text, where there is one."""
    number = pieces.PieceToId(text)
    return number if pieces.IdToPiece(number) == text else None


def published(
    model: bytes, *, special: Mapping[str, int] | None = None, **settings: Any
) -> Tokenizer:
    """The tokenizer of a SentencePiece model.

    Args:
        special: control ids beside the model's own, by their text.
        settings: fields of `Tokenizer` that replace what the model itself says.

    Raises:
        UserError: no such model, or one without an end.
    """
    pieces = read(model)
    size = pieces.GetPieceSize()
    eos = settings.pop("eos", None)
    fields = {
        "bos": _or_none(pieces.bos_id()),
        "pad": _or_none(pieces.pad_id()),
        "begins": pieces.bos_id() >= 0,
        "files": {"tokenizer.model": model},
        "eos": pieces.eos_id() if eos is None else eos,
    }
    if fields["eos"] < 0:
        raise UserError("the SentencePiece model has no end of text; name one as eos")
    fields |= {name: value for name, value in settings.items() if value is not None}
    fields["stops"] = tuple(sorted({fields["eos"], *(fields.get("stops") or ())}))
    own = _control(pieces, {*fields["stops"], fields["bos"], fields["pad"]})
    known = own | dict(special or {})

    def split(text: str) -> Pieces:
        require_text(text)
        return _split(pieces, known, text)

    return Tokenizer(
        size=max([size, *(i + 1 for i in known.values())]),
        special=known,
        split=split,
        join=lambda ids: _join(pieces, known, ids),
        **fields,
    )


def _control(pieces: Any, ends: set[int | None]) -> dict[str, int]:
    """Control pieces, and those of a user's own that begin or end a turn."""
    return {
        pieces.IdToPiece(i): i
        for i in range(pieces.GetPieceSize())
        if pieces.IsControl(i) or (i in ends and not pieces.IsUnknown(i))
    }


def _or_none(number: int) -> int | None:
    return None if number < 0 else number


def _split(pieces: Any, special: Mapping[str, int], text: str) -> Pieces:
    names = sorted(map(re.escape, special), key=len, reverse=True)
    parts = re.split(f"({'|'.join(names)})", text) if names else [text]
    made, at = Pieces([], [], []), 0
    for number, part in enumerate(parts):
        size = len(part.encode())
        own = Pieces([special[part]], [0], [size]) if number % 2 else None
        found = own or pieces_of(pieces, part)
        made.ids.extend(found.ids)
        made.starts.extend(at + start for start in found.starts)
        made.ends.extend(at + end for end in found.ends)
        at += size
    return made


def _join(pieces: Any, special: Mapping[str, int], ids: Sequence[int]) -> str:
    names = {number: name for name, number in special.items()}
    text = ""
    for control, run in itertools.groupby(map(int, ids), names.__contains__):
        if control:
            text += "".join(names[number] for number in run)
        else:
            text += pieces.DecodeIds(list(run))
    return text
