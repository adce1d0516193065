"""Files that are not the checkpoint they should be: every mistake said at once."""

import json
import shutil
import struct

import jax
import jax.numpy as jnp
import numpy as np
import parity_folders
import pytest
from parity_folders import retensor, same
from safetensors.numpy import load_file, save_file

from routejax.errors import UserError
from routejax.models import weights
from routejax.models.weights.headers import INDEX, SINGLE, read_header
from routejax.models.weights.tensors import is_finite

FOLDER = parity_folders.FOLDER
NORM = "model.norm.weight"


def test_every_wrong_tensor_is_in_one_message(copy):
    folder = copy("qwen3")

    def damage(held):
        del held["model.layers.2.self_attn.q_norm.weight"]
        del held["model.norm.weight"]
        held["model.layers.0.self_attn.q_proj.bias"] = np.zeros(3, np.float32)
        held["model.layers.4.mlp.up_proj.weight"] = np.zeros(3, np.float32)
        held["model.layers.1.mlp.up_proj.weight"] = np.zeros((2, 3), np.float32)
        held["model.layers.0.self_attn.rotary_emb.inv_freq"] = np.zeros(8, np.float32)

    retensor(folder, damage)
    with pytest.raises(UserError) as caught:
        weights.load(folder)
    said = str(caught.value)
    for part in (
        "model.layers.2.self_attn.q_norm.weight",
        "model.norm.weight missing",
        "model.layers.0.self_attn.q_proj.bias",
        "model.layers.4.mlp.up_proj.weight superfluous",
        "model.layers.1.mlp.up_proj.weight [2, 3] instead of [40, 24]",
    ):
        assert part in said
    assert "inv_freq" not in said


def test_a_tied_head_may_be_there_if_it_is_equal(copy):
    folder = copy("llama_tied")
    whole = weights.load(folder)[1]

    def add(held, more=0.0):
        held["lm_head.weight"] = held["model.embed_tokens.weight"] + np.float32(more)

    retensor(folder, add)
    assert same(weights.load(folder)[1], whole)
    retensor(folder, lambda held: add(held, 1.0))
    with pytest.raises(UserError, match="tie_word_embeddings, yet lm_head"):
        weights.load(folder)


def test_buffers_of_frequencies_are_left_alone(copy):
    folder = copy()
    whole = weights.load(folder)[1]

    def add(held):
        held["model.layers.0.self_attn.rotary_emb.inv_freq"] = np.zeros(8, np.float32)
        held["model.rotary_emb.inv_freq"] = np.zeros(8, np.float32)

    retensor(folder, add)
    assert same(weights.load(folder)[1], whole)


@pytest.mark.parametrize("kept", [0, 5, 100, 3000, -1])
def test_a_file_that_is_cut_short_is_named(kept, copy):
    folder = copy()
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:kept])
    with pytest.raises(UserError, match=r"model.safetensors .*cut short"):
        weights.load(folder)


@pytest.mark.parametrize(
    ("header", "words"),
    [
        (b"{", "damaged header"),
        (b"[1]", "damaged header"),
        (
            b'{"a":{"dtype":"I8","shape":[1],"data_offsets":[0,1]}}',
            "a has type I8, wanted one of F64, F32, F16, BF16; quantised",
        ),
        (
            b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}',
            "damaged: a has not as many bytes as values",
        ),
    ],
)
def test_damaged_headers(header, words, tmp_path):
    file = tmp_path / "model.safetensors"
    file.write_bytes(len(header).to_bytes(8, "little") + header + b"\0" * 8)
    with pytest.raises(UserError, match=words):
        read_header(file)


def test_an_index_whose_files_are_not_all_there(tmp_path):
    student, params = weights.load(FOLDER / "llama")
    out = tmp_path / "out"
    weights.save(out, student, params, shard_bytes=9000)
    first, second, *_ = sorted(out.glob("*.safetensors"))
    first.rename(tmp_path / "away")
    with pytest.raises(UserError, match=f"lacks {first.name} of its model.safetensors"):
        weights.load(out)
    shutil.copy(second, first)
    with pytest.raises(UserError, match=f"{first.name} has no .*index.json says it h"):
        weights.load(out)
    (out / "model.safetensors.index.json").write_text("{}")
    with pytest.raises(UserError, match="is no index of weights"):
        weights.load(out)


def test_folders_that_are_no_checkpoints(copy, tmp_path):
    with pytest.raises(UserError, match=r"must be a folder with config.json"):
        weights.load(tmp_path / "absent")
    with pytest.raises(UserError, match=r"has no config.json"):
        weights.load(tmp_path)
    folder = copy()
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(UserError, match=r"it has pytorch_model.bin: save the model as"):
        weights.load(folder)
    (folder / "config.json").write_text("{")
    with pytest.raises(UserError, match=r"config.json is damaged"):
        weights.load(folder)


def reheader(folder, change):
    """Lets `change` edit the header of a folder's one file."""
    file = folder / SINGLE
    raw = file.read_bytes()
    end = 8 + struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:end])
    text = change(header) or json.dumps(header)
    text = text.encode("utf-8", "surrogatepass")
    file.write_bytes(struct.pack("<Q", len(text)) + text + raw[end:])


def of_norm(**fields):
    return lambda header: header[NORM].update(fields)


def instead(value):
    return lambda header: header.update({NORM: value})


def before(header):
    """The norm's place where another tensor is."""
    width = 4 * header[NORM]["shape"][0]
    header[NORM]["data_offsets"] = [0, width]


def gone(header):
    del header[NORM]


def twice(header):
    text = json.dumps(header)
    return text[:-1] + f', "{NORM}": {json.dumps(header[NORM])}' + "}"


HEADERS = {
    "no shape": (of_norm(shape=None), "has shape None and data_offsets"),
    "a real shape": (of_norm(shape=[24.0]), r"has shape \[24.0\]"),
    "a negative shape": (of_norm(shape=[-4, -6]), r"shape \[-4, -6\]"),
    "negative offsets": (of_norm(data_offsets=[-96, 0]), r"offsets \[-96, 0\]"),
    "offsets as text": (of_norm(data_offsets=["0", "96"]), "wanted whole numbers"),
    "three offsets": (of_norm(data_offsets=[0, 1, 96]), "two of the latter"),
    "no offsets": (of_norm(data_offsets=None), "data_offsets None"),
    "a list for a type": (of_norm(dtype=["F32"]), r"has type \['F32'\], wanted"),
    "no type": (of_norm(dtype=None), "has type None, wanted one of F64"),
    "a list": (instead([1]), r"must have type, shape and data_offsets, got \[1\]"),
    "nothing": (instead(None), "data_offsets, got None"),
    "an overlap": (before, "damaged: .* overlaps the one before it"),
    "a hole": (gone, "belong to no tensor|follows a gap"),
    "two of one name": (twice, "model.norm.weight is there twice"),
    "deep": (lambda header: "[" * 100_000, "damaged header: "),
    "half a character": (
        lambda header: header.update({"\ud800": header.pop(NORM)}),
        r"'\\ud800' superfluous",
    ),
}


@pytest.mark.parametrize("case", HEADERS)
def test_headers_that_are_wrong(case, copy):
    change, words = HEADERS[case]
    folder = copy()
    reheader(folder, change)
    with pytest.raises(UserError, match=words) as caught:
        weights.load(folder)
    assert str(caught.value).isprintable()


def test_bytes_that_belong_to_no_tensor(copy):
    folder = copy()
    with (folder / SINGLE).open("ab") as file:
        file.write(b"xxxx")
    with pytest.raises(UserError, match="4 bytes at its end belong to no tensor"):
        weights.load(folder)


def test_weights_that_are_not_finite_are_all_named(copy):
    folder = copy("qwen3")
    bad = ["model.layers.2.mlp.up_proj.weight", "model.norm.weight"]

    def damage(held):
        held[bad[0]][7, 3] = np.nan
        held[bad[1]][-1] = -np.inf

    retensor(folder, damage)
    for dtype in (None, "bfloat16"):
        with pytest.raises(UserError, match="not finite as") as caught:
            weights.load(folder, dtype=dtype)
        assert all(name in str(caught.value) for name in bad)
        assert str(caught.value).count("model.") == 2


def test_weights_too_large_for_the_dtype_asked_for(copy):
    folder = copy()
    retensor(folder, lambda held: held[NORM].__setitem__(0, 1e5))
    assert weights.load(folder)[1]["norm"]["scale"][0] == 1e5
    with pytest.raises(UserError, match=r"finite as float16: model.norm.weight; "):
        weights.load(folder, dtype="float16")


def test_a_value_that_is_not_finite_is_seen_wherever_it_is(monkeypatch):
    monkeypatch.setattr("routejax.models.weights.tensors._AT_ONCE", 6)
    values = np.zeros((7, 3), np.float32)
    assert is_finite(values)
    for place in np.ndindex(values.shape):
        values[place] = np.inf
        assert not is_finite(values)
        assert not is_finite(values.T)
        assert not is_finite(values.astype(jnp.bfloat16))
        values[place] = 0
    assert is_finite(np.zeros((), np.float32))
    assert not is_finite(np.full((), np.nan, np.float32))


def test_float64_is_read_as_float32(copy):
    folder = copy()
    whole = weights.load(folder)[1]
    retensor(
        folder,
        lambda held: held.update({n: v.astype(np.float64) for n, v in held.items()}),
    )
    assert same(weights.load(folder)[1], whole)


@pytest.fixture
def several(tmp_path):
    """A checkpoint in several files, and its index."""
    student, params = weights.load(FOLDER / "llama")
    weights.save(tmp_path / "out", student, params, shard_bytes=9000)
    index = json.loads((tmp_path / "out" / INDEX).read_text())
    return tmp_path / "out", index


def file_names(value):
    return lambda index: index.update(weight_map=value)


def each(value):
    names = ["model.norm.weight", "lm_head.weight"]
    return file_names(dict.fromkeys(names, value))


INDICES = {
    "no object": (lambda index: [], "is no index of weights: it is no JSON object"),
    "no map": (file_names(None), "must give a file name for each tensor"),
    "a list": (file_names([1]), "must give a file name for each tensor"),
    "a number": (each(1), "must give a file name for each tensor"),
    "a list for a name": (each(["a"]), "must give a file name for each tensor"),
    "the folder": (each("."), "must give a file name for each tensor"),
    "another folder": (each("../a.safetensors"), "must give a file name for each"),
    "half a character": (each("\ud800"), "must give a file name for each tensor"),
    "a zero byte": (each("a\0"), "must give a file name for each tensor"),
    "a tensor that is there": (
        lambda index: index["weight_map"].pop(NORM),
        f"{NORM}, which {INDEX} does not say",
    ),
}


@pytest.mark.parametrize("case", INDICES)
def test_indices_that_are_wrong(case, several):
    change, words = INDICES[case]
    folder, index = several
    changed = change(index)
    wrong = changed if isinstance(changed, list) else index
    (folder / INDEX).write_text(json.dumps(wrong))
    with pytest.raises(UserError, match=words):
        weights.load(folder)


def test_the_size_an_index_gives_decides_nothing(several):
    """Published checkpoints are loaded elsewhere whatever it says."""
    folder, index = several
    for metadata in ({}, None, {"total_size": 7}, {"total_size": "x"}):
        (folder / INDEX).write_text(json.dumps(index | {"metadata": metadata}))
        weights.load(folder)


def test_a_tensor_in_two_files(several):
    folder, index = several
    file = index["weight_map"][NORM]
    other = next(f for f in index["weight_map"].values() if f != file)
    held = load_file(folder / other) | {NORM: load_file(folder / file)[NORM] + 1}
    save_file(held, folder / other)
    with pytest.raises(UserError, match=f"{other} has {NORM}, which"):
        weights.load(folder)


def test_two_checkpoints_in_one_folder(several):
    folder, _ = several
    shutil.copy(FOLDER / "llama" / SINGLE, folder)
    with pytest.raises(UserError, match="two checkpoints; take one of them away"):
        weights.load(folder)


def test_what_is_no_file(copy):
    folder = copy()
    (folder / SINGLE).unlink()
    (folder / SINGLE).mkdir()
    with pytest.raises(UserError, match=r"cannot read .*Is a directory"):
        weights.load(folder)
    (folder / "config.json").unlink()
    (folder / "config.json").mkdir()
    with pytest.raises(UserError, match=r"cannot read .*config.json: Is a directory"):
        weights.load(folder)


def test_a_mesh_is_told_of_weights_that_are_not_finite(copy):
    folder = copy()
    retensor(folder, lambda held: held[NORM].__setitem__(0, np.nan))

    def spread(tree):
        grid = jax.sharding.Mesh(np.array(jax.devices()[:2]), "a")
        cut = jax.sharding.NamedSharding(grid, jax.sharding.PartitionSpec("a"))
        return jax.tree.map(lambda leaf: cut, tree)

    with pytest.raises(UserError, match=r"not finite as float32: model.norm.weight;"):
        weights.load(folder, sharding=spread)
