"""State on disk: what is saved comes back, half-saved is as good as not saved."""

import shutil

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from routejax import checkpoints
from routejax.errors import UserError


def state(value):
    return {
        "w": jnp.full((3, 2), float(value)),
        "step": jnp.asarray(int(value), jnp.int32),
    }


def opened(folder, **settings):
    return checkpoints.opened(folder, **{"keep": 2, "every_s": 0.0, **settings})


def test_the_newest_comes_back_with_its_record(tmp_path):
    with opened(tmp_path / "c") as saved:
        assert saved.latest() == 0
        assert saved.restore(state(0)) is None
        for step in (1, 2, 3):
            saved.save(step, state(step + 0.5), {"source": {"next": step}})
    with opened(tmp_path / "c") as saved:
        assert saved.latest() == 3
        found, record = saved.restore(state(0))
    assert record == {"source": {"next": 3}}
    assert jax.tree.map(np.asarray, found)["w"].tolist() == [[3.5, 3.5]] * 3
    assert found["w"].dtype == jnp.float32
    assert int(found["step"]) == 3


def test_only_the_newest_stay_on_disk(tmp_path):
    with opened(tmp_path / "c", keep=1) as saved:
        for step in (1, 2):
            saved.save(step, state(step), {})
    assert [p.name for p in (tmp_path / "c").iterdir()] == ["2"]


def test_the_rest_of_a_killed_save_is_no_checkpoint_and_goes(tmp_path):
    with opened(tmp_path / "c") as saved:
        saved.save(1, state(1), {})
    half = tmp_path / "c" / "2.orbax-checkpoint-tmp"
    shutil.copytree(tmp_path / "c" / "1", half)
    with opened(tmp_path / "c") as saved:
        assert saved.latest() == 1
    assert not half.exists()


def test_due_after_the_given_seconds(tmp_path, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("routejax.checkpoints.time.monotonic", lambda: clock[0])
    saved = checkpoints.Checkpoints(tmp_path / "c", keep=1, every_s=5)
    clock[0] += 4.9
    assert not saved.due()
    clock[0] += 0.2
    assert saved.due()
    saved.save(1, state(1), {})
    assert not saved.due()
    saved.close()


def test_weights_come_back_by_their_hash(tmp_path, params):
    digest = checkpoints.save_weights(tmp_path / "weights", params)
    assert digest == checkpoints.weights_hash(params)
    like = jax.tree.map(jnp.zeros_like, params)
    found = checkpoints.load_weights(tmp_path / "weights", like, digest)
    assert jax.tree.all(jax.tree.map(lambda a, b: bool((a == b).all()), found, params))
    with pytest.raises(
        UserError, match=r"weights have changed|weights .* have changed"
    ):
        checkpoints.load_weights(tmp_path / "weights", like, "0" * 64)


def test_weights_are_replaced_and_no_rest_stays(tmp_path):
    shutil.copytree(tmp_path, tmp_path / "weights.orbax-checkpoint-tmp")
    checkpoints.save_weights(tmp_path / "weights", state(1))
    digest = checkpoints.save_weights(tmp_path / "weights", state(2))
    assert [p.name for p in tmp_path.iterdir()] == ["weights"]
    found = checkpoints.load_weights(tmp_path / "weights", state(0), digest)
    assert float(found["w"][0, 0]) == 2


def test_the_hash_reads_names_types_shapes_and_values():
    base = {"a": np.zeros((2, 3), np.float32)}
    others = [
        {"b": np.zeros((2, 3), np.float32)},
        {"a": np.zeros((3, 2), np.float32)},
        {"a": np.zeros((2, 3), np.int32)},
        {"a": np.full((2, 3), -0.0, np.float32)},
        {"a": np.zeros((2, 3), np.float32), "b": np.zeros(0, np.float32)},
    ]
    hashes = {checkpoints.weights_hash(tree) for tree in [base, *others]}
    assert len(hashes) == 6
    again = {"a": jnp.zeros((2, 3))}
    assert checkpoints.weights_hash(again) == checkpoints.weights_hash(base)


def full(*_):
    return shutil._ntuple_diskusage(10, 10, 0)


def test_a_full_disk_is_said_before_a_byte_is_written(tmp_path, monkeypatch):
    with opened(tmp_path / "c") as saved:
        saved.save(1, state(1), {})
    with monkeypatch.context() as patch:
        patch.setattr("shutil.disk_usage", full)
        said = r"the disk is full .* 0 bytes left and 56 may be needed.* goes on from"
        with opened(tmp_path / "c") as saved, pytest.raises(UserError, match=said):
            saved.save(2, state(2), {})
        with pytest.raises(UserError, match=said):
            checkpoints.save_weights(tmp_path / "weights", state(2))
    assert not (tmp_path / "weights").exists()
    with opened(tmp_path / "c") as saved:
        assert saved.latest() == 1
        saved.save(2, state(2), {})
    assert {p.name for p in (tmp_path / "c").iterdir()} == {"1", "2"}


@pytest.mark.parametrize(
    "error",
    [
        OSError(28, "No space left on device"),
        ValueError("RESOURCE_EXHAUSTED: Error writing"),
        RuntimeError("Failed writing: No space left on device"),
    ],
)
def test_what_orbax_says_of_a_full_disk(error, tmp_path, monkeypatch):
    def fails(*_, **__):
        raise error

    with opened(tmp_path / "c") as saved:
        monkeypatch.setattr(saved._manager, "save", fails)
        with pytest.raises(UserError, match="the disk is full while saving a checkp"):
            saved.save(1, state(1), {})
        monkeypatch.setattr(saved._manager, "save", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):  # other mistakes stay what they are
            saved.save(1, state(1), {})
