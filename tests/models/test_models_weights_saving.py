"""Exports: whole or not there, with their texts, and nothing written that is wrong."""

import errno
import json
import os
import shutil

import jax
import jax.numpy as jnp
import numpy as np
import parity_folders
import pytest
from parity_folders import same

from routejax.errors import UserError
from routejax.models import weights

FOLDER = parity_folders.FOLDER


def test_an_export_has_its_texts_and_is_whole_or_not_there(tmp_path, copy):
    folder = copy()
    (folder / "tokenizer.json").write_text("{}")
    (folder / "generation_config.json").write_text('{"eos_token_id": [2, 5]}')
    (folder / "notes.txt").write_text("stays behind")
    student, params = weights.load(folder)
    weights.save(tmp_path / "a", student, params, like=folder)
    assert (tmp_path / "a/tokenizer.json").read_text() == "{}"
    assert not (tmp_path / "a/notes.txt").exists()
    kept = json.loads((tmp_path / "a/config.json").read_text())
    assert kept == json.loads((folder / "config.json").read_text())
    files = {"generation_config.json": b'{"eos_token_id": 7, "bos_token_id": 1}'}
    weights.save(tmp_path / "b", student, params, files=files)
    made = json.loads((tmp_path / "b/config.json").read_text())
    assert (made["eos_token_id"], made["bos_token_id"]) == (7, 1)
    assert made["pad_token_id"] is None
    with pytest.raises(UserError, match=r"b is not empty"):
        weights.save(tmp_path / "b", student, params)
    assert not list(tmp_path.glob(".*"))


def test_what_cannot_be_saved(tmp_path):
    student, params = weights.load(FOLDER / "llama")
    with pytest.raises(UserError, match="dtype must be one of float32, bfloat16"):
        weights.save(tmp_path / "x", student, params, dtype="int8")
    with pytest.raises(UserError, match="which is not the student llama"):
        weights.save(tmp_path / "x", student, params, like=FOLDER / "qwen3")
    with pytest.raises(UserError, match="not those of the student: other names"):
        weights.save(tmp_path / "x", student, {"embedding": params["embedding"]})
    longer = params | {"embedding": jnp.zeros((65, 24))}
    with pytest.raises(UserError, match=r"\(65, 24\) for \(64, 24\)"):
        weights.save(tmp_path / "x", student, longer)


SAID = {
    errno.ENOSPC: "No space left on device; free some space or choose",
    errno.EACCES: "Permission denied; choose a folder that you may write to",
    errno.EIO: "error; choose another folder",
}


@pytest.mark.parametrize("number", SAID)
def test_a_disk_that_does_not_take_it(number, tmp_path, monkeypatch):
    student, params = weights.load(FOLDER / "llama")

    def refuse(*args):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("routejax.models.weights.saving.write_file", refuse)
    with pytest.raises(UserError, match=SAID[number]):
        weights.save(tmp_path / "x", student, params)
    assert list(tmp_path.iterdir()) == []


def test_a_save_that_is_stopped_leaves_nothing(tmp_path, monkeypatch):
    student, params = weights.load(FOLDER / "llama")

    def stop(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("routejax.models.weights.saving.write_file", stop)
        with pytest.raises(KeyboardInterrupt):
            weights.save(tmp_path / "x", student, params)
    assert list(tmp_path.iterdir()) == []
    # A save that was killed could not clear up; the next one does.
    for left in (lambda p: p.mkdir(), lambda p: p.write_text("")):
        left(tmp_path / ".x.tmp")
        weights.save(tmp_path / "x", student, params)
        assert [path.name for path in tmp_path.iterdir()] == ["x"]
        assert same(weights.load(tmp_path / "x")[1], params)
        shutil.rmtree(tmp_path / "x")


def test_places_that_are_no_folder_of_their_own(tmp_path, monkeypatch):
    student, params = weights.load(FOLDER / "llama")
    (tmp_path / "file").write_text("")
    (tmp_path / "here").mkdir()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    monkeypatch.chdir(tmp_path / "here")
    cases = {
        ".": "a folder of their own, got '.'",
        "/": "/ is not empty",
        "..": "is not empty",
        "../file": "a folder of their own, got '../file'",
        "../file/x": "cannot write ../file/x: Not a directory; choose another",
        "../loop": "cannot write '../loop': ",
        "a\0": "cannot write ",
    }
    for place, words in cases.items():
        with pytest.raises(UserError, match=words):
            weights.save(place, student, params)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "here", "loop"]


def test_a_link_is_followed(tmp_path):
    student, params = weights.load(FOLDER / "llama")
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    weights.save(tmp_path / "link", student, params)
    assert (tmp_path / "link").is_symlink()
    assert same(weights.load(tmp_path / "there")[1], params)


def test_what_it_should_be_like_is_no_checkpoint(tmp_path):
    student, params = weights.load(FOLDER / "llama")
    (tmp_path / "m.gguf").write_text("")
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd/config.json").write_text("[]")
    cases = {
        "absent": "cannot read .*absent/config.json: No such file",
        "m.gguf": "cannot read .*m.gguf/config.json: Not a directory",
        "odd": "odd/config.json is damaged: it is no JSON object",
    }
    for name, words in cases.items():
        with pytest.raises(UserError, match=words):
            weights.save(tmp_path / "x", student, params, like=tmp_path / name)
    (tmp_path / "odd/config.json").write_text(
        json.dumps(parity_folders.settings("llama") | {"dtype": ["float32"]})
    )
    with pytest.raises(UserError, match=r"dtype must be one of .*, got \['float32'\]"):
        weights.save(tmp_path / "x", student, params, like=tmp_path / "odd")


def test_files_beside_the_weights_stay_beside_them(tmp_path):
    student, params = weights.load(FOLDER / "llama")
    with pytest.raises(UserError, match=r"in one folder only, got \.\./a, b/c"):
        weights.save(tmp_path / "x", student, params, files={"../a": b"", "b/c": b""})
    damaged = {"generation_config.json": b"{"}
    with pytest.raises(UserError, match=r"generation_config.json is damaged"):
        weights.save(tmp_path / "x", student, params, files=damaged)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("value", "dtype", "kept"),
    [
        (1e5, "float16", False),
        (1e5, "bfloat16", True),
        (3.4e38, "bfloat16", False),
        (np.nan, "float32", False),
        (np.inf, "bfloat16", False),
    ],
)
def test_parameters_that_are_not_finite_in_the_file(value, dtype, kept, tmp_path):
    student, params = weights.load(FOLDER / "llama")
    up = params["blocks"]["mlp"]["up"]
    up["kernel"] = up["kernel"].at[2, 5, 3].set(value)
    params["norm"]["scale"] = params["norm"]["scale"].at[0].set(value)
    if kept:
        weights.save(tmp_path / "x", student, params, dtype=dtype)
        assert jax.tree.leaves(weights.load(tmp_path / "x")[1])
        return
    names = "model.layers.2.mlp.up_proj.weight, model.norm.weight; nothing"
    with pytest.raises(UserError, match=f"not finite as {dtype}: {names}"):
        weights.save(tmp_path / "x", student, params, dtype=dtype)
    assert list(tmp_path.iterdir()) == []
