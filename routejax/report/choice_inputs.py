"""What every figure about a selection reads, and how a selector looks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from routejax.errors import UserError
from routejax.report.inputs import Look, look

SCHEMA = 1


class Choice(NamedTuple):
    """A `report.json`, and one look for each of its selectors."""

    report: Mapping[str, Any]
    looks: tuple[Look, ...]

    @property
    def config(self) -> str:
        return self.report["config"]

    def selector(self, name: str) -> Mapping[str, Any]:
        return self.report["selectors"][name]

    def geometry(self, name: str) -> Mapping[str, Any]:
        return self.selector(name)["geometry"]

    def rows(self, name: str) -> int:
        return self.selector(name)["selected"]

    def sha256(self, name: str) -> str:
        return self.selector(name)["ids_sha256"]

    def look(self, name: str) -> Look:
        return next(one for one in self.looks if one.name == name)


def read_choice(report: Mapping[str, Any]) -> Choice:
    """Raises UserError for a report of another format."""
    if report.get("schema") != SCHEMA:
        raise UserError(
            f"the report must have schema {SCHEMA}, got {report.get('schema')!r}; "
            "select again with this version of routejax"
        )
    looks = tuple(look(name, index) for index, name in enumerate(report["order"]))
    return Choice(report, looks)
