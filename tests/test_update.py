"""The optimisation step: rates by hand, clipping, copies, refusals."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from routejax import update
from routejax.errors import UserError

RULES = {
    "name": "adamw",
    "steps": 10,
    "learning_rate": 0.5,
    "warmup_share": 0.0,
    "final_share": 1.0,
    "b1": 0.0,
    "b2": 0.0,
    "eps": 1e-12,
    "weight_decay": 0.0,
    "clip_norm": 1e9,
}


def product(params, batch):
    """A loss whose slope is the batch, whatever the parameters are."""
    terms = jax.tree.map(lambda p, b: jnp.sum(p * b), params, batch)
    return sum(jax.tree.leaves(terms)), {"sum": jnp.float32(7)}


def after(rules, params, batch, steps=1):
    """Parameters after each step, the last metrics last."""
    rule = update.optimiser(**(RULES | rules))
    state, found = update.start(params, rule), []
    for _ in range(steps):
        state, metrics = update.train_step(product, rule, state, batch)
        found.append(jax.tree.map(np.asarray, state.params))
    assert int(state.step) == steps
    return found, {k: float(v) for k, v in metrics.items()}


def rates(steps=10, **rules):
    """The rate of each step: with b1 = b2 = 0 Adam moves by it against the sign."""
    found, _ = after(rules, {"w": jnp.zeros(1)}, {"w": jnp.full(1, 0.3)}, steps)
    path = np.array([0.0, *(step["w"][0] for step in found)])
    return -np.diff(path)


def test_a_constant_rate():
    np.testing.assert_allclose(rates(), [0.5] * 10, rtol=1e-6)


def test_the_rate_warms_up_in_equal_steps():
    """Three of ten steps rise, the first of them above zero; then it stays."""
    expected = [0.125, 0.25, 0.375, *[0.5] * 7]
    np.testing.assert_allclose(rates(warmup_share=0.3), expected, rtol=1e-5)


def test_the_rate_falls_to_its_final_share():
    """Over the eight steps after warm-up: it would be reached after the last."""
    expected = [0.5 / 3, 1.0 / 3, *(0.5 - 0.05 * i for i in range(8)), 0.1, 0.1]
    found = rates(steps=12, warmup_share=0.2, final_share=0.2)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_a_schedule_of_warm_up_alone_is_no_mistake():
    np.testing.assert_allclose(
        rates(steps=2, warmup_share=1.0)[:2], [0.5 / 11, 1 / 11], rtol=1e-5
    )


def test_large_gradients_are_scaled_down_together():
    """(3, 4) has norm 5. With eps = 1 a slope of g moves by g/(|g| + 1)."""
    params = {"a": jnp.zeros(1), "b": jnp.zeros(1)}
    slopes = {"a": jnp.full(1, 3.0), "b": jnp.full(1, -4.0)}
    rules = {"eps": 1.0, "learning_rate": 1.0}
    for clip, a, b in ((1.0, 0.6, 0.8), (2.5, 1.5, 2.0), (5.5, 3.0, 4.0)):
        (found,), metrics = after(rules | {"clip_norm": clip}, params, slopes)
        assert found["a"][0] == pytest.approx(-a / (a + 1), rel=1e-5)
        assert found["b"][0] == pytest.approx(b / (b + 1), rel=1e-5)
        assert metrics["grad_norm"] == pytest.approx(5.0)  # before clipping


def test_two_steps_of_adam_by_hand():
    """b1 = 0.5, b2 = 0.75; slopes 1 and then -3; weights decay by rate · 0.1."""
    rules = {"b1": 0.5, "b2": 0.75, "eps": 0.0, "weight_decay": 0.1}
    rule = update.optimiser(**(RULES | rules))
    state = update.start({"w": jnp.full(1, 2.0)}, rule)
    weight = 2.0
    mean = square = 0.0
    for count, slope in enumerate((1.0, -3.0), 1):
        state, metrics = update.train_step(
            product, rule, state, {"w": jnp.full(1, slope)}
        )
        assert float(metrics["loss"]) == pytest.approx(weight * slope, rel=1e-5)
        assert float(metrics["sum"]) == 7
        mean = 0.5 * mean + 0.5 * slope
        square = 0.75 * square + 0.25 * slope**2
        direction = mean / (1 - 0.5**count) / (square / (1 - 0.75**count)) ** 0.5
        weight -= 0.5 * (direction + 0.1 * weight)
        assert float(state.params["w"][0]) == pytest.approx(weight, rel=1e-5)


def test_muon_orthogonalises_matrices_and_leaves_the_rest_to_adam():
    rng = np.random.default_rng(0)
    params = {"matrix": jnp.zeros((6, 4)), "vector": jnp.zeros(5)}
    slopes = {
        "matrix": jnp.asarray(rng.normal(size=(6, 4)) * [1, 3, 9, 27], jnp.float32),
        "vector": jnp.asarray(rng.normal(size=5), jnp.float32),
    }
    (found,), _ = after({"name": "muon", "eps": 1e-8}, params, slopes)
    # All directions of the matrix move about equally far, however steep they are.
    steep = np.linalg.svd(np.asarray(slopes["matrix"]), compute_uv=False)
    moved = np.linalg.svd(found["matrix"], compute_uv=False)
    assert steep.max() / steep.min() > 10
    assert moved.max() / moved.min() < 2
    left, _, right = np.linalg.svd(np.asarray(slopes["matrix"]), full_matrices=False)
    cosine = np.sum(found["matrix"] * (left @ right)) / np.linalg.norm(found["matrix"])
    assert cosine / 2 < -0.95  # the norm of four orthogonal directions is 2
    # Adam's first step is the rate times the sign; a fifth of the rate here.
    np.testing.assert_allclose(
        found["vector"], -0.1 * np.sign(slopes["vector"]), rtol=1e-4
    )


def test_the_start_is_a_copy():
    """A step consumes its state; what it was started from is still a reference."""
    params = {"w": jnp.arange(3.0)}
    rule = update.optimiser(**RULES)
    first = update.start(params, rule)
    assert int(first.step) == 0
    second, _ = update.train_step(product, rule, first, {"w": jnp.ones(3)})
    assert first.params["w"].is_deleted()
    assert not params["w"].is_deleted()
    np.testing.assert_array_equal(params["w"], [0, 1, 2])
    np.testing.assert_allclose(second.params["w"], [-0.5, 0.5, 1.5], rtol=1e-5)


def test_the_same_arguments_give_the_same_rule():
    """So that the compiled step is found again."""
    assert update.optimiser(**RULES) is update.optimiser(**dict(RULES))
    assert update.optimiser(**RULES) is not update.optimiser(**RULES | {"steps": 11})
    rule, batch = update.optimiser(**RULES), {"w": jnp.ones(2)}
    update.train_step(product, rule, update.start(batch, rule), batch)
    compiled = update.train_step._cache_size()
    again = update.optimiser(**dict(RULES))
    update.train_step(product, again, update.start(batch, again), batch)
    assert update.train_step._cache_size() == compiled


def test_an_unknown_rule_is_explained():
    with pytest.raises(UserError, match="must be one of adamw, muon, got 'adam'"):
        update.optimiser(**RULES | {"name": "adam"})


@pytest.mark.parametrize("name", ["loss", "grad_norm"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_stop_the_run(name, bad):
    fine = {"loss": -3.0, "grad_norm": 1e30, "kl": np.nan}
    update.require_sane(4, fine, {})
    with pytest.raises(UserError, match=f"{name} is {bad} at step 4"):
        update.require_sane(4, fine | {name: bad}, {})


@pytest.mark.parametrize("gap", [0.02, np.inf, np.nan])
def test_a_metric_over_its_limit_stops_the_run(gap):
    fine = {"loss": 0.0, "grad_norm": 0.0, "logp_gap": 0.01}
    limits = {"logp_gap": 0.01}
    update.require_sane(4, fine, limits)
    with pytest.raises(UserError, match=r"logp_gap is .* at step 4, its limit is 0.01"):
        update.require_sane(4, fine | {"logp_gap": gap}, limits)


def test_any_rule_of_optax_will_do():
    rule = optax.sgd(0.25)
    state = update.start({"w": jnp.ones(2)}, rule)
    state, _ = update.train_step(product, rule, state, {"w": jnp.array([1.0, -2.0])})
    np.testing.assert_allclose(state.params["w"], [0.75, 1.5])


def test_passes_add_up():
    """Six rows at once, in two passes and in six: one gradient, one set of metrics."""
    rng = np.random.default_rng(0)
    rows = {"x": rng.normal(size=(6, 3)), "kept": np.array([1, 1, 0, 1, 0, 1.0])}
    rows = {name: jnp.asarray(x, jnp.float32) for name, x in rows.items()}

    def loss(params, batch):
        value = jnp.tanh(batch["x"] @ params["w"]) * batch["kept"]
        count = jnp.sum(batch["kept"])
        return jnp.sum(value) / 4, {
            "trained_tokens": count,
            "mean": jnp.sum(value) / jnp.maximum(count, 1),
            "logp_gap": jnp.max(value),
        }

    rule = update.optimiser(**RULES | {"eps": 1.0})
    start = {"w": jnp.asarray([0.3, -0.2, 0.1])}
    found = {}
    for size in (None, 6, 3, 1):
        state, metrics = update.train_step(
            loss, rule, update.start(start, rule), rows, pass_rows=size
        )
        found[size] = jax.tree.map(np.asarray, (state, metrics))
    assert found[1][1]["trained_tokens"] == 4
    for size in (6, 3, 1):
        jax.tree.map(
            lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7),
            found[size],
            found[None],
        )
    with pytest.raises(UserError, match=r"divide the rows of a batch, got 4 and 6"):
        update.train_step(loss, rule, update.start(start, rule), rows, pass_rows=4)


def test_muon_takes_the_layers_of_a_stack_one_by_one():
    """As three matrices apart; the scales of their norms belong to Adam."""
    rng = np.random.default_rng(1)
    slopes = jnp.asarray(rng.normal(size=(3, 6, 4)), jnp.float32)
    rules = {"name": "muon", "eps": 1e-8}
    stack = {"kernel": jnp.zeros((3, 6, 4)), "scale": jnp.ones((3, 4))}
    (found,), _ = after(rules, stack, {"kernel": slopes, "scale": slopes[:, 0]})
    for layer in range(3):
        alone = {"kernel": jnp.zeros((6, 4))}
        (wanted,), _ = after(rules, alone, {"kernel": slopes[layer]})
        np.testing.assert_allclose(found["kernel"][layer], wanted["kernel"], atol=1e-5)
    moved = found["scale"] - 1
    np.testing.assert_allclose(moved, -0.1 * np.sign(slopes[:, 0]), rtol=1e-4)


def test_metrics_of_updates_are_means_over_those_that_have_them():
    found = update.mean_metrics(
        [{"loss": np.float32(1), "gap": np.float32(0.5)}, {"loss": np.float32(4)}]
    )
    assert found == {"loss": 2.5, "gap": 0.5}
    one = {"loss": np.float32(0.1)}
    assert update.mean_metrics([one]) == {"loss": float(one["loss"])}


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16])
def test_a_checksum_sees_one_bit_and_where_it_is(dtype):
    rng = np.random.default_rng(0)
    params = {
        "matrix": jnp.asarray(rng.normal(size=(3, 4, 5)), dtype),
        "scale": jnp.asarray(rng.normal(size=7), dtype),
        "same": jnp.ones(6, dtype),
    }
    known = update.checksum(params)
    assert known == update.checksum(jax.tree.map(jnp.copy, params))
    words = f"uint{8 * params['scale'].dtype.itemsize}"
    for name, leaf in params.items():
        whole = np.asarray(leaf).ravel()
        for place in range(whole.size):
            other = whole.copy()
            other.view(words)[place] ^= 1 << (place % 8)
            changed = params | {name: jnp.asarray(other.reshape(leaf.shape))}
            apart = [
                a != b for a, b in zip(known, update.checksum(changed), strict=True)
            ]
            assert sum(apart) == 1
    turned = params | {"matrix": params["matrix"][:, ::-1]}
    assert update.checksum(turned) != known


def test_a_checksum_is_the_same_wherever_the_leaf_lies():
    params = {"a": jnp.arange(48.0).reshape(8, 6), "b": jnp.arange(16.0)}
    mesh = jax.make_mesh((8,), ("rows",))
    over = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("rows"))
    assert update.checksum(jax.device_put(params, over)) == update.checksum(params)
