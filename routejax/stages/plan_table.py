"""A plan as tables for a terminal, and as plain values for JSON."""

from __future__ import annotations

from typing import Any

from rich.console import Group
from rich.table import Table

from routejax.stages import plan_counts as counts
from routejax.stages.plan import Part, Plan

GB = 1e9


def record(plan: Plan) -> dict[str, Any]:
    """Everything of a plan; bytes per device, FLOPs of all devices."""
    return {
        "recipe": plan.recipe,
        "parameters": plan.parameters,
        "mesh": plan.mesh,
        "parts": {name: _part(part) for name, part in plan.parts.items()},
        "fits": {name: verdicts(part) for name, part in plan.parts.items()},
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
        "open_loops": part.open_loops,
        "traffic": {kind: one._asdict() for kind, one in part.traffic.items()},
        "compile_s": part.compile_s,
    }


def verdicts(part: Part) -> dict[str, str]:
    """By chip: "yes", "no", or "by hand" where the CPU's program alone is too large."""
    hand = counts.fits(part.hand_bytes)
    whole = part.hand_bytes if part.compiled_bytes is None else part.compiled_bytes
    compiled = counts.fits(whole)
    return {
        chip: "yes" if compiled[chip] else "by hand" if hand[chip] else "no"
        for chip in hand
    }


def tables(plan: Plan) -> Group:
    return Group(_memory(plan), _work(plan), _fits(plan))


def _title(plan: Plan) -> str:
    axes = ", ".join(f"{axis} {size}" for axis, size in plan.mesh.items())
    return f"{plan.recipe}: {plan.parameters:,} parameters on {axes}"


def _memory(plan: Plan) -> Table:
    table = Table("GB per device", *plan.parts, title=_title(plan))
    for name in ("parameters", "optimiser", "reference", "batch", "queue"):
        held = [part.resident.get(name) for part in plan.parts.values()]
        if any(held):
            table.add_row(name, *map(_gb, held))
    for name in ("gradients", "saved", "logits", "weights", "cache"):
        hand = [getattr(part.coming, name) for part in plan.parts.values()]
        if any(hand):
            table.add_row(f"{name} (by hand)", *map(_gb, hand))
    table.add_section()
    parts = plan.parts.values()
    table.add_row("sum by hand", *(_gb(part.hand_bytes) for part in parts))
    table.add_row("temporaries, compiled", *(_gb(part.temporary) for part in parts))
    table.add_row("sum, compiled", *(_gb(part.compiled_bytes) for part in parts))
    return table


def _work(plan: Plan) -> Table:
    table = Table("work of one step", *plan.parts)
    parts = plan.parts.values()

    def rows(part: Part) -> str:
        shape = part.shape
        return f"{shape.rows:,} x {shape.row_tokens:,}" if shape else "all prompts once"

    table.add_row("rows x tokens", *map(rows, parts))
    table.add_row(
        "rows of a pass", *(str(p.shape.pass_rows) if p.shape else "" for p in parts)
    )
    table.add_row("PFLOP, counted", *(f"{p.flops / 1e15:.4g}" for p in parts))
    table.add_row("PFLOP, by hand", *(f"{p.by_hand / 1e15:.4g}" for p in parts))
    table.add_row("of it the model's", *(f"{p.model_flops / 1e15:.4g}" for p in parts))
    for kind in sorted({kind for part in parts for kind in part.traffic}):
        found = (part.traffic.get(kind) for part in parts)
        table.add_row(
            kind,
            *(
                f"{c.count:,.0f}: {c.sent_bytes / GB:.4g} GB" if c else ""
                for c in found
            ),
        )
    table.add_row("compiled in s", *(f"{part.compile_s:.0f}" for part in parts))
    return table


def _fits(plan: Plan) -> Table:
    table = Table("fits", *plan.parts)
    found = {name: verdicts(part) for name, part in plan.parts.items()}
    for chip, kind in counts.CHIPS.items():
        row = (found[part][chip] for part in plan.parts)
        table.add_row(f"{chip} ({kind.memory_gb:g} GB)", *row)
    return table


def _gb(size: float | None) -> str:
    return "" if size is None else f"{size / GB:.2f}"
