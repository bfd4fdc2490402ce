"""How kernels are compiled.

`inner`: no reference counting. Kernels never keep or return an array, and counting references on each call of a small
function (atomically) costs more than what most of them do. A function that allocates arrays uses `outer`, one that is
called for every pair of events `inlined` or `inlined_late`.
No fastmath: NaN, infinities and rounding mean what they mean. Compiled code is kept on disk.

Numba has no public way to say how kept code is told apart, nor to leave reference counting out: `_nrt` and the private
parts of its cache that are used below were tried with Numba 0.68, and the package asks for a version below 0.69.
"""

import hashlib
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit


def fingerprint(folder: Path) -> str:
    """Changes with any Python file of the folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


FINGERPRINT = fingerprint(Path(__file__).parent)


def _kept_on_disk(function: Callable, **options: Any) -> Any:
    """Kept as long as all kernels stay the same. Numba looks only at the function's own file; kernels call functions
    of others."""
    compiled = njit(cache=True, nogil=True, **options)(function)
    index = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if index is not None:
        index._source_stamp = (index._source_stamp, FINGERPRINT)
        index._load_index = _forgiving(index._load_index)
    return compiled


def _forgiving(load: Callable[[], dict]) -> Callable[[], dict]:
    """What was kept by kernels of another version may name types that are gone: then nothing was kept."""

    def load_index() -> dict:
        try:
            return load()
        except (AttributeError, ImportError, TypeError, ValueError, EOFError, pickle.UnpicklingError):
            return {}

    return load_index


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


def cache_folder(compiled: Any) -> Path | None:
    """Where the compiled code of a kernel is kept; None where Numba keeps none (NUMBA_DISABLE_JIT)."""
    cache = getattr(compiled, "_cache", None)
    return None if cache is None else Path(cache.cache_path)
