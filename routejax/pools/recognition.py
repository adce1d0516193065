"""Which layout a file has: recognised by its columns, or named, or mapped by hand."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any

from routejax.errors import UserError
from routejax.pools.layouts import FIELDS, LAYOUTS, Layout

AUTO = "auto"
_NEAR = 3  # layouts named where none fits


def recognise(names: Collection[str]) -> str | None:
    """The first layout of the table whose columns are all there."""
    return next((key for key, lay in LAYOUTS.items() if fits(lay, names)), None)


def fits(layout: Layout, names: Collection[str]) -> bool:
    """Whether these columns have what the layout needs, and no others if it says so."""
    if layout.only and not set(names) <= set(layout.only):
        return False
    return all(_there(need, names) for need in layout.needs)


def _there(need: str, names: Collection[str]) -> bool:
    return any(name in names for name in need.split("|"))


def unwrapped(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The object under `row`, with what stands beside it, if no layout fits as it is.

    Viewers of data sets hand out rows in such an envelope.
    """
    inner = row.get("row")
    if not isinstance(inner, dict) or recognise(row):
        return row
    return {**{key: value for key, value in row.items() if key != "row"}, **inner}


def check_named(layout: str, columns: Mapping[str, str] | None) -> None:
    """Nothing comes out.

    Raises:
        UserError: a layout that does not exist; a field that does not.
    """
    if layout != AUTO and layout not in LAYOUTS:
        raise UserError(
            f"layout must be {AUTO} or one of {', '.join(LAYOUTS)}, got {layout!r}"
        )
    for field in columns or {}:
        if field not in FIELDS:
            raise UserError(
                f"columns must map fields among {', '.join(FIELDS)}, got {field!r}"
            )


def choose(
    names: Collection[str], layout: str, columns: Mapping[str, str] | None, where: str
) -> Layout:
    """The layout of a file with these column names.

    `columns` says where fields lie; it completes the layout, or is all of it where none
    is recognised.

    Raises:
        UserError: columns that are not there; the names found and those wanted.
    """
    found = f"it has {', '.join(sorted(names)) or 'none'}"
    for field, spec in (columns or {}).items():
        if not any(a.split(".")[0] in names or a in names for a in spec.split("|")):
            raise UserError(
                f"{where}: column {spec!r}, named for {field!r}, is not there; {found}"
            )
    key = recognise(names) if layout == AUTO else layout
    if columns and _whole(columns):
        return Layout("named by hand", (), ({**columns},))
    if key is None or not fits(LAYOUTS[key], names):
        raise UserError(
            f"{where} is not a pool: {found}; wanted are {_wanted(names, layout)}; "
            "say which column is which by pool.columns, on a command line "
            "--config.pool.columns.prompt=NAME --config.pool.columns.response=NAME"
        )
    chosen = LAYOUTS[key]
    if columns:
        fields = tuple({**fields, **columns} for fields in chosen.fields)
        for one in fields:
            one.pop("meta", None)  # the columns that are now left over go there
        return dataclasses.replace(chosen, fields=fields, only=())
    return chosen


def _whole(columns: Mapping[str, str]) -> bool:
    """Whether these fields alone make a candidate solution."""
    asked = "prompt" in columns and ({"response", "answer"} & set(columns))
    return bool(asked or "messages" in columns)


def _wanted(names: Collection[str], layout: str) -> str:
    """What layouts need: the one asked for, or those that these columns come nearest,
    and how many others there are."""
    if layout != AUTO:
        return f"{layout}: {', '.join(LAYOUTS[layout].needs)}"

    def lacking(key: str) -> int:
        return sum(not _there(need, names) for need in LAYOUTS[key].needs)

    near = sorted(LAYOUTS, key=lambda key: (key != "canonical", lacking(key)))[:_NEAR]
    shown = "; or ".join(f"{key}: {', '.join(LAYOUTS[key].needs)}" for key in near)
    return f"{shown}; or what {len(LAYOUTS) - len(near)} other layouts need"
