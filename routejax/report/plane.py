"""The pool in two dimensions of fingerprint space, and what each arm took from it."""

from __future__ import annotations

from collections.abc import Sequence

from routejax.report.inputs import Inputs, Look
from routejax.report.layout import figure, not_run, panel, panels
from routejax.report.svg import Scale, drawing, el, number, words
from routejax.report.wording import plural

_SIZE, _PAD = 360.0, 8.0
_LETTER = 6.6  # width of a letter of a label, about

Spot = tuple[float, float]


def space(inputs: Inputs) -> str:
    """Small multiples: the pool with its environments named, then one map per arm."""
    plane = inputs.plane
    if not plane.get("x"):
        return not_run("space", "Fingerprint space", "the pool was not laid out.")
    spots = _spots(plane["x"], plane["y"])
    drawn = [
        panel("The pool", _pool(spots, plane.get("env") or []), "environments by name")
    ]
    for arm in inputs.arms:
        picked = [spots[i] for i in (plane.get("arms") or {}).get(arm.name, [])]
        note = f"{plural(len(picked), 'selected trace')} of those drawn"
        drawn.append(panel(arm.name, _selected(arm, picked), note, arm=arm))
    return figure(
        "space",
        "What each arm took from the pool",
        panels(*drawn, across=3 if len(drawn) in (3, 6) else 4),
        units=f"{len(spots):,} traces of the pool, in two dimensions of their routes",
        read=(
            "Each grey dot is a trace of the pool; near dots have similar routes. "
            "Coloured dots were selected. Two dimensions cannot keep all distances; "
            "the table of spread has the numbers."
        ),
    )


def dots(spots: Sequence[Spot]) -> str:
    """Path data of one round dot per spot; a path is far smaller than many circles."""
    return "".join(f"M{number(round(x, 1))} {number(round(y, 1))}h0" for x, y in spots)


def _spots(xs: Sequence[float], ys: Sequence[float]) -> list[Spot]:
    # One unit is equally long in both directions.
    reach = max(max(xs) - min(xs), max(ys) - min(ys)) or 1.0
    across, up = (
        Scale(
            (min(v) + max(v) - reach) / 2,
            (min(v) + max(v) + reach) / 2,
            *ends,
        )
        for v, ends in ((xs, (_PAD, _SIZE - _PAD)), (ys, (_SIZE - _PAD, _PAD)))
    )
    return [(across(x), up(y)) for x, y in zip(xs, ys, strict=True)]


def _pool(spots: list[Spot], envs: Sequence[str]) -> str:
    layer = el("path", d=dots(spots), class_="pool", id="pool-dots")
    return drawing(_SIZE, _SIZE, "The pool", layer, *_names(spots, envs))


def _selected(arm: Look, picked: list[Spot]) -> str:
    layer = el("path", d=dots(picked), class_="picked")
    return drawing(
        _SIZE,
        _SIZE,
        f"Traces that {arm.name} selected, over the pool",
        el("use", href="#pool-dots"),
        el("g", layer, class_=arm.css),
    )


def _names(spots: list[Spot], envs: Sequence[str]) -> list[str]:
    # At the median of each environment, the larger first; one that would lie on
    # another is left out.
    by_env: dict[str, list[Spot]] = {}
    for spot, env in zip(spots, envs, strict=False):
        if env:
            by_env.setdefault(env, []).append(spot)
    parts: list[str] = []
    taken: list[tuple[float, float, float]] = []
    for env, own in sorted(by_env.items(), key=lambda item: (-len(item[1]), item[0])):
        half = _LETTER * len(env) / 2
        x, y = (sorted(side)[len(side) // 2] for side in zip(*own, strict=True))
        x = min(max(x, half + _PAD), _SIZE - half - _PAD)
        free = all(abs(y - v) > 14 or abs(x - u) > half + h for u, v, h in taken)
        if free:
            taken.append((x, y, half))
            parts.append(words(x, y + 4, env, "place"))
    return parts
