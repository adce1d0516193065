"""Axes from numbers, places from paths, and refusals before anything is compiled."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jax.sharding import PartitionSpec as P

from routejax import mesh
from routejax.errors import UserError

L, V, E, H, J, C, M = 4, 64, 32, 4, 2, 8, 48
HEADS = {"heads": H, "kv_heads": J}


def tree(family, vocabulary=V):
    """Shapes of a family's parameters."""

    def shaped(*shape):
        return jax.ShapeDtypeStruct(shape, jnp.float32)

    attention = {
        "query": {"kernel": shaped(L, E, H * C)},
        "key": {"kernel": shaped(L, E, J * C)},
        "value": {"kernel": shaped(L, E, J * C)},
        "out": {"kernel": shaped(L, H * C, E)},
    }
    widths = {"qwen3": (C, C), "olmo3": (H * C, J * C)}
    for name, width in zip(("query_norm", "key_norm"), widths.get(family, ())):  # noqa: B905
        attention[name] = {"scale": shaped(L, width)}
    blocks = {
        "attention": attention,
        "mlp": {
            "gate": {"kernel": shaped(L, E, M)},
            "up": {"kernel": shaped(L, E, M)},
            "down": {"kernel": shaped(L, M, E)},
        },
        "attention_norm": {"scale": shaped(L, E)},
        "mlp_norm": {"scale": shaped(L, E)},
    }
    return {
        "embedding": shaped(vocabulary, E),
        "blocks": blocks,
        "norm": {"scale": shaped(E)},
        "head": shaped(vocabulary, E),
    }


def made(**axes):
    return mesh.make_mesh(jax.devices()[:8], **axes)


def specs(family, layout, shapes=None):
    place = mesh.Placement(layout, family)
    found = place.shardings(shapes or tree(family))
    return {
        mesh.path_text(path): leaf.spec
        for path, leaf in jax.tree_util.tree_leaves_with_path(found)
    }


def test_the_rest_goes_to_the_axis_of_minus_one():
    assert mesh.sizes(8) == {"replica": 1, "data": 8, "fsdp": 1, "tensor": 1}
    assert mesh.sizes(64, replica=2, data=1, fsdp=-1, tensor=4)["fsdp"] == 8
    assert mesh.sizes(1)["data"] == 1


@pytest.mark.parametrize(
    ("axes", "said"),
    [
        ({"data": 3}, "data 3, fsdp 1, tensor 1 take 3 devices, there are 8"),
        ({"tensor": 3}, "take a multiple of 3 devices, there are 8"),
        ({"data": -1, "fsdp": -1}, "-1 for the rest on one of them"),
        ({"tensor": 0}, "at least 1"),
        ({"tensor": -2}, "at least 1"),
        ({"data": 16}, "take 16 devices, there are 8"),
    ],
)
def test_sizes_that_do_not_make_the_devices(axes, said):
    with pytest.raises(UserError, match=said):
        mesh.sizes(8, **axes)


@pytest.mark.parametrize("count", [-1, 0, 9])
def test_devices_are_counted_from_one(count):
    with pytest.raises(UserError, match=rf"in 1\.\.8 .* or None .*, got {count}"):
        mesh.first_devices(count)


def test_the_first_devices():
    assert mesh.first_devices(3) == jax.devices()[:3]
    assert mesh.first_devices(None) == jax.devices()


@given(
    st.sampled_from(mesh.MESH_AXES),
    st.lists(st.integers(1, 6), min_size=3, max_size=3),
    st.integers(1, 6),
)
def test_any_axis_can_take_the_rest(free, others, rest):
    names = [axis for axis in mesh.MESH_AXES if axis != free]
    axes = {"data": 1} | dict(zip(names, others, strict=True)) | {free: -1}
    devices = int(np.prod(others)) * rest
    found = mesh.sizes(devices, **axes)
    assert found[free] == rest
    assert np.prod(list(found.values())) == devices


def test_axes_are_left_to_the_compiler():
    """jax makes explicit axes unless told otherwise."""
    layout = made(data=2, fsdp=2, tensor=2)
    assert layout.axis_names == mesh.MESH_AXES
    assert {*layout.axis_types} == {jax.sharding.AxisType.Auto}
    assert layout.devices.shape == (1, 2, 2, 2)


def test_where_the_parameters_of_llama_lie():
    found = specs("llama", made(data=2, fsdp=2, tensor=2))
    assert found == {
        "embedding": P("tensor", "fsdp"),
        "head": P("tensor", "fsdp"),
        "norm/scale": P(None),
        "blocks/attention_norm/scale": P(None, None),
        "blocks/mlp_norm/scale": P(None, None),
        "blocks/attention/query/kernel": P(None, "fsdp", "tensor"),
        "blocks/attention/key/kernel": P(None, "fsdp", "tensor"),
        "blocks/attention/value/kernel": P(None, "fsdp", "tensor"),
        "blocks/attention/out/kernel": P(None, "tensor", "fsdp"),
        "blocks/mlp/gate/kernel": P(None, "fsdp", "tensor"),
        "blocks/mlp/up/kernel": P(None, "fsdp", "tensor"),
        "blocks/mlp/down/kernel": P(None, "tensor", "fsdp"),
    }


def test_what_the_other_families_add():
    layout = made(data=1, fsdp=4, tensor=2)
    qwen, olmo = specs("qwen3", layout), specs("olmo3", layout)
    assert qwen["blocks/attention/query_norm/scale"] == P(None, None)
    assert qwen["embedding"] == P("tensor", "fsdp")
    assert olmo["blocks/attention/query_norm/scale"] == P(None, "tensor")
    assert olmo["blocks/attention/key_norm/scale"] == P(None, "tensor")
    assert olmo["embedding"] == olmo["head"] == P(None, ("fsdp", "tensor"))


@pytest.mark.parametrize("family", mesh.RULES)
def test_every_parameter_has_a_rule(family):
    """A parameter without one would lie whole on every device."""
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree(family)):
        names = mesh.axes_of(family, mesh.path_text(path), len(leaf.shape))
        assert len(names) == len(leaf.shape), path


def test_an_axis_of_one_cuts_nothing():
    found = specs("llama", made(fsdp=8, data=1))
    assert found["embedding"] == P(None, "fsdp")
    assert {*specs("llama", made()).values()} == {
        P(None),
        P(None, None),
        P(*[None] * 3),
    }


def test_optimiser_state_lies_with_its_parameter():
    shapes = tree("olmo3")
    state = ({"mu": shapes, "nu": shapes}, {"count": jax.ShapeDtypeStruct((), int)})
    layout = made(data=2, fsdp=2, tensor=2)
    found, alone = specs("olmo3", layout, state), specs("olmo3", layout)
    assert found.pop("1/count") == P()
    assert found == {
        f"0/{part}/{path}": spec
        for part in ("mu", "nu")
        for path, spec in alone.items()
    }


def test_a_mesh_that_does_not_divide_is_refused_with_every_reason():
    with pytest.raises(UserError) as refused:
        mesh.require_divides(
            {"replica": 1, "data": 1, "fsdp": 3, "tensor": 4},
            "llama",
            tree("llama", vocabulary=66),
            **HEADS,
        )
    said = str(refused.value)
    assert "the mesh replica=1,data=1,fsdp=3,tensor=4 does not divide" in said
    assert "kv_heads 2 is no multiple of tensor 4" in said
    assert "embedding has 66 vocabulary, no multiple of tensor 4" in said
    assert "embedding has 32 width, no multiple of fsdp 3" in said
    assert "\n" not in said
    assert " heads 4 is no" not in said


def test_a_mesh_that_divides_is_let_through():
    shape = {"replica": 1, "data": 3, "fsdp": 4, "tensor": 2}
    for family in mesh.RULES:
        mesh.require_divides(shape, family, tree(family), **HEADS)


def test_an_odd_vocabulary_hinders_all_but_olmo():
    shape = {"replica": 1, "data": 1, "fsdp": 1, "tensor": 2}
    mesh.require_divides(shape, "olmo3", tree("olmo3", vocabulary=65), **HEADS)
    with pytest.raises(UserError, match="65 vocabulary"):
        mesh.require_divides(shape, "llama", tree("llama", vocabulary=65), **HEADS)


def test_rows_are_divided_and_numbers_kept():
    layout = made(data=2, fsdp=2, tensor=2)
    rows = np.arange(24.0).reshape(8, 3)
    placed = mesh.Placement(layout, "llama").rows({"x": rows, "n": np.float32(7)})
    np.testing.assert_array_equal(placed["x"], rows)
    shards = {shard.data.shape for shard in placed["x"].addressable_shards}
    assert shards == {(2, 3)}
    assert placed["n"].sharding.spec == P()
    assert float(placed["n"]) == 7


def test_rows_that_do_not_divide():
    with pytest.raises(UserError, match="6 rows does not divide by the 4 parts"):
        mesh.Placement(made(data=4, tensor=2), "llama").rows(np.zeros((6, 2)))


def test_created_parameters_are_never_whole():
    layout = made(data=1, fsdp=4, tensor=2)

    def make(size):
        return jax.tree.map(lambda s: jnp.full(s.shape, size, s.dtype), tree("llama"))

    place = mesh.Placement(layout, "llama")
    found = place.create(make, 3.0)
    kernel = found["blocks"]["mlp"]["up"]["kernel"]
    assert kernel.sharding.spec == P(None, "fsdp", "tensor")
    assert kernel.addressable_shards[0].data.shape == (L, E // 4, M // 2)
    np.testing.assert_array_equal(kernel, 3.0)
    back = place.put(jax.tree.map(np.asarray, found))
    assert back["embedding"].sharding.spec == P("tensor", "fsdp")


def test_a_slice_of_a_pod_is_a_replica():
    """Devices that say which slice they are in are put together by it."""

    class Chip:
        platform, device_kind, process_index = "fake", "fake", 0

        def __init__(self, number):
            self.id, self.slice_index = number, number % 2

    grid = mesh._grid([Chip(n) for n in range(8)], (2, 2, 1, 2))
    slices = np.vectorize(lambda chip: chip.slice_index)(grid)
    assert grid.shape == (2, 2, 1, 2)
    assert {*slices[0].flat} == {0}
    assert {*slices[1].flat} == {1}


@pytest.mark.parametrize("manual", [False, True])
def test_activations_are_held(manual):
    """With a mesh entered or without, and inside a part that is divided by hand."""
    layout = made(data=2, fsdp=2, tensor=2)
    hold = mesh.Activations(layout, "llama")

    def doubled(x):
        return hold(2 * x, ("batch", "length", "heads"))

    inner = doubled
    if manual:
        inner = jax.shard_map(
            doubled,
            mesh=layout,
            in_specs=P(mesh.BATCH),
            out_specs=P(mesh.BATCH),
            axis_names={*mesh.BATCH},
            check_vma=False,
        )
    x = np.ones((8, 3, 4), np.float32)
    found = jax.jit(inner)(x).sharding.spec
    assert found[0] == ("data", "fsdp")
    assert found[2] == "tensor"
    with mesh.entered(layout):
        assert jax.jit(inner)(x).sharding.spec == found


def test_an_axis_that_does_not_divide_stays_whole():
    hold = mesh.Activations(made(data=2, fsdp=2, tensor=2), "llama")
    spec = jax.jit(lambda x: hold(x, ("batch", "vocabulary")))(np.ones((4, 3))).sharding
    assert spec.is_equivalent_to(
        jax.sharding.NamedSharding(hold.mesh, P(("data", "fsdp"), None)), 2
    )


def test_equal_meshes_make_equal_holders():
    """So that a compiled step is found again."""
    assert hash(mesh.Activations(made(), "llama")) == hash(
        mesh.Activations(made(), "llama")
    )
    assert mesh.Placement(made(), "llama") == mesh.Placement(made(), "llama")


def test_one_device_has_no_mesh():
    alone = mesh.make_mesh(jax.devices()[:1])
    with mesh.entered(alone), mesh.entered(None):
        assert jax.sharding.get_abstract_mesh().empty
