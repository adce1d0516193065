"""How the paper evaluates: samples per question, decoding, caps, what is reported.

Every number is the paper's (section in `source`); None where it gives none. Accuracy
is the mean over responses, then questions (acc@1); coverage is pass@k. A mean over
benchmarks weighs them equally, and a relative gain is taken of such means (C.5).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Protocol:
    """One evaluation.

    Attributes:
        source: section or table of the paper.
        samples: responses per question, by benchmark.
        passes: the k of the reported pass@k; 1 is mean sampled accuracy.
        questions: size of the evaluated sets where the paper says it.
        temperature, top_p: of the sampling.
        response_tokens, context_tokens: caps.
        mean_over: how benchmarks are aggregated: "benchmarks" (equal weights),
            "questions" (one set), or "none" (each by itself).
    """

    source: str
    samples: Mapping[str, int]
    passes: tuple[int, ...]
    temperature: float | None = None
    top_p: float | None = None
    response_tokens: int | None = None
    context_tokens: int | None = None
    questions: Mapping[str, int] | None = None
    mean_over: str = "benchmarks"


_EIGHT = (
    *("aime2024", "aime2025", "hmmt_feb_2025", "hmmt_nov_2025", "amc2023"),
    *("beyond_aime", "gpqa_diamond"),
)
_OMEGA = ("omega_explorative", "omega_compositional", "omega_transformative")
_SIX = (
    *("aime2025", "gpqa_diamond", "aime2024", "beyond_aime", "math500"),
    "olympiadbench",
)
_TEN = (
    *("aime2025", "aime2026", "hmmt_feb_2025", "hmmt_nov_2025", "hmmt_feb_2026"),
    *("beyond_aime", "brumo2025", "brumo2026", "cmimc2025", "cmimc2026"),
)
_THINK = {
    "temperature": 0.7,
    "top_p": 0.95,
    "response_tokens": 30_720,
    "context_tokens": 32_768,
}
_SETS = {"aime2024": 30, "aime2025": 30, "math500": 500, "minerva": 272}

PROTOCOLS: dict[str, Protocol] = {
    "released": Protocol(
        "C.2, C.3, Table 7",
        {
            **dict.fromkeys(_EIGHT, 8),
            **dict.fromkeys(("math500", "olympiadbench", *_OMEGA, "enigmata"), 4),
            **dict.fromkeys(("ifeval", "ifbench"), 1),
        },
        (1, 4, 8),
        mean_over="none",
        **_THINK,
    ),
    "baselines_openthoughts3": Protocol(
        "C.4, C.5", dict.fromkeys(_SIX, 8), (1, 8), **_THINK
    ),
    "baselines": Protocol(
        "C.4, C.5", dict.fromkeys((*_SIX, "hmmt_feb_2025"), 8), (1, 8), **_THINK
    ),
    "single_teacher": Protocol("Table 7", dict.fromkeys(_TEN, 8), (8,), **_THINK),
    "teacher_sources": Protocol(
        "Figure 12, B.1, B.2",
        dict.fromkeys(_SETS, 64),
        (1, 2, 4, 8, 16, 32, 64),
        temperature=1.0,
        response_tokens=8_192,
        questions=_SETS,
    ),
    "omega_qwen3": Protocol(
        "D.3, Table 7",
        {"omega": 64},
        (64,),
        questions={"omega": 300},
        mean_over="questions",
    ),
    "omega_olmo3": Protocol(
        "D.3, Table 7",
        {"omega": 64},
        (64,),
        questions={"omega": 500},
        mean_over="questions",
    ),
    "enigmata_sources": Protocol(
        "B",
        {"enigmata_id": 64, "enigmata_ood": 64},
        (1, 8, 32, 64),
        questions={"enigmata_id": 125, "enigmata_ood": 361},
        mean_over="none",
    ),
    "rlve_qwen3": Protocol(
        "Table 7",
        {"rlve_1_10": 32, "rlve_11_15": 64},
        (32, 64),
        questions={"rlve_1_10": 3_287, "rlve_11_15": 1_587},
        mean_over="none",
    ),
    "rlve_olmo3": Protocol(
        "Table 7, A.3",
        {"rlve": 32},
        (8, 32),
        response_tokens=32_768,
        questions={"rlve": 5_682, "rlve_seen": 937, "rlve_unseen": 4_745},
        mean_over="questions",
    ),
    "sokoban": Protocol(
        "Table 7",
        {"sokoban": 64},
        (1, 4, 64),
        questions={"easy": 193, "medium": 176, "hard": 96, "expert": 35},
        mean_over="questions",
    ),
    "program_simulation": Protocol(
        "A.8, Table 7",
        {"program_simulation": 64},
        (1, 4, 64),
        temperature=0.8,
        questions={"program_simulation": 500},
        mean_over="questions",
    ),
    "mixed_rewards": Protocol(
        "A.3, C.1",
        {"dolci_math": 8},
        (1,),
        temperature=1.0,
        top_p=1.0,
        response_tokens=30_720,
        questions={"dolci_math": 64},
        mean_over="questions",
    ),
}

# OMEGA problems by side (Table 7): RL in and out of distribution, held out.
OMEGA_SIDES = {"rl_in": 600, "rl_out": 4_070, "evaluation": 592}
