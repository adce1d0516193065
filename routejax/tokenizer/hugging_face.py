"""Tokenizers of the library `tokenizers`: a `tokenizer.json`, or one rebuilt from GGUF.

Where a piece lies in its text is worked out from the pieces themselves for byte-level
models: the library's own offsets leave out spaces in some of them, and are whole
characters where a character is cut in two.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import tokenizers
from tokenizers import AddedToken, decoders, models, pre_tokenizers

from routejax.errors import UserError
from routejax.tokenizer.record import Pieces, Tokenizer


def from_json(data: bytes, **settings: Any) -> Tokenizer:
    """The tokenizer of a `tokenizer.json`.

    Args:
        settings: fields of `Tokenizer` besides those the file has; `eos` is needed.

    Raises:
        UserError: the file is damaged, or says no end.
    """
    try:
        made = tokenizers.Tokenizer.from_str(data.decode())
    except Exception as error:  # the library raises nothing narrower
        raise UserError(f"no Hugging Face tokenizer: {error}") from error
    files = {"tokenizer.json": data} | settings.pop("files", {})
    return _record(made, files=files, **settings)


def from_gguf(fields: Mapping[str, Any]) -> Tokenizer:
    """The tokenizer that a GGUF file's fields describe.

    Raises:
        UserError: another kind than the byte-level one, or no end.
    """
    kind, pre = (fields.get(f"tokenizer.ggml.{name}") for name in ("model", "pre"))
    if kind != "gpt2" or pre not in _GGUF_SPLITS:
        known = ", ".join(_GGUF_SPLITS)
        raise UserError(
            "the tokenizer of a GGUF file must be gpt2 with pre-tokenizer "
            f"{known}, got {kind} with {pre}"
        )
    texts = fields["tokenizer.ggml.tokens"]
    merges = [tuple(line.split(" ")) for line in fields["tokenizer.ggml.merges"]]
    vocabulary = {text: i for i, text in enumerate(texts)}
    made = tokenizers.Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    made.pre_tokenizer = _GGUF_SPLITS[pre]()
    made.decoder = decoders.ByteLevel()
    kinds = zip(texts, fields["tokenizer.ggml.token_type"], strict=True)
    made.add_special_tokens(
        [
            AddedToken(t, special=True, normalized=False)
            for t, k in kinds
            if k == _CONTROL
        ]
    )
    kinds = zip(texts, fields["tokenizer.ggml.token_type"], strict=True)
    made.add_tokens([AddedToken(t, normalized=False) for t, k in kinds if k == _USER])
    template = fields.get("tokenizer.chat_template")
    data = made.to_str(pretty=False).encode()
    ids = {name: fields.get(f"tokenizer.ggml.{n}_token_id") for name, n in _IDS.items()}
    begins = bool(fields.get("tokenizer.ggml.add_bos_token", False))
    files = {
        "tokenizer.json": data,
        "tokenizer_config.json": _config(texts, ids, begins, template),
        "generation_config.json": _generation(ids),
    }
    return _record(made, files=files, begins=begins, template=template, **ids)


_CONTROL, _USER = 3, 4
_IDS = {"bos": "bos", "eos": "eos", "pad": "padding"}


def _digits_then_bytes() -> Any:
    return pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )


# Ways of cutting text before pairs are merged, by their names in GGUF files.
_GGUF_SPLITS = {"smollm": _digits_then_bytes}


def _config(
    texts: Sequence[str],
    ids: Mapping[str, int | None],
    begins: bool,
    template: str | None,
) -> bytes:
    named = {f"{n}_token": texts[i] for n, i in ids.items() if i is not None}
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "add_bos_token": begins}
    config |= named | {"clean_up_tokenization_spaces": False}
    return json.dumps(config | {"chat_template": template}, indent=2).encode()


def _generation(ids: Mapping[str, int | None]) -> bytes:
    return json.dumps({f"{name}_token_id": i for name, i in ids.items()}).encode()


def _record(made: Any, *, eos: int | None = None, **settings: Any) -> Tokenizer:
    if eos is None:
        raise UserError(
            "the tokenizer has no end of text: neither tokenizer_config.json nor "
            "generation_config.json names an eos token"
        )
    made.no_truncation()
    made.no_padding()
    added = made.get_added_tokens_decoder()
    special = {t.content: i for i, t in added.items() if t.special}
    vocabulary = made.get_vocab(with_added_tokens=True)
    stops = tuple(sorted({eos, *(settings.pop("stops", None) or ())}))
    byte_level = "ByteLevel" in json.dumps(json.loads(made.to_str())["pre_tokenizer"])
    widths = (
        {i: len(t.content.encode()) for i, t in added.items()} if byte_level else None
    )
    normalizer = made.normalizer

    def split(text: str) -> Pieces:
        return _split(made, widths, text)

    def turned(text: str) -> str:
        return normalizer.normalize_str(text) if byte_level and normalizer else text

    return Tokenizer(
        size=max(vocabulary.values()) + 1,
        eos=eos,
        stops=stops,
        special=special,
        split=split,
        join=lambda ids: made.decode(list(ids), skip_special_tokens=False),
        turned=turned,
        **{name: value for name, value in settings.items() if value is not None},
    )


def _split(made: Any, widths: Mapping[int, int] | None, text: str) -> Pieces:
    encoded = made.encode(text, add_special_tokens=False)
    if widths is not None:
        # A byte-level piece has one character for each byte.
        ends, at = [], 0
        for number, piece in zip(encoded.ids, encoded.tokens, strict=True):
            at += widths.get(number, len(piece))
            ends.append(at)
        if at == len(text.encode()):
            return Pieces(encoded.ids, [0, *ends[:-1]][: len(ends)], ends)
    at_byte = [0]
    for character in text:
        at_byte.append(at_byte[-1] + len(character.encode()))
    starts = [at_byte[start] for start, _ in encoded.offsets]
    return Pieces(encoded.ids, starts, [at_byte[end] for _, end in encoded.offsets])
