"""Every answer of the file of recorded cases, where that file is there.

An answer is compared or stands in `OTHERS` with the reason; none may be passed over.
"""

import functools

import grpo_cases
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from played_rollouts import PROBLEMS, judged, played

from routejax import grpo, metrics, sft
from routejax.errors import UserError
from routejax.grpo import PRESETS
from routejax.packing import Example
from routejax.scoring import score
from routejax.stages.grpo_facts import facts

PAPER = PRESETS["paper"]
# Answers of others that are not ours, by topic.
OTHERS = {
    "advantage": {
        "verl.grpo_vectorized": "a floor under the variance",
        "positional_eps1e-6_ddof1": "the mistake",
    },
    "kl": {
        "trl_float32": "what is left of exp(d) − d − 1 in float32",
        "clip_after_exp_grad_float32": "the mistake: NaN",
    },
    "policy_loss": {"trl_delta2": "an upper bound of the ratio of both signs"},
    "mask": {
        "verl.get_response_mask(value based)": "the mistake",
        "value_based_wrong": "the mistake",
        **dict.fromkeys(("ids", "len", "ref", "why", "note"), "what is given"),
    },
    "logprob": {"if_not_shifted(WRONG)": "the mistake"},
    "eval": {
        "with_replacement(verl best@k bootstrap mean)": "another quantity",
        **dict.fromkeys(("n", "c", "k", "exact"), "what is given"),
    },
    # Rewards are outcomes: nothing is taken from a long response.
    "reward": dict.fromkeys(("len", "penalty"), "no shaping"),
}
ROWS_GIVEN = ("A", "ratio")  # of the table of clipping


def compare(case, answers, **tolerance):
    """Our answer to every expected one of the case that is not in `OTHERS`."""
    others = OTHERS.get(case["topic"], {})
    expected = case["expected"]
    for row, answer in zip(
        expected if isinstance(expected, list) else [expected],
        answers if isinstance(answers, list) else [answers],
        strict=True,
    ):
        assert set(row) - set(others) == set(answer), case["id"]
        for name, found in answer.items():
            np.testing.assert_allclose(found, row[name], err_msg=name, **tolerance)


@pytest.mark.parametrize("case", grpo_cases.parameters("advantage"))
def test_advantages(case):
    rewards = np.array([case["inputs"]["rewards"]], float)
    if names := case["inputs"].get("group_id"):  # two prompts in turns
        assert names == ["a", "b"] * 4
        pairs = grpo.advantages(rewards.reshape(-1, 2).T, ddof=1, eps=1e-6)
        compare(case, {"by_id_eps1e-6_ddof1": pairs.T.ravel()}, rtol=1e-6)
        return
    if rewards.size == 1:  # theirs is the reward, or 0; ours is no answer
        with pytest.raises(UserError, match="a group of one"):
            grpo.advantages(rewards, ddof=1, eps=1e-6)
        return
    settings = {
        "verl.grpo": grpo_cases.ADVANTAGES["verl"],
        "slime.grpo": grpo_cases.ADVANTAGES["verl"],
        "verl.grpo_no_std": grpo_cases.ADVANTAGES["centred"],
        "open_instruct.centered": grpo_cases.ADVANTAGES["centred"],
        "trl.group": grpo_cases.ADVANTAGES["trl"],
        "open_instruct.standard": grpo_cases.ADVANTAGES["open_instruct"],
        "openrlhf.group_norm": {"ddof": 1, "eps": 1e-9},
        "prime_rl.grpo": grpo_cases.ADVANTAGES["centred"],
    }
    answers = {
        name: grpo.advantages(rewards, **rule)[0]
        for name, rule in settings.items()
        if name in case["expected"]
    }
    compare(case, answers, rtol=1e-7)


@pytest.mark.parametrize("case", grpo_cases.parameters("kl"))
def test_kl_terms(case):
    if not case["inputs"]:
        low, high = case["expected"]["d_lower"], case["expected"]["d_upper"]
        ref = jnp.array([low + 1e-4, low - 1e-4, high - 1e-5, high + 1e-5])
        assert (grpo.k3(jnp.zeros(4), ref) < 10).tolist() == [True, False, True, False]
        return
    logp, ref = case["inputs"]["logprob"], case["inputs"]["ref_logprob"]

    def at(setting):
        limits = grpo_cases.LIMITS[setting]
        both = jax.value_and_grad(lambda x: grpo.k3(x, jnp.float32(ref), **limits))
        return map(float, both(jnp.float32(logp)))

    value, slope = at("trl")
    cut, cut_slope = at("paper")
    wide, wide_slope = at("open_instruct")
    answers = {
        "k3_exact": value,
        "trl_float64": value,
        "k3_grad_wrt_lp_exact": slope,
        "verl.low_var_kl": cut,
        "verl.grad_wrt_lp": cut_slope,
        "clip_after_exp(openrlhf,slime low_var_kl)": cut,
        "open_instruct.2": wide,
        "open_instruct.grad_wrt_lp": wide_slope,
    }
    compare(case, answers, rtol=1e-5 + 1e-7 / (abs(ref - logp) + 1e-12))


@pytest.mark.parametrize("case", grpo_cases.parameters("policy_loss"))
def test_clipping(case):
    def at(row, preset):
        def value(x):
            signal = jnp.float32(row["A"])
            return -grpo.surrogate(x, jnp.float32(0), signal, preset)[0]

        found = jax.value_and_grad(value)(jnp.float32(np.log(row["ratio"])))
        return map(float, found)

    answers = []
    for row in case["expected"]:
        (plain, slope), (higher, _) = at(row, PAPER), at(row, grpo_cases.HIGHER)
        dual, dual_slope = at(row, grpo_cases.DUAL)
        answers.append(
            {
                **{name: row[name] for name in ROWS_GIVEN},
                "ppo_clip_0.2": plain,
                "ppo_clip_grad": slope,
                "clip_low0.2_high0.28": higher,
                "verl_dual_clip_c3": dual,
                "verl_dual_clip_grad": dual_slope,
            }
        )
    compare(case, answers, rtol=1e-6)


@pytest.mark.parametrize("case", grpo_cases.parameters("mask"))
def test_masks(case, student, params, monkeypatch):
    stops, answers = tuple(case["inputs"]["eos"]), []
    for row in case["expected"]:
        ids = row["ids"][: row["len"]]
        rolled = judged(monkeypatch, student, params, [ids], stops=stops)
        batch, _ = grpo.batch(
            rolled.examples,
            np.ones(1),
            preset=PAPER,
            samples=1,
            tokens=len(ids),
            row_tokens=12,
            row_multiple=1,
        )
        start = len(rolled.examples[0].prompt)
        trained = np.asarray(batch.weights)[0, start:] > 0
        assert not trained[len(row["mask"]) :].any()
        answer = {"mask": trained[: len(row["mask"])]}
        if "truncated" in row:
            answer["truncated"] = rolled.truncated[0]
        answers.append(answer)
    compare(case, answers)


@pytest.mark.parametrize("case", grpo_cases.parameters("logprob"))
def test_log_probabilities(case, student, bigram):
    given, never = case["inputs"], -1e9
    if case["id"] == "temperature_in_logprob":
        table = np.full((24, 24), never)
        table[1, :3] = given["logits"]
        rows = sft.batch(
            [Example([1], [given["token"]])], row_tokens=2, row_multiple=1
        ).rows
        answer = {
            name: score(student, bigram(table), rows, float(name[2:])).logps[0, 1]
            for name in case["expected"]
        }
    elif case["id"] == "shift_off_by_one":
        table = np.full((24, 24), never)
        for token, logits in zip(given["input_ids"], given["logits"], strict=True):
            table[token, :4] = logits
        ids, cut = given["input_ids"], given["prompt_len"]
        example = Example(ids[:cut], ids[cut:])
        rows = sft.batch([example], row_tokens=4, row_multiple=1).rows
        logps = score(student, bigram(table), rows).logps[0, cut:]
        answer = {"response_logprobs": logps}
    else:  # what the correction makes of a sampler that drew from a part
        kept = np.array(given["probs"])[given["top_p_keeps"]]
        trainer = np.log(given["probs"][given["token"]])
        sampler = np.log(kept[given["token"]] / kept.sum())
        weight = grpo.sampler_weight(jnp.float32(trainer), jnp.float32(sampler), 2.0)
        answer = {
            "sampler_logprob": sampler,
            "trainer_logprob": trainer,
            "is_ratio": weight,
        }
    compare(case, answer, rtol=1e-5)


@pytest.mark.parametrize("case", grpo_cases.parameters("eval"))
def test_pass_at_k(case):
    answers = []
    for row in case["expected"]:
        at = functools.partial(metrics.pass_at_k, row["n"], row["c"], row["k"])
        if isinstance(row["pass@k"], str):
            with pytest.raises(UserError):
                at()
            continue
        answers.append({"pass@k": at()})
    whole = [row for row in case["expected"] if not isinstance(row["pass@k"], str)]
    compare({**case, "expected": whole}, answers, rtol=1e-12)


@pytest.mark.parametrize("case", grpo_cases.parameters("metrics"))
def test_shares_of_groups(case):
    outcomes = np.array(case["inputs"]["accuracy_by_group"])
    shaped = outcomes - 0.01 * np.arange(8)  # rewards do not decide
    found = facts(played(PROBLEMS[:4], outcomes, rewards=shaped))
    counts = outcomes.sum(1)
    shares = {name: found[name] for name in ("all_fail", "mixed", "all_correct")}
    answer = shares | {
        "zero_variance_share": found["all_fail"] + found["all_correct"],
        "acc@1": metrics.acc_at_1(counts, 8),
        "pass@8": metrics.pass_curve(counts, 8)[8],
    }
    compare(case, answer, rtol=1e-12)


def test_no_topic_is_passed_over():
    topics = {case["topic"] for case in grpo_cases.recorded()}
    known = {"advantage", "kl", "policy_loss", "full_loss", "mask", "logprob"}
    assert topics <= known | {"eval", "metrics", "reward"}
