"""The fewest devices of each kind that have room for a recipe, counted by hand.

Tried are 1, 2, 4, … devices in one slice, divided over fsdp and tensor; with equal
numbers the smaller tensor axis wins, because it sends less. All parts of a run use one
mesh, so the mesh of a whole run may be larger than that of each part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import jax
from rich.console import Group
from rich.table import Table
from rich.text import Text

from routejax.errors import UserError
from routejax.mesh import make_mesh
from routejax.stages import plan_chips as chips
from routejax.stages.plan import make_plan
from routejax.stages.plan_recipe import parts_of, require_ranges
from routejax.stages.plan_record import Plan

MOST_DEVICES = 256
WHOLE = "all on one mesh"


class Slice(NamedTuple):
    """Devices and their division; bytes are those of the fullest part.

    `padded`: a training step has more rows than examples to fill them.
    """

    devices: int
    fsdp: int
    tensor: int
    bytes: float
    padded: bool


Found = dict[str, dict[str, Slice | None]]  # by chip, then by part or `WHOLE`


class _Need(NamedTuple):
    bytes: float
    padded: bool


def smallest(config: Mapping[str, Any], asked: Iterable[str] | None = None) -> Found:
    """By chip and part, the first slice with room; None where the largest has not.

    Raises:
        UserError: what `parts_of` and `require_ranges` refuse, or a student that no
            mesh divides.
    """
    parts = parts_of(config, asked)
    require_ranges(config)
    names = (*parts, WHOLE) if len(parts) > 1 else parts
    found: Found = {chip: dict.fromkeys(names) for chip in chips.CHIPS}
    for devices, tensor, needed in _tried(config, parts):
        for chip, slices in found.items():
            for name in names:
                need = needed[name]
                if slices[name] is None and chips.fits(need.bytes)[chip]:
                    shape = (devices // tensor, tensor)
                    slices[name] = Slice(devices, *shape, *need)
        if all(all(slices.values()) for slices in found.values()):
            break
    return found


def _tried(
    config: Mapping[str, Any], parts: Iterable[str]
) -> Iterator[tuple[int, int, dict[str, _Need]]]:
    """Devices, their tensor axis and needs by part, for every mesh that divides."""
    devices, refused, tried = 1, None, False
    while devices <= MOST_DEVICES:
        for tensor in (1, 2, 4, 8, 16):
            if devices % tensor == 0:
                axes = {"data": 1, "fsdp": devices // tensor, "tensor": tensor}
                mesh = make_mesh(jax.devices()[:devices], **axes)
                try:
                    made = make_plan(
                        config, mesh, parts=parts, compiled=False, counted=False
                    )
                except UserError as error:
                    refused = refused or error
                    continue  # the mesh does not divide the student
                tried = True
                yield devices, tensor, _needs(made)
        devices *= 2
    if refused and not tried:
        raise refused


def _needs(made: Plan) -> dict[str, _Need]:
    needs = {
        name: _Need(
            part.hand_bytes,
            part.shape is not None and part.shape.rows > part.shape.filled,
        )
        for name, part in made.parts.items()
    }
    most = max(need.bytes for need in needs.values())
    return needs | {WHOLE: _Need(most, any(need.padded for need in needs.values()))}


def table(name: str, found: Found) -> Group:
    columns = list(next(iter(found.values())))
    shown = Table("fewest devices", *columns, title=f"{name}, by hand")
    for chip, slices in found.items():
        cells = (_cell(slices[part]) for part in columns)
        shown.add_row(f"{chip} ({chips.CHIPS[chip].memory_gb:g} GB)", *cells)
    legend = (
        "In brackets: GB per device by hand, at most "
        f"{chips.USABLE:.0%} of the memory. *: a step has fewer examples than rows, "
        "the others are padding; plan on that mesh says how many."
    )
    return Group(shown, Text(legend, style="dim"))


def _cell(one: Slice | None) -> str:
    if one is None:
        return f"over {MOST_DEVICES}"
    cut = f"fsdp {one.fsdp}" + (f", tensor {one.tensor}" if one.tensor > 1 else "")
    return f"{one.devices}: {cut} ({one.bytes / 1e9:.1f} GB){'*' * one.padded}"


def record(found: Found) -> dict[str, Any]:
    return {
        chip: {part: one and one._asdict() for part, one in parts.items()}
        for chip, parts in found.items()
    }
