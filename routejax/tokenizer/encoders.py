"""Any tokenizer in a file, for those who only count tokens: the selection by words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import sentencepiece
import tokenizers

from routejax.errors import UserError

Encoder = Callable[[list[str]], Sequence[Sequence[int]]]


def encoder(path: str | Path) -> Encoder:
    """A function from texts to their token ids, nothing added before or after.

    Args:
        path: a SentencePiece model (`.model`), such as the local student's, or a
            Hugging Face `tokenizer.json`.

    Raises:
        UserError: no such file, another format, or a damaged one.
    """
    path = Path(path)
    if not path.is_file():
        raise UserError(f"there is no tokenizer {path}; give a .model or .json file")
    if path.suffix not in _READERS:
        raise UserError(
            f"a tokenizer must be a SentencePiece .model or a Hugging Face .json file, "
            f"got {path}"
        )
    return _READERS[path.suffix](path)


def _sentencepiece(path: Path) -> Encoder:
    pieces = sentencepiece.SentencePieceProcessor()
    try:
        pieces.LoadFromSerializedProto(path.read_bytes())
    except RuntimeError as error:
        raise UserError(f"{path} is no SentencePiece model: {error}") from error
    return pieces.EncodeAsIds


def _hugging_face(path: Path) -> Encoder:
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing narrower
        raise UserError(f"{path} is no Hugging Face tokenizer: {error}") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def encode(texts: list[str]) -> list[list[int]]:
        encoded = tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        return [one.ids for one in encoded]

    return encode


_READERS: dict[str, Callable[[Path], Encoder]] = {
    ".model": _sentencepiece,
    ".json": _hugging_face,
}
