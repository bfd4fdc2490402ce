"""Kernels: loops that run interpreted on little data and compiled on more.

A kernel is a Python function over arrays and numbers. Called from Python with few elements, it runs as it is: no
compiler, and Numba is not even imported. It is compiled when a call has more elements, or once interpreting it has
taken as long as compiling might. Whoever calls sees no difference: both add in the same order, and a call that takes
too long is taken back, its arrays as they were, and made again by compiled code.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import update_wrapper
from threading import RLock, local
from time import perf_counter
from types import ModuleType
from typing import Any

import numpy as np

from trendweave.stopping import heed_stop

#: Elements of all arrays of a call, up to which it may be interpreted.
MOST_ELEMENTS = 1 << 20
#: Seconds of interpreting before Numba is imported, and what was compiled before is loaded.
_BEFORE_NUMBA = 0.3
#: Seconds of interpreting one kernel before it is compiled: as long as the shorter ones compile.
PATIENCE = 2.0
#: Nothing is ever compiled where this variable of Numba's says so.
_NEVER_COMPILES = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")

#: Flags of arrays that compiled code depends on: all but whether they own their memory (4).
_LAYOUT = ~4
_always_compile = ContextVar("_always_compile", default=False)
_recorded = ContextVar[list[str] | None]("_recorded", default=None)
_only_writes = ContextVar("_only_writes", default=False)


class _Here(local):
    """When the thread has interpreted for long enough; None where it interprets nothing."""

    deadline: float | None = None


class _TooLongError(Exception):
    """Leaves a loop that is compiled instead."""


class _Clock:
    """Seconds that this process has interpreted."""

    seconds = 0.0


_here = _Here()
#: Threads that come together must not make two of one kernel: others refer to it.
_making = RLock()


class Kernel:
    """A loop, interpreted or compiled.

    `py_func` and `targetoptions` are what Numba asks of a function that another one calls. `text` is what a kernel was
    made of that was written for a query.
    """

    __name__: str
    __qualname__: str

    def __init__(self, function: Callable[..., Any], options: dict[str, Any], text: str | None = None) -> None:
        update_wrapper(self, function)
        self.py_func, self.targetoptions, self.text = function, options, text
        self._compiled: Any = None
        #: Seconds for which calls may still be interpreted, by the form of arguments.
        self._left = dict[Any, float]()

    def __call__(self, *arguments: Any) -> Any:
        if self.text is not None:
            record_text(self.text)
        deadline = _here.deadline
        if deadline is not None:  # a kernel that is interpreted calls this one
            heed_stop()
            if perf_counter() > deadline:
                raise _TooLongError
            return self.py_func(*arguments)
        heed_stop()
        try:
            return self.interpret(arguments) if _NEVER_COMPILES else self._call(arguments)
        finally:
            heed_stop()

    def __reduce__(self) -> str:
        return self.__qualname__

    def __deepcopy__(self, memo: Any) -> Kernel:
        return self  # Numba copies what it makes of functions, with all that they name

    @property
    def compiled(self) -> Any:
        """What Numba makes of the function, once for each form of arguments."""
        if self._compiled is None:
            with _making:
                if self._compiled is None:
                    from trendweave.kernel_cache.cache import Compiled

                    self._compiled = Compiled(self)
        return self._compiled

    @property
    def _numba_type_(self) -> Any:
        """Numba asks for it where a kernel calls this one."""
        return self.compiled._numba_type_

    def _call(self, arguments: tuple[Any, ...]) -> Any:
        arrays = list[np.ndarray]()
        form = _describe(arguments, arrays)
        if self._left.get(form, PATIENCE) <= 0:
            return self.compiled(*arguments)
        if compiles_always() or sum(array.size for array in arrays) > MOST_ELEMENTS:
            self._left[form] = 0.0
        while (allowed := self._allowance(form, arguments)) > 0:
            kept = [(array, array.copy()) for array in arrays if array.flags.writeable]
            start = perf_counter()
            try:
                return self.interpret(arguments, start + allowed)
            except _TooLongError:
                for array, before in kept:
                    array[...] = before
            finally:
                spent = perf_counter() - start
                _Clock.seconds += spent
                if form in self._left:
                    self._left[form] -= spent
        return self.compiled(*arguments)

    def _allowance(self, form: Any, arguments: tuple[Any, ...]) -> float:
        """Seconds that a call may be interpreted; not above 0 where it is to run compiled."""
        if form not in self._left:
            if "numba" not in sys.modules and _Clock.seconds < _BEFORE_NUMBA:
                return _BEFORE_NUMBA - _Clock.seconds
            from trendweave.kernel_cache.cache import is_kept

            self._left[form] = 0.0 if is_kept(self, arguments) else PATIENCE
        return self._left[form]

    def interpret(self, arguments: Iterable[Any], deadline: float = float("inf")) -> Any:
        """Run it as Python. Integers wrap around on purpose in kernels, which NumPy's scalars would warn of."""
        _here.deadline = deadline
        try:
            with np.errstate(all="ignore"):
                return _as_python(self.py_func(*arguments))
        finally:
            _here.deadline = None


def _as_python(result: Any) -> Any:
    """Numbers as compiled code returns them: Python's, not NumPy's."""
    if isinstance(result, tuple):
        return tuple(_as_python(one) for one in result)
    return result.item() if isinstance(result, np.generic) else result


def _describe(arguments: tuple[Any, ...], arrays: list[np.ndarray]) -> tuple[Any, ...]:
    """What of the arguments decides how a kernel is compiled; their arrays are added to the list."""
    form = list[Any]()
    for one in arguments:
        if isinstance(one, np.ndarray):
            arrays.append(one)
            form.append((one.dtype.num, one.ndim, one.flags.num & _LAYOUT))
        elif isinstance(one, tuple):
            form.append((type(one), _describe(one, arrays)))
        else:
            form.append(type(one))
    return tuple(form)


def never_compiles() -> bool:
    """Whether nothing is compiled in this process."""
    return _NEVER_COMPILES


def compiles_always() -> bool:
    """Whether everything is compiled in this process, or in the block at hand."""
    return _always_compile.get() or os.environ.get("TRENDWEAVE_COMPILE") == "always"


@contextmanager
def always_compile() -> Iterator[None]:
    """Compile, or load, every kernel that is called in the block."""
    token = _always_compile.set(True)
    try:
        yield
    finally:
        _always_compile.reset(token)


@contextmanager
def recorded_texts(only_write: bool = False) -> Iterator[list[str]]:
    """The texts of loops that run in the block, each once; or only those that would run, as they are compiled."""
    texts = list[str]()
    tokens = _recorded.set(texts), _only_writes.set(only_write)
    try:
        yield texts
    finally:
        _recorded.reset(tokens[0])
        _only_writes.reset(tokens[1])


def record_text(text: str) -> None:
    """Note the text of a loop that runs, where somebody asks for it."""
    texts = _recorded.get()
    if texts is not None and text not in texts:
        texts.append(text)


def only_writes() -> bool:
    """Whether loops are written and not run."""
    return _only_writes.get()


def load_text(text: str, name: str, **options: Any) -> Kernel:
    """The kernel of a text that was written for a query.

    Args:
        text: Defines it, and all that it calls; `@loop` and `@called` stand before the definitions.
        name: The name of the kernel.
        options: More options of Numba.
    """
    options = {"nogil": True, "error_model": "numpy", **options}
    # What is kept on disk names the module that it was made in.
    module = ModuleType(f"trendweave_{name}_{hashlib.sha256(text.encode()).hexdigest()[:32]}")
    sys.modules[module.__name__] = module
    module.__dict__.update(
        loop=lambda function: Kernel(function, options, text),
        called=lambda function: Kernel(function, {**options, "forceinline": True, "no_cpython_wrapper": True}, text),
    )
    exec(compile(text, f"<{module.__name__}>", "exec"), module.__dict__)
    return module.__dict__[name]
