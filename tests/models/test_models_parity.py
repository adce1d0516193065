"""Logits equal those of transformers for tiny random checkpoints of every family."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import numpy_olmo3
import parity_folders
import pytest

from routejax.models import Places, rotary

TOLERANCE = 1e-4


def ours(student, params, tokens):
    """Logits [B T V], all rows from position 0."""
    places = Places(
        jnp.ones(tokens.shape, jnp.int32),
        jnp.broadcast_to(jnp.arange(tokens.shape[1]), tokens.shape),
    )

    @jax.jit
    def logits(params):
        hidden, _ = student.forward(params, jnp.asarray(tokens), places)
        return student.logits(params, hidden)

    return np.asarray(logits(params))


@functools.cache
def reference(name):
    student, params = parity_folders.student(name)
    tokens, logits = parity_folders.logits(name)
    return student, params, tokens, logits


@pytest.mark.parametrize("name", parity_folders.NAMES)
def test_parity_of_logits(name):
    student, params, tokens, logits = reference(name)
    assert np.abs(logits).max() > 2
    assert np.abs(ours(student, params, tokens) - logits).max() < TOLERANCE


@pytest.mark.parametrize("name", parity_folders.NAMES)
def test_the_fixtures_cover_what_they_should(name):
    config = reference(name)[0].config
    assert config.layers == 4
    assert config.heads == 2 * config.kv_heads
    assert config.heads * config.head_width != config.width
    assert config.tied == name.endswith("_tied")
    assert ("head" in reference(name)[1]) != config.tied
    if name.startswith("olmo3"):
        assert config.window
        assert reference(name)[2].shape[1] > 4 * config.window
        assert config.rope_scaling


@pytest.mark.parametrize("name", ["olmo3", "olmo3_tied"])
def test_parity_of_numpy_with_both(name):
    """A third opinion on OLMo 3, in float64."""
    student, params, tokens, logits = reference(name)
    mine = ours(student, params, tokens)
    settings, held = parity_folders.settings(name), parity_folders.tensors(name)
    for row in range(len(tokens)):
        plain = numpy_olmo3.logits(settings, held, tokens[row])
        assert np.abs(plain - logits[row]).max() < TOLERANCE
        assert np.abs(plain - mine[row]).max() < TOLERANCE


def test_parity_of_olmo3s_frequencies():
    config = reference("olmo3")[0].config
    rope = parity_folders.settings("olmo3")["rope_parameters"]
    for kind in ("full", "sliding"):
        found, factor = rotary.frequencies(config, kind)
        plain, wanted = numpy_olmo3.frequencies(rope[f"{kind}_attention"], 16)
        np.testing.assert_allclose(found, plain, rtol=1e-12)
        assert factor == wanted


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("olmo3", {"rope_scaling": None}),
        ("olmo3", {"window": 9}),
        ("olmo3", {"layer_types": ("sliding", "sliding", "full", "sliding")}),
        ("llama", {"rope_scaling": None}),
        ("llama", {"rope_theta": 4.9e5}),
        ("qwen3", {"norm_eps": 1e-3}),
    ],
)
def test_parity_is_lost_by_a_small_mistake(name, change):
    student, params, tokens, logits = reference(name)
    config = dataclasses.replace(student.config, **change)
    wrong = dataclasses.replace(student, config=config)
    assert np.abs(ours(wrong, params, tokens) - logits).max() > 2 * TOLERANCE


def test_parity_is_lost_where_sliding_layers_are_stretched(monkeypatch):
    """The mistake of several implementations."""
    student, params, tokens, logits = reference("olmo3")
    plain = rotary.frequencies
    monkeypatch.setattr(rotary, "frequencies", lambda c, kind: plain(c, "full"))
    assert np.abs(ours(student, params, tokens) - logits).max() > 10 * TOLERANCE
