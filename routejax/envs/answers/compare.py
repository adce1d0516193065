"""Whether two answers are the same: True, False, or None where our rules cannot tell.

The rules, symmetric unless they say so:

- values by exact algebra; a percent sign may be left out or read as hundredths;
- a number written with a point stands for one that no decimal can write exactly (1/12,
  pi, a root) if it is within 1e-6 of it, relatively; all else is exact;
- lists, sets and unions by their members, without order and repetition;
- tuples, intervals, vectors and matrices by position; ( and [ differ where two items
  may be an interval; a list without brackets may be a tuple in its order; a column or
  row may be a tuple;
- a name in front (x =) may be left out; two names must be the same;
- equations up to a rational factor and to the sides on which terms stand;
- words letter by letter, without case; times and ratios too;
- a gold in a base (52_8) also takes its bare digits; not the other way round.
"""

from __future__ import annotations

from decimal import Decimal, Overflow, localcontext
from fractions import Fraction

from routejax.envs.answers import algebra
from routejax.envs.answers.algebra import Sum, Value
from routejax.envs.answers.forms import (
    Based,
    Bracket,
    Equation,
    Form,
    Matrix,
    Named,
    Number,
    Several,
    Word,
)

NEAR = Fraction(1, 10**6)  # relative
MEMBERS = 64  # of a list that is compared without order
_TUPLE = 3  # items from which on brackets cannot mean an interval
_CONSTANTS = {
    "\\pi": Decimal("3.14159265358979323846264338327950288419716939937510"),
    "e": Decimal("2.71828182845904523536028747135266249775724709369996"),
}


def equal(gold: Form, answer: Form, tolerance: Fraction | None = None) -> bool | None:
    """Whether the answer is the gold. `tolerance`: absolute, of single values."""
    for rule in (_based, _named, _equations, _values, _words, _members, _places):
        found = rule(gold, answer, tolerance)
        if found is not NotImplemented:
            return found
    return False


def _based(gold: Form, answer: Form, tolerance: Fraction | None):
    if not isinstance(gold, Based):
        return NotImplemented
    if isinstance(answer, Number):
        bare = algebra.rational(answer.value)
        return bare is not None and str(bare) == gold.digits
    return gold == answer


def _named(gold: Form, answer: Form, tolerance: Fraction | None):
    """Names in front: one may be missing; two must be the same or make an equation."""
    names = [one for one in (gold, answer) if isinstance(one, Named)]
    if not names or _is_equation(gold, answer):
        return NotImplemented
    left, right = (
        one.form if isinstance(one, Named) else one for one in (gold, answer)
    )
    return equal(left, right, tolerance)


def _equations(gold: Form, answer: Form, tolerance: Fraction | None):
    if not _is_equation(gold, answer):
        return NotImplemented
    left, right = _difference(gold), _difference(answer)
    if left is None or right is None:
        return False
    return algebra.proportional(_least(left.top), _least(right.top))


def _is_equation(gold: Form, answer: Form) -> bool:
    """Whether the two are to be compared as equations: `y = 2x` with `2x - y = 0`.

    So are `x = 5` and `y = 5`, for their names are part of what they say.
    """
    if isinstance(gold, Named) and isinstance(answer, Named):
        return gold.variable and answer.variable and gold.name != answer.name
    return isinstance(gold, Equation) or isinstance(answer, Equation)


def _difference(form: Form) -> Value | None:
    """The two sides of an equation as one value that is zero."""
    if isinstance(form, Equation):
        return form.difference
    if isinstance(form, Named) and form.variable and isinstance(form.form, Number):
        value = algebra.negative(form.form.value)
        return algebra.add(algebra.symbol(form.name), value)
    return None


def _least(top: Sum) -> Sum:
    """The sum times the monomial that leaves no negative or common power."""
    common: dict[str, int] = {}
    for atom in {atom for monomial in top for atom, _ in monomial}:
        common[atom] = min(dict(monomial).get(atom, 0) for monomial in top)
    return {
        tuple(
            sorted(
                (atom, n)
                for atom in common
                if (n := dict(monomial).get(atom, 0) - common[atom])
            )
        ): c
        for monomial, c in top.items()
    }


def _values(gold: Form, answer: Form, tolerance: Fraction | None):
    if not (isinstance(gold, Number) and isinstance(answer, Number)):
        return NotImplemented
    if gold.unit and answer.unit and gold.unit != answer.unit:
        return False
    found = _value(gold, answer, tolerance)
    if found is False and gold.percent != answer.percent:
        hundredth = algebra.number(Fraction(1, 100))
        left, right = (
            Number(algebra.multiply(one.value, hundredth), True) if one.percent else one
            for one in (gold, answer)
        )
        return _value(left, right, tolerance)
    return found


def _value(gold: Number, answer: Number, tolerance: Fraction | None) -> bool | None:
    found = algebra.same(gold.value, answer.value)
    if found:
        return True
    if tolerance is None and gold.decimal == answer.decimal:
        return found
    left, right = _numeric(gold.value), _numeric(answer.value)
    if left is None or right is None:
        return found
    if tolerance is not None and abs(left - right) <= tolerance:
        return True
    exact = answer if gold.decimal else gold
    if gold.decimal == answer.decimal or _terminates(algebra.rational(exact.value)):
        return False
    return abs(left - right) <= NEAR * max(abs(left), abs(right))


def _terminates(exact: Fraction | None) -> bool:
    """Whether a decimal can write the number exactly."""
    if exact is None:
        return False
    rest = exact.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1


def _numeric(value: Value) -> Fraction | None:
    """The value within 1e-40, if it is made of numbers, pi, e and roots."""
    exact = algebra.rational(value)
    if exact is not None:
        return exact
    try:
        with localcontext() as context:
            context.prec = 50
            top, bottom = (_decimal(part) for part in value)
            if top is None or not bottom:
                return None
            return Fraction(top / bottom)
    except Overflow:
        return None


def _decimal(part: Sum) -> Decimal | None:
    total = Decimal(0)
    for monomial, c in part.items():
        term = Decimal(c.numerator) / Decimal(c.denominator)
        for atom, n in monomial:
            base = _CONSTANTS.get(atom)
            if atom[0] == "#":
                prime, _, order = atom[1:].partition(":")
                base = Decimal(prime) ** (1 / Decimal(order))
            if base is None or abs(n) > 10**4:
                return None
            term *= base**n
        total += term
    return total


def _words(gold: Form, answer: Form, tolerance: Fraction | None):
    if isinstance(gold, Word) or isinstance(answer, Word):
        return _word(gold) == _word(answer)
    return NotImplemented


def _word(form: Form) -> str | None:
    """The letters of a word, or of a symbol that is one letter."""
    if isinstance(form, Word):
        return form.text
    if isinstance(form, Number):
        name = algebra.symbol_name(form.value)
        return name and name.lower()
    return None


def _members(gold: Form, answer: Form, tolerance: Fraction | None):
    """Without order. A list without brackets beside a tuple is left to `_places`."""
    pair = gold, answer
    if not any(isinstance(one, Several) for one in pair):
        return NotImplemented
    if any(isinstance(one, Several) and one.bare for one in pair) and any(
        isinstance(one, Bracket) for one in pair
    ):
        return NotImplemented
    left, right = (one.items if isinstance(one, Several) else (one,) for one in pair)
    if not left or not right or max(len(left), len(right)) > MEMBERS:
        return left == right
    table = [[equal(a, b, tolerance) for b in right] for a in left]
    lines = [*table, *zip(*table, strict=True)]
    if all(any(line) for line in lines):
        return True
    if any(all(x is False for x in line) for line in lines):
        return False
    return (
        False if _distinct(left) > len(right) or _distinct(right) > len(left) else None
    )


def _distinct(items: tuple[Form, ...]) -> int:
    """How many of the items surely differ from all before them."""
    return sum(
        all(equal(item, other) is False for other in items[:i])
        for i, item in enumerate(items)
    )


def _places(gold: Form, answer: Form, tolerance: Fraction | None):
    """By position: tuples, intervals, vectors, matrices."""
    grids = _grid(gold), _grid(answer)
    if grids[0] and grids[1] and Matrix in (type(gold), type(answer)):
        if [*map(len, grids[0])] != [*map(len, grids[1])]:
            return False
        cells = zip(sum(grids[0], ()), sum(grids[1], ()), strict=True)
        return _all([equal(a, b, tolerance) for a, b in cells])
    left, right = _line(gold), _line(answer)
    if left is None or right is None or len(left) != len(right):
        return False
    if len(left) < _TUPLE and _brackets(gold) != _brackets(answer):
        return False
    return _all([equal(a, b, tolerance) for a, b in zip(left, right, strict=True)])


def _grid(form: Form) -> tuple[tuple[Form, ...], ...]:
    """The rows of a matrix, which may be written as a list of lists; else nothing."""
    if isinstance(form, Matrix):
        return form.rows
    rows = form.items if isinstance(form, Bracket) else ()
    return tuple(row.items for row in rows if isinstance(row, Bracket))


def _brackets(form: Form) -> tuple[str, str]:
    return (form.opens, form.closes) if isinstance(form, Bracket) else ("(", ")")


def _line(form: Form) -> tuple[Form, ...] | None:
    """The items of what can be a tuple."""
    if isinstance(form, Matrix):
        cells = sum(form.rows, ())
        return cells if 1 in (len(form.rows), len(form.rows[0])) else None
    if isinstance(form, Bracket) or (isinstance(form, Several) and form.bare):
        return form.items
    return None


def _all(found: list[bool | None]) -> bool | None:
    if False in found:
        return False
    return None if None in found else True
