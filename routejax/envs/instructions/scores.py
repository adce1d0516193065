"""Numbers over many verdicts: four accuracies, apart, and what was not counted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from routejax.envs.instructions.following import Followed
from routejax.envs.problem import Verdict


def written(found: Sequence[Followed], checker: str) -> str:
    """What a verdict keeps: JSON with `strict`, `loose`, `missing` and `checker`."""
    told: dict[str, Any] = {
        "strict": [one.strict for one in found],
        "loose": [one.loose for one in found],
    }
    missing = sorted({one.missing for one in found if one.missing})
    return json.dumps(
        told | ({"missing": missing} if missing else {}) | {"by": checker}
    )


def accuracies(verdicts: Sequence[Verdict], ids: Sequence[str]) -> dict[str, Any]:
    """Accuracies of the verdicts of environment `instructions`, None without any.

    `prompt_strict` and `prompt_loose` are over responses that follow all instructions,
    `instruction_strict` and `instruction_loose` over instructions. A response with an
    instruction that was not checkable, for want of data, counts in none of them: its
    id stands in `not_checkable`; `failed` has those whose verifier failed. `checkers`
    names the versions that judged.
    """
    told = [json.loads(v.answer) if v.answer else None for v in verdicts]
    pairs = list(zip(told, ids, strict=True))
    counted = [one for one, _ in pairs if one and "missing" not in one]
    return {
        **{f"prompt_{how}": _mean([all(o[how]) for o in counted]) for how in _HOW},
        **{
            f"instruction_{how}": _mean([x for o in counted for x in o[how]])
            for how in _HOW
        },
        "counted": len(counted),
        "not_checkable": [name for one, name in pairs if one and "missing" in one],
        "failed": [name for one, name in pairs if one is None],
        "checkers": sorted({one["by"] for one, _ in pairs if one}),
    }


_HOW = ("strict", "loose")


def _mean(values: Sequence[bool]) -> float | None:
    return sum(values) / len(values) if values else None
