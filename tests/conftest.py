"""Tests run offline, on the CPU, with eight pretend devices, and check array shapes."""

import os

import jaxtyping
import numpy as np
import pytest

os.environ.setdefault("JAX_PLATFORMS", "cpu")
_FLAG = "--xla_force_host_platform_device_count=8"
if _FLAG not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {_FLAG}".strip()

# Every annotation of these rooms is checked at each call. The text rooms are left out:
# their functions run once per sentence, and checking made their tests five times as
# slow. So is `metrics`, whose doors take anything array-like.
ROOMS = ("models", "packing", "scoring", "sampler", "rollout", "update", "sft", "grpo")
CHECKED = [f"routejax.{room}" for room in (*ROOMS, "selection")]
jaxtyping.install_import_hook(CHECKED, "beartype.beartype")


# jax is imported by what needs it, so that tests about text start without it.
# ruff: noqa: PLC0415


@pytest.fixture(scope="session")
def student():
    """One small student for all rooms, so that few shapes are compiled.

    Its width exceeds its vocabulary, which `bigram` needs.
    """
    from routejax import models

    return models.create(
        "llama",
        vocabulary=24,
        width=32,
        layers=2,
        heads=4,
        kv_heads=2,
        head_width=8,
        mlp_width=48,
        tied=False,
    )


@pytest.fixture(scope="session")
def params(student):
    """Parameters of `student` drawn by numpy, the same under any version of jax."""
    import jax
    import jax.numpy as jnp

    rng = np.random.default_rng(0)

    def draw(path, leaf):
        values = rng.normal(size=leaf.shape)
        name = path[-1].key
        if name == "scale":
            values = 1 + 0.1 * values
        else:
            values *= leaf.shape[0 if name == "kernel" else 1] ** -0.5
        return np.asarray(values, np.float32)

    shapes = jax.eval_shape(lambda: student.init(0))
    block = jax.tree.map(lambda leaf: leaf.update(shape=leaf.shape[1:]), shapes)
    blocks = [
        jax.tree.map_with_path(draw, block["blocks"])
        for _ in range(student.config.layers)
    ]
    stacked = jax.tree.map(lambda *layers: np.stack(layers), *blocks)
    rest = jax.tree.map_with_path(draw, shapes | {"blocks": {}})
    return jax.tree.map(jnp.asarray, rest | {"blocks": stacked})


@pytest.fixture(scope="session")
def bigram(student, params):
    """Parameters of `student` with chosen logits: a function of a table [V V].

    Row i of the table holds the logits after token i. Blocks write nothing into the
    residual stream, embeddings are one-hot, and the head undoes the final norm.
    """
    import jax.numpy as jnp

    size, width = student.config.vocabulary, student.config.width
    blocks = params["blocks"]
    silent = {
        part: blocks[part]
        | {name: {"kernel": jnp.zeros_like(blocks[part][name]["kernel"])}}
        for part, name in (("attention", "out"), ("mlp", "down"))
    }
    # The norm of a one-hot row: mean of squares is 1/width.
    height = (1 / width + student.config.norm_eps) ** -0.5

    def build(table):
        head = np.zeros((size, width))
        head[:, :size] = np.asarray(table, np.float64).T / height
        return {
            "blocks": blocks | silent,
            "norm": {"scale": jnp.ones(width)},
            "embedding": jnp.eye(size, width),
            "head": jnp.asarray(head, jnp.float32),
        }

    return build
