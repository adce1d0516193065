"""`config.json` of checkpoints: what it may leave out, and what cannot be run."""

import json

import parity_folders
import pytest

from routejax import models
from routejax.errors import UserError
from routejax.models import weights
from routejax.models.weights.published import read_config, write_config

FOLDER = parity_folders.FOLDER


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (
            {"architectures": ["MambaForCausalLM"]},
            "must have an architecture out of LlamaForCausalLM, Qwen3ForCausalLM, "
            "Olmo3ForCausalLM, got MambaForCausalLM",
        ),
        ({"architectures": None, "model_type": "gpt2"}, "got gpt2"),
        ({"hidden_size": None, "vocab_size": None}, "lacks vocab_size, hidden_size"),
        (
            {"attention_bias": True, "hidden_act": "gelu", "use_sliding_window": True},
            "attention_bias True .only False.; use_sliding_window True .only False.; "
            "hidden_act 'gelu' .only 'silu'.",
        ),
        ({"mlp_bias": True}, "mlp_bias True"),
        ({"quantization_config": {"bits": 4}}, "quantization_config"),
        ({"rope_scaling": {"type": "dynamic", "factor": 2}}, "rope_type 'dynamic'"),
        ({"rope_scaling": {"rope_type": "yarn"}}, "lacks factor of its yarn"),
        (
            {"rope_scaling": {"rope_type": "yarn", "factor": 2, "mscale": 1}},
            "mscale of rope_scaling",
        ),
        (
            {"num_key_value_heads": 3},
            "config.json: num_attention_heads must be a multiple of num_key_value",
        ),
    ],
)
def test_configs_that_cannot_be_run(fields, words, copy):
    folder = copy()
    (folder / "model.safetensors").unlink()  # nothing is read before the config
    file = folder / "config.json"
    config = json.loads(file.read_text()) | fields
    if "rope_scaling" in fields:
        del config["rope_parameters"]
    file.write_text(json.dumps(config))
    with pytest.raises(UserError, match=words):
        weights.load(folder)
    with pytest.raises(UserError, match=words):
        weights.read_student(folder)


def raw(name, **fields):
    config = json.loads((FOLDER / name / "config.json").read_text())
    return config | fields


def without(config, *names):
    return {name: value for name, value in config.items() if name not in names}


def test_old_and_new_rotary_settings_are_one():
    """`rope_parameters`, and `rope_theta` with `rope_scaling` in two spellings."""
    new = raw("olmo3")
    for one in new["rope_parameters"].values():
        one["rope_theta"] = 5e5  # of sliding layers, whatever the old form says
    yarn = dict(new["rope_parameters"]["full_attention"])
    theta = yarn.pop("rope_theta")
    rest = without(new, "rope_parameters")
    old = rest | {"rope_theta": theta, "rope_scaling": yarn}
    older = rest | {
        "rope_theta": theta,
        "rope_scaling": without(yarn, "rope_type") | {"type": "yarn"},
    }
    wanted = read_config(new)
    assert wanted[1].rope_scaling == models.Yarn(
        8.0, 32, 1.2079441541679836, beta_fast=4.0, beta_slow=0.5
    )
    assert read_config(old) == read_config(older) == wanted
    llama = raw("llama")
    scaling = dict(llama["rope_parameters"])
    old = without(llama, "rope_parameters") | {
        "rope_theta": scaling.pop("rope_theta"),
        "rope_scaling": scaling,
    }
    assert read_config(old) == read_config(llama)
    assert read_config(llama)[1].rope_scaling == models.Llama3(8.0, 32, 1.0, 4.0)


def test_sliding_layers_with_frequencies_of_their_own_are_refused():
    config = raw("olmo3")
    nested = config["rope_parameters"]
    for sliding, words in (
        ({"rope_type": "yarn", "factor": 2.0, "rope_theta": 1e4}, "'yarn' of sliding"),
        ({"rope_type": "default", "rope_theta": 2e4}, "20000.0 of sliding layers"),
    ):
        config["rope_parameters"] = nested | {"sliding_attention": sliding}
        with pytest.raises(UserError, match=words):
            read_config(config)


def test_what_a_config_may_leave_out():
    bare = {
        "architectures": ["LlamaForCausalLM"],
        "vocab_size": 10,
        "hidden_size": 8,
        "intermediate_size": 12,
        "num_hidden_layers": 5,
        "num_attention_heads": 2,
    }
    family, config = read_config(bare)
    assert family == "llama"
    assert (config.kv_heads, config.head_width) == (2, 4)
    assert (config.rope_theta, config.norm_eps, config.tied) == (10_000.0, 1e-6, False)
    named = without(bare, "architectures") | {"model_type": "olmo3"}
    family, config = read_config(named | {"sliding_window": 4})
    assert family == "olmo3"
    # Three layers in four slide, and the fifth again.
    assert config.pattern == ("sliding",) * 3 + ("full",)
    assert (config.rope_theta, config.norm_eps) == (500_000.0, 1e-5)
    whole = named | {"layer_types": ["full_attention"] * 5, "sliding_window": 4}
    assert read_config(whole)[1].window is None
    with pytest.raises(UserError, match="2 layer_types of 5 layers"):
        read_config(named | {"layer_types": ["full_attention"] * 2})


@pytest.mark.parametrize("size", models.SIZES)
def test_every_named_size_comes_back_from_its_config(size):
    family, config = models.SIZES[size]
    assert read_config(write_config(family, config, "float32")) == (family, config)


TYPES = {
    "hidden_size": ("48", 4.0, True, [4], {}, "\ud800"),
    "num_hidden_layers": ("4", 4.5, [1] * 10_000),
    "num_key_value_heads": ("2", 2.5, False),
    "head_dim": ("16", [16]),
    "max_position_embeddings": ("256", None),
    "rms_norm_eps": ("1e-6", None, [], float("nan")),
    "tie_word_embeddings": (1, "false", None),
    "layer_types": (3, "full_attention", [["full_attention"]], [None]),
    "rope_theta": ("1e4", [1], True, float("inf"), 10**400),
    "rope_scaling": ("linear", 2.0, [1]),
    "rope_parameters": ("x", [1], 0),
}


@pytest.mark.parametrize("field", TYPES)
def test_fields_of_another_type(field, tmp_path):
    for value in TYPES[field]:
        config = raw("llama", **{field: value})
        (tmp_path / "config.json").write_text(json.dumps(config))
        with pytest.raises(UserError, match=f"{field} must be .*, got ") as caught:
            weights.read_student(tmp_path)
        said = str(caught.value)
        assert said.startswith(str(tmp_path / "config.json"))
        assert said.isprintable()
        assert len(said) < 300


@pytest.mark.parametrize("field", ["factor", "beta_fast", "rope_theta", "rope_type"])
@pytest.mark.parametrize("name", ["llama", "olmo3"])
def test_rotary_fields_of_another_type(field, name):
    yarn = {"rope_type": "yarn", "factor": 2.0}
    for value in ([2.0], {}, False):
        config = without(raw(name), "rope_parameters")
        config["rope_scaling"] = yarn | {field: value}
        with pytest.raises(UserError, match=f"{field} of full layers must be"):
            read_config(config)


def test_all_fields_of_another_type_are_in_one_message():
    with pytest.raises(UserError) as caught:
        read_config(raw("olmo3", vocab_size=None, head_dim="x", rope_theta=[]))
    for part in ("lacks vocab_size", "head_dim must be a whole number or null, got"):
        assert part in str(caught.value)
    assert "rope_theta must be a finite number, got []" in str(caught.value)


def old(scaling, **fields):
    return {"rope_scaling": scaling, "rope_theta": 1e4, **fields}


YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}
LLAMA3 = {**YARN, "rope_type": "llama3", "low_freq_factor": 1, "high_freq_factor": 4}
IMPOSSIBLE = {
    "no heads": ({"num_attention_heads": 0}, "num_attention_heads must be at least 1"),
    "fewer than none": (
        {"num_attention_heads": -4},
        "heads must be at least 1, got -4",
    ),
    "no shared heads": ({"num_key_value_heads": 0}, "heads must be at least 1, got 0"),
    "no head": ({"head_dim": 0}, "head_dim must be at least 1, got 0"),
    "a width that heads do not divide": (
        {"num_attention_heads": 5, "num_key_value_heads": 5, "head_dim": None},
        "hidden_size 24 over 5 num_attention_heads without head_dim",
    ),
    "too many ids": ({"vocab_size": 10**12}, "vocab_size must be at most 2147483647"),
    "too many layers": ({"num_hidden_layers": 10**9}, "must be at most 10000"),
    "no positions": ({"max_position_embeddings": 0}, "must be at least 1, got 0"),
    "no theta": ({"rope_theta": 0}, "rope_theta must be more than 1, got 0.0"),
    "negative theta": ({"rope_theta": -5}, "rope_theta must be more than 1, got -5"),
    "theta of one": (old(YARN, rope_theta=1), "rope_theta must be more than 1"),
    "no eps": ({"rms_norm_eps": 0}, "rms_norm_eps must be more than 0, got 0"),
    "negative eps": ({"rms_norm_eps": -1e-6}, "rms_norm_eps must be more than 0"),
    "no factor": (old(YARN | {"factor": 0}), "factor must be more than 0, got 0"),
    "negative factor": (old(YARN | {"factor": -1}), "factor must be more than 0"),
    "no length": (
        old(YARN | {"original_max_position_embeddings": 0}),
        "original_positions must be more than 0, got 0",
    ),
    "no length for a factor of null": (
        old(YARN | {"original_max_position_embeddings": 0, "factor": None}),
        "original_positions must be more than 0, got 0",
    ),
    "no cosines": (
        old(YARN | {"attention_factor": 0.0}),
        "attention_factor must be more than 0",
    ),
    "negative turns": (old(YARN | {"beta_slow": -1}), "beta_slow must be more than 0"),
    "turned round": (
        old(YARN | {"beta_fast": 1, "beta_slow": 4}),
        "beta_fast must be more than beta_slow, got 1.0 and 4",
    ),
    "no ramp": (
        old(LLAMA3 | {"low_freq_factor": 4}),
        "high_freq_factor must be more than low_freq_factor, got 4.0 and 4",
    ),
    "no low end": (
        old(LLAMA3 | {"low_freq_factor": 0}),
        "low_freq_factor must be more",
    ),
}


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_numbers_no_model_can_have(case):
    fields, words = IMPOSSIBLE[case]
    config = without(raw("llama"), "rope_parameters") | fields
    with pytest.raises(UserError, match=words) as caught:
        read_config(config, "a/config.json")
    assert str(caught.value).count("a/config.json") == 1


def test_all_impossible_numbers_are_in_one_message():
    with pytest.raises(UserError) as caught:
        models.create("llama", size="local", rope_theta=0.5, norm_eps=0.0, kv_heads=3)
    for part in (
        "student.heads must be a multiple of student.kv_heads, got 4 and 3",
        "student.norm_eps must be more than 0, got 0.0",
        "student.rope_theta must be more than 1, got 0.5",
    ):
        assert part in str(caught.value)


def test_defaults_are_those_of_transformers():
    qwen3 = without(raw("qwen3"), "head_dim", "num_key_value_heads")
    config = read_config(qwen3 | {"num_attention_heads": 64})[1]
    assert (config.head_width, config.kv_heads) == (128, 32)
    assert read_config(qwen3 | {"num_key_value_heads": None})[1].kv_heads == 4
    with pytest.raises(UserError, match="not supported: head_dim null"):
        read_config(raw("qwen3", head_dim=None))
    config = read_config(without(raw("olmo3"), "sliding_window"))[1]
    assert config.window == 4096
    with pytest.raises(UserError, match="sliding_window must be at least 1 where"):
        read_config(raw("olmo3", sliding_window=None))
    for name, positions in (("llama", 2048), ("qwen3", 32_768), ("olmo3", 2048)):
        config = read_config(without(raw(name), "max_position_embeddings"))[1]
        assert config.max_positions == positions


def test_architectures_that_are_no_list():
    for value in ("LlamaForCausalLM", [1], {"LlamaForCausalLM": 1}, 3, ["\ud800"]):
        with pytest.raises(UserError, match="must have an architecture out") as caught:
            read_config(raw("llama", architectures=value))
        assert str(caught.value).isprintable()


def test_layers_of_qwen3_that_would_slide():
    types = ["sliding_attention", "full_attention"] * 2
    with pytest.raises(UserError, match=r"layer_types \['sliding_attention'\] .only f"):
        read_config(raw("qwen3", layer_types=types, sliding_window=6))
