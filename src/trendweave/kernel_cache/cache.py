"""Kernels compiled by Numba, whose code is kept in files that are named by what it was made of.

Numba's own cache goes by paths of files and looks at one function alone, but functions are compiled with what they
call; two processes that write to it at once can take one's code for the other's; and loading from it first imports all
that a compiler needs, a sixth of a short run. So what is Numba's here is how code is written and loaded, and where a
dispatcher asks for it. Inner parts of Numba were tried with Numba 0.68, and the package asks for a version below 0.69.

Nothing else but rules for Numba imports it, and this is imported when something is compiled or loaded.
"""

from __future__ import annotations

import gc
import hashlib
import pickle
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache, cached_property
from importlib import import_module
from operator import itemgetter
from types import CodeType, ModuleType
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core import errors, serialize, types
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher, cpu_target
from numba.core.runtime.nrt import rtsys
from numba.core.sigutils import normalize_signature

from trendweave.interruptible import interruptible
from trendweave.kernel_cache import files
from trendweave.kernel_cache.kernel import Kernel
from trendweave.kernel_cache.waiting import compiling
from trendweave.stopping import away_from_work, current_work, heed_stop

#: Settings of Numba that change what it makes of a function.
_SETTINGS = ("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "BOUNDSCHECK", "ENABLE_AVX", "USING_SVML", "DEBUGINFO_DEFAULT")
#: Of files with compiled code.
SUFFIX = ".kernel"
#: Names of those that this process has used, and whether it has compiled what is in them.
used = dict[str, bool]()
#: Tells Numba how to compile what kernels call and Numba does not know.
_RULES = "trendweave.kernels.numba_packs"

_dumps: Callable[[Any], bytes] = serialize.dumps
_normalize: Callable[[Any], tuple[tuple[Any, ...], Any]] = normalize_signature
_rebuild: Callable[..., Any] = CompileResult._rebuild
_compiles_here: Callable[[], bool] = global_compiler_lock.is_locked  # this very thread
_WarningsFixer: Any = errors.__dict__["WarningsFixer"]
_catch_warnings: Callable[..., AbstractContextManager[None]] = _WarningsFixer.catch_warnings


def used_kernels() -> dict[str, bytes]:
    """The files with the code that this process has used, for machines with the same compiler and processor."""
    found = {name: files.read_kept(name) for name in sorted(used)}
    return {name: files.seal(content) for name, content in found.items() if content is not None}


def is_kept(kernel: Kernel, arguments: tuple[Any, ...]) -> bool:
    """Whether this machine has compiled a kernel for such arguments."""
    return files.is_kept(kernel.compiled.file_of(tuple(kernel.compiled.typeof_pyval(one) for one in arguments)))


class Compiled(CPUDispatcher):
    """What Numba makes of a kernel, once for each form of arguments."""

    def __init__(self, kernel: Kernel) -> None:
        import_module(_RULES)
        super().__init__(kernel.py_func, targetoptions={"nopython": True, "boundscheck": None, **kernel.targetoptions})
        self._kernel, self._cache = kernel, _Files(self)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """A kernel that calls another with 0 calls what takes any integer. While Numba finds out the types of a loop it
        knows of its first turn only, where a counter is 0: it would compile all that is called from there for 0, too.
        """
        plain = [one.literal_type if isinstance(one, types.IntegerLiteral) else one for one in args]
        return super().get_call_template(plain, kws)

    def compile(self, sig: Any) -> Any:
        """Compile, or load what some process has compiled. What a signal raises in the middle of it would leave Numba's
        books half written, so that happens beside the main thread; but a thread that compiles already goes on with it.
        """
        if _compiles_here():
            return self._compile_or_load(sig)
        return interruptible(self._compile_or_load)(sig)

    def _compile_or_load(self, sig: Any) -> Any:
        """Types are all that is read meanwhile. Only what no process has compiled is waited for, and told of."""
        heed_stop()
        name = self.file_of(sig)
        with away_from_work(), nullcontext() if files.is_kept(name) else compiling(name), global_compiler_lock:
            heed_stop()  # a thread may have waited for seconds, and been asked to stop
            collects = gc.isenabled()
            gc.disable()  # what Numba makes of a function lives until it is compiled: looking through it takes a tenth
            try:
                return super().compile(sig)
            finally:
                if collects:
                    gc.enable()

    def file_of(self, sig: Any) -> str:
        """The name of the file for some types of arguments: a digest of all that the code depends on."""
        made_of = repr((_machine(), self._made_of, [_describe_type(one) for one in _normalize(sig)[0]]))
        return f"{self.py_func.__name__}-{hashlib.sha256(made_of.encode()).hexdigest()[:32]}{SUFFIX}"

    @cached_property
    def _made_of(self) -> str:
        """Byte code, constants and options of the kernel and of all that it calls, the same in every process, copy and
        zip: comments, line numbers and paths play no part. Kernels call kernels by their names, never by `module.name`.
        It is known once all modules are imported, as one may call what is defined after it."""
        found, waiting = dict[int, Any](), [self._kernel]
        while waiting:
            kernel = waiting.pop()
            if id(kernel) not in found:
                function, named = kernel.py_func, sorted(_named_by(kernel.py_func).items(), key=itemgetter(0))
                waiting += [value for _, value in named if isinstance(value, Kernel)]
                # Kept code names the module that it was made in; that of a written text is named by the text.
                found[id(kernel)] = (
                    function.__module__, sorted(kernel.targetoptions.items()), function.__defaults__,
                    _describe_code(function.__code__), [(name, _describe(value)) for name, value in named],
                )  # fmt: skip
        return hashlib.sha256(repr(list(found.values())).encode()).hexdigest()


class _Files(NullCache):
    """What a dispatcher asks for code, and gives it to. A file per form of arguments."""

    def __init__(self, compiled: Compiled) -> None:
        self._compiled = compiled

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        # In place of `target_context.refresh()`, which imports all rules of typing and lowering: what is loaded needs
        # only what allocates, and a compiler refreshes by itself.
        rtsys.initialize(target_context)
        name = self._compiled.file_of(sig)
        content = files.read_kept(name)
        if content is None:
            return None
        try:
            loaded = _rebuild(target_context, *pickle.loads(content))
        except Exception:  # what cannot be read is compiled
            return None
        used.setdefault(name, False)
        return loaded

    def save_overload(self, sig: Any, data: Any) -> None:
        if not data.library.has_dynamic_globals:  # places in the memory of this process
            name = self._compiled.file_of(sig)
            # Notes on types name the files of the sources, and nobody reads them.
            files.write_kept(name, _dumps(data._replace(type_annotation="")._reduce()))
            used[name] = True


def _machine() -> str:
    """Tells apart compilers and processors that cannot run each other's code, and those that can from nothing else."""
    return _describe_machine(cpu_target.target_context.codegen().magic_tuple())


@cache
def _describe_machine(processor: Any) -> str:
    versions = [numba.__version__, llvmlite.__version__, np.__version__, sys.implementation.cache_tag, sys.abiflags]
    settings = [getattr(numba.config, name, None) for name in _SETTINGS]
    loader: Any = import_module(_RULES).__loader__
    made_of = repr((versions, processor, settings, _describe_code(loader.get_code(_RULES))))
    return hashlib.sha256(made_of.encode()).hexdigest()


def _describe_type(kind: Any) -> Any:
    """A type by its text, and named tuples by the order of their fields as well, which code goes by."""
    if isinstance(kind, (types.NamedTuple, types.NamedUniTuple)):
        return str(kind), kind.fields, [_describe_type(one) for one in kind]
    return str(kind)


def _named_by(function: Any) -> dict[str, Any]:
    """What a function finds under names of its module, and of functions around it."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    named, waiting = {name: cell.cell_contents for name, cell in cells}, [function.__code__]
    while waiting:
        code = waiting.pop()
        named |= {name: function.__globals__[name] for name in code.co_names if name in function.__globals__}
        waiting += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return named


def _describe(value: Any) -> str:
    """What a name stands for; kernels, and functions that Numba is told how to compile, are described elsewhere."""
    if isinstance(value, ModuleType):
        return value.__name__
    name = getattr(value, "__qualname__", None)
    return repr(value) if name is None else f"{value.__module__}.{name}"


def _describe_code(code: CodeType) -> tuple[Any, ...]:
    """What byte code does, without where it is written and what is said of it."""
    constants = list(code.co_consts)
    if constants and isinstance(constants[0], str):
        constants[0] = None  # a docstring, or a text that stands first; kernels know no texts
    described = [_describe_code(one) if isinstance(one, CodeType) else repr(one) for one in constants]
    return code.co_code.hex(), code.co_names, code.co_varnames, described


def _catch_warnings_alone(fixer: Any, *place: Any, **named: Any) -> AbstractContextManager[None]:
    """Numba sorts its warnings while it finds types, by what Python has for the whole process and not for a thread. A
    thread of ours may compile beside its caller, whose warnings would go astray; our kernels give Numba no cause."""
    return nullcontext() if current_work() is not None else _catch_warnings(fixer, *place, **named)


_WarningsFixer.catch_warnings = _catch_warnings_alone
# Whenever a kernel returns an array, Numba asks a function of Python for its class and does not look whether that
# raises: a signal's handler may, there, and crashes the process. What is remembered is found without Python.
serialize._numba_unpickle = cache(serialize._numba_unpickle)
