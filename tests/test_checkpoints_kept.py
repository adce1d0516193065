"""Which checkpoints stay, which can be trusted, and how others read them."""

import jax
import numpy as np
import pytest

from routejax import checkpoints, mesh, update
from routejax.errors import UserError
from routejax.stages.overlong import apart, read_ids


def state(value):
    return {"w": jax.numpy.full((8, 4), float(value))}


def opened(folder, **settings):
    return checkpoints.opened(folder, **{"keep": 1, "every_s": 0.0, **settings})


def saved_steps(folder):
    return sorted(int(path.name) for path in folder.iterdir())


def save_all(folder, losses, **settings):
    with opened(folder, **settings) as saved:
        for step, loss in enumerate(losses, 1):
            saved.save(step, state(step), {"n": step}, {} if loss is None else loss)
        saved.keep()


def test_newest_every_kth_and_best_stay(tmp_path):
    losses = [{"loss": x} for x in (5.0, 1.0, 3.0, 4.0, 2.0, 6.0, 7.0)]
    save_all(tmp_path / "c", losses, keep_every=3, best="loss")
    assert saved_steps(tmp_path / "c") == [2, 3, 6, 7]
    assert saved_steps(tmp_path / checkpoints.KEPT) == [2, 3, 6]


def test_the_best_may_be_the_most_and_steps_without_the_metric_are_not(tmp_path):
    losses = [{"acc": 0.1}, {"acc": 0.9}, None, {"acc": 0.5}]
    save_all(tmp_path / "c", losses, best="acc", best_is="most")
    assert saved_steps(tmp_path / "c") == [2, 4]
    with opened(tmp_path / "c", best="acc", best_is="most") as saved:
        assert not saved.wanted(5, {"acc": 0.9})
        assert not saved.wanted(5, {})
        assert saved.wanted(5, {"acc": 0.95})


@pytest.mark.parametrize("text", [b"", b'{"loss"', b"[1]", b"\xff", b'{"loss": "x"}'])
def test_a_checkpoint_whose_metrics_are_damaged_is_whole_and_not_the_best(
    text, tmp_path
):
    losses = [{"loss": x} for x in (3.0, 2.0, 1.0)]
    save_all(tmp_path / "c", losses, best="loss", keep=3)
    (tmp_path / "c" / "3" / "metrics" / "metrics").write_bytes(text)
    with opened(tmp_path / "c", best="loss", keep=3) as saved:
        _, record = saved.restore(state(0))
        assert record == {"n": 3}
        assert saved.wanted(4, {"loss": 1.5})
        saved.save(4, state(4), {"n": 4}, {"loss": 2.5})
        saved.keep()
    assert saved_steps(tmp_path / checkpoints.KEPT) == [2]


def test_without_options_nothing_outlives_the_training(tmp_path):
    save_all(tmp_path / "c", [None] * 3)
    assert saved_steps(tmp_path / "c") == [3]
    assert not (tmp_path / checkpoints.KEPT).exists()


def truncate(folder):
    """Every file of arrays half as long."""
    for path in (folder / "state").rglob("*"):
        if path.is_file() and path.parent.name == "d":
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def lose(folder):
    for path in (folder / "state").rglob("*"):
        if path.is_file() and path.parent.name == "d":
            path.unlink()


def lose_record(folder):
    for path in (folder / "record").rglob("*"):
        if path.is_file():
            path.unlink()


def turn_record(folder):
    """One digit of the record is another; it is JSON still."""
    path = folder / "record" / "metadata"
    found = path.read_bytes()
    path.write_bytes(found.replace(b'"n": 3', b'"n": 7').replace(b'"n":3', b'"n":7'))
    assert path.read_bytes() != found


@pytest.mark.parametrize("harm", [truncate, lose, lose_record, turn_record])
def test_a_damaged_newest_gives_way_to_the_one_before(harm, tmp_path):
    save_all(tmp_path / "c", [None] * 3, keep=2)
    harm(tmp_path / "c" / "3")
    said = []
    with opened(tmp_path / "c", keep=2, say=said.append) as saved:
        found, record = saved.restore(state(0))
        assert record == {"n": 2}
        assert float(found["w"][0, 0]) == 2
        assert saved.latest() == 2
        saved.save(3, state(3), {"n": 3})
    assert len(said) == 1
    assert "the checkpoint of step 3" in said[0]
    assert said[0].endswith("going on from that of step 2")
    with opened(tmp_path / "c", keep=2) as saved:
        assert saved.restore(state(0))[1] == {"n": 3}


def test_values_that_have_changed_are_seen(tmp_path):
    save_all(tmp_path / "c", [None] * 2, keep=2)
    with opened(tmp_path / "c", keep=2) as saved:
        _, record = saved.restore(state(0), lambda s, record: record["n"] != 2)
        assert record == {"n": 1}


def test_what_another_process_cannot_read_is_left_by_all(tmp_path, monkeypatch):
    """Else each would go on from another step."""
    save_all(tmp_path / "c", [None] * 3, keep=3)
    others, said = iter([False, True]), []
    with opened(tmp_path / "c", keep=3, say=said.append) as saved:
        with monkeypatch.context() as patch:
            patch.setattr(
                checkpoints.processes, "exchanged", lambda own: [own, next(others)]
            )
            _, record = saved.restore(state(0))
        assert record == {"n": 2}
        assert saved.latest() == 2
    assert said[0].startswith("the checkpoint of step 3 in ")
    assert "cannot be read (by another process); going on from" in said[0]


def test_when_all_are_damaged_it_says_so_and_touches_nothing(tmp_path):
    save_all(tmp_path / "c", [None] * 2, keep=2)
    for step in ("1", "2"):
        truncate(tmp_path / "c" / step)
    with opened(tmp_path / "c", keep=2) as saved:
        with pytest.raises(UserError, match=r"no checkpoint .* can be read \(step 2"):
            saved.restore(state(0))
        assert saved.latest() == 2


def test_one_device_to_eight_and_back(tmp_path, student, params):
    """The same numbers and the same checksum, wherever the parts lie."""
    over = mesh.make_mesh(fsdp=4, data=2)
    place = mesh.Placement(over, student.family)
    divided = place.put(params)
    for name, there, here in (("1", params, divided), ("8", divided, params)):
        with opened(tmp_path / name) as saved:
            saved.save(1, there, {})
        with opened(tmp_path / name) as saved:
            found, _ = saved.restore(jax.tree.map(jax.numpy.zeros_like, here))
        same = jax.tree.map(lambda a, b: a.sharding == b.sharding, found, here)
        assert jax.tree.all(same)
        assert update.checksum(found) == update.checksum(params)
        for a, b in zip(*map(jax.tree.leaves, (found, params)), strict=True):
            np.testing.assert_array_equal(a, b)


# Texts that are too long --------------------------------------------------------------


def test_all_that_are_too_long_are_listed_or_left_out_by_name(tmp_path):
    to = tmp_path / "over.jsonl"
    rest = {"setting": "row_tokens", "block": "sft", "mend": "raise it", "to": to}
    asked = ("rows", ["a", "b", "c", "d"], [3, 9, 5, 8], 5)
    assert apart(*asked, rule="drop", **rest) == [0, 2]
    assert to.read_text() == '{"id": "b", "tokens": 9}\n{"id": "d", "tokens": 8}\n'
    assert read_ids(to) == ["b", "d"]
    with pytest.raises(UserError) as told:
        apart(*asked, rule="error", **rest)
    assert str(told.value) == (
        "2 of 4 rows have more than row_tokens 5 tokens: b (9), d (8); all are in "
        f"{to}; set config.sft.overlong=drop to leave them out, or raise it"
    )


def test_nothing_too_long_leaves_no_file_and_nothing_left_is_an_error(tmp_path):
    to = tmp_path / "over.jsonl"
    rest = {"setting": "row_tokens", "block": "sft", "mend": "raise it", "to": to}
    assert apart("rows", ["a"], [5], 5, rule="error", **rest) == [0]
    assert not to.exists()
    assert read_ids(to) == []
    with pytest.raises(UserError, match=r"1 of 1 rows have more .*; raise it$"):
        apart("rows", ["a"], [6], 5, rule="drop", **rest)
