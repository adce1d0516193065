"""Accelerators as their makers describe them: room, and time at a share of the peak.

Peak and bandwidth are from cloud.google.com/tpu/docs (pages v5e, v6e, v5p) and from
NVIDIA's data sheets of the H100 and H200 SXM (bfloat16 without sparsity, half of what
is printed with it).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Chip(NamedTuple):
    """One accelerator; memory in 10⁹ bytes, read at 10⁹ bytes a second."""

    memory_gb: float
    peak_tflops: float  # bfloat16, dense
    bandwidth_gb_s: float

    @property
    def bytes(self) -> float:
        return self.memory_gb * 1e9


CHIPS = {
    "v5e": Chip(16, 197, 819),
    "v6e": Chip(32, 918, 1640),
    "v5p": Chip(95, 459, 2765),
    "H100": Chip(80, 989, 3350),
    "H200": Chip(141, 989, 4800),
}

# A runtime, its collectives' buffers and fragmentation take a share of the memory.
USABLE = 0.92


def fits(needed: float) -> dict[str, bool]:
    """By chip, whether so many bytes per device leave room for the runtime."""
    return {name: needed <= USABLE * chip.bytes for name, chip in CHIPS.items()}


class Load(NamedTuple):
    """Work of one device that is done `times` over, each time waiting for the last."""

    flops: float
    read_bytes: float = 0.0  # of its memory
    times: float = 1.0


def seconds(chip: Chip, loads: Iterable[Load], share: float) -> float:
    """Time of all loads, at `share` of the peak or, where slower, of the bandwidth."""
    operations, memory = 1e12 * chip.peak_tflops, 1e9 * chip.bandwidth_gb_s
    found = (
        load.times * max(load.flops / operations, load.read_bytes / memory)
        for load in loads
    )
    return sum(found) / share
