"""The student again, in float64 loops without jax: a reference to compare with."""

import numpy as np


def normalise(x, scale, eps):
    return np.stack([row / np.sqrt(np.mean(row**2) + eps) * scale for row in x])


def turn(vector, position, theta):
    """One head's vector at one position: pair (i, i + C/2) turned by its angle."""
    out, half = np.array(vector), len(vector) // 2
    for i in range(half):
        angle = position * theta ** (-2 * i / len(vector))
        a, b = vector[i], vector[i + half]
        out[i] = a * np.cos(angle) - b * np.sin(angle)
        out[i + half] = b * np.cos(angle) + a * np.sin(angle)
    return out


def attend(queries, keys, values, mask):
    """[H T C], [J S C], [J S C], [T S] to [H T C], one query at a time."""
    heads, length, width = queries.shape
    out = np.zeros_like(queries)
    for h in range(heads):
        j = h // (heads // len(keys))
        for t in range(length):
            seen = np.flatnonzero(mask[t])
            scores = np.array([queries[h, t] @ keys[j, s] for s in seen])
            weights = np.exp((scores - scores.max()) / np.sqrt(width))
            out[h, t] = weights / weights.sum() @ values[j, seen]
    return out


def hidden(config, params, tokens, positions=None, mask=None):
    """Final hidden states [T E] of one row; causal where no mask is given."""
    length = len(tokens)
    positions = np.arange(length) if positions is None else positions
    mask = np.tri(length, dtype=bool) if mask is None else mask
    eps = config.norm_eps
    x = params["embedding"][np.asarray(tokens)]
    for layer in range(config.layers):
        block = layer_of(params["blocks"], layer)
        part = {k: v["kernel"] for k, v in block["attention"].items()}

        def heads(flat, count, rotate):
            split = flat.reshape(length, count, -1).transpose(1, 0, 2)
            if not rotate:
                return split
            turned = [
                [
                    turn(v, p, config.rope_theta)
                    for v, p in zip(h, positions, strict=True)
                ]
                for h in split
            ]
            return np.array(turned)

        y = normalise(x, block["attention_norm"]["scale"], eps)
        out = attend(
            heads(y @ part["query"], config.heads, True),
            heads(y @ part["key"], config.kv_heads, True),
            heads(y @ part["value"], config.kv_heads, False),
            mask,
        )
        x = x + out.transpose(1, 0, 2).reshape(length, -1) @ part["out"]
        y = normalise(x, block["mlp_norm"]["scale"], eps)
        part = {k: v["kernel"] for k, v in block["mlp"].items()}
        gate = y @ part["gate"]
        x = x + (gate / (1 + np.exp(-gate)) * (y @ part["up"])) @ part["down"]
    return normalise(x, params["norm"]["scale"], eps)


def layer_of(blocks, layer):
    """The tree of one layer out of the stack of all."""
    if isinstance(blocks, dict):
        return {name: layer_of(value, layer) for name, value in blocks.items()}
    return blocks[layer]


def logits(config, params, tokens, positions=None, mask=None):
    head = params["embedding"] if config.tied else params["head"]
    return hidden(config, params, tokens, positions, mask) @ head.T


def logps(config, params, tokens, temperature=1.0):
    """Log-probability of each token given those before it; entry 0 is zero."""
    scaled = logits(config, params, tokens) / temperature
    total = np.log(np.exp(scaled - scaled.max(1, keepdims=True)).sum(1))
    total += scaled.max(1)
    each = [scaled[t - 1, tokens[t]] - total[t - 1] for t in range(1, len(tokens))]
    return np.array([0.0, *each])


def doubles(params):
    """The same tree with float64 numpy leaves."""
    if isinstance(params, dict):
        return {name: doubles(value) for name, value in params.items()}
    return np.asarray(params, np.float64)


def slope(function, params, path, index, step=1e-5):
    """Central difference of `function(params)` by one number of the tree."""
    leaf = params
    for name in path:
        leaf = leaf[name]
    kept = leaf[index]
    leaf[index] = kept + step
    high = function(params)
    leaf[index] = kept - step
    low = function(params)
    leaf[index] = kept
    return (high - low) / (2 * step)


def tilted(function, params, tilt, step=1e-5):
    """Slope of `function(params)` along a direction: one number per leaf of `tilt`."""

    def at(scale):
        return function(moved(params, tilt, scale))

    return (at(step) - at(-step)) / (2 * step)


def moved(params, tilt, scale):
    if isinstance(params, dict):
        return {name: moved(params[name], tilt[name], scale) for name in params}
    return params + scale * tilt
