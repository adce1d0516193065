"""What one arm scored on one benchmark, and whether two of these may be compared.

Two arms compare only where question sets, number of draws and decoding settings are the
same (paper, A.3); `matched` refuses everything else and says what differs. Questions
are matched by id, so their order does not matter.
"""

import dataclasses
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Int
from numpy.typing import ArrayLike

from routejax.errors import UserError
from routejax.metrics.counts import as_counts

_SHOWN = 3  # ids of questions in a message


@dataclass(frozen=True, eq=False)
class Scored:
    """Correct answers of one trained model to the questions of one benchmark.

    Attributes:
        arm, benchmark: names.
        ids: of the questions, all different.
        counts: correct answers to each question.
        samples: N, answers sampled per question.
        decoding: the settings that the samples were drawn with, by name.
        seed: of the training run, for arms with several.
        envs: environment of each question, where the bootstrap is to draw these whole.
        strata: name of a cut ("band", "split", "difficulty") -> side of each question.

    Raises:
        UserError: for no question, an id twice, columns of unequal length, or counts
            outside 0..N.
    """

    arm: str
    benchmark: str
    ids: tuple[str, ...]
    counts: Int[np.ndarray, "Q"]
    samples: int
    decoding: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    envs: tuple[Hashable, ...] | None = None
    strata: Mapping[str, Sequence[Hashable]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not len(self.ids):
            raise UserError(
                f"{self.where} has no question; leave it out or evaluate it first"
            )
        try:
            counts = as_counts(self.counts, self.samples)
        except UserError as error:
            raise UserError(f"{self.where}: {error}") from None
        object.__setattr__(self, "counts", counts)
        if len(set(self.ids)) < len(self.ids):
            (twice, _), *_ = Counter(self.ids).most_common(1)
            raise UserError(
                f"{self.where} has question {twice!r} twice; give each its own id"
            )
        columns: dict[str, Sequence | np.ndarray] = {"counts": counts, **self.strata}
        if self.envs is not None:
            columns["envs"] = self.envs
        for name, column in columns.items():
            if len(column) != len(self.ids):
                raise UserError(
                    f"{self.where}: {name} must have one entry for each of "
                    f"{len(self.ids)} questions, got {len(column)}"
                )

    @property
    def where(self) -> str:
        """How messages speak of it."""
        return f"benchmark {self.benchmark} of arm {self.arm} (seed {self.seed})"

    def keep(self, rows: Int[np.ndarray, "q"] | Bool[np.ndarray, "Q"]) -> Self:
        """Some of its questions, in the order of `rows`."""
        places = np.arange(len(self.ids))[rows]
        return dataclasses.replace(
            self,
            ids=tuple(self.ids[i] for i in places),
            counts=self.counts[places],
            envs=None if self.envs is None else tuple(self.envs[i] for i in places),
            strata={
                name: [sides[i] for i in places] for name, sides in self.strata.items()
            },
        )

    def side(self, cut: str, value: Hashable) -> Self:
        """The questions on one side of a cut."""
        return self.keep(np.array([side == value for side in self.strata[cut]]))


def score_samples(
    arm: str, benchmark: str, ids: Sequence[str], scores: ArrayLike, **options: Any
) -> Scored:
    """The scored samples of one benchmark, counted by question.

    Args:
        ids: question of each sample; questions keep the order of their first sample.
        scores: of each sample, 0 or 1, or false or true.
        options: `decoding` and `seed` of `Scored`, and `envs` and `strata` with one
            entry per sample, of which the first of each question counts.

    Raises:
        UserError: for no sample, a score that is neither 0 nor 1 (NaN, null), or
            questions with unequal numbers of samples.
    """
    where = f"benchmark {benchmark} of arm {arm}"
    solved = _solved(scores, where)
    if len(solved) != len(ids):
        raise UserError(f"{where}: {len(ids)} ids and {len(solved)} scores; give both")
    if not len(ids):
        raise UserError(f"{where} has no sample; evaluate it first")
    column = pa.array(ids, pa.string()).dictionary_encode()
    rows = column.indices.to_numpy(zero_copy_only=False)
    names = tuple(column.dictionary.to_pylist())
    drawn = np.bincount(rows, minlength=len(names))
    if (drawn != drawn[0]).any():
        odd = int(np.flatnonzero(drawn != drawn[0])[0])
        raise UserError(
            f"{where}: every question needs equally many samples, got {drawn[0]} of "
            f"{names[0]!r} and {drawn[odd]} of {names[odd]!r}; sample the rest first"
        )
    first = np.full(len(names), len(rows))
    np.minimum.at(first, rows, np.arange(len(rows)))
    if options.get("envs") is not None:
        options["envs"] = tuple(_first(options["envs"], first, where))
    cuts = options.get("strata", {})
    options["strata"] = {cut: _first(cuts[cut], first, where) for cut in cuts}
    counts = np.bincount(rows[solved], minlength=len(names))
    return Scored(arm, benchmark, names, counts, int(drawn[0]), **options)


def matched(a: Scored, b: Scored) -> Scored:
    """`b` with its questions in the order of `a`, if the two may be compared.

    Raises:
        UserError: if benchmark, questions, samples, decoding, environments or cuts
            differ, naming what does.
    """
    names = (
        f"arms {a.arm} and {b.arm}"
        if a.arm != b.arm
        else f"seeds {a.seed} and {b.seed} of arm {a.arm}"
    )
    pair = f"{names} cannot be compared on {a.benchmark}"
    if a.benchmark != b.benchmark:
        raise UserError(f"{pair}: the other is {b.benchmark}")
    if a.samples != b.samples:
        raise UserError(
            f"{pair}: {a.samples} and {b.samples} samples per question; sample more of "
            "one, or score the first of the other alone"
        )
    _same_decoding(a, b, pair)
    places = {name: i for i, name in enumerate(b.ids)}
    for name, one, other in (("first", a, b), ("second", b, a)):
        known = set(other.ids)
        alone = [i for i in one.ids if i not in known]
        if alone:
            shown = ", ".join(alone[:_SHOWN]) + (", …" if len(alone) > _SHOWN else "")
            raise UserError(
                f"{pair}: {len(alone)} question(s) of the {name} are "
                f"not among those of the other: {shown}; evaluate both on one set"
            )
    found = b.keep(np.array([places[name] for name in a.ids]))
    if a.envs != found.envs:
        raise UserError(f"{pair}: their questions have different environments")
    for cut in a.strata.keys() | found.strata.keys():
        left, right = a.strata.get(cut), found.strata.get(cut)
        if left is None or right is None or list(left) != list(right):
            raise UserError(f"{pair}: they cut their questions by {cut} differently")
    return found


def bands(
    difficulties: Sequence[int], edges: Sequence[tuple[int, int]] = ((1, 10), (11, 15))
) -> list[str]:
    """The band of each question, "1-10": ends inclusive, the paper's by default (3.2).

    Raises:
        UserError: for a difficulty in no band, naming its row.
    """
    found = []
    for row, level in enumerate(difficulties):
        of = [f"{low}-{high}" for low, high in edges if low <= level <= high]
        if len(of) != 1:
            raise UserError(
                f"difficulty {level} in row {row} lies in {len(of)} of the bands "
                f"{list(edges)}; it must lie in one"
            )
        found += of
    return found


def _solved(scores: ArrayLike, where: str) -> Bool[np.ndarray, "N"]:
    array = np.asarray(scores)
    if array.dtype != bool:
        wrong = ~np.isin(array, [0, 1]) if array.dtype.kind in "iuf" else _not_01(array)
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise UserError(
                f"{where}: a score must be 0 or 1, got {array[row]} in row {row}; "
                f"{np.count_nonzero(wrong)} row(s) are wrong; score these samples again"
            )
    return array.astype(bool)


def _not_01(array: np.ndarray) -> Bool[np.ndarray, "N"]:
    return np.array([value not in (0, 1) for value in array.tolist()], dtype=bool)


def _first(
    column: Sequence[Any], rows: Int[np.ndarray, "Q"], where: str
) -> list[Hashable]:
    if len(column) <= int(rows.max()):
        raise UserError(f"{where}: envs and strata need one entry per sample")
    return [column[row] for row in rows]


def _same_decoding(a: Scored, b: Scored, pair: str) -> None:
    missing = object()
    for name in sorted(a.decoding.keys() | b.decoding.keys()):
        left, right = (x.decoding.get(name, missing) for x in (a, b))
        if left != right:
            said = ["not set" if v is missing else repr(v) for v in (left, right)]
            raise UserError(
                f"{pair}: their samples were decoded with {name} {said[0]} and "
                f"{said[1]}; sample both with the same settings"
            )
