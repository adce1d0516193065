"""The two numbers of every column: which is which can be seen where they are known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from routejax import models
from routejax.errors import UserError
from routejax.models.places import Places, require_not_swapped

RIGHT = {
    "one example": ([[1, 1, 1]], [[0, 1, 2]]),
    "two examples and a rest": ([[1, 1, 2, 2, 0]], [[0, 1, 0, 1, 0]]),
    "padding that stands anywhere": ([[0, 0, 1, 1]], [[90, 90, 0, 1]]),
    "examples of one column": ([[1, 2, 3]], [[0, 0, 0]]),
    "one column of a decoding": ([[1], [1]], [[7], [3]]),
}


@pytest.mark.parametrize("case", RIGHT)
def test_places_as_they_are_meant(case):
    segments, positions = map(np.array, RIGHT[case])
    require_not_swapped(Places(segments=segments, positions=positions))


@pytest.mark.parametrize("case", list(RIGHT)[:2])
def test_swapped_places_are_refused_by_forward(case):
    student = models.create(
        "qwen3",
        **{"vocabulary": 9, "width": 8, "layers": 1, "heads": 2, "kv_heads": 1},
        **{"head_width": 4, "mlp_width": 8},
    )
    segments, positions = map(jnp.array, RIGHT[case])
    tokens, params = jnp.ones_like(segments), student.init(0)
    student.forward(params, tokens, Places(segments, positions))
    swapped = Places(positions, segments)
    with pytest.raises(UserError, match=r"look swapped. Write Places\(segments=…"):
        student.forward(params, tokens, swapped)
    jax.jit(student.forward)(params, tokens, swapped)  # nothing to look at in there
