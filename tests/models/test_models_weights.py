"""Checkpoints in and out: every value at its place, and every mistake said at once."""

import json
import shutil

import jax
import jax.numpy as jnp
import numpy as np
import parity_folders
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from safetensors.numpy import load_file, save_file

from routejax import mesh, models
from routejax.errors import UserError
from routejax.models import weights
from routejax.models.weights.keys import shapes
from routejax.models.weights.published import read_config, write_config
from routejax.models.weights.tensors import read_file

FOLDER = parity_folders.FOLDER


@pytest.fixture
def copy(tmp_path):
    """A folder of a fixture's own, to be damaged."""

    def make(name="llama"):
        return shutil.copytree(FOLDER / name, tmp_path / name)

    return make


def same(one, other):
    return jax.tree.structure(one) == jax.tree.structure(other) and all(
        a.dtype == b.dtype and np.array_equal(a, b)
        for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    )


def edit(folder, **fields):
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | fields))


def retensor(folder, change):
    held = load_file(folder / "model.safetensors")
    change(held)
    save_file(held, folder / "model.safetensors", metadata={"format": "pt"})


@pytest.mark.parametrize("name", parity_folders.NAMES)
def test_loading_gives_the_tree_that_stacks_every_layer(name):
    student, params = weights.load(FOLDER / name)
    held = parity_folders.tensors(name)
    layers = range(student.config.layers)

    def stack(key, turn=False):
        found = [held[f"model.layers.{i}.{key}.weight"] for i in layers]
        return np.stack([w.T if turn else w for w in found])

    blocks = params["blocks"]
    for ours, theirs in (("query", "q"), ("key", "k"), ("value", "v"), ("out", "o")):
        kernel = blocks["attention"][ours]["kernel"]
        assert np.array_equal(kernel, stack(f"self_attn.{theirs}_proj", turn=True))
    for part in ("gate", "up", "down"):
        kernel = blocks["mlp"][part]["kernel"]
        assert np.array_equal(kernel, stack(f"mlp.{part}_proj", turn=True))
    second = "post_attention_layernorm"
    first = second if student.family == "olmo3" else "input_layernorm"
    second = "post_feedforward_layernorm" if student.family == "olmo3" else second
    assert np.array_equal(blocks["attention_norm"]["scale"], stack(first))
    assert np.array_equal(blocks["mlp_norm"]["scale"], stack(second))
    if student.family != "llama":
        for ours, theirs in (("query_norm", "q_norm"), ("key_norm", "k_norm")):
            scale = blocks["attention"][ours]["scale"]
            assert np.array_equal(scale, stack(f"self_attn.{theirs}"))
    assert np.array_equal(params["embedding"], held["model.embed_tokens.weight"])
    assert np.array_equal(params["norm"]["scale"], held["model.norm.weight"])
    assert ("head" in params) == (not student.config.tied)
    if "head" in params:
        assert np.array_equal(params["head"], held["lm_head.weight"])
    assert jax.tree.structure(params) == jax.tree.structure(shapes(student))


@pytest.mark.parametrize("name", parity_folders.NAMES)
@pytest.mark.parametrize("shard_bytes", [5_000_000_000, 9000])
@pytest.mark.parametrize("like", [True, False])
def test_saving_and_loading_again_is_equal(name, shard_bytes, like, tmp_path):
    student, params = weights.load(FOLDER / name)
    origin = FOLDER / name if like else None
    out = tmp_path / "out"
    weights.save(out, student, params, like=origin, shard_bytes=shard_bytes)
    again, back = weights.load(out)
    assert again == student
    assert same(back, params)
    files = sorted(path.name for path in out.glob("*.safetensors"))
    index = out / "model.safetensors.index.json"
    assert index.exists() == (len(files) > 1) == (shard_bytes < 10**6)
    # The library of the format reads the same values.
    held = {}
    for file in files:
        held |= load_file(out / file)
    wanted = parity_folders.tensors(name)
    assert held.keys() == wanted.keys()
    assert all(np.array_equal(held[n], wanted[n]) for n in held)
    for file in files:  # where readers that map the file want them
        assert int.from_bytes((out / file).read_bytes()[:8], "little") % 8 == 0
    if len(files) > 1:
        assert json.loads(index.read_text())["weight_map"].keys() == held.keys()
        sizes = [(out / f).stat().st_size for f in files]
        assert max(sizes) < shard_bytes + 4000  # and the header


def test_dtypes_are_chosen_both_ways(tmp_path):
    student, params = weights.load(FOLDER / "qwen3", dtype="bfloat16")
    assert {leaf.dtype for leaf in jax.tree.leaves(params)} == {np.dtype(jnp.bfloat16)}
    weights.save(tmp_path / "half", student, params)
    assert json.loads((tmp_path / "half/config.json").read_text())["torch_dtype"] == (
        "bfloat16"
    )
    assert same(weights.load(tmp_path / "half")[1], params)
    full = weights.load(FOLDER / "qwen3")[1]
    weights.save(tmp_path / "rounded", student, full, dtype="bfloat16")
    assert same(weights.load(tmp_path / "rounded")[1], params)
    # In the dtype of the checkpoint it came from, whatever it was trained in.
    weights.save(tmp_path / "again", student, full, like=tmp_path / "half")
    assert same(weights.load(tmp_path / "again")[1], params)
    wide = weights.load(tmp_path / "half", dtype="float32")[1]
    assert {leaf.dtype for leaf in jax.tree.leaves(wide)} == {np.dtype("float32")}


@pytest.mark.parametrize("name", parity_folders.NAMES)
@pytest.mark.parametrize("axes", [{"fsdp": 4, "tensor": 2}, {"data": 4, "fsdp": 2}])
def test_a_mesh_gets_every_part_in_its_place(name, axes, tmp_path):
    over = mesh.make_mesh(**{"data": 1, **axes})
    student, whole = weights.load(FOLDER / name)
    places = mesh.Placement(over, student.family)
    again, params = weights.load(FOLDER / name, sharding=places.shardings)
    assert again == student
    assert same(jax.device_get(params), jax.device_get(whole))
    wanted = places.shardings(params)
    for leaf, place in zip(
        jax.tree.leaves(params), jax.tree.leaves(wanted), strict=True
    ):
        assert leaf.sharding == place
    assert not params["blocks"]["mlp"]["up"]["kernel"].is_fully_replicated
    weights.save(tmp_path / "out", student, params)
    assert same(weights.load(tmp_path / "out")[1], whole)


def test_a_tree_of_shardings_may_cut_any_axis():
    """Also axes the table of rules never cuts: layers, and both sides of a kernel."""
    grid = Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("a", "b"))
    whole = weights.load(FOLDER / "qwen3")[1]

    def place(leaf):
        cut = ("a", "b") if leaf.ndim == 3 else ("b",) if leaf.ndim == 2 else ()
        return NamedSharding(grid, PartitionSpec(*cut))

    tree = jax.tree.map(place, whole)
    found = weights.load(FOLDER / "qwen3", sharding=tree)[1]
    assert same(jax.device_get(found), jax.device_get(whole))


def test_tensors_are_read_a_few_rows_at_a_time(monkeypatch):
    whole = weights.load(FOLDER / "qwen3")[1]
    monkeypatch.setattr("routejax.models.weights.loading._AT_ONCE", 300)
    over = mesh.make_mesh(data=1, fsdp=2, tensor=2, replica=2)
    places = mesh.Placement(over, "qwen3").shardings
    for sharding in (None, places):
        found = weights.load(FOLDER / "qwen3", sharding=sharding)[1]
        assert same(jax.device_get(found), jax.device_get(whole))


def test_loaded_parameters_are_the_students_own():
    """They lie in memory that was filled for them: a step may take it over."""
    params = weights.load(FOLDER / "llama")[1]
    kept = jax.tree.map(np.array, params)

    @jax.jit
    def doubled(tree):
        return jax.tree.map(lambda leaf: 2 * leaf, tree)

    given = jax.jit(doubled, donate_argnums=0)(params)
    assert same(given, jax.tree.map(lambda leaf: 2 * leaf, kept))
    assert same(weights.load(FOLDER / "llama")[1], kept)


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
        read_file(file)


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


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (
            {"architectures": ["MambaForCausalLM"]},
            "must have an architecture out of LlamaForCausalLM, Qwen3ForCausalLM, "
            "Olmo3ForCausalLM, got MambaForCausalLM",
        ),
        ({"architectures": None, "model_type": "gpt2"}, "got gpt2"),
        ({"hidden_size": None, "vocab_size": None}, "lacks vocab_size, hidden_size"),
        (
            {"attention_bias": True, "hidden_act": "gelu", "use_sliding_window": True},
            "attention_bias True .only False.; use_sliding_window True .only False.; "
            "hidden_act 'gelu' .only 'silu'.",
        ),
        ({"mlp_bias": True}, "mlp_bias True"),
        ({"quantization_config": {"bits": 4}}, "quantization_config"),
        ({"rope_scaling": {"type": "dynamic", "factor": 2}}, "rope_type 'dynamic'"),
        ({"rope_scaling": {"rope_type": "yarn"}}, "lacks factor of its yarn"),
        (
            {"rope_scaling": {"rope_type": "yarn", "factor": 2, "mscale": 1}},
            "mscale of rope_scaling",
        ),
        ({"num_key_value_heads": 3}, "heads must be a multiple of student.kv_heads"),
    ],
)
def test_configs_that_cannot_be_run(fields, words, copy):
    folder = copy()
    (folder / "model.safetensors").unlink()  # nothing is read before the config
    file = folder / "config.json"
    config = json.loads(file.read_text()) | fields
    if "rope_scaling" in fields:
        del config["rope_parameters"]
    file.write_text(json.dumps(config))
    with pytest.raises(UserError, match=words):
        weights.load(folder)
    with pytest.raises(UserError, match=words):
        weights.read_student(folder)


def raw(name, **fields):
    config = json.loads((FOLDER / name / "config.json").read_text())
    return config | fields


def without(config, *names):
    return {name: value for name, value in config.items() if name not in names}


def test_old_and_new_rotary_settings_are_one():
    """Flat and nested `rope_parameters`, and `rope_theta` with `rope_scaling`."""
    new = raw("olmo3")
    yarn = dict(new["rope_parameters"]["full_attention"])
    theta = yarn.pop("rope_theta")
    rest = without(new, "rope_parameters")
    old = rest | {"rope_theta": theta, "rope_scaling": yarn}
    older = rest | {
        "rope_theta": theta,
        "rope_scaling": without(yarn, "rope_type") | {"type": "yarn"},
    }
    flat = rest | {"rope_parameters": yarn | {"rope_theta": theta}}
    wanted = read_config(new)
    assert wanted[1].rope_scaling == models.Yarn(
        8.0, 32, 1.2079441541679836, beta_fast=4.0, beta_slow=0.5
    )
    assert read_config(old) == read_config(older) == read_config(flat) == wanted
    llama = raw("llama")
    scaling = dict(llama["rope_parameters"])
    old = without(llama, "rope_parameters") | {
        "rope_theta": scaling.pop("rope_theta"),
        "rope_scaling": scaling,
    }
    assert read_config(old) == read_config(llama)
    assert read_config(llama)[1].rope_scaling == models.Llama3(8.0, 32, 1.0, 4.0)


def test_sliding_layers_with_frequencies_of_their_own_are_refused():
    config = raw("olmo3")
    nested = config["rope_parameters"]
    for sliding, words in (
        ({"rope_type": "yarn", "factor": 2.0, "rope_theta": 1e4}, "'yarn' of sliding"),
        ({"rope_type": "default", "rope_theta": 2e4}, "20000.0 of sliding layers"),
    ):
        config["rope_parameters"] = nested | {"sliding_attention": sliding}
        with pytest.raises(UserError, match=words):
            read_config(config)


def test_what_a_config_may_leave_out():
    bare = {
        "architectures": ["LlamaForCausalLM"],
        "vocab_size": 10,
        "hidden_size": 8,
        "intermediate_size": 12,
        "num_hidden_layers": 5,
        "num_attention_heads": 2,
    }
    family, config = read_config(bare)
    assert family == "llama"
    assert (config.kv_heads, config.head_width) == (2, 4)
    assert (config.rope_theta, config.norm_eps, config.tied) == (10_000.0, 1e-6, False)
    named = without(bare, "architectures") | {"model_type": "olmo3"}
    family, config = read_config(named | {"sliding_window": 4})
    assert family == "olmo3"
    # Three layers in four slide, and the fifth again.
    assert config.pattern == ("sliding",) * 3 + ("full",)
    assert (config.rope_theta, config.norm_eps) == (500_000.0, 1e-5)
    whole = named | {"layer_types": ["full_attention"] * 5, "sliding_window": 4}
    assert read_config(whole)[1].window is None
    with pytest.raises(UserError, match="2 layer_types of 5 layers"):
        read_config(named | {"layer_types": ["full_attention"] * 2})


@pytest.mark.parametrize("size", models.SIZES)
def test_every_named_size_comes_back_from_its_config(size):
    family, config = models.SIZES[size]
    assert read_config(write_config(family, config, "float32")) == (family, config)


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


def test_what_cannot_be_saved(tmp_path, monkeypatch):
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

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("routejax.models.weights.saving.write_file", full)
    with pytest.raises(UserError, match="No space left on device; free some space"):
        weights.save(tmp_path / "x", student, params)
    assert list(tmp_path.iterdir()) == []
