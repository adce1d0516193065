"""GRPO by hand: small inputs and what the objective makes of them, to ten digits.

Typed numbers are of float64 arithmetic outside this package. Where libraries differ the
answer is given per setting. `recorded` has the cases of a longer file, if it is there.
"""

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from routejax.grpo import PRESETS, Preset

PAPER = PRESETS["paper"]

# Settings of the advantage under which answers are known.
ADVANTAGES: dict[str, dict[str, Any]] = {
    "verl": {"ddof": 1, "eps": 1e-6},
    "trl": {"ddof": 1, "eps": 1e-4},
    "open_instruct": {"ddof": 0, "eps": 1e-8},
    "centred": {"ddof": 0, "eps": 1e-8, "divide_by_std": False},
}

# Rewards of one group, and the advantage of its samples under each setting.
GROUPS: dict[str, tuple[list[float], dict[str, list[float]]]] = {
    "three of eight": (
        [1, 0, 0, 1, 0, 0, 1, 0],
        {
            name: [high if solved else low for solved in (1, 0, 0, 1, 0, 0, 1, 0)]
            for name, high, low in (
                ("verl", 1.207612396, -0.7245674373),
                ("trl", 1.207381441, -0.7244288644),
                ("open_instruct", 1.290994422, -0.7745966532),
                ("centred", 0.625, -0.375),
            )
        },
    ),
    "one of eight": (
        [0] * 7 + [1],
        {
            "verl": [-0.3535523906] * 7 + [2.474866734],
            "trl": [-0.3534534189] * 7 + [2.474173932],
            "open_instruct": [-0.3779644616] * 7 + [2.645751231],
            "centred": [-0.125] * 7 + [0.875],
        },
    ),
    "a pair": (
        [1, 0],
        {
            "verl": [0.7071057812, -0.7071057812],
            "trl": [0.7070067953, -0.7070067953],
            "open_instruct": [0.99999998, -0.99999998],
            "centred": [0.5, -0.5],
        },
    ),
    "all fail": ([0] * 8, dict.fromkeys(ADVANTAGES, [0] * 8)),
    "all solve": ([1] * 8, dict.fromkeys(ADVANTAGES, [0] * 8)),
    "graded": (
        [1, -1, -1, 0, 1, -1, 0, 0],
        {
            name: [{1: high, -1: low, 0: none}[r] for r in (1, -1, -1, 0, 1, -1, 0, 0)]
            for name, high, low, none in (
                ("verl", 1.348073936, -1.04850195, 0.1497859929),
                ("trl", 1.347914032, -1.048377581, 0.1497682258),
                ("open_instruct", 1.441153366, -1.120897062, 0.1601281518),
                ("centred", 1.125, -0.875, 0.125),
            )
        },
    ),
    "nearly constant": (
        [0.5, 0.5, 0.5, 0.5001],
        {
            "verl": [-0.4901960784] * 3 + [1.470588235],
            "trl": [-0.1666666667] * 3 + [0.5],
            "open_instruct": [-0.5772169666] * 3 + [1.7316509],
            "centred": [-2.5e-5] * 3 + [7.5e-5],
        },
    ),
    "all fail by degrees": (
        [-0.01 * i for i in range(8)],
        {
            name: [sign * x for sign, xs in ((1, half), (-1, half[::-1])) for x in xs]
            for name, half in (
                ("verl", [1.428810686, 1.020579061, 0.6123474367, 0.2041158122]),
                ("trl", [1.423059401, 1.016471001, 0.6098826004, 0.2032942001]),
                ("open_instruct", [1.527524565, 1.091088975, 0.654653385, 0.218217795]),
                ("centred", [0.035, 0.025, 0.015, 0.005]),
            )
        },
    ),
}

# Limits of the KL term: both cuts, one wide cut before exp, none.
LIMITS: dict[str, dict[str, float]] = {
    "paper": {},
    "open_instruct": {"log_limit": 40.0, "limit": np.inf},
    "trl": {"log_limit": np.inf, "limit": np.inf},
}

# d = ref − logp, and per setting k3 and its slope by logp.
KL: list[tuple[float, float, dict[str, tuple[float, float]]]] = [
    (-1.0, -1.0, dict.fromkeys(LIMITS, (0.0, 0.0))),
    (-1.0, -1.0001, dict.fromkeys(LIMITS, (4.9998333375e-9, 9.99950001667e-5))),
    (-1.0, -0.5, dict.fromkeys(LIMITS, (0.1487212707, -0.6487212707))),
    (-1.0, -1.5, dict.fromkeys(LIMITS, (0.106530659713, 0.393469340287))),
    (-4.0, -1.5, dict.fromkeys(LIMITS, (8.6824939607, -11.1824939607))),
    *(
        (logp, ref, {"paper": (10.0, 0.0), "open_instruct": free, "trl": free})
        for logp, ref, free in (
            (-4.2, -1.5, (11.1797317249, -13.8797317249)),
            (-6.0, -1.0, (142.413159103, -147.413159103)),
            (-0.5, -12.5, (11.0000061442, 0.999993855788)),
            (-26.0, -1.0, (72004899311.4, -72004899336.4)),
        )
    ),
    (
        -1.0,
        -101.0,
        {"paper": (10.0, 0.0), "open_instruct": (39.0, 0.0), "trl": (99.0, 1.0)},
    ),
]

# Where the cut of k3 at 10 begins to act.
KL_BORDERS = (-10.9999833, 2.610868638)

HIGHER = dataclasses.replace(PAPER, clip_high=0.28)
DUAL = dataclasses.replace(PAPER, dual_clip=3.0)

# Advantage and ratio; the loss of the token with clipping at 0.2 and its slope by logp;
# the loss with the upper side at 0.28; loss and slope with the dual clip at 3.
CLIP: list[tuple[float, float, tuple[float, float], float, tuple[float, float]]] = [
    (1, 1.0, (-1.0, -1.0), -1.0, (-1.0, -1.0)),
    (1, 1.5, (-1.2, 0.0), -1.28, (-1.2, 0.0)),
    (1, 0.5, (-0.5, -0.5), -0.5, (-0.5, -0.5)),
    (-1, 1.5, (1.5, 1.5), 1.5, (1.5, 1.5)),
    (-1, 0.5, (0.8, 0.0), 0.8, (0.8, 0.0)),
    (-1, 5.0, (5.0, 5.0), 5.0, (3.0, 0.0)),
    (-1, 2.9, (2.9, 2.9), 2.9, (2.9, 2.9)),
    (1, 5.0, (-1.2, 0.0), -1.28, (-1.2, 0.0)),
    (0, 3.0, (0.0, 0.0), 0.0, (0.0, 0.0)),
]

# One group of four responses of 5, 3, 1 and 2 tokens. The third has ratio e^1.5.
LOGPS = [[-0.9, -1.2, -0.3, -2.0, -0.7], [-1.5, -0.4, -2.2], [-3.0], [-0.2, -1.1]]
OLD = [[-1.0, -1.0, -0.5, -2.5, -0.7], [-1.1, -0.8, -2.2], [-4.5], [-0.5, -1.1]]
REF = [[-1.3, -1.1, -0.3, -1.2, -0.9], [-1.5, -0.9, -2.0], [-2.0], [-0.2, -1.6]]
REWARDS = [1.0, 0.0, 0.0, 1.0]
BETA = 0.001

# Every token's k3, and with the paper's advantages its clipped loss.
TOKEN_K3 = [
    [0.070320046, 0.0051709181, 0.0, 0.42554093, 0.018730753],
    [0.0, 0.10653066, 0.021402758],
    [0.71828183],
    [0.0, 0.10653066],
]
TOKEN_LOSS = [
    [-0.95710443, -0.7090404, -1.0392287, -1.0392287, -0.8660239],
    [0.69281912, 1.2919558, 0.8660239],
    [3.8812499],
    [-1.0392287, -0.8660239],
]

# Loss of the whole group, and its slope by every log-probability (six digits).
LOSS: dict[str, tuple[Preset, float, list[list[float]]]] = {
    "paper": (
        PAPER,
        0.7394206961,
        [
            [-0.0478387, -0.0354573, 0.0, -6.1277e-05, -0.0432921],
            [0.0, 0.107696, 0.0721502],
            [0.969883],
            [0.0, -0.108204],
        ],
    ),
    "ddof 0": (
        dataclasses.replace(PAPER, ddof=0, eps=1e-8),
        0.8537754278,
        [
            [-0.0552421, -0.0409418, 0.0, -6.1277e-05, -0.0499909],
            [0.0, 0.124352, 0.0833149],
            [1.11999],
            [0.0, -0.124951],
        ],
    ),
    "dual clip": (
        DUAL,
        0.4186261578,
        [
            [-0.0478387, -0.0354573, 0.0, -6.12771e-05, -0.0432921],
            [0.0, 0.107696, 0.0721502],
            [-0.00042957],
            [0.0, -0.108204],
        ],
    ),
}
TOKEN_MEAN = 0.01978568646  # the same group, one mean over its eleven tokens
# The second response empty: it still counts as a sample, or does not.
ONE_EMPTY = {4: 0.501843462, 3: 0.6691246053}

# The first update after sampling: ratios are one, the loss is only β times the KL.
FIRST_LOSS = 0.00227097315
FIRST_SLOPE = [
    [-0.043288236, -0.043296437, -0.043312265, -0.04343466, -0.043292132],
    [0.072196132, 0.072176589, 0.072150208],
    [0.21371035],
    [-0.10829672, -0.1082038],
]

# Sampled ids of a row, its length, and which of its tokens are trained on.
MASKS: list[tuple[list[int], int, list[int]]] = [
    ([5, 6, 2, 0, 0], 3, [1, 1, 1, 0, 0]),  # the EOS, 2, is part of the response
    ([5, 6, 7, 8, 9], 5, [1, 1, 1, 1, 1]),  # cut off
    ([5, 6, 0, 0, 0], 2, [1, 1, 0, 0, 0]),  # cut off; no EOS to find by value
    ([2, 0, 0, 0, 0], 1, [1, 0, 0, 0, 0]),  # EOS at once
    ([0, 0, 0, 0, 0], 0, [0, 0, 0, 0, 0]),  # nothing
    ([5, 6, 2, 2, 2], 3, [1, 1, 1, 0, 0]),  # padding equals EOS
    ([9, 0, 7, 2, 1], 4, [1, 1, 1, 1, 0]),  # id 0 inside a response is a token
]


# The sampler's own log-probabilities of the group, and min(exp(old − sampler), 2).
SAMPLER = [[-1.05, -0.95, -0.5, -2.4, -0.7], [-1.1, -0.75, -2.3], [-6.0], [-0.5, -1.0]]
SAMPLER_WEIGHTS = [
    [1.0512711, 0.95122942, 1.0, 0.90483742, 1.0],
    [1.0, 0.95122942, 1.1051709],
    [2.0],
    [1.0, 0.90483742],
]
SAMPLER_LOSS = 1.726594246  # the loss of the group where they weigh the policy term


def recorded(topic: str | None = None) -> list[dict[str, Any]]:
    """Cases of one topic, or all, from a longer file; none where it is absent."""
    path = Path(__file__).parents[2] / "shared" / "data" / "cases" / "grpo.json"
    if not path.exists():
        return []
    cases = json.loads(path.read_text())["cases"]
    return [case for case in cases if topic in (None, case["topic"])]


def parameters(topic: str) -> list[Any]:
    """The recorded cases for `parametrize`; one that is skipped where there is none."""
    found = [pytest.param(case, id=case["id"]) for case in recorded(topic)]
    absent = pytest.mark.skip(reason="the longer file of cases is absent")
    return found or [pytest.param(None, marks=absent)]
