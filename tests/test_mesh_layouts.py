"""Every layout of eight devices takes the step that one device takes.

Tolerances: everything is float32, and sums over devices come in another order. Loss,
gradient norm and moments agree to 1e-5 of their size, parameters to 2e-6. The first
moment of a first step is a tenth of the clipped gradient, so gradients are compared.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P
from mesh_cases import (
    LAYOUTS,
    RULES,
    SAMPLING,
    alone,
    host,
    layout,
    losses,
    params,
    queue,
    spread_step,
    tiny,
)

from routejax import mesh, spread, update
from routejax.models import MODELS, SIZES, Places, create
from routejax.sampler import Queue, sample
from routejax.stages.plan_collectives import collectives
from routejax.stages.run import on_mesh


def require_equal(family, kind, found):
    state, metrics = alone(family, kind)
    ours, theirs = jax.tree.leaves(found[0]), jax.tree.leaves(state)
    for one, other in zip(ours, theirs, strict=True):
        size = np.abs(other).max() + 1e-9
        np.testing.assert_allclose(one / size, other / size, atol=1e-5)
    for one, other in zip(
        jax.tree.leaves(found[0].params), jax.tree.leaves(state.params), strict=True
    ):
        np.testing.assert_allclose(one, other, atol=2e-6)
    assert found[1].keys() == metrics.keys()
    for name, value in metrics.items():
        assert found[1][name] == pytest.approx(value, rel=1e-5, abs=1e-6), name


def require_in_place(tree, place):
    """Nothing has been gathered that was divided."""
    wanted = place.shardings(tree)
    for (path, leaf), there in zip(
        jax.tree_util.tree_leaves_with_path(tree),
        jax.tree.leaves(wanted),
        strict=True,
    ):
        assert leaf.sharding.is_equivalent_to(there, leaf.ndim), path


@pytest.mark.slow
@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("family", MODELS)
def test_a_step_is_that_of_one_device(family, name):
    over = layout(name)
    state, metrics, compiled = spread_step(family, "sft", over)
    require_equal(family, "sft", host((state, metrics)))
    require_in_place(state, mesh.Placement(over, family))
    found = collectives(compiled.as_text())
    assert "all-reduce" in found  # gradients of norms at least
    if over.shape["fsdp"] > 1:  # weights are gathered where they are used
        assert found["all-gather"].count >= 5


@pytest.mark.slow
def test_a_step_in_passes_on_a_mesh_with_everything_done_again():
    """GRPO's loss, remat, logits in chunks, sixteen rows in two passes."""
    over = layout("2x2x2")
    state, metrics, _ = spread_step(
        "llama", "grpo", over, pass_rows=8, remat="full", logit_chunk=10
    )
    require_equal("llama", "grpo", host((state, metrics)))


def test_a_step_holds_its_activations():
    """Without the constraint the compiler may choose; with it the places are there."""
    over = layout("2x2x2")
    student = on_mesh(tiny("llama"), over)
    free = dataclasses.replace(student.execution, constrain=None)
    held, loose = (
        jax.jit(lambda p, t, s=s: s.forward(p, t, places(t))[0])
        .lower(params(student), np.zeros((8, 6), np.int32))
        .as_text()
        for s in (student, dataclasses.replace(student, execution=free))
    )
    assert held.count("sharding_constraint") >= 5
    assert loose.count("sharding_constraint") == 0


def test_a_step_holds_its_gradients_and_its_state():
    """Every leaf of the gradient, of the new state and of a new start."""
    over = layout("2x2x2")
    student, place = tiny("llama"), mesh.Placement(over, "llama")
    loss, batch = losses(student)["sft"]
    rule = update.optimiser(**RULES)
    state = update.start(place.put(params(student)), rule, place)
    require_in_place(state, place)
    leaves = len(jax.tree.leaves(state)) + len(jax.tree.leaves(state.params))
    args = (loss, rule, state, place.rows(batch))
    held = update.train_step.lower(*args, place=place).as_text()
    loose = update.train_step.lower(*args).as_text()
    assert held.count("sharding_constraint") == leaves
    assert loose.count("sharding_constraint") == 0


def places(tokens):
    return Places(jnp.ones_like(tokens), jnp.arange(6) + 0 * tokens)


@pytest.mark.slow
@pytest.mark.parametrize("layers", [2, 5])
def test_samples_are_those_of_one_device(layers):
    """Layers written out, and layers scanned."""
    student = tiny("llama", layers=layers)
    start, asked = params(student), queue()
    one = sample(student, start, asked, temperature=1.0, **SAMPLING)
    over = mesh.make_mesh(jax.devices()[:4], data=2, tensor=2)
    place = mesh.Placement(over, "llama")
    many = spread.sample_over(
        over,
        on_mesh(student, over),
        place.put(start),
        asked,
        temperature=1.0,
        **SAMPLING,
    )
    np.testing.assert_array_equal(many.tokens, one.tokens)
    np.testing.assert_array_equal(many.lengths, one.lengths)
    np.testing.assert_allclose(many.logps, one.logps, atol=1e-5)


def test_a_queue_in_parts_by_hand():
    """Seven requests for three prompts in two parts: 0 0 0 1 and 1 2 2, the last one
    asked again."""
    owner = np.array([0, 0, 0, 1, 1, 2, 2], np.int32)
    asked = Queue(
        prompts=np.array([[10, 0], [20, 21], [30, 31]]),
        prompt_lengths=np.array([1, 2, 2]),
        owner=owner,
        keys=np.stack([np.arange(7), np.arange(7)], 1).astype(np.uint32),
    )
    divided, total = spread.divide(asked, 2)
    assert total == 7
    assert divided.owner.tolist() == [0, 0, 0, 1, 0, 1, 1, 1]
    assert divided.prompts.tolist() == [[10, 0], [20, 21], [20, 21], [30, 31]]
    assert divided.prompt_lengths.tolist() == [1, 2, 2, 2]
    assert divided.keys[:, 0].tolist() == [0, 1, 2, 3, 4, 5, 6, 6]


@pytest.mark.parametrize("parts", [1, 2, 3, 5, 8, 20])
def test_every_request_keeps_its_prompt_and_its_key(parts):
    asked = queue(prompts=4, samples=3)
    divided, total = spread.divide(asked, parts)
    prompts = divided.prompts.reshape(parts, -1, 6)
    owner = divided.owner.reshape(parts, -1)
    own = np.concatenate([p[o] for p, o in zip(prompts, owner, strict=True)])
    np.testing.assert_array_equal(own[:total], asked.prompts[asked.owner])
    np.testing.assert_array_equal(divided.keys[:total], asked.keys)


def test_published_sizes_divide():
    """The meshes that plans name are possible."""
    for size, tensor in (("qwen3-4b", 8), ("qwen3-1.7b", 8), ("olmo3-7b", 16)):
        student = create(size=size)
        mesh.require_divides(
            {"replica": 1, "data": 1, "fsdp": 16, "tensor": tensor},
            student.family,
            jax.eval_shape(lambda student=student: student.init(0)),
            heads=student.config.heads,
            kv_heads=student.config.kv_heads,
        )


@pytest.mark.parametrize("size", SIZES)
def test_every_parameter_of_every_size_has_a_place(size):
    student = create(size=size)
    shapes = jax.eval_shape(lambda: student.init(0))
    for path, leaf in jax.tree_util.tree_leaves_with_path(shapes):
        names = mesh.axes_of(student.family, mesh.path_text(path), leaf.ndim)
        assert len(names) == leaf.ndim, path


def test_large_matrices_are_divided_over_everything():
    over = layout("4x2")
    for family in MODELS:
        shapes = jax.eval_shape(lambda family=family: tiny(family).init(0))
        found = mesh.Placement(over, family).shardings(shapes)
        for leaf, there in zip(
            jax.tree.leaves(shapes), jax.tree.leaves(found), strict=True
        ):
            if leaf.size > 1000:
                assert there.spec != P()
                assert there.num_devices == 8
                assert np.prod(there.shard_shape(leaf.shape)) * 8 == leaf.size
