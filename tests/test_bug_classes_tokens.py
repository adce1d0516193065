"""Mistakes that trainers have made with tokens, masks and log-probabilities.

One test for each, named after what one would see.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pyarrow as pa
import pytest
from played_rollouts import PROBLEMS, judged, letters, source_of

from routejax import grpo, rollout, sft, update
from routejax.errors import UserError
from routejax.packing import Example, pack
from routejax.rollout import Decoding
from routejax.scoring import rows, score
from routejax.stages.sft import tokenised
from routejax.tokenizer import Form, Pieces
from routejax.tokenizer.record import plain

PAPER = grpo.PRESETS["paper"]
DECODING = Decoding(
    slots=4, refill_at=1, max_new_tokens=4, prompt_tokens=8, temperature=1.0
)


def merging(pair, merged=20):
    """A tokenizer of letters and newlines that spells `pair` with one id."""
    alone = letters()

    def split(text):
        ids, at = [], 0
        while at < len(text):
            whole = text.startswith(pair, at)
            ids += [merged] if whole else alone.split(text[at]).ids
            at += 2 if whole else 1
        return Pieces(ids, [*range(len(ids))], [*range(1, len(ids) + 1)])

    def join(ids):
        known = {1: "\n", merged: pair}
        return "".join(known.get(i, chr(93 + i)) for i in ids)

    return dataclasses.replace(alone, split=split, join=join)


def sft_batch(tokenizer, *texts):
    """Examples of prompts and responses, and their batch of one row each."""
    ids, prompts, responses = zip(
        *((str(n), *pair) for n, pair in enumerate(texts)), strict=True
    )
    table = pa.table({"id": ids, "prompt": prompts, "response": responses})
    examples = tokenised(tokenizer, table).examples
    return examples, sft.batch(examples, row_tokens=16, row_multiple=len(examples))


def learned(batch):
    """Ids with a weight in the loss, row by row."""
    kept = np.asarray(batch.weights) > 0
    return [
        row[here].tolist() for row, here in zip(batch.rows.tokens, kept, strict=True)
    ]


def test_ids_that_were_sampled_are_not_spelled_anew(student, params, monkeypatch):
    """ "ab" sampled as two ids, which the tokenizer would write as one."""
    tokenizer = merging("ab")
    assert tokenizer.encode("ab") == [20]
    changes = {"split": tokenizer.split, "join": tokenizer.join}
    rolled = judged(monkeypatch, student, params, [[4, 5, 3], [20, 3]], **changes)
    assert rolled.texts == ["ab", "ab"]
    made = source_of(
        student,
        params,
        roll=lambda *_: rolled,
        problems=rolled.problems,
        prompts=1,
        groups="all",
    )
    (batch,), _ = made.next(params, 0)
    assert [i for row in learned(batch) for i in row] == [4, 5, 3, 20, 3]
    sampled = np.asarray(batch.sampler_logps)[np.asarray(batch.weights) > 0]
    assert sampled.tolist() == [-0.5] * 5


def test_prompt_and_response_do_not_merge_where_they_meet():
    """The newline after a prompt and the first letter of a response have one id."""
    tokenizer = merging("\nb")
    assert tokenizer.encode("a\nbc") == [4, 20, 6]
    (example,), batch = sft_batch(tokenizer, ("a", "bc"))
    assert example.prompt == tokenizer.prompt("a") == [2, 4, 1]
    assert learned(batch) == [[5, 6, 3]]


def test_bos_is_there_once_in_training_and_in_sampling(student, params, monkeypatch):
    tokenizer = merging("\nb")
    (example,), _ = sft_batch(tokenizer, ("abc", "de"))
    changes = {"split": tokenizer.split, "join": tokenizer.join}
    rolled = judged(monkeypatch, student, params, [[4, 3]], **changes)
    assert rolled.examples[0].prompt == example.prompt
    assert [*example.prompt, *example.response].count(tokenizer.bos) == 1
    doubled = Form(
        lambda text: [2, *plain(tokenizer).prompt(text)],
        lambda *pair: plain(tokenizer).turn(*pair)._replace(prompt=[2, 2, 4]),
    )
    without = Form(
        lambda text: plain(tokenizer).prompt(text)[1:],
        lambda *pair: plain(tokenizer).turn(*pair)._replace(prompt=[4]),
    )
    for form, why in ((doubled, "2 times instead of once"), (without, "not there")):
        with pytest.raises(UserError, match=why):
            sft_batch(dataclasses.replace(tokenizer, form=form), ("abc", "de"))


@pytest.mark.parametrize("end", [3, 0])
def test_the_end_is_learned_also_where_it_is_the_padding_id(end):
    """Rows are padded with id 0; an end of id 0 is still a token to learn."""
    example = Example([2, 5, 1], [6, 7, end])
    batch = sft.batch([example, example], row_tokens=9, row_multiple=2)
    assert learned(batch) == [[6, 7, end]] * 2
    rl, _ = grpo.batch(
        [example] * 2,
        np.ones(2),
        preset=PAPER,
        samples=2,
        tokens=6,
        row_tokens=9,
        row_multiple=2,
    )
    assert learned(rl) == [[6, 7, end]] * 2


def test_every_example_has_its_end_once():
    examples, batch = sft_batch(merging("\nb"), ("a", "bc"), ("b", "a"))
    assert [example.response.count(3) for example in examples] == [1, 1]
    assert [ids.count(3) for ids in learned(batch)] in ([1, 1], [2, 0])
    cut = Form(
        plain(letters()).prompt,
        lambda *pair: plain(merging("\nb")).turn(*pair)._replace(response=[4, 5]),
    )
    with pytest.raises(UserError, match="its response ends in id 5"):
        sft_batch(dataclasses.replace(merging("\nb"), form=cut), ("a", "ab"))


def test_a_response_without_an_end_is_not_masked_to_the_end_of_its_row(
    student, params, monkeypatch
):
    rolled = judged(monkeypatch, student, params, [[5, 6]])
    assert rolled.truncated.tolist() == [True]
    batch, _ = grpo.batch(
        rolled.examples,
        np.ones(1),
        preset=PAPER,
        samples=1,
        tokens=2,
        row_tokens=12,
        row_multiple=1,
    )
    assert learned(batch) == [[5, 6]]
    assert np.sum(batch.weights) == pytest.approx(1)


def test_the_second_of_several_stops_ends_a_response_too(student, bigram):
    """Sampled for real: after anything comes 5, after 5 comes 9, which is a stop."""
    table = np.zeros((24, 24))
    table[:, 5] = 50
    table[5] = np.where(np.arange(24) == 9, 50, 0)
    tokenizer = letters(stops=(3, 9))
    problem = dataclasses.replace(PROBLEMS[0], prompt="abc")
    settings = {"samples": 3, "seed": 0, "step": 0, "decoding": DECODING}
    found = rollout.rollout(student, bigram(table), tokenizer, [problem], **settings)
    assert [example.response for example in found.examples] == [[5, 9]] * 3
    assert not found.truncated.any()
    alone = rollout.rollout(student, bigram(table), letters(), [problem], **settings)
    assert alone.lengths.tolist() == [4] * 3
    assert alone.truncated.all()


def test_a_score_is_of_its_own_token_not_of_a_neighbour(student, bigram):
    """Of 10 11 12 13 only 12 is learned: what is asked is 12 after 11."""
    table = np.random.default_rng(0).normal(size=(24, 24))
    expected = table[11, 12] - np.log(np.exp(table[11]).sum())
    params = bigram(table)
    batch = sft.batch([Example([10, 11], [12])], row_tokens=4, row_multiple=1)
    value, _ = sft.loss(student)(params, batch)
    assert float(value) == pytest.approx(-expected, rel=1e-5)
    packed = pack([Example([10, 11], [12, 13])], row_tokens=4)
    assert packed.response.tolist() == [[False, False, True, True]]
    logps = score(student, params, rows(packed)).logps
    assert float(logps[0, 2]) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("before", [0, 1, 3])
def test_log_probabilities_do_not_depend_on_padding_or_place(student, params, before):
    """The same example alone, in a wider row, and behind others of its row."""
    example = Example([2, 7, 8], [9, 4, 3])
    others = [Example([2, 5 + n, 6], [7, 8, 11, 12]) for n in range(before)]
    scored = []
    for examples, width in (([example], 6), ([*others, example], 32)):
        packed = pack(examples, row_tokens=width)
        own = packed.response & (packed.example == len(examples) - 1)
        logps = np.asarray(score(student, params, rows(packed)).logps)
        scored.append(logps[own])
    np.testing.assert_allclose(scored[0], scored[1], atol=1e-5)


def test_temperature_is_in_the_log_probabilities_of_all_three(student, params):
    """Policy, policy before the update, and reference, at what samples are drawn at."""
    made = source_of(student, params, temperature=0.6, updates=2, groups="all")
    (first, later), _ = made.next(params, 0)
    kept = np.asarray(later.weights) > 0
    warm, plain = (score(student, params, first.rows, t).logps for t in (0.6, 1.0))
    for found in (later.ref_logps, later.old_logps):
        np.testing.assert_allclose(found[kept], warm[kept], atol=1e-5)
        assert np.abs(found - plain)[kept].max() > 0.1
    loss = grpo.loss(student, PAPER, beta=0.1, temperature=0.6)
    _, metrics = loss(params, later)
    assert float(metrics["policy_gap"]) < 1e-5
    assert float(metrics["kl"]) < 1e-9


@pytest.mark.parametrize("change", [{"temperature": 0.0}, {"top_p": 0.8}, {"top_k": 5}])
def test_samples_of_a_part_of_the_tokens_are_not_trained_on(change):
    """Zero would divide; a part of the tokens has other log-probabilities than all."""
    DECODING.require_trainable()
    with pytest.raises(UserError, match="top_p 1, min_p 0 and a temperature above 0"):
        dataclasses.replace(DECODING, **change).require_trainable()


def test_the_ratio_is_one_at_the_first_update_and_not_after_it(student, params):
    """Exactly one; and the second update runs on other weights, not on the same."""
    made = source_of(student, params, updates=2, groups="all")
    (first, later), _ = made.next(params, 0)
    rule = optax.sgd(0.1)
    loss = grpo.loss(student, PAPER, beta=0.0, temperature=1.0)
    value, metrics = loss(params, first)
    assert value == -jnp.sum(first.weights * first.advantages)
    assert metrics["clip_share"] == 0
    # The trainer's numbers of before the update are those that the update has.
    assert float(loss(params, later)[1]["policy_gap"]) < 2e-6
    state = update.start(params, rule)
    state, _ = update.train_step(loss, rule, state, first)
    state, metrics = update.train_step(loss, rule, state, later)
    assert float(metrics["policy_gap"]) > 0.01
    slopes = [
        jax.grad(loss, has_aux=True)(state.params, batch)[0]["head"]
        for batch in (first, later)
    ]
    assert np.abs(slopes[0] - slopes[1]).max() > 1e-4


def test_ratios_are_of_tokens_not_of_the_sequence():
    """1.10 · 0.90 · 1.50 is over the border as a product; only 1.50 is as a token."""
    ratios = np.array([1.10, 0.90, 1.50], np.float32)
    value, clipped = grpo.surrogate(
        jnp.log(ratios), jnp.zeros(3), jnp.ones(3, jnp.float32), PAPER
    )
    np.testing.assert_allclose(value, [1.10, 0.90, 1.20], rtol=1e-6)
    assert clipped.tolist() == [False, False, True]
