"""One process alone, and what several agree on, over a store that is played."""

import threading
from types import SimpleNamespace

import jax
import pytest

from routejax import interrupt, processes
from routejax.errors import UserError
from routejax.stages import looks


class Store:
    """The coordinator's store; the calls of the client that are used."""

    def __init__(self):
        self.told, self.changed = {}, threading.Condition()

    def key_value_set_bytes(self, key, value):
        with self.changed:
            assert key not in self.told
            self.told[key] = value
            self.changed.notify_all()

    key_value_set = key_value_set_bytes

    def blocking_key_value_get_bytes(self, key, timeout_ms):
        with self.changed:
            if not self.changed.wait_for(lambda: key in self.told, timeout_ms / 1000):
                raise jax.errors.JaxRuntimeError("DEADLINE_EXCEEDED: not there")
            return self.told[key]

    def key_value_delete(self, folder):
        with self.changed:
            for key in [key for key in self.told if key.startswith(f"{folder}/")]:
                del self.told[key]

    def key_value_dir_get(self, folder):
        with self.changed:
            return [(k, v) for k, v in self.told.items() if k.startswith(f"{folder}/")]


@pytest.fixture
def together(monkeypatch):
    """Runs a function in so many threads, each a process; what each gave or raised."""
    own, store = threading.local(), Store()
    monkeypatch.setattr(processes, "_LOOK_MS", 20)
    monkeypatch.setattr(processes, "_GRACE_S", 0.5)
    monkeypatch.setattr(processes, "index", lambda: own.index)
    monkeypatch.setattr(interrupt._Signals, "came", None)

    class Rounds:
        def __next__(self):
            own.round += 1
            return own.round

    monkeypatch.setattr(processes, "_rounds", Rounds())

    def run(work, count=3):
        monkeypatch.setattr(processes, "count", lambda: count)
        state = SimpleNamespace(client=store)
        monkeypatch.setattr(processes, "_state", lambda: state)
        found = [None] * count

        def one(index):
            own.index, own.round = index, 0
            try:
                with processes.ending():
                    found[index] = work(index)
            except BaseException as error:
                found[index] = error

        threads = [threading.Thread(target=one, args=(i,)) for i in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        return found

    run.store = store
    return run


def test_alone_all_is_told_to_oneself():
    assert processes.count() == 1
    assert processes.first()
    assert processes.exchanged("a") == ["a"]
    assert processes.first_does(lambda: 3) == 3
    assert processes.divided([1, 2, 3], str) == ["1", "2", "3"]
    with processes.ending(), processes.held() as asked:
        assert not asked()
    processes.leave(2)


def test_all_are_told_what_each_gave_and_the_store_does_not_fill_up(together):
    def work(index):
        return [processes.exchanged((number, index)) for number in range(20)]

    wanted = [[(number, i) for i in range(3)] for number in range(20)]
    assert together(work) == [wanted] * 3
    assert len(together.store.told) <= 8


@pytest.mark.parametrize("items", [0, 1, 2, 3, 7])
def test_work_is_divided_and_comes_back_in_order(items, together):
    done = [[], [], []]

    def work(index):
        def square(n):
            done[index].append(n)
            return n * n

        return processes.divided(range(items), square)

    assert together(work) == [[n * n for n in range(items)]] * 3
    assert sorted(n for own in done for n in own) == list(range(items))
    assert max(map(len, done)) - min(map(len, done)) <= 1


def test_a_mistake_of_the_first_is_that_of_all(together):
    def wrong():
        raise UserError("too few rows")

    found = together(lambda index: processes.first_does(wrong))
    assert [str(error) for error in found] == ["too few rows"] * 3


def test_a_signal_to_one_is_seen_by_all_at_the_same_call(together, monkeypatch):
    own = [None, None, None]
    monkeypatch.setattr(interrupt, "came", lambda: own[processes.index()])
    monkeypatch.setattr(
        interrupt, "ask", lambda name: own.__setitem__(processes.index(), name)
    )

    def work(index):
        for step in range(9):
            if step == 4 and index == 2:
                own[2] = "SIGTERM"
            if processes.asked():
                return step
        return None

    assert together(work) == [4, 4, 4]
    assert own == ["SIGTERM"] * 3


def test_who_waits_hears_that_another_has_ended(together):
    def work(index):
        if index == 1:
            raise ZeroDivisionError("of the second")
        processes.exchanged(index)

    first, second, third = together(work)
    assert isinstance(second, ZeroDivisionError)
    for error in (first, third):
        assert isinstance(error, UserError)
        assert "has ended:" in str(error)


def test_a_folder_that_is_not_one_for_all_is_refused(together, tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "_SHARED_S", 0.2)
    folders = [tmp_path / name for name in ("a", "a", "c")]
    for folder in {*folders}:
        folder.mkdir()
    assert together(lambda index: processes.require_shared(folders[0])) == [None] * 3
    together.store.told.clear()
    found = together(lambda index: processes.require_shared(folders[index]))
    for error, folder in zip(found, folders, strict=True):
        assert isinstance(error, UserError)
        assert f"{folder} is not one folder for all 3 processes" in str(error)
        assert "is not seen by process 2; choose" in str(error)
    assert [path for folder in folders for path in folder.iterdir()] == []


# Looks --------------------------------------------------------------------------------


def test_looks_come_every_few_steps_and_at_the_end():
    look = looks.every(3, 8, lambda params: {"loss": params["w"]})
    seen = {done: look({"w": done}, done) for done in range(1, 9)}
    assert [done for done, found in seen.items() if found] == [3, 6, 8]
    assert seen[6]["eval_loss"] == 6
    assert set(seen[6]) == {"eval_loss", "eval_s"}
    assert looks.every(0, 8, lambda params: {})({}, 8) == {}


def test_prompts_are_held_out_whole_and_by_their_hash_alone():
    prompts = [f"p{n // 2}" for n in range(40)]
    found = looks.sides(prompts, 0.1)
    assert len(found.heldout) == 4
    assert sorted(found.train + found.heldout) == [*range(40)]
    assert not {prompts[n] for n in found.heldout} & {prompts[n] for n in found.train}
    assert found.aside == []
    turned = looks.sides(prompts[::-1], 0.1)
    assert sorted(39 - n for n in turned.heldout) == found.heldout
    with pytest.raises(UserError, match="holds out 0 rows"):
        looks.sides(prompts, 0.01)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_arms_of_equal_size_learn_equally_many_rows(size):
    """Prompts of one to five rows each, 30 rows, a tenth held out: 27 to learn."""
    prompts = [f"p{n // size}" for n in range(30)]
    try:
        found = looks.sides(prompts, 0.1)
    except UserError:
        assert size == 5  # no prompt has as few rows as are to be held out
        return
    assert len(found.train) == 27
    assert len(found.heldout) == {1: 3, 2: 2, 3: 3}[size]
    assert sorted([*found.train, *found.heldout, *found.aside]) == [*range(30)]


def test_facts_stand_beside_every_look():
    look = looks.with_facts(looks.every(2, 3, lambda params: {"a": 1}), {"overlong": 4})
    assert look({}, 1) == {"overlong": 4}
    assert look({}, 2).keys() == {"overlong", "eval_a", "eval_s"}


def test_a_few_problems_at_equal_distances():
    assert looks.spread_out([*range(10)], 4) == [0, 2, 5, 7]
    assert looks.spread_out([*range(3)], 4) == [0, 1, 2]
