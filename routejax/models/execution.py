"""How a student is run, which changes memory and speed but not its answers.

Part of the `Student` record, so that a compiled step knows it; apart from the dtype no
field changes a number by more than rounding.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
from jaxtyping import Array

from routejax.errors import UserError

# Logical axes of activations, as `Execution.constrain` is handed them.
AXES = ("batch", "length", "width", "heads", "head", "mlp", "vocabulary")

_save = jax.checkpoint_policies

# What the backward pass keeps of a layer; the rest is computed again.
REMAT = {
    "none": None,  # everything is kept
    "full": _save.nothing_saveable,  # only the input of each layer
    "attention": _save.save_only_these_names("attention"),  # and attention's output
    "dots": _save.dots_with_no_batch_dims_saveable,  # and the output of every map
}

DTYPES = ("float32", "bfloat16")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Execution:
    """Hashable.

    Attributes:
        attention: a name of `attention.IMPLEMENTATIONS`, or "auto".
        remat: a name of `REMAT`.
        dtype: of activations, and of the parameters while a layer uses them; None is
            the parameters' own. Masters stay as they are.
        logit_chunk: tokens per row whose logits exist at one time in scoring.
        constrain: called on activations with the names of their axes, out of `AXES`;
            returns them placed on a mesh. It must be hashable, and equal where it does
            the same. None leaves them alone.
    """

    attention: str = "auto"
    remat: str = "none"
    dtype: str | None = None
    logit_chunk: int = 512
    constrain: Callable[[Array, tuple[str, ...]], Array] | None = None

    def placed(self, x: Array, axes: tuple[str, ...]) -> Array:
        """`x` as `constrain` places it."""
        return x if self.constrain is None else self.constrain(x, axes)

    def by_rows(self, function: Callable[..., Any], whole: Any, *rows: Any) -> Any:
        """`function(whole, *rows)`, every device at its own rows and the whole of it.

        Where `constrain` has a `by_rows`; then what a gradient sums over rows is summed
        over devices once, after a loop inside, and not in each of its turns.
        """
        divided = getattr(self.constrain, "by_rows", None)
        if divided is None:
            return function(whole, *rows)
        return divided(function, whole, *rows)


def require_known(execution: Execution, implementations: tuple[str, ...]) -> None:
    """Raises UserError for a name that is in no table, or a chunk below one."""
    known = {
        "attention": ("auto", *implementations),
        "remat": tuple(REMAT),
        "dtype": (None, *DTYPES),
    }
    for field, names in known.items():
        value = getattr(execution, field)
        if value not in names:
            listed = ", ".join(map(str, names))
            raise UserError(f"student.{field} must be one of {listed}, got {value!r}")
    if execution.logit_chunk < 1:
        raise UserError(
            f"student.logit_chunk must be at least 1, got {execution.logit_chunk}"
        )
