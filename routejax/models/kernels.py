"""Attention by the accelerators' own kernels: cuDNN on GPUs, splash on TPUs.

Both know causality and windows by column, so a segment's positions must rise by one
from column to column, as `Places` promises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec
from jaxtyping import Array, Float, Int

from routejax.models.places import Places, sight

CHUNK = 4096  # queries per call of cuDNN: their mask is an array of pairs
LANES = 128  # splash works in tiles of so many columns

_HEADS = ("batch", "heads", "length", "head")


def refused_by_cudnn(queries: Float[Array, "B H T C"]) -> str | None:
    """Why cuDNN cannot take these queries, or None."""
    width = queries.shape[-1]
    if queries.dtype not in (jnp.bfloat16, jnp.float16):
        return f"takes bfloat16 or float16, got {queries.dtype}; set student.dtype"
    if width % 8 or width > 128:
        return f"takes heads of a width up to 128 divisible by 8, got {width}"
    return None


def refused_by_splash(queries: Float[Array, "B H T C"]) -> str | None:
    """Why splash attention cannot take these queries, or None."""
    length = queries.shape[2]
    if length % LANES:
        return f"takes rows of a multiple of {LANES} tokens, got {length}"
    return None


def cudnn(
    queries: Float[Array, "B H T C"],
    keys: Float[Array, "B J T C"],
    values: Float[Array, "B J T C"],
    places: Places,
    window: int | None,
    *,
    chunk: int = CHUNK,
    implementation: Any = "cudnn",
) -> Float[Array, "B H T C"]:
    """`jax.nn.dot_product_attention` over chunks of queries.

    It takes packed rows by a mask of pairs, so a chunk's queries go together, against
    the columns any of them may see: the mask is [B 1 chunk T] at most.
    """
    length, out = queries.shape[2], []
    for start in range(0, length, chunk):
        stop = min(start + chunk, length)
        first = 0 if window is None else max(0, start - window + 1)
        mine, seen = slice(start, stop), slice(first, stop)
        mask = sight(
            Places(*(part[:, mine] for part in places)),
            Places(*(part[:, seen] for part in places)),
            window,
        )
        found = jax.nn.dot_product_attention(
            queries[:, :, mine].swapaxes(1, 2),
            keys[:, :, seen].swapaxes(1, 2),
            values[:, :, seen].swapaxes(1, 2),
            mask=mask[:, None],
            implementation=implementation,
        )
        out.append(found.swapaxes(1, 2))
    return jnp.concatenate(out, axis=2)


def splash(
    queries: Float[Array, "B H T C"],
    keys: Float[Array, "B J T C"],
    values: Float[Array, "B J T C"],
    segments: Int[Array, "B T"],
    window: int | None,
    constrain: Any = None,
    *,
    interpret: bool = False,
) -> Float[Array, "B H T C"]:
    """The Pallas kernel of jax for TPUs, one call per row and key/value head.

    On a mesh every device runs it on its own rows and heads; `constrain.spec` says
    which those are. `interpret` runs it slowly anywhere, for tests.
    """

    def local(queries, keys, values, segments):
        return _splash(queries, keys, values, segments, window, interpret)

    if constrain is None:
        return local(queries, keys, values, segments)
    here = jax.sharding.get_abstract_mesh()
    left = {*constrain.mesh.axis_names} - {*here.manual_axes}
    if not left:  # everything is divided by hand already
        return local(queries, keys, values, segments)
    heads = [constrain.spec(x.shape, _HEADS) for x in (queries, keys, values)]
    rows = PartitionSpec(*heads[0][:1])
    spread: Callable[..., Array] = jax.shard_map(
        local,
        mesh=constrain.mesh if here.empty else None,
        in_specs=(*heads, rows),
        out_specs=heads[0],
        axis_names=left,
        check_vma=False,
    )
    return spread(queries, keys, values, segments)


def _splash(queries, keys, values, segments, window, interpret):
    # Imported here: the module is experimental and only TPUs have a use for it.
    from jax.experimental.pallas.ops.tpu.splash_attention import (  # noqa: PLC0415
        splash_attention_kernel as kernel,
    )
    from jax.experimental.pallas.ops.tpu.splash_attention import (  # noqa: PLC0415
        splash_attention_mask as masks,
    )

    batch, heads, length, width = queries.shape
    groups = keys.shape[1]
    shape = (length, length)
    mask = masks.CausalMask(shape)
    if window is not None:
        mask = masks.LocalMask(shape, (window - 1, 0), 0)
    size = next(n for n in (512, 256, LANES) if length % n == 0)
    names = ("q", "kv", "kv_compute", "q_dkv", "kv_dkv", "kv_dkv_compute")
    names += ("q_dq", "kv_dq")
    blocks: Any = {f"block_{name}": size for name in names}
    attend: Any = kernel.make_splash_mqa_single_device(
        masks.MultiHeadMask([mask] * (heads // groups)),
        block_sizes=kernel.BlockSizes(**blocks),
        residual_checkpoint_name="attention",
        interpret=interpret,
    )

    def row(queries, keys, values, segments):
        pair = kernel.SegmentIds(segments, segments)
        of_group = jax.vmap(lambda q, k, v: attend(q, k, v, pair))
        return of_group(queries, keys, values)

    grouped = (queries * width**-0.5).reshape(batch, groups, -1, length, width)
    found = jax.vmap(row)(grouped, keys, values, segments)
    return found.reshape(queries.shape)
