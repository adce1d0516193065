"""Texts longer than what is made for them: refused together, or left out by name.

Nothing is cut: a row without its end teaches a student never to stop, a prompt without
its end asks something else. Responses that the sampler cut off are another matter: they
count as not solved and are in `truncated`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from routejax import processes
from routejax.errors import UserError
from routejax.workdir import write

SHOWN = 20  # ids in a message; all are in the file
FILE = "overlong.jsonl"


def apart(
    block: str,
    names: Sequence[str],
    lengths: Sequence[int],
    limit: int,
    setting: str,
    rule: str,
    folder: Path,
) -> list[int]:
    """Places of those that fit, in order.

    The others are in `overlong.jsonl`, a line each with id and tokens; without any
    there is no file.

    Args:
        block: of the config, for the message.
        limit: most tokens, which `setting` names.
        rule: "error" or "drop".

    Raises:
        UserError: some are too long and the rule is "error", or nothing is left.
    """
    kept = [n for n, length in enumerate(lengths) if length <= limit]
    over = [n for n, length in enumerate(lengths) if length > limit]
    if not over:
        return kept
    lines = (json.dumps({"id": names[n], "tokens": lengths[n]}) + "\n" for n in over)
    processes.first_does(lambda: write(folder / FILE, "".join(lines)))
    if rule == "drop" and kept:
        return kept
    said = ", ".join(f"{names[n]} ({lengths[n]})" for n in over[:SHOWN])
    more = f" and {len(over) - SHOWN} more" if len(over) > SHOWN else ""
    raise UserError(
        f"{len(over)} of {len(lengths)} have more than {setting} {limit} tokens: "
        f"{said}{more}; all are in {folder / FILE}. Raise {setting} to "
        f"{max(lengths)}, or set config.{block}.overlong=drop to leave them out"
    )
