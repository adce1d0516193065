"""The training loop on a problem of two numbers, stopped and resumed at every step."""

import contextlib
import functools
import io
import json
import os
import signal

import jax
import jax.numpy as jnp
import pytest
from rich.console import Console

from routejax import checkpoints, interrupt, loop, processes, progress, update
from routejax.errors import UserError

STEPS = 5
OPTIMISER = {
    "name": "adamw",
    "learning_rate": 0.1,
    "warmup_share": 0.5,
    "final_share": 0.1,
    "b1": 0.9,
    "b2": 0.95,
    "eps": 1e-8,
    "weight_decay": 0.1,
    "clip_norm": 1.0,
}


def distance(params, batch):
    """Squared distance to the batch."""
    value = jnp.sum((params["w"] - batch) ** 2)
    return value, {"gap": jnp.sqrt(value)}


class Counting:
    """Batches 1, 2, 3 … times two, with a state; `on` is called with each number."""

    def __init__(self, on=lambda number: None, updates=1):
        self.number, self.on, self.updates = 0, on, updates

    def next(self, params, step):
        assert step == self.number
        self.number += 1
        self.on(self.number)
        batch = jnp.full(2, 2.0 * self.number)
        return [batch] * self.updates, {"seen": float(params["w"][0])}

    def state(self):
        return {"number": self.number}

    def restore(self, state):
        self.number = state["number"]


def train_in(folder, source=None, *, every_s=0.0, optimiser=OPTIMISER, **settings):
    """Trains in `folder`, going on from what is there."""
    rule = update.optimiser(steps=STEPS, **optimiser)
    console = Console(file=io.StringIO())
    folder.mkdir(exist_ok=True)
    with (
        checkpoints.opened(folder / "c", keep=2, every_s=every_s) as saved,
        progress.track(console, "t", STEPS, "steps") as shown,
    ):
        return loop.train(
            update.start({"w": jnp.zeros(2)}, rule),
            source or Counting(),
            distance,
            rule,
            steps=STEPS,
            checkpoints=saved,
            log=folder / "log.jsonl",
            progress=shown,
            **settings,
        )


@pytest.fixture
def train(tmp_path):
    return functools.partial(train_in, tmp_path)


def log_of(folder):
    rows = [json.loads(x) for x in (folder / "log.jsonl").read_text().splitlines()]
    return [{k: v for k, v in row.items() if not k.endswith("_s")} for row in rows]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Parameters and log of a run that nothing stopped."""
    folder = tmp_path_factory.mktemp("whole")
    return train_in(folder, every_s=1e9), log_of(folder)


def assert_same(params, whole, folder):
    assert params["w"].tolist() == whole[0]["w"].tolist()
    assert log_of(folder) == whole[1]


def test_a_line_per_step_with_facts_metrics_and_times(train, tmp_path):
    train()
    rows = [json.loads(x) for x in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows] == [1, 2, 3, 4, 5]
    for row in rows:
        assert set(row) == {
            *("step", "seen", "gap", "loss", "grad_norm"),
            *("batch_s", "update_s", "step_s"),
        }
        assert 0 <= row["batch_s"] <= row["batch_s"] + row["update_s"] <= row["step_s"]
    # w = (0, 0), batch (2, 2): loss 8, gradient (-4, -4), and the loss is before the
    # step; "seen" is under the parameters that the batch was made with.
    assert rows[0]["loss"] == 8
    assert rows[0]["grad_norm"] == pytest.approx(32**0.5)
    assert rows[0]["seen"] == 0
    assert rows[1]["seen"] > 0


def test_every_step_is_told_once_its_line_is_there(train, tmp_path):
    told = []

    def tell(step, row):
        assert log_of(tmp_path)[-1]["step"] == step
        told.append({"step": step, **row})

    train(tell=tell)
    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    assert told == [json.loads(line) for line in lines]


@pytest.mark.parametrize("stop", range(1, STEPS + 1))
def test_stopped_by_an_error_it_resumes_as_if_it_had_not(stop, train, whole, tmp_path):
    def fails(number):
        if number == stop:
            raise ConnectionError

    with pytest.raises(ConnectionError):
        train(Counting(fails))
    assert len(log_of(tmp_path)) == stop - 1
    assert_same(train(), whole, tmp_path)


def test_steps_after_the_checkpoint_are_done_again_and_cut(train, whole, tmp_path):
    """A kill leaves a log that is ahead of the checkpoint, and half a line."""
    with pytest.raises(ConnectionError):
        train(Counting(lambda n: raise_at(n, 4)))
    log = tmp_path / "log.jsonl"
    ahead = log.read_text() + '{"step": 4, "loss": 99}\n{"step": 5, "lo'
    log.write_text(ahead)
    assert_same(train(), whole, tmp_path)


def raise_at(number, stop):
    if number == stop:
        raise ConnectionError


def test_without_a_checkpoint_it_begins_again(train, whole, tmp_path):
    with pytest.raises(ConnectionError):
        train(Counting(lambda n: raise_at(n, 4)), every_s=1e9)
    assert len(log_of(tmp_path)) == 3
    assert_same(train(), whole, tmp_path)


def test_after_damage_bar_and_steps_go_on_from_the_checkpoint_before(
    train, whole, tmp_path, monkeypatch
):
    with pytest.raises(ConnectionError):
        train(Counting(lambda n: raise_at(n, 5)))
    for path in (tmp_path / "c" / "4" / "state").rglob("d/*"):
        path.unlink()
    begun = []
    monkeypatch.setattr(progress.Stage, "begin", lambda bar, done: begun.append(done))
    assert_same(train(), whole, tmp_path)
    assert begun == [3]


def test_a_value_that_has_changed_on_disk_is_not_gone_on_from(train, whole, tmp_path):
    """The newest can be read, but is not what its checksum says."""
    with pytest.raises(ConnectionError):
        train(Counting(lambda n: raise_at(n, 5)))
    record = tmp_path / "c" / "4" / "record" / "metadata"
    found = json.loads(record.read_text())
    found["record"]["checksum"][0] ^= 1
    found["sha256"] = checkpoints._digest(found["record"])
    record.write_text(json.dumps(found))
    seen = []
    assert_same(train(Counting(seen.append)), whole, tmp_path)
    assert seen == [4, 5]


def test_a_finished_training_does_no_step(train, whole, tmp_path):
    train()

    def fails(number):
        raise AssertionError(number)

    assert_same(train(Counting(fails)), whole, tmp_path)


def test_a_checkpoint_of_another_training_is_refused(train, tmp_path):
    """Values as JSON has them: a tuple is a list."""
    made = {"sft": {"epochs": 2, "betas": (1, 2)}, "rows": "ab"}
    train(made_with=made)
    train(made_with=made)
    other = {"sft": {"epochs": 3, "betas": (1, 2)}, "rows": "cd"}
    with pytest.raises(UserError) as told:
        train(made_with=other)
    assert str(told.value) == (
        "the newest checkpoint is of another training: rows: 'ab' there, 'cd' now; "
        "sft.epochs: 2 there, 3 now. Go on with what it was made with, or delete its "
        "folder to train anew"
    )
    train(made_with=made)  # nothing was touched


def test_a_log_shorter_than_the_checkpoint_is_refused(train, tmp_path):
    train()
    (tmp_path / "log.jsonl").write_text("{}\n")
    with pytest.raises(UserError, match=r"log.jsonl has 1 lines but .* is of step 5"):
        train()


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_is_not_finite_stops_before_it_is_saved(bad, train, whole, tmp_path):
    class Poisoned(Counting):
        def next(self, params, step):
            (batch,), facts = super().next(params, step)
            return [batch * bad if step == 3 else batch], facts

    with pytest.raises(UserError, match="at step 4: the run stops before it is saved"):
        train(Poisoned())
    assert len(log_of(tmp_path)) == 3
    assert {p.name for p in (tmp_path / "c").iterdir()} == {"2", "3"}
    assert_same(train(), whole, tmp_path)  # the cause mended, it goes on


def test_a_metric_over_its_limit_stops_before_it_is_saved(train, tmp_path):
    with pytest.raises(UserError, match=r"gap is 5.\d+ at step 2, its limit is 5"):
        train(limits={"gap": 5.0})
    assert [p.name for p in (tmp_path / "c").iterdir()] == ["1"]


def test_a_line_is_on_disk_before_its_checkpoint_is_saved(train, tmp_path, monkeypatch):
    """A kill between the two would leave a checkpoint that its log does not reach."""
    log, synced = tmp_path / "log.jsonl", []
    fsync, save = os.fsync, checkpoints.Checkpoints.save

    def sync(number):
        if os.fstat(number).st_ino == log.stat().st_ino:
            synced.append(len(log_of(tmp_path)))
        fsync(number)

    def saved(self, step, *rest):
        assert synced[-1:] == [step]
        save(self, step, *rest)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(checkpoints.Checkpoints, "save", saved)
    train()
    assert synced == [1, 2, 3, 4, 5]


def test_the_first_process_alone_writes_the_log(train, whole, tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "first", lambda: False)
    assert train()["w"].tolist() == whole[0]["w"].tolist()
    assert not (tmp_path / "log.jsonl").exists()


@pytest.mark.parametrize("stop", [1, 3, STEPS])
def test_a_signal_waits_for_the_step_and_its_checkpoint(
    stop, train, whole, tmp_path, monkeypatch
):
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(interrupt._Signals, "came", None)
    interrupt.install()

    def sends(number):
        if number == stop:
            os.kill(os.getpid(), signal.SIGTERM)

    try:
        with pytest.raises(interrupt.Interrupted, match="SIGTERM"):
            train(Counting(sends), every_s=1e9)
    finally:
        signal.signal(signal.SIGTERM, before)
    monkeypatch.setattr(interrupt._Signals, "came", None)
    assert [int(p.name) for p in (tmp_path / "c").iterdir()] == [stop]
    assert len(log_of(tmp_path)) == stop
    assert_same(train(), whole, tmp_path)


# Several updates a step ---------------------------------------------------------------


def test_several_updates_are_one_step_and_their_metrics_a_mean(train, tmp_path):
    """Three updates towards the same point, as three steps of one update are."""
    rule = update.optimiser(steps=STEPS, **OPTIMISER)
    state, losses = update.start({"w": jnp.zeros(2)}, rule), []
    for _ in range(3):
        state, metrics = update.train_step(distance, rule, state, jnp.full(2, 2.0))
        losses.append(float(metrics["loss"]))
    train(Counting(updates=3))
    rows = log_of(tmp_path)
    assert [row["step"] for row in rows] == [1, 2, 3, 4, 5]
    assert rows[0]["loss"] == pytest.approx(sum(losses) / 3)
    assert losses[0] == 8 > losses[1] > losses[2]
    assert rows[1]["seen"] == float(state.params["w"][0])


@pytest.mark.parametrize("stop", range(1, STEPS + 1))
def test_several_updates_resume_as_if_nothing_had_stopped_them(stop, train, tmp_path):
    whole = train_in(tmp_path / "whole", Counting(updates=2), every_s=1e9)
    with pytest.raises(ConnectionError):
        train(Counting(lambda n: raise_at(n, stop), updates=2))
    found = train(Counting(updates=2))
    assert_same(found, (whole, log_of(tmp_path / "whole")), tmp_path)


def test_no_checkpoint_falls_between_the_updates_of_a_step(train, tmp_path):
    """The second update of step 3 fails: two steps are kept, and four updates."""

    class Poisoned(Counting):
        def next(self, params, step):
            batches, facts = super().next(params, step)
            return ([batches[0], batches[1] * jnp.nan] if step == 2 else batches), facts

    with pytest.raises(UserError, match="at step 3: the run stops before it is saved"):
        train(Poisoned(updates=2))
    assert {p.name for p in (tmp_path / "c").iterdir()} == {"1", "2"}
    assert len(log_of(tmp_path)) == 2
    seen = []
    train(Counting(seen.append, updates=2))
    assert seen == [3, 4, 5]


def test_every_step_runs_the_same_program(train, caplog):
    """A state fresh, after a step, and restored is the same to the compiler."""
    new = OPTIMISER | {"learning_rate": 0.123}  # no other test has compiled it
    with jax.log_compiles():
        with contextlib.suppress(ConnectionError):
            train(Counting(lambda n: raise_at(n, 4)), optimiser=new)
        train(optimiser=new)
    compiled = [m for m in caplog.messages if "Compiling jit(train_step)" in m]
    assert len(compiled) == 1


ONE, TWO, THREE = (f'{{"step": {n}}}\n' for n in (1, 2, 3))


@pytest.mark.parametrize(
    ("text", "done", "kept"),
    [
        (ONE + TWO + THREE, 2, ONE + TWO),
        (ONE + TWO + '{"st', 2, ONE + TWO),
        (ONE + TWO + "\0" * 20, 2, ONE + TWO),
        (ONE + TWO, 2, ONE + TWO),
        ('{"st', 0, ""),
        ("", 0, ""),
    ],
)
def test_lines_that_are_kept(text, done, kept, tmp_path):
    log = tmp_path / "log"
    log.write_text(text)
    loop.keep_lines(log, done)
    assert log.read_text() == kept


@pytest.mark.parametrize(
    "second", ["\0\0\n", "{}\n", "[2]\n", ONE, THREE, "[" * 10**5 + "\n"]
)
def test_a_line_that_is_not_that_of_its_step_is_named(second, tmp_path):
    log = tmp_path / "log"
    log.write_text(ONE + second)
    with pytest.raises(UserError, match=r"line 2 of .*log is not .* step 2; delete"):
        loop.keep_lines(log, 2)
    assert log.read_text() == ONE + second


@pytest.mark.parametrize("text", [None, "", ONE, ONE + "half"])
def test_lines_that_are_missing(text, tmp_path):
    log = tmp_path / "log"
    if text is not None:
        log.write_text(text)
    with pytest.raises(UserError, match=r"log has \d lines but the newest checkpoint"):
        loop.keep_lines(log, 2)
