"""One input row per layout, in the columns of its corpus, and what it is to become."""

from typing import Any, NamedTuple

THOUGHT = "<think>\nSo.\n</think>\n\n4"


class Case(NamedTuple):
    """A row, and per solution the columns that matter; `meta` is compared whole."""

    row: dict[str, Any]
    expected: list[dict[str, Any]]


def chat(role, content, **fields):
    return {"role": role, "content": content, **fields}


ASKED = chat("user", "2+2?")
DONE = {"prompt": "2+2?", "response": THOUGHT, "span": "closed", "reasoning": "So."}
FIELD = {**DONE, "span": "field", "answer": "4"}

CASES: dict[str, Case] = {
    "canonical": Case(
        {
            **{"id": "a", "prompt_id": "p", "prompt": "2+2?", "response": THOUGHT},
            **{"group": "math", "source": "m", "verified": True, "env": "sum"},
            **{"difficulty": 3, "seed": 2**40, "steps": ["setup"], "strategy": "s"},
            "meta": '{"k": 1}',
        },
        [
            {
                **{**DONE, "id": "a", "prompt_id": "p", "group": "math", "source": "m"},
                **{"verified": True, "env": "sum", "difficulty": 3, "seed": 2**40},
                **{"steps": ["setup"], "strategy": "s", "meta": {"k": 1}},
            }
        ],
    ),
    "open_r1": Case(
        {
            **{"uuid": "u", "problem": "2+2?", "generations": [THOUGHT, "<think>Hm"]},
            **{"correctness_math_verify": [True, False], "subject": "algebra"},
        },
        [
            {**DONE, "id": "u/0", "verified": True, "group": "algebra", "meta": {}},
            {
                **{"id": "u/1", "verified": False, "response": "<think>Hm"},
                **{"span": "open_only", "reasoning": "Hm", "answer": ""},
            },
        ],
    ),
    "reasoning_gym_results": Case(
        {
            **{"name": "sums", "category": "algebra", "completions_per_prompt": 2},
            "system_prompt": "Think.",
            "results": [
                {
                    "question": question,
                    "expected_answer": "4",
                    "completions": [
                        {"full_model_response": f"<think>{n}</think>4", "score": score}
                        for n, score in (("A", 1.0), ("B", 0.5))
                    ],
                }
                for question in ("2+2?", "1+3?")
            ],
        },
        [
            {
                **{"prompt": question, "response": f"<think>{n}</think>4"},
                **{"verified": verified, "group": "algebra", "env": "sums", "turns": 2},
                "meta": {
                    "completions_per_prompt": 2,
                    "results": {"expected_answer": "4", "completions": {}},
                    "routejax_turns": [{"role": "system", "content": "Think."}],
                },
            }
            for question in ("2+2?", "1+3?")
            for n, verified in (("A", True), ("B", False))
        ],
    ),
    "prompt_completion": Case(
        {
            "source": "chat",
            "prompt": [{**ASKED, "tool_calls": None}],
            "completion": [chat("assistant", THOUGHT, tool_calls=None)],
        },
        [{**DONE, "group": "chat", "turns": 2, "meta": {}}],
    ),
    "s1k": Case(
        {
            **{"question": "2+2?", "deepseek_thinking_trajectory": "So."},
            **{"deepseek_attempt": "4", "gemini_thinking_trajectory": "Ah."},
            **{"gemini_attempt": "5", "cot_type": "math"},
        },
        [
            {**FIELD, "source": "deepseek"},
            {
                **{"prompt": "2+2?", "reasoning": "Ah.", "answer": "5"},
                **{"source": "gemini", "span": "field"},
            },
        ],
    ),
    "mip_columns": Case(
        {
            **{"question": "2+2?", "insufficient_question": "2+?", "answer": "4"},
            "deepseek-reasoner (question)": THOUGHT,
        },
        [
            {
                **{**DONE, "source": "deepseek-reasoner"},
                "meta": {"answer": "4", "insufficient_question": "2+?"},
            }
        ],
    ),
    "nested_result": Case(
        {
            **{"instance_id": "i", "user_message": "2+2?", "system_message": "Think."},
            "meta": {"domain": "math", "answer": "4"},
            "result": {
                **{"response": "4", "reasoning_trace": "So.", "content": "4"},
                "metadata": {"model": "m"},
            },
        },
        [
            {
                **{**FIELD, "group": "math", "source": "m"},
                "meta": {
                    **{"instance_id": "i", "meta": {"answer": "4"}},
                    "result": {"content": "4", "metadata": {}},
                    "routejax_turns": [{"role": "system", "content": "Think."}],
                },
            }
        ],
    ),
    "full_response": Case(
        {
            **{"item_id": "i7", "prompt": "2+2?", "full_response": f"\n{THOUGHT}"},
            **{"reasoning_trace": "So.", "is_correct": False, "model_name": "m"},
        },
        [
            {
                **{**DONE, "response": f"\n{THOUGHT}", "prompt_id": "i7"},
                **{
                    "verified": False,
                    "source": "m",
                    "meta": {"reasoning_trace": "So."},
                },
            }
        ],
    ),
    "raw_generation": Case(
        {"id": "t-1", "prompt": "2+2?", "raw_generation": THOUGHT, "correct": True},
        [{**DONE, "id": "t-1", "verified": True, "meta": {}}],
    ),
    "model_answer": Case(
        {"question": "2+2?", "model_answer": THOUGHT, "answer": "#### 4"},
        [{**DONE, "answer": "4", "meta": {"answer": "#### 4"}}],
    ),
    "openthoughts3": Case(
        {
            **{"difficulty": 7, "source": "questions", "domain": "math"},
            "conversations": [
                {"from": "human", "value": "2+2?"},
                {"from": "gpt", "value": THOUGHT},
            ],
        },
        [
            {
                **{**DONE, "group": "math", "source": None, "difficulty": None},
                "meta": {"difficulty": 7, "source": "questions"},
            }
        ],
    ),
    "nemotron_cascade": Case(
        {
            **{"id": "n1", "domain": "math", "generator": "m", "tools": None},
            "messages": '[{"role":"system","content":"S"},{"role":"user","content":'
            '"2+2?"},{"role":"assistant","content":"<think>\\nSo.\\n</think>\\n\\n4"}]',
        },
        [
            {
                **{**DONE, "id": "n1", "group": "math", "source": "m", "turns": 2},
                "characters": 1 + 4 + len(THOUGHT),
                "meta": {"routejax_turns": [{"role": "system", "content": "S"}]},
            }
        ],
    ),
    "dolci": Case(
        {"messages": [ASKED, chat("assistant", THOUGHT)], "id": "x", "source": "sub"},
        [{**DONE, "id": "x", "group": "sub", "source": None, "meta": {}}],
    ),
    "messages": Case(
        {
            "messages": [
                *(chat("user", "Hi"), chat("assistant", "Hello")),
                *(ASKED, chat("assistant", "4", reasoning_content="So.")),
            ]
        },
        [
            {
                **{**FIELD, "turns": 4, "characters": 7 + 4 + len(THOUGHT)},
                "meta": {
                    "routejax_turns": [
                        {"role": "user", "content": "Hi"},
                        {"role": "assistant", "content": "Hello"},
                    ]
                },
            }
        ],
    ),
    "reasoning_column": Case(
        {"question": "2+2?", "reasoning": "So.", "response": "4", "subject": "math"},
        [{**FIELD, "group": "math", "meta": {}}],
    ),
    "content_thinking": Case(
        {"item_id": "i", "prompt_sha": "h", "content": "4", "thinking": "So."},
        [{**FIELD, "prompt": "", "prompt_id": "h", "meta": {"item_id": "i"}}],
    ),
    "pair": Case(
        {"instruction": "2+2?", "output": THOUGHT, "score": 0.5},
        [{**DONE, "meta": {"score": 0.5}}],
    ),
}
