"""Group relative policy optimisation: advantages, the clipped surrogate, the KL term.

    J(θ) = mean over prompts of (1/G) Σ_g (1/|y_g|) Σ_t
           [ w min(ρ Â, clip(ρ, 1−ε, 1+ε) Â) − β k3 ]              (paper A.2, Training)

groups: rewards of a group → advantages
presets: details that the paper leaves open, under names
batches: samples of a step in rows, with the weight of every token fixed on the host
objective: k3, the surrogate and the loss of a batch

Every mean of the step is Σ weight · value, the weights holding the denominators of the
whole step. So splitting a step into micro-batches changes neither loss nor gradient.
The weight w is one unless samples are corrected for what the sampler computed otherwise
than the trainer. Left out: entropy bonuses, and KL in the reward.
"""

from routejax.grpo.batches import Batch, batch, token_weights
from routejax.grpo.groups import advantages, mixed
from routejax.grpo.objective import (
    CORRECTIONS,
    k3,
    loss,
    sampler_weight,
    surrogate,
    token_loss,
)
from routejax.grpo.presets import PRESETS, Preset

__all__ = [
    "CORRECTIONS",
    "PRESETS",
    "Batch",
    "Preset",
    "advantages",
    "batch",
    "k3",
    "loss",
    "mixed",
    "sampler_weight",
    "surrogate",
    "token_loss",
    "token_weights",
]
