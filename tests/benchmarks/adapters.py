"""The tables of all tasks of reasoning-gym and RLVE: which can be used, where, why not.

    python -m tests.benchmarks.adapters [--write] [--workers 2] [--tasks NAME ...]
        [--records /tmp/adapters.jsonl]

Every task is tried at difficulties 1 to 15 with two seeds, in workers of the judging
pool: drawn twice, at three difficulties by another process too, and judged from its
config as JSON with its own gold answer, that of the other seed, random text, and
constant guesses. What is found is added to the file of records at once, and a run that
was stopped goes on from it. A task that is late at three difficulties in a row is not
tried at higher ones, so that the whole is bounded: half an hour on two busy cores.

`--write` replaces the tables in the package (`routejax.envs.adapters.tables`); without
it only counts are printed. Needs both extras: pip install 'routejax[gym,rlve]'.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import importlib.metadata
import json
import random
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from routejax.envs.adapters import MODULES, PACKAGES, tables
from routejax.envs.judging import Call, Setting, Workers, sandbox
from routejax.envs.problem import DIFFICULTIES
from routejax.envs.tagged import FORM

SEEDS = range(2)
LATE_S = 20.0  # wall time of one probe, on a busy machine too
SLOW_S = 3.0  # CPU time of drawing one problem
LATE_IN_A_ROW = 3
REDRAWN = (1, 8, 15)  # difficulties that another process draws again
PIECE = 60  # probes between two writes of the records
JUNK = ("banana", "I do not know.", "the quick brown fox, again and again")
GUESSES = (
    *("", "0", "1", "-1", "2", "Yes", "No", "yes", "no", "True", "False"),
    *("A", "B", "[]", "()", "impossible", "IMPOSSIBLE", "None", "-", "1 1", "0 0"),
)
KEY = ("family", "task", "difficulty")
Key = tuple[str, str, int]
HERE = Path(__file__).parents[2]
PLACE = "tests.benchmarks.adapters"

# What a probe cannot see, by task.
KNOWN: Mapping[str, Mapping[str, str]] = {
    "gym": {
        "codeio": "another process draws another problem, by programs it runs",
        "propositional_logic": "a premise repeated is accepted",
        "puzzle24": "four numbers that make 24 are accepted, whatever is given",
    },
    "rlve": {},
}

# Reasons against a difficulty. A faulty verifier or seed is one against the task, and a
# gold answer that is rejected also against all difficulties above.
LATE, FAILS, LONG = "drawn too slowly", "cannot be drawn", "prompt too long"
SINGLE, GOLD = "no curriculum", "its own gold answer is rejected"
VARIES, ACCEPTS = "the same seed draws another problem", "random text is accepted"
FAULTS = (VARIES, ACCEPTS)


def probe(family: str, task: str, difficulty: int) -> dict[str, Any]:
    """What the task does at a difficulty; runs in a worker."""
    module = MODULES[family]
    configs, seconds, characters = [], [], []
    again = json.dumps(module.generate(task, rng(difficulty, 0), difficulty)[1])
    for seed in SEEDS:
        began = time.process_time()
        prompt, config = module.generate(task, rng(difficulty, seed), difficulty)
        seconds.append(time.process_time() - began)
        characters.append(len(prompt))
        configs.append(json.dumps(config))
    golds = [module.gold(json.loads(config)) for config in configs]
    raised: set[str] = set()
    began = time.process_time()

    def solved(config: str, answer: str) -> bool:
        try:
            return module.judge(json.loads(config), FORM.format(answer)).solved
        except Exception as error:
            raised.add(type(error).__name__)
            return False

    others = zip(configs, golds, reversed(golds), strict=True)
    return {
        "seconds": max(seconds),
        "characters": max(characters),
        "config": max(map(len, configs)),
        "same": again == configs[0],
        "digest": hashlib.sha256("\n".join(configs).encode()).hexdigest(),
        "golds": [
            None if gold is None else solved(config, gold)
            for config, gold in zip(configs, golds, strict=True)
        ],
        "others": [
            solved(config, other)
            for config, gold, other in others
            if gold is not None and other is not None and gold != other
        ],
        "junk": [text for text in JUNK if any(solved(c, text) for c in configs)],
        "guesses": [[text for text in GUESSES if solved(c, text)] for c in configs],
        "raised": sorted(raised),
        "judge_s": time.process_time() - began,
    }


def redraw(family: str, task: str, difficulty: int) -> str:
    """The digest of the same problems, in another process."""
    module = MODULES[family]
    configs = [
        json.dumps(module.generate(task, rng(difficulty, seed), difficulty)[1])
        for seed in SEEDS
    ]
    return hashlib.sha256("\n".join(configs).encode()).hexdigest()


def rng(difficulty: int, seed: int) -> random.Random:
    return random.Random(f"probe/{difficulty}/{seed}")


def names(family: str) -> list[str]:
    """All tasks of an installed package; runs in a worker."""
    return MODULES[family].known()


def probed(wanted: Sequence[str], workers: int, path: Path) -> list[dict]:
    """The records of all tasks, or those named; new ones are added to the file."""
    setting = Setting((PLACE,), bwrap=sandbox.found(), readable=(str(HERE),))
    with Workers(workers, setting) as pool:
        calls = [Call(f"{PLACE}:names", (family,), 120.0) for family in MODULES]
        keys = [
            (family, task)
            for family, found in zip(MODULES, pool.submit(calls).result(), strict=True)
            for task in found.value
            if not wanted or f"{family}:{task}" in wanted
        ]
        for difficulty in DIFFICULTIES:
            records = read(path)
            late = dropped(records.values())
            left = [(*key, difficulty) for key in keys if key not in late]
            left = [key for key in left if key not in records]
            asked(pool, "probe", left, path)
            print(f"difficulty {difficulty}: {len(left)} tasks", flush=True)
    with Workers(workers, setting) as pool:
        left = [
            key
            for key, record in read(path).items()
            if key[:2] in keys and key[2] in REDRAWN and "redraw" not in record
            if not reason(record)
        ]
        asked(pool, "redraw", left, path)
    return [r for key, r in read(path).items() if key[:2] in keys]


def asked(pool: Workers, what: str, keys: Sequence[Key], path: Path) -> None:
    """Calls a function of this module for each key, and adds its outcomes to a file."""
    for first in range(0, len(keys), PIECE):
        piece = keys[first : first + PIECE]
        calls = [Call(f"{PLACE}:{what}", key, LATE_S) for key in piece]
        with path.open("a", encoding="utf-8") as file:
            for key, found in zip(piece, pool.submit(calls).result(), strict=True):
                record = dict(zip(KEY, key, strict=True)) | {what: found._asdict()}
                file.write(json.dumps(record) + "\n")


def read(path: Path) -> dict[Key, dict]:
    """The records by key; later lines add to earlier ones."""
    found: dict[Key, dict] = {}
    for line in path.read_text("utf-8").splitlines() if path.exists() else ():
        record = json.loads(line)
        key = (record["family"], record["task"], record["difficulty"])
        found[key] = found.get(key, {}) | record
    return found


def dropped(records: Iterable[dict]) -> set[tuple[str, str]]:
    """Tasks that were late at so many difficulties in a row."""
    row: collections.Counter = collections.Counter()
    for record in sorted(records, key=lambda r: r["difficulty"]):
        key = (record["family"], record["task"])
        if row[key] < LATE_IN_A_ROW:
            row[key] = row[key] + 1 if reason(record) == LATE else 0
    return {key for key, count in row.items() if count >= LATE_IN_A_ROW}


def reason(record: dict) -> str | None:
    """Why the task cannot be used at this difficulty, or None."""
    status, value, detail = (record["probe"][k] for k in ("status", "value", "detail"))
    if status == "timeout" or (value and value["seconds"] > SLOW_S):
        return LATE
    if status == "error":
        return SINGLE if "no curriculum" in detail else FAILS
    again = record.get("redraw", {"value": value["digest"]})["value"]
    checks = {
        VARIES: not value["same"] or again not in (value["digest"], None),
        GOLD: False in value["golds"],
        ACCEPTS: bool(value["junk"]),
        LONG: value["characters"] > tables.LONGEST_PROMPT,
    }
    return next((why for why, holds in checks.items() if holds), None)


def rows(records: Sequence[dict]) -> dict[str, list[dict]]:
    """The lines of each family's table."""
    by_task = collections.defaultdict(list)
    for record in records:
        by_task[record["family"], record["task"]].append(record)
    found: dict[str, list[dict]] = {family: [] for family in MODULES}
    for (family, task), own in sorted(by_task.items()):
        found[family].append(row(family, task, own))
    return found


def refusals(records: Sequence[dict]) -> dict[str, list[int]]:
    """By reason the difficulties that cannot be used; no difficulty has two."""
    found = {record["difficulty"]: reason(record) for record in records}
    why = {d: found.get(d, LATE) for d in DIFFICULTIES}
    wrong = [d for d in DIFFICULTIES if why[d] == GOLD]
    for d in DIFFICULTIES[min(wrong) :] if wrong else ():
        why[d] = why[d] or GOLD
    reasons = dict.fromkeys(w for w in why.values() if w)
    return {w: [d for d in DIFFICULTIES if why[d] == w] for w in reasons}


def row(family: str, task: str, records: Sequence[dict]) -> dict:
    """One line; see `tables.Task`."""
    refused = refusals(records)
    usable = [d for d in DIFFICULTIES if not any(d in r for r in refused.values())]
    faults = [why for why in FAULTS if why in refused]
    excluded = KNOWN[family].get(task) or (faults[0] if faults else None)
    if excluded is None and not usable:
        excluded = max(refused, key=lambda why: len(refused[why]))
    usable = [] if excluded else usable
    values = [r["probe"]["value"] for r in records if r["difficulty"] in usable]
    golds = [gold is not None for value in values for gold in value["golds"]]
    guess, right = best_guess([g for value in values for g in value["guesses"]])
    return {
        "task": task,
        "difficulties": usable,
        "excluded": excluded,
        "refused": refused,
        "gold": share(golds),
        "guess": guess,
        "guess_share": round(right, 3),
        "raises": any(value["raised"] for value in values),
        "seconds": round(max((v["seconds"] for v in values), default=0.0), 2),
        "characters": max((v["characters"] for v in values), default=0),
    }


def share(golds: Sequence[bool]) -> str:
    return "no" if not any(golds) else "all" if all(golds) else "some"


def best_guess(accepted: Sequence[Sequence[str]]) -> tuple[str | None, float]:
    counts = collections.Counter(text for found in accepted for text in found)
    if not counts:
        return None, 0.0
    text, count = counts.most_common(1)[0]
    return text, count / len(accepted)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--tasks", nargs="*", default=[])
    parser.add_argument("--records", type=Path, default=Path("/tmp/adapters.jsonl"))
    args = parser.parse_args()
    for family, package in PACKAGES.items():
        print(family, package, importlib.metadata.version(package))
    began = time.monotonic()
    found = rows(probed(args.tasks, args.workers, args.records))
    for family, lines in found.items():
        why = collections.Counter(line["excluded"] for line in lines)
        print(family, len(lines), dict(why))
        if args.write and not args.tasks:
            text = "".join(json.dumps(line) + "\n" for line in lines)
            tables.path(family).write_text(text, encoding="utf-8")
    print(f"{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
