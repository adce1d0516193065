"""At temperature 0 the sampler says what transformers' `generate` says, id for id."""

import functools

import jax
import jax.numpy as jnp
import make_greedy_fixtures as greedy
import numpy as np
import pytest

from routejax.models import weights
from routejax.sampler import Queue, request_keys, sample

STOPS = greedy.STOPS


@functools.cache
def ours(name):
    """Of all prompts; 48 slots, so that most requests take a place that was used."""
    student, params = weights.load(greedy.FOLDER / name)
    prompts, lengths = greedy.drawn()
    number = np.arange(greedy.COUNT, dtype=np.uint32)
    out = sample(
        student,
        params,
        Queue(
            prompts=jnp.asarray(prompts, jnp.int32),
            prompt_lengths=jnp.asarray(lengths, jnp.int32),
            owner=jnp.asarray(number, jnp.int32),
            keys=request_keys(0, 0, number, number),
        ),
        slots=48,
        max_new=greedy.NEW,
        stop_ids=STOPS,
        temperature=0.0,
        refill_at=8,
    )
    return jax.tree.map(np.asarray, out)


@pytest.mark.parametrize("name", greedy.NAMES)
def test_greedy_parity_with_what_transformers_said(name):
    found, wanted = ours(name), greedy.held(name)
    np.testing.assert_array_equal(found.lengths, wanted.lengths)
    np.testing.assert_array_equal(found.tokens, wanted.responses)


@pytest.mark.parametrize("name", greedy.NAMES)
def test_the_greedy_fixtures_cover_what_they_should(name):
    held = greedy.held(name)
    prompts, lengths = greedy.drawn()
    np.testing.assert_array_equal(held.prompts, prompts)
    np.testing.assert_array_equal(held.prompt_lengths, lengths)
    assert len(set(lengths.tolist())) == greedy.LONGEST
    assert len(np.unique(held.responses, axis=0)) > greedy.COUNT / 2
    stopped = np.isin(held.responses[np.arange(greedy.COUNT), held.lengths - 1], STOPS)
    assert 5 < stopped.sum() < greedy.COUNT - 5  # the others are cut off


def test_each_stop_of_the_set_ends_a_response():
    rows = [greedy.held(name) for name in greedy.NAMES]
    last = [h.responses[np.arange(greedy.COUNT), h.lengths - 1] for h in rows]
    assert set(STOPS) <= set(np.concatenate(last).tolist())


@pytest.mark.filterwarnings("ignore")  # both libraries warn of their own age
@pytest.mark.parametrize("name", greedy.NAMES)
def test_greedy_parity_with_what_transformers_says(name):
    """The installed release, with the `parity` extra."""
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    found, wanted = ours(name), greedy.generated(name)
    np.testing.assert_array_equal(found.lengths, wanted.lengths)
    np.testing.assert_array_equal(found.tokens, wanted.responses)
