"""The tokenizer of a checkpoint's folder, with the ids its other files name."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from routejax.errors import UserError
from routejax.tokenizer import hugging_face, sentences
from routejax.tokenizer.record import Tokenizer, require_text

# Files that an export of the student carries along.
FILES = (
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "chat_template.jinja",
    "generation_config.json",
)


def load(folder: str | Path) -> Tokenizer:
    """The tokenizer in a folder: `tokenizer.json`, else SentencePiece's model.

    The end is that of `tokenizer_config.json`; every end that `generation_config.json`
    or `config.json` names stops a response too.

    Raises:
        UserError: there is none, a file is damaged or says something that is none of
            its values, a token is named that the vocabulary lacks, or none is an end.
    """
    folder = Path(folder)
    files = {n: (folder / n).read_bytes() for n in FILES if (folder / n).is_file()}
    if not {"tokenizer.json", "tokenizer.model"} & {*files}:
        raise UserError(
            f"{folder} has neither tokenizer.json nor tokenizer.model; fetch the "
            "checkpoint's tokenizer too"
        )
    try:
        return _read(folder, files)
    except UserError as error:
        raise UserError(f"{folder}: {error}") from error


def _read(folder: Path, files: dict[str, bytes]) -> Tokenizer:
    # Older folders name the tokens in special_tokens_map.json alone.
    config = _json(folder, "special_tokens_map.json")
    config |= _json(folder, "tokenizer_config.json")
    ends = (*_ids(folder, "generation_config.json", "eos"),)
    ends += (*_ids(folder, "config.json", "eos"),)
    others = {n: _ids(folder, "generation_config.json", n) for n in ("bos", "pad")}
    others["eos"] = sorted({*ends})
    settings = {
        "files": files,
        "template": _template(folder, config),
        "begins": _begins(config),
        "stops": tuple(others["eos"]),
    }
    return _READERS["tokenizer.json" in files](folder, config, others, settings)


def _hugging_face(
    folder: Path, config: dict[str, Any], others: _Ids, settings: dict[str, Any]
) -> Tokenizer:
    made = hugging_face.read(settings["files"]["tokenizer.json"])
    ids = _named(config, others, made.token_to_id)
    if settings["begins"] is None:
        settings["begins"] = _put_first(config, settings["files"]["tokenizer.json"])
    return hugging_face.record(made, **settings, **ids)


def _sentencepiece(
    folder: Path, config: dict[str, Any], others: _Ids, settings: dict[str, Any]
) -> Tokenizer:
    data = settings["files"]["tokenizer.model"]
    pieces = sentences.read(data)
    special = _declared(config) | _added(_json(folder, "added_tokens.json"))

    def find(text: str) -> int | None:
        return special.get(text, sentences.find(pieces, text))

    ids = _named(config, others, find)
    return sentences.published(data, special=special, **settings, **ids)


_READERS = {True: _hugging_face, False: _sentencepiece}
_Ids = Mapping[str, Sequence[int]]


def _json(folder: Path, name: str) -> dict[str, Any]:
    if not (folder / name).is_file():
        return {}
    try:
        found = json.loads((folder / name).read_bytes())
    except (ValueError, RecursionError) as error:
        raise UserError(f"{name} is damaged: {error}") from error
    if not isinstance(found, dict):
        raise UserError(f"{name} must hold an object")
    return found


def _refused(name: str, wanted: str, got: Any) -> UserError:
    return UserError(f"{name} must be {wanted}, got {str(got)[:60]!r}")


def _named(
    config: Mapping[str, Any], others: _Ids, find: Callable[[str], int | None]
) -> dict[str, int | None]:
    """Ids of beginning, end and padding: by their text, else as another file has them.

    Raises:
        UserError: a text that the vocabulary lacks.
    """
    found = {}
    for name, ids in others.items():
        text = _text(config, f"{name}_token")
        found[name] = next(iter(ids), None) if text is None else find(text)
        if text is not None and found[name] is None:
            raise UserError(
                f"tokenizer_config.json (or special_tokens_map.json) names {text!r} as "
                f"{name}_token, which the vocabulary lacks; name one that it has there"
            )
    return found


def _text(config: Mapping[str, Any], name: str) -> str | None:
    token = config.get(name)
    text = token.get("content") if isinstance(token, Mapping) else token
    if not isinstance(text, str | None) or (text is None and token is not None):
        raise _refused(name, "a text or an object with its content", token)
    require_text(text or "")
    return text


def _declared(config: Mapping[str, Any]) -> dict[str, int]:
    """Control tokens that `tokenizer_config.json` adds to a SentencePiece model."""
    tokens = config.get("added_tokens_decoder") or {}
    try:
        return {t["content"]: int(i) for i, t in tokens.items() if t.get("special")}
    except (AttributeError, TypeError, KeyError, ValueError) as error:
        wanted = "an object of tokens by their ids"
        raise _refused("added_tokens_decoder", wanted, tokens) from error


def _added(tokens: Mapping[str, Any]) -> dict[str, int]:
    for text, number in tokens.items():
        if not _is_id(number):
            raise _refused(f"{text!r} of added_tokens.json", "an id", number)
    return dict(tokens)


def _ids(folder: Path, file: str, name: str) -> list[int]:
    found = _json(folder, file).get(f"{name}_token_id")
    ids = found if isinstance(found, list) else [] if found is None else [found]
    if not all(map(_is_id, ids)):
        raise _refused(f"{name}_token_id of {file}", "an id or a list of ids", found)
    return ids


def _is_id(number: Any) -> bool:
    return type(number) is int and number >= 0


def _template(folder: Path, config: Mapping[str, Any]) -> str | None:
    file = folder / "chat_template.jinja"
    if file.is_file():
        try:
            return file.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise UserError(f"{file.name} is no text: {error}") from error
    found = config.get("chat_template")
    if isinstance(found, list):
        named = [one for one in found if isinstance(one, dict)]
        if len(named) < len(found):
            raise _refused("chat_template", "a text or a list of named ones", found)
        default = [one for one in named if one.get("name") == "default"]
        found = default[0].get("template") if default else None
    if not isinstance(found, str | None):
        raise _refused("chat_template", "a text or a list of named ones", found)
    return found


def _begins(config: Mapping[str, Any]) -> bool | None:
    """Whether texts begin with BOS, where the config says it."""
    found = config.get("add_bos_token")
    if not isinstance(found, bool | None):
        raise _refused("add_bos_token", "true or false", found)
    return found


def _put_first(config: Mapping[str, Any], data: bytes) -> bool:
    """Whether a `tokenizer.json` itself puts BOS before texts."""
    bos, after = _text(config, "bos_token"), json.loads(data).get("post_processor")
    return bos is not None and json.dumps(bos) in json.dumps(after)
