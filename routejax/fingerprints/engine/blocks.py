"""Sixty-four bytes of a text at once: which of them are so, as the bits of a number.

Bit k of a mask is the byte at `at + k`. A block is one or two vector registers, so a
mask costs one or two comparisons instead of sixty-four branches; bits are then counted
and found by single instructions. The blocks are described to LLVM as such, which finds
the instructions of the machine; one without vectors gets the same masks, slower.

Nothing here knows where a text ends: a caller has 64 bytes from `at` on, and leaves out
the bits that are not its own (`below`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from routejax.fingerprints.engine.kernel import inlined

WIDTH = 64
_BYTE, _WORD = ir.IntType(8), ir.IntType(64)
_BLOCK = ir.VectorType(_BYTE, WIDTH)

# A range of byte values, both ends included.
Span = tuple[int, int]


def _load(context: Any, builder: ir.IRBuilder, kind: Any, array: Any, at: Any) -> Any:
    """The block of `array` that begins at `at`, wherever that is in memory."""
    place = _place(context, builder, kind, array, at)
    return builder.load(builder.bitcast(place, _BLOCK.as_pointer()), align=1)


def _place(context: Any, builder: ir.IRBuilder, kind: Any, array: Any, at: Any) -> Any:
    data = context.make_array(kind)(context, builder, array).data
    return builder.gep(data, [at])


def _all(byte: int) -> ir.Constant:
    return ir.Constant(_BLOCK, [byte] * WIDTH)


def _holds(builder: ir.IRBuilder, block: Any, spans: Iterable[Span]) -> Any:
    """Per byte whether it lies in one of the spans."""
    found = ir.Constant(ir.VectorType(ir.IntType(1), WIDTH), [0] * WIDTH)
    for low, high in spans:
        if low == high:
            inside = builder.icmp_unsigned("==", block, _all(low))
        else:
            moved = builder.sub(block, _all(low))
            inside = builder.icmp_unsigned("<=", moved, _all(high - low))
        found = builder.or_(found, inside)
    return found


def spans(signs: Iterable[int]) -> tuple[Span, ...]:
    """Byte values as few ranges."""
    found: list[list[int]] = []
    for byte in sorted(set(signs)):
        if found and found[-1][1] == byte - 1:
            found[-1][1] = byte
        else:
            found.append([byte, byte])
    return tuple((low, high) for low, high in found)


def _intrinsic(function: Any) -> Any:
    """`intrinsic`, whose functions are called without their first argument."""
    return intrinsic(function)


def mask_of(signs: Iterable[int]) -> Any:
    """A function of (text, at): the mask of the bytes that are among `signs`."""
    ranges = spans(signs)

    @intrinsic
    def mask(typing, text, at):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
            block = _load(context, builder, signature.args[0], *args)
            return _mask(builder, block, ranges)

        return types.uint64(text, at), generate

    return mask


def mask_with(bits: int) -> Any:
    """A function of (text, at): the mask of the bytes that have one of these bits."""

    @intrinsic
    def mask(typing, text, at):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
            block = _load(context, builder, signature.args[0], *args)
            found = builder.and_(block, _all(bits))
            return builder.bitcast(builder.icmp_unsigned("!=", found, _all(0)), _WORD)

        return types.uint64(text, at), generate

    return mask


@_intrinsic
def copy(typing, source, at, target, to):  # type: ignore[no-untyped-def]
    """Writes the block at `at` of one array to `to` of another."""

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        block = _load(context, builder, signature.args[0], *args[:2])
        place = _place(context, builder, signature.args[2], *args[2:])
        builder.store(block, builder.bitcast(place, _BLOCK.as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(source, at, target, to), generate


@_intrinsic
def unlike(typing, text, at, other, to):  # type: ignore[no-untyped-def]
    """The mask of the bytes in which the block at `at` of one array differs from the
    one at `to` of another."""

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        one = _load(context, builder, signature.args[0], *args[:2])
        two = _load(context, builder, signature.args[2], *args[2:])
        return builder.bitcast(builder.icmp_unsigned("!=", one, two), _WORD)

    return types.uint64(text, at, other, to), generate


@_intrinsic
def eight(typing, text, at):  # type: ignore[no-untyped-def]
    """The eight bytes from `at` on as one number, the first the lowest."""

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        place = _place(context, builder, signature.args[0], *args)
        return builder.load(builder.bitcast(place, _WORD.as_pointer()), align=1)

    return types.uint64(text, at), generate


def _function(builder: ir.IRBuilder, name: str, kinds: Sequence[ir.Type]) -> Any:
    kind = ir.FunctionType(_WORD, kinds)
    return cgutils.get_or_insert_function(builder.module, kind, name)


def _bits(name: str, *more: ir.Constant) -> Any:
    @intrinsic
    def call(typing, mask):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
            kinds = [_WORD, *(constant.type for constant in more)]
            return builder.call(_function(builder, name, kinds), [*args, *more])

        return types.uint64(types.uint64), generate

    return call


count = _bits("llvm.ctpop.i64")  # how many bits are set
lowest = _bits("llvm.cttz.i64", ir.Constant(ir.IntType(1), 0))  # 64 if none is
leading = _bits("llvm.ctlz.i64", ir.Constant(ir.IntType(1), 0))  # 64 if none is


@inlined
def below(length):
    """The mask of the first `length` bytes."""
    if length >= WIDTH:
        return ~np.uint64(0)
    return (np.uint64(1) << np.uint64(length)) - np.uint64(1)


def tally_of(classes: Sequence[Iterable[int]]) -> Any:
    """A function of (text, at, live, counts) that adds to counts[k] how many live bytes
    are in class k, then to the next two how many are other ASCII, and how many begin a
    character outside it."""
    known = [spans(signs) for signs in classes]

    @intrinsic
    def tally(typing, text, at, live, counts):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
            block = _load(context, builder, signature.args[0], *args[:2])
            masks = [_mask(builder, block, ranges) for ranges in known]
            rest = _mask(builder, block, [(0, 127)])
            for mask in masks:
                rest = builder.and_(rest, builder.not_(mask))
            masks += [rest, _mask(builder, block, [(192, 255)])]
            kind = ir.FunctionType(_WORD, [_WORD])
            ones = cgutils.get_or_insert_function(
                builder.module, kind, "llvm.ctpop.i64"
            )
            for k, mask in enumerate(masks):
                found = builder.call(ones, [builder.and_(mask, args[2])])
                place = ir.Constant(_WORD, k)
                total = _place(context, builder, signature.args[3], args[3], place)
                builder.store(builder.add(builder.load(total), found), total)
            return context.get_dummy_value()

        return types.void(text, at, types.uint64, counts), generate

    return tally


def _mask(builder: ir.IRBuilder, block: Any, ranges: Iterable[Span]) -> Any:
    return builder.bitcast(_holds(builder, block, ranges), _WORD)
