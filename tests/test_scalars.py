"""Where metrics go: what TensorBoard and W&B get, and that no sink ends a training."""

import importlib.util
import io
import struct
import sys
import types
from contextlib import contextmanager

import pytest

from routejax import scalars
from routejax.errors import UserError


def opened(folder, done=0, said=None, **changes):
    say = (said if said is not None else []).append
    given = {"name": "sft", "done": done, "say": say, "about": {}} | changes
    return scalars.opened(folder, **given)


def events(folder):
    """Events of all files in the order of TensorBoard; half a record ends a file."""
    from tensorboardX.proto.event_pb2 import Event  # noqa: PLC0415

    found = []
    for path in sorted((folder / "tensorboard").iterdir()):
        data = io.BytesIO(path.read_bytes())
        while len(head := data.read(12)) == 12:
            (size,) = struct.unpack("<Q", head[:8])
            record, crc = data.read(size), data.read(4)
            if len(record) + len(crc) < size + 4:
                break
            found.append(Event.FromString(record))
    return found


def points(folder):
    """(step, value) of "loss": a start forgets what came before from its step on."""
    kept = []
    for event in events(folder):
        if event.HasField("session_log"):
            kept = [(step, value) for step, value in kept if step < event.step]
        kept += [
            (event.step, v.simple_value) for v in event.summary.value if v.tag == "loss"
        ]
    return kept


def test_tensorboard_has_a_point_of_each_metric_for_each_step(tmp_path):
    with opened(tmp_path) as tell:
        tell(1, {"loss": 2.0, "reward/sort": 0.5})
        tell(2, {"loss": 1.5})
    assert points(tmp_path) == [(1, 2.0), (2, 1.5)]
    tags = [v.tag for event in events(tmp_path) for v in event.summary.value]
    assert tags == ["loss", "reward/sort", "loss"]


def test_a_step_is_on_disk_when_the_next_begins(tmp_path):
    with opened(tmp_path) as tell:
        tell(1, {"loss": 2.0})
        assert points(tmp_path) == [(1, 2.0)]


@pytest.mark.parametrize("done", [0, 2, 5])
def test_steps_that_are_done_again_are_there_once(done, tmp_path):
    with opened(tmp_path) as tell:
        for step in range(1, 6):
            tell(step, {"loss": float(step)})
    with opened(tmp_path, done) as tell:
        for step in range(done + 1, 8):
            tell(step, {"loss": float(step)})
    assert points(tmp_path) == [(step, float(step)) for step in range(1, 8)]


def test_a_start_that_goes_back_further_than_it_was_to_leaves_no_step_twice(tmp_path):
    """The checkpoint of step 4 was damaged, so that of step 2 was taken up."""
    with opened(tmp_path) as tell:
        for step in range(1, 6):
            tell(step, {"loss": float(step)})
    with opened(tmp_path, done=4) as tell:
        for step in range(3, 8):
            tell(step, {"loss": -float(step)})
    values = [1.0, 2.0, *(-float(step) for step in range(3, 8))]
    assert points(tmp_path) == [*enumerate(values, 1)]


def test_tensorboard_itself_reads_no_step_twice(tmp_path):
    module = "tensorboard.backend.event_processing.event_accumulator"
    reader = pytest.importorskip(module, reason="tensorboard is not installed")
    for done in (0, 3):
        with opened(tmp_path, done) as tell:
            for step in range(done + 1, done + 6):
                tell(step, {"loss": float(step)})
    found = reader.EventAccumulator(str(tmp_path / "tensorboard"))
    found.Reload()
    steps = [point.step for point in found.Scalars("loss")]
    assert steps == [*range(1, 9)]


def test_no_sink_makes_no_file(tmp_path):
    with opened(tmp_path, tensorboard=False) as tell:
        tell(1, {"loss": 2.0})
    assert [*tmp_path.iterdir()] == []


# Sinks that fail ---------------------------------------------------------------------


@pytest.fixture
def broken(monkeypatch):
    """TensorBoard's sink is one that fails where it is told to; the steps it wrote."""

    def set_up(at):
        wrote = []

        @contextmanager
        def sink(folder, done):
            if at == "open":
                raise OSError("no space")

            def write(step, row):
                if at == "write" and step != 2:
                    raise ValueError("two\nlines")
                wrote.append(step)

            yield write
            if at == "close":
                raise ConnectionError("gone")

        monkeypatch.setattr(scalars, "to_tensorboard", sink)
        return wrote

    return set_up


@pytest.mark.parametrize(
    ("at", "wrote", "lines"),
    [
        ("never", [1, 2, 3], []),
        ("open", [], ["OSError: no space"]),
        ("write", [2], ["ValueError: two lines", "missed 2 steps"]),
        ("close", [1, 2, 3], ["ConnectionError: gone"]),
    ],
)
def test_a_sink_that_fails_is_told_once_and_counted(at, wrote, lines, broken, tmp_path):
    found, said = broken(at), []
    with opened(tmp_path, said=said) as tell:
        for step in (1, 2, 3):
            tell(step, {"loss": 1.0})
    assert found == wrote
    assert len(said) == len(lines)
    for line, words in zip(said, lines, strict=True):
        assert line.startswith("sft: TensorBoard ")
        assert words in line
        assert "\n" not in line


@pytest.mark.parametrize("at", ["never", "write", "close"])
@pytest.mark.parametrize("error", [KeyError, KeyboardInterrupt])
def test_what_ends_the_training_is_not_swallowed(at, error, broken, tmp_path):
    broken(at)

    def train():
        with opened(tmp_path) as tell:
            tell(1, {"loss": 1.0})
            raise error

    with pytest.raises(error):
        train()


# W&B ---------------------------------------------------------------------------------


@pytest.fixture
def wandb(monkeypatch):
    """A module in place of W&B that has `known` steps of a run; what it was asked."""
    made = types.ModuleType("wandb")
    made.known, made.asked, made.logged, made.ended = 0, [], [], []

    class Run:
        step = property(lambda self: made.known)

        def log(self, row, step):
            made.logged.append((step, row))

        def finish(self, exit_code=0):
            made.ended.append(exit_code)

    def init(**asked):
        made.asked.append(asked)
        return Run()

    made.init, made.Settings = init, dict
    monkeypatch.setitem(sys.modules, "wandb", made)
    return made


def test_wandb_gets_one_run_per_stage_and_no_step_again(wandb, tmp_path):
    with opened(tmp_path, tensorboard=False, wandb="mine") as tell:
        tell(1, {"loss": 1.0})
        tell(2, {"loss": 0.5})
    wandb.known = 3  # the run has steps up to 2
    with opened(tmp_path, 1, tensorboard=False, wandb="mine") as tell:
        tell(2, {"loss": 0.5})
        tell(3, {"loss": 0.25})
    assert [step for step, _ in wandb.logged] == [1, 2, 3]
    first, second = wandb.asked
    assert first == second
    assert (first["project"], first["name"], first["resume"]) == (
        "mine",
        "sft",
        "allow",
    )
    assert wandb.ended == [0, 0]


def test_wandb_hears_of_a_training_that_did_not_end(wandb, tmp_path):
    with pytest.raises(KeyError), opened(tmp_path, wandb="mine", tensorboard=False):
        raise KeyError
    assert wandb.ended == [1]


def test_wandb_that_is_not_installed_is_told_before_any_work(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    scalars.require(tensorboard=True, wandb="")
    with pytest.raises(UserError, match=r"'mine', but W&B is not installed: pip inst"):
        scalars.require(tensorboard=True, wandb="mine")


def test_the_real_wandb_offline(tmp_path, monkeypatch):
    pytest.importorskip("wandb", reason="wandb is not installed")
    monkeypatch.setenv("WANDB_MODE", "offline")
    for done in (0, 2):
        said = []
        with opened(
            tmp_path, done, said, tensorboard=False, wandb="tests", about={"a": (1,)}
        ) as tell:
            tell(done + 1, {"loss": 1.0})
            tell(done + 2, {"loss": 0.5})
        assert said == []
    runs = [*(tmp_path / "wandb").glob("offline-run-*/run-*.wandb")]
    assert len({run.name for run in runs}) == 1
    assert len(runs) == 2
