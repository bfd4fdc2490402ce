"""How kernels are compiled.

`inner`: no reference counting. Kernels never keep or return an array, and counting references on each call of a small
function (atomically) costs more than what most of them do. A function that allocates arrays uses `outer`, one that is
called for every pair of events `inlined` or `inlined_late`.
No fastmath: NaN, infinities and rounding mean what they mean. Compiled code is kept on disk.

Numba has no public way to leave reference counting out: `_nrt` was tried with Numba 0.68, and the package asks for a
version below 0.69. `kept_code` keeps what is compiled.
"""

from collections.abc import Callable
from typing import Any

from numba import njit, types
from numba.core.dispatcher import Dispatcher

from trendweave.kept_code.cache import keep_compiled


def _kept_on_disk(function: Callable, **options: Any) -> Any:
    """Kept as long as it is made of the same. Nobody calls kernels by pointers, so none are made for that."""
    options |= {"nogil": True, "no_cfunc_wrapper": True}
    compiled: Any = njit(**options)(function)
    if isinstance(compiled, Dispatcher):
        compiler: Any = compiled._compiler  # type: ignore[attr-defined]
        compiler.fold_argument_types = _without_literals(compiler.fold_argument_types)
    return keep_compiled(compiled)


def _without_literals(fold: Callable) -> Callable:
    """A kernel that calls another with 0 calls what takes any integer. While Numba finds out the types of a loop it
    knows of its first turn only, where a counter is 0: it would compile all that is called from there for 0 as well."""

    def fold_argument_types(arguments: tuple, named: dict) -> tuple:
        signature, folded = fold(arguments, named)
        return signature, tuple(
            types.unliteral(one) if isinstance(one, types.IntegerLiteral) else one for one in folded
        )

    return fold_argument_types


def inner(function: Callable) -> Any:
    return _kept_on_disk(function, _nrt=False)


def inlined(function: Callable) -> Any:
    """A function that takes tuples of arrays: called, it would be handed each array's parts one by one.

    Numba puts it into its callers before it knows types, so it is compiled with them and never by itself. With LLVM's
    own inlining the aggregates took 107 s of CPU time to warm up instead of 58.
    """
    options: dict[str, Any] = {"inline": "always", "nogil": True, "_nrt": False}
    return njit(**options)(function)


def inlined_late(function: Callable) -> Any:
    """The same by LLVM, for functions with several callers: compiled once by itself, then put into each of them. Put in
    early, the kernels of lists took 37 s of CPU time to warm up instead of 27."""
    return _kept_on_disk(function, _nrt=False, forceinline=True)


def outer(function: Callable) -> Any:
    return _kept_on_disk(function)
