"""Sampling divided over a mesh: every part of the rows decodes its own requests.

No part waits for another: each has its own loop, its own slots and its own prompts, and
a sample does not depend on which requests it was batched with, so the answers are those
of one device. Only the tensor axis works together inside a part. Parameters are held
whole by every part (divided over its tensor axis), because gathering them for every
token would take longer than the token. Where they do not fit, make `tensor` larger.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from routejax.mesh import BATCH, batch_parts
from routejax.models import Params, Student
from routejax.models.decoder import cast
from routejax.sampler import STATIC, Queue, Samples, sample


class Divided(NamedTuple):
    """A queue of equal parts: the first axis of every array is parts · its own."""

    queue: Queue  # `owner` counts within a part
    total: int  # requests; those after them repeat the last one


def sample_over(
    mesh: Mesh | None,
    student: Student,
    params: Params,
    queue: Queue,
    *,
    slots: int,
    refill_at: int,
    **settings: Any,
) -> Samples:
    """`sampler.sample` over the mesh; `slots` and `refill_at` count all parts.

    `steps` of the result are those of the part that took most. Every process gives the
    whole queue and gets all samples.
    """
    parts = 1 if mesh is None else batch_parts(mesh)
    if mesh is None or mesh.size == 1:
        return sample(
            student, params, queue, slots=slots, refill_at=refill_at, **settings
        )
    divided = divide(queue, parts)
    ours = len(divided.queue.owner) // parts
    found = sampled(
        mesh,
        student,
        params,
        divided.queue,
        slots=min(ours, -(-slots // parts)),
        refill_at=max(1, refill_at // parts),
        **settings,
    )
    # Read before anything else is asked of the devices: on CPU, work that waits for
    # these loops would hold the threads that their collectives need.
    tokens, logps, lengths, steps = map(np.asarray, found)
    rows = (jnp.asarray(x[: divided.total]) for x in (tokens, logps, lengths))
    return Samples(*rows, steps=jnp.asarray(steps.max()))


def divide(queue: Queue, parts: int) -> Divided:
    """The queue in `parts` of equally many requests, in order.

    Every part gets the prompts that its requests point to. Where the requests do not
    divide, the last one is asked again to fill up.
    """
    owner, keys = np.asarray(queue.owner), np.asarray(queue.keys)
    prompts, lengths = np.asarray(queue.prompts), np.asarray(queue.prompt_lengths)
    total = len(owner)
    ours = -(-total // parts)
    places = np.minimum(np.arange(ours * parts), total - 1).reshape(parts, ours)
    wanted = [np.unique(owner[place]) for place in places]
    most = max(map(len, wanted))
    # Parts with fewer prompts repeat their last one, which nothing points to.
    table = np.stack([np.pad(w, (0, most - len(w)), "edge") for w in wanted])
    own = [np.searchsorted(w, owner[p]) for w, p in zip(wanted, places, strict=True)]
    arrays: dict[str, Any] = {
        "prompts": prompts[table.ravel()],
        "prompt_lengths": lengths[table.ravel()],
        "owner": np.concatenate(own).astype(np.int32),
        "keys": keys[places.ravel()],
    }
    return Divided(Queue(**arrays), total)


@functools.partial(jax.jit, static_argnames=("mesh", *STATIC))
def sampled(
    mesh: Mesh,
    student: Student,
    params: Params,
    queue: Queue,
    *,
    temperature: Any,
    **settings: Any,
) -> Samples:
    """Samples of all parts in order, and `steps` of each."""

    def ours(params: Params, queue: Queue, temperature: Any) -> Samples:
        found = sample(student, params, queue, temperature=temperature, **settings)
        return found._replace(steps=found.steps[None])

    rows, whole = PartitionSpec(BATCH), PartitionSpec()
    found = jax.shard_map(
        ours,
        mesh=mesh,
        in_specs=(whole, rows, whole),
        out_specs=rows,
        axis_names={*BATCH},
        check_vma=False,
    )(cast(params, student.execution), queue, jnp.asarray(temperature, jnp.float32))
    return jax.lax.with_sharding_constraint(found, NamedSharding(mesh, whole))
