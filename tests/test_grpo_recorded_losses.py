"""Losses and slopes of the file of recorded cases, where that file is there.

An answer is compared or stands in `OTHERS` with the reason; none may be passed over.
"""

from types import SimpleNamespace

import grpo_cases
import jax.numpy as jnp
import numpy as np
import pytest
from grpo_batches import loss_and_slope, packed_batch, standardised

from routejax import grpo
from routejax.grpo import PRESETS, Preset

PAPER = PRESETS["paper"]
TOKEN = Preset(aggregation="token", kl_limit=np.inf)
OTHERS = {
    "mean_of_microbatch_means(WRONG)": "the mistake",
    "trl.sequence_mask_max3": "weights of whole sequences",
    "seq_ratio_exp_sum": "the same",
}


def ragged(table, mask):
    return [
        [x for x, kept in zip(row, keep, strict=True) if kept]
        for row, keep in zip(table, mask, strict=True)
    ]


def solved(case, preset=PAPER, *, first=False, sampler=None, cap=None, **counts):
    """Loss, slope by response and metrics of a group, and its batch."""
    given, mask = case["inputs"], case["inputs"]["mask"]
    old = ragged(given["old_logprob"], mask)
    weights = counts.pop("weights", None)
    batch, logps, apart = packed_batch(
        old if first else ragged(given["logprob"], mask),
        standardised(given["rewards"], preset),
        preset,
        old=old,
        ref=ragged(given["ref_logprob"], mask),
        sampler=sampler and ragged(sampler, mask),
        **counts,
    )
    if weights is not None:
        kept = np.asarray(batch.weights) > 0
        batch = batch._replace(weights=jnp.where(kept, weights, 0.0))
    value, slope, found = loss_and_slope(
        batch, logps, preset, given["beta"], on_policy=first, cap=cap
    )
    return SimpleNamespace(
        loss=value, slope=apart(slope), metrics=found, batch=batch, apart=apart
    )


def terms(case, preset=PAPER, **settings):
    """The policy's part of the loss, and that of the KL at β = 1."""
    policy, both = (
        solved({**case, "inputs": case["inputs"] | {"beta": beta}}, preset, **settings)
        for beta in (0.0, 1.0)
    )
    return policy.loss, both.loss - policy.loss


def padded(rows, width=5):
    return [[*row, *[0.0] * (width - len(row))] for row in rows]


CALCULATED = {}


def answers_to(name):
    def known(function):
        CALCULATED[name] = function
        return function

    return known


@answers_to("group_seq_mean_token_mean")
def _(case):
    found = {}
    for name, setting in (
        ("spec_ddof1_eps1e-6_noDual", "paper"),
        ("spec_ddof0_eps1e-8_noDual", "ddof 0"),
        ("verl_ddof1_eps1e-6_dual3", "dual clip"),
    ):
        preset, given = grpo_cases.LOSS[setting][0], case["inputs"]
        own, (policy, kl) = solved(case, preset), terms(case, preset)
        mask = np.array(given["mask"])
        table = {
            key: jnp.asarray(given[key])
            for key in ("logprob", "old_logprob", "ref_logprob")
        }
        signal = standardised(given["rewards"], preset)
        value, _ = grpo.surrogate(
            table["logprob"],
            table["old_logprob"],
            jnp.tile(jnp.asarray(signal, jnp.float32)[:, None], 5),
            preset,
        )
        found[name] = {
            "advantages": signal,
            "pg_loss": policy,
            "kl": kl,
            "loss": own.loss,
            "token_pg": -np.asarray(value) * mask,
            "token_k3": np.asarray(grpo.k3(table["logprob"], table["ref_logprob"])),
            "grad_wrt_logprob(fd,~1e-6)": padded(own.slope),
        }
    return found


@answers_to("group_all_aggregations")
def _(case):
    rows, tokens, width, longest = 4, 11, 5, 8
    mean = solved(case).loss
    token = solved(case, TOKEN).loss
    sums = solved(case, TOKEN, weights=1.0).loss  # of all tokens
    return {
        "seq-mean-token-mean": mean,
        "trl.grpo": mean,
        "token-mean": token,
        "trl.bnpo": token,
        "trl.dapo(single process, one accumulated batch)": token,
        "open_instruct.token": solved(case, TOKEN, tokens=tokens).loss,
        # Not offered: they are other weights in the same sum.
        "seq-mean-token-sum": sums / rows,
        "seq-mean-token-sum-norm": sums / width,
        "trl.dr_grpo": sums / (rows * longest),
    }


@answers_to("fully_masked_row")
def _(case):
    counted, left = solved(case, samples=4).loss, solved(case, samples=3).loss
    return {
        "trl.grpo": counted,
        "verl.seq-mean-token-mean": left,
        "ratio_trl/verl": counted / left,
    }


@answers_to("all_rows_masked")
def _(case):
    assert isinstance(case["expected"]["verl.seq-mean-token-mean"], str)  # 0/0
    batch, logps, _ = packed_batch([[], []], [1.0, -1.0], PAPER, junk=-np.inf)
    value, slope, _ = loss_and_slope(batch, logps, PAPER, 0.1)
    assert not np.asarray(slope).any()
    answers = {"trl.grpo": value, "open_instruct": value, "wanted": value}
    return answers | {"verl.seq-mean-token-mean": None}


@answers_to("microbatch_invariance")
def _(case):
    def halves(preset):
        total = 0.0
        for part in (slice(0, 2), slice(2, 4)):
            keys = ("logprob", "old_logprob", "ref_logprob", "mask")
            given = {k: case["inputs"][k][part] for k in keys}
            logps, old, ref = (ragged(given[k], given["mask"]) for k in keys[:3])
            batch, placed, _ = packed_batch(
                logps,
                standardised(case["inputs"]["rewards"], preset)[part],
                preset,
                old=old,
                ref=ref,
                samples=4,
                tokens=11,
            )
            total += loss_and_slope(batch, placed, preset, case["inputs"]["beta"])[0]
        return total

    assert halves(TOKEN) == pytest.approx(case["expected"]["token-mean"]["full"], 1e-5)
    return {
        "seq-mean-token-mean": {
            "full": solved(case).loss,
            "mean_of_microbatches": halves(PAPER),
        },
        "token-mean": {"full": solved(case, TOKEN).loss},
    }


@answers_to("on_policy_first_step")
def _(case):
    own, (policy, kl) = solved(case, first=True), terms(case, first=True)
    assert abs(policy) < 1e-7  # theirs is 3e-17
    return {
        "pg_loss": case["expected"]["pg_loss"],
        "kl": kl,
        "loss": own.loss,
        "grad_wrt_logprob": padded(own.slope),
    }


@answers_to("sampler_trainer_correction")
def _(case):
    sampler = case["inputs"]["rollout_logprob"]
    own = solved(case, sampler=sampler, cap=2.0)
    weight = grpo.sampler_weight(own.batch.old_logps, own.batch.sampler_logps, 2.0)
    return {
        "none": solved(case, sampler=sampler).loss,
        "verl.token_tis_C2": own.loss,
        "open_instruct.rho_clamp2": own.loss,
        "token_weights_C2": padded(own.apart(weight)),
    }


@pytest.mark.parametrize("case", grpo_cases.parameters("full_loss"))
def test_losses(case):
    answers = CALCULATED[case["id"]](case)

    def check(found, expected, at):
        if isinstance(expected, dict):
            assert set(expected) - set(OTHERS) == set(found), at
            for name in found:
                check(found[name], expected[name], f"{at} {name}")
            return
        if found is None:
            return
        np.testing.assert_allclose(found, expected, rtol=3e-5, atol=2e-7, err_msg=at)

    check(answers, case["expected"], case["id"])
