import numpy as np
import pytest

from routejax.errors import UserError
from routejax.metrics import bootstrap_mean, cluster_bootstrap
from routejax.metrics import clusters as module
from routejax.metrics.clusters import resampled_cluster_means


def rng(seed):
    return np.random.Generator(np.random.PCG64(seed))


ENVS = ["a", "b", "a", "c", "c", "c", "a", "b"]


def test_equals_a_slow_loop():
    values, draw = rng(0).random((8, 2)), rng(5)
    names = ["a", "b", "c"]
    slow = []
    for _ in range(300):
        rows = [
            i
            for pick in draw.integers(3, size=3)
            for i, env in enumerate(ENVS)
            if env == names[pick]
        ]
        slow.append(values[rows].mean(axis=0))
    found = resampled_cluster_means(values, ENVS, seed=5, resamples=300)
    np.testing.assert_allclose(found, slow, atol=1e-14)


def test_the_block_size_changes_nothing(monkeypatch):
    values = rng(1).random((8, 1))
    expected = resampled_cluster_means(values, ENVS, seed=2, resamples=50)
    monkeypatch.setattr(module, "BLOCK", 1)
    found = resampled_cluster_means(values, ENVS, seed=2, resamples=50)
    np.testing.assert_allclose(found, expected, atol=1e-14)


def test_interval_of_one_arm_and_of_a_pair():
    a, b = rng(2).random(8), rng(3).random(8)
    boot = {"seed": 1, "resamples": 400}
    alone = cluster_bootstrap(a, None, ENVS, **boot)
    assert alone.mean == pytest.approx(a.mean())
    assert (alone.n, alone.method) == (3, "bootstrap over environments")
    pair = cluster_bootstrap(a, b, ENVS, **boot)
    turned = cluster_bootstrap(b, a, ENVS, **boot)
    assert pair.lower == pytest.approx(-turned.upper)
    shifted = cluster_bootstrap(a + 0.25, a, ENVS, **boot)
    assert shifted[:3] == pytest.approx((0.25, 0.25, 0.25))
    assert shifted.method == "paired bootstrap over environments"


def test_one_question_per_environment_is_the_bootstrap_over_questions():
    values = rng(4).random(30)
    single = bootstrap_mean(values, seed=7, resamples=200)
    found = cluster_bootstrap(values, None, range(30), seed=7, resamples=200)
    assert found[:4] == pytest.approx(single[:4])


def test_environments_that_differ_make_it_wide():
    envs = np.repeat(np.arange(20), 50)
    values = rng(6).random(20)[envs] + 0.1 * rng(8).random(1000)
    over_envs = cluster_bootstrap(values, None, envs, seed=0, resamples=500)
    over_rows = bootstrap_mean(values, seed=0, resamples=500)
    wide, slim = (x.upper - x.lower for x in (over_envs, over_rows))
    assert wide > 4 * slim


@pytest.mark.parametrize(
    ("a", "b", "envs", "message"),
    [
        ([1, 2], [1], ["x", "y"], r"got shapes \(2,\) and \(1,\)"),
        ([1, 2], None, ["x"], r"each of 2 question\(s\), at least one, got 1"),
        ([], None, [], "at least one"),
    ],
)
def test_refuses(a, b, envs, message):
    with pytest.raises(UserError, match=message):
        cluster_bootstrap(a, b, envs, seed=0, resamples=9)
