"""Each piece against plain loops, or against an answer worked by hand."""

import jax.numpy as jnp
import numpy as np
import numpy_llama
import pytest
from flax import nnx

from routejax.models import Config
from routejax.models.layers import Attention, GatedMLP, RMSNorm, normalise

CONFIG = Config(
    vocabulary=2, width=6, layers=1, heads=4, kv_heads=2, head_width=2, mlp_width=2
)


def test_norm_by_hand():
    norm = RMSNorm(2, 0.0)
    out = norm(jnp.array([[3.0, 4.0], [-1.0, 1.0]]))  # mean squares 12.5 and 1
    expected = [[3 / 12.5**0.5, 4 / 12.5**0.5], [-1, 1]]
    np.testing.assert_allclose(out, expected, rtol=1e-6)


def test_norm_scales_last_and_keeps_zero_finite():
    norm = RMSNorm(3, 0.25)
    norm.scale[...] = jnp.array([1.0, 2.0, -3.0])
    x = np.array([[[0.0, 0, 0], [1, 1, 1]]], np.float32)
    expected = [numpy_llama.normalise(x[0], np.array([1.0, 2, -3]), 0.25)]
    np.testing.assert_allclose(norm(jnp.asarray(x)), expected, rtol=1e-6)
    assert np.all(np.asarray(norm(jnp.asarray(x)))[0, 0] == 0)


def test_when_the_norm_rounds():
    """Once, before the scale or after it: bfloat16 keeps eight bits."""
    x = jnp.array([[1.0, 0.0]], jnp.bfloat16)
    for scale in np.arange(1.0, 4.0, 0.125, np.float32):
        wide = np.float32(2**0.5) * scale
        narrow = np.float32(jnp.bfloat16(2**0.5)) * scale
        for late, value in ((True, wide), (False, narrow)):
            weight = jnp.full(2, scale, jnp.bfloat16)
            found = normalise(x, weight, 0.0, late=late)
            assert found.dtype == jnp.bfloat16
            assert found[0, 0] == jnp.bfloat16(value), (scale, late)


@pytest.mark.parametrize(
    ("norms", "widths"),
    [("none", None), ("head", (2, 2)), ("projection", (8, 4))],
)
def test_norms_of_queries_and_keys(norms, widths):
    attention = Attention(CONFIG, norms=norms, rngs=nnx.Rngs(0))
    held = nnx.to_pure_dict(nnx.state(attention, nnx.Param))
    names = {"query_norm", "key_norm"} & set(held)
    if widths is None:
        assert not names
    else:
        found = [held[n]["scale"].shape for n in ("query_norm", "key_norm")]
        assert found == [(width,) for width in widths]


def test_gated_mlp_by_hand():
    config = Config(
        vocabulary=2, width=1, layers=1, heads=1, kv_heads=1, head_width=2, mlp_width=2
    )
    mlp = GatedMLP(config, rngs=nnx.Rngs(0))
    mlp.gate.kernel[...] = jnp.array([[1.0, -2.0]])
    mlp.up.kernel[...] = jnp.array([[3.0, 5.0]])
    mlp.down.kernel[...] = jnp.array([[7.0], [11.0]])

    def silu(z):
        return z / (1 + np.exp(-z))

    expected = 7 * silu(2.0) * 6 + 11 * silu(-4.0) * 10
    np.testing.assert_allclose(mlp(jnp.array([[2.0]])), [[expected]], rtol=1e-6)
