"""A small byte-level vocabulary as the fields of a GGUF file, for tests."""

from tokenizers import pre_tokenizers

ALPHABET = sorted(pre_tokenizers.ByteLevel.alphabet())
CONTROL = ["<end>", "<bos>", "<turn>", "<pad>"]
FIRST = len(ALPHABET) + 1  # id of the first control token


def fields(**changes):
    """Fields of `tokenizer.ggml` with changes; None leaves one out."""
    texts = [*ALPHABET, "Ġa", *CONTROL, "<think>"]
    kinds = [1] * FIRST + [3] * len(CONTROL) + [4]
    found = {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": texts,
        "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.merges": ["Ġ a"],
        "tokenizer.ggml.bos_token_id": FIRST + 1,
        "tokenizer.ggml.eos_token_id": FIRST + 2,
        "tokenizer.ggml.padding_token_id": FIRST + 3,
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.chat_template": "T",
    }
    changed = {f"tokenizer.ggml.{name}": value for name, value in changes.items()}
    return {n: v for n, v in (found | changed).items() if v is not None}
