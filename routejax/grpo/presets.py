"""Details of the objective that the paper leaves open, as libraries fix them.

A preset has what a library's own defaults make of the advantage, the ratio, the KL term
and the mean. What is on purpose not as in the libraries, whatever the preset:

- A group of equal rewards has advantage zero by comparison; theirs have what rounding
  leaves of (r − mean), divided by a small number.
- A group of one is refused (verl passes its reward on, TRL and open-instruct give 0).
- No log-ratio goes above 80 before exp, where theirs (TRL) overflow in float32.
- Which groups are trained on is `grpo.groups`, not the preset: verl and TRL train all,
  open-instruct those whose rewards differ. Left out of an update, a group of equal
  rewards still counts in the mean, but for `open_instruct`, which drops it before.
- A response that was cut off is trained on, as in their defaults; none is masked. An
  empty response counts as a sample (TRL, slime; verl leaves it out of the mean over
  samples, where it has one).
- β is the recipe's: their defaults are no KL in the loss (verl, TRL), 0.05
  (open-instruct).
- The correction for the sampler is `grpo.sampler_correction`: TRL's default, whole
  sequences above a ratio of 3 left out, is not offered.
- A mean over responses is over their number, where verl adds 1e-8 to lengths.
"""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, kw_only=True)
class Preset:
    """Details of the objective that the paper leaves open.

    Attributes:
        ddof: of the standard deviation in the advantage.
        eps: added to that standard deviation.
        divide_by_std: False leaves rewards centred only.
        clip_low, clip_high: the ratio is clipped to [1 − low, 1 + high].
        ratio_limit: log-ratios are cut to ± this before exp.
        dual_clip: for negative advantages the surrogate is at least this times Â.
        kl_log_limit: log-ratios of the KL term are cut to ± this before exp.
        kl_limit: k3 is cut to ± this.
        aggregation: "sequence" is the mean over tokens of each response, then over
            responses; "token" is one mean over all tokens of the step.
        counted: what the mean is over: "step", all samples of it, trained on or not;
            "trained", those that are trained on.
    """

    ddof: int = 1
    eps: float = 1e-6
    divide_by_std: bool = True
    clip_low: float = 0.2
    clip_high: float = 0.2
    ratio_limit: float = 20.0
    dual_clip: float = float("inf")
    kl_log_limit: float = 20.0
    kl_limit: float = 10.0
    aggregation: str = "sequence"
    counted: str = "step"


_FREE = float("inf")
PRESETS = {
    "paper": Preset(),
    "verl": Preset(dual_clip=3.0, aggregation="token"),
    "trl": Preset(
        eps=1e-4,
        ratio_limit=_FREE,
        kl_log_limit=_FREE,
        kl_limit=_FREE,
        aggregation="token",
    ),
    "open_instruct": Preset(
        ddof=0,
        eps=1e-8,
        divide_by_std=False,
        clip_high=0.272,
        ratio_limit=_FREE,
        kl_log_limit=40.0,
        kl_limit=_FREE,
        aggregation="token",
        counted="trained",
    ),
}
