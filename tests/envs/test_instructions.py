"""Instructions: what each of many kinds takes and refuses, and what is counted."""

import importlib.util
import json
import socket
from pathlib import Path

import pytest

from routejax.envs.benchmarks import read_questions
from routejax.envs.instructions import (
    accuracies,
    config_of,
    environment,
    following,
    library,
    scores,
)
from routejax.envs.instructions.following import Followed
from routejax.envs.judging import Judges, Request
from routejax.envs.problem import Verdict
from routejax.errors import UserError

LIBRARY = pytest.mark.skipif(
    importlib.util.find_spec("if_verifiable") is None,
    reason="if-verifiable is not installed (extra `instructions`)",
)


def config(benchmark, *wanted, prompt="Say something."):
    names, kwargs = zip(*wanted, strict=True)
    meta = {"instruction_id_list": list(names), "kwargs": list(kwargs)}
    return config_of(benchmark, prompt, meta)


LOUD = "THIS IS AN ENGLISH SENTENCE THAT IS WRITTEN IN LARGE LETTERS FROM THE START"
# benchmark, instruction, arguments, a response that follows, one that does not
KINDS = [
    ("ifeval", "punctuation:no_comma", {}, "No commas here", "Well, one"),
    ("ifeval", "change_case:english_lowercase", {}, "all is small here", "All is not"),
    ("ifeval", "change_case:english_capital", {}, LOUD, LOUD.title()),
    ("ifeval", "detectable_format:json_format", {}, '{"a": 1}', "{a: 1}"),
    ("ifeval", "detectable_format:title", {}, "<<Title>>\nText", "Title\nText"),
    ("ifeval", "startend:quotation", {}, '"quoted"', "not quoted"),
    (
        "ifeval",
        "startend:end_checker",
        {"end_phrase": "The end."},
        "So. The end.",
        "So",
    ),
    (
        *("ifeval", "keywords:existence", {"keywords": ["cat", "dog"]}),
        *("A cat and a dog", "A cat"),
    ),
    (
        *("ifeval", "keywords:forbidden_words", {"forbidden_words": ["cat"]}),
        *("A dog", "A cat"),
    ),
    (
        "ifeval",
        "keywords:frequency",
        {"keyword": "cat", "frequency": 2, "relation": "at least"},
        *("cat and cat", "one cat"),
    ),
    (
        "ifeval",
        "keywords:letter_frequency",
        {"letter": "z", "let_frequency": 3, "let_relation": "at least"},
        *("zzz", "zz top"),
    ),
    (
        "ifeval",
        "length_constraints:number_words",
        {"num_words": 3, "relation": "less than"},
        *("two words", "these are four words"),
    ),
    (
        *("ifeval", "length_constraints:number_paragraphs", {"num_paragraphs": 2}),
        *("one\n***\ntwo", "only one"),
    ),
    (
        *("ifeval", "detectable_content:number_placeholders", {"num_placeholders": 2}),
        *("[name] of [place]", "[name] only"),
    ),
    (
        *("ifeval", "detectable_content:postscript", {"postscript_marker": "P.S."}),
        *("Dear you\nP.S. me too", "Dear you"),
    ),
    (
        *("ifeval", "detectable_format:number_bullet_lists", {"num_bullets": 2}),
        *("* one\n* two", "* one"),
    ),
    (
        *(
            "ifeval",
            "detectable_format:number_highlighted_sections",
        ),
        *({"num_highlights": 1}, "so *very* bright", "not bright"),
    ),
    ("ifeval", "combination:two_responses", {}, "One ****** Two", "One and two"),
    (
        *("ifeval", "language:response_language", {"language": "de"}),
        "Das ist ein ganz gewöhnlicher deutscher Satz über das Wetter.",
        "This is a quite ordinary English sentence about the weather.",
    ),
    ("ifbench", "count:numbers", {"N": 2}, "1 and 2", "1 only"),
    ("ifbench", "format:no_whitespace", {}, "nospace", "some space"),
    ("ifbench", "count:conjunctions", {"small_n": 2}, "this and that or", "this and"),
    (
        *("ifbench", "count:person_names", {"N": 2}),
        *("Emma met Liam", "Emma met nobody"),
    ),
    ("ifbench", "words:vowel", {}, "a cat sat and ran", "a quite long education"),
    ("ifbench", "words:repeats", {"small_n": 1}, "one two three", "one one one"),
    ("ifbench", "format:quote_unquote", {}, 'He said "go" and left.', '"go"'),
]


@LIBRARY
@pytest.mark.parametrize(("benchmark", "name", "kwargs", "good", "bad"), KINDS)
def test_what_follows_and_what_does_not(benchmark, name, kwargs, good, bad):
    asked = config(benchmark, (name, kwargs))
    for text, right in ((good, True), (bad, False), ("", False), (" \n", False)):
        verdict = environment.judge(asked, text)
        assert verdict.solved == right
        assert verdict.score == right
        assert verdict.status == ("answered" if text.strip() else "no_answer")
        assert json.loads(verdict.answer)["by"] == library.version()
    thought = f"<think>, Hm 1 [x] {bad}</think>\n{good}"
    assert environment.judge(asked, thought).solved
    assert not environment.judge(asked, f"<think>{good}").solved


@LIBRARY
def test_all_must_be_followed_and_loose_is_another_number():
    asked = config(
        "ifeval",
        ("punctuation:no_comma", {}),
        ("startend:end_checker", {"end_phrase": "The end."}),
    )
    verdict = environment.judge(asked, "Sure, here:\nA story. The end.")
    assert (verdict.solved, verdict.score) == (False, 0.5)
    told = json.loads(verdict.answer)
    assert told == {
        "strict": [False, True],
        "loose": [True, True],
        "by": library.version(),
    }


@LIBRARY
def test_unknown_instructions_and_arguments_are_errors():
    for benchmark, name, kwargs, told in (
        ("ifeval", "punctuation:no_commas", {}, "did you mean punctuation:no_comma"),
        ("ifeval", "en:punctuation:no_comma", {}, "unknown instruction"),
        ("ifbench", "punctuation:no_comma", {}, "unknown instruction"),
        ("ifeval", "keywords:existence", {}, "needs keywords"),
        ("ifeval", "punctuation:no_comma", {"x": 1}, "do not fit"),
        ("m-ifeval", "punctuation:no_comma", {}, "ifeval or ifbench"),
    ):
        with pytest.raises(UserError, match=told):
            environment.judge(config(benchmark, (name, kwargs)), "text")


@LIBRARY
def test_missing_data_is_not_checkable_and_nothing_is_fetched(monkeypatch):
    nltk = importlib.import_module("nltk")
    monkeypatch.setattr(nltk.data, "path", [])
    nltk.data.clear_cache()
    calls = []
    monkeypatch.setattr(socket.socket, "connect", lambda *a: calls.append(a))
    asked = config("ifbench", ("ratio:stop_words", {"percentage": 50}))
    verdict = environment.judge(asked, "This is a text.")
    assert (verdict.solved, verdict.status) == (False, "error")
    assert json.loads(verdict.answer)["missing"] == ["stopwords"]
    assert not nltk.download("stopwords", quiet=True)
    assert not calls


@LIBRARY
def test_a_worker_gives_the_same_each_time():
    asked = [
        Request(
            "instructions",
            config("ifeval", ("language:response_language", {"language": "en"})),
            text,
            text,
        )
        for text in ("ok la di da", "no se me", "the day is long and the sun is out")
    ]
    asked.append(asked[0]._replace(config={"benchmark": "ifeval"}, id="broken"))
    runs = []
    for _ in range(2):
        with Judges(workers=1, timeout_s=60) as pool:
            runs.append(pool.judge(asked))
            assert pool.stats()["errors"]["instructions"]["ids"] == ["broken"]
    assert runs[0] == runs[1]
    assert runs[0][2].solved


@LIBRARY
@pytest.mark.parametrize(("name", "instructions"), [("ifeval", 834), ("ifbench", None)])
def test_every_published_instruction_has_a_checker(name, instructions):
    path = Path(__file__).parents[3] / f"shared/data/benchmarks/{name}.jsonl"
    if not path.exists():
        pytest.skip(f"no file of {name} here")
    questions = read_questions(path, name).questions
    found = [
        following.prepared(name, instruction, kwargs, question.prompt)
        for question in questions
        for config in [config_of(name, question.prompt, question.meta)]
        for instruction, kwargs in zip(
            config["instruction_id_list"], config["kwargs"], strict=True
        )
    ]
    assert len(found) == (instructions or len(found))


def test_versions_of_a_text():
    assert following.loosened("a\n*b*\nc") == [
        *("a\n*b*\nc", "*b*\nc", "a\n*b*", "*b*"),
        *("a\nb\nc", "b\nc", "a\nb", "b"),
    ]


def told(strict, loose, missing=""):
    pairs = zip(strict, loose, strict=True)
    found = [Followed(s, x, missing if s is None else "") for s, x in pairs]
    status = "error" if missing else "answered"
    return Verdict(False, 0.0, scores.written(found, "by 1"), status)


def test_accuracies_by_hand():
    verdicts = [
        told([True, True], [True, True]),
        told([True, False], [True, True]),
        told([False], [False]),
        told([True, None], [True, None], "punkt_tab"),
        Verdict(False, 0.0, None, "timeout"),
    ]
    assert accuracies(verdicts, list("abcde")) == {
        "prompt_strict": 1 / 3,
        "prompt_loose": 2 / 3,
        "instruction_strict": 3 / 5,
        "instruction_loose": 4 / 5,
        "counted": 3,
        "not_checkable": ["d"],
        "failed": ["e"],
        "checkers": ["by 1"],
    }
    assert accuracies([], [])["prompt_strict"] is None


def test_questions_become_configs():
    row = {"instruction_id_list": ["a:b"], "kwargs": [None]}
    wanted = {"benchmark": "ifeval", "prompt": "p", **row, "kwargs": [{}]}
    assert config_of("ifeval", "p", row) == wanted
    mixed = {"instruction_id": ["a:b"], "kwargs": [None]}
    assert config_of("ifeval", "p", {"ground_truth": [mixed]}) == wanted
    for wrong in (
        {"ground_truth": "x"},
        {"instruction_id_list": ["a"], "kwargs": []},
        {"instruction_id_list": [], "kwargs": []},
    ):
        with pytest.raises(UserError, match="a question of kind ifeval"):
            config_of("ifeval", "p", wrong)


def test_without_the_library_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    library.checkers.cache_clear()
    with pytest.raises(UserError, match=r"routejax\[instructions\]"):
        library.checkers("ifeval")
