"""Where GRPO's batches come from: prompts in order, groups, their scores, facts."""

import dataclasses
import functools

import jax
import numpy as np
import pytest
from played_rollouts import OUTCOMES, PROBLEMS, played, rolled, source_of

from routejax import checkpoints, envs, grpo
from routejax.errors import UserError
from routejax.rollout import joined
from routejax.scoring import score
from routejax.stages.grpo_facts import facts


@pytest.fixture
def source(student, params):
    return functools.partial(source_of, student, params)


def drawn(source, params, step=0):
    """The only batch of a step, and its facts without times."""
    (batch,), found = source.next(params, step)
    return batch, {k: v for k, v in found.items() if not k.endswith("_s")}


@pytest.mark.parametrize(
    ("groups", "kept"), [("mixed", [2, 3, 6, 7]), ("all", [*range(8)])]
)
@pytest.mark.parametrize("preset", ["paper", "open_instruct"])
def test_mixed_groups_alone_or_all(groups, kept, preset, source, params):
    """The mean is over the whole step, or over what is trained on.

    In a mean over responses a token of one of n tokens weighs 1 / (8 n).
    """
    rule = grpo.PRESETS[preset]
    batch, _ = drawn(source(groups=groups, preset=rule), params)
    weights = np.asarray(batch.weights)
    lengths = [n % 3 + 1 for n in kept]
    counted = {"paper": len(kept) / 8, "open_instruct": 1.0}[preset]
    assert weights.sum() == pytest.approx(counted)
    if preset == "paper":
        expected = sorted(1 / (8 * n) for n in lengths for _ in range(n))
    else:
        expected = [1 / sum(lengths)] * sum(lengths)
    assert sorted(weights[weights > 0].tolist()) == pytest.approx(expected)


def test_facts_by_hand(source, params):
    _, found = drawn(source(), params)
    shares = {"reward": 0.5, "all_fail": 0.25, "mixed": 0.5, "all_correct": 0.25}
    assert found == {
        **shares,
        **{f"{name}/count": share for name, share in shares.items()},
        "prompts": 4,
        "mixed_groups": 2,
        "refills": 0,
        "unmixed_steps": 0,
        "length": pytest.approx(np.mean([1, 2, 3, 1, 2, 3, 1, 2])),
        "length_max": 3,
        "sampled_tokens": 15,
        "truncated": 0.0,
        "unparsed": 0.0,
        "judge_errors": 0,
        "judge_timeouts": 0,
        "judge_queue": 0,
        "judge_workers": 0,
        "judge_rate": 0.0,
        "sampler_steps": 9,
    }


def test_facts_of_each_environment():
    """Two prompts of one, one of another; a response that was cut off is unsolved."""
    problems = [
        envs.make_problem(env, 1, seed)
        for env, seed in (("count", 0), ("sort", 1), ("count", 2))
    ]
    outcomes = [[1, 1], [1, 0], [0, 1]]
    cut = np.array([0, 1, 0, 0, 0, 0], bool)
    found = facts(played(problems, outcomes, truncated=cut))
    assert found["truncated"] == pytest.approx(1 / 6)
    assert (found["mixed"], found["mixed_groups"]) == (1.0, 3)
    assert (found["mixed/count"], found["mixed/sort"]) == (1.0, 1.0)
    assert (found["reward/count"], found["reward/sort"]) == (0.75, 0.5)
    assert (found["sample_s"], found["judge_s"]) == (1.0, 0.5)
    whole = facts(played(problems, outcomes))
    assert (whole["all_correct/count"], whole["all_correct/sort"]) == (0.5, 0.0)
    assert whole["all_correct"] == pytest.approx(1 / 3)


def test_every_token_has_its_own_log_probabilities(source, params, student):
    batch, _ = drawn(source(groups="all"), params)
    inside = np.asarray(batch.weights) > 0
    assert sorted(np.asarray(batch.sampler_logps)[inside].tolist()) == sorted(
        -float(t + 1) for n in range(8) for t in range(n % 3 + 1)
    )
    assert not np.asarray(batch.sampler_logps)[~inside].any()
    assert batch.old_logps is None
    scores = score(student, params, batch.rows, 1.0)
    np.testing.assert_array_equal(batch.ref_logps, scores.logps)


def test_several_updates_share_a_rollout(source, params, student):
    """Later ones with log-probabilities of the policy that sampled, row for row."""
    moved = jax.tree.map(lambda x: x * 1.1, params)
    batches, _ = source(groups="all", updates=3).next(moved, 0)
    assert [batch.old_logps is None for batch in batches] == [True, False, False]
    assert batches[1] is batches[2]
    for before, after in zip(batches[0][:-1], batches[1][:-1], strict=True):
        assert before is after
    old = score(student, moved, batches[0].rows, 1.0).logps
    np.testing.assert_array_equal(batches[1].old_logps, old)
    ref = score(student, params, batches[0].rows, 1.0).logps
    np.testing.assert_array_equal(batches[1].ref_logps, ref)
    assert not np.allclose(old, ref, atol=1e-3)


def test_log_probabilities_do_not_depend_on_the_passes(source, params):
    """Four rows at once, or two at a time: every row comes back to its place."""
    settings = {"groups": "all", "updates": 2, "row_multiple": 4}
    whole, _ = source(**settings).next(params, 0)
    parts, _ = source(**settings, pass_rows=2).next(params, 0)
    filled = np.asarray(whole[0].rows.segments).max(1) > 0
    assert filled.tolist() == [True, True, True, False]
    for one, other in zip(whole[1][3:], parts[1][3:], strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_the_reference_stays_while_the_policy_moves(source, params):
    digest = checkpoints.weights_hash(params)
    made = source(groups="all")
    first, _ = drawn(made, params)
    second, _ = drawn(made, jax.tree.map(lambda x: x + 1, params))
    assert (first.ref_logps != 0).any()
    np.testing.assert_array_equal(first.rows.tokens, second.rows.tokens)
    np.testing.assert_array_equal(first.ref_logps, second.ref_logps)
    made.require_reference()
    assert checkpoints.weights_hash(params) == digest


def test_a_changed_reference_stops_before_it_is_saved(source, params):
    mine = jax.tree.map(np.array, params)
    made = source()
    made._reference = mine
    made.state()
    mine["norm"]["scale"][3] = np.nextafter(mine["norm"]["scale"][3], 9)
    with pytest.raises(RuntimeError, match="reference parameters changed during"):
        made.state()


# Prompts in order --------------------------------------------------------------------


def asking(source, outcomes=lambda call: OUTCOMES, **changes):
    """A source whose rollouts have outcomes by call, and the ids that were asked."""
    seen = []

    def roll(params, problems, step):
        seen.append([problem.id for problem in problems])
        return played(problems, outcomes(len(seen))[: len(problems)])

    return seen, source(roll=roll, **changes)


def test_no_batch_has_a_problem_twice_and_epochs_differ(source, params):
    seen, made = asking(source)
    for step in range(6):
        made.next(params, step)
    assert all(len(set(batch)) == 4 for batch in seen)
    for epoch in (seen[:2], seen[2:4], seen[4:]):  # 9 problems: two batches, one left
        assert len({i for batch in epoch for i in batch}) == 8
    assert seen[:2] != seen[2:4] != seen[4:]


def test_rollouts_go_on_where_they_stood(source, params):
    seen, made = asking(source)
    for step in range(5):
        made.next(params, step)
        state = made.state()
    made.next(params, 5)
    again, later = asking(source)
    later.restore(state)
    later.next(params, 5)
    assert again == seen[5:]


def test_more_prompts_than_problems_are_refused(source):
    with pytest.raises(UserError, match=r"at most 9 \(problems for RL\), got 10"):
        source(prompts=10)


def test_an_unknown_choice_of_groups_is_refused(source):
    with pytest.raises(UserError, match="'mixed' or 'all', got 'some'"):
        source(groups="some")


# Too few mixed groups ----------------------------------------------------------------

FAILED = np.zeros((4, 2), bool)
MANY = envs.problem_set(["count"], [2, 3, 4], 7, split="rl", seed=0).problems


def mixed_at(*calls):
    """Outcomes with two mixed groups of four at these calls, and none elsewhere."""
    return lambda call: OUTCOMES if call in calls else FAILED


@pytest.mark.parametrize(
    ("refill", "min_mixed", "calls", "asked", "mixed"),
    [
        (0, 1, [2], 1, 0),  # not asked for
        (3, 1, [1], 1, 2),  # enough at once
        (3, 1, [2], 2, 2),  # enough after one more
        (3, 2, [3, 4], 3, 2),
        (3, 4, [1, 2], 2, 4),  # enough together
        (3, 3, [2, 4], 4, 4),  # two are not enough, nor is the bound passed
        (3, 1, [], 4, 0),  # the bound
        (2, 9, [1, 2, 3], 3, 6),
    ],
)
def test_a_step_without_mixed_groups_is_refilled(
    refill, min_mixed, calls, asked, mixed, source, params
):
    settings = {"problems": MANY, "refill": refill, "min_mixed": min_mixed}
    seen, made = asking(source, mixed_at(*calls), **settings)
    batch, found = drawn(made, params)
    assert len(seen) == asked
    assert len({i for batch in seen for i in batch}) == 4 * asked  # all new
    assert (found["refills"], found["mixed_groups"]) == (asked - 1, mixed)
    assert (found["prompts"], found["unmixed_steps"]) == (4 * asked, mixed == 0)
    assert found["mixed"] == mixed / (4 * asked)  # of all that were sampled
    assert found["sampler_steps"] == 9 * asked
    # A mean over all samples of the step, of which two a mixed group are trained on.
    assert np.sum(batch.weights) == pytest.approx(2 * mixed / (8 * asked))


def test_refilling_ends_where_a_problem_would_come_again(source, params):
    """Nine problems are two batches; what is left of the bound waits for the next."""
    seen, made = asking(source, mixed_at(), refill=8)
    _, found = drawn(made, params)
    assert (found["refills"], found["unmixed_steps"]) == (1, 1)
    _, found = drawn(made, params, 1)
    assert found["unmixed_steps"] == 2
    assert 2 <= len(seen) <= 4
    for step in (seen[:2], seen[2:]):
        assert len({i for batch in step for i in batch}) == 4 * len(step)
    plain, whole = asking(source)
    for step in range(len(seen)):
        whole.next(params, step)
    assert plain == seen  # no batch was lost on the way


@pytest.mark.parametrize("stop", range(5))
def test_refilled_rollouts_go_on_where_they_stood(stop, source, params):
    """Calls with mixed groups are those of a run that nothing stopped."""
    calls = [1, 5, 6]
    seen, made = asking(source, mixed_at(*calls), problems=MANY, refill=1)
    states, found = [(made.state(), 0)], []
    for step in range(5):
        found.append(drawn(made, params, step)[1])
        states.append((made.state(), len(seen)))
    assert [row["refills"] for row in found] == [0, 1, 1, 0, 1]
    assert [row["unmixed_steps"] for row in found] == [0, 1, 1, 1, 2]
    state, before = states[stop]
    outcomes = mixed_at(*(call - before for call in calls))
    again, later = asking(source, outcomes, problems=MANY, refill=1)
    later.restore(state)
    assert [drawn(later, params, step)[1] for step in range(stop, 5)] == found[stop:]
    assert again == seen[before:]


def test_rollouts_join_in_order():
    parts = [played(PROBLEMS[:2], OUTCOMES[:2]), played(PROBLEMS[2:4], OUTCOMES[2:])]
    whole, apart = joined(parts), played(PROBLEMS[:4], OUTCOMES)
    for field in dataclasses.fields(whole):
        found = getattr(whole, field.name)
        if field.name in ("steps", "seconds") or isinstance(found, int | float):
            continue
        halves = [getattr(part, field.name) for part in parts]
        assert len(found) == len(getattr(apart, field.name))
        if isinstance(found, np.ndarray):
            np.testing.assert_array_equal(found, np.concatenate(halves))
        else:
            assert found == [*halves[0], *halves[1]]
    assert whole.steps == 18
    assert whole.seconds == {"sample_s": 2.0, "judge_s": 1.0}
    assert joined(parts[:1]) is parts[0]


def test_a_played_rollout_has_its_outcomes():
    found = rolled({}, PROBLEMS[:4], 0)
    np.testing.assert_array_equal(found.solved, OUTCOMES)
