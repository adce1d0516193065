"""The whole student of every family: its cache, padding, packing, start and sizes."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import numpy_llama
import pytest

from routejax import models
from routejax.errors import UserError
from routejax.models import Past, Places

LENGTH, VOCABULARY, WINDOW = 12, 24, 3
SMALL = {
    "vocabulary": VOCABULARY,
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
        "window": WINDOW,
        "layer_types": ("sliding", "sliding", "sliding", "full"),
        "rope_scaling": models.Yarn(factor=4.0, original_positions=64),
    },
}
# Written out; scanned; and scanned with a rest where the pattern does not go in.
DEPTHS = (3, 9)
ALL = [(family, layers) for family in models.MODELS for layers in DEPTHS]


@functools.cache
def built(family, layers):
    """A student whose parameters are all far from their start, and its forward."""
    made = models.create(family, layers=layers, **SMALL, **OWN[family])
    rng = np.random.default_rng(layers)

    def draw(path, leaf):
        values = rng.normal(size=leaf.shape)
        if path[-1].key == "scale":
            return jnp.asarray(1 + 0.3 * values, jnp.float32)
        inputs = leaf.shape[-2] if path[-1].key == "kernel" else leaf.shape[-1]
        return jnp.asarray(1.5 * values * inputs**-0.5, jnp.float32)

    params = jax.tree.map_with_path(draw, jax.eval_shape(lambda: made.init(0)))
    return made, params, jax.jit(functools.partial(made.forward, params))


def drawn(seed, rows):
    rng = np.random.default_rng(seed)
    return jnp.asarray(rng.integers(0, VOCABULARY, (rows, LENGTH)), jnp.int32)


def placed(*rows):
    """Places from rows of (padding, example length, …, ) laid from the left."""
    segments, positions = np.zeros((2, len(rows), LENGTH), np.int32)
    for row, (left, *lengths) in enumerate(rows):
        at = left
        for number, length in enumerate(lengths, 1):
            segments[row, at : at + length] = number
            positions[row, at : at + length] = np.arange(length)
            at += length
    return Places(jnp.asarray(segments), jnp.asarray(positions))


# No padding; on the left; on the right; two examples and a rest.
PLACES = placed((0, LENGTH), (4, LENGTH - 4), (0, LENGTH - 4), (0, 5, 6))
REAL = np.asarray(PLACES.segments) > 0


@pytest.mark.parametrize(("tied", "theta"), [(False, 1e4), (True, 50.0)])
def test_logits_equal_loops_in_numpy(student, params, tied, theta):
    sizes = dataclasses.replace(student.config, tied=tied, rope_theta=theta)
    other = models.Student("llama", sizes)
    if tied:
        params = {name: leaf for name, leaf in params.items() if name != "head"}
    tokens, places = drawn(1, 2), placed((0, LENGTH), (0, LENGTH))

    @jax.jit
    def logits(params):
        hidden, _ = other.forward(params, tokens, places)
        return other.logits(params, hidden)

    found = logits(params)
    assert found.dtype == jnp.float32
    for row, each in zip(tokens, found, strict=True):
        plain = numpy_llama.logits(sizes, numpy_llama.doubles(params), row)
        np.testing.assert_allclose(each, plain, atol=2e-5)


@pytest.mark.parametrize(("family", "layers"), ALL)
def test_cached_decoding_equals_the_full_forward(family, layers):
    """Token by token into scattered columns of a cache full of rubbish."""
    made, params, forward = built(family, layers)
    tokens = drawn(2, 4)
    expected, nothing = forward(tokens, PLACES)
    assert nothing is None
    slots = LENGTH + 3
    columns = np.random.default_rng(0).permutation(slots)[:LENGTH]
    cache = jax.tree.map(lambda x: x + 1e3, made.empty_cache(4, slots))
    step = jax.jit(functools.partial(made.forward, made.ready(params)))
    segments, positions = np.zeros((2, 4, slots), np.int32)
    for t, column in enumerate(columns):
        here = Places(*(part[:, t : t + 1] for part in PLACES))
        segments[:, column], positions[:, column] = (np.asarray(x)[:, 0] for x in here)
        past = Past(cache, Places(*map(jnp.array, (segments, positions))), column)
        out, cache = step(tokens[:, t : t + 1], here, past)
        real = REAL[:, t]
        np.testing.assert_allclose(
            np.asarray(out)[real, 0], np.asarray(expected)[real, t], atol=1e-5
        )
    touched = jax.tree.map(lambda x: bool((x != 1e3).any()), cache)
    assert jax.tree.all(touched)


@pytest.mark.parametrize(("family", "layers"), [("olmo3", 3), ("olmo3", 9)])
def test_a_kept_cache_is_that_of_decoding(family, layers):
    """The first columns at once, the next one after them."""
    made, params, forward = built(family, layers)
    tokens, places = drawn(3, 1), placed((0, LENGTH))
    expected, _ = forward(tokens, places)
    first = Places(*(part[:, :-1] for part in places))
    keeping = jax.jit(functools.partial(made.forward, keep=True))
    _, kept = keeping(params, tokens[:, :-1], first)
    cache = jax.tree.map(
        lambda empty, part: empty.at[tuple(map(slice, part.shape))].set(part),
        made.empty_cache(1, LENGTH),
        kept,
    )
    last = Places(*(part[:, -1:] for part in places))
    past = Past(cache, places, LENGTH - 1)
    out, _ = jax.jit(made.forward)(params, tokens[:, -1:], last, past)
    np.testing.assert_allclose(out[:, 0], expected[:, -1], atol=1e-5)


@pytest.mark.parametrize(("family", "layers"), ALL)
def test_examples_apart_equal_examples_together(family, layers):
    """Packed, or with padding at either side that holds anything at all."""
    _, _, forward = built(family, layers)
    tokens = drawn(4, 4)
    out, _ = forward(tokens, PLACES)
    filled = Places(PLACES.segments, jnp.where(REAL, PLACES.positions, 90))
    other, _ = forward(jnp.where(REAL, tokens, 23), filled)
    np.testing.assert_array_equal(np.asarray(out)[REAL], np.asarray(other)[REAL])
    for row, first, count in ((1, 4, 8), (2, 0, 8), (3, 0, 5), (3, 5, 6)):
        alone = jnp.zeros((4, LENGTH), jnp.int32)
        alone = alone.at[0, :count].set(tokens[row, first : first + count])
        wanted, _ = forward(alone, placed((0, count), (0,), (0,), (0,)))
        np.testing.assert_allclose(
            out[row, first : first + count], wanted[0, :count], atol=1e-5
        )


@pytest.mark.parametrize("family", models.MODELS)
def test_the_future_is_not_seen_and_the_past_is(family):
    _, _, forward = built(family, 3)
    tokens, places = drawn(5, 4), placed(*((0, LENGTH),) * 4)
    before, _ = forward(tokens, places)
    after, _ = forward(tokens.at[:, 4:].add(-1), places)
    np.testing.assert_array_equal(before[:, :4], after[:, :4])
    assert np.all(np.abs(before[:, 4:] - after[:, 4:]).max((0, 2)) > 1e-3)
    # Three sliding layers of window 3 see 6 columns back and no farther.
    earlier, _ = forward(tokens.at[:, 0].add(1), places)
    changed = np.abs(before - earlier).max((0, 2)) > 0
    reach = 3 * (WINDOW - 1) if family == "olmo3" else LENGTH
    assert changed.tolist() == [t <= reach for t in range(LENGTH)]


@pytest.mark.parametrize("family", models.MODELS)
def test_only_distances_between_positions_matter(family):
    _, _, forward = built(family, 9)
    tokens, places = drawn(6, 4), placed(*((0, LENGTH),) * 4)
    near, _ = forward(tokens, places)
    far, _ = forward(tokens, places._replace(positions=places.positions + 40))
    np.testing.assert_allclose(near, far, atol=2e-4)


@pytest.mark.parametrize("family", models.MODELS)
def test_bfloat16_is_near(family):
    """Masters stay float32; work is done in eight bits."""
    made, params, forward = built(family, 9)
    way = dataclasses.replace(made.execution, dtype="bfloat16")
    rough = dataclasses.replace(made, execution=way)
    tokens = drawn(7, 4)
    wanted, _ = forward(tokens, PLACES)
    found, cache = jax.jit(functools.partial(rough.forward, keep=True))(
        params, tokens, PLACES
    )
    assert found.dtype == jax.tree.leaves(cache)[0].dtype == jnp.bfloat16
    assert rough.logits(params, found).dtype == jnp.float32
    apart = np.asarray(found, np.float32)[REAL] - np.asarray(wanted)[REAL]
    share = np.linalg.norm(apart) / np.linalg.norm(np.asarray(wanted)[REAL])
    assert 1e-3 < share < 0.15


@pytest.mark.parametrize("family", models.MODELS)
def test_when_the_last_norm_rounds(family):
    """Blocks that write nothing leave the embedding, whose norm is worked in numpy."""
    made, params, _ = built(family, 3)
    way = dataclasses.replace(made.execution, dtype="bfloat16")
    rough = dataclasses.replace(made, execution=way)
    params = params | {"blocks": jax.tree.map(jnp.zeros_like, params["blocks"])}
    tokens, places = drawn(8, 4), placed(*((0, LENGTH),) * 4)
    found, _ = jax.jit(rough.forward)(params, tokens, places)

    def rounded(x):
        return np.asarray(jnp.asarray(x, jnp.bfloat16), np.float32)

    x = rounded(params["embedding"])[np.asarray(tokens)]
    unit = x / np.sqrt(np.mean(x**2, -1, keepdims=True) + made.config.norm_eps)
    scale = rounded(params["norm"]["scale"])
    late, early = rounded(unit * scale), rounded(rounded(unit) * scale)
    wanted, other = (late, early) if family == "olmo3" else (early, late)
    found = np.asarray(found, np.float32)
    assert np.mean(found == wanted) > 0.99  # a tie may fall either way
    assert np.mean(found == other) < 0.9


def test_the_number_of_parameters_by_hand():
    E, V, F = SMALL["width"], SMALL["vocabulary"], SMALL["mlp_width"]
    attention = 2 * E * (4 * 6) + 2 * E * (2 * 6)
    each = attention + 3 * E * F + 2 * E
    norms = {"llama": 0, "qwen3": 6 + 6, "olmo3": 4 * 6 + 2 * 6}
    for family, more in norms.items():
        for tied in (True, False):
            sizes = SMALL | OWN[family] | {"tied": tied}
            made = models.create(family, layers=7, **sizes)
            shapes = jax.eval_shape(lambda made=made: made.init(0))
            expected = 7 * (each + more) + E + V * E * (1 if tied else 2)
            assert models.count(shapes) == expected


# Worked by hand from published sizes: layers · (attention + MLP + norms) + the rest.
COUNTS = {
    "local": 3 * (27_648 + 73_728 + 192) + 2 * 43_008 + 96,
    "smollm2-135m": 30 * (884_736 + 2_654_208 + 1152) + 28_311_552 + 576,
    "qwen3-0.6b": 28 * (6_291_456 + 9_437_184 + 2304) + 155_582_464 + 1024,
    "qwen3-1.7b": 28 * (12_582_912 + 37_748_736 + 4352) + 311_164_928 + 2048,
    "qwen3-4b": 36 * (26_214_400 + 74_711_040 + 5376) + 388_956_160 + 2560,
    "qwen3-8b": 36 * (41_943_040 + 150_994_944 + 8448) + 2 * 622_329_856 + 4096,
    "qwen3-14b": 40 * (62_914_560 + 267_386_880 + 10_496) + 2 * 777_912_320 + 5120,
    "olmo3-7b": 32 * (67_108_864 + 135_266_304 + 16_384) + 2 * 410_738_688 + 4096,
}
PUBLISHED = {
    "smollm2-135m": 134_515_008,
    "qwen3-0.6b": 596_049_920,
    "qwen3-1.7b": 1_720_574_976,
    "qwen3-4b": 4_022_468_096,
    "qwen3-8b": 8_190_735_360,
    "qwen3-14b": 14_768_307_200,
    "olmo3-7b": 7_298_011_136,
}


@pytest.mark.parametrize("size", models.SIZES)
def test_named_sizes_have_their_number_of_parameters(size):
    made = models.create(size=size)
    shapes = jax.eval_shape(lambda: made.init(0))
    assert models.count(shapes) == COUNTS[size] == PUBLISHED.get(size, COUNTS[size])
    assert ("head" in shapes) != made.config.tied


def test_a_size_with_changes():
    made = models.create(size="olmo3-7b", layers=5, width=None, vocabulary=9)
    assert made.family == "olmo3"
    assert made.config.layers == 5
    assert made.config.width == 4096
    assert made.config.pattern == ("sliding", "sliding", "sliding", "full")
    assert isinstance(made.config.rope_scaling, models.Yarn)
    other = models.create("qwen3", size="local", remat="dots", logit_chunk=9)
    assert other.family == "qwen3"
    assert other.execution == models.Execution(remat="dots", logit_chunk=9)


def test_the_pattern_is_the_shortest_that_repeats():
    def pattern(*types, layers=8):
        window = 2 if "sliding" in types else None
        sizes = SMALL | {"layers": layers, "window": window, "layer_types": types}
        return models.create("llama", **sizes).config.pattern

    s, f = "sliding", "full"
    assert pattern(f) == pattern(f, f, f) == (f,)
    assert pattern(*(s, s, s, f) * 2) == (s, s, s, f)
    assert pattern(s, f, f, layers=7) == (s, f, f)
    assert pattern(s, f, layers=1) == (s,)


@pytest.fixture(scope="module")
def started():
    """A student of one layer, wide enough for spreads, and its start."""
    sizes = {"width": 48, "mlp_width": 64, "heads": 4, "head_width": 12, "layers": 1}
    student = models.create("qwen3", **(SMALL | sizes), tied=False)
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
    block = started[1]["blocks"]
    for part, name, spread in (
        ("attention", "query", 48**-0.5),
        ("attention", "out", 48**-0.5 / 2**0.5),
        ("mlp", "up", 48**-0.5),
        ("mlp", "down", 64**-0.5 / 2**0.5),
    ):
        found = np.std(block[part][name]["kernel"])
        assert found == pytest.approx(spread, rel=0.06), name


def test_layers_start_apart():
    kernel = models.create("llama", **SMALL, layers=3).init(0)["blocks"]["mlp"]["up"]
    first, second, third = kernel["kernel"]
    assert not np.any((first == second) | (second == third))


def test_equal_students_are_one_static_argument(student):
    again = models.Student("llama", dataclasses.replace(student.config))
    assert student == again
    assert hash(student) == hash(again)
    assert student != models.create("llama", layers=2, **SMALL)


FAMILIES = "llama, qwen3, olmo3"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"family": "lama"}, rf"student\.family must be one of {FAMILIES}, got 'lama'"),
        ({"family": None}, rf"student\.family must be one of {FAMILIES}, got None"),
        ({"size": "qwen3-5b"}, r"student\.size must be one of local, .* 'qwen3-5b'"),
        ({"width": None}, r"student needs width: give them, or a size out of local,"),
        ({"depth": 3}, r"student has no depth; it has attention, constrain, dtype"),
        ({"heads": 3, "kv_heads": 2}, r"multiple of .* got 3 and 2"),
        ({"head_width": 5}, r"head_width must be even, got 5"),
        ({"layers": 0}, r"student\.layers must be at least 1, got 0"),
        ({"window": 4}, r"student\.window is 4, but no layer of .* \('full',\) slides"),
        ({"layer_types": ("sliding",)}, r"window must be at least 1 where .* got None"),
        ({"layer_types": ("half",)}, r"must be a list of full and sliding, got \('ha"),
        ({"layer_types": ()}, r"must be a list of full and sliding, got \(\)"),
        ({"remat": "some"}, r"student\.remat must be one of none, full, .* 'some'"),
        ({"attention": "fast"}, r"one of auto, plain, blockwise, .* got 'fast'"),
        ({"dtype": "float16"}, r"one of None, float32, bfloat16, got 'float16'"),
        ({"logit_chunk": 0}, r"student\.logit_chunk must be at least 1, got 0"),
    ],
)
def test_mistakes_are_explained(change, words):
    with pytest.raises(UserError, match=words):
        models.create(**({"family": "llama", "layers": 2} | SMALL | change))
