"""Rollouts: one row of requests per problem, judged; the sampler itself is played."""

import contextlib
import dataclasses
import re
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from routejax import rollout, tokenizer
from routejax.draw import FULL
from routejax.envs import make_problem, write_trace
from routejax.envs.judging import Judges
from routejax.errors import UserError
from routejax.rollout import Decoding
from routejax.sampler import Samples, request_keys
from routejax.stages.grpo_facts import facts
from routejax.tokenizer import EOS

DECODING = Decoding(
    slots=4, refill_at=1, max_new_tokens=120, prompt_tokens=40, temperature=0.8
)
PROBLEMS = [make_problem("sort", 1, seed) for seed in (3, 4, 5)]
TRACES = [write_trace(problem, "smallest", "plain", 0) for problem in PROBLEMS]


@pytest.fixture(scope="module")
def made():
    return tokenizer.train([*TRACES, *(p.prompt + "\n" for p in PROBLEMS)], size=90)


@pytest.fixture
def play(student, params, made, monkeypatch):
    """A rollout whose sampler gives the ids it is told, and what it was asked."""

    def played(all_rows, problems=PROBLEMS, judges=None, **changes):
        asked = {"calls": 0}
        left = list(all_rows)

        def sample(mesh, student, params, queue, **settings):
            assert mesh is None
            asked.update(settings, queue=queue, calls=asked["calls"] + 1)
            rows = [left.pop(0) for _ in queue.owner]
            tokens = np.zeros((len(rows), settings["max_new"]), np.int32)
            for n, row in enumerate(rows):
                tokens[n, : len(row)] = row
            lengths = np.array([len(row) for row in rows], np.int32)
            shown = np.arange(settings["max_new"]) < lengths[:, None]
            return Samples(
                jnp.asarray(tokens),
                jnp.where(shown, -0.5, 0.0),
                jnp.asarray(lengths),
                jnp.int32(17),
            )

        monkeypatch.setattr(rollout, "sample_over", sample)
        found = rollout.rollout(
            student,
            params,
            made,
            problems,
            samples=len(all_rows) // max(1, len(problems)),
            seed=5,
            step=2,
            decoding=dataclasses.replace(DECODING, **changes),
            judges=judges,
        )
        return found, asked

    return played


def test_rewards_are_one_row_per_problem(play, made):
    """Right; right but without EOS; the answer to another problem."""
    right = [made.response(text) for text in TRACES]
    rows = [x for n in range(3) for x in (right[n], right[n][:-1], right[(n + 1) % 3])]
    found, _ = play(rows)
    assert found.rewards.tolist() == [[1, 0, 0]] * 3
    assert found.truncated.tolist() == [False, True, False] * 3
    assert found.lengths.tolist() == [len(row) for row in rows]
    assert found.steps == 17
    assert [verdict.solved for verdict in found.verdicts] == [True, True, False] * 3
    assert found.texts[:2] == [TRACES[0]] * 2
    for n, (example, row) in enumerate(zip(found.examples, rows, strict=True)):
        assert example.prompt == made.prompt(PROBLEMS[n // 3].prompt)
        assert example.response == row  # the sampled ids, never encoded again
    assert np.sum(found.logps != 0) == sum(map(len, rows))


def test_parts_give_what_the_whole_gives(play, made):
    """Three parts of one problem each, one judge for all; each part is sampled once."""
    right = [made.response(text) for text in TRACES]
    rows = [x for n in range(3) for x in (right[n], right[(n + 1) % 3])]
    whole, _ = play(rows)
    with Judges() as judges:
        found, asked = play(rows, parts=3, judges=judges)
    assert asked["calls"] == 3
    assert found.rewards.tolist() == whole.rewards.tolist() == [[1, 0]] * 3
    assert found.verdicts == whole.verdicts
    assert found.texts == whole.texts
    assert found.examples == whole.examples
    assert list(found.problems) == PROBLEMS
    np.testing.assert_array_equal(found.logps, whole.logps)
    assert found.seconds.keys() == whole.seconds.keys() == {"sample_s", "judge_s"}
    assert judges.stats()["here"] == 6


@pytest.mark.parametrize("problems", [2, 3])
def test_each_of_two_processes_judges_its_own(play, made, monkeypatch, problems):
    """Played one after the other: what the second gives is told to the first."""
    right = [made.response(text) for text in TRACES]
    rows = [x for n in range(problems) for x in (right[n], right[(n + 1) % 3], [])]
    alone, _ = play(rows, PROBLEMS[:problems])
    told = {}
    monkeypatch.setattr(rollout.processes, "count", lambda: 2)

    def exchanged(value):
        told[rollout.processes.index()] = value
        return [value, told.get(1, value)]

    monkeypatch.setattr(rollout.processes, "exchanged", exchanged)
    monkeypatch.setattr(rollout.processes, "index", lambda: 1)
    with contextlib.suppress(IndexError):  # the first has told nothing yet
        play(rows, PROBLEMS[:problems])
    monkeypatch.setattr(rollout.processes, "index", lambda: 0)
    found, _ = play(rows, PROBLEMS[:problems])
    assert [len(told[n]) for n in (0, 1)] == [3 * (problems - 1), 3]
    assert found.verdicts == alone.verdicts
    assert found.rewards.tolist() == alone.rewards.tolist() == [[1, 0, 0]] * problems


@pytest.mark.parametrize("parts", [1, 2])
def test_what_is_isolated_is_judged_by_workers_while_more_is_sampled(
    play, made, monkeypatch, parts
):
    """The environment is one of the tests, known to the worker by its own table."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "envs"))
    sort = dataclasses.replace(PROBLEMS[0], env="right", config={"gold": "<think>"})
    late = dataclasses.replace(PROBLEMS[1], env="sleeps")
    bad = dataclasses.replace(PROBLEMS[2], env="raises")
    right = made.response(TRACES[0])
    table = {"table": "bad_verifiers:ENVS", "timeout_s": 1.0, "sandbox": "none"}
    with Judges(workers=1, **table) as judges:
        found, _ = play([right] * 6, [sort, late, bad], judges=judges, parts=parts)
    statuses = [v.status for v in found.verdicts]
    assert statuses == ["answered"] * 2 + ["timeout"] * 2 + ["error"] * 2
    assert found.rewards.tolist() == [[1, 1], [0, 0], [0, 0]]
    assert found.judge_queue > 0
    told = facts(found)
    assert (told["judge_timeouts"], told["judge_errors"]) == (2, 2)
    assert (told["unparsed"], told["mixed_groups"]) == (0, 0)
    assert told["judge_workers"] == 6
    assert 0 < told["judge_rate"] < 6 / 2.0  # two of them take a second each
    with pytest.raises(UserError, match=r"one of sort, .* got 'right'"):
        play([right] * 2, [sort])
    assert judges.stats()["timeouts"]["sleeps"]["ids"] == [late.id]
    assert judges.stats()["errors"]["raises"]["count"] == 2


def test_ids_are_kept_where_text_has_another_spelling(play, made):
    """The same text, its reasoning letter by letter."""
    start, reasoning, answer = re.split("(?<=<think>)|(?=</think>)", TRACES[0])
    letters = [i for c in reasoning for i in made.encode(c)]
    assert len(letters) > len(made.encode(reasoning))
    ids = [*made.encode(start), *letters, *made.encode(answer), EOS]
    found, _ = play([ids], PROBLEMS[:1])
    assert found.texts == [TRACES[0]]
    assert found.examples[0].response == ids
    assert found.rewards.tolist() == [[1]]


def test_requests_are_of_their_problem_and_number(play, made):
    _, asked = play([[EOS]] * 6)
    queue = asked["queue"]
    assert queue.owner.tolist() == [0, 0, 1, 1, 2, 2]
    assert asked["slots"] == 4
    assert asked["stop_ids"] == (EOS,)
    for row, length, problem in zip(
        queue.prompts.tolist(), queue.prompt_lengths.tolist(), PROBLEMS, strict=True
    ):
        ids = made.prompt(problem.prompt)
        assert row == ids + [0] * (40 - len(ids))
        assert length == len(ids)
    # A sample's key is a function of its problem's id, wherever the problem stands.
    keys = np.asarray(queue.keys)
    assert len(np.unique(keys, axis=0)) == 6
    _, turned = play([[EOS]] * 6, PROBLEMS[::-1])
    np.testing.assert_array_equal(keys[:2], turned["queue"].keys[4:])
    number = np.array([rollout._number(PROBLEMS[1].id)], np.uint32)
    expected = request_keys(5, 2, number, np.array([1], np.uint32))
    np.testing.assert_array_equal(keys[3], expected[0])


def test_later_samples_have_the_keys_they_have_among_all(
    play, student, params, made, monkeypatch
):
    """Four of each problem at once, or one and then three from number 1 on."""
    _, asked = play([[EOS]] * 12)
    whole = np.asarray(asked["queue"].keys).reshape(3, 4, -1)
    queues = []

    def stop(mesh, student, params, queue, **settings):
        del mesh, student, params, settings
        queues.append(np.asarray(queue.keys).reshape(3, -1, 2))
        raise InterruptedError

    monkeypatch.setattr(rollout, "sample_over", stop)
    for samples, first in ((1, 0), (3, 1)):
        with contextlib.suppress(InterruptedError):
            rollout.sampled(
                student,
                params,
                made,
                PROBLEMS,
                samples=samples,
                first=first,
                seed=5,
                step=2,
                decoding=DECODING,
            )
    np.testing.assert_array_equal(np.concatenate(queues, 1), whole)


def test_an_empty_response_is_unsolved_and_cut_off(play):
    found, _ = play([[]], PROBLEMS[:1])
    assert found.rewards.tolist() == [[0]]
    assert found.truncated.tolist() == [True]
    assert found.examples[0].response == []


def test_a_prompt_that_is_too_long_is_named(play):
    with pytest.raises(UserError, match=rf"{PROBLEMS[0].id} \(sort\) has a prompt of"):
        play([[EOS]] * 3, prompt_tokens=2)


@pytest.mark.parametrize("temperature", [-1.0, float("nan"), float("inf")])
def test_a_temperature_that_means_nothing_is_refused(play, temperature):
    with pytest.raises(UserError, match="temperature must be at least 0"):
        play([[EOS]] * 3, temperature=temperature)


def test_the_sampler_is_told_which_tokens_may_be_drawn(play):
    _, asked = play([[EOS]] * 3, temperature=0.0, top_k=5, top_p=0.9, min_p=0.1)
    assert asked["truncation"] == (5, 0.9, 0.1)
    assert asked["temperature"] == 0
    _, asked = play([[EOS]] * 3)
    assert asked["truncation"] == FULL


@pytest.mark.parametrize(
    "change", [{"top_k": 5}, {"top_p": 0.99}, {"min_p": 0.01}, {"temperature": 0.0}]
)
def test_training_refuses_samples_that_are_not_of_the_policy(change):
    """Of a part of the tokens, or without chance; evaluation may have them."""
    DECODING.require_trainable()
    with pytest.raises(UserError, match="training needs top_k 0, top_p 1, min_p 0"):
        dataclasses.replace(DECODING, **change).require_trainable()
