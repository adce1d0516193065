"""The tokenizer of a checkpoint's folder, with the ids its other files name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from routejax.errors import UserError
from routejax.tokenizer import hugging_face, sentences
from routejax.tokenizer.record import Tokenizer

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
        UserError: there is none, a file is damaged, or none names an end.
    """
    folder = Path(folder)
    files = {n: (folder / n).read_bytes() for n in FILES if (folder / n).exists()}
    config = _json(folder, "tokenizer_config.json")
    added = _json(folder, "added_tokens.json")
    model = _json(folder, "config.json")
    generation = _json(folder, "generation_config.json")
    if not {"tokenizer.json", "tokenizer.model"} & {*files}:
        raise UserError(
            f"{folder} has neither tokenizer.json nor tokenizer.model; fetch the "
            "checkpoint's tokenizer too"
        )
    try:
        if "tokenizer.json" in files:
            known = _known(json.loads(files["tokenizer.json"]), config)
        else:
            known = _declared(config) | added
    except ValueError as error:
        raise UserError(f"{folder / 'tokenizer.json'} is damaged: {error}") from error
    stops = {*_ids(generation, "eos"), *_ids(model, "eos")}
    eos = _named(config, "eos", known)
    settings: dict[str, Any] = {
        "bos": _first(_named(config, "bos", known), _ids(generation, "bos")),
        "pad": _first(_named(config, "pad", known), _ids(generation, "pad")),
        "eos": _first(eos, sorted(stops)),
        "stops": tuple(sorted(stops)),
        "files": files,
        "template": _template(folder, config),
        "begins": _begins(files, config),
    }
    if "tokenizer.json" in files:
        return hugging_face.from_json(files["tokenizer.json"], **settings)
    return sentences.published(files["tokenizer.model"], special=known, **settings)


def _json(folder: Path, name: str) -> dict[str, Any]:
    if not (folder / name).exists():
        return {}
    try:
        found = json.loads((folder / name).read_bytes())
    except ValueError as error:
        raise UserError(f"{folder / name} is damaged: {error}") from error
    if not isinstance(found, dict):
        raise UserError(f"{folder / name} must hold an object")
    return found


def _known(data: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, int]:
    """Ids by text, of added tokens, and of those of the vocabulary that are named."""
    known = {token["content"]: token["id"] for token in data.get("added_tokens", ())}
    vocabulary = data.get("model", {}).get("vocab", {})
    names = [_text(config.get(f"{name}_token")) for name in ("bos", "eos", "pad")]
    if isinstance(vocabulary, dict):
        known |= {n: vocabulary[n] for n in names if n in vocabulary and n not in known}
    return known


def _declared(config: Mapping[str, Any]) -> dict[str, int]:
    """Control tokens that `tokenizer_config.json` adds to a SentencePiece model."""
    tokens = config.get("added_tokens_decoder", {})
    return {t["content"]: int(i) for i, t in tokens.items() if t.get("special")}


def _text(token: Any) -> str | None:
    return token.get("content") if isinstance(token, Mapping) else token


def _named(
    config: Mapping[str, Any], name: str, known: Mapping[str, int]
) -> int | None:
    text = _text(config.get(f"{name}_token"))
    return None if text is None else known.get(text)


def _ids(config: Mapping[str, Any], name: str) -> list[int]:
    found = config.get(f"{name}_token_id")
    if found is None:
        return []
    return found if isinstance(found, list) else [found]


def _first(one: int | None, others: list[int]) -> int | None:
    return one if one is not None else next(iter(others), None)


def _template(folder: Path, config: Mapping[str, Any]) -> str | None:
    file = folder / "chat_template.jinja"
    if file.exists():
        return file.read_text()
    found = config.get("chat_template")
    if isinstance(found, list):
        found = {one["name"]: one["template"] for one in found}.get("default")
    return found


def _begins(files: Mapping[str, bytes], config: Mapping[str, Any]) -> bool | None:
    """Whether texts begin with BOS: as the config says, else as the file does it."""
    if "add_bos_token" in config:
        return bool(config["add_bos_token"])
    bos = _text(config.get("bos_token"))
    if "tokenizer.json" not in files:
        return None  # the model says it
    after = json.loads(files["tokenizer.json"]).get("post_processor")
    return bos is not None and json.dumps(bos) in json.dumps(after)
