"""Columns that kernels read, each kept once, however often and under however many names it is handed in."""

import numpy as np


def same_column(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    """Whether two columns hold the same: mostly they are the same array, and a copy must not double the work.

    The ends are compared first, so that columns that differ are told apart without reading them.
    """
    if one is other or one is None or other is None:
        return one is other
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    return one.size == 0 or bool(one[0] == other[0] and one[-1] == other[-1] and np.array_equal(one, other))


class ColumnList:
    """Different columns, numbered: one that is read as previous and as next, or that is handed in twice, is kept
    once."""

    def __init__(self) -> None:
        self.arrays: list = []
        self._matrix = np.zeros((0, 0), np.int64)

    def number(self, array: np.ndarray) -> int:
        """The column's number; a new one if it was not seen before."""
        for number, known in enumerate(self.arrays):
            if same_column(known, array):
                return number
        self.arrays.append(array)
        return len(self.arrays) - 1

    def matrix(self, count: int) -> np.ndarray:
        """All columns as rows of one int64 matrix; no copy when there is only one."""
        if len(self.arrays) == 1:
            return make_writable(np.ascontiguousarray(self.arrays[0], np.int64)).reshape(1, count)
        if len(self._matrix) != len(self.arrays):
            self._matrix = np.empty((len(self.arrays), count), np.int64)
            for number, array in enumerate(self.arrays):
                self._matrix[number] = array
        return self._matrix


def make_writable(array: np.ndarray) -> np.ndarray:
    """A writable array, copied if needed: kernels are compiled for writable arrays only, once."""
    return array if array.flags.writeable else array.copy()


def read_only(array: np.ndarray) -> np.ndarray:
    """The same array, read-only. What Arrow holds is so, and where a kernel only reads, it is compiled for this kind
    of array, once."""
    view = array.view()
    view.flags.writeable = False
    return view


def zeros(shape: int | tuple[int, ...], kind: type) -> np.ndarray:
    """As `numpy.zeros`, which keeps other threads from going on while it clears memory that was in use before."""
    found = np.empty(shape, kind)
    found.fill(0)
    return found
