"""A GPU: arrays in its memory, kernels in CUDA C, copies to it and back.

All that runs on a GPU is written against `Card`, so that tests run the same code without one: a card is either one of
CuPy's or a simulated one. Kernels are compiled without contraction of `a * b + c`, so that they round as the CPU does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NoReturn, Protocol, TypeAlias

import numpy as np

from trendweave.devices.names import assigned_card
from trendweave.errors import ExecutionError, Problem
from trendweave.kernel_cache.kernel import only_writes, record_text


@cache
def cuda_text(*names: str) -> str:
    """The texts of these files, one after the other; kernels find what they call in those before.

    Args:
        names: Files in the folder `cuda`, without their ending.
    """
    folder = files("trendweave.gpu").joinpath("cuda")
    return "\n".join(folder.joinpath(f"{name}.cu").read_text(encoding="utf-8") for name in names)


#: How many blocks, or threads: a number, or one per dimension.
Extent: TypeAlias = int | tuple[int, ...]
#: Kernels that want more shared memory than this must ask for it.
PLAIN_SHARED_BYTES = 48 * 1024


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of a card that are free, and all of them."""

    free: int
    total: int


class Stream(AbstractContextManager["Stream"], Protocol):
    """Work that is done in order, beside that of other streams. Inside `with`, it is the one that copies and launches
    go to."""

    def synchronize(self) -> None:
        """Wait for all that was given to it."""


class Card(Protocol):
    """One card, or a simulated one."""

    @property
    def name(self) -> str:
        """What its maker calls it."""

    @property
    def xp(self) -> Any:
        """The namespace of arrays on the card: CuPy's, or NumPy's where it is simulated."""

    def launch(
        self,
        source: str,
        kernel: str,
        blocks: Extent,
        threads: Extent,
        arguments: Sequence[Any],
        shared_bytes: int = 0,
    ) -> None:
        """Start a kernel on the current stream.

        Args:
            source: CUDA C; compiled once for each text.
            kernel: The name of an `extern "C" __global__` function in it.
            blocks: How many; nothing is started for none.
            threads: How many each has.
            arguments: Arrays on the card, None for a pointer to nothing, scalars of NumPy, whole numbers of Python
                (`long long`) and floats (`double`).
            shared_bytes: Of shared memory whose size the kernel does not know.
        """

    def put(self, array: np.ndarray) -> Any:
        """A copy on the card, made on the current stream. An array of `pinned` must not change before it is done."""

    def get(self, array: Any) -> np.ndarray:
        """A copy in this process, complete."""

    def copy_in(self, source: np.ndarray, target: Any) -> None:
        """Copy into an array on the card of the same size, on the current stream; both lie in one piece."""

    def pinned(self, size: int, kind: Any) -> np.ndarray:
        """An array of this process that the card copies from and to by itself."""

    def is_pinned(self, array: np.ndarray) -> bool:
        """Whether the card can copy from and to an array by itself."""

    def stream(self) -> Stream:
        """A further stream."""

    def memory(self) -> Memory:
        """What is free now."""

    def synchronize(self) -> None:
        """Wait for all that was started."""


class CupyCard:
    """A card that CuPy has found."""

    def __init__(self, number: int | None = None) -> None:
        self.xp: Any = _load_cupy()
        try:
            self._number = self.xp.cuda.Device().id if number is None else number
            count = self.xp.cuda.runtime.getDeviceCount()
        except self.xp.cuda.runtime.CUDARuntimeError as error:
            _refuse(f"no GPU can be used: {error}", "use device='cpu' or 'threads'")
        if not 0 <= self._number < count:
            _refuse(f"there is no GPU {self._number}; there are {count}", "GPUs are counted from 0")
        self.use()
        properties = self.xp.cuda.runtime.getDeviceProperties(self._number)
        self.name = properties["name"].decode()
        self._modules: dict[str, Any] = {}
        self._kernels: dict[tuple[str, str], Any] = {}

    def use(self) -> None:
        """Make it the card of this thread."""
        self.xp.cuda.Device(self._number).use()

    def launch(
        self,
        source: str,
        kernel: str,
        blocks: Extent,
        threads: Extent,
        arguments: Sequence[Any],
        shared_bytes: int = 0,
    ) -> None:
        grid, block = _extents(blocks), _extents(threads)
        if 0 in grid:
            return
        function = self._kernels.get((kernel, source))
        if function is None:
            function = self._kernels[kernel, source] = self._compile(source, kernel)
        if shared_bytes > PLAIN_SHARED_BYTES and function.max_dynamic_shared_size_bytes < shared_bytes:
            function.max_dynamic_shared_size_bytes = shared_bytes
        values = tuple(np.uintp(0) if argument is None else argument for argument in arguments)
        function(grid, block, values, shared_mem=shared_bytes)

    def _compile(self, source: str, kernel: str) -> Any:
        if source not in self._modules:
            options = ("--std=c++17", "--fmad=false", "--device-int128")
            self._modules[source] = self.xp.RawModule(code=source, options=options)
        return self._modules[source].get_function(kernel)

    def put(self, array: np.ndarray) -> Any:
        array = np.ascontiguousarray(array)
        target = self.xp.empty(array.shape, array.dtype)
        self.copy_in(array, target)
        return target

    def get(self, array: Any) -> np.ndarray:
        return self.xp.asnumpy(array)

    def copy_in(self, source: np.ndarray, target: Any) -> None:
        if source.nbytes:
            target.data.copy_from_host_async(source.ctypes.data, source.nbytes, self.xp.cuda.get_current_stream())

    def pinned(self, size: int, kind: Any) -> np.ndarray:
        kind = np.dtype(kind)
        memory = self.xp.cuda.alloc_pinned_memory(max(size * kind.itemsize, 1))
        return np.frombuffer(memory, kind, size)

    def is_pinned(self, array: np.ndarray) -> bool:
        # 1: memory of the host that CUDA knows of.
        return bool(array.nbytes) and self.xp.cuda.runtime.pointerGetAttributes(array.ctypes.data).type == 1

    def stream(self) -> Stream:
        return self.xp.cuda.Stream(non_blocking=True)

    def memory(self) -> Memory:
        free, total = self.xp.cuda.runtime.memGetInfo()
        kept = self.xp.get_default_memory_pool().free_bytes()  # CuPy holds these for the next array
        return Memory(free + kept, total)

    def synchronize(self) -> None:
        self.xp.cuda.Device(self._number).synchronize()


class _Zeros:
    """NumPy, whose new arrays hold zeros."""

    empty = staticmethod(np.zeros)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


class PaperCard:
    """Notes the texts of kernels and starts none, where loops are written and not run: all that it finds is 0."""

    name = "no card"
    xp: Any = _Zeros()

    def launch(
        self,
        source: str,
        kernel: str,
        blocks: Extent,
        threads: Extent,
        arguments: Sequence[Any],
        shared_bytes: int = 0,
    ) -> None:
        record_text(source)

    def put(self, array: np.ndarray) -> Any:
        return np.array(array, order="C")

    def get(self, array: Any) -> np.ndarray:
        return np.array(array)

    def copy_in(self, source: np.ndarray, target: Any) -> None:
        target[...] = source

    def pinned(self, size: int, kind: Any) -> np.ndarray:
        return np.zeros(size, kind)

    def is_pinned(self, array: np.ndarray) -> bool:
        return True

    def stream(self) -> Stream:
        return _PaperStream()

    def memory(self) -> Memory:
        return Memory(1 << 40, 1 << 40)

    def synchronize(self) -> None:
        return None


class _PaperStream(nullcontext["Stream"]):
    """Nothing is done, so there is nothing to wait for."""

    def synchronize(self) -> None:
        return None


_cards: dict[int | None, CupyCard] = {}
_given: Card | None = None


def find_card(number: int | None = None) -> Card:
    """The card to work on, the same for all calls in this process.

    Args:
        number: Which one, counted from 0; None: the one that this process was assigned, else the current one of CuPy.

    Raises:
        ExecutionError: There is none, or CuPy is not installed.
    """
    if only_writes():
        return PaperCard()
    if number is None and _given is not None:
        return _given
    number = assigned_card() if number is None else number
    if number not in _cards:
        _cards[number] = CupyCard(number)
    _cards[number].use()
    return _cards[number]


@contextmanager
def using_card(card: Card) -> Iterator[None]:
    """Inside, `find_card` gives this card to those who do not ask for another."""
    global _given
    before, _given = _given, card
    try:
        yield
    finally:
        _given = before


def has_card() -> bool:
    """Whether there is a card to work on."""
    try:
        find_card()
    except ExecutionError:
        return False
    return True


def is_warm() -> bool:
    """Whether a card was used in this process before, or was given to it."""
    return bool(_cards) or _given is not None


def refuse_work(what: str, device: str = "cpu") -> NoReturn:
    """Raise the error for what no card does here.

    Args:
        what: As a sentence without its end: `texts are not compared on a GPU`.
        device: The one that serves it.
    """
    raise ExecutionError([Problem("TW422", what, f"use device={device!r}")])


@contextmanager
def memory_told(card: Card) -> Iterator[None]:
    """Inside, too little memory on the card is an error that says so.

    Raises:
        ExecutionError: The memory was not enough.
    """
    try:
        yield
    except MemoryError as error:  # CuPy's own error is one, too
        total = card.memory().total
        message = f"the memory of {card.name}, {total >> 20:,} MiB, is not enough: {error}"
        raise ExecutionError([Problem("TW423", message, "use device='threads', or fewer events at a time")]) from None


def _extents(extent: Extent) -> tuple[int, ...]:
    return (extent,) if isinstance(extent, int) else extent


def _load_cupy() -> Any:
    try:
        import cupy
    except ImportError:
        _refuse("device='gpu' needs CuPy, which is not installed", "pip install 'trendweave[gpu]', or use device='cpu'")
    return cupy


def _refuse(message: str, hint: str) -> NoReturn:
    raise ExecutionError([Problem("TW416", message, hint)])
