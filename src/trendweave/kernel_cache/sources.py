"""Fingerprints of kernels: digests of the byte code of a function and of all that it is compiled together with.

Comments, docstrings, line numbers and the place of a file play no part, so a change recompiles the loops that it
changes and no other. Numba itself looks at the file of a function alone, but functions are compiled with what they
call.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from functools import lru_cache
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

#: Modules whose functions and classes are read; what all others give is told apart by its name and by the versions of
#: the machine.
_OWN = __name__.partition(".")[0]


def fingerprint_of(function: FunctionType) -> str:
    """Changes with what the function, or any that it reaches, does; the same in every process, copy and zip.

    It is known only once all modules of the function are imported, as it may call what is defined after it.
    """
    digest = hashlib.sha256()
    seen: set[int] = set()
    waiting: list[FunctionType] = [function]
    while waiting:
        one = waiting.pop()
        if id(one) not in seen:
            seen.add(id(one))
            text, called = _describe_function(one)
            digest.update(text)
            waiting.extend(called)
    return digest.hexdigest()


@lru_cache(None)
def _describe_function(function: FunctionType) -> tuple[bytes, tuple[FunctionType, ...]]:
    """A digest of one function alone, and the functions that it calls."""
    called: list[FunctionType] = []
    names = sorted(set(_names_of(function.__code__)))
    spoken_of = {name: function.__globals__[name] for name in names if name in function.__globals__}
    for name, module in list(spoken_of.items()):
        if isinstance(module, ModuleType) and _is_own(module.__name__):
            spoken_of |= {f"{name}.{inner}": getattr(module, inner) for inner in names if hasattr(module, inner)}
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    spoken_of |= {name: cell.cell_contents for name, cell in cells}
    described = [(name, _describe(value, called)) for name, value in sorted(spoken_of.items())]
    text = repr((describe_code(function.__code__), repr(function.__defaults__), described))
    return hashlib.sha256(text.encode()).digest(), tuple(called)


def _names_of(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_of(constant)


def _describe(value: Any, called: list[FunctionType]) -> str:
    """What a function reads under a name of its module; functions of ours are added to those called."""
    if hasattr(value, "py_func"):  # a kernel
        called.append(value.py_func)
        return f"compiled {sorted(value.targetoptions.items())!r}"
    if isinstance(value, FunctionType) and _is_own(value.__module__):
        called.append(value)
        return "function"
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return repr([_describe(one, called) for one in value])
    if isinstance(value, ModuleType):
        return value.__name__
    if isinstance(value, type) and hasattr(value, "_fields"):
        return repr((value.__qualname__, value._fields))
    module = getattr(value, "__module__", None) or type(value).__module__
    if _is_own(module):  # a class, or something that Numba makes of a function: all that its module says
        return text_of_module(module)
    if isinstance(value, (type, BuiltinFunctionType, FunctionType)):
        return f"{module}.{value.__qualname__}"
    text = repr(value)
    return text if " at 0x" not in text else f"{module}.{type(value).__qualname__}"


def _is_own(module: str) -> bool:
    return module.partition(".")[0] == _OWN


@lru_cache(None)
def text_of_module(name: str) -> str:
    """A digest of the source of a module."""
    loader: Any = getattr(sys.modules[name], "__loader__", None)
    source = loader.get_source(name) if hasattr(loader, "get_source") else None
    if source is None:  # byte code alone: nothing tells what it was made of, so nothing is shared
        source = os.urandom(16).hex()
    return hashlib.sha256(source.encode()).hexdigest()


def describe_code(code: CodeType) -> tuple[Any, ...]:
    """What byte code does, without where it is written and what is said of it."""
    constants = list(code.co_consts)
    if constants and isinstance(constants[0], str) and code.co_name != "<module>":
        constants[0] = None  # a docstring, or a text that stands first; kernels know no texts
    texts = [describe_code(one) if isinstance(one, CodeType) else _text_of(one) for one in constants]
    return code.co_code.hex(), code.co_names, code.co_varnames, texts


def _text_of(constant: Any) -> str:
    """The same in every process; the order of a set is not."""
    return repr(sorted(map(repr, constant))) if isinstance(constant, frozenset) else repr(constant)
