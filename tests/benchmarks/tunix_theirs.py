"""Tunix's side of `tests.benchmarks.tunix`; run by it, in Tunix's environment."""

from __future__ import annotations

import functools
import importlib.metadata
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from tunix.generate.sampler import CacheConfig, Sampler
from tunix.models.qwen3.model import ModelConfig, Qwen3
from tunix.rl.grpo.grpo_learner import GRPOConfig, GRPOLearner
from tunix.rl.rl_cluster import ClusterConfig, RLCluster, RLTrainingConfig, Role
from tunix.rl.rollout.base_rollout import RolloutConfig
from tunix.sft import utils
from tunix.sft.peft_trainer import PeftTrainer, TrainingConfig, TrainingInput

from tests.benchmarks import tiny_qwen3
from tests.benchmarks.tiny_qwen3 import (
    GROUP,
    NEVER,
    PASS_ROWS,
    Cost,
    Pulled,
    Shape,
    timed,
)


class Numbers:
    """A tokenizer whose words are the ids themselves."""

    def encode(self, text: str, **_: Any) -> list[int]:
        return [int(word) for word in text.split()]

    def decode(self, ids: Any, **_: Any) -> str:
        return " ".join(str(int(i)) for i in ids)

    def bos_id(self) -> int:
        return tiny_qwen3.BEGIN

    def eos_id(self) -> int:
        return tiny_qwen3.END

    def pad_id(self) -> int:
        return tiny_qwen3.PAD


def model() -> Qwen3:
    s = tiny_qwen3.SIZES
    config = ModelConfig(
        num_layers=s["layers"],
        vocab_size=s["vocabulary"],
        embed_dim=s["width"],
        hidden_dim=s["mlp_width"],
        num_heads=s["heads"],
        head_dim=s["head_width"],
        num_kv_heads=s["kv_heads"],
        rope_theta=int(s["rope_theta"]),
        norm_eps=s["norm_eps"],
        use_tied_embedding=True,
    )
    made, held = Qwen3(config, rngs=nnx.Rngs(0)), tiny_qwen3.weights()
    made.embedder.input_embedding.value = jnp.asarray(held["embedding"])
    for number, layer in enumerate(made.layers):
        own, a = {name: jnp.asarray(x[number]) for name, x in held.items()}, layer.attn
        places = {
            "query": a.q_proj.w,
            "key": a.k_proj.w,
            "value": a.v_proj.w,
            "out": a.o_proj.w,
            "gate": layer.mlp.gate_proj.kernel,
            "up": layer.mlp.up_proj.kernel,
            "down": layer.mlp.down_proj.kernel,
        }
        for name, place in places.items():
            place.value = own[name].reshape(place.value.shape)
    return made


def prompts(rng: np.random.Generator, shape: Shape, count: int) -> list[str]:
    """Without the first id, which the library puts before them."""
    rows = tiny_qwen3.prompts(rng, shape, count)[:, 1:]
    return [" ".join(map(str, row)) for row in rows]


def finetuned(shape: Shape) -> tuple[Pulled, list[float]]:
    """When its batches were pulled, and the losses of all steps but the last."""
    rng, passes = np.random.default_rng(0), shape.rows // PASS_ROWS
    trainer = PeftTrainer(
        model(),
        optax.adamw(tiny_qwen3.RATE),
        TrainingConfig(
            eval_every_n_steps=10**9,
            max_steps=Pulled.steps,
            max_inflight_computations=1,
            gradient_accumulation_steps=passes,
        ),
    )
    trainer.with_gen_model_input_fn(
        lambda given: {
            "input_tokens": given.input_tokens,
            "input_mask": given.input_mask,
            "positions": utils.build_positions_from_mask(given.input_mask),
            "attention_mask": utils.make_causal_attn_mask(given.input_mask),
        }
    )

    def batches() -> Iterator[TrainingInput]:
        while True:
            for tokens in np.split(tiny_qwen3.words(rng, *shape), passes):
                mask = np.ones(tokens.shape, bool)
                yield TrainingInput(input_tokens=tokens, input_mask=mask)

    pulled = Pulled(batches(), passes)
    trainer.train(pulled)
    logged = trainer.metrics_logger.get_metric_history("", "loss", "train")
    return pulled, [float(x) for x in logged]


def finetune(shape: Shape) -> Cost:
    return finetuned(shape)[0].cpu_s(), shape.rows * shape.length


def made_sampler(shape: Shape) -> Callable[..., Any]:
    """Full distributions and no stop, unless it is told otherwise."""
    s = tiny_qwen3.SIZES
    made = Sampler(
        model(),
        Numbers(),
        CacheConfig(
            cache_size=shape.length,
            num_layers=s["layers"],
            num_kv_heads=s["kv_heads"],
            head_dim=s["head_width"],
        ),
    )
    return functools.partial(
        made,
        max_generation_steps=shape.new,
        max_prompt_length=shape.prompt,
        eos_tokens=[NEVER],
        return_logprobs=True,
    )


def sampler(shape: Shape) -> Cost:
    rng, made = np.random.default_rng(0), made_sampler(shape)

    def step() -> int:
        asked, seed = prompts(rng, shape, shape.rows), int(rng.integers(1000))
        out = made(asked, temperature=1.0, top_p=1.0, seed=seed)
        return sum(len(row) for row in out.tokens)

    return timed(step)


def answers() -> tiny_qwen3.Answers:
    shape = tiny_qwen3.SHAPES["base"]
    asked = prompts(np.random.default_rng(0), shape, shape.rows)
    out = made_sampler(shape)(asked)  # the likeliest ids
    likeliest = [[int(i) for i in row] for row in out.tokens]
    return tiny_qwen3.Answers(finetuned(shape)[1][:3], likeliest)


def reinforce(shape: Shape) -> Cost:
    """Samples, rewards, log-probabilities of the reference, and one update."""
    rng, count = np.random.default_rng(0), shape.rows // GROUP
    sampled: list[int] = []

    def rewards(prompts: Any, completions: list[str], **_: Any) -> list[float]:
        rows = [text.split() for text in completions]
        sampled.append(sum(map(len, rows)))
        return [tiny_qwen3.reward(row) for row in rows]

    learner = GRPOLearner(
        cluster(shape, count),
        GRPOConfig(
            num_generations=GROUP,
            num_iterations=1,
            beta=tiny_qwen3.BETA,
            kl_loss_mode="low_var_kl",
            epsilon=tiny_qwen3.CLIP,
        ),
        rewards,
    )

    def batches() -> Iterator[dict[str, np.ndarray]]:
        while True:
            yield {"prompts": np.array(prompts(rng, shape, count))}

    pulled = Pulled(batches())
    learner.train(pulled)
    (tokens,) = set(sampled)
    return pulled.cpu_s(), tokens


def cluster(shape: Shape, count: int) -> RLCluster:
    mesh = jax.make_mesh(
        (1, 1), ("fsdp", "tp"), axis_types=(jax.sharding.AxisType.Auto,) * 2
    )
    config = ClusterConfig(
        role_to_mesh=dict.fromkeys((Role.ACTOR, Role.REFERENCE, Role.ROLLOUT), mesh),
        rollout_engine="vanilla",
        offload_to_cpu=False,
        training_config=RLTrainingConfig(
            actor_optimizer=optax.adamw(tiny_qwen3.RATE),
            eval_every_n_steps=10**9,
            max_steps=Pulled.steps,
            mini_batch_size=count,
            train_micro_batch_size=PASS_ROWS // GROUP,
            rollout_micro_batch_size=count,
            compute_logps_micro_batch_size=PASS_ROWS // GROUP,
            max_inflight_computations=1,
        ),
        rollout_config=RolloutConfig(
            max_tokens_to_generate=shape.new,
            max_prompt_length=shape.prompt,
            kv_cache_size=shape.length,
            temperature=1.0,
            top_p=1.0,
            eos_tokens=[NEVER],
            return_logprobs=False,
        ),
    )
    return RLCluster(
        actor=model(), reference=model(), tokenizer=Numbers(), cluster_config=config
    )


if __name__ == "__main__":
    tiny_qwen3.report(
        {"sft": finetune, "sampler": sampler, "grpo": reinforce},
        answers,
        {name: importlib.metadata.version(name) for name in ("google-tunix", "jax")},
    )
