"""Sampling: a request's answer is its own, and it follows the student's distribution.

Tokens are compared exactly between batches of different shape. In float32 a shape may
change the last bit of a logit, which moves a token only if its uniform number falls
within about 1e-7 of a border; the fixed seeds here have no such case.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import numpy_llama
import pytest
from scipy.stats import chisquare

from routejax import models, scoring
from routejax.errors import UserError
from routejax.packing import Example, pack
from routejax.sampler import Queue, request_keys, sample

WIDTH, NEW, STOPS = 6, 8, (3, 5)
PROMPTS = [[1, 7, 9], [2, 4, 4, 8, 20, 11], [6]]
TOTAL = 12


def queue(owner, keys, prompts=PROMPTS):
    padded = np.zeros((len(prompts), WIDTH), np.int32)
    for q, ids in enumerate(prompts):
        padded[q, : len(ids)] = ids
    return Queue(
        prompts=jnp.asarray(padded),
        prompt_lengths=jnp.asarray([len(ids) for ids in prompts], jnp.int32),
        owner=jnp.asarray(owner, jnp.int32),
        keys=keys,
    )


@pytest.fixture(scope="module")
def requests():
    """Four samples of each prompt."""
    owner, index = np.divmod(np.arange(TOTAL), 4)
    return owner, request_keys(7, 0, owner, index)


@pytest.fixture(scope="module")
def draw(student):
    def drawn(params, batch, *, slots, refill_at=1, temperature=1.0):
        out = sample(
            student,
            params,
            batch,
            slots=slots,
            max_new=NEW,
            stop_ids=STOPS,
            temperature=temperature,
            refill_at=refill_at,
        )
        return jax.tree.map(np.asarray, out)

    return drawn


@pytest.fixture(scope="module")
def reference(draw, params, requests):
    """All requests at once, one slot each: nothing is ever refilled."""
    return draw(params, queue(*requests), slots=TOTAL)


def check_rows(out):
    """What holds for every result: lengths, stop tokens and blanks agree."""
    for tokens, logps, length in zip(out.tokens, out.logps, out.lengths, strict=True):
        stops = np.flatnonzero(np.isin(tokens[:length], STOPS))
        ended = len(stops) > 0
        assert length == (stops[0] + 1 if ended else NEW)
        assert np.all(logps[:length] < 0)
        assert not tokens[length:].any()
        assert not logps[length:].any()


def test_the_reference_has_every_kind_of_row(reference):
    check_rows(reference)
    last = reference.tokens[np.arange(TOTAL), reference.lengths - 1]
    assert set(STOPS) <= set(last.tolist())  # both stop ids ended a row
    assert np.any(~np.isin(last, STOPS))  # and one was cut off
    assert np.any(reference.tokens[reference.lengths == NEW] == 0)  # 0 may be drawn
    assert len(set(reference.lengths.tolist())) > 3
    assert reference.steps == reference.lengths.max()


@pytest.mark.parametrize(("slots", "refill_at"), [(3, 1), (5, 4)])
def test_other_slots_and_refills_give_the_same(
    draw, params, requests, reference, slots, refill_at
):
    """Requests wait, and the ring of columns is passed more than twice."""
    out = draw(params, queue(*requests), slots=slots, refill_at=refill_at)
    check_rows(out)
    np.testing.assert_array_equal(out.tokens, reference.tokens)
    np.testing.assert_array_equal(out.lengths, reference.lengths)
    np.testing.assert_allclose(out.logps, reference.logps, atol=1e-5)
    assert out.steps == steps_taken(reference.lengths, slots, refill_at)
    assert out.steps > 2 * NEW


def steps_taken(lengths, slots, refill_at):
    """Steps until all is drawn, if idle slots take the next requests when due."""
    waiting, left, steps = list(lengths), [0] * slots, 0
    while waiting or any(left):
        idle = [slot for slot, rest in enumerate(left) if rest == 0]
        if len(idle) >= refill_at:
            for slot in idle[: len(waiting)]:
                left[slot] = waiting.pop(0)
        left = [max(0, rest - 1) for rest in left]
        steps += 1
    return steps


def test_a_request_alone_gives_the_same(draw, params, requests, reference):
    """Also more slots than requests: one of the two stays idle."""
    owner, keys = requests
    for n in range(TOTAL):
        out = draw(params, queue(owner[n : n + 1], keys[n : n + 1]), slots=2)
        length = reference.lengths[n]
        assert out.lengths.tolist() == [length]
        assert out.steps == length
        np.testing.assert_array_equal(out.tokens[0], reference.tokens[n])
        np.testing.assert_allclose(out.logps[0], reference.logps[n], atol=1e-5)


def test_results_follow_the_order_of_requests(draw, params, requests, reference):
    order = np.random.default_rng(0).permutation(TOTAL)
    owner, keys = requests
    out = draw(params, queue(owner[order], keys[order]), slots=3)
    np.testing.assert_array_equal(out.tokens, reference.tokens[order])
    np.testing.assert_array_equal(out.lengths, reference.lengths[order])


def test_prompts_may_stand_anywhere_in_the_queue(draw, params, requests, reference):
    owner, keys = requests
    turned = [PROMPTS[2], PROMPTS[0], PROMPTS[1]]
    out = draw(params, queue((owner + 1) % 3, keys, turned), slots=TOTAL)
    np.testing.assert_array_equal(out.tokens, reference.tokens)


def trained_logps(student, params, owner, out, temperature):
    """What `scoring.score` says of each row's sampled ids, five rows at a time."""
    found = []
    for first in range(0, TOTAL, 5):
        chosen = range(first, min(first + 5, TOTAL))
        packed = pack(
            [
                Example(PROMPTS[owner[n]], out.tokens[n, : out.lengths[n]].tolist())
                for n in chosen
            ],
            row_tokens=16,
            row_multiple=5,
        )
        scores = scoring.score(student, params, scoring.rows(packed), temperature)
        for place in range(len(chosen)):
            here = packed.response & (packed.example == place)
            found.append(np.asarray(scores.logps)[here])
    return found


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_logps_are_the_trainers(student, params, draw, requests, temperature):
    """Of the sampled ids, at the sampling temperature, to 1e-5."""
    owner, keys = requests
    out = draw(params, queue(owner, keys), slots=3, temperature=temperature)
    trained = trained_logps(student, params, owner, out, temperature)
    for n in range(TOTAL):
        found = out.logps[n, : out.lengths[n]]
        np.testing.assert_allclose(found, trained[n], atol=1e-5)


@pytest.mark.parametrize("layers", [3, 6])
def test_logps_are_the_trainers_with_windows(requests, layers):
    """Layers that see three positions, written out and scanned; slots are refilled."""
    sliding = models.create(
        "olmo3",
        vocabulary=24,
        width=16,
        layers=layers,
        heads=4,
        kv_heads=2,
        head_width=4,
        mlp_width=24,
        tied=False,
        window=3,
        layer_types=("sliding", "sliding", "sliding", "full"),
        rope_scaling=models.Yarn(factor=4.0, original_positions=16),
    )
    params = jax.tree.map(lambda leaf: 1.5 * leaf, sliding.init(1))
    owner, keys = requests
    sizes = {"slots": 3, "max_new": NEW, "stop_ids": STOPS, "refill_at": 1}
    out = sample(sliding, params, queue(owner, keys), temperature=1.0, **sizes)
    out = jax.tree.map(np.asarray, out)
    check_rows(out)
    assert out.lengths.max() == NEW
    assert sliding.config.window == 3
    trained = trained_logps(sliding, params, owner, out, 1.0)
    for n in range(TOTAL):
        found = out.logps[n, : out.lengths[n]]
        np.testing.assert_allclose(found, trained[n], atol=1e-5)


def test_near_zero_temperature_takes_the_likeliest(student, params, draw, requests):
    """Of the full forward of everything so far, here in numpy; whatever the key."""
    owner, keys = requests
    out = draw(params, queue(owner, keys), slots=3, temperature=1e-5)
    plain = numpy_llama.doubles(params)
    for q, prompt in enumerate(PROMPTS):
        ids = list(prompt)
        while len(ids) < len(prompt) + NEW and ids[-1] not in STOPS:
            last = numpy_llama.logits(student.config, plain, ids)[-1]
            second, first = np.sort(last)[-2:]
            assert first - second > 1e-3  # far more than float32 errs
            ids.append(int(last.argmax()))
        for n in np.flatnonzero(owner == q):
            assert out.tokens[n, : out.lengths[n]].tolist() == ids[len(prompt) :]
            np.testing.assert_allclose(out.logps[n], 0, atol=0.1)


@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_samples_follow_the_distribution(draw, bigram, requests, temperature):
    """Every token given the one before it, against softmax by chi-square."""
    rng = np.random.default_rng(2)
    table = rng.normal(size=(24, 24))
    table[:, [0, 11, 23]] += 2  # the first id, the last, and one between
    table[:, STOPS] -= 4  # rows should be long
    chance = np.exp(table / temperature)
    chance /= chance.sum(1, keepdims=True)
    params, owner = bigram(table), requests[0]
    ends = np.array([PROMPTS[q][-1] for q in owner])
    before, drawn, first = [], [], []
    for step in range(60):
        keys = request_keys(3, step, owner, np.arange(TOTAL) % 4)
        out = draw(params, queue(owner, keys), slots=TOTAL, temperature=temperature)
        for n, length in enumerate(out.lengths):
            row = out.tokens[n, :length]
            before += [ends[n], *row[:-1]]
            drawn += row.tolist()
            first.append(row[0])
    before, drawn, first = map(np.array, (before, drawn, first))
    assert len(drawn) > 5000
    assert close(drawn, chance[before]) > 1e-3
    for given in (0, 11, 23):
        chosen = before == given
        assert close(drawn[chosen], chance[before[chosen]]) > 1e-3
    # Samples that follow each other are equal no more often than by chance.
    start = chance[np.tile(ends, 60)]
    equal = (start[1:] * start[:-1]).sum(1)
    excess = np.sum(first[1:] == first[:-1]) - equal.sum()
    assert abs(excess) < 3.3 * np.sqrt(np.sum(equal * (1 - equal)))
    # And the check sees a slightly wrong temperature.
    wrong = chance[before] ** 1.1
    assert close(drawn, wrong / wrong.sum(1, keepdims=True)) < 1e-3


def close(drawn, chances):
    """p of counts under a chance per row, ids expected fewer than 8 times as one."""
    seen = np.bincount(drawn, minlength=24).astype(float)
    expected = chances.sum(0)
    rare = expected < 8
    if rare.any():
        seen = np.append(seen[~rare], seen[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    return chisquare(seen, expected).pvalue


def test_keys_are_a_function_of_four_numbers():
    """Folded one after the other, and different wherever one of them differs."""
    prompts, index = np.array([0, 5, 0, 1, 5, 1]), np.array([0, 1, 1, 0, 0, 1])
    found = set()
    for seed in (0, 9):
        for step in (0, 1):
            keys = np.asarray(request_keys(seed, step, prompts, index))
            for key, *numbers in zip(keys, prompts, index, strict=True):
                folded = functools.reduce(
                    jax.random.fold_in, (step, *numbers), jax.random.key(seed)
                )
                np.testing.assert_array_equal(key, jax.random.key_data(folded))
                found.add(tuple(key.tolist()))
    assert len(found) == 2 * 2 * 6


def test_other_keys_give_other_samples(draw, params, requests, reference):
    owner, _ = requests
    index = np.arange(TOTAL) % 4
    for keys in (request_keys(8, 0, owner, index), request_keys(7, 1, owner, index)):
        out = draw(params, queue(owner, keys), slots=TOTAL)
        assert np.mean(np.any(out.tokens != reference.tokens, 1)) > 0.8
    same = [reference.tokens[owner == q] for q in range(3)]
    assert all(len(np.unique(rows, axis=0)) > 1 for rows in same)


@pytest.mark.parametrize("wrong", ["slots", "max_new", "refill_at"])
def test_sizes_below_one_are_refused(student, params, requests, wrong):
    """Without idle slots to wait for, the loop would never draw a token."""
    sizes = {"slots": 2, "max_new": 2, "refill_at": 1} | {wrong: 0}
    with pytest.raises(UserError, match="must be at least 1"):
        sample(
            student, params, queue(*requests), stop_ids=(3,), temperature=1.0, **sizes
        )
