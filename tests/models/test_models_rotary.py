"""Rotary positions: turns by loops, stretched frequencies by a second formula."""

import dataclasses
import math

import jax.numpy as jnp
import numpy as np
import numpy_llama
import pytest

from routejax.models import SIZES, Config, Llama3, Yarn
from routejax.models.rotary import frequencies, table, turned

B, T, H, C = 2, 3, 4, 6


def config(width=C, theta=100.0, **settings):
    sizes = {"vocabulary": 2, "width": 4, "layers": 1, "heads": 1, "kv_heads": 1}
    return Config(**sizes, mlp_width=2, head_width=width, rope_theta=theta, **settings)


def rotary(x, positions, theta):
    turn = table(config(x.shape[-1], theta), "full", positions)
    return turned(x, turn)


@pytest.fixture
def drawn():
    rng = np.random.default_rng(0)
    return jnp.asarray(rng.normal(size=(2, B, H, T, C)), jnp.float32)


def test_rotary_by_hand():
    """One pair turns by its position in radians, whatever theta is."""
    x = jnp.tile(jnp.array([1.0, 0.0]), (1, 1, 3, 1))
    out = rotary(x, jnp.array([[0, 1, 5]]), 777.0)[0, 0]
    expected = [[np.cos(p), np.sin(p)] for p in (0, 1, 5)]
    np.testing.assert_allclose(out, expected, atol=1e-6)


def test_rotary_is_a_loop_over_pairs(drawn):
    positions = np.array([[0, 3, 11], [7, 7, 2]])
    out = np.asarray(rotary(drawn[0], jnp.asarray(positions), 100.0))
    for b, h, t in np.ndindex(B, H, T):
        vector = np.asarray(drawn[0][b, h, t])
        expected = numpy_llama.turn(vector, positions[b, t], 100.0)
        np.testing.assert_allclose(out[b, h, t], expected, atol=1e-5)


def test_rotated_products_depend_on_distance_only(drawn):
    here, there = jnp.array([[4, 9, 1], [0, 2, 30]]), jnp.array([[4, 3, 8], [5, 2, 0]])

    def product(shift: int):
        left = rotary(drawn[0], here + shift, 50.0)
        return (left * rotary(drawn[1], there + shift, 50.0)).sum(-1)

    np.testing.assert_allclose(product(0), product(13), atol=1e-5)
    assert np.abs(product(0) - (drawn[0] * drawn[1]).sum(-1)).max() > 0.1


def test_the_turn_in_float32_rounds_once(drawn):
    x = drawn[0].astype(jnp.bfloat16)
    turn = table(config(), "full", jnp.arange(T)[None].repeat(B, 0))
    once = turned(x.astype(jnp.float32), turn).astype(jnp.bfloat16)
    assert turned(x, turn, full=True).dtype == jnp.bfloat16
    np.testing.assert_array_equal(turned(x, turn, full=True), once)
    assert np.any(np.asarray(turned(x, turn)) != np.asarray(once))


YARN = Yarn(factor=8.0, original_positions=64)


def yarn_by_loop(c, yarn):
    """Pair by pair: how often it turns within the original length decides."""
    half, out = c.head_width // 2, []

    def place(turns):
        """Index whose wavelength fits `turns` times into the original length."""
        return (
            c.head_width
            * math.log(yarn.original_positions / (turns * 2 * math.pi))
            / (2 * math.log(c.rope_theta))
        )

    low = max(math.floor(place(yarn.beta_fast)), 0)
    high = min(math.ceil(place(yarn.beta_slow)), c.head_width - 1)
    for i in range(half):
        own = 1 / c.rope_theta ** (2 * i / c.head_width)
        if i <= low:
            out.append(own)
        elif i >= high:
            out.append(own / yarn.factor)
        else:
            share = (i - low) / (high - low)
            out.append(own * (1 - share) + own / yarn.factor * share)
    return out


@pytest.mark.parametrize("width", [16, 32, 128])
def test_yarn_is_a_loop_over_pairs(width):
    c = config(width, 500_000.0, rope_scaling=YARN)
    found, factor = frequencies(c, "full")
    np.testing.assert_allclose(found, yarn_by_loop(c, YARN), rtol=1e-12)
    assert factor == pytest.approx(0.1 * math.log(8) + 1)
    plain = 500_000.0 ** (-np.arange(width // 2) / (width // 2))
    assert found[0] == plain[0] == 1
    assert found[-1] == pytest.approx(plain[-1] / 8)


def test_a_ramp_that_ends_beyond_the_last_pair():
    """Pairs 5 to 9 of 8: the last one is half way, not all slow (by logarithms)."""
    yarn = Yarn(factor=4.0, original_positions=65_536)
    c = config(16, 10_000.0, rope_scaling=yarn)
    found, _ = frequencies(c, "full")
    np.testing.assert_allclose(found, yarn_by_loop(c, yarn), rtol=1e-12)
    plain = 10_000.0 ** (-np.arange(8) / 8)
    np.testing.assert_allclose(found[:6], plain[:6], rtol=1e-12)
    expected = plain[6:] * np.array([1 - 0.75 / 4, 1 - 0.75 / 2])
    np.testing.assert_allclose(found[6:], expected, rtol=1e-12)


def test_olmo3_stretches_full_layers_only():
    """The published checkpoint: factor 8 beyond 8,192 positions, 1.2079 on cosines."""
    c = SIZES["olmo3-7b"].config
    plain = 500_000.0 ** (-np.arange(64) / 64)
    sliding, one = frequencies(c, "sliding")
    np.testing.assert_allclose(sliding, plain, rtol=1e-12)
    assert one == 1
    full, factor = frequencies(c, "full")
    assert factor == pytest.approx(1.2079441541679836, abs=1e-15)
    # 32 turns within 8,192 positions: pair 18.1; one turn: pair 35.0 (by logarithms).
    first, last = 18, 35
    np.testing.assert_allclose(full[: first + 1], plain[: first + 1], rtol=1e-12)
    np.testing.assert_allclose(full[last:], plain[last:] / 8, rtol=1e-12)
    between = full[first + 1 : last] / plain[first + 1 : last]
    assert np.all(np.diff(between) < 0)
    assert np.all((between > 1 / 8) & (between < 1))
    turn = table(c, "full", jnp.zeros((1, 1), jnp.int32))
    np.testing.assert_allclose(turn.cos, factor, rtol=1e-6)


def test_a_given_attention_factor_is_taken():
    c = config(16, rope_scaling=YARN._replace(attention_factor=1.5))
    assert frequencies(c, "full")[1] == 1.5


def test_llama3_by_hand():
    """Original length 2π·8: a pair of frequency f turns 8 f times within it.

    Of turns 8, 0.8, 0.08 with slow below 1 and fast above 4: as it is, both a fourth.
    With slow below 0.5 and fast above 1.1, the second lies half way.
    """
    scaling = Llama3(factor=4.0, original_positions=1)
    scaling = scaling._replace(original_positions=16 * math.pi)
    c = config(6, 1000.0, rope_scaling=scaling)
    found, factor = frequencies(c, "full")
    assert factor == 1
    np.testing.assert_allclose(found, [1, 0.1 / 4, 0.01 / 4], rtol=1e-12)
    between = scaling._replace(low_freq_factor=0.5, high_freq_factor=1.1)
    found, _ = frequencies(dataclasses.replace(c, rope_scaling=between), "full")
    expected = [1, 0.1 * 0.5 + 0.1 / 4 * 0.5, 0.01 / 4]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
