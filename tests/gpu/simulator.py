"""A card without a card: CUDA C compiled by g++, arrays of NumPy.

The same text that a card gets is put behind `simulator.h`, compiled once and kept in the folder for temporary files.
What it checks besides the result: threads that wait for others that never come, arguments of a wrong size.
"""

from __future__ import annotations

import ctypes
import getpass
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import weakref
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from trendweave.gpu.card import Extent, Memory

HEADER = Path(__file__).with_name("simulator.h")
COMPILER = "g++"
OPTIONS = ("-std=c++20", "-O1", "-fPIC", "-w", "-ffp-contract=off", "-U_FORTIFY_SOURCE")
KERNELS = re.compile(
    r'extern\s+"C"\s+__global__\s+(?:__launch_bounds__\([^)]*\)\s*)?void\s+(?:__launch_bounds__\([^)]*\)\s*)?(\w+)'
)
DYNAMIC = re.compile(r"extern\s+__shared__\s+(?:__align__\(\d+\)\s+)?([\w\s]+?)\s*(\w+)\s*\[\s*\]\s*;")


class KernelError(Exception):
    """What a card would have done wrongly or not at all."""


class CardArray(np.ndarray[Any, Any]):
    """An array on the card: it does not meet arrays of this process."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: tuple[Any, ...] = (), **given: Any) -> Any:
        check_on_card((*inputs, *out))
        if out:
            given["out"] = tuple(map(_bare, out))
        found = getattr(ufunc, method)(*map(_bare, inputs), **given)
        return out[0] if out else _on_card(found)

    def __array_function__(self, function: Any, types: Any, arguments: Any, given: Any) -> Any:
        check_on_card(arguments)
        return super().__array_function__(function, types, arguments, given)


class CardNamespace:
    """NumPy as the namespace of a card: it takes arrays on the card alone, and makes such."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        if isinstance(found, type) or not callable(found):
            return found

        def call(*given: Any, **named: Any) -> Any:
            check_on_card((*given, *named.values()))
            return _on_card(found(*given, **named))

        return call


def check_on_card(given: Sequence[Any]) -> None:
    for one in given:
        if type(one) is np.ndarray:
            raise KernelError("an array of this process is used as one on the card")
        if isinstance(one, list | tuple):
            check_on_card(one)


def _bare(one: Any) -> Any:
    return one.view(np.ndarray) if isinstance(one, CardArray) else one


def _on_card(found: Any) -> Any:
    if isinstance(found, list | tuple):
        return type(found)(map(_on_card, found)) if type(found) in (list, tuple) else tuple(map(_on_card, found))
    return found.view(CardArray) if type(found) is np.ndarray else found


class SimulatedStream:
    """All is done at once, so there is nothing to wait for."""

    def __enter__(self) -> SimulatedStream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def synchronize(self) -> None:
        return None


class SimulatedCard:
    """See `trendweave.gpu.card.Card`."""

    name = "a simulated card"
    xp: Any = CardNamespace()

    def __init__(self) -> None:
        self._libraries: dict[str, ctypes.CDLL] = {}
        self._pinned: list[weakref.ref[np.ndarray]] = []
        self.launches = self.copied = 0

    def launch(
        self,
        source: str,
        kernel: str,
        blocks: Extent,
        threads: Extent,
        arguments: Sequence[Any],
        shared_bytes: int = 0,
    ) -> None:
        grid, block = _three(blocks), _three(threads)
        if 0 in grid:
            return
        if np.prod(block) > 1024 or 0 in block:
            raise KernelError(f"a block has 1 to 1024 threads, not {block}")
        if shared_bytes > 227 * 1024:
            raise KernelError(f"{shared_bytes} bytes of shared memory are more than a card has")
        library = self._library(source)
        values = [_passed(argument) for argument in arguments]
        self._check(library, kernel, values)
        pointers = (ctypes.c_void_p * len(values))(*(value.ctypes.data for value in values))
        told = ctypes.create_string_buffer(256)
        run = getattr(library, f"simulated_run_{kernel}")
        sizes = ((ctypes.c_uint * 3)(*extent) for extent in (grid, block))
        if run(*sizes, pointers, ctypes.c_size_t(shared_bytes), told):
            raise KernelError(f"{kernel}: {told.value.decode()}")
        self.launches += 1

    def _library(self, source: str) -> ctypes.CDLL:
        if source not in self._libraries:
            self._libraries[source] = ctypes.CDLL(str(_compiled(source)))
        return self._libraries[source]

    def _check(self, library: ctypes.CDLL, kernel: str, values: Sequence[np.ndarray]) -> None:
        if not hasattr(library, f"simulated_sizes_{kernel}"):
            raise KernelError(f"there is no kernel {kernel}")
        told = (ctypes.c_int * 64)()
        count = getattr(library, f"simulated_sizes_{kernel}")(told)
        wanted, given = list(told[:count]), [value.nbytes for value in values]
        if wanted != given:
            raise KernelError(f"{kernel} takes arguments of {wanted} bytes and was given {given}")

    def put(self, array: np.ndarray) -> np.ndarray:
        if isinstance(array, CardArray):
            raise KernelError("an array on the card is put there")
        self.copied += 1
        return np.array(array, order="C").view(CardArray)

    def get(self, array: np.ndarray) -> np.ndarray:
        if not isinstance(array, CardArray):
            raise KernelError("an array of this process is fetched from the card")
        return np.array(array, subok=False)

    def copy_in(self, source: np.ndarray, target: np.ndarray) -> None:
        if source.nbytes != target.nbytes or not (source.flags.c_contiguous and target.flags.c_contiguous):
            raise KernelError("copies are made between arrays of one size that lie in one piece")
        target.reshape(-1).view(np.uint8)[:] = source.reshape(-1).view(np.uint8)

    def pinned(self, size: int, kind: Any) -> np.ndarray:
        found = np.empty(size, kind)
        self._pinned.append(weakref.ref(found))
        return found

    def is_pinned(self, array: np.ndarray) -> bool:
        address = array.ctypes.data
        # Those that are gone do not count: their memory may be another array's by now.
        pinned = [one for one in (known() for known in self._pinned) if one is not None]
        return any(one.ctypes.data <= address < one.ctypes.data + one.nbytes for one in pinned)

    def stream(self) -> SimulatedStream:
        return SimulatedStream()

    def memory(self) -> Memory:
        return Memory(8 << 30, 16 << 30)

    def synchronize(self) -> None:
        return None


def why_not() -> str | None:
    """The reason for which nothing can be simulated here; None where it can."""
    return None if shutil.which(COMPILER) else f"{COMPILER} is not installed, which stands in for a card"


def _three(extent: Extent) -> tuple[int, int, int]:
    numbers = (extent,) if isinstance(extent, int) else tuple(int(number) for number in extent)
    return (*numbers, 1, 1)[:3]


def _passed(argument: Any) -> np.ndarray:
    """The bytes of an argument, as CuPy passes it."""
    if argument is None:
        return np.array(0, np.uintp)
    if isinstance(argument, np.ndarray):
        check_on_card([argument])
        return np.array(argument.ctypes.data, np.uintp)
    if isinstance(argument, np.generic):
        return np.array(argument)
    if isinstance(argument, bool):
        return np.array(argument, np.bool_)
    if isinstance(argument, int):
        return np.array(argument, np.int64)
    if isinstance(argument, float):
        return np.array(argument, np.float64)
    raise KernelError(f"a kernel cannot be given {argument!r}")


def _compiled(source: str) -> Path:
    """The library of a text, made once."""
    # Macros may name kernels, too.
    written = subprocess.run(
        [COMPILER, "-E", "-P", "-x", "c++", "-"], input=source, capture_output=True, text=True, check=True
    )
    kernels = KERNELS.findall(written.stdout)
    body = DYNAMIC.sub(r"\1* \2 = (\1*)simulated::dynamic_shared;", source)
    entries = "\n".join(
        f'extern "C" int simulated_run_{kernel}(const unsigned* grid, const unsigned* block, void** arguments, '
        f"size_t shared_bytes, char* told) {{\n"
        f"    return simulated::launch({kernel}, grid, block, arguments, shared_bytes, told);\n}}\n"
        f'extern "C" int simulated_sizes_{kernel}(int* told) {{ return simulated::sizes({kernel}, told); }}'
        for kernel in kernels
    )
    folder = _folder()
    text = f'#include "{folder / HEADER.name}"\n#line 1 "kernel.cu"\n{body}\n{entries}\n'
    library = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.so"
    if not library.exists():
        _make(library, [*OPTIONS, "-shared", "-x", "c++", "-"], text)
    return library


@cache
def _folder() -> Path:
    """Where libraries are kept, one folder for each version of the header, which is compiled once."""
    header = HEADER.read_text(encoding="utf-8")
    digest = hashlib.sha256((header + repr(OPTIONS)).encode()).hexdigest()[:12]
    folder = Path(tempfile.gettempdir()) / f"trendweave-simulated-{getpass.getuser()}" / digest
    folder.mkdir(parents=True, exist_ok=True)
    copy, compiled = folder / HEADER.name, folder / f"{HEADER.name}.gch"
    if not compiled.exists():
        own = folder / f"{os.getpid()}.h"
        own.write_text(header, encoding="utf-8")
        own.replace(copy)
        _make(compiled, [*OPTIONS, "-x", "c++-header", str(copy)], "")
    return folder


def _make(target: Path, options: Sequence[str], text: str) -> None:
    """Compile something; whoever does the same at the same time makes the same file."""
    made = target.with_suffix(f".{os.getpid()}{target.suffix}")
    answer = subprocess.run(
        [COMPILER, *options, "-o", str(made)], input=text, capture_output=True, text=True, check=False
    )
    if answer.returncode:
        raise KernelError(answer.stderr)
    made.replace(target)
