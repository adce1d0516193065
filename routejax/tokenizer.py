"""Text to ids and back: a SentencePiece model trained on the pool's own text.

Whitespace is text like any other (nothing is trimmed or merged), so every string over
the model's alphabet comes back exactly. The ids of padding, unknown, beginning and end
are fixed; the chat form of a turn is `<s>` prompt newline response `</s>`.

`encoder` reads any tokenizer from a file, for those who only count tokens. Left out:
chat templates and Hugging Face tokenizers of pretrained students.
"""

from __future__ import annotations

import importlib
import io
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import sentencepiece

from routejax.errors import UserError

PAD, UNK, BOS, EOS = 0, 1, 2, 3

_SPACE = "\u2581"  # how SentencePiece writes a space, so no text may have it
_LONGEST = 4192  # SentencePiece's own limit for a line, in bytes


class Tokenizer:
    """A trained SentencePiece model with this project's special ids.

    Attributes:
        model: the serialised SentencePiece model.
        size: number of ids, V.
    """

    def __init__(self, model: bytes):
        self.model = model
        self._pieces = sentencepiece.SentencePieceProcessor()
        self._pieces.LoadFromSerializedProto(model)
        self.size = self._pieces.GetPieceSize()
        ids = (
            self._pieces.pad_id(),
            self._pieces.unk_id(),
            self._pieces.bos_id(),
            self._pieces.eos_id(),
        )
        if ids != (PAD, UNK, BOS, EOS):
            raise UserError(
                "a tokenizer needs pad, unk, bos and eos ids "
                f"{(PAD, UNK, BOS, EOS)}, got {ids}"
            )

    def encode(self, text: str) -> list[int]:
        """Ids of `text`, without BOS or EOS.

        Raises:
            UserError: a character of `text` is not in the model's alphabet.
        """
        ids = self._pieces.EncodeAsIds(text)
        if UNK in ids or _SPACE in text:
            known = {self._pieces.IdToPiece(i) for i in range(self.size)}
            known |= {" "} if _SPACE in known else set()
            odd = sorted({c for c in text if c == _SPACE or c not in known})
            raise UserError(
                f"the tokenizer does not know the characters {odd} of {text[:80]!r}; "
                "train it on text that has them"
            )
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """Text of `ids`; PAD, BOS and EOS give no text."""
        return self._pieces.DecodeIds([int(i) for i in ids if i not in (PAD, BOS, EOS)])

    def prompt(self, text: str) -> list[int]:
        """Ids of a user turn as the student sees it: BOS, text, newline."""
        return [BOS, *self.encode(text + "\n")]

    def response(self, text: str) -> list[int]:
        """Ids of a finished assistant turn: text, then the EOS that ends it."""
        return [*self.encode(text), EOS]


def train(texts: Iterable[str], *, size: int) -> Tokenizer:
    """A byte-pair model of at most `size` ids, the same for the same texts in order.

    Byte pairs rather than a unigram model: the latter seeds its pieces from distinct
    words, so in a small closed vocabulary hardly a whole word becomes one piece.

    Raises:
        UserError: `size` is smaller than the alphabet of the texts needs.
    """
    # Each line is one sentence to the trainer, which would lose newlines; they get an
    # id of their own instead.
    lines = [line for text in texts for line in text.splitlines() if line]
    alphabet = {c for line in lines for c in line}
    # A mark after a word is an id of its own, so that "3." is not another digit.
    symbols = ["\n", "<think>", "</think>", *(m for m in ".,:;?!" if m in alphabet)]
    least = len(alphabet) + len(symbols) + 5
    if size < least:
        raise UserError(
            f"tokenizer.size must be at least {least} to hold the pool's alphabet, "
            f"got {size}"
        )
    longest = max((len(line.encode()) for line in lines), default=0)
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=out,
        vocab_size=size,
        model_type="bpe",
        character_coverage=1.0,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        add_dummy_prefix=False,
        user_defined_symbols=symbols,
        hard_vocab_limit=False,
        # Longer lines would be left out without a word.
        max_sentence_length=max(_LONGEST, longest),
        pad_id=PAD,
        unk_id=UNK,
        bos_id=BOS,
        eos_id=EOS,
        num_threads=1,
        minloglevel=2,
    )
    return Tokenizer(out.getvalue())


def audit(tokenizer: Tokenizer, texts: Iterable[str]) -> int:
    """Number of texts checked: each comes back from its ids exactly.

    Raises:
        UserError: one does not; the message shows it.
    """
    checked = 0
    for text in texts:
        back = tokenizer.decode(tokenizer.encode(text))
        if back != text:
            raise UserError(
                f"the tokenizer does not keep {text[:80]!r}: it gives {back[:80]!r}"
            )
        checked += 1
    return checked


Encoder = Callable[[list[str]], Sequence[Sequence[int]]]


def encoder(path: str | Path) -> Encoder:
    """A function from texts to their token ids, nothing added before or after.

    Args:
        path: a SentencePiece model (`.model`), such as `Tokenizer.model` written to a
            file, or a Hugging Face `tokenizer.json`, which needs the package
            `tokenizers`.

    Raises:
        UserError: no such file, another format, a damaged one, or no `tokenizers`.
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
        library = importlib.import_module("tokenizers")
    except ImportError as error:
        raise UserError(
            f"{path} needs the package tokenizers, which is not installed; "
            'pip install "routejax[tokenizers]"'
        ) from error
    try:
        tokenizer = library.Tokenizer.from_file(str(path))
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
