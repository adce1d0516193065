"""Exact algebra of answers: quotients of sums over rational numbers, roots and symbols.

A value is `top / bottom`, two sums; a sum maps a monomial to its rational coefficient;
a monomial is a sorted tuple of (atom, exponent). Atoms are

    x, \\pi, e, \\infty ...   symbols, taken as independent of each other
    i                        with i**2 = -1
    #2:3                     the cube root of the prime 2; reduced, so exponent 0..2
    ^2|n                     2 to the power n, for a base and an exponent as written
    @sin(...)                anything else, known only by how it is written

Two values are equal if cross multiplication says so. If it does not, they differ where
all atoms are independent, and `same` gives None where some atom may hide a relation
(@..., and roots other than square roots). Nothing is ever evaluated as a program, there
are no floats, and sizes are bounded before any large number is made: `TooLarge`.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb, factorial, isqrt
from typing import NamedTuple

Monomial = tuple[tuple[str, int], ...]
Sum = dict[Monomial, Fraction]

BITS = 40_000  # of a numerator or denominator; 3000! has 30,000
SUM_BITS = 4_000  # the same in a sum of several terms
TERMS = 150  # of a sum
PRODUCTS = 1_000  # terms multiplied at once; with the power, bounds the time
POWER = 24  # to which a sum of several terms is multiplied out
SYMBOL_POWER = 10**9
FACTORABLE = 10**10  # roots of larger numbers stay as written


class TooLarge(Exception):
    """A number or a sum that an answer should not need; nothing of it was computed."""


class Unreadable(Exception):
    """Text that is not of the form."""


class Meaningless(Exception):
    """Text that is read and stands for nothing: 1/0, 5 = 7."""


class Value(NamedTuple):
    """A quotient of two sums; the second is never zero."""

    top: Sum
    bottom: Sum


ONE: Sum = {(): Fraction(1)}


def number(x: int | Fraction) -> Value:
    return Value({(): Fraction(x)} if x else {}, ONE)


def symbol(atom: str, power: int = 1) -> Value:
    """An atom to an integer power; Laurent monomials need no bottom."""
    return Value({((atom, power),): Fraction(1)}, ONE)


def rational(value: Value) -> Fraction | None:
    """The value if it is a rational number."""
    top, bottom = value
    if set(top) <= {()} and set(bottom) == {()}:
        return top.get((), Fraction(0)) / bottom[()]
    return None


def add(a: Value, b: Value) -> Value:
    if a.bottom == b.bottom:
        return _value(_plus(a.top, b.top), a.bottom)
    left, right = _times(a.top, b.bottom), _times(b.top, a.bottom)
    return _value(_plus(left, right), _times(a.bottom, b.bottom))


def negative(a: Value) -> Value:
    return Value({m: -c for m, c in a.top.items()}, a.bottom)


def multiply(a: Value, b: Value) -> Value:
    return _value(_times(a.top, b.top), _times(a.bottom, b.bottom))


def divide(a: Value, b: Value) -> Value:
    if not b.top:
        raise Meaningless("division by zero")
    return multiply(a, _value(b.bottom, b.top))


def power(base: Value, exponent: Value) -> Value:
    """`base ** exponent`; where no rule applies, an atom named by how both are written.

    Integer powers are multiplied out, rational powers of rationals become roots of
    primes, and an exponent that is a sum becomes a product, so that 2^(n+1) = 2 * 2^n.
    """
    n = rational(exponent)
    if n is None:
        return _symbolic_power(base, exponent)
    if n.denominator == 1:
        return _integer_power(base, int(n))
    q = rational(base)
    if q is not None and q > 0 and n.denominator <= POWER:
        return _root(q, n)
    if q is not None and q < 0 and n.denominator == 2:
        root = _root(-q, Fraction(1, 2))
        return _integer_power(multiply(symbol("i"), root), n.numerator)
    return opaque("power", base, exponent)


def opaque(name: str, *parts: Value) -> Value:
    """An atom that equals only what is written the same, up to our normal form."""
    return symbol(f"@{name}({';'.join(map(written, parts))})")


def whole(value: Value, limit: int) -> int | None:
    """The value if it is an integer in 0..limit; `TooLarge` above the limit."""
    n = rational(value)
    if n is None or n.denominator != 1 or n < 0:
        return None
    if n > limit:
        raise TooLarge
    return int(n)


def factorial_of(value: Value) -> Value:
    n = whole(value, 3000)
    return opaque("factorial", value) if n is None else number(factorial(n))


def choose(n: Value, k: Value) -> Value:
    above, below = whole(n, 3000), whole(k, 3000)
    if above is None or below is None:
        return opaque("choose", n, k)
    return number(comb(above, below))


def same(a: Value, b: Value) -> bool | None:
    """Whether two values are equal; None if our rules cannot tell."""
    left, right = _times(a.top, b.bottom), _times(b.top, a.bottom)
    if left == right:
        return True
    return False if independent(left) and independent(right) else None


def proportional(a: Sum, b: Sum) -> bool | None:
    """Whether one sum is a rational multiple of the other, as sides of an equation."""
    if not a or not b:
        return not a and not b
    if set(a) == set(b):
        ratios = {a[m] / b[m] for m in a}
        if len(ratios) == 1:
            return True
    return False if independent(a) and independent(b) else None


def independent(a: Sum) -> bool:
    """Whether no atom of the sum may hide a relation to others."""
    return not any(_hides(atom) for monomial in a for atom, _ in monomial)


def atoms(value: Value) -> set[str]:
    return {atom for part in value for monomial in part for atom, _ in monomial}


def symbol_name(value: Value) -> str | None:
    """The name of the symbol that the value is; None for anything else."""
    found = atoms(value)
    if len(found) != 1 or value != symbol(name := found.pop()) or name[0] in "@^#":
        return None
    return name


def written(value: Value) -> str:
    """One text for one value, as far as our normal form goes."""
    return "/".join(_text(part) for part in value)


def _text(a: Sum) -> str:
    terms = (f"{c}*{'*'.join(f'{x}^{n}' for x, n in m)}" for m, c in sorted(a.items()))
    return "+".join(terms) or "0"


def _hides(atom: str) -> bool:
    if atom[0] == "#":
        return not atom.endswith(":2")
    return atom[0] in "@^" and not _free(atom)


def _free(atom: str) -> bool:
    """Powers such as 2^n and e^t are independent of n, t and of each other."""
    base, _, exponent = atom[1:].partition("|")
    if atom[0] != "^" or not (base.isdecimal() or base == "e"):
        return False
    varies = set(exponent.split("*")) - {"i", "e", "\\pi", "\\infty"}
    return bool(varies) and not set(exponent) & set("@#^/|(")


def _value(top: Sum, bottom: Sum) -> Value:
    """Normal form: a bottom of one term goes into the top, others begin with one."""
    if not top:
        return Value({}, ONE)
    least = min(bottom)
    if least == () and bottom[least] == 1:
        return Value(top, bottom)
    monomial, extra = _merged(tuple((x, -n) for x, n in least), ())
    inverse = {monomial: extra / bottom[least]}
    return Value(_times(top, inverse), _times(bottom, inverse))


def _plus(a: Sum, b: Sum) -> Sum:
    total = dict(a)
    for monomial, c in b.items():
        total[monomial] = _bounded(total.get(monomial, Fraction(0)) + c)
    return _checked({m: c for m, c in total.items() if c})


def _times(a: Sum, b: Sum) -> Sum:
    if a is ONE or b is ONE:
        return b if a is ONE else a
    if len(a) * len(b) > PRODUCTS:
        raise TooLarge
    total: Sum = {}
    for left, c in a.items():
        for right, d in b.items():
            monomial, extra = _merged(left, right)
            term = _bounded(c * d * extra)
            total[monomial] = _bounded(total.get(monomial, Fraction(0)) + term)
    return _checked({m: c for m, c in total.items() if c})


def _merged(a: Monomial, b: Monomial) -> tuple[Monomial, Fraction]:
    """The product of two monomials, and the rational factor that its roots set free."""
    if not a or not b:
        both = dict(a or b)
    else:
        both = dict(a)
        for atom, n in b:
            both[atom] = both.get(atom, 0) + n
    extra = Fraction(1)
    for atom, n in both.items():
        if atom == "i":
            extra *= -1 if n % 4 > 1 else 1
            both[atom] = n % 2
        elif atom[0] == "#":
            prime, _, order = atom[1:].partition(":")
            wholes, both[atom] = divmod(n, int(order))
            extra *= _fraction_power(Fraction(int(prime)), wholes)
        elif abs(n) > SYMBOL_POWER:
            raise TooLarge
    return tuple(sorted((x, n) for x, n in both.items() if n)), extra


def _integer_power(base: Value, n: int) -> Value:
    if n < 0:
        return _integer_power(divide(number(1), base), -n)
    if len(base.top) == 1 and base.bottom == ONE:
        ((monomial, c),) = base.top.items()
        scaled = tuple((x, k * n) for x, k in monomial)
        reduced, extra = _merged(scaled, ())
        return Value({reduced: _bounded(_fraction_power(c, n) * extra)}, ONE)
    if n > POWER and base.top:
        return opaque("power", base, number(n))
    result = number(1)
    for _ in range(min(n, POWER)):
        result = multiply(result, base)
    return result


def _symbolic_power(base: Value, exponent: Value) -> Value:
    """A product over the terms of the exponent, and over the primes of a whole base."""
    name = _power_base(base)
    if exponent.bottom != ONE or not name:
        return opaque("power", base, exponent)
    result = number(1)
    for monomial, c in exponent.top.items():
        if monomial == ():
            result = multiply(result, power(base, number(c)))
            continue
        letters = _letters(monomial, c.denominator)
        for part, times in name:
            atom = symbol(f"^{part}|{letters}")
            result = multiply(result, _integer_power(atom, times * c.numerator))
    return result


def _letters(monomial: Monomial, denominator: int) -> str:
    text = "*".join(x if n == 1 else f"{x}^{n}" for x, n in monomial)
    return text if denominator == 1 else f"{text}/{denominator}"


def _power_base(base: Value) -> list[tuple[str, int]]:
    """The base as named parts with multiplicities; empty if it has no such name."""
    q = rational(base)
    if q is not None:
        if q <= 0 or max(q.as_integer_ratio()) > FACTORABLE:
            return []
        above = [(str(p), k) for p, k in _primes(q.numerator).items()]
        return above + [(str(p), -k) for p, k in _primes(q.denominator).items()]
    if base.bottom == ONE and len(base.top) == 1:
        ((monomial, c),) = base.top.items()
        if c == 1 and len(monomial) == 1 and monomial[0][0][0] not in "@^#":
            return [monomial[0]]
    return []


def _root(q: Fraction, n: Fraction) -> Value:
    """`q ** n` for q > 0 as a product of roots of primes."""
    if max(q.numerator, q.denominator) > FACTORABLE:
        return _large_root(q, n)
    result = number(1)
    for side, sign in ((q.numerator, 1), (q.denominator, -1)):
        for prime, times in _primes(side).items():
            exact = n * times * sign
            atom = symbol(f"#{prime}:{exact.denominator}")
            result = multiply(result, _integer_power(atom, exact.numerator))
    return result


def _large_root(q: Fraction, n: Fraction) -> Value:
    """Square roots of large squares are exact; other roots stay as written."""
    roots = isqrt(q.numerator), isqrt(q.denominator)
    if n.denominator == 2 and (roots[0] ** 2, roots[1] ** 2) == q.as_integer_ratio():
        return _integer_power(number(Fraction(*roots)), n.numerator)
    return opaque("power", number(q), number(n))


def _primes(n: int) -> dict[int, int]:
    found: dict[int, int] = {}
    divisor = 2
    while divisor * divisor <= n:
        while n % divisor == 0:
            found[divisor] = found.get(divisor, 0) + 1
            n //= divisor
        divisor += 1 if divisor == 2 else 2
    if n > 1:
        found[n] = found.get(n, 0) + 1
    return found


def _fraction_power(c: Fraction, n: int) -> Fraction:
    if abs(c) == 1:
        return c if n % 2 else Fraction(1)
    if c and _bits(c) * abs(n) > BITS:
        raise TooLarge
    return c**n


def _bounded(c: Fraction) -> Fraction:
    if _bits(c) > BITS:
        raise TooLarge
    return c


def _checked(a: Sum) -> Sum:
    if len(a) > TERMS or (len(a) > 1 and any(_bits(c) > SUM_BITS for c in a.values())):
        raise TooLarge
    return a


def _bits(c: Fraction) -> int:
    return max(c.numerator.bit_length(), c.denominator.bit_length())
