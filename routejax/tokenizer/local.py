"""The local student's tokenizer: a SentencePiece model trained on the pool's own text.

Whitespace is text like any other (nothing is trimmed or merged), so every string over
the model's alphabet comes back exactly. The ids of padding, unknown, beginning and end
are fixed, and no text spells them: `</s>` in a response is four characters.
"""

from __future__ import annotations

import io
from collections.abc import Iterable

import sentencepiece

from routejax.errors import UserError
from routejax.tokenizer.record import Pieces, Tokenizer, require_text
from routejax.tokenizer.sentences import pieces_of

PAD, UNK, BOS, EOS = 0, 1, 2, 3

_SPACE = "\u2581"  # how SentencePiece writes a space, so no text may have it
_LONGEST = 4192  # SentencePiece's own limit for a line, in bytes


def local(model: bytes) -> Tokenizer:
    """The tokenizer of a model that `train` made.

    Raises:
        UserError: its special ids are others.
    """
    pieces = sentencepiece.SentencePieceProcessor()
    pieces.LoadFromSerializedProto(model)
    ids = (pieces.pad_id(), pieces.unk_id(), pieces.bos_id(), pieces.eos_id())
    if ids != (PAD, UNK, BOS, EOS):
        raise UserError(
            "a tokenizer needs pad, unk, bos and eos ids "
            f"{(PAD, UNK, BOS, EOS)}, got {ids}"
        )
    known = {pieces.IdToPiece(i) for i in range(pieces.GetPieceSize())}
    known |= {" "} if _SPACE in known else set()

    def split(text: str) -> Pieces:
        require_text(text)
        ids = pieces.EncodeAsIds(text)
        if UNK in ids or _SPACE in text:
            odd = sorted({c for c in text if c == _SPACE or c not in known})
            raise UserError(
                f"the tokenizer does not know the characters {odd} of {text[:80]!r}; "
                "train it on text that has them"
            )
        return pieces_of(pieces, text)

    return Tokenizer(
        size=pieces.GetPieceSize(),
        bos=BOS,
        eos=EOS,
        pad=PAD,
        stops=(EOS,),
        begins=True,
        files={"tokenizer.model": model},
        split=split,
        join=lambda ids: pieces.DecodeIds(list(ids)),
    )


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
    return local(out.getvalue())
