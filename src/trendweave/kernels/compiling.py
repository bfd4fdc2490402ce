"""How kernels are compiled.

`inner`: no reference counting. Kernels never keep or return an array, and counting references on each call of a small
function (atomically) costs more than what most of them do. A function that allocates arrays uses `outer`, one that is
called for every pair of events `inlined` or `inlined_late`.
No fastmath: NaN, infinities and rounding mean what they mean.

Numba has no public way to leave reference counting out: `_nrt` was tried with Numba 0.68, and the package asks for a
version below 0.69.
"""

from collections.abc import Callable
from typing import Any

from trendweave.kernel_cache.kernel import Kernel


def _kernel(function: Callable, **options: Any) -> Any:
    """Nobody calls kernels by pointers, so none are made for that."""
    return Kernel(function, {**options, "nogil": True, "no_cfunc_wrapper": True})


def inner(function: Callable) -> Any:
    return _kernel(function, _nrt=False)


def inlined(function: Callable) -> Any:
    """A function that takes tuples of arrays: called, it would be handed each array's parts one by one.

    Numba puts it into its callers before it knows types, so it is compiled with them and never by itself. With LLVM's
    own inlining the aggregates took 107 s of CPU time to warm up instead of 58.
    """
    return Kernel(function, {"inline": "always", "nogil": True, "_nrt": False})


def inlined_late(function: Callable) -> Any:
    """The same by LLVM, for functions with several callers: compiled once by itself, then put into each of them. Put in
    early, the kernels of lists took 37 s of CPU time to warm up instead of 27."""
    return _kernel(function, _nrt=False, forceinline=True)


def outer(function: Callable) -> Any:
    return _kernel(function)
