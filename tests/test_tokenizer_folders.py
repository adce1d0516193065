"""Tokenizers of checkpoints: both formats, the ids other files name, and GGUF."""

import io
import json

import pytest
import sentencepiece
from gguf_fields import ALPHABET, CONTROL, FIRST, fields
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
)

from routejax import tokenizer
from routejax.errors import UserError


def library(*, trim=False):
    """Byte-level, one merge, `CONTROL`, and a user's own token that is text."""
    vocabulary = {piece: i for i, piece in enumerate([*ALPHABET, "Ġa"])}
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=[("Ġ", "a")]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken(name, special=True) for name in CONTROL])
    made.add_tokens([AddedToken("<think>", normalized=False)])
    made.add_tokens([AddedToken("<｜x｜>", normalized=False)])
    if trim:
        made.post_processor = processors.ByteLevel(trim_offsets=True)
    return made


def folder(path, config=(), generation=(), made=None, **files):
    path.mkdir(exist_ok=True)
    (path / "tokenizer.json").write_text((made or library()).to_str())
    texts = {
        "tokenizer_config.json": dict(config),
        "generation_config.json": generation,
    }
    for name, value in (texts | files).items():
        if value:
            raw = value if isinstance(value, str) else json.dumps(dict(value))
            (path / name).write_text(raw)
    return path


def test_ids_come_from_every_file_that_names_them(tmp_path):
    config = {
        "eos_token": {"content": "<turn>"},
        "bos_token": "<bos>",
        "pad_token": "<pad>",
        "chat_template": "T",
        "add_bos_token": True,
    }
    generation = {"eos_token_id": [FIRST, FIRST + 2]}
    found = tokenizer.load(folder(tmp_path / "a", config, generation))
    assert (found.eos, found.bos, found.pad) == (FIRST + 2, FIRST + 1, FIRST + 3)
    assert found.stops == (FIRST, FIRST + 2)
    assert found.begins
    assert found.template == "T"
    assert found.size == FIRST + 6  # the user's tokens are the last
    assert {*found.special} == {*CONTROL}
    assert {*found.files} == {
        *("tokenizer.json", "tokenizer_config.json", "generation_config.json")
    }


def test_a_generation_config_alone_is_enough(tmp_path):
    found = tokenizer.load(folder(tmp_path / "a", {}, {"eos_token_id": FIRST}))
    assert (found.eos, found.stops, found.bos, found.begins) == (
        *(FIRST, (FIRST,), None, False),
    )
    with pytest.raises(UserError, match="has no end of text: neither tokenizer_config"):
        tokenizer.load(folder(tmp_path / "b"))


def test_templates_in_a_file_of_their_own_or_by_name(tmp_path):
    end = {"eos_token_id": FIRST}
    named = [{"name": "tools", "template": "N"}, {"name": "default", "template": "D"}]
    found = tokenizer.load(folder(tmp_path / "a", {"chat_template": named}, end))
    assert found.template == "D"
    file = {"chat_template.jinja": "F"}
    found = tokenizer.load(folder(tmp_path / "b", {"chat_template": "D"}, end, **file))
    assert found.template == "F"
    assert tokenizer.load(folder(tmp_path / "c", {}, end)).template is None


def test_a_file_that_puts_bos_first_says_that_it_is_wanted(tmp_path):
    made = library()
    made.post_processor = processors.TemplateProcessing(
        single="<bos> $A", special_tokens=[("<bos>", FIRST + 1)]
    )
    config, end = {"bos_token": "<bos>"}, {"eos_token_id": FIRST}
    found = tokenizer.load(folder(tmp_path / "a", config, end, made))
    assert found.begins
    assert found.encode("a") == [ALPHABET.index("a")]  # and yet it is not added here
    never = config | {"add_bos_token": False}
    assert not tokenizer.load(folder(tmp_path / "b", never, end, made)).begins


@pytest.mark.parametrize("trim", [False, True])
@settings(deadline=None, max_examples=100)
@given(
    text=st.lists(
        st.sampled_from([*"ab  \n'é", "😀", "日", "<think>", "<end>", "<｜x｜>"]),
        max_size=10,
    ).map("".join)
)
def test_pieces_lie_where_their_bytes_are(text, trim):
    made = tokenizer.from_json(library(trim=trim).to_str().encode(), eos=FIRST)
    raw, pieces = text.encode(), made.split(text)
    assert made.join(pieces.ids) == text
    assert [0, *pieces.ends[:-1]][: len(pieces.ids)] == pieces.starts
    assert (pieces.ends or [0])[-1] == len(raw)
    for number, start, end in zip(*pieces, strict=True):
        part = raw[start:end]
        if number < FIRST - 1:
            byte = made.join([number])
            assert end - start == 1
            assert part.decode("utf-8", "replace") == byte
        else:
            assert part.decode() == made.join([number])


def test_damaged_folders_are_named(tmp_path):
    with pytest.raises(UserError, match=r"neither tokenizer.json nor tokenizer.model"):
        tokenizer.load(tmp_path)
    broken = folder(tmp_path / "a", {}, {"eos_token_id": FIRST})
    (broken / "generation_config.json").write_text("{")
    with pytest.raises(UserError, match=r"generation_config.json is damaged"):
        tokenizer.load(broken)
    (broken / "generation_config.json").write_text("[]")
    with pytest.raises(UserError, match=r"generation_config.json must hold an object"):
        tokenizer.load(broken)
    (broken / "generation_config.json").unlink()
    (broken / "tokenizer.json").write_text("{")
    with pytest.raises(UserError, match=r"tokenizer.json is damaged"):
        tokenizer.load(broken)
    (broken / "tokenizer.json").write_text("{}")
    with pytest.raises(UserError, match="no Hugging Face tokenizer"):
        tokenizer.load(broken)


@pytest.mark.parametrize("name", ["bos", "eos", "pad"])
def test_a_token_that_the_vocabulary_lacks_is_refused(name, tmp_path):
    end = {"eos_token_id": FIRST}
    odd = folder(tmp_path / "a", {f"{name}_token": "<zork>"}, end)
    with pytest.raises(UserError, match=rf"'<zork>' as {name}_token, which the vocab"):
        tokenizer.load(odd)
    (odd / "tokenizer_config.json").unlink()
    (odd / "special_tokens_map.json").write_text(f'{{"{name}_token": "<zork>"}}')
    with pytest.raises(UserError, match=rf"'<zork>' as {name}_token, which the vocab"):
        tokenizer.load(odd)


def test_older_folders_name_tokens_in_their_map(tmp_path):
    names = {"eos_token": "<turn>", "bos_token": {"content": "<bos>"}}
    made = folder(tmp_path / "a", **{"special_tokens_map.json": names})
    found = tokenizer.load(made)
    assert (found.eos, found.bos) == (FIRST + 2, FIRST + 1)
    (made / "tokenizer_config.json").write_text('{"eos_token": "<end>"}')
    assert tokenizer.load(made).eos == FIRST


def test_ends_are_control_ids_though_the_file_says_they_are_text(tmp_path):
    """`special: false`: a text that spells one would be cut there, or be silent."""
    made = folder(tmp_path / "a", {"eos_token": "<turn>"}, {"eos_token_id": FIRST + 4})
    assert tokenizer.load(made).special.keys() == {*CONTROL, "<think>"}
    for config in ({"eos_token": "<think>"}, {"pad_token": "<think>"}):
        found = tokenizer.load(folder(tmp_path / "a", {"eos_token": "<turn>"} | config))
        for turn in (("a<think>", "b"), ("a", "<think>b")):
            with pytest.raises(UserError, match="<think> in it, which this tokenizer"):
                found.turn(*turn)


VALUES = [
    3,
    -1,
    1.5,
    True,
    "x",
    "\ud800",
    [],
    [1],
    [-1],
    ["x"],
    {},
    {"a": 1},
    [[]],
    [{}],
]


def said(folder):
    """The message of a folder that is refused."""
    try:
        tokenizer.load(folder)
    except UserError as error:
        return str(error)
    return None


@pytest.mark.parametrize(
    ("file", "name"),
    [
        *[
            (file, f"{name}_token")
            for file in ("tokenizer_config.json", "special_tokens_map.json")
            for name in ("bos", "eos", "pad")
        ],
        *[
            ("tokenizer_config.json", name)
            for name in ("chat_template", "add_bos_token", "added_tokens_decoder")
        ],
        *[("generation_config.json", f"{n}_token_id") for n in ("bos", "eos", "pad")],
        ("config.json", "eos_token_id"),
        ("added_tokens.json", "<x>"),
        *[("tokenizer.json", n) for n in ("added_tokens", "model", "normalizer")],
    ],
)
def test_values_of_another_kind_are_one_message(file, name, tmp_path):
    """Whatever stands there, in a folder of either format."""
    for kind in ("json", "model"):
        made = folder(tmp_path / kind, {}, {"eos_token_id": FIRST})
        if kind == "model":
            (made / "tokenizer.json").unlink()
            (made / "tokenizer.model").write_bytes(MODEL)
        before = (made / file).read_text() if (made / file).exists() else None
        for value in VALUES:
            whole = json.loads(before or "{}") | {name: value}
            (made / file).write_text(json.dumps(whole))
            message = said(made)
            assert message is None or (str(made) in message and "\n" not in message)
    if file == "generation_config.json":
        with pytest.raises(UserError, match=rf"{name} of {file} must be an id or a"):
            tokenizer.load(made)


def test_add_bos_without_a_bos_is_refused(tmp_path):
    made = folder(tmp_path / "a", {"add_bos_token": True}, {"eos_token_id": FIRST})
    with pytest.raises(UserError, match=r"wants BOS .* names one"):
        tokenizer.load(made)


FORMS = [normalizers.NFC(), normalizers.NFD(), normalizers.NFKC(), normalizers.NFKD()]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: type(form).__name__)
def test_unicode_normal_forms_are_kept(form):
    made = library()
    made.normalizer = normalizers.Sequence([form])
    found = tokenizer.from_json(made.to_str().encode(), eos=FIRST)
    text = "e\u0301 \u00e9 \u212b \u0958\u2126 \ufb01"
    tokenizer.require_kept(found, found.encode(text), text)
    assert found.turned(text) == form.normalize_str(text)
    # Ends are those of the text as it was, also where lengths cancel out.
    kept = found.split("\u0958\u212b<end>")
    assert kept.starts[-1] == 6
    assert kept.ids[-1] == FIRST


@pytest.mark.parametrize(
    "lossy",
    [
        normalizers.Lowercase(),
        normalizers.StripAccents(),
        normalizers.Strip(),
        normalizers.BertNormalizer(),
        normalizers.Nmt(),
    ],
    ids=lambda one: type(one).__name__,
)
def test_normalizers_that_lose_text_are_refused_by_name(lossy):
    for one in (lossy, normalizers.Sequence([normalizers.NFC(), lossy])):
        made = library()
        made.normalizer = one
        with pytest.raises(UserError, match=f"{type(lossy).__name__} loses text"):
            tokenizer.from_json(made.to_str().encode(), eos=FIRST)


def test_a_replacement_must_be_taken_back():
    made = library()
    made.normalizer = normalizers.Replace("a", "b")
    found = tokenizer.from_json(made.to_str().encode(), eos=FIRST)
    assert tokenizer.audit(found, ["xyz"]) == 1
    with pytest.raises(UserError, match="does not keep 'a': it gives 'b'"):
        tokenizer.audit(found, ["a"])


def model(**settings):
    """A SentencePiece model as published ones are: bytes for what it does not know."""
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["ab ab a b aab"] * 9),
        model_writer=out,
        vocab_size=280,
        model_type="bpe",
        byte_fallback=True,
        hard_vocab_limit=False,
        minloglevel=2,
        **{"normalization_rule_name": "identity", "remove_extra_whitespaces": False}
        | settings,
    )
    return out.getvalue()


MODEL = model(user_defined_symbols=["<turn>"])


def test_a_users_own_piece_may_be_the_end(tmp_path):
    (tmp_path / "tokenizer.model").write_bytes(MODEL)
    config = tmp_path / "tokenizer_config.json"
    config.write_text('{"eos_token": "<turn>"}')
    found = tokenizer.load(tmp_path)
    assert found.eos == found.special["<turn>"] == found.encode("<turn>")[-1]
    assert found.eos != found.special["</s>"]
    with pytest.raises(UserError, match="<turn> in it, which this tokenizer reads"):
        found.turn("a", "b<turn>")
    config.write_text('{"eos_token": "<zork>"}')
    with pytest.raises(UserError, match="'<zork>' as eos_token, which the vocabulary"):
        tokenizer.load(tmp_path)


@pytest.mark.parametrize("prefix", [False, True])
@settings(deadline=None, max_examples=80)
@given(text=st.lists(st.sampled_from([*"ab  \né", "😀", "</s>"]), max_size=8))
def test_sentencepiece_models_of_checkpoints(text, prefix, sentences):
    made = sentences[prefix]
    text = "".join(text)
    pieces = made.split(text)
    assert (pieces.ends or [0])[-1] == len(text.encode())
    assert pieces.ids.count(made.eos) == text.count("</s>")
    if not prefix:
        assert made.join(pieces.ids) == text
    assert made.decode(made.encode("ab é")) == "ab é"


@pytest.fixture(scope="module")
def sentences():
    return {
        prefix: tokenizer.published(model(add_dummy_prefix=prefix))
        for prefix in (False, True)
    }


def test_a_sentencepiece_folder(tmp_path):
    (tmp_path / "tokenizer.model").write_bytes(model(add_dummy_prefix=False))
    tokens = {"270": {"content": "<turn>", "special": True}}
    config = {"eos_token": "<turn>", "added_tokens_decoder": tokens}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    found = tokenizer.load(tmp_path)
    assert (found.eos, found.bos, found.begins) == (270, 1, True)
    assert found.encode("ab<turn>")[-1] == 270
    assert found.join(found.encode("ab<turn>é")) == "ab<turn>é"
    assert found.decode(found.encode("ab<turn>é")) == "abé"
    turn = found.turn("a", "b")
    tokenizer.require_sound(found, turn, "row")
    assert turn.prompt[0] == 1
    assert turn.response[-1] == 270
    (tmp_path / "tokenizer.model").write_bytes(b"nothing")
    with pytest.raises(UserError, match="no SentencePiece model"):
        tokenizer.load(tmp_path)


def test_a_model_that_rewrites_text_is_refused():
    made = tokenizer.published(model(normalization_rule_name="nmt_nfkc"))
    assert made.encode("ab")
    with pytest.raises(UserError, match="rewrites '½' before it splits it"):
        made.encode("½")


def test_a_tokenizer_out_of_gguf_fields_and_back_from_its_files(tmp_path):
    made = tokenizer.from_gguf(fields())
    assert (made.bos, made.eos, made.pad) == (FIRST + 1, FIRST + 2, FIRST + 3)
    assert made.size == FIRST + 5
    assert {*made.special} == {*CONTROL}
    assert made.encode(" a") == [FIRST - 1]
    assert len(made.encode("12")) == 2
    text = "a 12 é😀<think>\n\n x"
    assert made.decode(made.encode(text)) == text
    for name, data in made.files.items():
        (tmp_path / name).write_bytes(data)
    again = tokenizer.load(tmp_path)
    for name in ("bos", "eos", "pad", "stops", "begins", "special", "template", "size"):
        assert getattr(again, name) == getattr(made, name), name
    assert again.encode(text + "<turn>") == made.encode(text + "<turn>")
    assert again.digest == made.digest


def test_gguf_tokenizers_that_are_not_read():
    for changes in ({"model": "llama"}, {"pre": "qwen2"}):
        with pytest.raises(UserError, match="must be gpt2 with pre-tokenizer smollm"):
            tokenizer.from_gguf(fields(**changes))
    with pytest.raises(UserError, match="has no end of text"):
        tokenizer.from_gguf(fields(eos_token_id=None))
    for name in ("bos", "eos", "padding"):
        for number in (-1, FIRST + 5):
            with pytest.raises(UserError, match=f"GGUF file names {number} as its"):
                tokenizer.from_gguf(fields(**{f"{name}_token_id": number}))
    for name in ("tokens", "merges", "token_type"):
        for value in (None, 3, [3], ["x"]):
            with pytest.raises(
                UserError, match="tokenizer of the GGUF file is damaged"
            ):
                tokenizer.from_gguf(fields(**{name: value}))


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb"])
def test_half_a_surrogate_pair_is_no_text(text, sentences):
    local = tokenizer.train(["a b"], size=40)
    for made in (tokenizer.from_gguf(fields()), *sentences.values(), local):
        for call in (made.encode, made.prompt, made.split):
            with pytest.raises(UserError, match="half a surrogate pair"):
                call(text)
