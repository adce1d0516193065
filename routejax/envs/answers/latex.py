"""The text of an answer as a list of tokens; what only sets type is gone.

Gone are: dollar signs around formulas and before amounts, spacing (\\, \\; ~ \\quad),
\\left, \\right and their sizes, \\displaystyle, \\mathrm and \\text around numbers and
letters, the full stop at the end. One spelling each remains of: fractions, binomials,
comparisons, dashes and the mathematical characters of Unicode. Degrees are dropped.
A comma inside a number (1{,}000 and 11,\\!111) joins it; 58,500 is left to the reader,
for it may be a list.

A token is a string: a number, a command (`\\sqrt`), one letter or symbol, or a word as
`"...` (words of four letters, or what stood in \\text). Space between digits stays as
the order of tokens: `2 3` is two numbers, `23` is one.
"""

from __future__ import annotations

import re

LONGEST = 1000  # characters of an answer that is read at all
DEEPEST = 40  # nested brackets

_UNICODE = {
    **dict.fromkeys("−–—‒﹣－", "-"),
    **dict.fromkeys("×✕", "\\times "),
    **dict.fromkeys("·⋅∙", "\\cdot "),
    **dict.fromkeys("\u00a0\u2009\u202f\u3000\t\n\r", " "),
    **{"÷": "/", "∕": "/", "π": "\\pi ", "√": "\\sqrt ", "∞": "\\infty "},
    **{"≤": "\\le ", "≥": "\\ge ", "≠": "\\ne ", "±": "\\pm ", "∓": "\\mp "},
    **{"∪": "\\cup ", "∈": "\\in ", "°": "", "≈": "\\approx ", "，": ",", "（": "("},
    **{
        "）": ")",
        "²": "^2 ",
        "³": "^3 ",
        "½": "\\frac12 ",
        "′": "'",
        "∅": "\\emptyset ",
    },
    **{"θ": "\\theta ", "ω": "\\omega ", "α": "\\alpha ", "λ": "\\lambda "},
}
_SPELLED = {
    **dict.fromkeys(("dfrac", "tfrac", "cfrac"), "\\frac"),
    **dict.fromkeys(("dbinom", "tbinom"), "\\binom"),
    **dict.fromkeys(("leq", "leqslant", "leqq"), "\\le"),
    **dict.fromkeys(("geq", "geqslant", "geqq"), "\\ge"),
    **{"lt": "<", "gt": ">", "neq": "\\ne", "lbrace": "\\{", "rbrace": "\\}"},
    **{"lbrack": "[", "rbrack": "]", "langle": "(", "rangle": ")", "vert": "|"},
    **{"lvert": "|", "rvert": "|", "div": "/", "ast": "*", "cdot": "*", "times": "*"},
    **{"land": "\\and", "wedge": "\\and", "lor": "\\and", "vee": "\\and"},
    **{"infin": "\\infty", "varnothing": "\\emptyset", "simeq": "\\approx"},
    **{"mid": "|", "colon": ":", "lparen": "(", "rparen": ")", "exponentialE": "e"},
    **{"operatorname*": "\\operatorname", "prime": "'", "iff": "\\Leftrightarrow"},
}
_SILENT_NAMES = (
    "left right big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr "
    "middle displaystyle textstyle scriptstyle quad qquad limits nolimits mathstrut "
    "strut hspace degree circ thinspace enspace medspace rm bf it"
)
_SILENT = frozenset(_SILENT_NAMES.split())
_STYLE_NAMES = (
    "text mbox textbf textit textrm textsf texttt mathrm mathbf mathit mathsf "
    "mathtt operatorname hbox textnormal emph mathop boldsymbol bm"
)
_STYLES = frozenset(_STYLE_NAMES.split())
# Words that stand for something: a command, or a separator of answers.
_KNOWN = (
    "pi sqrt sin cos tan cot sec csc ln log exp arcsin arccos arctan sinh cosh tanh"
)
_WORDS = {
    **{name: f"\\{name}" for name in _KNOWN.split()},
    **{"infinity": "\\infty", "inf": "\\infty", "oo": "\\infty", "infty": "\\infty"},
    **{"and": "\\and", "or": "\\and", "theta": "\\theta", "alpha": "\\alpha"},
    **{"lambda": "\\lambda", "omega": "\\omega", "sqr": "\\sqrt", "union": "\\cup"},
    **dict.fromkeys(("degree", "degrees", "deg"), ""),
    **dict.fromkeys(("percent", "percentage"), "\\%"),
}
_UNIT_WORDS = frozenset(["cm", "km", "kg", "ft", "mph", "kph", "min", "hrs", "day"])
_UNIT_LETTERS = frozenset("mgshJWNK")
_JOINED = re.compile(r"(?<=[0-9])(?:\{,\}|,\\!)\s*(?=[0-9])")
_DEGREE = re.compile(
    r"\^\s*(?:\{\s*\\(?:circ|degree)\s*\}|\\circ|\\degree)(?![A-Za-z])"
)
_FORMULA = re.compile(r"(?<!\\)\\[()\[\]]")
_STYLED = re.compile(r"\\([A-Za-z]+)\s*\{([^{}]*)\}")
_TOKEN = re.compile(
    r"[0-9]+(?:\.[0-9]+)?[eE][+-]?[0-9]{1,4}(?![0-9A-Za-z.])"  # 4.5e33
    r"|[0-9]*\.[0-9]+|[0-9]+\.?|\\[A-Za-z]+\*?|\\.|[A-Za-z]+|\"[^\"]*\"|\*\*|<=|>=|!=|\S"
)


def clean(text: str) -> str:
    """One spelling of the text; texts that are equal here are the same answer."""
    if not text.isascii():
        text = "".join(_UNICODE.get(c, c) for c in text)
    text = _JOINED.sub("", text.replace('"', " "))
    text = _DEGREE.sub(" ", text)
    text = _FORMULA.sub(" ", text)
    text = text.replace("\\$", "").replace("$", "").replace("~", " ")
    text = text.strip().rstrip(".,;: ")
    return text.strip()


def tokens(text: str) -> list[str]:
    """The tokens of a cleaned text."""
    found: list[str] = []
    text = _STYLED.sub(_styled, text)
    for match in _TOKEN.finditer(text):
        new = _spelled(match[0])
        if new and new[0][0] == '"' and _subscript(found):
            new = [new[0][1:]]
        found += new
    return found


def _subscript(found: list[str]) -> bool:
    """Whether a word there is part of a name: `\\lambda_{\\text{red}}`."""
    return found[-1:] == ["_"] or found[-2:] == ["_", "{"]


def _styled(match: re.Match) -> str:
    """What a styled text stands for: its number or letter, or a word in quotes."""
    name, inside = match.groups()
    if name not in _STYLES:
        return match[0]
    plain = inside.strip()
    if not re.search(r"[A-Za-z]{2}", plain):
        unit = inside[:1] == " " and plain in _UNIT_LETTERS
        return (
            f' "{plain}" '
            if unit or re.search("[A-Za-z]/[A-Za-z]", plain)
            else f" {plain} "
        )
    known = _WORDS.get(plain.lower())
    return f" {plain} " if known is not None else f' "{plain}" '


def _spelled(token: str) -> list[str]:
    first = token[0]
    if first == "\\":
        return _command(token)
    if first == '"':
        return [token[:-1]]
    if first.isalpha() and first.isascii():
        return _letters(token)
    return [
        {"%": "\\%", "**": "^", "<=": "\\le", ">=": "\\ge", "!=": "\\ne"}.get(
            token, token
        )
    ]


def _command(token: str) -> list[str]:
    name = token[1:]
    if name in _SILENT or name in _STYLES or name in ",;:! ":
        return []
    return [{"%": "\\%", "|": "|"}.get(name) or _SPELLED.get(name, token)]


def _letters(token: str) -> list[str]:
    """Letters of a product, or a word; names such as `pi` and `sqrt` are known.

    Four letters and more are no product, unless they begin with a known name: `pir`.
    """
    known = _WORDS.get(token.lower() if len(token) > 1 else token)
    if known is not None:
        return [known] if known else []
    if len(token) < 4 and token not in _UNIT_WORDS:
        if token.startswith("pi"):
            return ["\\pi", *token[2:]]
        return list(token)
    return [f'"{token}']


def depth(text: str) -> int:
    """How deep brackets of any kind are nested."""
    deepest = level = 0
    for c in text:
        if c in "([{":
            level += 1
            deepest = max(deepest, level)
        elif c in ")]}":
            level -= 1
    return deepest
