"""Chat templates: the text, the ids of it, and which of them a student learns."""

import dataclasses
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken as Added
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

from routejax import chat, tokenizer
from routejax.errors import UserError

SPECIAL = ["<|end|>", "<s>", "<|im_start|>", "<|im_end|>", "<pad>"]


def byte_level(*, begins=False, normalizer=None, merges=()):
    """Every byte an id, merges after them, then `SPECIAL`."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    pieces = alphabet + ["".join(pair) for pair in merges]
    made = Tokenizer(
        models.BPE(vocab={p: i for i, p in enumerate(pieces)}, merges=list(merges))
    )
    made.pre_tokenizer = pre_tokenizers.ByteLevel(
        add_prefix_space=False, use_regex=False
    )
    made.decoder = decoders.ByteLevel()
    if normalizer:
        made.normalizer = normalizer
    made.add_special_tokens([Added(name, special=True) for name in SPECIAL])
    first = len(pieces)
    return tokenizer.from_json(
        made.to_str().encode(),
        eos=first,
        bos=first + 1,
        pad=first + 4,
        begins=begins,
        template=chat.TEMPLATES["chatml"],
    )


@pytest.fixture(scope="module")
def plain():
    return byte_level()


def user(text):
    return {"role": "user", "content": text}


def assistant(text):
    return {"role": "assistant", "content": text}


def test_the_text_of_a_template_by_hand(plain):
    template = chat.template_of(plain)
    both = [user("Why?"), assistant("So.")]
    assert template.render(both[:1], prompts=True) == (
        "<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n"
    )
    assert template.render(both) == (
        "<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\nSo.<|im_end|>\n"
    )


def test_a_turn_is_the_prompt_then_what_is_said_then_its_end(plain):
    used = chat.chatting(plain)
    found = used.turn("Why?", "So.")
    end = plain.special["<|im_end|>"]
    assert found.prompt == used.prompt("Why?")
    assert found.response == [*plain.encode("So."), end]
    assert used.eos == end
    assert used.stops == (plain.eos, end)
    assert used.decode(found.response) == "So."
    tokenizer.require_sound(used, found, "a")


def test_the_plain_form_stays_where_it_is_asked_for(plain):
    assert chat.chatting(plain, "none") is plain
    found = plain.turn("Why?", "So.")
    assert found.prompt == [plain.bos, *plain.encode("Why?\n")]
    assert found.response == [*plain.encode("So."), plain.eos]


TEXT = st.lists(
    st.sampled_from([*"ab \n<>|{}%é", "😀", "日", "\u0301", "<think>", "</think>"]),
    max_size=12,
).map("".join)


@settings(deadline=None, max_examples=150)
@given(TEXT, TEXT)
def test_ids_of_any_text_are_those_of_the_whole(asked, said):
    """Also where a character has several ids and where pairs merge over the border."""
    merged = byte_level(merges=[("Ċ", "Ċ"), ("Ċ", "a"), ("Ã", "©"), ("ð", "Ł")])
    used, template = chat.chatting(merged), chat.template_of(merged)
    found = used.turn(asked, said)
    tokenizer.require_sound(used, found, "row")
    text = template.render([user(asked), assistant(said)])
    assert used.join(found.prompt + found.response) + "\n" == text
    assert found.prompt == used.prompt(asked)
    assert used.join(found.response) == said + "<|im_end|>"
    # The mask of the whole rendering marks the same, unless an id lies over the border.
    whole = chat.masked(used, template, [user(asked), assistant(said)])
    learned = [i for i, yes in zip(whole.ids, whole.learned, strict=True) if yes]
    if not said.startswith(("\n", "a")):
        assert learned == found.response
        assert whole.ids[: len(found.prompt)] == found.prompt
    else:
        assert said.endswith(used.join(learned[:-1]))


def test_every_assistant_turn_is_marked(plain):
    used, template = chat.chatting(plain), chat.template_of(plain)
    talk = [user("a"), assistant("bé😀"), user("c"), assistant("d")]
    whole = chat.masked(used, template, talk)
    pairs = list(zip(whole.ids, whole.learned, strict=True))
    assert used.join([i for i, yes in pairs if yes]) == "bé😀<|im_end|>d<|im_end|>"
    assert used.join(whole.ids) == template.render(talk)
    with pytest.raises(UserError, match="no assistant message"):
        chat.masked(used, template, talk[:1])


TAGGED = (
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'assistant' %}"
    "A: {% generation %}{{ m.content }}{{ eos_token }}{% endgeneration %}"
    "{% else %}U: {{ m.content }}{% endif %}{{ '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}A: {% endif %}"
)


def test_what_a_template_marks_as_generated_is_learned():
    made = dataclasses.replace(byte_level(begins=True), template=TAGGED)
    template = chat.template_of(made)
    talk = [user("a"), assistant("b😀"), user("c"), assistant("d")]
    text = "<s>U: a\nA: b😀<|end|>\nU: c\nA: d<|end|>\n"
    assert template.render(talk) == text
    spans = [text[a:b] for a, b in template.generated(talk)]
    assert spans == ["b😀<|end|>", "d<|end|>"]
    whole = chat.masked(made, template, talk)
    pairs = list(zip(whole.ids, whole.learned, strict=True))
    assert made.join([i for i, yes in pairs if yes]) == "".join(spans)
    assert whole.ids.count(made.bos) == 1
    assert not whole.learned[0]
    used = chat.chatting(made)
    found = used.turn("a", "b😀")
    assert used.join(found.response) == "b😀<|end|>"
    tokenizer.require_sound(used, found, "row")


def test_a_first_id_that_the_template_does_not_write_is_added_once():
    used = chat.chatting(byte_level(begins=True))
    found = used.turn("a", "b")
    assert (found.prompt[0], found.prompt.count(used.bos)) == (used.bos, 1)
    assert used.prompt("a") == found.prompt
    tokenizer.require_sound(used, found, "row")
    whole = chat.masked(used, chat.template_of(used), [user("a"), assistant("b")])
    assert whole.ids[: len(found.prompt)] == found.prompt
    assert len(whole.ids) == len(whole.learned)


@pytest.mark.parametrize(
    "said",
    [
        "<think>\n1\n</think>\n\n2",
        "<think>1\n</think>\n\n2",
        "1\n</think>\n\n2",
        "\n<think>\n1\n</think>\n\n2",
    ],
)
def test_a_template_that_opens_the_reasoning_has_it_go_on(plain, said):
    used = chat.chatting(plain, "think")
    found = used.turn("Why?", said)
    assert used.join(found.prompt).endswith("<|im_start|>assistant\n<think>\n")
    assert used.join(found.response) == "1\n</think>\n\n2<|im_end|>"
    assert found.prompt == used.prompt("Why?")


DROPS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.role == 'assistant' %}"
    "{{ m.content.split('</think>')[-1].strip() }}{% else %}{{ m.content }}{% endif %}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% endif %}"
)


def test_a_template_that_drops_the_reasoning_is_refused(plain):
    used = chat.chatting(dataclasses.replace(plain, template=DROPS))
    assert used.decode(used.turn("a", "b").response) == "b"
    with pytest.raises(UserError, match="drops or moves the reasoning"):
        used.turn("a", "<think>\nc\n</think>\n\nb")


def test_a_template_may_only_change_spaces(plain):
    strips = chat.TEMPLATES["chatml"].replace("m.content", "m.content | trim")
    used = chat.chatting(dataclasses.replace(plain, template=strips))
    found = used.turn("a", "b \n")
    assert used.join(found.response) == "b<|im_end|>"


def test_earlier_turns_that_are_written_otherwise_are_refused(plain):
    forgets = chat.TEMPLATES["chatml"].replace(
        "{{ m.content }}", "{{ m.content if loop.last else 'gone' }}"
    )
    used = dataclasses.replace(plain, template=forgets)
    talk = [user("a"), assistant("b"), user("c"), assistant("d")]
    with pytest.raises(UserError, match="cannot be told what the assistant said"):
        chat.masked(used, chat.template_of(used), talk)


def test_without_a_template_it_is_said_what_to_do(plain, tmp_path):
    bare = dataclasses.replace(plain, template=None)
    with pytest.raises(
        UserError, match=r"no chat template .*name one of chatml, think"
    ):
        chat.chatting(bare)
    with pytest.raises(UserError, match="must be one of chatml, think or a file, got"):
        chat.chatting(bare, "llama")
    file = tmp_path / "mine.jinja"
    file.write_text(chat.TEMPLATES["chatml"])
    named = chat.chatting(bare, str(file))
    assert named.turn("a", "b") == chat.chatting(plain).turn("a", "b")


@pytest.mark.parametrize("text", ["x<|im_end|>y", "<s>", "<pad>"])
def test_texts_that_spell_control_ids_are_refused(plain, text):
    used = chat.chatting(plain)
    for pair in (("a", text), (text, "a")):
        with pytest.raises(UserError, match="which this tokenizer reads as control"):
            used.turn(*pair)
    with pytest.raises(UserError, match="control ids"):
        used.prompt(text)


def test_an_end_that_no_id_stands_for_is_refused(plain):
    open_end = "{% for m in messages %}{{ m.content }}\n{% endfor %}"
    with pytest.raises(UserError, match="ends the assistant's turn with no control id"):
        chat.chatting(dataclasses.replace(plain, template=open_end))


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("{% for m in messages %}", "chat template is damaged"),
        ("{{ raise_exception('only users') }}", "refuses: only users"),
        ("{{ messages.append(1) }}", "refuses: .*'append' .* is unsafe"),
        ("{{ ''.__class__.__mro__ }}", "refuses: .*__class__.* is unsafe"),
    ],
)
def test_templates_that_fail_or_reach_out(source, words):
    with pytest.raises(UserError, match=words):
        chat.Template(source=source).render([user("a")])


def test_what_templates_may_use():
    source = (
        "{{ strftime_now('%d %b %Y') }} {{ {'b': '<é>', 'a': [1]} | tojson }} "
        "{%- for i in range(9) %}{% if i == 2 %}{% break %}{% endif %}{{ i }}"
        "{%- endfor %}"
    )
    template = chat.Template(source=source, clock=lambda: datetime(2026, 3, 9))
    assert template.render([]) == '09 Mar 2026 {"b": "<é>", "a": [1]}01'


def test_a_system_message_goes_before(plain):
    used = chat.chatting(plain, system="Be brief.")
    text = used.join(used.prompt("a"))
    assert text.startswith("<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user")
    assert used.turn("a", "b").prompt == used.prompt("a")


def test_the_marks_of_generation_are_no_text(plain):
    with pytest.raises(UserError, match="noncharacter"):
        chat.chatting(plain).turn("a", "\ufdd0")


def test_text_that_the_tokenizer_composes_is_kept_composed():
    used = chat.chatting(byte_level(normalizer=normalizers.NFC()))
    found = used.turn("e\u0301", "o\u0308 end")
    assert used.decode(found.response) == "\u00f6 end"
    tokenizer.require_sound(used, found, "row")
