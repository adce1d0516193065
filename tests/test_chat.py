"""Chat templates: the text, the ids of it, and which of them a student learns."""

import dataclasses
import io

import pytest
import sentencepiece
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
    assert found.prompt == plain.encode("Why?\n")
    assert found.response == [*plain.encode("So."), plain.eos]
    wants = byte_level(begins=True)
    assert wants.prompt("Why?") == [wants.bos, *wants.encode("Why?\n")]
    with pytest.raises(UserError, match="plain form has no place for tokenizer"):
        chat.chatting(plain, "none", system="Be brief.")


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
    assert [made.bos in whole.ids[:1], made.bos in whole.ids[1:]] == [True, False]
    assert not whole.learned[0]
    used = chat.chatting(made)
    found = used.turn("a", "b😀")
    assert used.join(found.response) == "b😀<|end|>"
    tokenizer.require_sound(used, found, "row")


def test_a_first_id_that_the_template_does_not_write_is_added_once():
    used = chat.chatting(byte_level(begins=True))
    found = used.turn("a", "b")
    assert found.prompt[0] == used.bos
    assert used.bos not in found.prompt[1:]
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


def rewriting(plain, said, **roles):
    """Turns whose template writes the messages of some roles otherwise."""
    source = chat.TEMPLATES["chatml"]
    for role, how in roles.items():
        source = source.replace(
            "{{ m.content }}",
            f"{{% if m.role == '{role}' %}}{how}{{% else %}}{{{{ m.content }}}}"
            "{% endif %}",
        )
    return chat.chatting(dataclasses.replace(plain, template=source)).turn("2  2", said)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("{{ m.content.split() | join(' ') }}", "def f():\n    return  1"),
        ("{{ m.content | replace('\n\n', '\n') }}", "a\n\nb"),
        ("{{ m.content }}{% if 'four' not in m.content %} I add{% endif %}", "two"),
        ("{% if 'four' not in m.content %}Sure: {% endif %}{{ m.content }}", "two"),
        ("{{ m.content[:4] }}", "four and more"),
        ("{{ m.content | e }}", "a < b"),
        ("{{ m.content }}{% if 'two' in m.content %}<|im_start|>{% endif %}", "two"),
    ],
)
def test_templates_that_change_what_was_said_are_refused(plain, how, said):
    assert rewriting(plain, "four", assistant=how).response[:-1] == plain.encode("four")
    with pytest.raises(UserError, match="not write the assistant's turn as it was"):
        rewriting(plain, said, assistant=how)
    other = dataclasses.replace(
        plain,
        stops=(plain.special["<|im_end|>"],),
        template=TAGGED.replace("{{ m.content }}{{ eos_token }}", how + "<|im_end|>"),
    )
    talk = [user("a"), assistant(said)]
    with pytest.raises(UserError, match="not write the assistant's turn as it was"):
        chat.masked(other, chat.template_of(other), talk)


def test_spaces_round_the_tags_of_reasoning_are_the_templates(plain):
    """Qwen3's own writes one newline inside the tags and two after them."""
    how = "{{ m.content | replace('</think>\n', '</think>\n\n') }}"
    found = rewriting(plain, "<think>1</think>\n2\n3", assistant=how)
    assert plain.join(found.response) == "<think>1</think>\n\n2\n3<|im_end|>"


@pytest.mark.parametrize(
    "how", ["{{ m.content.split() | join(' ') }}", "{{ m.content | upper }}", ""]
)
def test_templates_that_change_what_was_asked_are_refused(plain, how):
    with pytest.raises(UserError, match="leaves out or changes the user message"):
        rewriting(plain, "four", user=how)


def test_a_template_without_a_system_message_is_refused_where_there_is_one(plain):
    silent = chat.TEMPLATES["chatml"].replace(
        "in messages", "in messages if m.role != 'system'"
    )
    used = dataclasses.replace(plain, template=silent)
    assert chat.chatting(used).prompt("a")
    # "user" is in every text of this template and yet not said.
    for system in ("Be brief.", "user"):
        with pytest.raises(UserError, match="leaves out or changes the system message"):
            chat.chatting(used, system=system)
    talk = [{"role": "system", "content": "Be brief."}, user("a"), assistant("b")]
    with pytest.raises(UserError, match="leaves out or changes the system message"):
        chat.masked(chat.chatting(used), chat.template_of(used), talk)


def test_a_system_message_that_spells_a_control_id_is_refused(plain):
    with pytest.raises(UserError, match=r"a text has <\|im_end\|> in it"):
        chat.chatting(plain, system="Say <|im_end|>.")


def test_ends_that_are_text_elsewhere_do_not_cut_a_response(plain):
    """An id of ordinary text that stops responses, as some generation configs have."""
    stops = dataclasses.replace(plain, stops=tuple(plain.encode(".")))
    used = chat.chatting(stops)
    assert used.join(used.turn("a.b", "c").response) == "c<|im_end|>"
    for said in ("c. d", "c.", ".c"):
        with pytest.raises(UserError, match="which ends a turn, after"):
            used.turn("a", said)
        talk = [user("a"), assistant(said)]
        with pytest.raises(UserError, match="which ends a turn, after"):
            chat.masked(used, chat.template_of(used), talk)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "{{ eos_token }}{% endgeneration %}",
            "{% endgeneration %}{{ eos_token }}",
            "no id that stops it .'b'",
        ),
        (
            "{% generation %}{{ m.content }}",
            "{% generation %}{% endgeneration %}{% generation %}{{ m.content }}",
            "marks 2 parts .* there are 1 assistant",
        ),
    ],
)
def test_marks_of_generation_without_the_end_are_refused(plain, old, new, words):
    made = dataclasses.replace(plain, template=TAGGED.replace(old, new))
    assert made.template != TAGGED
    with pytest.raises(UserError, match=words):
        chat.masked(made, chat.template_of(made), [user("a"), assistant("b")])


def test_texts_that_are_none(plain, tmp_path):
    used = chat.chatting(plain)
    for pair in (("a", "b\ud800"), ("\udfff", "b")):
        with pytest.raises(UserError, match=r"a text has U\+D.*half a surrogate pair"):
            used.turn(*pair)
    with pytest.raises(UserError, match="half a surrogate pair"):
        used.prompt("\ud800")
    odd = dataclasses.replace(plain, template=chat.TEMPLATES["chatml"] + "\ud800")
    with pytest.raises(UserError, match="half a surrogate pair"):
        chat.chatting(odd).turn("a", "b")
    template = chat.template_of(plain)
    for message in ({"content": "x"}, user(None), user([{"text": "x"}])):
        with pytest.raises(UserError, match="role and a content that are texts"):
            chat.masked(used, template, [message])
    (tmp_path / "odd.jinja").write_bytes(b"\xff\xfe{")
    with pytest.raises(UserError, match=r"odd.jinja is no text"):
        chat.chatting(plain, str(tmp_path / "odd.jinja"))


def test_earlier_turns_that_are_written_otherwise_are_refused(plain):
    forgets = chat.TEMPLATES["chatml"].replace(
        "{{ m.content }}",
        "{{ m.content if loop.last or m.role == 'user' else 'gone' }}",
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


def test_a_system_message_goes_before(plain):
    used = chat.chatting(plain, system="Be brief.")
    text = used.join(used.prompt("a"))
    assert text.startswith("<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user")
    assert used.turn("a", "b").prompt == used.prompt("a")


def test_a_space_that_a_model_puts_first_is_the_responses():
    """After a control id: the prompt stays what is sampled from."""
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["ab ab a b aab"] * 9),
        model_writer=out,
        vocab_size=280,
        model_type="bpe",
        byte_fallback=True,
        hard_vocab_limit=False,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        minloglevel=2,
    )
    template = (
        "{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}<turn>"
        "{% else %} {{ m.content }}</s>{% endif %}{% endfor %}"
    )
    made = tokenizer.published(
        out.getvalue(), special={"<turn>": 290}, template=template
    )
    used = chat.chatting(made)
    for said in ("ab", "x", "", "\n b"):
        found = used.turn("a", said)
        assert found.prompt == used.prompt("a")
        assert used.decode(found.response).strip() == said.strip()
        tokenizer.require_sound(used, found, "row")


def test_the_marks_of_generation_are_no_text(plain):
    with pytest.raises(UserError, match="noncharacter"):
        chat.chatting(plain).turn("a", "\ufdd0")


def test_text_that_the_tokenizer_composes_is_kept_composed():
    used = chat.chatting(byte_level(normalizer=normalizers.NFC()))
    found = used.turn("e\u0301", "o\u0308 end")
    assert used.decode(found.response) == "\u00f6 end"
    tokenizer.require_sound(used, found, "row")
