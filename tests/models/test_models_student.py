"""The whole student: against loops in numpy, with and without its cache."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import numpy_llama
import pytest
from flax import nnx

from routejax import models
from routejax.errors import UserError

LENGTH = 7
SIZES = {
    "vocabulary": 11,
    "width": 8,
    "layers": 12,
    "heads": 2,
    "kv_heads": 1,
    "head_width": 4,
    "mlp_width": 6,
}


@pytest.fixture(scope="module")
def forward(student):
    return jax.jit(student.forward)


@pytest.fixture(scope="module")
def rows():
    tokens = np.random.default_rng(1).integers(0, 24, (2, LENGTH)).astype(np.int32)
    positions = np.tile(np.arange(LENGTH, dtype=np.int32), (2, 1))
    return tokens, positions, np.tile(np.tri(LENGTH, dtype=bool), (2, 1, 1))


@pytest.mark.parametrize(("tied", "theta"), [(False, 1e4), (True, 50.0)])
def test_logits_equal_loops_in_numpy(student, params, rows, tied, theta):
    sizes = dataclasses.replace(student.config, tied=tied, rope_theta=theta)
    other = models.Student("llama", sizes)
    if tied:
        params = {name: leaf for name, leaf in params.items() if name != "head"}

    @jax.jit
    def logits(*row):
        hidden, _ = other.forward(params, *row)
        return other.logits(params, hidden)

    found = logits(*map(jnp.asarray, rows))
    assert found.dtype == jnp.float32
    for row, each in zip(rows[0], found, strict=True):
        plain = numpy_llama.logits(sizes, numpy_llama.doubles(params), row)
        np.testing.assert_allclose(each, plain, atol=2e-5)


@pytest.mark.parametrize(
    "columns",
    [range(LENGTH), (5, 0, 9, 2, 7, 1, 4)],
    ids=["in order", "scattered"],
)
def test_cached_decoding_equals_the_full_forward(
    student, params, rows, forward, columns
):
    """Token by token, each written to its own column of a cache full of rubbish."""
    tokens, positions, mask = map(jnp.asarray, rows)
    expected, _ = forward(params, tokens, positions, mask)
    slots = LENGTH + 3
    cache = jax.tree.map(lambda x: x + 1e3, student.empty_cache(2, slots))
    seen = np.zeros((2, 1, slots), bool)
    for t, column in enumerate(columns):
        seen[:, :, column] = True
        step = slice(t, t + 1)
        out, cache = forward(
            params,
            tokens[:, step],
            positions[:, step],
            jnp.asarray(seen),
            cache,
            jnp.int32(column),
        )
        np.testing.assert_allclose(out[:, 0], expected[:, t], atol=1e-5)
    assert jax.tree.all(jax.tree.map(lambda x: bool((x != 1e3).any()), cache))


def test_the_future_is_not_seen(params, rows, forward):
    tokens, positions, mask = map(jnp.asarray, rows)
    before, _ = forward(params, tokens, positions, mask)
    after, _ = forward(params, tokens.at[:, 4:].add(-1), positions, mask)
    np.testing.assert_array_equal(before[:, :4], after[:, :4])
    assert np.all(np.abs(before[:, 4:] - after[:, 4:]).max((0, 2)) > 1e-3)


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_never_leaks(params, rows, forward, side):
    """Whatever stands in masked places, at whatever positions."""
    tokens, positions, mask = rows
    real = slice(3, None) if side == "left" else slice(None, 4)
    blank = np.ones(LENGTH, bool)
    blank[real] = False
    shown = jnp.asarray(mask & ~blank)
    count = LENGTH - blank.sum()
    at = positions.copy()
    at[:, real] = np.arange(count)
    out = []
    for filler, place in ((0, 0), (23, 90)):
        filled = np.where(blank, filler, tokens).astype(np.int32)
        places = np.where(blank, place, at).astype(np.int32)
        out.append(forward(params, jnp.asarray(filled), jnp.asarray(places), shown)[0])
    np.testing.assert_array_equal(out[0][:, real], out[1][:, real])

    # And the real tokens alone, at the front of a row, give the same.
    alone = np.zeros_like(tokens)
    alone[:, :count] = tokens[:, real]
    expected, _ = forward(params, jnp.asarray(alone), *map(jnp.asarray, rows[1:]))
    np.testing.assert_allclose(out[0][:, real], expected[:, :count], atol=1e-5)


def test_only_distances_between_positions_matter(params, rows, forward):
    tokens, positions, mask = map(jnp.asarray, rows)
    near, _ = forward(params, tokens, positions, mask)
    far, _ = forward(params, tokens, positions + 40, mask)
    wide, _ = forward(params, tokens, positions * 2, mask)
    np.testing.assert_allclose(near, far, atol=1e-4)
    assert np.abs(near - wide).max() > 1e-2


def test_every_leaf_keeps_its_name():
    """Twelve layers, because names are sorted and "10" sorts before "2"."""
    student = models.create("llama", **SIZES, tied=False)
    shapes = jax.eval_shape(lambda: student.init(0))
    leaves, tree = jax.tree.flatten_with_path(shapes)
    numbered = [np.full(leaf.shape, n, "f4") for n, (_, leaf) in enumerate(leaves)]
    module = student._merge(jax.tree.unflatten(tree, numbered))
    for number, (path, leaf) in enumerate(leaves):
        node = module
        for step in path:
            name = step.key
            node = node[int(name)] if name.isdigit() else getattr(node, name)
        assert node.shape == leaf.shape
        assert np.all(np.asarray(node[...]) == number), path
    held = nnx.to_pure_dict(nnx.state(module, nnx.Param))
    assert len(jax.tree.leaves(held)) == len(leaves) == 12 * 9 + 3


def test_the_number_of_parameters_by_hand():
    E, V, F = SIZES["width"], SIZES["vocabulary"], SIZES["mlp_width"]
    attention = 2 * E * (2 * 4) + 2 * E * (1 * 4)
    each = attention + 3 * E * F + 2 * E
    for tied in (True, False):
        other = models.create("llama", **SIZES, tied=tied)
        params = jax.eval_shape(lambda other=other: other.init(0))
        assert models.count(params) == 12 * each + E + V * E * (1 if tied else 2)


@pytest.fixture(scope="module")
def started():
    """A small student of one layer, and its start."""
    sizes = {"width": 48, "mlp_width": 64, "heads": 4, "head_width": 12, "layers": 1}
    student = models.create("llama", **(SIZES | sizes), tied=False)
    return student, student.init(0)


def test_a_start_is_a_function_of_the_seed(started):
    student, params = started
    same, differs = (
        dict(jax.tree.leaves_with_path(student.init(seed))) for seed in (0, 1)
    )
    for path, leaf in jax.tree.leaves_with_path(params):
        assert leaf.dtype == jnp.float32
        np.testing.assert_array_equal(leaf, same[path])
        if path[-1].key == "scale":
            np.testing.assert_array_equal(leaf, 1)
        else:
            assert not np.any(leaf == differs[path]), path


def test_a_start_has_the_promised_spread(started):
    """1/sqrt(inputs), and 1/sqrt(2·layers) of it into the residual stream."""
    block = started[1]["blocks"]["00"]
    for part, name, spread in (
        ("attention", "query", 48**-0.5),
        ("attention", "out", 48**-0.5 / 2**0.5),
        ("mlp", "up", 48**-0.5),
        ("mlp", "down", 64**-0.5 / 2**0.5),
    ):
        found = np.std(block[part][name]["kernel"])
        assert found == pytest.approx(spread, rel=0.06), name


def test_equal_students_are_one_static_argument(student):
    again = models.Student("llama", dataclasses.replace(student.config))
    assert student == again
    assert hash(student) == hash(again)
    assert student != models.create("llama", **SIZES)


@pytest.mark.parametrize(
    ("family", "change", "words"),
    [
        ("lama", {}, r"student\.family must be one of \['llama'\], got 'lama'"),
        ("llama", {"heads": 3, "kv_heads": 2}, r"multiple of .* got 3 and 2"),
        ("llama", {"head_width": 5}, r"head_width must be even, got 5"),
        ("llama", {"layers": 101}, r"layers must be 1\.\.100, got 101"),
        ("llama", {"layers": 0}, r"layers must be 1\.\.100, got 0"),
    ],
)
def test_mistakes_are_explained(family, change, words):
    with pytest.raises(UserError, match=words):
        models.create(family, **(SIZES | change))
