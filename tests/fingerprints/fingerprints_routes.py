"""Routes made from types alone, so that an example says only what it is about."""

from collections.abc import Mapping, Sequence

from routejax.fingerprints.label import Note
from routejax.fingerprints.lexicon import words
from routejax.fingerprints.rlve import GRAMMAR
from routejax.fingerprints.route import Route
from routejax.fingerprints.tree import grow


def made(
    types: str,
    texts: Sequence[str] = (),
    marks: Mapping[int, Sequence[str]] | None = None,
) -> Route:
    """The route of space-separated `types`; `texts` and `marks` by place.

    A step without a text is a dash: one word by its white space, none by its letters.
    """
    kinds = tuple(types.split())
    said = [*texts, *["—"] * (len(kinds) - len(texts))]
    notes = [
        Note(
            text,
            tuple(words(text)),
            kind,
            GRAMMAR.rules[-1],
            frozenset((marks or {}).get(place, ())),
        )
        for place, (kind, text) in enumerate(zip(kinds, said, strict=True))
    ]
    return Route(tuple(notes), kinds, grow(kinds, GRAMMAR.roles))
