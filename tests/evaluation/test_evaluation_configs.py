"""The recipes of evaluations: the paper's numbers, and ours where it has none."""

import importlib.util
from pathlib import Path

import pytest

from routejax.envs.benchmarks import PROTOCOLS
from routejax.evaluation.settings import RULES, SET_RULES
from routejax.program import plain
from routejax.stages.checks import flat, require_rules

RECIPE = Path(__file__).parent.parent.parent / "configs" / "evaluate.py"


def config(variant):
    spec = importlib.util.spec_from_file_location("recipe_evaluate", RECIPE)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.get_config(variant)


# Temperature, top-p, longest response and prompt: C.2 and Table 7; Figure 12, Table 5;
# A.3 (RLVE); A.8; C.1. Longest prompts of 2,048 are what the context leaves.
THINK = (0.7, 0.95, 30_720, 2_048)
DECODING = {
    "released": THINK,
    "baselines": THINK,
    "baselines_openthoughts3": THINK,
    "single_teacher": THINK,
    "teacher_sources": (1.0, 1.0, 8_192, 4_096),
    "omega_qwen3": (1.0, 1.0, 2_048, 2_048),
    "omega_olmo3": (1.0, 1.0, 12_288, 4_096),
    "enigmata_sources": (1.0, 1.0, 8_192, 4_096),
    "rlve_qwen3": (1.0, 1.0, 32_768, 4_096),
    "rlve_olmo3": (1.0, 1.0, 32_768, 4_096),
    "sokoban": (1.0, 1.0, 8_192, 4_096),
    "program_simulation": (0.8, 1.0, 8_192, 4_096),
    "mixed_rewards": (1.0, 1.0, 30_720, 4_096),
}
EIGHT = ("aime2024", "aime2025", "hmmt_feb_2025", "hmmt_nov_2025", "amc2023")
EIGHT += ("beyond_aime", "gpqa_diamond")
OMEGA = ("omega_explorative", "omega_compositional", "omega_transformative")
FOUR = ("math500", "olympiadbench", *OMEGA, "enigmata")
TEN = ("aime2025", "aime2026", "hmmt_feb_2025", "hmmt_nov_2025", "hmmt_feb_2026")
TEN += ("beyond_aime", "brumo2025", "brumo2026", "cmimc2025", "cmimc2026")
SIX = ("aime2024", "aime2025", "gpqa_diamond", "beyond_aime", "math500")
SIX += ("olympiadbench",)
# Samples of each question: C.3, C.5, Table 7.
SAMPLES = {
    "released": dict.fromkeys(EIGHT, 8)
    | dict.fromkeys(FOUR, 4)
    | {"ifeval": 1, "ifbench": 1},
    "baselines": dict.fromkeys((*SIX, "hmmt_feb_2025"), 8),
    "baselines_openthoughts3": dict.fromkeys(SIX, 8),
    "single_teacher": dict.fromkeys(TEN, 8),
    "rlve_qwen3": {"rlve_1_10": 32, "rlve_11_15": 64},
    "rlve_olmo3": {"rlve": 32},
    "omega_qwen3": {"omega": 64},
    "omega_olmo3": {"omega": 64},
    "sokoban": {"sokoban": 64},
    "program_simulation": {"program_simulation": 64},
}


def test_every_evaluation_of_the_paper_is_a_variant():
    assert set(DECODING) == set(PROTOCOLS)


@pytest.mark.parametrize("variant", DECODING)
def test_decoding_number_by_number(variant):
    found = config(variant).decoding
    names = ("temperature", "top_p", "max_new_tokens", "prompt_tokens")
    assert tuple(found[name] for name in names) == DECODING[variant]
    assert (found.top_k, found.min_p, found.seed) == (0, 0.0, 0)


@pytest.mark.parametrize("variant", SAMPLES)
def test_samples_number_by_number(variant):
    sets = config(variant).sets
    assert {name: one.samples for name, one in sets.items()} == SAMPLES[variant]


def test_parts_of_problems_and_of_files():
    sets = config("rlve_qwen3").sets
    assert sets.rlve_1_10.difficulties == (1, 10)
    assert sets.rlve_11_15.difficulties == (11, 15)
    assert (sets.rlve_1_10.passes, sets.rlve_11_15.passes) == ((32,), (32, 64))
    assert config("omega_qwen3").sets.omega.subset == 300
    assert config("omega_olmo3").sets.omega.subset == 500
    assert config("sokoban").sets.sokoban.passes == (4, 64)


@pytest.mark.parametrize("variant", ["run", *PROTOCOLS])
def test_every_field_has_a_rule_that_it_keeps(variant):
    found = plain(config(variant))
    require_rules(flat(found), RULES)
    for block in found["sets"].values():
        require_rules(block, SET_RULES)
        assert {*block} == {*SET_RULES, "path"}
        assert all(1 < k <= block["samples"] for k in block["passes"])
