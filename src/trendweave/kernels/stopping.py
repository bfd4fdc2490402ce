"""Kernels that may take long look here whether their thread is to stop (`trendweave.stopping`).

A kernel that has only been handed its memory raises; one that has allocated some (`outer`) returns what it has, because
Numba frees nothing when something is raised. Whoever has called it sees neither: Python looks after each kernel.
The list of threads is found by a name that is made known to LLVM, so that compiled code can be kept.
"""

from typing import Any

from llvmlite import binding, ir
from numba import types

from trendweave.kernels.compiling import inlined_late, inner
from trendweave.kernels.packs import INTEGER, compiled_as
from trendweave.stopping import STOPS, STOPS_ADDRESS

_NAME = "trendweave_stops"
_LLVM: Any = binding
_LLVM.add_symbol(_NAME, STOPS_ADDRESS)


def _plain_stops(place):
    return STOPS[place]


@compiled_as(_plain_stops)
def _stops(typing, place):
    def generate(context, builder, signature, arguments):
        stops = builder.module.globals.get(_NAME)
        if stops is None:
            stops = ir.GlobalVariable(builder.module, ir.ArrayType(INTEGER, len(STOPS)), _NAME)
        at = builder.gep(stops, [ir.Constant(INTEGER, 0), arguments[0]])
        # Read anew at each turn of a loop.
        return builder.load_atomic(at, "monotonic", 8)

    return types.int64(types.int64), generate


def _plain_thread():
    return 0  # not compiled, loops do not stop half-way


@compiled_as(_plain_thread)
def _thread(typing):
    def generate(context, builder, signature, arguments):
        name = "PyThread_get_thread_ident"
        function = builder.module.globals.get(name)
        if function is None:
            function = ir.Function(builder.module, ir.FunctionType(INTEGER, []), name)
        return builder.call(function, [])

    return types.int64(), generate


@inner
def _is_asked():
    """Whether this very thread is among those that are to stop."""
    thread = _thread()
    for place in range(1, _stops(0) + 1):
        if _stops(place) == thread:
            return True
    return False


@inlined_late
def is_to_stop():
    return _stops(0) != 0 and _is_asked()


@inlined_late
def heed_stop():
    if is_to_stop():
        raise InterruptedError
