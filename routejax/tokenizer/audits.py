"""What must hold of ids before anything is trained on them; each check is an error.

Every one of these has spoilt a published run: BOS twice or never, an end that is never
learned, padding that counts as the end, ids that are not the text.
"""

from __future__ import annotations

from collections.abc import Iterable

from routejax.errors import UserError
from routejax.tokenizer.record import Tokenizer, Turn, require_kept


def audit(tokenizer: Tokenizer, texts: Iterable[str]) -> int:
    """Number of texts checked: each comes back from its ids exactly.

    Raises:
        UserError: one does not; the message shows it.
    """
    checked = 0
    for text in texts:
        require_kept(tokenizer, tokenizer.encode(text), text)
        checked += 1
    return checked


def require_rows(tokenizer: Tokenizer, rows: int) -> None:
    """Raises UserError if an id has no row in an embedding of so many rows."""
    others = [i for i in (tokenizer.bos, tokenizer.pad) if i is not None]
    highest = max(tokenizer.size - 1, tokenizer.eos, *tokenizer.stops, *others)
    if highest >= rows:
        raise UserError(
            f"the tokenizer has ids up to {highest}, the student's embedding "
            f"{rows} rows: it belongs to another student"
        )


def require_sound(tokenizer: Tokenizer, turn: Turn, name: str) -> None:
    """Refuses the ids of a finished turn that a student should not learn from.

    The loss is on `turn.response` and nothing else.

    Raises:
        UserError: everything that is wrong, with the name of the row: not exactly one
            BOS where the model wants it, no end that is learned or one too early, a
            learned padding id or control id, or an empty prompt.
    """
    wrong = [*_begin(tokenizer, turn), *_learned(tokenizer, turn)]
    if wrong:
        raise UserError(f"row {name} must not be learned: {'; '.join(wrong)}")


def _begin(tokenizer: Tokenizer, turn: Turn) -> Iterable[str]:
    if not turn.prompt:
        yield "its prompt has no ids, so nothing predicts the first of the response"
    if not tokenizer.begins or tokenizer.bos is None:
        return
    count = turn.prompt.count(tokenizer.bos) + turn.response[:-1].count(tokenizer.bos)
    if turn.prompt[:1] != [tokenizer.bos]:
        yield f"the model wants BOS ({tokenizer.bos}) first and it is not there"
    elif count != 1:
        yield f"BOS ({tokenizer.bos}) is there {count} times instead of once"


def _learned(tokenizer: Tokenizer, turn: Turn) -> Iterable[str]:
    *body, last = turn.response or [-1]
    stops = {tokenizer.eos, *tokenizer.stops}
    if last not in stops:
        yield f"its response ends in id {last}, not in one of {sorted(stops)}"
    if early := stops.intersection(body):
        yield f"id {min(early)}, which ends a response, is inside it"
    if tokenizer.pad in turn.response:
        yield (
            f"padding is {_text(tokenizer, tokenizer.pad)}, which the student is to "
            f"learn; choose another{_free(tokenizer)}"
        )
    if odd := (tokenizer.silent - stops).intersection(body) - {tokenizer.pad}:
        yield f"control id {min(odd)} is inside its response"


def _text(tokenizer: Tokenizer, number: int | None) -> str:
    """An id with the text it stands for, where it is a control id."""
    texts = {i: text for text, i in tokenizer.special.items()}
    return f"id {number} ({texts[number]})" if number in texts else f"id {number}"


def _free(tokenizer: Tokenizer) -> str:
    """A control id that begins and ends nothing, as the flag that makes it padding."""
    used = {tokenizer.eos, *tokenizer.stops, tokenizer.bos, tokenizer.pad}
    free = [text for text, i in tokenizer.special.items() if i not in used]
    if not free:
        return " (tokenizer.pad)"
    likeliest = max(free, key=lambda text: ("pad" in text, "endoftext" in text))
    return f": --config.tokenizer.pad='{likeliest}'"
