"""A made-up study, realistic in shape and size, for tests and for looking at the page.

`python tests/report/report_inputs.py page.html` writes its report. Nothing in here was
measured.
"""

import functools
import itertools
import math
import sys
from pathlib import Path

import numpy as np

from routejax.metrics import checkpoint_metrics, summarise_study

ENVS = ["sort", "modsum", "brackets", "rewrite", "torus_walk", "countdown"]
UNSEEN = ["counting", "reverse"]
LEVELS = range(1, 16)
PER_CELL = 4
SAMPLES = 8
STRATEGIES = ["left_to_right", "backward", "pairs", "split", "trial_and_error"]
LIFT = {
    "diverse": 0.55,
    "similar": 0.0,
    "random": 0.25,
    "topology_fps": 0.4,
    "embedding_fps": 0.3,
    "lexical_fps": 0.2,
}


def rng(*key):
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(list(key))))


def problems():
    cells = itertools.product(ENVS + UNSEEN, LEVELS, range(PER_CELL))
    envs, levels, _ = zip(*cells, strict=True)
    return list(envs), list(levels)


@functools.cache
def checkpoint(arm, seed, stage, samples=SAMPLES):
    envs, levels = problems()
    hard = rng(1).normal(0, 1.1, len(envs))  # the same problems for every arm
    place = list(LIFT).index(arm)
    wobble = rng(2, place, seed).normal(0, 0.12)
    base = {env: 0.25 * i for i, env in enumerate(ENVS + UNSEEN)}
    logits = (
        0.9
        - 0.3 * np.array(levels)
        - np.array([base[env] for env in envs]) * 0.5
        - np.array([0.8 * (env in UNSEEN) for env in envs])
        + (LIFT[arm] if stage == "rl" else LIFT[arm] / 3 - 1.0)
        + hard
        + wobble
    )
    p = 1 / (1 + np.exp(-logits))
    counts = rng(3, place, seed, stage == "rl").binomial(samples, p)
    return checkpoint_metrics(
        counts=counts,
        samples=samples,
        envs=envs,
        difficulties=levels,
        seen=ENVS,
        in_range=(1, 10),
        bootstrap_seed=0,
        resamples=60,
    )


@functools.cache
def study_inputs(arms=("diverse", "similar", "random"), seeds=3, samples=SAMPLES):
    """results, curves, plane, examples of `render`."""
    envs, levels = problems()
    entries = {
        arm: [
            {
                "seed": seed,
                "sft": checkpoint(arm, seed, "sft", samples),
                "rl": checkpoint(arm, seed, "rl", samples),
            }
            for seed in range(seeds)
        ]
        for arm in arms
    }
    results = {
        "schema": 1,
        "routejax": "0.1.0",
        "config": "rlve:local",
        "pool": {
            "rows": 24_310,
            "prompts": 6_144,
            "sha256": "3f1c9b" * 10 + "77aa",
            "by_env": {env: 4_600 - 350 * i for i, env in enumerate(ENVS)},
            "by_strategy": {s: 9_000 - 1_900 * i for i, s in enumerate(STRATEGIES)},
            "rejected": {"answer_wrong": 1_204, "no_reasoning": 12, "too_long": 3},
        },
        "student": {
            "family": "llama",
            "parameters": 671_488,
            "vocabulary": 512,
            "layers": 3,
            "width": 128,
        },
        "evaluation": {
            "problems": len(envs),
            "samples": samples,
            "seen": ENVS,
            "unseen": UNSEEN,
            "in_range": [1, 10],
            "bands": {"in range": [1, 10], "extrapolation": [11, 15]},
            "problem_ids": [f"p{i}" for i in range(len(envs))],
            "envs": envs,
            "difficulties": levels,
        },
        "recipe": {
            "SFT rows": 4_000,
            "SFT epochs": 1,
            "SFT learning rate": 2e-3,
            "RL steps": 60,
            "RL prompts per step": 32,
            "samples per prompt": 8,
            "RL learning rate": 2e-4,
            "KL weight": 1e-3,
            "clip": 0.2,
            "temperature": 1.0,
            "advantage": "paper",
        },
        "arms": {
            arm: {
                "recipe_hash": "5be0c4d1" * 8,
                "selection_sha256": f"{i}9ab3c7e" * 8,
                "selection": selection(i),
                "seeds": entries[arm],
            }
            for i, arm in enumerate(arms)
        },
        "study": summarise_study(entries, resamples=300),
        "selection_overlap": {
            f"{a}|{b}": 310 + 40 * i
            for i, (a, b) in enumerate(itertools.combinations(arms, 2))
        },
        "times": {
            "pool": 41.0,
            "fingerprints": 12.5,
            "selection": 3.2,
            "sft": 318.0,
            "rl": 1_930.0,
            "evaluation": 402.0,
            "report": 0.4,
        },
    }
    curves = {arm: training(i, seeds) for i, arm in enumerate(arms)}
    return (
        results,
        curves,
        plane(arms),
        {arm: examples(i) for i, arm in enumerate(arms)},
    )


def selection(i):
    near = (1.0, 0.42, 0.81)[i % 3]
    clusters = {
        "asked": 1_600,
        "formed": 1_588,
        "empty": 12,
        "singletons": 241,
        "inertia": 5_120.4,
    }
    return {
        "rows": 4_000,
        "clusters": clusters if i == 0 else None,
        "spread": {
            "response_pairwise_distance": 11.2 * near,
            "topology_pairwise_distance": 22.9 * near,
            "topology_vector_variance": 0.141 * near,
            "pattern_entropy": 4.91 - 0.02 * i,
            "active_pattern_count": 31.8 - 0.3 * i,
        },
        "covering_radius": 0.61 / near,
        "mean_nearest_distance": 0.213 / near,
        "by_env": {
            env: 760 - 40 * j + 30 * i * (-1) ** j for j, env in enumerate(ENVS)
        },
        "by_strategy": {
            s: max(20, 1_000 - (90 + 190 * i) * j) for j, s in enumerate(STRATEGIES)
        },
    }


def training(i, seeds):
    found = {}
    for seed in range(seeds):
        noise = rng(4, i, seed)
        sft, rl = np.arange(150), np.arange(60)
        reward = 0.19 + (0.18 - 0.04 * i) * (1 - np.exp(-rl / 25))
        reward += noise.normal(0, 0.015, 60)
        mixed = 0.62 - 0.05 * i - 0.1 * rl / 60 + noise.normal(0, 0.03, 60)
        fail = (1 - mixed) * 0.8
        loss = 0.33 + 0.02 * i + 2.7 * np.exp(-sft / 18) + noise.normal(0, 0.02, 150)
        found[str(seed)] = {
            "sft": {"step": sft.tolist(), "loss": loss.tolist()},
            "grpo": {
                "step": rl.tolist(),
                "reward": reward.tolist(),
                "mixed": mixed.tolist(),
                "all_fail": fail.tolist(),
                "all_correct": (1 - mixed - fail).tolist(),
                "length": (46 - 3 * i + 0.1 * rl + noise.normal(0, 1, 60)).tolist(),
                "kl": (0.09 * rl / 60 + abs(noise.normal(0, 0.003, 60))).tolist(),
                "entropy": (0.7 - 0.004 * rl + noise.normal(0, 0.01, 60)).tolist(),
            },
        }
    return found


def plane(arms, rows=2_000):
    draw = rng(5)
    kinds = draw.integers(len(ENVS), size=rows)
    ways = draw.integers(len(STRATEGIES), size=rows)
    angle = 2 * math.pi * kinds / len(ENVS) + 0.35 * (ways - 2)
    x = np.cos(angle) * (1 + 0.25 * ways) + draw.normal(0, 0.16, rows)
    y = np.sin(angle) * (1 + 0.25 * ways) + draw.normal(0, 0.16, rows)
    near = np.argsort(x**2 + y**2, kind="stable")
    picks = (draw.permutation(rows)[:400], near[:400], draw.permutation(rows)[:380])
    return {
        "x": np.round(x, 4).tolist(),
        "y": np.round(y, 4).tolist(),
        "env": [ENVS[k] for k in kinds],
        "strategy": [STRATEGIES[w] for w in ways],
        "arms": {arm: sorted(picks[i % 3].tolist()) for i, arm in enumerate(arms)},
    }


STEPS = [
    ("setup", "We have the digits 4 1 7 3 and want them in rising order."),
    ("decompose", "First split in two halves: 4 1 and 7 3."),
    ("calculate", "1 < 4, so the first half is 1 4."),
    ("calculate", "7 > 3, so the second half is 7 3."),
    ("check", "Check: is 7 < 3? No."),
    ("correct", "Wait, that half is the wrong way round; it should be 3 7."),
    ("branch", "Alternatively, take the smallest of the two heads each time."),
    ("execute", "heads 1 and 3: take 1. heads 4 and 3: take 3. then 4, then 7."),
    ("infer", "So the whole list is 1 3 4 7."),
    ("backward_reasoning", "Backward from the largest: 7, 4, 3, 1. The same."),
    ("track_progress", "Nothing is left."),
    ("answer", "Answer: 1 3 4 7"),
]


def examples(i):
    def one(j):
        steps = STEPS[: 4 + (3 * j + 2 * i) % 8] + STEPS[-1:]
        if i == 1:  # the similar arm: one way, again and again
            steps = STEPS[:1] + STEPS[2:4] * (2 + j) + STEPS[-1:]
        return {
            "prompt": "Sort the digits: 4 1 7 3",
            "response": "\n".join(text for _, text in steps),
            "env": ENVS[j],
            "difficulty": 3 + 4 * j,
            "strategy": STRATEGIES[(i + j) % len(STRATEGIES)],
            "steps": [{"type": kind, "text": text} for kind, text in steps],
        }

    return [one(j) for j in range(3)]


if __name__ == "__main__":
    from routejax.report.page import render

    Path(sys.argv[1]).write_text(render(*study_inputs()), encoding="utf-8")
