"""What a plan says: its parts, its verdicts, padding, legends, times."""

import io

import jax
import pytest
from rich.console import Console
from smoke_config import smoke

from routejax import mesh
from routejax.errors import UserError
from routejax.stages import plan, plan_smallest, plan_table, plan_time
from routejax.stages.plan_programs import slots
from routejax.stages.plan_recipe import parts_of, sft_steps


def made(devices=1, parts=None, change=lambda config: None, compiled=False, **axes):
    config = smoke()
    change(config)
    over = mesh.make_mesh(jax.devices()[:devices], **({"data": 1} | axes))
    return plan.make_plan(config, over, parts=parts, compiled=compiled)


def shown(renderable):
    console = Console(file=io.StringIO(), width=400)
    console.print(renderable)
    return console.file.getvalue()


def without(*blocks):
    config = smoke()
    for block in blocks:
        del config[block]
    return config


def test_parts_are_those_of_the_recipe():
    assert parts_of(smoke()) == ("sft", "grpo", "sample")
    assert parts_of(smoke(), ["sample", "sft"]) == ("sft", "sample")
    assert parts_of(without("grpo")) == ("sft",)
    assert parts_of(without("decoding")) == ("sft", "grpo")
    with pytest.raises(UserError, match=r"some of sft, which .* has, got 'grpo'"):
        parts_of(without("grpo"), ["grpo"])
    with pytest.raises(UserError, match="trains no student"):
        parts_of(without("student", "mesh"))


def test_a_recipe_without_rl_is_planned():
    config, over = without("grpo", "decoding"), mesh.make_mesh(jax.devices()[:1])
    assert [*plan.make_plan(config, over, compiled=False).parts] == ["sft"]
    alone = plan_smallest.smallest(config)
    assert {tuple(slices) for slices in alone.values()} == {("sft",)}
    assert alone["v5e"]["sft"] is not None


@pytest.mark.parametrize(
    ("block", "field", "value", "said"),
    [
        ("student", "size", "qwen9", "config.student.size must be .* got 'qwen9'"),
        ("student", "size", "", "no config.student.weights says"),
        ("student", "weights", "/nowhere", "/nowhere"),
        ("grpo", "preset", "x", "config.grpo.preset must be"),
        ("sft", "row_tokens", 0, "config.sft.row_tokens must be"),
    ],
)
def test_mistakes_in_a_recipe_are_one_line(block, field, value, said):
    with pytest.raises(UserError, match=said):
        made(change=lambda config: config[block].update({field: value}))


@pytest.mark.parametrize(
    ("hand", "compiled", "verdict"),
    [
        (10e9, 12e9, "yes"),
        (10e9, 15e9, "by hand"),
        (10e9, None, "by hand"),
        (15e9, None, "no"),
        (15e9, 16e9, "no"),
        (15e9, 10e9, "no"),
    ],
)
def test_verdicts(hand, compiled, verdict):
    """Of 16 GB, 14.72 are room. Without the compiler none is better than with it."""

    class Sums:
        hand_bytes, compiled_bytes = hand, compiled

    assert plan_table.verdicts(Sums)["v5e"] == verdict


def test_every_row_by_hand_has_its_legend():
    said = " ".join(shown(plan_table.tables(made())).split())
    for label in plan_table.COMING.values():
        assert f"{label} (by hand)" in said
        assert f"{label.capitalize()}: " in said
    assert "as long as prompt and response may be, sliding layers too" in said


def test_nothing_is_shown_of_a_compiler_that_was_not_asked():
    found = made(parts=["sft"])
    said = shown(plan_table.tables(found))
    assert found.parts["sft"].compile_s is None
    assert "compile" not in said.replace("nothing was compiled", "").replace(
        "compiling", ""
    )
    assert "yes" not in said.replace(plan_table.FITS, "")
    assert plan_table.FITS in said
    empty = [
        line for line in said.splitlines() if line.startswith("│") and line.count("│")
    ]
    assert all(any(cell.strip() for cell in line.split("│")[2:]) for line in empty)


@pytest.mark.parametrize(
    ("examples", "multiple", "each", "note"),
    [
        (8, 8, None, []),
        (
            2,
            2,
            None,
            "6 of 8 rows are padding: sft.batch_examples is 2; raise it or use fewer "
            "devices",
        ),
        (
            8,
            8,
            3,
            "16 of 24 rows are padding: sft.batch_examples is 8; raise it or use fewer "
            "devices or lower sft.device_rows (3)",
        ),
        (
            8,
            16,
            None,
            "8 of 16 rows are padding: sft.batch_examples is 8; raise it or lower "
            "sft.row_multiple (16)",
        ),
    ],
)
def test_padding_is_told(examples, multiple, each, note):
    """Eight devices; the rows are those that the stage makes."""
    settings = {"batch_examples": examples, "row_multiple": multiple}
    settings["device_rows"] = each
    found = made(8, ["sft"], lambda c: c["sft"].update(settings), fsdp=8)
    assert [*found.parts["sft"].notes] == ([f"sft: {note}"] if note else [])
    work, shape = found.parts["sft"].work["step"], found.parts["sft"].shape
    assert shape
    full = made(1, ["sft"], lambda c: c["sft"].update({"batch_examples": 8}))
    one = full.parts["sft"].work["step"].model / 8  # without padding, of an example
    assert work.model == pytest.approx(one * examples)
    assert work.flops >= one * shape.rows


def test_padding_of_rl_is_told():
    """2 prompts of 3 samples and as many again, on 8 devices."""
    settings = {"prompts": 2, "samples": 3, "refill": 1, "row_multiple": 1}
    found = made(8, ["grpo"], lambda c: c["grpo"].update(settings), fsdp=8)
    assert found.parts["grpo"].notes == (
        "grpo: 4 of 16 rows are padding: grpo.prompts x grpo.samples x (1 + "
        "grpo.refill) is 12; raise it or use fewer devices",
    )


def test_slots_and_repeats_are_told():
    """6 requests of 2 prompts on 4 parts: two each, one at a time."""

    def few(config):
        config["grpo"].update(prompts=2, samples=3)
        config["decoding"]["slots"] = 2

    found = made(4, ["sample"], few, fsdp=4)
    repeats, prompts, more, waves = found.parts["sample"].notes
    assert repeats.startswith("sample: 2 of 8 responses are repeats")
    assert prompts.startswith("sample: 4 prompts are read where there are 2")
    assert more.startswith("sample: 4 slots decode, not the 2 of decoding.slots")
    assert "decodes 2 responses, 1 at a time" in waves
    config = smoke()
    few(config)
    over = mesh.make_mesh(jax.devices()[:4], fsdp=4, data=1)
    assert slots(config, over) == (4, 2, 1, 1)
    assert made(1, ["sample"]).parts["sample"].notes == ()


def test_sampling_is_prefill_and_decoding():
    """Decoding is most of it where responses are longer than prompts."""
    work = made(1, ["sample"]).parts["sample"].work
    assert [*work] == ["prefill", "decoding"]
    assert work["decoding"].flops > work["prefill"].flops
    assert work["decoding"].model < work["decoding"].flops
    assert "PFLOP by formula, decoding" in shown(plan_table.tables(made()))


def test_what_olmo_holds_whole_and_does_not_see_is_told():
    def olmo(config):
        config["student"] |= {"family": "olmo3", "window": 8, "kv_heads": 2}
        config["student"] |= {"layer_types": ("sliding", "full")}

    found = made(2, change=olmo, tensor=2)
    said = plan_table.notes(found)
    length = 24 + 48
    assert any(
        f"1 of 2 layers see 8 tokens, but their cache has all {length}" in note
        for note in said
    )
    assert any("no axis of a mesh divides its 160 tokens" in n for n in said)
    rows, tokens = found.parts["sft"].shape.whole  # in one pass
    logits = 3 * 4 * rows * tokens * 160
    assert found.parts["sft"].coming.logits == logits  # of all tokens, on both devices
    assert not any("no axis" in n for n in plan_table.notes(made(parts=["sft"])))


def test_the_estimate_by_hand():
    """16 examples of 128 rows eight times: 64 steps; all at half the peak."""
    assert sft_steps(smoke()) == 64
    assert sft_steps(smoke(selection={"n": 129})) == 65
    found = made(parts=["sft", "grpo"])
    one = plan_time.estimates(found, 0.5)["v5p"]["sft"]
    part = found.parts["sft"]
    assert one.step_s == pytest.approx(part.model_flops / 0.5 / 459e12)
    assert one.tokens_per_s == pytest.approx(16 * 128 / one.step_s)
    assert one.device_hours == pytest.approx(64 * one.step_s / 3600)
    # Two updates and two scorings, each a third of an update, for three steps.
    twice = made(parts=["grpo"], change=lambda c: c["grpo"].update(updates=2))
    three = plan_time.estimates(found, 0.5)["H100"]["grpo"].step_s / 4
    assert plan_time.estimates(twice, 0.5)["H100"]["grpo"].step_s == pytest.approx(
        8 * three
    )
    assert found.parts["grpo"].steps == 3


def test_devices_share_the_time():
    def even(config):
        config["student"]["kv_heads"] = 2

    one, four = made(1, ["sft"], even), made(4, ["sft"], even, fsdp=2, tensor=2)
    alone, shared = (plan_time.estimates(p, 0.4)["v5e"]["sft"] for p in (one, four))
    assert shared.step_s == pytest.approx(alone.step_s / 4)
    assert shared.device_hours == pytest.approx(alone.device_hours)
    assert "Device-hours: devices (4)" in shown(plan_table.tables(four))


def test_an_uneven_mesh_says_each_number_once():
    def student(config):
        config["student"] |= {"heads": 2, "kv_heads": 2, "mlp_width": 97}

    with pytest.raises(UserError) as refused:
        made(4, ["sft"], student, tensor=4)
    said = str(refused.value)
    assert "heads 2 is no multiple of tensor 4; kv_heads 2 is no multiple" in said
    assert "has 97 mlp, no multiple of tensor 4, nor in 2 more" in said
    assert said.count("no multiple") == 3


def test_smallest_marks_padding():
    def large(config):
        config["student"] |= {"size": "qwen3-1.7b", "width": None, "layers": None}
        config["student"] |= {"heads": None, "kv_heads": 1, "mlp_width": None}
        config["sft"] |= {"batch_examples": 1, "row_multiple": 1, "device_rows": 1}
        return config

    found = plan_smallest.smallest(large(smoke()), ["sft"])
    small, large_one = found["v5e"]["sft"], found["H200"]["sft"]
    assert small
    assert large_one
    assert (small.tensor, small.padded) == (1, True)
    assert (large_one.devices, large_one.padded) == (1, False)
    assert "*" in shown(plan_smallest.table("recipe", found))
