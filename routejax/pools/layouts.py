"""The layouts of released corpora as a table: how each is recognised, what lies where.

A field is given as column names, the first that holds something wins: `a|b`. A dot goes
into an object, `=text` is the text itself. What no field takes goes to `meta`. Columns
that one layout needs and another does not decide between the two, so the order of the
table matters: the first whose columns are all there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from routejax.traces import SCHEMA

# What may be placed by hand: the canonical columns, and the parts that make them;
# `meta` is whatever is left.
PARTS = ("messages", "completion", "reasoning", "answer", "system")
FIELDS = (*(name for name in SCHEMA.names if name != "meta"), *PARTS)

_PROMPT = "prompt|question|problem|instruction|query|input"
_THOUGHT = (
    "thinking|reasoning|reasoning_content|reasoning_trace|thoughts|thinking_trajectory"
)

# Fields that mean the same in every layout; a layout's own win.
COMMON: Mapping[str, str] = {
    "id": "id|uuid",
    "prompt_id": "prompt_id|problem_id|prompt_sha",
    "group": "group|domain|category|subject",
    "source": "generator|model|model_name|teacher",
    "verified": "verified|is_correct|correct",
    "system": "system|system_message|system_prompt",
}


@dataclasses.dataclass(frozen=True)
class Layout:
    """Where a corpus keeps what a candidate solution consists of.

    Attributes:
        what: whose layout it is.
        needs: column names by which it is recognised; `a|b` is either of them.
        fields: one mapping of field to columns per candidate solution of a row.
        only: the columns it may have, empty for any.
        each: lists of which every entry is a candidate solution, outermost first.
        beside: lists parallel to the last of `each`.
    """

    what: str
    needs: tuple[str, ...]
    fields: tuple[Mapping[str, str], ...]
    only: tuple[str, ...] = ()
    each: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()


def _layout(what: str, needs: tuple[str, ...], **fields: str) -> Layout:
    return Layout(what, needs, (fields,))


LAYOUTS: dict[str, Layout] = {
    "canonical": Layout(
        "a pool file of this package, perhaps without some of its columns",
        ("prompt", "response"),
        ({name: name for name in SCHEMA.names},),
        only=tuple(SCHEMA.names),
    ),
    "open_r1": Layout(
        "Open-R1: several generations per problem",
        ("problem|prompt|question", "generations"),
        (
            {
                "prompt": "problem|prompt|question",
                "response": "generations",
                "verified": "correctness_math_verify|correctness_llama",
            },
        ),
        each=("generations",),
        beside=(
            *("correctness_math_verify", "correctness_llama", "finish_reasons"),
            *("is_reasoning_complete", "correctness_count"),
        ),
    ),
    "reasoning_gym_results": Layout(
        "evaluation files of reasoning-gym: one data set per line",
        ("results", "completions_per_prompt"),
        (
            {
                "prompt": "results.question",
                "response": "results.completions.full_model_response",
                "group": "category",
                "env": "name",
                "verified": "results.completions.score",
                "source": "model",
            },
        ),
        each=("results", "results.completions"),
    ),
    "prompt_completion": _layout(
        "INTELLECT-3, TRL: prompt and completion, each a text or a list of messages",
        ("prompt", "completion"),
        messages="prompt",
        completion="completion",
        group="domain|category|source",
    ),
    "s1k": Layout(
        "s1K: thinking trajectory and attempt of one or two teachers",
        (
            "question",
            "deepseek_thinking_trajectory|gemini_thinking_trajectory",
        ),
        tuple(
            {
                "prompt": "question",
                "reasoning": f"{teacher}_thinking_trajectory",
                "answer": f"{teacher}_attempt",
                "source": f"={teacher}",
            }
            for teacher in ("deepseek", "gemini")
        ),
    ),
    "mip_columns": Layout(
        "MiP-Overthinking: a column of responses per column of questions",
        (
            "question",
            "deepseek-reasoner (question)|deepseek-reasoner (insufficient_question)",
        ),
        tuple(
            {
                "prompt": asked,
                "response": f"deepseek-reasoner ({asked})",
                "source": "=deepseek-reasoner",
            }
            for asked in ("question", "insufficient_question")
        ),
    ),
    "nested_result": _layout(
        "reasoning-models-lie: the result of a call in an object",
        ("user_message", "result"),
        prompt="user_message",
        reasoning="result.reasoning_trace",
        answer="result.response|result.content",
        source="result.metadata.model",
        group="meta.domain",
    ),
    "full_response": _layout(
        "reasoning-trace studies: the whole turn beside its parts",
        ("prompt|problem", "full_response"),
        prompt="prompt|problem",
        response="full_response",
        prompt_id="item_id",
    ),
    "raw_generation": _layout(
        "countdown post-training: prompt and raw generation",
        ("prompt", "raw_generation"),
        prompt="prompt",
        response="raw_generation",
    ),
    "model_answer": _layout(
        "MiP-Overthinking: question, reference answer and the model's answer",
        ("question", "model_answer"),
        prompt="question",
        response="model_answer",
    ),
    "openthoughts3": _layout(
        "OpenThoughts3: conversations by domain; `source` names the question set",
        ("conversations|messages", "domain", "difficulty", "source"),
        messages="conversations|messages",
    ),
    "nemotron_cascade": _layout(
        "Nemotron-Cascade: messages, maybe as JSON text, with domain and generator",
        ("messages", "domain", "generator"),
        messages="messages",
    ),
    "dolci": _layout(
        "Dolci-Think: messages, id and the name of the subset",
        ("messages", "id", "source"),
        messages="messages",
        group="domain|source",
    ),
    "messages": _layout(
        "any list of chat messages",
        ("messages|conversations|conversation",),
        messages="messages|conversations|conversation",
    ),
    "reasoning_column": _layout(
        "prompt, reasoning and answer in columns of their own",
        (_PROMPT, _THOUGHT, "response|content|answer|final_answer|solution|attempt"),
        prompt=_PROMPT,
        reasoning=_THOUGHT,
        answer="response|content|answer|final_answer|solution|attempt",
    ),
    "content_thinking": _layout(
        "replies of a chat server: content and thinking, the prompt elsewhere",
        ("content", "thinking"),
        reasoning="thinking",
        answer="content",
    ),
    "pair": _layout(
        "a column of prompts and one of responses",
        (_PROMPT, "response|completion|output|generation|model_response"),
        prompt=_PROMPT,
        response="response|completion|output|generation|model_response",
    ),
}
