"""One of several processes that take a step together: NUMBER COUNT PORT FILE.

The first process writes what came out to FILE.
"""

import sys

import jax
import numpy as np


def main(number, count, port, file):
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_num_cpu_devices", 2)
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(
        f"127.0.0.1:{port}", num_processes=count, process_id=number
    )
    # After the processes know of each other: these make arrays when imported.
    from mesh_cases import SAMPLING, params, queue, spread_step, tiny  # noqa: PLC0415

    from routejax import mesh, spread  # noqa: PLC0415
    from routejax.stages.run import on_mesh  # noqa: PLC0415

    over = mesh.make_mesh(fsdp=2, data=-1)
    assert over.size == 2 * count
    with mesh.entered(over):
        state, metrics, _ = spread_step("llama", "sft", over)
        place = mesh.Placement(over, "llama")
        start = place.put(params(tiny("llama")))
        samples = spread.sample_over(
            over,
            on_mesh(tiny("llama"), over),
            start,
            queue(),
            temperature=1.0,
            **SAMPLING,
        )
        whole = mesh.gathered(over, state.params)
    if number == 0:
        leaves = {f"p{i}": x for i, x in enumerate(jax.tree.leaves(whole))}
        numbers = {name: np.asarray(value) for name, value in metrics.items()}
        np.savez(file, tokens=samples.tokens, **leaves, **numbers)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
