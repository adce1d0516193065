"""Devices in a mesh, and where parameters, optimiser state and batches lie on it.

Four axes, always all four, most of them of size one:

    replica  copies of everything, one per slice; only gradients cross the slow network
    data     copies of the parameters; rows are divided
    fsdp     parameters, gradients and optimiser state are divided, and so are rows
    tensor   heads, MLP width and vocabulary (OLMo 3: width) are divided; rows are not

A parameter's path gives the names of its axes, the names give mesh axes: one table per
family, and optimiser state follows the parameter whose path it ends in. All axes have
type Auto, the compiler inserts the collectives. On one device there is no mesh at all
and nothing here has an effect. Left out: sequences divided over devices, pipelines.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import jax
import numpy as np
from jax.experimental import mesh_utils
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from routejax.errors import UserError

MESH_AXES = ("replica", "data", "fsdp", "tensor")
BATCH = ("replica", "data", "fsdp")  # what rows are divided over

# Mesh axes of an activation's axes; what is not named here is whole on every device.
ACTIVATIONS: dict[str, tuple[str, ...]] = {
    "batch": BATCH,
    "heads": ("tensor",),
    "mlp": ("tensor",),
    "vocabulary": ("tensor",),
}
# Mesh axes of a parameter's axes; an axis that is not here is whole on every device.
AXES: dict[str, tuple[str, ...]] = {
    "width": ("fsdp",),
    "heads": ("tensor",),
    "kv_heads": ("tensor",),
    "mlp": ("tensor",),
    "vocabulary": ("tensor",),
    "width over all": ("fsdp", "tensor"),
}

_BLOCKS = (
    ("attention/query/kernel", ("layers", "width", "heads")),
    ("attention/(key|value)/kernel", ("layers", "width", "kv_heads")),
    ("attention/out/kernel", ("layers", "heads", "width")),
    ("mlp/(gate|up)/kernel", ("layers", "width", "mlp")),
    ("mlp/down/kernel", ("layers", "mlp", "width")),
    ("(attention|mlp)_norm/scale", ("layers", "whole")),
    ("norm/scale", ("whole",)),
)
_VOCABULARY = (("embedding|head", ("vocabulary", "width")),)
# 100,278 tokens divide by no tensor axis above 2, so OLMo 3 cuts the width instead.
WHOLE_VOCABULARY = ("olmo3",)
_WHOLE_VOCABULARY = (("embedding|head", ("whole", "width over all")),)

# First match wins; a pattern is a whole path or the end of one after a slash.
RULES: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "llama": (*_VOCABULARY, *_BLOCKS),
    "qwen3": (
        *_VOCABULARY,
        ("(query|key)_norm/scale", ("layers", "whole")),  # one head wide
        *_BLOCKS,
    ),
    "olmo3": (
        *_WHOLE_VOCABULARY,
        ("query_norm/scale", ("layers", "heads")),  # as wide as all heads
        ("key_norm/scale", ("layers", "kv_heads")),
        *_BLOCKS,
    ),
}


def sizes(
    devices: int, *, replica: int = 1, data: int = -1, fsdp: int = 1, tensor: int = 1
) -> dict[str, int]:
    """Size of every axis; −1, at most once, is what the others leave of `devices`.

    Raises:
        UserError: the product is not the number of devices.
    """
    asked = dict(replica=replica, data=data, fsdp=fsdp, tensor=tensor)
    text = ", ".join(f"{axis} {size}" for axis, size in asked.items())
    free = [axis for axis, size in asked.items() if size == -1]
    if len(free) > 1 or any(size < 1 and size != -1 for size in asked.values()):
        raise UserError(
            "mesh: every axis must be at least 1, or -1 for the rest on one of them; "
            f"got {text}"
        )
    known = math.prod(size for size in asked.values() if size != -1)
    if free and devices % known == 0:
        asked[free[0]] = devices // known
    elif free or known != devices:
        raise UserError(
            f"mesh: {text} take {'a multiple of ' if free else ''}{known} devices, "
            f"there are {devices}; set one axis to -1 to take what is left"
        )
    return asked


def first_devices(count: int | None) -> list[Any]:
    """The first so many devices, or all.

    Raises:
        UserError: there are fewer, or none is asked for.
    """
    found = jax.devices()
    if count is not None and not 1 <= count <= len(found):
        raise UserError(
            f"mesh.devices must be in 1..{len(found)} (devices there are), or None "
            f"for all, got {count}"
        )
    return found[:count]


def make_mesh(devices: list[Any] | None = None, **axes: int) -> Mesh:
    """The mesh of all devices, or of those given; `axes` as in `sizes`.

    The replica axis goes over slices of a pod where there are several.

    Raises:
        UserError: as `sizes`.
    """
    found = jax.devices() if devices is None else devices
    shape = sizes(len(found), **axes)
    grid = _grid(found, tuple(shape.values()))
    return Mesh(grid, MESH_AXES, axis_types=(AxisType.Auto,) * len(MESH_AXES))


def _grid(devices: list[Any], shape: tuple[int, ...]) -> np.ndarray:
    """Devices in the mesh's shape; neighbours on the network are neighbours in it."""
    slices = {getattr(device, "slice_index", 0) for device in devices}
    if len(slices) > 1 and shape[0] % len(slices) == 0:
        inner = (shape[0] // len(slices), *shape[1:])
        outer = (len(slices), 1, 1, 1)
        return mesh_utils.create_hybrid_device_mesh(inner, outer, devices=devices)
    if devices[0].platform == "tpu":
        return mesh_utils.create_device_mesh(shape, devices=devices)
    return np.array(devices).reshape(shape)


def entered(mesh: Mesh | None) -> contextlib.AbstractContextManager[Any]:
    """The mesh as that of everything compiled inside; one device needs none."""
    if mesh is None or mesh.size == 1:
        return contextlib.nullcontext()
    return jax.set_mesh(mesh)


def batch_parts(mesh: Mesh) -> int:
    """Parts that rows are divided into."""
    return math.prod(mesh.shape[axis] for axis in BATCH)


def path_text(path: tuple[Any, ...]) -> str:
    """Keys, attributes and indices of a leaf's path, joined by slashes."""
    names = (getattr(k, "key", getattr(k, "name", getattr(k, "idx", k))) for k in path)
    return "/".join(map(str, names))


@functools.cache
def axes_of(family: str, path: str, rank: int) -> tuple[str, ...]:
    """Names of a leaf's axes, or nothing for one that is no parameter (a counter).

    Raises:
        KeyError: the family has no rules.
    """
    for pattern, names in RULES[family]:
        if len(names) == rank and re.search(f"(^|/)({pattern})$", path):
            return names
    return ()


@dataclasses.dataclass(frozen=True)
class Activations:
    """Holds activations to their places at the borders of blocks.

    Called on an array with the names of its axes, as `models` does. Inside `shard_map`
    the axes that are divided by hand are left out. An axis that its mesh axes do not
    divide is left whole, such as a single row.
    """

    mesh: Mesh
    family: str

    def __call__(self, x: Any, names: tuple[str, ...]) -> Any:
        spec = self.spec(x.shape, names)
        here = jax.sharding.get_abstract_mesh()
        place = NamedSharding(self.mesh, spec) if here.empty else spec
        return jax.lax.with_sharding_constraint(x, place)

    def spec(self, shape: tuple[int, ...], names: tuple[str, ...]) -> PartitionSpec:
        """Mesh axes of an activation of this shape, those divided by hand left out."""
        here = jax.sharding.get_abstract_mesh()
        manual = () if here.empty else here.manual_axes
        cuts = [
            _cut(self.mesh, length, self._axes(name), manual)
            for length, name in zip(shape, names, strict=True)
        ]
        return PartitionSpec(*cuts)

    def _axes(self, name: str) -> tuple[str, ...]:
        whole = name == "vocabulary" and self.family in WHOLE_VOCABULARY
        return () if whole else ACTIVATIONS.get(name, ())

    def by_rows(self, function: Callable[..., Any], whole: Any, *rows: Any) -> Any:
        """`function(whole, *rows)` with the rows divided by hand over the batch axes.

        `whole` is gathered once before, and its gradient summed over devices once
        after, whatever loops are inside. Results have rows first.
        """
        here = jax.sharding.get_abstract_mesh()
        parts = batch_parts(self.mesh)
        inside = not here.empty and {*here.manual_axes} & {*BATCH}
        if parts == 1 or inside or rows[0].shape[0] % parts:
            return function(whole, *rows)
        own = PartitionSpec(BATCH)
        return jax.shard_map(
            function,
            mesh=self.mesh,
            in_specs=(PartitionSpec(), *(own,) * len(rows)),
            out_specs=own,
            axis_names={*BATCH},
            check_vma=False,
        )(whole, *rows)


def _cut(mesh: Mesh, length: int, axes: tuple[str, ...], manual: Any) -> Any:
    used = tuple(a for a in axes if mesh.shape[a] > 1 and a not in manual)
    parts = math.prod(mesh.shape[a] for a in used)
    return used if used and length % parts == 0 else None


@dataclasses.dataclass(frozen=True)
class Placement:
    """Where a family's parameters lie; hashable, so it can be a static argument."""

    mesh: Mesh
    family: str

    def __call__(self, tree: Any) -> Any:
        """The tree with every leaf held to its place; for use inside jit."""
        return jax.tree.map(
            jax.lax.with_sharding_constraint, tree, self.shardings(tree)
        )

    def shardings(self, tree: Any) -> Any:
        """A sharding per leaf; leaves need only a shape."""

        def find(path: tuple[Any, ...], leaf: Any) -> NamedSharding:
            spec = self.spec(path_text(path), len(leaf.shape))
            return NamedSharding(self.mesh, spec)

        return jax.tree_util.tree_map_with_path(find, tree)

    def spec(self, path: str, rank: int) -> PartitionSpec:
        names = axes_of(self.family, path, rank)
        cuts = [
            tuple(axis for axis in AXES.get(name, ()) if self.mesh.shape[axis] > 1)
            for name in names
        ]
        return PartitionSpec(*(cut or None for cut in cuts))

    def put(self, tree: Any) -> Any:
        """Host or device arrays, moved to their places."""
        return jax.tree.map(jax.device_put, tree, self.shardings(tree))

    def create(self, make: Callable[..., Any], *args: Any) -> Any:
        """What `make` returns, every leaf made where it belongs, never whole."""
        shape = jax.eval_shape(make, *args)
        return jax.jit(make, out_shardings=self.shardings(shape))(*args)

    def abstract(self, tree: Any) -> Any:
        """Shapes with their places: for restoring, and for compiling without data."""
        return jax.tree.map(
            lambda leaf, place: jax.ShapeDtypeStruct(
                leaf.shape, leaf.dtype, sharding=place
            ),
            tree,
            self.shardings(tree),
        )

    def rows(self, batch: Any) -> Any:
        """A batch of host arrays, its rows divided over the mesh.

        Every process gives the whole batch and keeps the rows of its own devices.

        Raises:
            UserError: the rows do not divide.
        """
        return jax.tree.map(functools.partial(_divided, self.mesh), batch)


def gathered(mesh: Mesh, tree: Any) -> Any:
    """Host arrays of a tree that is divided, in every process."""
    whole = NamedSharding(mesh, PartitionSpec())
    return jax.tree.map(np.asarray, jax.jit(lambda x: x, out_shardings=whole)(tree))


def _divided(mesh: Mesh, rows: Any) -> Any:
    """One array of a batch; its first axis is cut, scalars are whole everywhere."""
    parts = batch_parts(mesh)
    if isinstance(rows, jax.Array) and not rows.is_fully_addressable:
        return jax.device_put(rows, NamedSharding(mesh, PartitionSpec(BATCH)))
    host = np.asarray(rows)
    if host.ndim and host.shape[0] % parts:
        raise UserError(
            f"a batch of {host.shape[0]} rows does not divide by the {parts} parts of "
            "the mesh (replica x data x fsdp); set row_multiple to a multiple of it"
        )
    spec = PartitionSpec(BATCH) if host.ndim else PartitionSpec()
    place = NamedSharding(mesh, spec)
    return jax.make_array_from_process_local_data(place, host, host.shape)


def cache_spec() -> PartitionSpec:
    """Of keys and values [L B J S C] or of one layer [B J S C], from the right."""
    return PartitionSpec(BATCH, "tensor", None, None)


def require_divides(
    mesh: Mesh | Mapping[str, int],
    family: str,
    params: Any,
    **counts: int,
) -> None:
    """Refuses a mesh before anything is compiled.

    Args:
        params: the parameter tree; shapes suffice.
        counts: numbers that the tensor axis must divide, such as `heads` and
            `kv_heads`, by their names.

    Raises:
        UserError: every number that does not divide.
    """
    shape = dict(mesh.shape if isinstance(mesh, Mesh) else mesh)
    wrong = [
        *_uneven_counts(shape["tensor"], counts),
        *_uneven(shape, family, params, counts),
    ]
    if wrong:
        raise UserError(
            f"the mesh {_text(shape)} does not divide the student: "
            + "; ".join(wrong)
            + ". Choose sizes that divide them, or 1"
        )


def _uneven_counts(tensor: int, counts: Mapping[str, int]) -> Iterator[str]:
    for name, count in counts.items():
        if count % tensor:
            yield f"{name} {count} is no multiple of tensor {tensor}"


def _uneven(
    shape: Mapping[str, int], family: str, params: Any, counted: Collection[str]
) -> Iterator[str]:
    """Each uneven number once, by one tensor; axes that are counted apart not."""
    found: dict[tuple[str, int], list[str]] = {}
    for path, leaf in jax.tree_util.tree_leaves_with_path(params):
        where = path_text(path)
        names = axes_of(family, where, len(leaf.shape))
        for name, length in zip(names, leaf.shape, strict=False):
            parts = math.prod(shape[axis] for axis in AXES.get(name, ()))
            if name not in counted and length % parts:
                found.setdefault((name, length), []).append(where)
    for (name, length), paths in found.items():
        first = min(paths, key=lambda path: path.count("/"))
        cuts = (f"{axis} {shape[axis]}" for axis in AXES[name] if shape[axis] > 1)
        more = f", nor in {len(paths) - 1} more" if len(paths) > 1 else ""
        kind = name.removesuffix(" over all")
        yield f"{first} has {length} {kind}, no multiple of {' x '.join(cuts)}{more}"


def _text(shape: Mapping[str, int]) -> str:
    return ",".join(f"{axis}={size}" for axis, size in shape.items())
