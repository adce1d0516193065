"""Tokens of one formula to its exact value: a recursive-descent reader.

    sum      [+-] product ([+-] product)*
    product  factor ([* /] factor | factor)*     a missing sign is a product
    factor   base [^ exponent] !*
    base     number, symbol, function, \\frac, \\sqrt, \\binom, brackets, |...|

A product without a sign binds like one with it: 1/2x is (1/2)x. An integer before a
proper fraction is a mixed number: 1\\frac{4}{5} and 2 2/3. Derivatives (\\frac{dx}...),
dots and anything not listed are `Unreadable`; nothing is guessed. Nesting beyond
`DEEPEST` levels is `TooLarge`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from math import floor

from routejax.envs.answers import algebra
from routejax.envs.answers.algebra import TooLarge, Unreadable, Value
from routejax.envs.answers.latex import DEEPEST

CLOSING = {"(": ")", "[": "]", "{": "}", "\\lfloor": "\\rfloor", "\\lceil": "\\rceil"}
_FUNCTION_NAMES = (
    "\\sin \\cos \\tan \\cot \\sec \\csc \\arcsin \\arccos \\arctan \\sinh \\cosh "
    "\\tanh \\ln \\log \\exp \\lg"
)
FUNCTIONS = frozenset(_FUNCTION_NAMES.split())
_ACCENT_NAMES = "\\dot \\ddot \\bar \\hat \\vec \\tilde \\overrightarrow"
_ACCENTS = frozenset(_ACCENT_NAMES.split())
_FACES = frozenset(["\\mathbb", "\\mathcal", "\\mathfrak", "\\mathscr"])
_SYMBOL_NAMES = (
    "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa "
    "lambda mu nu xi pi rho sigma tau upsilon phi varphi chi psi omega Gamma Delta "
    "Theta Lambda Xi Pi Sigma Phi Psi Omega infty hbar ell odot emptyset mho"
)
_SYMBOLS = frozenset(_SYMBOL_NAMES.split())
_DECIMALS = 400  # digits a power of ten in 4.5e33 may add


def value_of(tokens: Sequence[str]) -> Value:
    """The value of all the tokens; `Unreadable` if some are left over or missing."""
    reader = _Reader(tokens)
    value = reader.sum()
    if reader.at < len(tokens):
        raise Unreadable(f"{tokens[reader.at]!r} is left over")
    return value


def literal(token: str) -> Fraction:
    """The number that a numeral writes: `12`, `.5`, `5.`, `4.5e33`."""
    exponent = token.lower().partition("e")[2]
    if abs(int(exponent or 0)) > _DECIMALS:
        raise TooLarge
    return Fraction(Decimal(token))


def is_number(token: str) -> bool:
    return token[0] in "0123456789" or (token[0] == "." and token != ".")


class _Reader:
    """A place in the tokens; every method reads one thing of the grammar there."""

    def __init__(self, tokens: Sequence[str]):
        self.tokens = tokens
        self.at = 0
        self.level = 0

    def next(self, ahead: int = 0) -> str:
        """The token there, or "" behind the last."""
        at = self.at + ahead
        return self.tokens[at] if at < len(self.tokens) else ""

    def take(self) -> str:
        token = self.next()
        self.at += 1
        return token

    def expect(self, token: str) -> None:
        if self.take() != token:
            raise Unreadable(f"{token!r} is missing")

    def deeper(self, read: Callable[[], Value]) -> Value:
        self.level += 1
        if self.level > DEEPEST:
            raise TooLarge
        value = read()
        self.level -= 1
        return value

    def sum(self) -> Value:
        total = self.signed_product()
        while self.next() in ("+", "-"):
            total = algebra.add(total, self.signed_product())
        return total

    def sign(self) -> bool:
        """Whether the signs there make a minus."""
        minus = False
        while self.next() in ("+", "-"):
            minus ^= self.take() == "-"
        return minus

    def signed_product(self) -> Value:
        minus = self.sign()
        value = self.product()
        return algebra.negative(value) if minus else value

    def product(self) -> Value:
        value = self.mixed() or self.factor()
        while True:
            token = self.next()
            if token in ("*", "/"):
                self.take()
                minus = self.sign()
                other = self.factor()
                join = algebra.multiply if token == "*" else algebra.divide
                value = join(value, algebra.negative(other) if minus else other)
            elif self.begins_factor(token):
                if is_number(token) and is_number(self.tokens[self.at - 1]):
                    raise Unreadable("two numbers side by side")
                value = algebra.multiply(value, self.factor())
            else:
                return value

    def begins_factor(self, token: str) -> bool:
        if token == "|":
            return self.level == 0 and self.at + 1 < len(self.tokens)
        return bool(token) and (
            token in CLOSING
            or token in FUNCTIONS
            or token in _READERS
            or is_number(token)
            or _is_name(token)
        )

    def mixed(self) -> Value | None:
        """A mixed number, if an integer and a proper fraction stand there."""
        whole, start = self.next(), self.at
        if not whole.isdecimal():
            return None
        self.take()
        parts = None
        if self.next() == "\\frac":
            self.take()
            self.split_numeral()
            parts = self.digits(), self.digits()
        elif self.next().isdecimal() and self.next(1) == "/":
            parts = self.take(), self.take() and self.take()
        if parts and all(p.isdecimal() for p in parts) and int(parts[1]) > 0:
            part = Fraction(int(parts[0]), int(parts[1]))
            if 0 < part < 1 and self.next() not in ("^", "!"):
                return algebra.number(int(whole) + part)
        self.at = start
        return None

    def digits(self) -> str:
        """The digits of one argument of \\frac, or "" if it is anything else."""
        if self.next() == "{" and self.next(2) == "}":
            self.at += 3
            return self.tokens[self.at - 2]
        if self.next().isdecimal() and len(self.next()) == 1:
            return self.take()
        return ""

    def factor(self) -> Value:
        value = self.base()
        while self.next() in ("^", "!"):
            if self.take() == "!":
                value = algebra.factorial_of(value)
            else:
                value = algebra.power(value, self.deeper(self.exponent))
        return value

    def exponent(self) -> Value:
        minus = self.sign()
        value = self.argument()
        if self.next() == "^":
            self.take()
            value = algebra.power(value, self.deeper(self.exponent))
        return algebra.negative(value) if minus else value

    def argument(self) -> Value:
        """One argument as TeX takes it, but a whole numeral where it takes a digit."""
        return self.group("{") if self.next() == "{" else self.base()

    def tex_argument(self) -> Value:
        """One argument of \\frac: `\\frac43` is 4 over 3."""
        self.split_numeral()
        return self.argument()

    def split_numeral(self) -> None:
        """The numeral there as its first digit and the others."""
        token = self.next()
        if token.isdecimal() and len(token) > 1:
            at = self.at
            self.tokens = [
                *self.tokens[:at],
                token[0],
                token[1:],
                *self.tokens[at + 1 :],
            ]

    def group(self, opens: str) -> Value:
        self.expect(opens)
        value = self.deeper(self.sum)
        self.expect(CLOSING[opens])
        return value

    def base(self) -> Value:
        token = self.next()
        if token in ("(", "[", "{"):
            return self.group(token)
        if token in _READERS:
            self.take()
            return self.deeper(lambda: _READERS[token](self))
        if token in FUNCTIONS:
            return self.deeper(self.function)
        if token and is_number(token):
            return self.numeral()
        if token and _is_name(token):
            return self.symbol()
        raise Unreadable(f"{token!r} where a number or a symbol should be")

    def numeral(self) -> Value:
        """A number; bars over the last digits of a decimal repeat them."""
        token = self.take()
        number = literal(token)
        if self.next() == "\\overline" and "." in token:
            self.take()
            digits = self.digits()
            if not digits.isdecimal():
                raise Unreadable("what repeats is no number")
            places = len(token.partition(".")[2])
            number += Fraction(int(digits), (10 ** len(digits) - 1) * 10**places)
        return algebra.number(number)

    def symbol(self) -> Value:
        """A letter with its accent, subscript and primes; all of them its name."""
        name = self.take()
        if name in _ACCENTS or name in _FACES:
            inner = self.raw() if self.next() == "{" else self.take()
            name = f"{name}{{{inner}}}"
        if self.next() == "_":
            self.take()
            name += "_" + (self.raw() if self.next() == "{" else self.take())
        while self.next() == "'" or (self.next() == "^" and self.next(1) == "'"):
            self.at += 1 if self.next() == "'" else 2
            name += "'"
        if self.next() == "^" and self.next(1) == "{" and self.next(2) == "'":
            self.take()
            name += self.raw()
        if (
            self.next() == "("
            and is_number(self.next(1) or " ")
            and self.next(2) == ")"
        ):
            name += f"({self.group('(')})"  # I(0) is no product
        return algebra.symbol(name)

    def raw(self) -> str:
        """The text of a braced group, unread."""
        self.expect("{")
        inside, level = [], 1
        while level:
            token = self.take()
            if not token:
                raise Unreadable("a brace is not closed")
            level += (token == "{") - (token == "}")
            inside.append(token)
        return "".join(inside[:-1])

    def function(self) -> Value:
        """A function and its argument: a group, or all factors up to the next sign."""
        name, power = self.take(), None
        if self.next() == "_":
            self.take()
            name += "_" + (self.raw() if self.next() == "{" else self.take())
        if self.next() == "^":
            self.take()
            power = self.deeper(self.exponent)
        if self.next() in ("(", "[", "{"):
            value = self.group(self.next())
        else:
            value = self.factor()
            while self.next() not in FUNCTIONS and self.begins_factor(self.next()):
                value = algebra.multiply(value, self.factor())
        if name == "\\exp":
            value = algebra.power(algebra.symbol("e"), value)
        else:
            value = algebra.opaque(name, value)
        return value if power is None else algebra.power(value, power)


def _is_name(token: str) -> bool:
    if token[0] == "\\":
        return token[1:] in _SYMBOLS or token in _ACCENTS or token in _FACES
    return len(token) == 1 and token.isalpha()


def _frac(reader: _Reader) -> Value:
    after = reader.next(2)
    if reader.next(1) == "d" and after and (after == "^" or _is_name(after)):
        raise Unreadable("a derivative is no quotient")
    top = reader.tex_argument()
    return algebra.divide(top, reader.tex_argument())


def _sqrt(reader: _Reader) -> Value:
    order = reader.group("[") if reader.next() == "[" else algebra.number(2)
    return algebra.power(
        reader.tex_argument(), algebra.divide(algebra.number(1), order)
    )


def _binom(reader: _Reader) -> Value:
    top = reader.tex_argument()
    return algebra.choose(top, reader.tex_argument())


def _rounded(closes: str, name: str, sign: int) -> Callable[[_Reader], Value]:
    def read(reader: _Reader) -> Value:
        inside = reader.sum()
        reader.expect(closes)
        exact = algebra.rational(inside)
        if exact is None:
            return algebra.opaque(name, inside)
        return algebra.number(sign * floor(sign * exact))

    return read


def _absolute(reader: _Reader) -> Value:
    inside = reader.sum()
    reader.expect("|")
    exact = algebra.rational(inside)
    return (
        algebra.opaque("abs", inside) if exact is None else algebra.number(abs(exact))
    )


_READERS: dict[str, Callable[[_Reader], Value]] = {
    "\\frac": _frac,
    "\\sqrt": _sqrt,
    "\\binom": _binom,
    "\\lfloor": _rounded("\\rfloor", "floor", 1),
    "\\lceil": _rounded("\\rceil", "ceil", -1),
    "|": _absolute,
}
