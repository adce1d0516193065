"""Attention against loops over queries, and its other ways against the plain one."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import numpy_llama
import pytest
from jax.sharding import PartitionSpec

from routejax import mesh
from routejax.errors import UserError
from routejax.models import Places
from routejax.models.attention import IMPLEMENTATIONS, SHORT, attend, choice
from routejax.models.blockwise import blockwise
from routejax.models.kernels import cudnn, splash
from routejax.models.places import pairwise, sight

B, T, S, H, J, C = 2, 3, 5, 4, 2, 6


@pytest.fixture
def drawn():
    """Queries, keys, values and a mask in which every query sees slot 0."""
    rng = np.random.default_rng(0)
    queries = rng.normal(size=(B, H, T, C)).astype(np.float32)
    keys, values = rng.normal(size=(2, B, J, S, C)).astype(np.float32)
    mask = rng.random((B, T, S)) < 0.5
    mask[:, :, 0] = True
    return tuple(map(jnp.asarray, (queries, keys, values, mask)))


def test_attention_is_a_loop_over_queries(drawn):
    out = np.asarray(pairwise(*drawn))
    queries, keys, values, mask = map(np.asarray, drawn)
    for b in range(B):
        expected = numpy_llama.attend(queries[b], keys[b], values[b], mask[b])
        np.testing.assert_allclose(out[b], expected, atol=1e-5)


def test_grouped_queries_are_repeated_heads(drawn):
    queries, keys, values, mask = drawn
    full = [jnp.repeat(x, H // J, axis=1) for x in (keys, values)]
    np.testing.assert_allclose(
        pairwise(queries, keys, values, mask), pairwise(queries, *full, mask), atol=1e-6
    )


def test_one_visible_slot_gives_its_value(drawn):
    queries, keys, values, _ = drawn
    mask = jnp.zeros((B, T, S), bool).at[:, :, 3].set(True)
    out = pairwise(queries, keys * 1e4, values, mask)
    expected = np.repeat(np.repeat(values[:, :, 3:4], H // J, 1), T, 2)
    np.testing.assert_allclose(out, expected, atol=1e-6)


def test_a_query_that_sees_nothing_gives_the_mean(drawn):
    queries, keys, values, _ = drawn
    out = pairwise(queries, keys, values, jnp.zeros((B, T, S), bool))
    expected = np.repeat(np.repeat(values.mean(2, keepdims=True), H // J, 1), T, 2)
    np.testing.assert_allclose(out, expected, atol=1e-6)


@pytest.mark.parametrize("window", [None, 1, 2, 3, 100])
def test_who_sees_whom_by_brute_force(window):
    segments = np.array([[1, 1, 2, 2, 2, 3, 0, 0], [1] * 8, [0] * 8], np.int32)
    positions = np.array([[0, 1, 0, 1, 2, 0, 0, 0], range(8), [0] * 8], np.int32)
    places = Places(jnp.asarray(segments), jnp.asarray(positions))
    mask = np.asarray(sight(places, places, window))
    for r, t, s in np.ndindex(3, 8, 8):
        sees = s <= t and segments[r, t] == segments[r, s] > 0
        sees &= window is None or t - s < window
        assert mask[r, t, s] == sees, (r, t, s)


def test_slots_of_a_cache_may_stand_in_any_order():
    """The one query is at position 7 and sees what it and its window hold."""
    slots = Places(jnp.array([[1, 1, 0, 1, 1]]), jnp.array([[7, 3, 6, 5, 8]]))
    query = Places(jnp.array([[1]]), jnp.array([[7]]))
    assert sight(query, slots).tolist() == [[[True, True, False, True, False]]]
    assert sight(query, slots, 4).tolist() == [[[True, False, False, True, False]]]


def row_of(*lengths, total):
    """Segments and positions of one row: examples one after the other, then padding."""
    segments, positions = np.zeros((2, total), np.int32)
    at = 0
    for number, length in enumerate(lengths, 1):
        segments[at : at + length] = number
        positions[at : at + length] = np.arange(length)
        at += length
    return segments, positions


LENGTH = 37
PACKED = {
    "one example a row": [(37,), (30,)],
    "packed": [(5, 20, 12), (16, 3, 1, 9)],
    "borders on blocks": [(8, 8, 16), (16, 16)],
    "left padding": [(0, 20), (9,)],
    "an empty row": [(37,), ()],
}


@pytest.fixture(scope="module", params=PACKED.values(), ids=PACKED)
def places(request):
    rows = [row_of(*lengths, total=LENGTH) for lengths in request.param]
    segments, positions = (np.stack(part) for part in zip(*rows, strict=True))
    if request.param[0][0] == 0:
        segments, positions = (np.roll(part, 15, 1) for part in (segments, positions))
    return Places(jnp.asarray(segments), jnp.asarray(positions))


@pytest.fixture(scope="module")
def row():
    """Queries, keys, values, and a slope of the output."""
    rng = np.random.default_rng(3)
    shapes = [(B, H, LENGTH, C)] + [(B, J, LENGTH, C)] * 2 + [(B, H, LENGTH, C)]
    return [jnp.asarray(rng.normal(size=shape), jnp.float32) for shape in shapes]


@functools.cache
def outcome(way, **settings):
    """Output and slopes where queries are real; the rest has no part in the slopes."""

    @jax.jit
    def run(queries, keys, values, slope, places):
        real = (places.segments > 0)[:, None, :, None]
        attend = functools.partial(way, places=places, **settings)
        out, back = jax.vjp(attend, queries, keys, values)
        return jnp.where(real, out, 0), *back(jnp.where(real, slope, 0))

    return run


def pairs(queries, keys, values, places, window):
    return pairwise(queries, keys, values, sight(places, places, window))


def blocks(queries, keys, values, places, window, block):
    return blockwise(queries, keys, values, places.segments, window, block)


def tiles(queries, keys, values, places, window):
    return splash(queries, keys, values, places.segments, window, interpret=True)


# Blocks divide the row or not, windows the blocks, and one of each holds everything.
@pytest.mark.parametrize(
    ("window", "block"), [(None, 8), (6, 8), (8, 16), (1, 8), (100, 64)]
)
def test_blocks_equal_pairs(row, places, window, block):
    wanted = outcome(pairs, window=window)(*row, places)
    found = outcome(blocks, window=window, block=block)(*row, places)
    for mine, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=3e-6)


def test_blocks_give_zero_where_nothing_is_seen(row):
    segments = jnp.zeros((B, LENGTH), jnp.int32)
    assert not np.any(blockwise(*row[:3], segments, None, 8))


@pytest.mark.parametrize("window", [None, 6])
def test_chunks_of_cudnn_equal_pairs(row, places, window):
    """The chunks, with XLA in the place of the kernel that only GPUs have."""
    wanted = outcome(pairs, window=window)(*row, places)
    chunks = {"chunk": 20, "implementation": "xla"}
    found = outcome(cudnn, window=window, **chunks)(*row, places)
    for mine, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=3e-6)


@pytest.mark.parametrize("window", [None, 70])
def test_splash_equals_pairs(window):
    """Interpreted: two tiles, heads of the width of a lane."""
    rng = np.random.default_rng(5)
    shapes = [(1, 2, 256, 128)] + [(1, 1, 256, 128)] * 2 + [(1, 2, 256, 128)]
    row = [jnp.asarray(rng.normal(size=shape), jnp.float32) for shape in shapes]
    segments, positions = row_of(100, 120, total=256)
    places = Places(jnp.asarray(segments[None]), jnp.asarray(positions[None]))
    wanted = outcome(pairs, window=window)(*row, places)
    found = outcome(tiles, window=window)(*row, places)
    for mine, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=2e-5)


def test_splash_on_a_mesh_equals_pairs():
    """Every device has its own rows and heads; also where rows are divided by hand."""
    over = mesh.make_mesh(replica=1, data=2, fsdp=2, tensor=2)
    activations = mesh.Activations(over, "qwen3")
    rng = np.random.default_rng(6)
    shapes = [(4, 4, 128, 32), (4, 2, 128, 32), (4, 2, 128, 32)]
    row = [jnp.asarray(rng.normal(size=shape), jnp.float32) for shape in shapes]
    segments, positions = (jnp.tile(x, (4, 1)) for x in row_of(90, 38, total=128))
    wanted = pairs(*row, Places(segments, positions), 40)

    def tiled(queries, keys, values, segments):
        way = functools.partial(splash, constrain=activations, interpret=True)
        return way(queries, keys, values, segments, 40)

    np.testing.assert_allclose(jax.jit(tiled)(*row, segments), wanted, atol=2e-5)
    rows = {
        "in_specs": PartitionSpec(mesh.BATCH),
        "out_specs": PartitionSpec(mesh.BATCH),
    }
    with mesh.entered(over):
        by_hand = jax.shard_map(
            tiled, **rows, axis_names={*mesh.BATCH}, check_vma=False
        )
        found = jax.jit(by_hand)(*row, segments)
    np.testing.assert_allclose(found, wanted, atol=2e-5)


def test_what_auto_chooses():
    def queries(length, width=128, dtype=jnp.bfloat16):
        return jnp.zeros((1, 1, length, width), dtype)

    assert choice(queries(SHORT), "cpu") == "plain"
    assert choice(queries(SHORT + 1), "cpu") == "blockwise"
    assert choice(queries(4096), "gpu") == "cudnn"
    assert choice(queries(4096, dtype=jnp.float32), "gpu") == "blockwise"
    assert choice(queries(4096, width=100), "gpu") == "blockwise"
    assert choice(queries(4096), "tpu") == "splash"
    assert choice(queries(4100), "tpu") == "blockwise"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("cudnn", "cudnn, which takes bfloat16 or float16, got float32; set student"),
        ("splash", "splash, which takes rows of a multiple of 128 tokens, got 37"),
    ],
)
def test_kernels_refuse_what_they_cannot_take(row, name, words):
    places = Places(*(jnp.zeros((B, LENGTH), jnp.int32),) * 2)
    assert name in IMPLEMENTATIONS
    with pytest.raises(UserError, match=words):
        attend(*row[:3], places, implementation=name)


def test_cudnn_refuses_wide_heads(row):
    wide = [jnp.zeros((1, 1, 4, 136), jnp.bfloat16)] * 3
    places = Places(*(jnp.ones((1, 4), jnp.int32),) * 2)
    with pytest.raises(UserError, match="up to 128 divisible by 8, got 136"):
        attend(*wide, places, implementation="cudnn")
