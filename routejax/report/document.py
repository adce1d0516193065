"""The HTML document that every page is: one file that needs nothing else.

Its head, the button for light or dark, the box for what is pointed at, style sheets and
scripts. Nothing is fetched, and a browser that finds an address in it must refuse it.
"""

from __future__ import annotations

import importlib.resources
import json
from typing import Any

from routejax.report.svg import el

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def document(
    title: str,
    *parts: str,
    own: str | None = None,
    class_: str | None = None,
    data: Any = None,
) -> str:
    """HTML text of a whole page; `title` and `parts` are HTML of escaped texts.

    Args:
        title: of the window.
        parts: what stands in the page's main element, whose class is `class_`.
        own: name of the style sheet and script that this page has beside the shared.
        data: JSON for its script, in the element `data`; nothing where it is None.
    """
    body = el(
        "body",
        el("button", "◐", id="theme", type="button", aria_label="Light or dark"),
        el("main", *parts, class_=class_),
        el("div", id="tip", role="status"),
        "" if data is None else _embedded(data),
        el("script", _asset("page.js")),
        el("script", _asset(f"{own}.js")) if own else "",
    )
    head = "".join(
        [
            '<head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            el("title", title),
            el("style", _asset("style.css"), _asset(f"{own}.css") if own else ""),
            "</head>",
        ]
    )
    return f"<!doctype html>\n{el('html', head, body, lang='en')}\n"


def _embedded(data: Any) -> str:
    """Data for a script, safe inside its element: nothing in it can end that."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return f'<script type="application/json" id="data">{text}</script>'


def _asset(name: str) -> str:
    files = importlib.resources.files("routejax.report")
    return files.joinpath(name).read_text("utf-8")
