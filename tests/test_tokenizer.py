"""Text to ids and back without a loss, and turns with one BOS and one EOS."""

import dataclasses
import io

import pytest
import sentencepiece
import tokenizers as library
from hypothesis import given, settings
from hypothesis import strategies as st

from routejax import tokenizer
from routejax.errors import UserError
from routejax.tokenizer import BOS, EOS, PAD, UNK, local

TEXTS = [
    "Sort 31 12 2: the smallest is 2, then 12.\n<think>check 12 < 31</think>\nend",
    "  two  spaces, a tab\tand é?\n\nSort 3 2 1; sort 1 2 3! 12 12 12.",
    "Sort the smallest, sort the smallest, sort the smallest.",
]
# Characters that occur outside the tags, which are ids as a whole.
ALPHABET = sorted(set("".join(TEXTS)) - set("/>"))


@pytest.fixture(scope="module")
def made():
    return tokenizer.train(TEXTS, size=90)


def pieces(made, text):
    """The parts of `text` that its ids stand for."""
    return [made.decode([i]) for i in made.encode(text)]


@settings(deadline=None, max_examples=300)
@given(
    text=st.lists(
        st.sampled_from([*ALPHABET, " ", " ", "\n", "<think>", "</think>"]), max_size=40
    ).map("".join)
)
def test_every_text_over_the_alphabet_comes_back(made, text):
    ids = made.encode(text)
    assert made.decode(ids) == text
    assert not {PAD, UNK, BOS, EOS} & set(ids)
    assert all(0 <= i < made.size for i in ids)
    assert "".join(made.decode([i]) for i in ids) == text


def test_special_ids_are_fixed(made):
    assert (PAD, UNK, BOS, EOS) == (0, 1, 2, 3)
    assert made.decode([PAD, BOS, *made.encode("end"), EOS, PAD]) == "end"
    assert made.decode([]) == ""
    other = sentencepiece_with_other_ids()
    with pytest.raises(UserError, match=r"\(0, 1, 2, 3\), got \(-1, 0, 1, 2\)"):
        local(other)


def sentencepiece_with_other_ids():
    """A model with the trainer's own ids: unk, bos, eos, and no padding."""
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["ab ab"]),
        model_writer=out,
        vocab_size=8,
        model_type="bpe",
        hard_vocab_limit=False,
        minloglevel=2,
    )
    return out.getvalue()


def test_turns_have_one_bos_and_one_eos(made):
    prompt, response = made.prompt(TEXTS[0]), made.response(TEXTS[1])
    assert prompt[0] == BOS
    assert response[-1] == EOS
    both = prompt + response
    assert (both.count(BOS), both.count(EOS)) == (1, 1)
    assert made.decode(both) == f"{TEXTS[0]}\n{TEXTS[1]}"
    assert made.response("") == [EOS]
    assert made.decode(made.prompt("")) == "\n"


def test_what_looks_like_a_special_id_is_text():
    """A response that spells the end of a turn must not end it."""
    made = tokenizer.train(["a < b / c > s pad unk"], size=60)
    for text in ("</s>", "<s>", "<pad>", "a<unk>"):
        ids = made.encode(text)
        assert made.decode(ids) == text
        assert min(ids) > EOS


def test_prompts_and_responses_are_split_where_they_meet(made):
    """Ids of the turn never span the border, wherever the texts are cut."""
    text = TEXTS[2]
    for cut in range(len(text)):
        prompt, response = made.prompt(text[:cut]), made.response(text[cut:])
        assert made.decode(prompt) == text[:cut] + "\n"
        assert made.decode(response) == text[cut:]


@pytest.mark.parametrize("mark", list(".,:;?!"))
def test_marks_are_ids_of_their_own(mark):
    """Though they always follow the same word."""
    made = tokenizer.train([f"12{mark} done{mark} 12{mark} done{mark}"] * 9, size=60)
    found = pieces(made, f"done{mark} 12{mark}")
    assert found.count(mark) == 2
    assert not any(mark in piece for piece in found if piece != mark)
    assert "done" in found  # words do become one id


def test_newlines_and_tags_are_ids_of_their_own(made):
    found = pieces(made, "end\n\n<think>sort</think>\n")
    assert [p for p in found if p in ("\n", "<think>", "</think>")] == [
        *"\n\n",
        "<think>",
        "</think>",
        "\n",
    ]


def test_the_same_texts_give_the_same_model(made):
    again = tokenizer.train(iter(TEXTS), size=90)
    assert again.files == made.files
    assert again.digest == made.digest
    assert tokenizer.train(TEXTS[:2], size=90).digest != made.digest
    model = made.files["tokenizer.model"]
    assert local(model).encode(TEXTS[0]) == made.encode(TEXTS[0])


@pytest.mark.parametrize(
    ("text", "odd"),
    [
        ("2 ÷ 1", r"\['÷'\]"),
        ("Zorrü", r"\['Z', 'ü'\]"),
        ("a\rb", r"\['\\r'\]"),
        # How the model writes a space inside: it would come back as one.
        ("a\u2581b", "\\['\u2581'\\]"),
    ],
)
def test_unknown_characters_are_named(made, text, odd):
    for turn in (made.encode, made.prompt, made.response):
        with pytest.raises(UserError, match=f"does not know the characters {odd}"):
            turn(text)


def test_a_space_may_be_unknown_too():
    made = tokenizer.train(["abc"], size=40)
    with pytest.raises(UserError, match=r"characters \[' '\]"):
        made.encode("a b")


@pytest.mark.parametrize("texts", [TEXTS, ["abc"], ["a b.\nc"], ["é, ü!"]])
def test_the_least_size_is_named_and_suffices(texts):
    with pytest.raises(UserError, match="at least") as caught:
        tokenizer.train(texts, size=5)
    least = int(str(caught.value).split("at least ")[1].split()[0])
    with pytest.raises(UserError, match=f"at least {least} .*, got {least - 1}"):
        tokenizer.train(texts, size=least - 1)
    made = tokenizer.train(texts, size=least)
    assert made.size <= least
    assert tokenizer.audit(made, texts) == len(texts)


def test_size_is_a_limit_that_training_text_may_not_reach(made):
    assert made.size <= 90
    assert tokenizer.train(["ab"], size=500).size < 20


def test_long_lines_are_trained_on_too():
    """SentencePiece leaves out lines over its limit and says nothing."""
    made = tokenizer.train(["short", "long " * 2000 + "é"], size=60)
    assert made.decode(made.encode("é")) == "é"
    assert pieces(made, "long long")[-1].strip() == "long"


def test_an_audit_counts_and_refuses(made):
    assert tokenizer.audit(made, TEXTS) == 3
    assert tokenizer.audit(made, []) == 0
    lossy = dataclasses.replace(made, join=lambda ids: "something else")
    with pytest.raises(UserError, match=r"does not keep 'Sort 31 .* gives 'something"):
        tokenizer.audit(lossy, TEXTS)


def test_an_encoder_of_a_sentencepiece_file(tmp_path):
    made = tokenizer.train(TEXTS, size=90)
    (tmp_path / "t.model").write_bytes(made.files["tokenizer.model"])
    encode = tokenizer.encoder(tmp_path / "t.model")
    assert encode(TEXTS) == [made.encode(text) for text in TEXTS]
    assert encode([""]) == [[]]


def test_an_encoder_of_a_hugging_face_file(tmp_path):
    made = library.Tokenizer(
        library.models.WordLevel({"[UNK]": 0, "a": 1, "b": 2, "[CLS]": 3}, "[UNK]")
    )
    made.pre_tokenizer = library.pre_tokenizers.Whitespace()
    made.post_processor = library.processors.TemplateProcessing(
        single="[CLS] $A", special_tokens=[("[CLS]", 3)]
    )
    made.enable_truncation(2)
    made.enable_padding()
    made.save(str(tmp_path / "tokenizer.json"))
    encode = tokenizer.encoder(str(tmp_path / "tokenizer.json"))
    assert encode(["a b a b", "c", ""]) == [[1, 2, 1, 2], [0], []]


def test_encoders_of_other_files(tmp_path):
    for name in ("t.model", "t.json", "t.bin"):
        (tmp_path / name).write_text("nothing")
    for name, words in (
        ("t.model", "is no SentencePiece model"),
        ("t.bin", r"must be a SentencePiece .model or a Hugging Face .json file"),
        ("absent.json", "there is no tokenizer .*absent.json"),
    ):
        with pytest.raises(UserError, match=words):
            tokenizer.encoder(tmp_path / name)
    with pytest.raises(UserError, match="is no Hugging Face tokenizer"):
        tokenizer.encoder(tmp_path / "t.json")
