"""Samples of eight devices, however they share the work, are those of one."""

import functools

import jax
import numpy as np
import pytest
from mesh_cases import SAMPLING, params, queue, tiny

from routejax import mesh, spread
from routejax.sampler import sample
from routejax.stages.run import on_mesh


@functools.cache
def alone():
    student = tiny("llama", layers=1)
    out = sample(student, params(student), queue(), temperature=1.0, **SAMPLING)
    return jax.tree.map(np.asarray, out)


@pytest.mark.slow
@pytest.mark.parametrize(
    "axes", [{"data": 8}, {"tensor": 8}, {"data": 2, "tensor": 4}], ids=str
)
def test_eight_devices_sample_what_one_does(axes):
    """Fifteen requests: with eight parts the last one is asked again."""
    over = mesh.make_mesh(jax.devices()[:8], **{"data": 1, "fsdp": 1} | axes)
    student = tiny("llama", layers=1)
    out = spread.sample_over(
        over,
        on_mesh(student, over),
        mesh.Placement(over, "llama").put(params(student)),
        queue(),
        temperature=1.0,
        **SAMPLING,
    )
    np.testing.assert_array_equal(out.tokens, alone().tokens)
    np.testing.assert_array_equal(out.lengths, alone().lengths)
    np.testing.assert_allclose(out.logps, alone().logps, atol=1e-5)
