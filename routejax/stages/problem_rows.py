"""Rows of a file of problems, looked at one by one: anybody may have written them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyarrow import types

from routejax.envs import DIFFICULTIES, Problem, registry
from routejax.errors import UserError

_NUMBERS = ("difficulty", "seed")


def require_kinds(table: pa.Table, path: object) -> None:
    """Columns of whole numbers and of text, the text UTF-8.

    Raises:
        UserError: a column is of another kind, or damaged.
    """
    for name in table.column_names:
        if wanted := _wrong(name, table[name].type):
            raise UserError(
                f"{path}: column {name} must hold {wanted}, not {table[name].type}"
            )
        try:
            table[name].validate(full=True)
        except pa.ArrowInvalid as error:
            raise UserError(f"{path}: column {name} is damaged: {error}") from error


def problem(row: Mapping[str, Any], where: str) -> Problem:
    """Raises: UserError, where the row is no problem."""
    if empty := [name for name, value in row.items() if value is None]:
        raise UserError(f"{where}: there is no {', '.join(empty)}")
    if blank := [name for name in ("id", "prompt") if not row[name].strip()]:
        raise UserError(f"{where}: {' and '.join(blank)} must not be blank")
    if row["difficulty"] not in DIFFICULTIES:
        raise UserError(
            f"{where}: difficulty must be in {DIFFICULTIES[0]}..{DIFFICULTIES[-1]}, "
            f"got {row['difficulty']}"
        )
    try:
        registry.environment(row["env"])
    except UserError as error:
        raise UserError(f"{where}: {error}") from error
    return Problem(**{**row, "config": _config(row["config"], where)})


def require_fit(problems: Sequence[Problem], path: object) -> None:
    """What our own environments solve has a config that they can read.

    Raises:
        UserError: one has not; by its id.
    """
    for one in problems:
        try:
            registry.right_answer(one)
        except Exception as error:  # the config may hold anything
            said = f"{type(error).__name__}: {error}"
            raise UserError(
                f"{path}: the config of problem {one.id} is none of env {one.env}: "
                f"{said}; config {json.dumps(one.config):.200}"
            ) from error


def _config(text: str, where: str) -> dict[str, Any]:
    try:
        found = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where}: config is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise UserError(f"{where}: config must be an object of JSON")
    return found


def _no_constant(name: str) -> None:
    raise ValueError(f"it has {name}")


def _is_text(kind: pa.DataType) -> bool:
    if types.is_dictionary(kind):
        return _is_text(kind.value_type)
    tests = (types.is_string, types.is_large_string, types.is_string_view)
    return any(test(kind) for test in tests)


def _wrong(name: str, kind: pa.DataType) -> str:
    """What a column must hold and does not; a column of nulls is left to its rows."""
    if types.is_null(kind):
        return ""
    if name in _NUMBERS:
        return "" if types.is_integer(kind) else "whole numbers"
    return "" if _is_text(kind) else "text"
