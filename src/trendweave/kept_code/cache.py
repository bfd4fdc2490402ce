"""Keeps what Numba compiles, in place of its own cache, which goes by paths and times of files."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from functools import cache, cached_property
from typing import Any

from numba.core import serialize, sigutils, types
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher

from trendweave.interruptible import interruptible
from trendweave.kept_code.files import KERNELS, TEXTS, is_kept, read_kept, write_kept
from trendweave.kept_code.folders import kernel_folder
from trendweave.kept_code.handed_over import take_handed_over
from trendweave.kept_code.machine import machine_key
from trendweave.kept_code.mended import mend_numba
from trendweave.kept_code.sources import fingerprint_of
from trendweave.kept_code.waiting import compiling
from trendweave.stopping import away_from_work, heed_stop

_dumps: Callable[[Any], bytes] = serialize.dumps
_normalize: Callable[[Any], tuple[tuple[Any, ...], Any]] = sigutils.normalize_signature
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


#: All kernels that were imported: those whose code a pack holds.
_KERNELS: list[_KernelFiles] = []


def keep_compiled(compiled: Any) -> Any:
    """Keep the code of a kernel, by what it is made of.

    Args:
        compiled: What `numba.njit` has made of a function.
    """
    return _keep(compiled, KERNELS, f"{compiled.__module__}.{compiled.__qualname__}", "")


def prefixes_of_kernels() -> tuple[str, ...]:
    """How names of files begin that hold code of the kernels that this process has imported."""
    return tuple(sorted({kernel.prefix for kernel in _KERNELS}))


def keep_compiled_text(compiled: Any, text: str) -> Any:
    """Keep the code of a function that was written while the program runs; the text is all that it is made of."""
    return _keep(compiled, TEXTS, compiled.__name__, hashlib.sha256(text.encode()).hexdigest())


def _keep(compiled: Any, group: str, name: str, more: str) -> Any:
    if not isinstance(compiled, Dispatcher):  # a plain function: nothing is compiled (NUMBA_DISABLE_JIT)
        return compiled
    options = repr(sorted(compiled.targetoptions.items()))
    kept = _KernelFiles(compiled.py_func, group, name, f"{more} {options}")
    if group == KERNELS:
        _KERNELS.append(kept)
    dispatcher: Any = compiled
    dispatcher._cache = kept
    dispatcher.compile = _shared_among_processes(dispatcher.compile, kept)
    dispatcher.__class__ = _stoppable(dispatcher.__class__)
    return dispatcher


@cache
def _stoppable(dispatcher: type[Any]) -> type[Any]:
    """Kernels whose calls from Python leave where their thread is to stop. Those that stop half-way give what they
    have, or raise something, and neither is seen."""

    def call(self: Any, *arguments: Any, **named: Any) -> Any:
        heed_stop()
        try:
            return dispatcher.__call__(self, *arguments, **named)
        finally:
            heed_stop()

    return type(dispatcher.__name__, (dispatcher,), {"__call__": call})


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
        return key is not None and is_kept(self.group, self._file(key))

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
        target_context.refresh()
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
            return compile_here(signature)

    # What a signal raises in the middle of it would leave Numba's books half written.
    beside = interruptible(compile_or_load)
    compiles: Callable[[], bool] = global_compiler_lock.is_locked  # this very thread
    return lambda signature: (compile_or_load if compiles() else beside)(signature)
