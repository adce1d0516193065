"""Two processes that know of each other take the step of one."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from mesh_cases import SAMPLING, alone, params, queue, tiny

from routejax.sampler import sample

PROCESS = Path(__file__).parent / "mesh_process.py"
WAIT_S = 300.0


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.mark.slow
def test_two_processes_are_one(tmp_path):
    """Four devices in two processes: a training step, and samples of five prompts."""
    file, port = tmp_path / "found.npz", free_port()
    env = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS"}
    made = [
        subprocess.Popen(
            [sys.executable, PROCESS, str(i), "2", str(port), file],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for i in range(2)
    ]
    try:
        said = [process.communicate(timeout=WAIT_S)[0] for process in made]
    finally:
        for process in made:
            process.kill()
    assert [process.returncode for process in made] == [0, 0], "\n".join(said)

    state, metrics = alone("llama", "sft")
    found = np.load(file)
    assert found["loss"] == pytest.approx(metrics["loss"], rel=1e-6)
    assert found["grad_norm"] == pytest.approx(metrics["grad_norm"], rel=1e-5)
    for i, leaf in enumerate(jax.tree.leaves(state.params)):
        np.testing.assert_allclose(found[f"p{i}"], leaf, atol=2e-6)
    one = sample(
        tiny("llama"), params(tiny("llama")), queue(), temperature=1.0, **SAMPLING
    )
    np.testing.assert_array_equal(found["tokens"], one.tokens)
