"""The one door to math-verify: answers that exact algebra leaves undecided.

`equal` belongs into a worker process that can be killed: parsing and simplifying take
seconds for some texts and cannot be interrupted. Nothing else imports the library.

Both answers are read as boxed LaTeX in full; numbers in prose are not looked for. Its
comparison has an absolute tolerance, so that tiny numbers all seem equal: what it calls
equal must also agree relatively at two points.
"""

from __future__ import annotations

import importlib.util
import logging
from fractions import Fraction
from functools import cache
from typing import Any

from routejax.errors import UserError

NEAR = 1e-6  # relative, as for numbers that decimals stand for
_POINTS = (Fraction(5, 7), Fraction(31, 23))  # values of the first free symbol


def require() -> None:
    """A `UserError` that names the extra, where math-verify is not installed."""
    if importlib.util.find_spec("math_verify") is None:
        raise UserError(
            "judging mathematics needs math-verify for answers that exact arithmetic "
            "leaves open: pip install 'routejax[math]'"
        )


def equal(gold: str, answer: str) -> bool | None:
    """Whether two cleaned LaTeX texts are the same; None if one cannot be parsed."""
    parse, verify = _library()
    left, right = parse(gold), parse(answer)
    if not left or not right:
        return None
    if not verify(left, right):
        return False
    return _close(left[0], right[0])


def warm() -> None:
    """Loads the library and what it loads at its first formula; seconds."""
    equal("\\cot x", "\\frac{1}{\\tan x}")


@cache
def _library() -> tuple[Any, Any]:
    require()
    from math_verify import parse, verify  # noqa: PLC0415
    from math_verify.parser import LatexExtractionConfig  # noqa: PLC0415

    for name in ("math_verify", "latex2sympy2_extended"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    config = [LatexExtractionConfig(boxed_match_priority=0)]

    # No time limits of its own: they are signals, which work in main threads only.
    options: dict[str, Any] = {
        "extraction_config": config,
        "fallback_mode": "no_fallback",
        "extraction_mode": "first_match",
        "parsing_timeout": None,
    }

    def read(text: str) -> list:
        return parse(f"\\boxed{{{text}}}", **options)

    return read, lambda a, b: bool(verify(a, b, timeout_seconds=None))


def _close(left: Any, right: Any) -> bool:
    """Whether two formulas agree relatively; what is no formula is taken as it is."""
    import sympy  # noqa: PLC0415

    if not (isinstance(left, sympy.Expr) and isinstance(right, sympy.Expr)):
        return True
    names = sorted(left.free_symbols | right.free_symbols, key=str)
    for point in _POINTS:
        at = [(name, sympy.Rational(point) + i) for i, name in enumerate(names)]
        try:
            a, b = (complex(one.subs(at).evalf(30)) for one in (left, right))
        except TypeError:  # an unknown function has no number
            return True
        if abs(a - b) > NEAR * max(abs(a), abs(b)):
            return False
    return True
