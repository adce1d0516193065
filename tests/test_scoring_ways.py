"""However a student is run, its scores and slopes are the same, and its arrays small.

Layers scanned or written out, activations kept or made again, logits in chunks, pairs
in blocks, examples packed or apart.
"""

import dataclasses
import functools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from routejax import models, scoring
from routejax.models import decoder
from routejax.packing import Example, pack

SIZES = {
    "vocabulary": 24,
    "layers": 5,
    "width": 12,
    "heads": 4,
    "kv_heads": 2,
    "head_width": 6,
    "mlp_width": 16,
}
OWN = {
    "llama": {},
    "qwen3": {"tied": False},
    "olmo3": {
        "tied": False,
        "window": 3,
        "layer_types": ("sliding", "sliding", "sliding", "full"),
        "rope_scaling": models.Yarn(factor=4.0, original_positions=64),
    },
}
TEMPERATURE = 0.8


def student(family, **execution):
    return models.create(family, **SIZES, **OWN[family], **execution)


@pytest.fixture(scope="module")
def batches():
    """The same four examples in two rows, and in a row each; four rows of 16 both.

    With the weight of every token: the sum over an example's is the same in both.
    """
    rng = np.random.default_rng(0)
    examples = [Example(*rng.integers(0, 24, (2, n)).tolist()) for n in (4, 3, 3, 3)]
    together = pack(examples, row_tokens=16, row_multiple=4)
    assert together.segments.max(1).tolist() == [2, 2, 0, 0]
    blank = [np.zeros_like(field) for field in together]
    apart = type(together)(*blank)
    for example in range(4):
        there = together.example == example
        here = (example, slice(0, there.sum()))
        for mine, theirs in zip(apart, together, strict=True):
            mine[here] = theirs[there]
        apart.segments[here] = 1
    weights = rng.normal(size=(4, 24))
    found = []
    for packed in (together, apart):
        weight = weights[packed.example, packed.positions] * packed.response
        found.append((packed, scoring.rows(packed), weight.astype(np.float32)))
    return found


@functools.cache
def slope(made):
    """Scores, and the slope of their weighted sum (entropies count half)."""

    @jax.jit
    def run(params, batch, weight):
        def total(params):
            scores = scoring.score(made, params, batch, TEMPERATURE)
            both = scores.logps + 0.5 * scores.entropy
            return jnp.sum(jnp.where(weight != 0, weight * both, 0)), scores

        return jax.value_and_grad(total, has_aux=True)(params)

    return run


def stacked(slopes):
    whole = jax.tree.map(lambda *layers: jnp.stack(layers), *slopes["blocks"])
    return slopes | {"blocks": whole}


@pytest.fixture(scope="module", params=models.MODELS)
def plainest(request, batches):
    """Layers written out, everything kept, one chunk, pairs."""
    made = student(request.param, attention="plain")
    params = made.init(3)
    apart = params | {"blocks": decoder.apart(params["blocks"], 5)}
    _, rows, weight = batches[0]
    (_, scores), slopes = slope(made)(apart, rows, weight)
    return made, params, apart, scores, stacked(slopes)


def check_slopes(found, wanted):
    same = dict(jax.tree.leaves_with_path(found))
    for path, leaf in jax.tree.leaves_with_path(wanted):
        assert np.abs(leaf).max() > 0, path
        near = 2e-5 * max(1.0, float(np.abs(leaf).max()))
        np.testing.assert_allclose(same[path], leaf, atol=near, err_msg=str(path))


WAYS = {
    "made again, in chunks": {"remat": "full", "logit_chunk": 5},
    "in blocks": {"remat": "attention", "attention": "blockwise", "logit_chunk": 8},
    "maps kept": {"remat": "dots"},
}
# Each way with the families it could differ for; compiling them all takes minutes.
TRIED = {
    "made again, in chunks": ["qwen3", "olmo3"],
    "in blocks": ["olmo3"],
    "maps kept": ["llama"],
}


@pytest.mark.parametrize("way", WAYS)
def test_no_way_changes_scores_or_slopes(plainest, batches, way):
    made, params, _, scores, slopes = plainest
    if made.family not in TRIED[way]:
        pytest.skip("tried with another family")
    execution = models.Execution(**{"attention": "plain"} | WAYS[way])
    changed = dataclasses.replace(made, execution=execution)
    packed, rows, weight = batches[0]
    (_, found), own = slope(changed)(params, rows, weight)
    for mine, wanted in zip(found, scores, strict=True):
        real = packed.response
        np.testing.assert_allclose(mine[real], wanted[real], atol=2e-5)
    check_slopes(own, slopes)


def test_packing_changes_neither_scores_nor_slopes(plainest, batches):
    made, _, apart, scores, slopes = plainest
    (together, *_), (alone, rows, weight) = batches
    (_, found), other = slope(made)(apart, rows, weight)
    for mine, wanted in zip(found, scores, strict=True):
        for example in range(4):
            here, there = (
                packed.response & (packed.example == example)
                for packed in (alone, together)
            )
            np.testing.assert_allclose(mine[here], wanted[there], atol=2e-5)
    check_slopes(stacked(other), slopes)


def lowered(made, rows, length):
    """The program of a step's slope, without compiling it."""
    shapes = jax.eval_shape(lambda: made.init(0))
    row = jax.ShapeDtypeStruct((rows, length), jnp.int32)

    def total(params, batch):
        return jnp.sum(scoring.score(made, params, batch).logps)

    batch = scoring.Rows(row, row, row)
    return jax.jit(jax.grad(total)).lower(shapes, batch).as_text()


@pytest.mark.parametrize("family", ["llama", "olmo3"])
def test_a_deep_student_has_no_longer_program(family):
    def lines(layers):
        made = models.create(family, **SIZES | {"layers": layers}, **OWN[family])
        return len(lowered(made, 2, 16).splitlines())

    assert decoder.UNROLLED < 8
    assert lines(8) == lines(32)
    assert lines(8) < lines(9) if family == "olmo3" else lines(8) == lines(9)


def largest(text):
    """Numbers in the largest array of a program."""
    shapes = set(re.findall(r"tensor<((?:\d+x)+)[a-z]", text))
    return max(int(np.prod([int(n) for n in s[:-1].split("x")])) for s in shapes)


def test_no_array_of_pairs_or_of_all_logits():
    """Rows of 2,048 tokens, 5,000 words: 512 columns of logits are the largest."""
    length, words = 2048, 5000
    sizes = SIZES | OWN["olmo3"] | {"vocabulary": words}
    made = models.create("olmo3", **sizes, remat="full")
    assert largest(lowered(made, 1, length)) == 512 * words < length * length
    whole = models.create("olmo3", **sizes, logit_chunk=length)
    assert largest(lowered(whole, 1, length)) == (length - 1) * words
    pairs = models.create("olmo3", **sizes, attention="plain")
    assert largest(lowered(pairs, 1, length)) >= 4 * length * length
