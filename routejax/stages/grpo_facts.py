"""What a line of `grpo/metrics.jsonl` says, and how it comes from a step's samples.

    step            number of the step, from 1: one rollout, `grpo.updates` updates

Over all samples and prompts of the step, those of further batches too:

    reward          mean over samples
    all_fail        share of prompts of which no sample is solved; by outcome, as the
    mixed           share of which some are, and the
    all_correct     share of which all are
    reward/ENV      the same four of each environment that was asked; and all_fail/ENV,
                    mixed/ENV, all_correct/ENV
    prompts         number of prompts
    mixed_groups    number of them that are mixed
    refills         further batches of prompts, sampled for want of mixed groups
    unmixed_steps   steps so far without one mixed group
    length          tokens of a response, mean; length_max: largest
    sampled_tokens  tokens of all responses
    truncated       share of responses that were cut off
    unparsed        share of responses without an answer that the verifier can read
    judge_errors    responses whose verifier failed; they count as not solved
    judge_timeouts  the same, for want of time
    judge_queue     responses that were not yet judged when all were sampled
    judge_workers   responses that went to worker processes; judge_rate: how many of
                    them one worker judged in a second of its work, its start included
    sampler_steps   decoding steps

Over tokens that are trained on; with several updates the mean over those that have it:

    loss, grad_norm before clipping
    trained_tokens  tokens of one update
    kl              k3 to the reference, nats per token
    entropy         nats per token
    clip_share      share of tokens where clipping acted; none of a first update has
    logp_gap        largest |trainer − sampler|, nats; of the first update
    logp_gap_mean   its mean; of the first update
    sampler_kl      KL(sampler ‖ trainer) by k3, nats per token; of the first update
    sampler_capped  share of tokens whose weight was cut; with a sampler_correction
    policy_gap      largest |log-ratio| to the policy that was sampled; of later updates

Seconds:

    sample_s        in the sampler; judge_s: in waiting for verdicts
    rollouts_s      for the file of the samples
    score_s         for log-probabilities of the reference, and of the policy where
                    there are several updates
    batch_s         for all that comes before the updates, these four included
    update_s        in the updates; step_s: in the whole step
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool

from routejax import grpo
from routejax.loop import Metrics
from routejax.rollout import Rollout

_UNREAD = ("no_answer", "unparsed")


def facts(rolled: Rollout) -> Metrics:
    """What a step's samples were like. Shares of prompts are by outcome."""
    envs = np.array([problem.env for problem in rolled.problems])
    statuses = [verdict.status for verdict in rolled.verdicts]
    found = _of(rolled, np.ones(len(envs), bool))
    found |= {
        "prompts": len(envs),
        "mixed_groups": int(grpo.mixed(rolled.solved).sum()),
        "length": float(rolled.lengths.mean()),
        "length_max": int(rolled.lengths.max()),
        "sampled_tokens": int(rolled.lengths.sum()),
        "truncated": float(rolled.truncated.mean()),
        "unparsed": sum(map(statuses.count, _UNREAD)) / len(statuses),
        "judge_errors": statuses.count("error"),
        "judge_timeouts": statuses.count("timeout"),
        "judge_queue": rolled.judge_queue,
        "judge_workers": rolled.judged_by_workers,
        "judge_rate": rolled.judged_by_workers / (rolled.workers_s or 1.0),
        "sampler_steps": rolled.steps,
    }
    for env in sorted(set(envs)):
        own = _of(rolled, envs == env)
        found |= {f"{name}/{env}": value for name, value in own.items()}
    return found | dict(rolled.seconds)


def _of(rolled: Rollout, chosen: Bool[np.ndarray, " Q"]) -> Metrics:
    """Mean reward and the three shares of some prompts."""
    share = rolled.solved[chosen].mean(1)
    return {
        "reward": float(rolled.rewards[chosen].mean()),
        "all_fail": float(np.mean(share == 0)),
        "mixed": float(np.mean((share > 0) & (share < 1))),
        "all_correct": float(np.mean(share == 1)),
    }
