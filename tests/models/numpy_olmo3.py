"""OLMo 3 once more, in float64 without jax, from a checkpoint's own tensors.

Written from the description of the model rather than from either implementation: what
it settles is which layers have stretched positions, and where the norms stand.
"""

import math

import numpy as np


def frequencies(rope, width):
    """Radians per position of each pair, and the factor on cosine and sine."""
    half = width // 2
    plain = rope["rope_theta"] ** (-np.arange(half) / half)
    if rope["rope_type"] == "default":
        return plain, 1.0
    original = rope["original_max_position_embeddings"]

    def pair(turns):
        """The pair, not yet whole, that turns so often in the original length."""
        wanted = 2 * math.pi * turns / original
        return -half * math.log(wanted) / math.log(rope["rope_theta"])

    first = max(0, math.floor(pair(rope["beta_fast"])))
    last = min(width - 1, math.ceil(pair(rope["beta_slow"])))
    slow = np.array([min(1, max(0, (i - first) / (last - first))) for i in range(half)])
    stretched = (1 - slow) * plain + slow * plain / rope["factor"]
    return stretched, rope["attention_factor"]


def rotate(x, frequency, factor):
    """[T C] with pairs (i, i + C/2) turned as complex numbers."""
    half = x.shape[-1] // 2
    angle = np.arange(len(x))[:, None] * frequency
    turned = (x[:, :half] + 1j * x[:, half:]) * np.exp(1j * angle) * factor
    return np.concatenate([turned.real, turned.imag], -1)


def normalise(x, scale, eps):
    return x / np.sqrt(np.mean(x**2, -1, keepdims=True) + eps) * scale


def logits(settings, held, tokens):
    """[T V] of one row."""
    get = {name: value.astype(np.float64) for name, value in held.items()}.get
    eps = settings["rms_norm_eps"]
    embedding = get("model.embed_tokens.weight")
    x = embedding[tokens]
    for layer, kind in enumerate(settings["layer_types"]):

        def part(name, layer=layer):
            return get(f"model.layers.{layer}.{name}.weight")

        out = attention(settings, kind, part, x)
        x = x + normalise(out, part("post_attention_layernorm"), eps)
        gate = x @ part("mlp.gate_proj").T
        up = x @ part("mlp.up_proj").T
        out = (gate / (1 + np.exp(-gate)) * up) @ part("mlp.down_proj").T
        x = x + normalise(out, part("post_feedforward_layernorm"), eps)
    head = get("lm_head.weight", embedding)
    return normalise(x, get("model.norm.weight"), eps) @ head.T


def attention(settings, kind, part, x):
    """What one layer's attention adds before its norm; queries one at a time."""
    eps, length = settings["rms_norm_eps"], len(x)
    heads, shared = settings["num_attention_heads"], settings["num_key_value_heads"]
    width = settings["head_dim"]
    turn = frequencies(settings["rope_parameters"][kind], width)
    q = normalise(x @ part("self_attn.q_proj").T, part("self_attn.q_norm"), eps)
    k = normalise(x @ part("self_attn.k_proj").T, part("self_attn.k_norm"), eps)
    v = (x @ part("self_attn.v_proj").T).reshape(length, shared, width)
    q, k = q.reshape(length, heads, width), k.reshape(length, shared, width)
    out = np.zeros((length, heads, width))
    for head in range(heads):
        group = head // (heads // shared)
        queries, keys = rotate(q[:, head], *turn), rotate(k[:, group], *turn)
        for t in range(length):
            first = 0
            if kind == "sliding_attention":
                first = max(0, t - settings["sliding_window"] + 1)
            scores = keys[first : t + 1] @ queries[t] / math.sqrt(width)
            weights = np.exp(scores - scores.max())
            out[t, head] = weights / weights.sum() @ v[first : t + 1, group]
    return out.reshape(length, -1) @ part("self_attn.o_proj").T
