"""What only an accelerator can tell: bfloat16, cuDNN attention, and how fast a step is.

    bash launch/gpu_check.sh [--dry] [--json]

Three checks, each a line; the exit status is 1 if one fails.

    parity      logits of the small checkpoints in tests/models in bfloat16, against
                those of transformers in float32
    attention   outputs and slopes of cuDNN's kernel against the reference in float32,
                packed rows, with and without a window
    step        one SFT step of a Qwen3 of 1.09 billion parameters, 8 rows of 4,096
                tokens: seconds, tokens a second, model FLOP utilisation

`--dry` is for a machine without a GPU: one check of each kind, attention in blocks in
place of cuDNN's, tiny sizes, no utilisation. FLOPs are those of `stages.plan_counts`:
without what the backward pass does a second time.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from routejax import models, sft, update
from routejax.models import Places
from routejax.models.attention import IMPLEMENTATIONS
from routejax.models.weights import load
from routejax.packing import Example
from routejax.stages import plan_counts as counts

FIXTURES = Path(__file__).parent.parent / "models" / "fixtures"
# Peaks in 10¹² operations a second, bfloat16 without sparsity, by part of the name.
PEAKS = {"H200": 989, "H100": 989, "A100": 312, "L40S": 362, "L4": 121, "B200": 2250}

BILLION = {
    "vocabulary": 151_936,
    "width": 1536,
    "layers": 28,
    "heads": 16,
    "kv_heads": 8,
    "head_width": 128,
    "mlp_width": 4608,
    "rope_theta": 1e6,
    "remat": "full",
    "dtype": "bfloat16",
}
TINY = BILLION | {
    "vocabulary": 512,
    "width": 64,
    "layers": 2,
    "heads": 4,
    "kv_heads": 2,
    "head_width": 16,
    "mlp_width": 128,
}


@dataclasses.dataclass(frozen=True)
class Check:
    name: str
    passed: bool
    said: str
    figures: dict[str, float]


def parity(name: str) -> Check:
    """Logits are about ±3; four layers in bfloat16 err by a few hundredths.

    Where the reference's first choice leads by more than 0.2 it must be ours too.
    """
    student, params = load(FIXTURES / name, dtype="float32")
    ways = dataclasses.replace(student.execution, dtype="bfloat16", attention="plain")
    student = dataclasses.replace(student, execution=ways)
    with np.load(FIXTURES / name / "logits.npz") as held:
        tokens, wanted = held["tokens"], held["logits"]
    places = Places(
        jnp.ones(tokens.shape, jnp.int32),
        jnp.broadcast_to(jnp.arange(tokens.shape[1]), tokens.shape),
    )

    @jax.jit
    def logits(params):
        hidden, _ = student.forward(params, jnp.asarray(tokens), places)
        return student.logits(params, hidden)

    found = np.asarray(logits(params))
    gap = np.abs(found - wanted)
    second, first = np.sort(wanted, -1)[..., -2:].transpose(2, 0, 1)
    clear = first - second > 0.2
    same = found.argmax(-1)[clear] == wanted.argmax(-1)[clear]
    passed = bool(gap.max() < 0.15 and gap.mean() < 0.02 and same.all())
    said = f"largest gap {gap.max():.4f}, mean {gap.mean():.5f}"
    figures = {"largest": float(gap.max()), "mean": float(gap.mean())}
    return Check(f"parity {name}", passed, said, figures)


def attention(dry: bool, window: int | None) -> Check:
    """Relative to the largest entry of each array."""
    way, length = ("blockwise", 600) if dry else ("cudnn", 4096)
    batch, heads, kv_heads, width = (1, 2, 1, 16) if dry else (2, 16, 8, 128)
    keys = jax.random.split(jax.random.key(0), 4)
    shapes = [(batch, n, length, width) for n in (heads, kv_heads, kv_heads, heads)]
    q, k, v, slope = (
        jax.random.normal(key, shape, jnp.bfloat16)
        for key, shape in zip(keys, shapes, strict=True)
    )
    # Two examples in a row and some padding at its end.
    cut, end = length // 3, length - length // 16
    columns = np.arange(length)
    segments = np.where(columns < cut, 1, np.where(columns < end, 2, 0))
    positions = np.where(columns < cut, columns, columns - cut)
    places = Places(
        *(jnp.asarray(np.tile(x, (batch, 1)), jnp.int32) for x in (segments, positions))
    )
    real = jnp.asarray(segments > 0)[:, None]

    def run(name, *arrays):
        def total(q, k, v):
            out = IMPLEMENTATIONS[name](q, k, v, places, window, None)
            out = jnp.where(real, out, 0)
            return jnp.sum(out.astype(jnp.float32) * slope), out

        found, out = jax.jit(jax.grad(total, (0, 1, 2), has_aux=True))(*arrays)
        return [np.asarray(x, np.float32) for x in (out, *found)]

    found = run(way, q, k, v)
    with jax.default_matmul_precision("highest"):  # not in the GPU's shorter floats
        wanted = run("plain", *(x.astype(jnp.float32) for x in (q, k, v)))
    gaps = [
        float(np.abs(a - b).max() / np.abs(b).max())
        for a, b in zip(found, wanted, strict=True)
    ]
    said = "of out, dq, dk, dv: " + ", ".join(f"{gap:.4f}" for gap in gaps)
    names = ("out", "dq", "dk", "dv")
    figures = dict(zip(names, gaps, strict=True))
    return Check(f"attention {way}, window {window}", max(gaps) < 0.02, said, figures)


def step(dry: bool, repeats: int) -> Check:
    """Median of some steps after the first two; a step must lower the loss of a batch
    that it sees again and again."""
    rows, length = (4, 600) if dry else (8, 4096)
    student = models.create("qwen3", **(TINY if dry else BILLION))
    rule = update.optimiser(
        name="adamw",
        steps=100,
        learning_rate=1e-4,
        warmup_share=0.0,
        final_share=1.0,
        b1=0.9,
        b2=0.95,
        eps=1e-8,
        weight_decay=0.0,
        clip_norm=1.0,
    )
    rng = np.random.default_rng(0)
    words = rng.integers(0, student.config.vocabulary, (rows, length))
    examples = [Example(row[:8].tolist(), row[8:].tolist()) for row in words]
    batch = sft.batch(examples, row_tokens=length, row_multiple=rows)
    params = student.init(0)
    state = update.start(params, rule)
    number = models.count(params)
    del params
    losses, seconds = [], []
    for _ in range(repeats + 2):
        began = time.monotonic()
        state, metrics = update.train_step(sft.loss(student), rule, state, batch)
        losses.append(float(metrics["loss"]))
        seconds.append(time.monotonic() - began)
    took = float(np.median(seconds[2:]))
    flops = counts.training(_sizes(student), rows, length).total
    peak = next((p for n, p in PEAKS.items() if n in jax.devices()[0].device_kind), 0)
    figures = {
        "parameters": number,
        "compile_s": seconds[0],
        "step_s": took,
        "tokens_per_s": rows * length / took,
        "tflops": flops / took / 1e12,
        "mfu": flops / took / 1e12 / peak if peak else 0.0,
    }
    said = (
        f"{number:,} parameters, {rows} x {length} tokens in {took:.3f} s: "
        f"{figures['tokens_per_s']:,.0f} tokens/s, {figures['tflops']:.1f} TFLOP/s, "
        + (f"{100 * figures['mfu']:.1f} % of the peak" if peak else "peak not known")
        + f"; loss {losses[0]:.3f} to {losses[-1]:.3f}"
    )
    return Check("step", losses[-1] < losses[0], said, figures)


def _sizes(student):
    c = student.config
    return counts.Sizes(
        c.vocabulary,
        c.width,
        c.layers,
        c.heads,
        c.kv_heads,
        c.head_width,
        c.mlp_width,
        c.tied,
        (None,) * c.layers,
        0,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--dry", action="store_true", help="tiny sizes, on a CPU")
    parser.add_argument("--json", action="store_true", help="last line as an object")
    parser.add_argument("--repeats", type=int, default=10, help="steps to time")
    asked = parser.parse_args()
    if asked.dry:
        jax.config.update("jax_platforms", "cpu")
    elif jax.default_backend() != "gpu":
        print("gpu_check: there is no GPU here; --dry runs on a CPU", file=sys.stderr)
        return 2
    device = jax.devices()[0].device_kind
    print(f"{device}, jax {jax.__version__}", flush=True)
    names = ("olmo3",) if asked.dry else ("llama", "qwen3", "olmo3")
    made = [lambda n=name: parity(n) for name in names]
    windows = (64,) if asked.dry else (None, 512)
    made += [lambda w=window: attention(asked.dry, w) for window in windows]
    made += [lambda: step(asked.dry, 2 if asked.dry else asked.repeats)]
    checks = []
    for check in made:
        checks.append(check())
        one = checks[-1]
        word = "ok  " if one.passed else "FAIL"
        print(f"{word} {one.name}: {one.said}", flush=True)
    if asked.json:
        found = {one.name: one.figures | {"passed": one.passed} for one in checks}
        print(json.dumps({"device": device, "dry": asked.dry, "checks": found}))
    return int(not all(one.passed for one in checks))


if __name__ == "__main__":
    sys.exit(main())
