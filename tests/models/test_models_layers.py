"""Each piece against plain loops, or against an answer worked by hand."""

import jax.numpy as jnp
import numpy as np
import numpy_llama
import pytest
from flax import nnx

from routejax.models.layers import GatedMLP, RMSNorm, attention, rotary
from routejax.models.llama import LlamaConfig

B, T, S, H, J, C = 2, 3, 5, 4, 2, 6


@pytest.fixture
def drawn():
    """Queries, keys, values and a mask in which every query sees slot 0."""
    rng = np.random.default_rng(0)
    queries = rng.normal(size=(B, H, T, C)).astype(np.float32)
    keys, values = rng.normal(size=(2, B, J, S, C)).astype(np.float32)
    mask = rng.random((B, T, S)) < 0.5
    mask[:, :, 0] = True
    return queries, keys, values, mask


def test_norm_by_hand():
    norm = RMSNorm(2, 0.0, rngs=nnx.Rngs(0))
    out = norm(jnp.array([[3.0, 4.0], [-1.0, 1.0]]))  # mean squares 12.5 and 1
    expected = [[3 / 12.5**0.5, 4 / 12.5**0.5], [-1, 1]]
    np.testing.assert_allclose(out, expected, rtol=1e-6)


def test_norm_scales_last_and_keeps_zero_finite():
    norm = RMSNorm(3, 0.25, rngs=nnx.Rngs(0))
    norm.scale[...] = jnp.array([1.0, 2.0, -3.0])
    x = np.array([[[0.0, 0, 0], [1, 1, 1]]], np.float32)
    expected = [numpy_llama.normalise(x[0], np.array([1.0, 2, -3]), 0.25)]
    np.testing.assert_allclose(norm(jnp.asarray(x)), expected, rtol=1e-6)
    assert np.all(np.asarray(norm(jnp.asarray(x)))[0, 0] == 0)


def test_rotary_by_hand():
    """One pair turns by its position in radians, whatever theta is."""
    x = jnp.tile(jnp.array([1.0, 0.0]), (1, 1, 3, 1))
    out = rotary(x, jnp.array([[0, 1, 5]]), 777.0)[0, 0]
    expected = [[np.cos(p), np.sin(p)] for p in (0, 1, 5)]
    np.testing.assert_allclose(out, expected, atol=1e-6)


def test_rotary_is_a_loop_over_pairs(drawn):
    positions = np.array([[0, 3, 11], [7, 7, 2]])
    out = np.asarray(rotary(jnp.asarray(drawn[0]), jnp.asarray(positions), 100.0))
    for b, h, t in np.ndindex(B, H, T):
        expected = numpy_llama.turn(drawn[0][b, h, t], positions[b, t], 100.0)
        np.testing.assert_allclose(out[b, h, t], expected, atol=1e-5)


def test_rotated_products_depend_on_distance_only(drawn):
    queries, keys = jnp.asarray(drawn[0][:, :J]), jnp.asarray(drawn[1][:, :, :T])
    here, there = jnp.array([[4, 9, 1], [0, 2, 30]]), jnp.array([[4, 3, 8], [5, 2, 0]])

    def product(shift: int):
        left = rotary(queries, here + shift, 50.0)
        return (left * rotary(keys, there + shift, 50.0)).sum(-1)

    np.testing.assert_allclose(product(0), product(13), atol=1e-5)
    assert np.abs(product(0) - (queries * keys).sum(-1)).max() > 0.1


def test_attention_is_a_loop_over_queries(drawn):
    out = np.asarray(attention(*map(jnp.asarray, drawn)))
    queries, keys, values, mask = drawn
    for b in range(B):
        expected = numpy_llama.attend(queries[b], keys[b], values[b], mask[b])
        np.testing.assert_allclose(out[b], expected, atol=1e-5)


def test_grouped_queries_are_repeated_heads(drawn):
    queries, keys, values, mask = map(jnp.asarray, drawn)
    full = [jnp.repeat(x, H // J, axis=1) for x in (keys, values)]
    np.testing.assert_allclose(
        attention(queries, keys, values, mask),
        attention(queries, *full, mask),
        atol=1e-6,
    )


def test_one_visible_slot_gives_its_value(drawn):
    queries, keys, values, _ = map(jnp.asarray, drawn)
    mask = jnp.zeros((B, T, S), bool).at[:, :, 3].set(True)
    out = attention(queries, keys * 1e4, values, mask)
    expected = np.repeat(np.repeat(values[:, :, 3:4], H // J, 1), T, 2)
    np.testing.assert_allclose(out, expected, atol=1e-6)


def test_a_query_that_sees_nothing_gives_the_mean(drawn):
    queries, keys, values, _ = map(jnp.asarray, drawn)
    out = attention(queries, keys, values, jnp.zeros((B, T, S), bool))
    expected = np.repeat(np.repeat(values.mean(2, keepdims=True), H // J, 1), T, 2)
    np.testing.assert_allclose(out, expected, atol=1e-6)


def test_gated_mlp_by_hand():
    config = LlamaConfig(
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
