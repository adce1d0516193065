"""The chosen ids are the same bytes on one thread and on two."""

import os
import subprocess
import sys

from threadpoolctl import threadpool_limits

SCRIPT = """
import numpy as np
from routejax.selection import ids_sha256, project, select

features = np.random.default_rng(0).gamma(0.5, size=(1200, 200)).astype(np.float32)
ids = [f"{i:04d}" for i in range(1200)]
groups = ["a" if i % 4 else "b" for i in range(1200)]
chosen = select(
    "diverse", ids=ids, groups=groups, prompt_ids=ids, phi=project(features), n=300
)
seen = f"{ids_sha256(chosen.ids)} {chosen.report}"
"""


def test_threads_change_nothing():
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    alone = subprocess.run(
        [sys.executable, "-c", SCRIPT + "print(seen, end='')"],
        env=os.environ | dict.fromkeys(names, "1"),
        capture_output=True,
        text=True,
        check=True,
    )
    here = {}
    with threadpool_limits(limits=2):
        exec(SCRIPT, here)
    assert here["seen"] == alone.stdout
