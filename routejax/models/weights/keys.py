"""Names of a family's weights in published checkpoints: one table per family.

A path of our tree, joined by slashes, gives the published name; `{}` in it is the
number of the layer, and then our array has the layers on its first axis. Maps are
published as [out in] and ours are [in out], so kernels are turned around.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax

from routejax.models.config import Config
from routejax.models.student import Student

_ATTENTION = {
    f"blocks/attention/{ours}/kernel": f"model.layers.{{}}.self_attn.{theirs}.weight"
    for ours, theirs in (
        ("query", "q_proj"),
        ("key", "k_proj"),
        ("value", "v_proj"),
        ("out", "o_proj"),
    )
}
_MLP = {
    f"blocks/mlp/{name}/kernel": f"model.layers.{{}}.mlp.{name}_proj.weight"
    for name in ("gate", "up", "down")
}
_OUTSIDE = {
    "embedding": "model.embed_tokens.weight",
    "norm/scale": "model.norm.weight",
    "head": "lm_head.weight",
}
_BEFORE = {
    "blocks/attention_norm/scale": "model.layers.{}.input_layernorm.weight",
    "blocks/mlp_norm/scale": "model.layers.{}.post_attention_layernorm.weight",
}
# The same published name as Llama's second norm, but of the first sublayer.
_AFTER = {
    "blocks/attention_norm/scale": "model.layers.{}.post_attention_layernorm.weight",
    "blocks/mlp_norm/scale": "model.layers.{}.post_feedforward_layernorm.weight",
}
_QUERY_KEY = {
    f"blocks/attention/{ours}_norm/scale": f"model.layers.{{}}.self_attn.{theirs}"
    for ours, theirs in (("query", "q_norm.weight"), ("key", "k_norm.weight"))
}
NAMES: dict[str, dict[str, str]] = {
    "llama": _OUTSIDE | _ATTENTION | _MLP | _BEFORE,
    "qwen3": _OUTSIDE | _ATTENTION | _MLP | _BEFORE | _QUERY_KEY,
    "olmo3": _OUTSIDE | _ATTENTION | _MLP | _AFTER | _QUERY_KEY,
}

HEAD, EMBEDDING = _OUTSIDE["head"], _OUTSIDE["embedding"]


class Key(NamedTuple):
    """Where one leaf of our tree is in a checkpoint.

    `names` has one entry per layer where the leaf is stacked. `shape` is that of each
    published tensor.
    """

    names: tuple[str, ...]
    stacked: bool
    turned: bool
    shape: tuple[int, ...]


def shapes(student: Student) -> Any:
    """The parameter tree as shapes, float32, without making any array."""
    return jax.eval_shape(lambda: student.init(0))


def path_of(path: tuple[Any, ...]) -> str:
    return "/".join(str(key.key) for key in path)


def keys(student: Student) -> Any:
    """The parameter tree with a `Key` at every leaf."""
    names = NAMES[student.family]

    def find(path: tuple[Any, ...], leaf: Any) -> Key:
        return _key(student.config, names[path_of(path)], path_of(path), leaf.shape)

    return jax.tree_util.tree_map_with_path(find, shapes(student))


def _key(config: Config, name: str, path: str, shape: tuple[int, ...]) -> Key:
    stacked, turned = "{}" in name, path.endswith("kernel")
    own = shape[1:] if stacked else shape
    count = config.layers if stacked else 1
    return Key(
        tuple(name.format(layer) for layer in range(count)),
        stacked,
        turned,
        own[::-1] if turned else own,
    )


def flat(tree: Any) -> list[Key]:
    """The keys of a tree of keys, in the order of its leaves."""
    return jax.tree.leaves(tree, is_leaf=lambda leaf: isinstance(leaf, Key))
