"""Tiny students of every family, one step of each, and layouts of eight devices."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from routejax import grpo, mesh, models, sft, update
from routejax.packing import Example
from routejax.sampler import Queue, request_keys
from routejax.stages.run import on_mesh

LAYOUTS = {
    "8x1": {"data": 1, "fsdp": 8},
    "4x2": {"data": 1, "fsdp": 4, "tensor": 2},
    "2x4": {"data": 1, "fsdp": 2, "tensor": 4},
    "1x8": {"data": 1, "fsdp": 1, "tensor": 8},
    "2x2x2": {"data": 2, "fsdp": 2, "tensor": 2},
    "2 replicas": {"replica": 2, "data": 2, "fsdp": 2},
}
# Half the time of the usual compilation; the cuts are the same.
QUICK = {"xla_backend_optimization_level": 0}
_OWN = {
    "llama": {},
    "qwen3": {},
    "olmo3": {"window": 6, "layer_types": ("sliding", "full")},
}
# Adam's first step is the sign of a slope: a large eps keeps rounding from deciding it.
RULES = {
    "name": "adamw",
    "steps": 10,
    "learning_rate": 1e-2,
    "warmup_share": 0.0,
    "final_share": 1.0,
    "b1": 0.9,
    "b2": 0.95,
    "eps": 1e-2,
    "weight_decay": 0.1,
    "clip_norm": 0.5,
}


def tiny(family, **ways):
    """Five layers, so that they are scanned; eight heads, so that eight can share."""
    sizes = {
        "vocabulary": 40,
        "width": 32,
        "layers": 5,
        "heads": 8,
        "kv_heads": 8,
        "head_width": 4,
        "mlp_width": 48,
        "tied": False,
    }
    return models.create(family, **sizes | _OWN[family] | ways)


def layout(name, devices=None):
    return mesh.make_mesh(devices or jax.devices()[:8], **LAYOUTS[name])


@functools.cache
def params(student):
    """Drawn by numpy, the same under any version of jax."""
    rng = np.random.default_rng(1)

    def draw(path, leaf):
        values = rng.normal(size=leaf.shape)
        if path[-1].key == "scale":
            return np.asarray(1 + 0.1 * values, np.float32)
        return np.asarray(values * leaf.shape[-2] ** -0.5, np.float32)

    return jax.tree_util.tree_map_with_path(
        draw, jax.eval_shape(lambda: student.init(0))
    )


def examples(count=24):
    rng = np.random.default_rng(2)
    return [
        Example(
            rng.integers(3, 40, 2 + i % 4).tolist(),
            rng.integers(3, 40, 5 + i % 9).tolist(),
        )
        for i in range(count)
    ]


def sft_batch():
    """Sixteen packed rows of 24 tokens, several examples in most."""
    return sft.batch(examples(), row_tokens=24, row_multiple=16)


def grpo_batch():
    rng = np.random.default_rng(3)
    made, packed = grpo.batch(
        examples(),
        rng.normal(size=24),
        preset=grpo.PRESETS["paper"],
        samples=24,
        tokens=sum(len(e.response) for e in examples()),
        row_tokens=24,
        row_multiple=16,
    )
    noise = rng.normal(size=packed.tokens.shape).astype(np.float32) - 3
    noise = jnp.asarray(noise)
    return made._replace(ref_logps=noise, sampler_logps=noise, old_logps=noise)


def losses(student):
    return {
        "sft": (sft.loss(student), sft_batch()),
        "grpo": (
            grpo.loss(student, grpo.PRESETS["paper"], beta=0.1, temperature=0.9),
            grpo_batch(),
        ),
    }


@functools.cache
def alone(family, kind):
    """State and metrics after one step on one device."""
    student = tiny(family)
    loss, batch = losses(student)[kind]
    rule = update.optimiser(**RULES)
    state = update.start(jax.tree.map(jnp.asarray, params(student)), rule)
    lowered = update.train_step.lower(loss, rule, state, batch)
    return host(lowered.compile(QUICK)(state, batch))


def host(tree):
    return jax.tree.map(np.asarray, tree)


def spread_step(family, kind, over, pass_rows=None, **ways):
    """The same step on a mesh: state, metrics and the compiled program."""
    student, place = on_mesh(tiny(family, **ways), over), mesh.Placement(over, family)
    loss, batch = losses(student)[kind]
    rule = update.optimiser(**RULES)
    state = update.start(place.put(params(student)), rule, place)
    settings = {"place": place, "pass_rows": pass_rows}
    rows = place.rows(batch)
    lowered = update.train_step.lower(loss, rule, state, rows, **settings)
    compiled = lowered.compile(QUICK)
    state, metrics = compiled(state, rows)
    return state, metrics, compiled


def queue(prompts=5, samples=3):
    rng = np.random.default_rng(4)
    owner = np.repeat(np.arange(prompts, dtype=np.uint32), samples)
    index = np.tile(np.arange(samples, dtype=np.uint32), prompts)
    return Queue(
        jnp.asarray(rng.integers(3, 40, (prompts, 6)), jnp.int32),
        jnp.asarray(rng.integers(2, 7, prompts), jnp.int32),
        jnp.asarray(owner, jnp.int32),
        request_keys(0, 0, owner, index),
    )


SAMPLING = {"slots": 8, "max_new": 6, "stop_ids": (2, 5), "refill_at": 4}
