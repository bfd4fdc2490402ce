"""Packs for Numba: what `packs` says in Python, in LLVM's terms; imported where something is compiled."""

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
    def is_pack(self) -> bool:
        """Whether the first argument is a pack, and not a single number."""
        return isinstance(self.kinds[0], Pack)

    @property
    def floats(self) -> bool:
        """Whether its numbers are floats."""
        return getattr(self.kinds[0], "dtype", self.kinds[0]) == types.float64

    def repeat(self, number: Any) -> Any:
        """A vector of the number, eight times."""
        nothing = ir.Constant(ir.VectorType(number.type, LANES), ir.Undefined)
        one = self.builder.insert_element(nothing, number, ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return self.builder.shuffle_vector(one, nothing, zeros)

    def alike(self, number: Any) -> Any:
        """A number in the form of the first argument."""
        return self.repeat(number) if self.is_pack else number

    def address(self, array_kind: Any, array: Any, at: Any, pack: types.Type) -> Any:
        """Where the numbers of a pack lie in an array."""
        view = self.context.make_array(array_kind)(self.context, self.builder, array)
        dtype = array_kind.dtype
        kind = vector_of(dtype) if isinstance(pack, Pack) else self.context.get_data_type(dtype)
        return self.builder.bitcast(self.builder.gep(view.data, [at]), kind.as_pointer())


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
    return code.builder.load(code.address(code.kinds[1], array, at, code.kinds[0]), align=8)


@compiled_as(packs.store, lambda _: types.none, at=types.uint64)
def _store(code, array, at, pack):
    code.builder.store(pack, code.address(code.kinds[0], array, at, code.kinds[2]), align=8)
    return code.context.get_dummy_value()


@compiled_as(packs.add)
def _add(code, pack, other):
    return (code.builder.fadd if code.floats else code.builder.add)(pack, other)


@compiled_as(packs.shift_down, bits=types.int64)
def _shift_down(code, pack, bits):
    return code.builder.ashr(pack, code.alike(bits))


@compiled_as(packs.keep_bits, mask=types.int64)
def _keep_bits(code, pack, mask):
    return code.builder.and_(pack, code.alike(mask))


@compiled_as(packs.any_set, lambda _: types.boolean)
def _any_set(code, pack):
    bits = ir.IntType(64 * (LANES if code.is_pack else 1))
    return code.builder.icmp_unsigned("!=", code.builder.bitcast(pack, bits), ir.Constant(bits, 0))


@compiled_as(packs.put_between, lane=types.int64, first=types.int64, end=types.int64)
def _put_between(code, pack, lane, first, end, others):
    lanes = code.alike(lane)
    if code.is_pack:
        lanes = code.builder.add(lanes, ir.Constant(ir.VectorType(INTEGER, LANES), list(range(LANES))))
    after = code.builder.icmp_signed(">=", lanes, code.alike(first))
    before = code.builder.icmp_signed("<", lanes, code.alike(end))
    return code.builder.select(code.builder.and_(after, before), pack, others)


@compiled_as(packs.join_bits)
def _join_bits(code, pack, other):
    return code.builder.or_(pack, other)


@compiled_as(packs.magnitude_bits)
def _magnitude_bits(code, pack):
    return code.builder.xor(pack, code.builder.ashr(pack, code.alike(ir.Constant(INTEGER, 63))))


@compiled_as(packs.all_bits, lambda _: types.int64)
def _all_bits(code, bits):
    if not code.is_pack:
        return bits
    width = LANES
    while width > 1:
        width //= 2
        halves = (ir.Constant(ir.VectorType(ir.IntType(32), width), [*range(i, i + width)]) for i in (0, width))
        bits = code.builder.or_(*(code.builder.shuffle_vector(bits, bits, half) for half in halves))
    return code.builder.extract_element(bits, ir.Constant(ir.IntType(32), 0))


@compiled_as(packs.times)
def _times(code, pack, number):
    if not code.floats:
        return code.builder.mul(pack, code.alike(number))
    nothing = ir.Constant(pack.type, None)
    product = code.builder.fmul(pack, code.alike(number))
    return code.builder.select(code.builder.fcmp_unordered("!=", pack, nothing), product, nothing)


@compiled_as(packs.larger)
def _larger(code, pack, other):
    return code.builder.select(code.builder.icmp_signed(">", pack, other), pack, other)


@compiled_as(packs.raise_others, number=types.int64, nothing=types.int64)
def _raise_others(code, pack, number, nothing):
    raised = _larger(code, pack, code.alike(number))
    return code.builder.select(code.builder.icmp_signed("==", pack, code.alike(nothing)), pack, raised)


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
