"""The one door to if-verifiable: the checkers of IFEval and IFBench, by instruction.

It belongs into a worker: importing it changes how nltk and langdetect behave for the
whole process, so that nothing is downloaded and one text always gets one verdict.

The checkers are those of early 2026. Since then upstream has corrected some of IFBench
(the word at a position counted punctuation); others judge something else than their
text says (`format:line_indent` by its blank lines, `ratio:sentence_type` without any
question, `repeat:repeat_span`). So a score belongs to a version, and `version` goes
into every verdict.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.metadata
import importlib.util
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Any

from routejax.errors import UserError

PACKAGE = "if-verifiable"
BENCHMARKS = ("ifeval", "ifbench")


def require() -> None:
    """A `UserError` that names the extra, where the package is not installed."""
    if importlib.util.find_spec("if_verifiable") is None:
        raise UserError(
            "judging instructions needs if-verifiable: "
            "pip install 'routejax[instructions]'"
        )


@cache
def checkers(benchmark: str) -> Mapping[str, Any]:
    """Classes of checkers by instruction id.

    A `UserError` for another benchmark, and without the package.
    """
    if benchmark not in BENCHMARKS:
        raise UserError(
            f"instructions are of {' or '.join(BENCHMARKS)}; got {benchmark!r}"
        )
    require()
    _settle()
    with _without_datasets():
        module = f"if_verifiable.{benchmark}.instructions_registry"
        return importlib.import_module(module).INSTRUCTION_DICT


def checker(benchmark: str, instruction: str) -> Any:
    """A new checker of one instruction; a `UserError` for one that does not exist."""
    known = checkers(benchmark)
    if instruction not in known:
        near = difflib.get_close_matches(instruction, known, n=3)
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        raise UserError(
            f"unknown instruction {instruction!r} of {benchmark}, which has "
            f"{len(known)}{hint}"
        )
    return known[instruction](instruction)


@cache
def version() -> str:
    """Name and version of the checkers."""
    return f"{PACKAGE} {importlib.metadata.version(PACKAGE)}"


def warm() -> None:
    """Loads both benchmarks' checkers and the profiles of languages; seconds."""
    for benchmark in BENCHMARKS:
        checkers(benchmark)
    importlib.import_module("langdetect").detect("These are English words.")


def _settle() -> None:
    """No downloads, and a language detector that draws the same numbers always."""
    nltk: Any = importlib.import_module("nltk")
    langdetect: Any = importlib.import_module("langdetect")
    nltk.download = nltk.downloader.download = lambda *_, **__: False
    langdetect.DetectorFactory.seed = 0


@contextmanager
def _without_datasets() -> Iterator[None]:
    """An empty module in the place of `datasets`, which only its downloads need.

    It takes seconds and hundreds of megabytes to import.
    """
    if "datasets" in sys.modules:
        yield
        return
    empty = ModuleType("datasets")
    vars(empty)["load_dataset"] = None
    sys.modules["datasets"] = empty
    try:
        yield
    finally:
        del sys.modules["datasets"]
