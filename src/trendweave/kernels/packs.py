"""Packs: numbers that lie side by side, worked on at once in vector registers.

A pack is eight numbers of an array (int64 or float64), or a single one where vectors have but one lane; functions here
take both, so that a loop is written once. LLVM finds out by itself that a loop can be worked on in vectors, but only
for one whose length it can count, with a remainder for what is no whole number of vectors and a check that its arrays
do not overlap: for forty numbers at a time these cost more than the additions. What a pack is to the processor (one
register, two or four) is left to LLVM.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic, models, register_model

SETTINGS: Any = config
LANES = 8
INTEGER = ir.IntType(64)


class Pack(types.Type):
    """Eight numbers of a type."""

    def __init__(self, dtype: types.Type) -> None:
        self.dtype = dtype
        super().__init__(name=f"Pack({dtype})")


def vector_of(dtype: types.Type) -> ir.VectorType:
    return ir.VectorType(ir.DoubleType() if dtype == types.float64 else INTEGER, LANES)


@register_model(Pack)
class PackModel(models.PrimitiveModel):
    """A pack is kept as a vector of LLVM."""

    def __init__(self, manager: Any, kind: Pack) -> None:
        super().__init__(manager, kind, vector_of(kind.dtype))


def compiled_as(plain: Callable) -> Callable:
    """Decorator of what tells Numba how to compile a function; without compiling, the plain function is used."""

    def choose(typed: Callable) -> Any:
        return plain if SETTINGS.DISABLE_JIT else intrinsic(typed)

    return choose


def _repeated(builder, number):
    """A vector of the number, eight times."""
    nothing = ir.Constant(ir.VectorType(number.type, LANES), ir.Undefined)
    one = builder.insert_element(nothing, number, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, nothing, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))


def _alike(builder, pack, number):
    """The number in the form of the pack."""
    return _repeated(builder, number) if isinstance(pack.type, ir.VectorType) else number


def _address(context, builder, array_type, array, at, pack):
    """Where the numbers of a pack lie in an array."""
    view = context.make_array(array_type)(context, builder, array)
    kind = vector_of(array_type.dtype) if isinstance(pack, Pack) else context.get_data_type(array_type.dtype)
    return builder.bitcast(builder.gep(view.data, [at]), kind.as_pointer())


@compiled_as(lambda number: np.full(LANES, number))
def spread(context, number):
    """A pack of eight times the number."""

    def build(context, builder, signature, arguments):
        return _repeated(builder, arguments[0])

    return Pack(number)(number), build


@compiled_as(lambda pack, array, at: array[at : at + LANES].copy() if isinstance(pack, np.ndarray) else array[at])
def load(context, pack, array, at):
    """The numbers of the array from `at` on, in the form of the given pack."""

    def build(context, builder, signature, arguments):
        kind = signature.args
        return builder.load(_address(context, builder, kind[1], arguments[1], arguments[2], kind[0]), align=8)

    return pack(pack, array, types.uint64), build


def _store(array, at, pack):
    if isinstance(pack, np.ndarray):
        array[at : at + LANES] = pack
    else:
        array[at] = pack


@compiled_as(_store)
def store(context, array, at, pack):
    """Write a pack into the array, from `at` on."""

    def build(context, builder, signature, arguments):
        kind = signature.args
        builder.store(arguments[2], _address(context, builder, kind[0], *arguments[:2], kind[2]), align=8)
        return context.get_dummy_value()

    return types.none(array, types.uint64, pack), build


@compiled_as(lambda pack, other: pack + other)
def add(context, pack, other):
    """Their sums."""

    def build(context, builder, signature, arguments):
        number = getattr(signature.args[0], "dtype", signature.args[0])
        return (builder.fadd if number == types.float64 else builder.add)(*arguments)

    return pack(pack, other), build


@compiled_as(lambda pack, bits: pack >> bits)
def shift_down(context, pack, bits):
    """What is left of integers without their lowest bits."""

    def build(context, builder, signature, arguments):
        return builder.ashr(arguments[0], _alike(builder, *arguments))

    return pack(pack, types.int64), build


@compiled_as(lambda pack, mask: pack & mask)
def keep_bits(context, pack, mask):
    """The bits of integers that the mask has, too."""

    def build(context, builder, signature, arguments):
        return builder.and_(arguments[0], _alike(builder, *arguments))

    return pack(pack, types.int64), build


@compiled_as(lambda pack: bool(np.any(pack)))
def any_set(context, pack):
    """Whether any integer is not 0."""

    def build(context, builder, signature, arguments):
        bits = ir.IntType(64 * (LANES if isinstance(signature.args[0], Pack) else 1))
        return builder.icmp_unsigned("!=", builder.bitcast(arguments[0], bits), ir.Constant(bits, 0))

    return types.boolean(pack), build


def _is_between(builder, pack, lane, first, end):
    """A flag per number of a pack: whether it is on a lane from `first` to before `end`."""
    lanes = _alike(builder, pack, lane)
    if isinstance(pack.type, ir.VectorType):
        lanes = builder.add(lanes, ir.Constant(ir.VectorType(INTEGER, LANES), list(range(LANES))))
    return builder.and_(
        builder.icmp_signed(">=", lanes, _alike(builder, pack, first)),
        builder.icmp_signed("<", lanes, _alike(builder, pack, end)),
    )


def _keep_between(pack, lane, first, end):
    lanes = lane + np.arange(np.size(pack)).reshape(np.shape(pack))
    return np.where((lanes >= first) & (lanes < end), pack, np.zeros_like(pack))[()]


@compiled_as(_keep_between)
def keep_between(context, pack, lane, first, end):
    """The numbers of lanes from `first` to before `end`, 0 on others; the first number is that of `lane`."""

    def build(context, builder, signature, arguments):
        pack = arguments[0]
        inside = _is_between(builder, *arguments)
        return builder.select(inside, pack, ir.Constant(pack.type, None))

    return pack(pack, types.int64, types.int64, types.int64), build


def _put_between(pack, lane, first, end, others):
    lanes = lane + np.arange(np.size(pack)).reshape(np.shape(pack))
    return np.where((lanes >= first) & (lanes < end), pack, others)[()]


@compiled_as(_put_between)
def put_between(context, pack, lane, first, end, others):
    """The same, but for what is on other lanes: the numbers of another pack."""

    def build(context, builder, signature, arguments):
        inside = _is_between(builder, *arguments[:4])
        return builder.select(inside, arguments[0], arguments[4])

    return pack(pack, types.int64, types.int64, types.int64, pack), build


@compiled_as(lambda pack, other: pack | other)
def join_bits(context, pack, other):
    """The bits that either of them has."""

    def build(context, builder, signature, arguments):
        return builder.or_(*arguments)

    return pack(pack, other), build


@compiled_as(lambda pack: pack ^ (pack >> 63))
def magnitude_bits(context, pack):
    """The bits of integers, those of negative ones turned over."""

    def build(context, builder, signature, arguments):
        signs = builder.ashr(arguments[0], _alike(builder, arguments[0], ir.Constant(INTEGER, 63)))
        return builder.xor(arguments[0], signs)

    return pack(pack), build


@compiled_as(lambda pack: np.bitwise_or.reduce(np.atleast_1d(pack)))
def all_bits(context, pack):
    """The bits that any of the integers has."""

    def build(context, builder, signature, arguments):
        bits = arguments[0]
        if not isinstance(signature.args[0], Pack):
            return bits
        found = builder.extract_element(bits, ir.Constant(ir.IntType(32), 0))
        for i in range(1, LANES):
            found = builder.or_(found, builder.extract_element(bits, ir.Constant(ir.IntType(32), i)))
        return found

    return types.int64(pack), build


def _times(pack, number):
    with np.errstate(invalid="ignore"):
        return np.where(pack != 0, pack * number, np.zeros_like(pack))[()]


@compiled_as(_times)
def times(context, pack, number):
    """Products with the number; 0 stays 0, also if the number is infinite or none."""

    def build(context, builder, signature, arguments):
        pack, number = arguments
        if signature.args[1] != types.float64:
            return builder.mul(pack, _alike(builder, pack, number))
        nothing = ir.Constant(pack.type, None)
        product = builder.fmul(pack, _alike(builder, pack, number))
        return builder.select(builder.fcmp_unordered("!=", pack, nothing), product, nothing)

    return pack(pack, number), build


@compiled_as(lambda pack, other: np.maximum(pack, other))
def larger(context, pack, other):
    """The larger ones of integers."""

    def build(context, builder, signature, arguments):
        return builder.select(builder.icmp_signed(">", *arguments), *arguments)

    return pack(pack, other), build


def _raise_others(pack, number, nothing):
    return np.where(pack == nothing, pack, np.maximum(pack, number))[()]


@compiled_as(_raise_others)
def raise_others(context, pack, number, nothing):
    """Integers that are raised to the number where they are smaller, but for those that are `nothing`."""

    def build(context, builder, signature, arguments):
        pack, number, nothing = arguments[0], *(_alike(builder, arguments[0], one) for one in arguments[1:])
        raised = builder.select(builder.icmp_signed(">", pack, number), pack, number)
        return builder.select(builder.icmp_signed("==", pack, nothing), pack, raised)

    return pack(pack, types.int64, types.int64), build
