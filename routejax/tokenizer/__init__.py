"""Text to ids and back, and turns of a conversation: one record for every tokenizer.

train, local: the local student's, a SentencePiece model of the pool's own text
load: that of a checkpoint's folder (`tokenizer.json` or SentencePiece)
from_gguf: that of a GGUF file's fields
require_sound, require_rows, audit: what must hold before anything is trained
encoder: a function from texts to ids out of any tokenizer file

Chat templates are in `routejax.chat`; without one a turn is BOS where the model wants
it, prompt, newline, response, end.
"""

from routejax.tokenizer.audits import audit, require_rows, require_sound
from routejax.tokenizer.encoders import Encoder, encoder
from routejax.tokenizer.folder import load
from routejax.tokenizer.hugging_face import from_gguf, from_json
from routejax.tokenizer.local import BOS, EOS, PAD, UNK, local, train
from routejax.tokenizer.record import (
    Form,
    Pieces,
    Tokenizer,
    Turn,
    require_kept,
    require_no_control,
    require_text,
)
from routejax.tokenizer.sentences import published

__all__ = [
    "BOS",
    "EOS",
    "PAD",
    "UNK",
    "Encoder",
    "Form",
    "Pieces",
    "Tokenizer",
    "Turn",
    "audit",
    "encoder",
    "from_gguf",
    "from_json",
    "load",
    "local",
    "published",
    "require_kept",
    "require_no_control",
    "require_rows",
    "require_sound",
    "require_text",
    "train",
]
