"""GGUF files for tests: any fields, and weights in the formats that are read."""

import struct

import numpy as np

KINDS = {"F32": 0, "F16": 1, "Q4_0": 2, "Q4_1": 3, "Q8_0": 8, "BF16": 30}
_CODES = {bool: 7, int: 4, float: 6, str: 8}


def text(value):
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def field(value):
    """Type and value."""
    if isinstance(value, list):
        inner = _CODES[type(value[0])]
        items = b"".join(field(one)[4:] for one in value)
        return struct.pack("<IIQ", 9, inner, len(value)) + items
    code = _CODES[type(value)]
    raw = {
        8: lambda: text(value),
        7: lambda: struct.pack("<?", value),
        6: lambda: struct.pack("<f", value),
        4: lambda: struct.pack("<I", value),
    }[code]()
    return struct.pack("<I", code) + raw


def packed(values, kind):
    """Bytes of float32 values in a format, each block by its own scale."""
    flat = np.asarray(values, np.float32).reshape(-1)
    if kind in ("F32", "F16"):
        return flat.astype("<f4" if kind == "F32" else "<f2").tobytes()
    if kind == "BF16":
        return (flat.view(np.uint32) >> 16).astype("<u2").tobytes()
    return b"".join(block(part, kind) for part in flat.reshape(-1, 32))


def block(part, kind):
    if kind == "Q8_0":
        scale = np.float16(np.abs(part).max() / 127 or 1)
        codes = np.rint(part / np.float32(scale)).astype(np.int8)
        return scale.tobytes() + codes.tobytes()
    low = part.min() if kind == "Q4_1" else None
    if kind == "Q4_1":
        scale, least = np.float16((part.max() - low) / 15 or 1), np.float16(low)
        codes = (part - np.float32(least)) / np.float32(scale)
        head = scale.tobytes() + least.tobytes()
    else:
        scale = np.float16(np.abs(part).max() / 7 or 1)
        codes = part / np.float32(scale) + 8
        head = scale.tobytes()
    codes = np.clip(np.rint(codes), 0, 15).astype(np.uint8)
    return head + (codes[:16] | codes[16:] << 4).tobytes()


def write(path, fields, tensors, *, align=32, version=3):
    """`tensors` are (values, kind) by name, or (shape, number, bytes)."""
    header = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(fields))
    for name, value in fields.items():
        header += text(name) + field(value)
    data = b""
    for name, (values, kind, *raw) in tensors.items():
        shape = values if raw else values.shape
        number = kind if raw else KINDS[kind]
        data += b"\0" * (-len(data) % align)
        header += text(name) + struct.pack("<I", len(shape))
        header += struct.pack(f"<{len(shape)}Q", *shape[::-1])
        header += struct.pack("<IQ", number, len(data))
        data += raw[0] if raw else packed(values, kind)
    header += b"\0" * (-len(header) % align)
    path.write_bytes(header + data)
    return path


SIZES = {
    "general.architecture": "llama",
    "llama.block_count": 2,
    "llama.context_length": 64,
    "llama.embedding_length": 32,
    "llama.feed_forward_length": 64,
    "llama.attention.head_count": 4,
    "llama.attention.head_count_kv": 2,
    "llama.rope.dimension_count": 8,
    "llama.rope.freq_base": 1000.0,
    "llama.attention.layer_norm_rms_epsilon": 1e-5,
    "llama.vocab_size": 40,
}
_SHAPES = {
    "attn_q": (32, 32),
    "attn_k": (16, 32),
    "attn_v": (16, 32),
    "attn_output": (32, 32),
    "ffn_gate": (64, 32),
    "ffn_up": (64, 32),
    "ffn_down": (32, 64),
    "attn_norm": (32,),
    "ffn_norm": (32,),
}


def llama(path, kind="F32", *, head=False, fields=(), seed=0):
    """A tiny Llama; norms are F32 as everywhere. Returns its values by GGUF name."""
    rng = np.random.default_rng(seed)
    shapes = {"token_embd": (40, 32), "output_norm": (32,)}
    shapes |= {"output": (40, 32)} if head else {}
    shapes |= {f"blk.{i}.{n}": s for i in range(2) for n, s in _SHAPES.items()}
    values = {
        f"{name}.weight": rng.normal(size=shape).astype(np.float32)
        for name, shape in shapes.items()
    }
    kinds = {n: "F32" if v.ndim == 1 else kind for n, v in values.items()}
    tensors = {name: (values[name], kinds[name]) for name in values}
    write(path, SIZES | dict(fields), tensors)
    return values
