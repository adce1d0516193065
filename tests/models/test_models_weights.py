"""Checkpoints in and out: every value at its place."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import parity_folders
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from parity_folders import same
from safetensors.numpy import load_file

from routejax import mesh
from routejax.models import weights
from routejax.models.weights.keys import shapes

FOLDER = parity_folders.FOLDER


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
        said = json.loads(index.read_text())
        assert said["weight_map"].keys() == held.keys()
        total = sum(tensor.nbytes for tensor in held.values())
        assert said["metadata"] == {"total_size": total}
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
