"""What the stage of SFT hands to the training loop, which is played."""

import inspect
from types import SimpleNamespace

import numpy as np
import pytest
from played_rollouts import letters
from smoke_config import run_in

from routejax import loop, sft, update, workdir
from routejax.packing import Example
from routejax.stages import sft as stage
from routejax.stages.run import Run

ROWS = [Example([2, 4 + n], [5 + n, 3]) for n in range(10)]
TRAIN = loop.train
SETTINGS = {"epochs": 3, "batch_examples": 4, "row_tokens": 16, "row_multiple": 2}


@pytest.fixture
def given(tmp_path, student, monkeypatch):
    """Arguments of the loop by name; a function of what `call` does with a run."""

    def given(call, **changes):
        found, arguments = SimpleNamespace(), inspect.signature(TRAIN)

        def train(*args, **settings):
            bound = arguments.bind(*args, **settings)
            bound.apply_defaults()
            found.__dict__.update(bound.arguments)
            return found.state.params

        monkeypatch.setattr(loop, "train", train)
        logging = {"logging": {"tensorboard": False}}
        found.run = run_in(tmp_path, sft=SETTINGS | changes, **logging)
        found.run.__dict__.update(student=student, tokenizer=letters())
        folder = tmp_path / "sft"
        workdir.begin(folder, {"rows": "abc", "seed": 3}, print)
        found.params, found.recipe = call(found.run, folder)
        return found

    return given


def tuned(seed, **settings):
    return lambda run, folder: stage.tune(run, folder, "sft", ROWS, seed, **settings)


def test_order_and_start_are_of_the_seed(given, student):
    found = given(tuned(3))
    begun = student.init(3)
    assert update.checksum(found.state.params) == update.checksum(begun)
    assert update.checksum(begun) != update.checksum(student.init(0))
    alone = stage.Examples(ROWS, seed=3, **SETTINGS)
    for step in range(8):
        (batch,), _ = found.source.next({}, step)
        (wanted,), _ = alone.next({}, step)
        np.testing.assert_array_equal(batch.rows.tokens, wanted.rows.tokens)
        np.testing.assert_array_equal(batch.weights, wanted.weights)


def test_schedule_and_steps_are_of_all_epochs(given, student):
    """Thirty rows in batches of four are eight steps."""
    found = given(tuned(0))
    assert found.steps == found.recipe["steps"] == 8
    rule = found.run.config["sft"]["optimiser"]
    assert found.optimiser is update.optimiser(steps=8, **rule)
    assert found.loss is sft.loss(student)
    assert found.params is found.state.params


def test_a_checkpoint_belongs_to_the_inputs_of_its_stage(given):
    assert given(tuned(0)).made_with == {"rows": "abc", "seed": 3}


def test_rows_of_a_device_make_the_passes(given, monkeypatch):
    """Rows are a multiple of those of a pass, and divided as the mesh has them."""
    seen = []
    monkeypatch.setattr(Run, "divided", lambda run, part: seen.append(part) or part)
    found = given(tuned(0), device_rows=3)
    assert found.pass_rows == 3
    (batch,), _ = found.source.next({}, 0)
    assert len(batch.rows.tokens) == 6
    assert [part is batch for part in seen] == [True]
    assert given(tuned(0)).pass_rows is None


def test_looks_at_what_is_held_out_have_the_facts_beside_them(given):
    heldout = SimpleNamespace(loss=lambda params: 1.5)
    settings = {"heldout": heldout, "facts": {"overlong": 7}}
    found = given(tuned(0, **settings), evaluate_every=3)
    assert found.look({}, 1) == {"overlong": 7}
    for done in (3, 6, 8):  # the last step too
        told = found.look({}, done)
        assert (told["eval_loss"], told["overlong"]) == (1.5, 7)


def test_limits_and_place_reach_the_loop(given):
    place, limits = object(), {"logp_gap": 0.02}

    def fit(run, folder):
        run.__dict__["placement"] = place
        state = SimpleNamespace(params={})
        rest = (None, None, None, 5, ("loss",))  # source, loss, rule, steps, headline
        return stage.fit(run, folder, "x", state, *rest, limits=limits), {}

    found = given(fit)
    assert (found.limits, found.steps) == (limits, 5)
    assert found.place is place
    assert found.log.name == "metrics.jsonl"
