"""Tokenizers of the library `tokenizers`: a `tokenizer.json`, or one rebuilt from GGUF.

Where a piece lies in its text is worked out from the pieces themselves for byte-level
models: the library's own offsets leave out spaces in some of them, and are whole
characters where a character is cut in two.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tokenizers
from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers

from routejax.errors import UserError
from routejax.tokenizer.record import Pieces, Tokenizer, require_text


def from_json(data: bytes, **settings: Any) -> Tokenizer:
    """The tokenizer of a `tokenizer.json`.

    Args:
        settings: fields of `Tokenizer` besides those the file has; `eos` is needed.

    Raises:
        UserError: the file is damaged, or says no end.
    """
    files = {"tokenizer.json": data} | settings.pop("files", {})
    return record(read(data), files=files, **settings)


def read(data: bytes) -> tokenizers.Tokenizer:
    """The library's own object of a `tokenizer.json`.

    Raises:
        UserError: the file is damaged.
    """
    try:
        return tokenizers.Tokenizer.from_str(data.decode())
    except Exception as error:  # the library raises nothing narrower
        raise UserError(
            f"tokenizer.json is damaged, or no Hugging Face tokenizer: {error}"
        ) from error


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
    try:
        texts, made = _rebuilt(fields, _GGUF_SPLITS[pre]())
    except Exception as error:  # of the library, and of fields of another kind
        raise UserError(
            "the tokenizer of the GGUF file is damaged (tokens, merges, token_type): "
            f"{type(error).__name__} {error}"
        ) from error
    template = fields.get("tokenizer.chat_template")
    data = made.to_str(pretty=False).encode()
    ids = {name: fields.get(f"tokenizer.ggml.{n}_token_id") for name, n in _IDS.items()}
    _require_ids(ids, len(texts))
    begins = bool(fields.get("tokenizer.ggml.add_bos_token", False))
    files = {
        "tokenizer.json": data,
        "tokenizer_config.json": _config(texts, ids, begins, template),
        "generation_config.json": _generation(ids),
    }
    return record(made, files=files, begins=begins, template=template, **ids)


def _rebuilt(
    fields: Mapping[str, Any], splits: Any
) -> tuple[list[str], tokenizers.Tokenizer]:
    """Texts of all ids, and the library's object with the same ids."""
    texts = list(fields["tokenizer.ggml.tokens"])
    merges = [tuple(line.split(" ")) for line in fields["tokenizer.ggml.merges"]]
    vocabulary = {text: i for i, text in enumerate(texts)}
    made = tokenizers.Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    made.pre_tokenizer = splits
    made.decoder = decoders.ByteLevel()
    kinds = [*zip(texts, fields["tokenizer.ggml.token_type"], strict=True)]
    control = [t for t, k in kinds if k == _CONTROL]
    made.add_special_tokens(
        [AddedToken(t, special=True, normalized=False) for t in control]
    )
    made.add_tokens([AddedToken(t, normalized=False) for t, k in kinds if k == _USER])
    return texts, made


def _require_ids(ids: Mapping[str, Any], size: int) -> None:
    for name, number in ids.items():
        if number is not None and not 0 <= number < size:
            raise UserError(
                f"the GGUF file names {number} as its {name} token, and its tokenizer "
                f"has ids 0..{size - 1}"
            )


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


# Ways of changing text before it is split that ids are compared after.
_FORMS: dict[str, Callable[[], Any]] = {
    "NFC": normalizers.NFC,
    "NFD": normalizers.NFD,
    "NFKC": normalizers.NFKC,
    "NFKD": normalizers.NFKD,
}
# Those that the decoder takes back, which every text is checked for.
_TAKEN_BACK = {"Prepend", "Replace", "Precompiled", "ByteLevel"}


def record(made: Any, *, eos: int | None = None, **settings: Any) -> Tokenizer:
    """The record of a library's object, its ends among the control ids.

    Args:
        settings: fields of `Tokenizer` besides those the object has.

    Raises:
        UserError: no end, or a normalizer that loses text.
    """
    if eos is None:
        raise UserError(
            "the tokenizer has no end of text: neither tokenizer_config.json nor "
            "generation_config.json names an eos token"
        )
    made.no_truncation()
    made.no_padding()
    added = made.get_added_tokens_decoder()
    vocabulary = made.get_vocab(with_added_tokens=True)
    stops = tuple(sorted({eos, *(settings.pop("stops", None) or ())}))
    ends = {*stops, settings.get("bos"), settings.get("pad")}
    special = {t.content: i for i, t in added.items() if t.special or i in ends}
    data = json.loads(made.to_str())
    byte_level = "ByteLevel" in json.dumps(data["pre_tokenizer"])
    widths = (
        {i: len(t.content.encode()) for i, t in added.items()} if byte_level else None
    )
    forms = _forms(data["normalizer"])
    turned = normalizers.Sequence(forms).normalize_str if forms else str

    def split(text: str) -> Pieces:
        require_text(text)
        return _split(made, widths if turned(text) == text else None, text)

    return Tokenizer(
        size=max(vocabulary.values(), default=-1) + 1,
        eos=eos,
        stops=stops,
        special=special,
        split=split,
        join=lambda ids: made.decode(list(ids), skip_special_tokens=False),
        turned=turned,
        **{name: value for name, value in settings.items() if value is not None},
    )


def _forms(normalizer: Any) -> list[Any]:
    """The Unicode normal forms among a file's normalizers, in order.

    Raises:
        UserError: another that ids do not give back, such as lower case.
    """
    if normalizer is None:
        return []
    kind = normalizer["type"]
    if kind == "Sequence":
        return [form for one in normalizer["normalizers"] for form in _forms(one)]
    if kind not in {*_FORMS, *_TAKEN_BACK}:
        raise UserError(
            f"the tokenizer's normalizer {kind} loses text, which no student can learn "
            f"then; it must be of {', '.join(_FORMS)}"
        )
    return [_FORMS[kind]()] if kind in _FORMS else []


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
