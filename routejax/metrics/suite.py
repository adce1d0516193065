"""One arm on several benchmarks under several training seeds, as tables of counts.

Here it is decided what is resampled: questions or, where these are asked for, whole
environments, each benchmark by itself; and training seeds where there are several.
"""

import hashlib
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple, Self

import numpy as np
from jaxtyping import Float, Int

from routejax.errors import UserError
from routejax.metrics.passk import pass_at_k
from routejax.metrics.resampling import crossed_means, question_means
from routejax.metrics.scored import Scored, matched

OVER = ("questions", "environments")


class Boot(NamedTuple):
    """Of the percentile bootstrap: the paper's numbers (D.1), and what is drawn."""

    seed: int = 20_260_924
    resamples: int = 20_000
    over: str = "questions"


class Table(NamedTuple):
    """One benchmark: correct answers by training seed and question.

    `first` has what all seeds share: questions, samples, environments, cuts.
    """

    first: Scored
    counts: Int[np.ndarray, "S Q"]

    @property
    def questions(self) -> int:
        return self.counts.shape[1]

    def side(self, cut: str, value: Hashable) -> Self:
        rows = np.array([side == value for side in self.first.strata[cut]])
        return self._replace(first=self.first.keep(rows), counts=self.counts[:, rows])

    def scores(self, ks: Sequence[int]) -> Float[np.ndarray, "S K"]:
        """Mean pass@k of the questions, by training seed."""
        lookup = lookup_pass(self.first, ks)
        sizes = range(self.first.samples + 1)
        tally = np.array(
            [np.bincount(row, minlength=len(sizes)) for row in self.counts]
        )
        return tally @ lookup / self.questions


class Suite(NamedTuple):
    """An arm: its training seeds, and its benchmarks in the order they came."""

    arm: str
    seeds: tuple[int, ...]
    tables: dict[str, Table]

    def only(self, seeds: Sequence[int]) -> Self:
        """The same arm with these training seeds alone, in this order."""
        rows = [self.seeds.index(seed) for seed in seeds]
        tables = {
            name: table._replace(counts=table.counts[rows])
            for name, table in self.tables.items()
        }
        return self._replace(seeds=tuple(seeds), tables=tables)


def read_suite(parts: Iterable[Scored]) -> Suite:
    """What one arm scored, one entry per benchmark and training seed.

    Raises:
        UserError: without an entry, for entries of two arms, an entry twice, a seed
            that lacks a benchmark, or seeds that cannot be compared.
    """
    entries = list(parts)
    if not entries:
        raise UserError("an arm needs one scored benchmark or more, got none")
    arm = entries[0].arm
    by_name: dict[str, dict[int, Scored]] = {}
    for entry in entries:
        if entry.arm != arm:
            raise UserError(f"entries of two arms, {arm} and {entry.arm}; give one arm")
        seeds = by_name.setdefault(entry.benchmark, {})
        if entry.seed in seeds:
            raise UserError(f"{entry.where} is there twice; give it once")
        seeds[entry.seed] = entry
    order = list(dict.fromkeys(entry.seed for entry in entries))
    for name, found in by_name.items():
        if missing := [seed for seed in order if seed not in found]:
            raise UserError(
                f"arm {arm} has benchmark {name} for seeds {list(found)} and not for "
                f"{missing}; evaluate every seed on every benchmark"
            )
    return Suite(
        arm,
        tuple(order),
        {n: _table([f[s] for s in order]) for n, f in by_name.items()},
    )


def paired(a: Suite, b: Suite) -> tuple[Suite, Suite]:
    """Both arms with the training seeds they share and the questions in `a`'s order.

    Raises:
        UserError: for other benchmarks, no shared seed, or what `matched` refuses.
    """
    for one, other in ((a, b), (b, a)):
        if alone := [name for name in one.tables if name not in other.tables]:
            raise UserError(
                f"arms {a.arm} and {b.arm} must have the same benchmarks; only "
                f"{one.arm} has {', '.join(alone)}"
            )
    seeds = [seed for seed in a.seeds if seed in b.seeds]
    if not seeds:
        raise UserError(
            f"arms {a.arm} and {b.arm} share no training seed: {list(a.seeds)} and "
            f"{list(b.seeds)}; train both from the same seeds"
        )
    tables = {}
    for name, table in a.tables.items():
        other = b.tables[name]
        turned = matched(table.first, other.first)
        places = {i: n for n, i in enumerate(other.first.ids)}
        columns = [places[i] for i in turned.ids]
        tables[name] = Table(turned, other.counts[:, columns])
    return a.only(seeds), b._replace(tables=tables).only(seeds)


def resampled(
    tables: Sequence[Table], ks: Sequence[int], boot: Boot
) -> Float[np.ndarray, "resamples X"]:
    """Mean pass@k of one benchmark's arms in every resample, X = arms x ks.

    `tables` are of one benchmark and hold the same questions and seeds in one order.
    """
    first = tables[0].first
    unit_seed = [boot.seed, 1, _number(first.benchmark)]
    stacked = np.stack([table.counts for table in tables])
    if stacked.shape[1] == 1 and boot.over == "questions":
        rows, kinds = _kinds([lookup_pass(first, ks)] * len(tables), stacked[:, 0])
        return question_means(rows, kinds, seed=unit_seed, resamples=boot.resamples)
    values = np.concatenate([lookup_pass(first, ks)[c] for c in stacked], axis=2)
    units = _units(first, boot.over)
    sums = np.zeros((len(values), max(units) + 1, values.shape[2]))
    for by_seed, into in zip(values, sums, strict=True):
        np.add.at(into, units, by_seed)
    sizes = np.bincount(units).astype(np.float64)
    return crossed_means(
        sums,
        sizes,
        seed=[boot.seed, 0],
        unit_seed=unit_seed,
        resamples=boot.resamples,
    )


def budgets(samples: int) -> list[int]:
    """The powers of two up to N, and N."""
    return sorted({2**i for i in range(samples.bit_length())} | {samples})


def lookup_pass(first: Scored, ks: Sequence[int]) -> Float[np.ndarray, "N+1 K"]:
    """pass@k of a question with c = 0..N correct answers.

    Raises:
        UserError: if a k exceeds the samples, naming benchmark and arm.
    """
    if not len(ks) or min(ks) < 1 or max(ks) > first.samples:
        raise UserError(
            f"k must lie in 1..{first.samples}, the samples per question of benchmark "
            f"{first.benchmark} of arm {first.arm}, got {list(ks)}"
        )
    counts = np.arange(first.samples + 1)[:, None]
    return np.asarray(pass_at_k(first.samples, counts, np.array(ks)))


def _kinds(
    lookups: Sequence[Float[np.ndarray, "N+1 K"]], counts: Int[np.ndarray, "arms Q"]
) -> tuple[Float[np.ndarray, "U X"], Int[np.ndarray, "Q"]]:
    """The different rows of pass@k of all arms, and which of them each question has."""
    codes, kinds = np.zeros(counts.shape[1], np.int64), np.zeros(0, np.int64)
    for row in counts:
        _, kinds = np.unique(codes * len(lookups[0]) + row, return_inverse=True)
        codes = kinds
    _, first = np.unique(kinds, return_index=True)
    values = [of[row[first]] for of, row in zip(lookups, counts, strict=True)]
    return np.concatenate(values, axis=1), kinds


def _table(entries: Sequence[Scored]) -> Table:
    first, *others = entries
    counts = [first.counts, *(matched(first, other).counts for other in others)]
    return Table(first, np.stack(counts))


def _units(first: Scored, over: str) -> Int[np.ndarray, "Q"]:
    if over not in OVER:
        raise UserError(f"over must be one of {', '.join(OVER)}, got {over!r}")
    if over == "questions":
        return np.arange(len(first.ids))
    if first.envs is None:
        raise UserError(
            f"{first.where} names no environments to resample; resample questions"
        )
    places = {env: i for i, env in enumerate(dict.fromkeys(first.envs))}
    return np.array([places[env] for env in first.envs])


def _number(name: str) -> int:
    # Benchmarks of one size must not share their draws: their mean would vary too much.
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
