"""What is read off programs, by hand, and the plans of recipes."""

import io
import json
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from rich.console import Console
from smoke_config import smoke

from routejax import mesh
from routejax.errors import UserError
from routejax.plan import axes
from routejax.stages import plan, plan_memory, plan_programs, plan_table
from routejax.stages.plan_collectives import collectives, unknown_loops
from routejax.stages.plan_flops import count_flops

ROOT = Path(__file__).parent.parent.parent

# Written by hand after the compiler's: three ways to write groups, a loop of 5 turns in
# a loop of 3, and a loop of unknown length.
_LOOP = "f32[4] while(%p), condition=%c, body=%"
_TRIPS = 'backend_config={"known_trip_count":{"n":"'
PROGRAM = f"""
%add (a: f32[], b: f32[]) -> f32[] {{
  ROOT %sum = f32[] add(%a, %b)
}}

%inner (p: f32[4]) -> f32[4] {{
  %g = bf16[8,10]{{1,0}} all-gather(%x), replica_groups={{{{0,1}},{{2,3}}}}
}}

%outer (p: f32[4]) -> f32[4] {{
  %w = {_LOOP}inner, {_TRIPS}5"}}}}
  %r = (f32[10]{{0}}, f32[]) all-reduce(%a, %b), replica_groups=[2,4]<=[8]
}}

%open (p: f32[4]) -> f32[4] {{
  %s = f32[3]{{0}} reduce-scatter(%x), replica_groups=mesh['a'=3,'b'=5] {{'a','b'}}
}}

ENTRY %main (p: f32[4]) -> f32[4] {{
  %w1 = {_LOOP}outer, {_TRIPS}3"}}}}
  %w2 = {_LOOP}open
  ROOT %m = f32[7]{{0}} collective-permute(%x), source_target_pairs={{{{0,1}}}}
}}
"""


def test_collectives_by_hand():
    found = collectives(PROGRAM)
    # 80 entries of 2 bytes, half of which come from the other device, 15 times.
    assert found["all-gather"] == (15, 15 * 80)
    # 11 numbers of 4 bytes, to 3 of 4 devices and back, 3 times.
    assert found["all-reduce"] == (3, 3 * 2 * 44 * 3 / 4)
    # 15 devices: the operand is 15 times the result of 12 bytes.
    assert found["reduce-scatter"] == (1, pytest.approx(12 * 14))
    assert found["collective-permute"] == (1, 28)
    assert "all-to-all" not in found
    assert unknown_loops(PROGRAM) == 1


def test_collectives_of_a_compiled_loop():
    """Five layers gather one matrix each, and sum its gradient."""
    over = mesh.make_mesh(jax.devices()[:4], fsdp=4, data=1)
    place = NamedSharding(over, P(None, "fsdp"))

    def loss(weights, x):
        def layer(x, w):
            whole = jax.lax.with_sharding_constraint(w, NamedSharding(over, P()))
            return jnp.tanh(x @ whole), None

        return jax.lax.scan(layer, x, weights)[0].sum()

    weights = jax.ShapeDtypeStruct((5, 16, 16), jnp.float32, sharding=place)
    rows = NamedSharding(over, P("fsdp"))
    x = jax.ShapeDtypeStruct((8, 16), jnp.float32, sharding=rows)
    step = jax.jit(jax.grad(loss), out_shardings=place)
    found = collectives(step.lower(weights, x).compile().as_text())
    assert found["all-gather"].count in (5, 10)  # kept, or gathered again
    assert found["all-gather"].sent_bytes == found["all-gather"].count * 1024 * 3 / 4
    assert found["all-reduce"].count == 5
    assert found["all-reduce"].sent_bytes == 5 * 2 * 1024 * 3 / 4


def product(x, w):
    return jax.nn.relu(x @ w)


@pytest.mark.parametrize(
    ("function", "flops"),
    [
        (product, 2 * 6 * 4 * 4),
        (jax.jit(product), 2 * 6 * 4 * 4),
        (jax.checkpoint(product), 2 * 6 * 4 * 4),
        (jax.grad(lambda x, w: product(x, w).sum(), argnums=(0, 1)), 3 * 192),
        (
            lambda x, w: jax.lax.scan(lambda x, _: (product(x, w), None), x, None, 7),
            7 * 192,
        ),
        (
            lambda x, w: jax.lax.cond(x[0, 0] > 0, lambda: product(x, w), lambda: x),
            192,
        ),
        (
            lambda x, w: jax.lax.while_loop(
                lambda x: x[0, 0] > 0, lambda x: product(x, w), x
            ),
            2.5 * 192,
        ),
        (lambda x, w: jnp.einsum("ab,cb->ac", x, x) @ x @ w, 2 * 144 + 2 * 144 + 192),
        (
            lambda x, w: jax.vmap(lambda r: r[None] @ w)(x),
            192,
        ),
    ],
)
def test_operations_by_hand(function, flops):
    """x is 6 by 4, w 4 by 4."""
    found = count_flops(function, jnp.ones((6, 4)), jnp.ones((4, 4)), trips=2.5)
    assert found.flops == flops


def test_operations_of_all_devices():
    """Two parts do four rows each."""
    over = mesh.make_mesh(jax.devices()[:4], data=2, tensor=2)
    divided = jax.shard_map(
        product,
        mesh=over,
        in_specs=(P(mesh.BATCH), P()),
        out_specs=P(mesh.BATCH),
        axis_names={*mesh.BATCH},
        check_vma=False,
    )
    found = count_flops(jax.jit(divided), jnp.ones((8, 4)), jnp.ones((4, 4)))
    assert found.flops == 2 * 8 * 4 * 4


def recipe(size, **changes):
    """A recipe of the paper, with as few rows as its mesh allows."""
    config = smoke(**changes)
    config["student"] |= {
        "size": size,
        "dtype": "bfloat16",
        "remat": "full",
        "width": None,
        "layers": None,
        "heads": None,
        "kv_heads": None,
        "mlp_width": None,
    }
    config["sft"] |= {"row_tokens": 16_384, "batch_examples": 8, "device_rows": 1}
    config["sft"]["optimiser"] = config["grpo"]["optimiser"]
    return config


@pytest.mark.parametrize("size", ["olmo3-7b", "qwen3-4b", "smollm2-135m"])
def test_counted_operations_are_those_by_hand(size):
    """Within 5 %, at 16,384 tokens; attention in blocks does a little more."""
    over = mesh.make_mesh(fsdp=8, data=1)
    made = plan.make_plan(recipe(size), over, parts=["sft"], compiled=False)
    part = made.parts["sft"]
    assert part.flops == pytest.approx(part.by_hand, rel=0.05)
    assert part.flops > part.model_flops
    assert part.shape == (8, 8, 16_384, 8)


def test_bytes_that_stay_are_those_by_hand():
    over = mesh.make_mesh(fsdp=4, tensor=2, data=1)
    made = plan.make_plan(recipe("olmo3-7b"), over, parts=["sft"], compiled=False)
    held = made.parts["sft"].resident
    matrices = (made.parameters - 4096 * 65) // 8  # block and last norms lie whole
    assert made.parameters == 7_298_011_136
    assert held["parameters"] == pytest.approx(4 * matrices, rel=1e-3)
    assert held["optimiser"] == pytest.approx(8 * matrices, rel=1e-3)


@pytest.mark.slow
def test_a_whole_plan_of_a_small_student():
    """All programs compiled; figures and verdicts as JSON and as a table."""
    config = smoke(decoding={"max_new_tokens": 8})
    config["grpo"]["optimiser"]["name"] = "adamw"
    over = mesh.make_mesh(jax.devices()[:4], data=2, fsdp=2)
    made = plan.make_plan(config, over)
    found = json.loads(json.dumps(plan_table.record(made)))
    assert list(found["parts"]) == ["sft", "grpo", "sample"]
    for part in ("sft", "grpo"):
        assert found["parts"][part]["compiled_temporary_bytes"] > 0
        assert found["parts"][part]["traffic"]["all-gather"]["count"] > 0
        assert found["parts"][part]["flops"] > 0
    assert found["parts"]["grpo"]["resident_bytes"]["reference"] > 0
    assert {*found["fits"]["sft"].values()} == {"yes"}
    assert plan_table.tables(made).renderables
    printed = io.StringIO()
    Console(file=printed, width=200).print(plan_table.tables(made))
    assert "seconds to compile" in printed.getvalue()


def test_no_weight_is_made(monkeypatch):
    """A student that would fill any memory is planned for in moments."""
    over = mesh.make_mesh(fsdp=8, data=1)
    student = plan_programs.student_of(recipe("qwen3-14b"), over)
    shapes = jax.eval_shape(lambda: student.init(0))
    s = plan_memory.sizes(student.config, plan_memory.norm_count(shapes))
    assert sum(leaf.size for leaf in jax.tree.leaves(shapes)) == 14_768_307_200
    assert plan.counts.parameters(s).total == 14_768_307_200


AXES = {"replica": 1, "data": -1, "fsdp": 1, "tensor": 1, "devices": None}


def test_axes_of_the_command_line():
    assert axes(AXES, "data=1,fsdp=8", None)["fsdp"] == 8
    assert axes(AXES, "fsdp=8", 64)["data"] == 8
    assert axes(AXES, "", 4)["data"] == 4
    assert axes(AXES, "fsdp=8", None)["data"] == 1
    assert axes(AXES, "data=1", None)["data"] == 1
    assert axes(AXES | {"devices": 4}, "", None)["data"] == 4
    assert axes(AXES | {"data": 2}, "", None)["data"] == 2


@pytest.mark.parametrize(
    ("text", "devices", "said"),
    [
        ("fdsp=8", None, "list such as data=1,fsdp=8 of replica"),
        ("fsdp=x", None, "got 'fsdp=x'"),
        ("fsdp", None, "got 'fsdp'"),
        ("fsdp=3", 8, "take a multiple of 3 devices, there are 8"),
        ("fsdp=2,fsdp=4", None, "each once; got 'fsdp=4'"),
        ("", None, "axis data is -1, .* --devices=8, or --mesh=data=8"),
        ("tensor=1", None, "how many devices"),
        ("fsdp=4,data=-1", None, "how many devices"),
        ("fsdp=4", 0, "--devices must be at least 1, got 0"),
    ],
)
def test_mistakes_of_the_command_line(text, devices, said):
    with pytest.raises(UserError, match=said):
        axes(AXES, text, devices)


def test_a_mesh_that_does_not_divide_is_refused_before_compiling():
    over = mesh.make_mesh(tensor=8, data=1)
    with pytest.raises(UserError, match="heads 9 is no multiple of tensor 8"):
        plan.make_plan(recipe("smollm2-135m"), over, parts=["sft"])
    with pytest.raises(UserError, match=r"sft, grpo, sample, .* got 'dpo'"):
        plan.make_plan(recipe("qwen3-4b"), over, parts=["dpo"])
    assert "routejax.stages.plan" in sys.modules
