"""Packs for Numba: what `packs` says in Python, in LLVM's terms; imported where something is compiled."""

import operator
from collections.abc import Callable
from typing import Any, NamedTuple, cast

from llvmlite import binding, ir
from numba import types
from numba.core import utils
from numba.core.typing.templates import infer, infer_global, make_intrinsic_template
from numba.extending import models, register_model

from trendweave.kernels import packs
from trendweave.kernels.packs import LANES
from trendweave.stopping import STOPS, STOPS_ADDRESS

INTEGER = ir.IntType(64)
_STOPS = "trendweave_stops"
_LLVM: Any = binding
_UTILS: Any = utils
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


class Code(NamedTuple):
    """Where a function is written: LLVM's builder, and the types of its arguments."""

    context: Any
    builder: Any
    kinds: tuple[types.Type, ...]

    @property
    def floats(self) -> bool:
        """Whether numbers of the first argument are floats."""
        return getattr(self.kinds[0], "dtype", self.kinds[0]) == types.float64

    def repeat(self, number: Any) -> Any:
        """A vector of the number, eight times."""
        nothing = ir.Constant(ir.VectorType(number.type, LANES), ir.Undefined)
        one = self.builder.insert_element(nothing, number, ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return self.builder.shuffle_vector(one, nothing, zeros)

    def address(self, array_kind: Any, array: Any, at: Any) -> Any:
        """Where the numbers of a pack lie in an array."""
        view = self.context.make_array(array_kind)(self.context, self.builder, array)
        return self.builder.bitcast(self.builder.gep(view.data, [at]), vector_of(array_kind.dtype).as_pointer())


def compiled_as(plain: Callable, returns: Callable | None = None, **takes: types.Type) -> Callable:
    """Decorator of what writes a function that loops call. It returns what its first argument is, or `returns` of that;
    `takes` are the types that arguments are converted to."""
    signature = _UTILS.pysignature(plain)
    parameters = list(signature.parameters.values())

    def register(write: Callable) -> Callable:
        def typed(context: Any, *given: types.Type) -> tuple[Any, Callable]:
            kinds = [takes.get(one.name, kind) for one, kind in zip(parameters, given, strict=True)]

            def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                return write(Code(context, builder, signature.args), *arguments)

            return (kinds[0] if returns is None else returns(*kinds[:1]))(*kinds), build

        before = _UTILS.pysignature(lambda context: context).parameters.values()
        cast(Any, typed).__signature__ = signature.replace(parameters=[*before, *parameters])
        template = make_intrinsic_template(plain, typed, plain.__name__, kwargs={})
        infer(template)
        infer_global(plain, types.Function(template))
        return write

    return register


@compiled_as(packs.spread, Pack)
def _spread(code, number):
    return code.repeat(number)


@compiled_as(packs.load, at=types.uint64)
def _load(code, pack, array, at):
    return code.builder.load(code.address(code.kinds[1], array, at), align=8)


@compiled_as(packs.store, lambda _: types.none, at=types.uint64)
def _store(code, array, at, pack):
    code.builder.store(pack, code.address(code.kinds[0], array, at), align=8)
    return code.context.get_dummy_value()


def _register_operator(plain: Callable, write: str, write_floats: str | None = None) -> None:
    """What an operator makes of a pack, and of another one or an integer."""

    def typed(context: Any, pack: types.Type, other: types.Type) -> tuple[Any, Callable] | None:
        if not isinstance(pack, Pack):
            return None

        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            code, (one, other) = Code(context, builder, signature.args), arguments
            number = other if isinstance(signature.args[1], Pack) else code.repeat(other)
            return getattr(builder, write_floats if code.floats and write_floats else write)(one, number)

        return pack(pack, other if isinstance(other, Pack) else types.int64), build

    template = make_intrinsic_template(plain, typed, plain.__name__, kwargs={})
    infer(template)
    infer_global(plain, types.Function(template))


_register_operator(operator.add, "add", "fadd")
_register_operator(operator.and_, "and_")
_register_operator(operator.or_, "or_")
_register_operator(operator.xor, "xor")
_register_operator(operator.rshift, "ashr")


@compiled_as(packs.differs, lambda _: types.boolean)
def _differs(code, pack, other):
    compare = code.builder.fcmp_unordered if code.floats else code.builder.icmp_signed
    flags, bits = compare("!=", pack, other), ir.IntType(LANES)
    return code.builder.icmp_unsigned("!=", code.builder.bitcast(flags, bits), ir.Constant(bits, 0))


@compiled_as(packs.put_between, lane=types.int64, first=types.int64, end=types.int64)
def _put_between(code, pack, lane, first, end, others):
    steps = ir.Constant(ir.VectorType(INTEGER, LANES), list(range(LANES)))
    lanes = code.builder.add(code.repeat(lane), steps)
    after = code.builder.icmp_signed(">=", lanes, code.repeat(first))
    before = code.builder.icmp_signed("<", lanes, code.repeat(end))
    return code.builder.select(code.builder.and_(after, before), pack, others)


@compiled_as(packs.all_bits, lambda _: types.int64)
def _all_bits(code, bits):
    width = LANES
    while width > 1:
        width //= 2
        halves = (ir.Constant(ir.VectorType(ir.IntType(32), width), [*range(i, i + width)]) for i in (0, width))
        bits = code.builder.or_(*(code.builder.shuffle_vector(bits, bits, half) for half in halves))
    return code.builder.extract_element(bits, ir.Constant(ir.IntType(32), 0))


@compiled_as(packs.times)
def _times(code, pack, number):
    if not code.floats:
        return code.builder.mul(pack, code.repeat(number))
    nothing = ir.Constant(pack.type, None)
    product = code.builder.fmul(pack, code.repeat(number))
    return code.builder.select(code.builder.fcmp_unordered("!=", pack, nothing), product, nothing)


@compiled_as(packs.larger)
def _larger(code, pack, other):
    return code.builder.select(code.builder.icmp_signed(">", pack, other), pack, other)


@compiled_as(packs.raise_others, number=types.int64, nothing=types.int64)
def _raise_others(code, pack, number, nothing):
    raised = _larger(code, pack, code.repeat(number))
    return code.builder.select(code.builder.icmp_signed("==", pack, code.repeat(nothing)), pack, raised)


@compiled_as(packs.stops, place=types.int64)
def _stops(code, place):
    stops = code.builder.module.globals.get(_STOPS)
    if stops is None:
        stops = ir.GlobalVariable(code.builder.module, ir.ArrayType(INTEGER, len(STOPS)), _STOPS)
    at = code.builder.gep(stops, [ir.Constant(INTEGER, 0), place])
    # Read anew at each turn of a loop.
    return code.builder.load_atomic(at, "monotonic", 8)


@compiled_as(packs.current_thread, lambda: types.int64)
def _current_thread(code):
    name = "PyThread_get_thread_ident"
    function = code.builder.module.globals.get(name)
    if function is None:
        function = ir.Function(code.builder.module, ir.FunctionType(INTEGER, []), name)
    return code.builder.call(function, [])
