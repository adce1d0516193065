"""What a recipe needs of a machine, before anything is rented.

    python -m routejax.plan --config=configs/rlve.py:olmo3_7b --mesh=fsdp=8
        [--devices=8] [--parts=sft,grpo,sample] [--nocompile] [--json]
        [--utilisation=0.4] [--config.FIELD=VALUE …]
    python -m routejax.plan --config=configs/rlve.py:olmo3_7b --smallest [--json]

Lowers and compiles the training steps and the sampler of the recipe's student for
pretend devices, without weights, and prints bytes per device, floating-point
operations, collectives, which accelerators have room, and a rough time. `--nocompile`
leaves the compiler out: what is counted by hand is there in seconds. `--smallest` tries
ever more devices by hand until every kind of accelerator has room for every part. The
mesh is that of the recipe where `--mesh` does not say otherwise; where an axis is −1,
`--devices` says how many there are.

A figure called "by hand" is an estimate by formula. "Compiled" is what the compiler
for CPUs reserves: it takes bfloat16 products in float32 and so needs more than an
accelerator, whose own compiler this is not. Whether a device has room:

    yes      both sums have, in 92 % of its memory (the runtime, its buffers and
             fragmentation take the rest)
    by hand  only the sum by hand has, or nothing was compiled
    no       the sum by hand has none
"""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path
from typing import Any

import jax
from absl import flags

from routejax import mesh
from routejax.errors import UserError
from routejax.program import run_program
from routejax.progress import terminal
from routejax.stages import plan as plans
from routejax.stages import plan_smallest, plan_table, plan_time
from routejax.stages.plan_recipe import PARTS, parts_of, require_ranges

MOST_DEVICES = 2048  # jax takes later ones on a CPU for those of other processes

_MESH = flags.DEFINE_string("mesh", "", "Sizes of axes, such as data=2,fsdp=4,tensor=1")
_DEVICES = flags.DEFINE_integer("devices", None, "Devices; needed where an axis is -1.")
_PARTS = flags.DEFINE_list(
    "parts", None, f"Of {', '.join(PARTS)}; all that the recipe has if not given."
)
_COMPILE = flags.DEFINE_bool(
    "compile", True, "Asks the compiler too; without it no verdict is above `by hand`."
)
_SMALLEST = flags.DEFINE_bool("smallest", False, "Finds the fewest devices by hand.")
_SHARE = flags.DEFINE_float(
    "utilisation",
    plan_time.SHARE,
    "Share of the peak (model FLOPs) that the estimate of time is made with.",
)
_JSON = flags.DEFINE_bool("json", False, "Prints JSON instead of tables.")


def main(config: dict[str, Any], root: Path) -> None:
    del root
    parts_of(config, _PARTS.value)
    require_ranges(config)  # before devices are asked about
    if not 0 < _SHARE.value <= 1:
        raise UserError(f"--utilisation must be above 0, at most 1; got {_SHARE.value}")
    if _SMALLEST.value:
        _smallest(config)
        return
    shape = axes(config["mesh"], _MESH.value, _DEVICES.value)
    pretend(math.prod(shape.values()))
    errors = terminal(stderr=True)
    made = plans.make_plan(
        config,
        mesh.make_mesh(None, **shape),
        parts=_PARTS.value,
        compiled=_COMPILE.value,
        say=lambda line: errors.print(line, highlight=False),
    )
    if _JSON.value:
        print(json.dumps(plan_table.record(made, _SHARE.value), indent=2))
    else:
        terminal().print(plan_table.tables(made, _SHARE.value))


def _smallest(config: dict[str, Any]) -> None:
    if _MESH.value or _DEVICES.value is not None:
        raise UserError("--smallest tries meshes by itself: no --mesh, no --devices")
    pretend(plan_smallest.MOST_DEVICES)
    found = plan_smallest.smallest(config, _PARTS.value)
    if _JSON.value:
        print(json.dumps(plan_smallest.record(found), indent=2))
    else:
        terminal().print(plan_smallest.table(config["name"], found))


def axes(
    recipe: dict[str, int | None], text: str, devices: int | None
) -> dict[str, int]:
    """Sizes of all axes: those of the text before those of the recipe.

    An axis of -1 that only the recipe has is 1 where the text gives another its size.

    Raises:
        UserError: an unknown axis, no number, sizes that do not make the devices, more
            than `MOST_DEVICES`, or nothing that says how many devices there are.
    """
    given: dict[str, int] = {axis: recipe[axis] or 1 for axis in mesh.MESH_AXES}
    named = _named(text)
    given |= named
    free = [axis for axis, size in given.items() if size == -1]
    known = math.prod(size for size in given.values() if size != -1)
    count = devices if devices is not None or text else recipe.get("devices")
    if count is not None and count < 1:
        raise UserError(f"--devices must be at least 1, got {count}")
    if free and count is None and (known == 1 or {*free} & {*named}):
        raise UserError(
            f"how many devices? The mesh's axis {free[0]} is -1, all that are left, "
            f"and here are none to count: --devices=8, or --mesh={free[0]}=8"
        )
    made = mesh.sizes(known if count is None else count, **given)
    if (size := math.prod(made.values())) > MOST_DEVICES:
        raise UserError(
            f"plan takes at most {MOST_DEVICES} devices; the mesh has {size:,}. Plan "
            "for fewer: bytes per device hardly change beyond"
        )
    return made


def _named(text: str) -> dict[str, int]:
    found = {}
    for part in filter(None, text.split(",")):
        axis, _, size = part.partition("=")
        number = re.fullmatch("-?[0-9]{1,9}", size)
        if axis not in mesh.MESH_AXES or not number or axis in found:
            raise UserError(
                "--mesh is a list such as data=1,fsdp=8 of "
                f"{', '.join(mesh.MESH_AXES)}, each once; got {part!r}"
            )
        found[axis] = int(size)
    return found


def pretend(devices: int) -> None:
    """Makes so many CPU devices; only before jax has been used.

    Raises:
        UserError: jax has been used with another number of devices.
    """
    jax.config.update("jax_platforms", "cpu")
    try:
        jax.config.update("jax_num_cpu_devices", devices)
    except RuntimeError as used:
        if jax.device_count() != devices:
            raise UserError(f"{devices} devices cannot be made any more") from used


if __name__ == "__main__":
    status = run_program(main, default="configs/rlve.py")
    sys.stdout.flush()
    sys.exit(status)
