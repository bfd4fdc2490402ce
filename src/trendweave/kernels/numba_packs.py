"""Packs for Numba: what `packs` says in Python, in LLVM's terms; imported where something is compiled."""

from collections.abc import Callable
from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.core.typing.templates import infer, infer_global, make_intrinsic_template
from numba.extending import models, register_model

from trendweave.kernels import packs
from trendweave.kernels.packs import LANES
from trendweave.stopping import STOPS, STOPS_ADDRESS

INTEGER = ir.IntType(64)
_STOPS = "trendweave_stops"
_LLVM: Any = binding
# Found by a name, so that compiled code can be kept.
_LLVM.add_symbol(_STOPS, STOPS_ADDRESS)


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
    """Decorator of what tells Numba how to compile a function that loops call."""

    def register(typed: Callable) -> Any:
        template = make_intrinsic_template(plain, typed, plain.__name__, kwargs={})
        infer(template)
        infer_global(plain, types.Function(template))
        return typed

    return register


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


@compiled_as(packs.spread)
def _spread(context, number):
    def build(context, builder, signature, arguments):
        return _repeated(builder, arguments[0])

    return Pack(number)(number), build


@compiled_as(packs.load)
def _load(context, pack, array, at):
    def build(context, builder, signature, arguments):
        kind = signature.args
        return builder.load(_address(context, builder, kind[1], arguments[1], arguments[2], kind[0]), align=8)

    return pack(pack, array, types.uint64), build


@compiled_as(packs.store)
def _store(context, array, at, pack):
    def build(context, builder, signature, arguments):
        kind = signature.args
        builder.store(arguments[2], _address(context, builder, kind[0], *arguments[:2], kind[2]), align=8)
        return context.get_dummy_value()

    return types.none(array, types.uint64, pack), build


@compiled_as(packs.add)
def _add(context, pack, other):
    def build(context, builder, signature, arguments):
        number = getattr(signature.args[0], "dtype", signature.args[0])
        return (builder.fadd if number == types.float64 else builder.add)(*arguments)

    return pack(pack, other), build


@compiled_as(packs.shift_down)
def _shift_down(context, pack, bits):
    def build(context, builder, signature, arguments):
        return builder.ashr(arguments[0], _alike(builder, *arguments))

    return pack(pack, types.int64), build


@compiled_as(packs.keep_bits)
def _keep_bits(context, pack, mask):
    def build(context, builder, signature, arguments):
        return builder.and_(arguments[0], _alike(builder, *arguments))

    return pack(pack, types.int64), build


@compiled_as(packs.any_set)
def _any_set(context, pack):
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


@compiled_as(packs.put_between)
def _put_between(context, pack, lane, first, end, others):
    def build(context, builder, signature, arguments):
        inside = _is_between(builder, *arguments[:4])
        return builder.select(inside, arguments[0], arguments[4])

    return pack(pack, types.int64, types.int64, types.int64, pack), build


@compiled_as(packs.join_bits)
def _join_bits(context, pack, other):
    def build(context, builder, signature, arguments):
        return builder.or_(*arguments)

    return pack(pack, other), build


@compiled_as(packs.magnitude_bits)
def _magnitude_bits(context, pack):
    def build(context, builder, signature, arguments):
        signs = builder.ashr(arguments[0], _alike(builder, arguments[0], ir.Constant(INTEGER, 63)))
        return builder.xor(arguments[0], signs)

    return pack(pack), build


@compiled_as(packs.all_bits)
def _all_bits(context, pack):
    def build(context, builder, signature, arguments):
        bits = arguments[0]
        if not isinstance(signature.args[0], Pack):
            return bits
        width = LANES
        while width > 1:
            width //= 2
            halves = (ir.Constant(ir.VectorType(ir.IntType(32), width), [*range(i, i + width)]) for i in (0, width))
            bits = builder.or_(*(builder.shuffle_vector(bits, bits, half) for half in halves))
        return builder.extract_element(bits, ir.Constant(ir.IntType(32), 0))

    return types.int64(pack), build


@compiled_as(packs.times)
def _times(context, pack, number):
    def build(context, builder, signature, arguments):
        pack, number = arguments
        if signature.args[1] != types.float64:
            return builder.mul(pack, _alike(builder, pack, number))
        nothing = ir.Constant(pack.type, None)
        product = builder.fmul(pack, _alike(builder, pack, number))
        return builder.select(builder.fcmp_unordered("!=", pack, nothing), product, nothing)

    return pack(pack, number), build


@compiled_as(packs.larger)
def _larger(context, pack, other):
    def build(context, builder, signature, arguments):
        return builder.select(builder.icmp_signed(">", *arguments), *arguments)

    return pack(pack, other), build


@compiled_as(packs.raise_others)
def _raise_others(context, pack, number, nothing):
    def build(context, builder, signature, arguments):
        pack, number, nothing = arguments[0], *(_alike(builder, arguments[0], one) for one in arguments[1:])
        raised = builder.select(builder.icmp_signed(">", pack, number), pack, number)
        return builder.select(builder.icmp_signed("==", pack, nothing), pack, raised)

    return pack(pack, types.int64, types.int64), build


@compiled_as(packs.leading_zeros)
def _leading_zeros(context, number):
    def build(context, builder, signature, arguments):
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return number(number), build


@compiled_as(packs.stops)
def _stops(context, place):
    def build(context, builder, signature, arguments):
        stops = builder.module.globals.get(_STOPS)
        if stops is None:
            stops = ir.GlobalVariable(builder.module, ir.ArrayType(INTEGER, len(STOPS)), _STOPS)
        at = builder.gep(stops, [ir.Constant(INTEGER, 0), arguments[0]])
        # Read anew at each turn of a loop.
        return builder.load_atomic(at, "monotonic", 8)

    return types.int64(types.int64), build


@compiled_as(packs.current_thread)
def _current_thread(context):
    def build(context, builder, signature, arguments):
        name = "PyThread_get_thread_ident"
        function = builder.module.globals.get(name)
        if function is None:
            function = ir.Function(builder.module, ir.FunctionType(INTEGER, []), name)
        return builder.call(function, [])

    return types.int64(), build
