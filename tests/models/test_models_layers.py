"""Each piece against plain loops, or against an answer worked by hand."""

import jax.numpy as jnp
import numpy as np
import numpy_llama
import pytest
from flax import nnx

from routejax.models import Config, Execution, Places, rotary
from routejax.models.attention import attend
from routejax.models.layers import Attention, GatedMLP, RMSNorm, Scene, normalise

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


@pytest.mark.parametrize("late", [True, False])
def test_where_the_turn_rounds(late):
    """OLMo 3 turns in float32 and rounds once, the others turn in their own dtype."""
    attention = Attention(CONFIG, late=late, rngs=nnx.Rngs(0))
    for part in (attention.query, attention.key, attention.value, attention.out):
        part.kernel = nnx.Param(part.kernel[...].astype(jnp.bfloat16))
    x = jnp.asarray(np.random.default_rng(0).normal(size=(40, 6)), jnp.bfloat16)
    ones = jnp.ones((2, 20), jnp.int32)
    places = Places(segments=ones, positions=jnp.cumsum(ones, 1) - 1)
    turn = rotary.table(CONFIG, "full", places.positions)
    scene = Scene(places, turn, None, Execution())
    kept = attention(x, scene, None)[1].keys.swapaxes(-1, -2)
    assert kept.dtype == jnp.bfloat16
    plain = (x @ attention.key.kernel[...]).reshape(2, 20, 2, 2).transpose(0, 2, 1, 3)
    np.testing.assert_array_equal(kept, rotary.turned(plain, turn, full=late))
    other = rotary.turned(plain, turn, full=not late)
    assert np.any(np.asarray(kept) != np.asarray(other))


@pytest.mark.parametrize("implementation", ["plain", "blockwise"])
def test_scores_are_not_rounded(implementation):
    """256 and 257 are one number in bfloat16; as scores they are two."""
    queries = jnp.array([[[[16.0, 1.0]] * 2]], jnp.bfloat16)
    keys = jnp.array([[[[16.0, 0.0], [16.0, 1.0]]]], jnp.bfloat16)
    values = jnp.array([[[[0.0, 0.0], [1.0, 1.0]]]], jnp.bfloat16)
    places = Places(jnp.ones((1, 2), jnp.int32), jnp.array([[0, 1]]))
    out = attend(queries, keys, values, places, implementation=implementation)
    share = 1 / (1 + np.exp(-1 / 2**0.5))  # 0.67; of equal scores 0.5
    np.testing.assert_allclose(out[0, 0, 1].astype(jnp.float32), share, rtol=1e-2)
