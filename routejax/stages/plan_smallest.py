"""The fewest devices of each kind that have room for a recipe, counted by hand.

Tried are 1, 2, 4, … devices in one slice, divided over fsdp and tensor; with equal
numbers the smaller tensor axis wins, because it sends less. All parts of a run use one
mesh, so the mesh of a whole run may be larger than that of each part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import jax
from rich.table import Table

from routejax.errors import UserError
from routejax.mesh import make_mesh
from routejax.stages import plan_counts as counts
from routejax.stages.plan import PARTS, make_plan

MOST_DEVICES = 256
WHOLE = "all on one mesh"


class Slice(NamedTuple):
    """Devices and their division; bytes are those of the fullest part."""

    devices: int
    fsdp: int
    tensor: int
    bytes: float


Found = dict[str, dict[str, Slice | None]]  # by chip, then by part or `WHOLE`


def smallest(config: Mapping[str, Any]) -> Found:
    """By chip and part, the first slice with room; None where the largest has not."""
    names = (*PARTS, WHOLE)
    found: Found = {chip: dict.fromkeys(names) for chip in counts.CHIPS}
    for devices, tensor, needed in _tried(config):
        for chip, parts in found.items():
            for name in names:
                room = needed[name] <= counts.USABLE * counts.CHIPS[chip].bytes
                if parts[name] is None and room:
                    shape = (devices // tensor, tensor)
                    parts[name] = Slice(devices, *shape, needed[name])
        if all(parts[WHOLE] for parts in found.values()):
            break
    return found


def _tried(config: Mapping[str, Any]) -> Iterator[tuple[int, int, dict[str, float]]]:
    """Devices, their tensor axis and bytes by part, for every mesh that divides."""
    devices = 1
    while devices <= MOST_DEVICES:
        for tensor in (1, 2, 4, 8, 16):
            if devices % tensor == 0:
                axes = {"data": 1, "fsdp": devices // tensor, "tensor": tensor}
                mesh = make_mesh(jax.devices()[:devices], **axes)
                try:
                    made = make_plan(config, mesh, compiled=False, counted=False)
                except UserError:
                    continue  # the mesh does not divide the student
                needed = {name: part.hand_bytes for name, part in made.parts.items()}
                yield devices, tensor, needed | {WHOLE: max(needed.values())}
        devices *= 2


def table(name: str, found: Found) -> Table:
    shown = Table("fewest devices", *PARTS, WHOLE, title=f"{name}, by hand")
    for chip, parts in found.items():
        cells = (_cell(parts[part]) for part in (*PARTS, WHOLE))
        shown.add_row(f"{chip} ({counts.CHIPS[chip].memory_gb:g} GB)", *cells)
    return shown


def _cell(one: Slice | None) -> str:
    if one is None:
        return f"over {MOST_DEVICES}"
    cut = f"fsdp {one.fsdp}" + (f", tensor {one.tensor}" if one.tensor > 1 else "")
    return f"{one.devices}: {cut} ({one.bytes / 1e9:.1f} GB)"


def record(found: Found) -> dict[str, Any]:
    return {
        chip: {part: one and one._asdict() for part, one in parts.items()}
        for chip, parts in found.items()
    }
