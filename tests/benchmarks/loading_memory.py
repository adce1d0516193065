"""Peak host memory of loading a checkpoint, against the size of its files.

    python -m tests.benchmarks.loading_memory --folder DIR [--dtype float32] [--json]
    python -m tests.benchmarks.loading_memory --size smollm2-135m --stored bfloat16

With `--size` the folder is made first, of random weights, and removed. What is counted
is the growth of the process from before `load` to its peak, so neither Python nor jax
at rest, but with the parameters themselves, which on a CPU are host memory too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import jax
import numpy as np

from routejax import models
from routejax.models import weights

_MEASURED = """
import json, sys, time
from pathlib import Path
import jax
from routejax.models import weights

def status(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(l.split()[1]) * 1024 for l in lines if l.startswith(field))

folder, dtype = sys.argv[1], sys.argv[2] or None
jax.block_until_ready(jax.numpy.zeros(8) + 1)  # the device is there
weights.read_student(folder).init  # and whatever is imported late
Path("/proc/self/clear_refs").write_text("5")  # the peak begins here
before, began = status("VmRSS"), time.monotonic()
student, params = weights.load(folder, dtype=dtype)
seconds = time.monotonic() - began
held = sum(leaf.nbytes for leaf in jax.tree.leaves(params))
print(json.dumps({"peak_bytes": status("VmHWM") - before, "before_bytes": before,
                  "parameter_bytes": held, "seconds": round(seconds, 2)}))
"""


def measure(folder: Path, dtype: str = "") -> dict[str, float]:
    """Peak growth of a fresh process that loads `folder`, also over its files."""
    done = subprocess.run(
        [sys.executable, "-c", _MEASURED, str(folder), dtype],
        env=os.environ | {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout.splitlines()[-1])
    size = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
    ratio = found["peak_bytes"] / size
    return found | {"file_bytes": size, "peak_over_file": round(ratio, 3)}


def make(folder: Path, size: str, stored: str) -> None:
    """A checkpoint of a named size with random weights."""
    student = models.create(size=size)
    rng = np.random.default_rng(0)

    def draw(leaf: Any) -> np.ndarray:
        return rng.random(leaf.shape, np.float32)

    params = jax.tree.map(draw, jax.eval_shape(lambda: student.init(0)))
    weights.save(folder, student, params, dtype=stored)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--size", default="smollm2-135m")
    parser.add_argument("--stored", default="float32")
    parser.add_argument("--dtype", default="")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = asked.folder or Path(made) / "checkpoint"
        if asked.folder is None:
            make(folder, asked.size, asked.stored)
        found = measure(folder, asked.dtype)
    if asked.json:
        print(json.dumps(found))
        return
    for name, value in found.items():
        print(f"{name:16} {value:>14,}")


if __name__ == "__main__":
    main()
