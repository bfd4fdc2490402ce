"""Kernels compiled by Numba. Their code is kept, in place of Numba's own cache, which goes by paths and times of files.

This module and those that it imports are the only ones that import Numba, and they are imported when something is
compiled or loaded.
"""

from __future__ import annotations

import gc
import hashlib
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from importlib import import_module
from typing import Any

from numba import njit
from numba.core import serialize, sigutils, types
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.runtime.nrt import rtsys
from numba.extending import typeof_impl

from trendweave.interruptible import interruptible
from trendweave.kernel_cache import files
from trendweave.kernel_cache.files import KERNELS as KERNEL_FILES
from trendweave.kernel_cache.files import TEXTS, read_kept, write_kept
from trendweave.kernel_cache.folders import kernel_folder
from trendweave.kernel_cache.handed_over import take_handed_over
from trendweave.kernel_cache.kernel import KERNELS, NUMBA_SIDES, Kernel
from trendweave.kernel_cache.machine import machine_key
from trendweave.kernel_cache.mended import mend_numba
from trendweave.kernel_cache.sources import fingerprint_of, text_of_module
from trendweave.kernel_cache.waiting import compiling
from trendweave.stopping import away_from_work, heed_stop

_dumps: Callable[[Any], bytes] = serialize.dumps
_normalize: Callable[[Any], tuple[tuple[Any, ...], Any]] = sigutils.normalize_signature
_unliteral: Callable[[Any], Any] = types.unliteral
_rebuild: Callable[..., Any] = CompileResult._rebuild
mend_numba()
#: What reading something that was kept by another version of the kernels may raise: then nothing was kept.
_UNREADABLE = (
    AttributeError,
    ImportError,
    TypeError,
    ValueError,
    EOFError,
    IndexError,
    KeyError,
    pickle.UnpicklingError,
)


def make_compiled(kernel: Kernel) -> Any:
    """What Numba makes of a kernel; its code is kept on disk by what it is made of."""
    _import_numba_sides()
    compiled: Any = njit(**kernel.targetoptions)(kernel.py_func)
    if "inline" in kernel.targetoptions:  # compiled with its callers alone
        return compiled
    compiled._compiler.fold_argument_types = _without_literals(compiled._compiler.fold_argument_types)
    compiled._cache = _files_of(kernel)
    compiled.compile = _shared_among_processes(compiled.compile, compiled._cache)
    return compiled


def is_kept(kernel: Kernel, arguments: tuple[Any, ...]) -> bool:
    """Whether this machine has compiled a kernel for such arguments."""
    if "inline" in kernel.targetoptions:
        return False
    take_handed_over()
    compiled = kernel.compiled
    return compiled._cache.is_kept(tuple(compiled.typeof_pyval(one) for one in arguments))


def prefixes_of_kernels() -> tuple[str, ...]:
    """How names of files begin that hold code of the kernels that this process has imported."""
    kernels = (kernel for kernel in KERNELS if "inline" not in kernel.targetoptions)
    return tuple(sorted({_files_of(kernel).prefix for kernel in kernels}))


def _files_of(kernel: Kernel) -> _KernelFiles:
    options = repr(sorted(kernel.targetoptions.items()))
    if kernel.text is None:
        name, more = f"{kernel.__module__}.{kernel.__qualname__}", _text_of_numba_sides()
        return _KernelFiles(kernel.py_func, KERNEL_FILES, name, f"{more} {options}")
    digest = hashlib.sha256(kernel.text.encode()).hexdigest()
    return _KernelFiles(kernel.py_func, TEXTS, kernel.__name__, f"{digest} {options}")


def _import_numba_sides() -> None:
    for module in NUMBA_SIDES:
        import_module(module)


@cache
def _text_of_numba_sides() -> str:
    return repr([text_of_module(import_module(module).__name__) for module in sorted(NUMBA_SIDES)])


@typeof_impl.register(Kernel)
def _type_of_kernel(kernel: Kernel, context: Any) -> Any:
    """A kernel that another one calls."""
    return types.Dispatcher(kernel.compiled)


def _without_literals(fold: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that calls another with 0 calls what takes any integer. While Numba finds out the types of a loop it
    knows of its first turn only, where a counter is 0: it would compile all that is called from there for 0 as well."""

    def fold_argument_types(arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, Any]:
        signature, folded = fold(arguments, named)
        return signature, tuple(_unliteral(one) if isinstance(one, types.IntegerLiteral) else one for one in folded)

    return fold_argument_types


class _KernelFiles(_Cache):
    """The code of one function, a file per signature. Numba calls this."""

    def __init__(self, function: Callable[..., Any], group: str, name: str, more: str) -> None:
        self._function: Any = function
        self._group = group
        self._name = name
        self._more = more
        self._enabled = True

    @cached_property
    def prefix(self) -> str:
        """Names the function and all that it is made of."""
        made_of = f"{fingerprint_of(self._function)} {self._more}"
        return f"{self._name.removeprefix('trendweave.')}-{hashlib.sha256(made_of.encode()).hexdigest()[:16]}"

    @property
    def cache_path(self) -> str | None:
        folder = kernel_folder()
        return None if folder is None else str(folder)

    def is_kept(self, signature: Any) -> bool:
        key = self.key_of(signature)
        return key is not None and files.is_kept(self.group, self._file(key))

    def key_of(self, signature: Any) -> str | None:
        """Digest of function and signature; None where a type names a place in memory, which no other process has."""
        arguments, returned = _normalize(signature)
        text = repr((self.prefix, [_describe_type(one) for one in arguments], str(returned)))
        return None if " at 0x" in text else hashlib.sha256(text.encode()).hexdigest()[:24]

    @property
    def group(self) -> str:
        return self._group + machine_key()

    def _file(self, key: str) -> str:
        return f"{self.prefix}-{key}"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        key = self.key_of(sig)
        if key is None or not self._enabled:
            return None
        # Numba's own cache calls `target_context.refresh()`, which imports all rules of typing and lowering, a sixth of
        # a short run. Code that is loaded needs only what allocates, and a compiler refreshes by itself.
        rtsys.initialize(target_context)
        content = read_kept(self.group, self._file(key))
        if content is None:
            return None
        try:
            arguments, reduced = pickle.loads(content)
            if arguments != _arguments(sig):
                return None
            return _rebuild(target_context, *reduced)
        except _UNREADABLE:
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        key = self.key_of(sig)
        if key is None or not self._enabled or data.lifted or data.library.has_dynamic_globals:
            return
        # Notes on types name the files of the sources, and nobody reads them.
        reduced = data._replace(type_annotation="")._reduce()
        write_kept(self.group, self._file(key), _dumps((_arguments(sig), reduced)))

    def enable(self) -> None:
        self._enabled = True

    def disable(self) -> None:
        self._enabled = False

    def flush(self) -> None:
        """Numba calls this to compile again; whoever wants that empties the folder."""


def _arguments(signature: Any) -> tuple[Any, ...]:
    return _normalize(signature)[0]


def _describe_type(kind: Any) -> Any:
    """A type by its text, and named tuples by the order of their fields as well, which code goes by."""
    if isinstance(kind, (types.NamedTuple, types.NamedUniTuple)):
        return str(kind), kind.fields, [_describe_type(one) for one in kind]
    return str(kind)


@contextmanager
def _collecting_nothing() -> Iterator[None]:
    """What Numba makes of a function lives until it is compiled: looking through it for garbage takes a tenth."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _shared_among_processes(compile_here: Callable[[Any], Any], kept: _KernelFiles) -> Callable[[Any], Any]:
    """Compile only what no process has compiled, and is not at it. Types are all that is read meanwhile. A thread that
    compiles already goes on with it: another would wait for its lock."""

    def compile_or_load(signature: Any) -> Any:
        heed_stop()
        with away_from_work():
            key = None if kept.is_kept(signature) else kept.key_of(signature)
            if key is None:
                return compile_unless_stopped(signature)
            take_handed_over()
            with compiling(key):
                return compile_unless_stopped(signature)

    def compile_unless_stopped(signature: Any) -> Any:
        with global_compiler_lock:  # a thread may have waited for it for seconds, and been asked to stop
            heed_stop()
            with _collecting_nothing():
                return compile_here(signature)

    # What a signal raises in the middle of it would leave Numba's books half written.
    beside = interruptible(compile_or_load)
    compiles: Callable[[], bool] = global_compiler_lock.is_locked  # this very thread
    return lambda signature: (compile_or_load if compiles() else beside)(signature)
