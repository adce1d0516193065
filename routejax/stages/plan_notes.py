"""What a plan has to say in words: padding, few slots, and what is held whole.

Each note is one line for the reader of a plan. Those of `padding` are about work that
is paid for and thrown away.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from routejax.mesh import WHOLE_VOCABULARY
from routejax.models import Student
from routejax.stages import plan_counts as counts
from routejax.stages.plan_programs import Shape, Slots


def padding(part: str, config: Mapping[str, Any], shape: Shape, parts: int) -> str:
    """Rows of a training step that no example can fill; "" where there are none."""
    if shape.rows == shape.filled:
        return ""
    settings, each = config[part], config[part]["device_rows"] or 1
    asked = "sft.batch_examples" if part == "sft" else "grpo.prompts x grpo.samples"
    if part == "grpo" and settings["refill"]:
        asked += " x (1 + grpo.refill)"
    less = f"lower {part}.row_multiple ({settings['row_multiple']})"
    if shape.filled % (parts * each):
        less = "use fewer devices"
        less += f" or lower {part}.device_rows ({each})" if each > 1 else ""
    return (
        f"{part}: {shape.rows - shape.filled:,} of {shape.rows:,} rows are padding: "
        f"{asked} is {shape.filled:,}; raise it or {less}"
    )


def sampling(config: Mapping[str, Any], ours: Slots, slot_bytes: float) -> list[str]:
    """What of the sampling is done for nothing, or one after the other."""
    settings, asked = config["grpo"], config["decoding"]["slots"]
    wanted = settings["prompts"] * settings["samples"]
    return [
        f"sample: {said}" for said in _uneven(settings, asked, wanted, ours, slot_bytes)
    ]


def _uneven(
    settings: Mapping[str, Any], asked: int, wanted: int, ours: Slots, slot_bytes: float
) -> Iterator[str]:
    parts, whole = ours.parts, ours.parts * ours.requests
    if whole > wanted:
        yield (
            f"{whole - wanted:,} of {whole:,} responses are repeats: grpo.prompts x "
            f"grpo.samples is {wanted:,}, of {parts} parts of the mesh; raise it or "
            "use fewer devices"
        )
    if parts * ours.prompts > settings["prompts"]:
        yield (
            f"{parts * ours.prompts:,} prompts are read where there are "
            f"{settings['prompts']:,}: {parts} parts of the mesh share their samples"
        )
    if parts * ours.slots > asked:
        yield (
            f"{parts * ours.slots:,} slots decode, not the {asked:,} of decoding.slots:"
            f" each of {parts} parts of the mesh has {ours.slots}"
        )
    if ours.waves > 1:
        yield (
            f"each part of the mesh decodes {ours.requests:,} responses, {ours.slots:,}"
            " at a time, and reads all its weights for every token; a higher "
            f"decoding.slots is faster, at {slot_bytes / 1e9:.3g} GB of cache a slot"
        )


def window(s: counts.Sizes, length: int, cache: float) -> str:
    """What sliding layers hold and do not see; "" where there are none."""
    spans = [w for w in s.windows if w is not None and w < length]
    if not spans:
        return ""
    unseen = sum(1 - w / length for w in spans) / s.layers
    return (
        f"sample: {len(spans)} of {s.layers} layers see {max(spans):,} tokens, but "
        f"their cache has all {length:,} in this version: about "
        f"{unseen * cache / 1e9:.2f} GB of the slots' {cache / 1e9:.2f} GB are not seen"
    )


def vocabulary(student: Student, s: counts.Sizes, itemsize: int) -> str:
    """What a vocabulary that is not divided costs; "" where it is divided."""
    if student.family not in WHOLE_VOCABULARY:
        return ""
    size = counts.table_bytes(s, itemsize=itemsize)
    return (
        f"{student.family}: no axis of a mesh divides its {s.vocabulary:,} tokens. "
        "Embedding and output matrix lie divided by width (fsdp x tensor); a training "
        f"pass gathers them whole, with their slopes: {size / 1e9:.2f} GB on any mesh"
    )
