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
    what: str,
    names: Sequence[str],
    lengths: Sequence[int],
    limit: int,
    *,
    setting: str,
    rule: str,
    block: str,
    mend: str,
    to: Path,
) -> list[int]:
    """Places of those that fit, in order.

    The others are in the file `to`, a line each with id and tokens; without any there
    is no file.

    Args:
        what: plural of what they are.
        limit: most tokens, which `setting` names.
        rule: "error" or "drop".
        block: of the config that has the rule; "" where there is no other.
        mend: what else to do, for the message.

    Raises:
        UserError: some are too long and the rule is "error", or nothing is left.
    """
    kept = [n for n, length in enumerate(lengths) if length <= limit]
    over = [n for n, length in enumerate(lengths) if length > limit]
    if not over:
        return kept
    lines = (json.dumps({"id": names[n], "tokens": lengths[n]}) + "\n" for n in over)
    if processes.first():  # which may be at this alone
        write(to, "".join(lines))
    if rule == "drop" and kept:
        return kept
    said = ", ".join(f"{names[n]} ({lengths[n]})" for n in over[:SHOWN])
    more = f" and {len(over) - SHOWN:,} more" if len(over) > SHOWN else ""
    if block and rule == "error":
        mend = f"set config.{block}.overlong=drop to leave them out, or {mend}"
    raise UserError(
        f"{len(over):,} of {len(lengths):,} {what} have more than {setting} {limit} "
        f"tokens: {said}{more}; all are in {to}; {mend}"
    )


def read_ids(path: Path) -> list[str]:
    """Ids in a file of `apart`; none where there is no file."""
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line)["id"] for line in lines]
