"""A plan as tables with legends for a terminal, and as plain values for JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from routejax.stages import plan_chips as chips
from routejax.stages.plan_record import Part, Plan
from routejax.stages.plan_time import SHARE, estimates

GB = 1e9

RESIDENT = {
    "parameters": "parameters",
    "optimiser": "optimiser state",
    "reference": "frozen reference",
    "batch": "rows of the step",
    "queue": "prompts to sample",
}
COMING = {
    "gradients": "gradients",
    "saved": "saved activations",
    "logits": "logits",
    "weights": "weights in use",
    "cache": "keys and values",
}
_MEMORY = (
    "GB are 10^9 bytes. The first rows stay through a step; those by hand come and go. "
    "Gradients: float32, two sets where a step has several passes. Saved activations: "
    "inputs of all layers and the inside of one. Logits: of a chunk of each row. "
    "Weights in use: two layers, embedding and output matrix with their slopes (in "
    "sampling all weights), whole but for the axis tensor. Keys and values: the caches "
    "of prompts and slots, as long as prompt and response may be, sliding layers too."
)
_COMPILED = (
    "Compiled is what the compiler for CPUs reserves: it takes bfloat16 products in "
    "float32 and so needs more than an accelerator."
)
FITS = (
    f"yes: both sums have room in {chips.USABLE:.0%} of the memory, the rest is left "
    "to the runtime, its buffers and fragmentation; by hand: only the sum by hand has, "
    "or nothing was compiled; no: the sum by hand has none."
)


def record(plan: Plan, share: float = SHARE) -> dict[str, Any]:
    """Everything of a plan; bytes per device, FLOPs of all devices."""
    found = estimates(plan, share)
    return {
        "recipe": plan.recipe,
        "parameters": plan.parameters,
        "mesh": plan.mesh,
        "parts": {name: _part(part) for name, part in plan.parts.items()},
        "fits": {name: verdicts(part) for name, part in plan.parts.items()},
        "estimate_at": share,
        "estimates": {
            chip: {part: one._asdict() for part, one in parts.items()}
            for chip, parts in found.items()
        },
        "notes": notes(plan),
    }


def _part(part: Part) -> dict[str, Any]:
    return {
        "rows": part.shape._asdict() if part.shape else None,
        "resident_bytes": part.resident,
        "by_hand_bytes": part.coming._asdict(),
        "compiled_temporary_bytes": part.temporary,
        "flops": part.flops,
        "flops_by_hand": part.by_hand,
        "model_flops": part.model_flops,
        "work": {phase: work._asdict() for phase, work in part.work.items()},
        "open_loops": part.open_loops,
        "traffic": {kind: one._asdict() for kind, one in part.traffic.items()},
        "compile_s": part.compile_s,
        "steps": part.steps,
    }


def notes(plan: Plan) -> list[str]:
    """All that the plan has to say in words, a line each."""
    said = [note for part in plan.parts.values() for note in part.notes]
    return [*said, *plan.notes]


def verdicts(part: Part) -> dict[str, str]:
    """By chip: "yes", "by hand" or "no"; what they mean is `FITS`."""
    hand = chips.fits(part.hand_bytes)
    if part.compiled_bytes is None:
        return {chip: "by hand" if room else "no" for chip, room in hand.items()}
    compiled = chips.fits(part.compiled_bytes)
    return {
        chip: "no" if not room else "yes" if compiled[chip] else "by hand"
        for chip, room in hand.items()
    }


def tables(plan: Plan, share: float = SHARE) -> Group:
    axes = ", ".join(f"{axis} {size}" for axis, size in plan.mesh.items())
    title = f"{plan.recipe}: {plan.parameters:,} parameters on {axes}"
    found: list[RenderableType] = [Text(title, style="bold")]
    found += [Text(f"note: {note}") for note in notes(plan)]
    compiled = any(part.temporary is not None for part in plan.parts.values())
    legend = f"{_MEMORY} {_COMPILED}" if compiled else _MEMORY
    found += [_memory(plan), _legend(legend)]
    found += [_work(plan), _legend(" ".join(_of_work(plan)))]
    found += [_fits(plan), _legend(FITS)]
    found += [_times(plan, share), _legend(_of_times(plan, share))]
    return Group(*found)


def _legend(text: str) -> Text:
    return Text(text + "\n", style="dim")


def _rows(table: Table, plan: Plan, name: str, cell: Callable[[Part], str]) -> None:
    """A row of a cell per part, if any has something in it."""
    if any(cells := [cell(part) for part in plan.parts.values()]):
        table.add_row(name, *cells)


def _memory(plan: Plan) -> Table:
    table = Table("GB per device", *plan.parts)
    for name, label in RESIDENT.items():
        _rows(table, plan, label, lambda part, n=name: _gb(part.resident.get(n)))
    for name, label in COMING.items():
        _rows(
            table,
            plan,
            f"{label} (by hand)",
            lambda part, n=name: _gb(getattr(part.coming, n) or None),
        )
    table.add_section()
    _rows(table, plan, "sum by hand", lambda part: _gb(part.hand_bytes))
    _rows(table, plan, "temporaries, compiled", lambda part: _gb(part.temporary))
    _rows(table, plan, "sum, compiled", lambda part: _gb(part.compiled_bytes))
    return table


def _work(plan: Plan) -> Table:
    table = Table("one step", *plan.parts)
    phases = dict.fromkeys(p for part in plan.parts.values() for p in part.work)

    def shape(part: Part, form: str) -> str:
        return form.format(part.shape) if part.shape else ""

    _rows(table, plan, "rows", lambda p: shape(p, "{0.rows:,}"))
    _rows(table, plan, "rows in one pass", lambda p: shape(p, "{0.pass_rows:,}"))
    _rows(table, plan, "tokens a row", lambda p: shape(p, "{0.row_tokens:,}"))
    _rows(table, plan, "PFLOP in the program", lambda p: _peta(p.flops))
    for phase in phases:
        label = "" if phase == "step" else f", {phase}"
        for kind, name in (("flops", "by formula"), ("model", "of it needed")):
            _rows(
                table,
                plan,
                f"PFLOP {name}{label}",
                lambda part, p=phase, k=kind: _peta(
                    getattr(part.work[p], k) if p in part.work else None
                ),
            )
    for kind in sorted({kind for part in plan.parts.values() for kind in part.traffic}):
        _rows(table, plan, f"{kind}: GB sent", lambda part, k=kind: _sent(part, k))
    _rows(table, plan, "seconds to compile", _seconds)
    return table


def _of_work(plan: Plan) -> Iterator[str]:
    """What stands in the table of work, and no more."""
    yield "PFLOP: 10^15 operations of all devices, attention included."
    if any(part.shape for part in plan.parts.values()):
        yield "Rows, and those of one pass: of all devices, padding too."
    if any(part.flops is not None for part in plan.parts.values()):
        yield "In the program: counted in what is traced."
    sampled = (
        ", in sampling also without repeated prompts, idle slots, and columns of the "
        "cache that a token does not see; every response is as long as it may be"
    )
    yield (
        "By formula: the same by hand; needed: without padding and what is done twice"
        f"{sampled if 'sample' in plan.parts else ''}."
    )
    if any(part.traffic for part in plan.parts.values()):
        yield "GB sent: by one device in one step, and in how many collectives."


def _sent(part: Part, kind: str) -> str:
    found = part.traffic.get(kind)
    return f"{found.sent_bytes / GB:.4g} in {found.count:,.0f}" if found else ""


def _seconds(part: Part) -> str:
    return "" if part.compile_s is None else f"{part.compile_s:.0f}"


def _fits(plan: Plan) -> Table:
    table = Table("fits", *plan.parts)
    found = {name: verdicts(part) for name, part in plan.parts.items()}
    for chip, kind in chips.CHIPS.items():
        row = (found[part][chip] for part in plan.parts)
        table.add_row(f"{chip} ({kind.memory_gb:g} GB)", *row)
    return table


def _times(plan: Plan, share: float) -> Table:
    """Devices without room have no times."""
    heads = (f"{name}, {part.steps:,} steps" for name, part in plan.parts.items())
    table = Table("rough estimate", *heads, "device-hours")
    for chip, found in estimates(plan, share).items():
        room = {p: verdicts(part)[chip] != "no" for p, part in plan.parts.items()}
        cells = [
            f"{_short(one.step_s)} s, {_short(one.tokens_per_s / 1e3)}k/s"
            if room[part]
            else "no room"
            for part, one in found.items()
        ]
        hours = sum(one.device_hours for one in found.values())
        table.add_row(chip, *cells, _short(hours) if all(room.values()) else "no room")
    return table


def _of_times(plan: Plan, share: float) -> str:
    devices = math.prod(plan.mesh.values())
    slow = f"; decoding at {share:.0%} of the memory's bandwidth where that is slower"
    return (
        "Seconds of a step, thousands of its tokens in a second; not measured, but at "
        f"{share:.0%} of the peak bfloat16 operations (model FLOPs, those of padding "
        f"too){slow if 'sample' in plan.parts else ''}. Every row and response is full;"
        " no network, compiling, evaluation, checkpoint. "
        + ("A step of grpo also scores its rows. " if "grpo" in plan.parts else "")
        + f"Device-hours: devices ({devices:,}) x hours of all steps, one arm and seed."
    )


def _short(number: float) -> str:
    """Three digits, or all before the point."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _peta(flops: float | None) -> str:
    return "" if flops is None else f"{flops / 1e15:.4g}"


def _gb(size: float | None) -> str:
    return "" if size is None else f"{size / GB:.2f}"
