"""OMEGA problems apart by setting, and the paper's numbers of evaluation."""

import pytest

from routejax.envs.benchmarks import (
    KNOWN,
    OMEGA_SIDES,
    PROTOCOLS,
    Question,
    split,
    subset,
)
from routejax.errors import UserError


def problems(sizes: dict[str, int]) -> list[Question]:
    return [
        Question(f"{setting}{i}", f"{setting}, {i}?", "5", "math", {"setting": setting})
        for setting, size in sizes.items()
        for i in range(size)
    ]


def test_sides_share_no_problem_and_all_settings():
    questions = problems({"a": 50, "b": 30, "c": 20, "d": 2, "e": 1})
    sides = split(questions, evaluation=21)
    assert len(sides.evaluation) == 21
    assert {q.id for q in sides.rl} | {q.id for q in sides.evaluation} == {
        q.id for q in questions
    }
    assert not {q.prompt for q in sides.rl} & {q.prompt for q in sides.evaluation}
    counts = [sum(q.meta["setting"] == k for q in sides.evaluation) for k in "abcde"]
    assert counts == [10, 6, 4, 1, 0]  # 21/103 of each, one at least where two are


def test_sides_do_not_depend_on_order_but_on_the_seed():
    questions = problems({"a": 20, "b": 20})
    one = split(questions, evaluation=10)
    other = split(questions[::-1], evaluation=10)
    assert set(map(id, one.evaluation)) == set(map(id, other.evaluation))
    assert one.evaluation != split(questions, evaluation=10, seed=1).evaluation


def test_equal_prompts_stay_together():
    questions = problems({"a": 8, "b": 8})
    twins = [
        Question(f"twin {q.id}", q.prompt + " ", "5", "math", {"setting": s})
        for q, s in zip(questions, "ab" * 8, strict=True)
    ]
    for seed in range(10):
        sides = split([*questions, *twins], evaluation=6, seed=seed)
        rl, evaluation = ({q.prompt.strip() for q in side} for side in sides)
        assert not rl & evaluation
        assert (len(rl), len(evaluation)) == (10, 6)


@pytest.mark.parametrize("evaluation", [0, 1, 9, 100])
def test_a_side_that_cannot_be_is_a_mistake(evaluation):
    with pytest.raises(UserError, match=r"evaluation must be in 2\.\.8"):
        split(problems({"a": 5, "b": 5}), evaluation=evaluation)


def test_questions_need_a_setting():
    with pytest.raises(UserError, match="'q' has no setting"):
        split([Question("q", "Q", "5", "math")], evaluation=1)


def test_a_subset_is_a_part_of_a_larger_one():
    questions = problems({"a": 40})
    few, more = subset(questions, 10), subset(questions[::-1], 20)
    assert len(set(map(id, few))) == 10
    assert more[:10] == few
    with pytest.raises(UserError, match=r"n must be in 1\.\.40"):
        subset(questions, 41)


def test_released_corpora():
    released = PROTOCOLS["released"]
    assert len(released.samples) == 15
    eight = {k for k, n in released.samples.items() if n == 8}
    assert eight == {
        *("aime2024", "aime2025", "hmmt_feb_2025", "hmmt_nov_2025", "amc2023"),
        *("beyond_aime", "gpqa_diamond"),
    }
    four = {k for k, n in released.samples.items() if n == 4}
    assert four == {
        *("math500", "olympiadbench", "enigmata", "omega_explorative"),
        *("omega_compositional", "omega_transformative"),
    }
    assert {k for k, n in released.samples.items() if n == 1} == {"ifeval", "ifbench"}
    assert set(released.samples) <= set(KNOWN)


@pytest.mark.parametrize(
    "name", ["released", "baselines", "baselines_openthoughts3", "single_teacher"]
)
def test_decoding_of_the_think_template(name):
    one = PROTOCOLS[name]
    assert (one.temperature, one.top_p) == (0.7, 0.95)
    assert (one.response_tokens, one.context_tokens) == (30_720, 32_768)


def test_selection_baselines():
    six = PROTOCOLS["baselines_openthoughts3"].samples
    seven = PROTOCOLS["baselines"].samples
    assert (len(six), len(seven)) == (6, 7)
    assert set(seven) - set(six) == {"hmmt_feb_2025"}
    assert {*six.values(), *seven.values()} == {8}
    assert PROTOCOLS["baselines"].mean_over == "benchmarks"


def test_single_teacher():
    one = PROTOCOLS["single_teacher"]
    assert len(one.samples) == 10
    assert set(one.samples) <= set(KNOWN)
    assert (set(one.samples.values()), one.passes) == ({8}, (8,))


def test_teacher_sources():
    one = PROTOCOLS["teacher_sources"]
    assert one.samples == {"aime2024": 64, "aime2025": 64, "math500": 64, "minerva": 64}
    assert (one.temperature, one.response_tokens) == (1.0, 8_192)
    assert one.questions == {name: KNOWN[name].rows for name in one.samples}


def test_testbeds():
    sets = {name: one.questions for name, one in PROTOCOLS.items()}
    assert sets["omega_qwen3"] == {"omega": 300}
    assert sets["omega_olmo3"] == {"omega": 500}
    assert sets["sokoban"] == {"easy": 193, "medium": 176, "hard": 96, "expert": 35}
    assert sum(sets["sokoban"].values()) == 500
    assert sets["rlve_olmo3"] == {
        "rlve": 5_682,
        "rlve_seen": 937,
        "rlve_unseen": 4_745,
    }
    assert sets["rlve_qwen3"] == {"rlve_1_10": 3_287, "rlve_11_15": 1_587}
    assert sets["enigmata_sources"] == {"enigmata_id": 125, "enigmata_ood": 361}
    assert PROTOCOLS["program_simulation"].temperature == 0.8
    for name in ("omega_qwen3", "omega_olmo3", "sokoban", "program_simulation"):
        assert set(PROTOCOLS[name].samples.values()) == {64}
    assert OMEGA_SIDES == {"rl_in": 600, "rl_out": 4_070, "evaluation": 592}
    assert OMEGA_SIDES["rl_in"] + OMEGA_SIDES["rl_out"] == 4_670
    mixed = PROTOCOLS["mixed_rewards"]
    assert (mixed.samples, mixed.questions) == ({"dolci_math": 8}, {"dolci_math": 64})
    assert (mixed.temperature, mixed.top_p, mixed.response_tokens) == (1.0, 1.0, 30_720)
