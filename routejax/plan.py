"""What a recipe needs of a machine, before anything is rented.

    python -m routejax.plan --config=configs/rlve.py:olmo3_7b --mesh=fsdp=8,data=1
        [--devices=8] [--parts=sft,grpo,sample] [--nocompile] [--json]
        [--config.FIELD=VALUE …]
    python -m routejax.plan --config=configs/rlve.py:olmo3_7b --smallest [--json]

Lowers and compiles the training steps and the sampler of the recipe's student for
pretend devices, without weights, and prints bytes per device, floating-point
operations, collectives, and which accelerators have room. `--nocompile` leaves the
compiler out: what is counted by hand is there in seconds. `--smallest` tries ever more
devices by hand until every kind of accelerator has room for every part. The mesh is
that of the recipe where `--mesh` does not say otherwise.

A figure called "by hand" is an estimate by formula. "Compiled" is what the compiler
for CPUs reserves: it takes bfloat16 products in float32 and so needs more than an
accelerator, whose own compiler this is not.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import jax
from absl import flags
from rich.console import Console

from routejax import mesh
from routejax.errors import UserError
from routejax.program import run_program
from routejax.stages import plan as plans
from routejax.stages import plan_smallest, plan_table

_MESH = flags.DEFINE_string("mesh", "", "Sizes of axes, such as data=2,fsdp=4,tensor=1")
_DEVICES = flags.DEFINE_integer("devices", None, "Devices; needed where an axis is -1.")
_PARTS = flags.DEFINE_list("parts", list(plans.PARTS), "Which programs to look at.")
_COMPILE = flags.DEFINE_bool("compile", True, "Asks the compiler too.")
_SMALLEST = flags.DEFINE_bool("smallest", False, "Finds the fewest devices by hand.")
_JSON = flags.DEFINE_bool("json", False, "Prints JSON instead of tables.")


def main(config: dict[str, Any], root: Path) -> None:
    del root
    if _SMALLEST.value:
        pretend(plan_smallest.MOST_DEVICES)
        found = plan_smallest.smallest(config)
        if _JSON.value:
            print(json.dumps(plan_smallest.record(found), indent=2))
        else:
            Console().print(plan_smallest.table(config["name"], found))
        return
    asked = {k: v for k, v in config["mesh"].items() if k != "devices"}
    shape = axes(asked, _MESH.value, _DEVICES.value)
    pretend(math.prod(shape.values()))
    errors = Console(stderr=True)
    made = plans.make_plan(
        config,
        mesh.make_mesh(None, **shape),
        parts=_PARTS.value,
        compiled=_COMPILE.value,
        say=lambda line: errors.print(line, highlight=False),
    )
    if _JSON.value:
        print(json.dumps(plan_table.record(made), indent=2))
    else:
        Console().print(plan_table.tables(made))


def axes(recipe: dict[str, int], text: str, devices: int | None) -> dict[str, int]:
    """Sizes of all axes: those of the text before those of the recipe.

    Raises:
        UserError: an unknown axis, no number, or sizes that do not make the devices.
    """
    given = dict(recipe)
    for part in filter(None, text.split(",")):
        axis, _, size = part.partition("=")
        if axis not in mesh.MESH_AXES or not size.lstrip("-").isdigit():
            raise UserError(
                f"--mesh is a list such as data=1,fsdp=8 of {', '.join(mesh.MESH_AXES)}"
                f", got {part!r}"
            )
        given[axis] = int(size)
    # An axis of -1 that the text does not name takes what is left, or nothing.
    count = devices or math.prod(size for size in given.values() if size > 0)
    return mesh.sizes(count, **given)


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
