"""Aggregates of single trends (RETURN EACH, conditions on whole matches), written into the loops that find trends.

A fold keeps a few numbers, its *cells*: of COUNT how many events, of SUM also the sum, of all others the row of the
first, last or largest value (-1: none).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any

import numpy as np

from trendweave.kernel_cache.kernel import Kernel, load_text
from trendweave.kernels.loops.text import Text, write_loop

COUNT, SUM, LARGEST, FIRST, LAST = range(5)
#: Sums of whole numbers whose largest possible size is below this are exact in 64 bits.
_MOST = 1 << 62
_IMPORTS = "from numpy import int64\n\nfrom trendweave.kernels.stopping import heed_stop"


@dataclass(frozen=True, eq=False)
class Loop:
    """A written loop, and the names of what it takes: all that its lines read and nothing sets."""

    name: str
    text: str
    takes: tuple[str, ...]

    @staticmethod
    def of(name: str, lines: Text, *above: str) -> Loop:
        """The loop of some lines; what they call and look up stands `above`."""
        return Loop(name, *write_loop(name, lines, _IMPORTS, *above))

    def call(self, **named: str) -> str:
        """A call from another loop; what is not named has the same name there."""
        return f"{self.name}({', '.join(named.get(one, one) for one in self.takes)})"

    @cached_property
    def _kernel(self) -> Kernel:
        return load_text(self.text, self.name, _nrt=False, no_cfunc_wrapper=True)

    def run(self, values: Mapping[str, Any]) -> int:
        """Run it over some of the values."""
        return int(self._kernel(*(values[name] for name in self.takes)))


@dataclass(frozen=True)
class Fold:
    """What is folded over the events of which variable (below 0: of all), of floats or not, and whether NULL may occur.
    Numbers are added, or are order-preserving codes of which the largest is wanted."""

    kind: int
    variable: int
    is_float: bool = False
    has_null: bool = False


@dataclass(frozen=True)
class Folds:
    """Folds and the columns that they read: of each its values and, where some are NULL, which are known. `largest` is
    the largest whole number, by its size, that is added."""

    shape: tuple[Fold, ...] = ()
    columns: tuple[np.ndarray, ...] = ()
    largest: int = 0

    @staticmethod
    def join(parts: Iterable[Folds]) -> Folds:
        """Folds of the same rows, one after the other."""
        shapes, columns, largest = zip(*((one.shape, one.columns, one.largest) for one in parts), strict=True)
        return Folds(tuple(chain.from_iterable(shapes)), tuple(chain.from_iterable(columns)), max(largest))

    def fit(self, longest: int) -> bool:
        """Whether sums of whole numbers over so many events at most fit 64 bits."""
        return self.largest * longest < _MOST

    def cells(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Room for the cells of so many trends: whole numbers and floats."""
        whole, real = _count_cells(self.shape)
        return np.empty((whole, count), np.int64), np.empty((real, count), np.float64)

    def name_columns(self) -> dict[str, np.ndarray]:
        """The columns by their names in loops."""
        names = []
        for place, one in enumerate(self.shape):
            if one.kind in (SUM, LARGEST):
                names += [f"values{place}"] + [f"known{place}"] * one.has_null
        return dict(zip(names, self.columns, strict=True))

    def name_cells(self, whole: str, real: str, count: int) -> dict[str, np.ndarray]:
        """Room for the cells of so many trends, by names."""
        return dict(zip((whole, real), self.cells(count), strict=True))

    def read(self, cells: tuple[np.ndarray, np.ndarray], count: int) -> list[tuple[np.ndarray, ...]]:
        """The sums, the numbers of values and the rows of the first trends, per fold; empty what it has not. They are
        copied, as the next trends are written into the same cells."""
        nothing, found = np.empty(0, np.int64), list[tuple[np.ndarray, ...]]()
        for one, (at, real) in zip(self.shape, _place(self.shape), strict=True):
            first = cells[0][at, :count].copy()
            if one.kind == SUM:
                found.append(((cells[1][real] if one.is_float else cells[0][at + 1])[:count].copy(), first, nothing))
            else:
                found.append((nothing, first, nothing) if one.kind == COUNT else (nothing, nothing, first))
        return found


def make_folds(folds: Iterable[tuple[int, int, np.ndarray | None, np.ndarray | None]]) -> Folds:
    """Put folds together: of each its kind, variable, values and which of them are known (None: all)."""
    shape, columns, largest = list[Fold](), list[np.ndarray](), 0
    for kind, variable, values, known in folds:
        is_float = values is not None and values.dtype == np.float64
        if values is not None:
            values = np.ascontiguousarray(values, np.float64 if is_float else np.int64)
            if kind == SUM and not is_float:
                largest = max(largest, int(values.max(initial=0)), -int(values.min(initial=0)))
            columns.append(values)
            if known is not None:
                columns.append(np.ascontiguousarray(known, np.bool_))
        shape.append(Fold(kind, variable, is_float, known is not None))
    return Folds(tuple(shape), tuple(columns), largest)


def _place(shape: Sequence[Fold]) -> list[tuple[int, int]]:
    """The first whole and the first float cell of each fold."""
    places, whole, real = [], 0, 0
    for one in shape:
        places.append((whole, real))
        adds_float = one.kind == SUM and one.is_float
        whole, real = whole + (2 if one.kind == SUM and not adds_float else 1), real + adds_float
    return places


def _count_cells(shape: Sequence[Fold]) -> tuple[int, int]:
    floats = sum(one.kind == SUM and one.is_float for one in shape)
    return sum(2 if one.kind == SUM else 1 for one in shape) - floats, floats


#: Names a cell: `whole` or `real`, and its number.
Cell = Callable[[str, int], str]


def cells_at(whole: str, real: str, place: str) -> Cell:
    """The cells of a place in two arrays."""
    return lambda kind, cell: f"{whole if kind == 'whole' else real}[{cell}, {place}]"


class FoldText:
    """Writes folds into a loop."""

    def __init__(self, text: Text, shape: Sequence[Fold]) -> None:
        self.text, self.shape = text, shape
        self.cells = [("whole", place) for place in range(_count_cells(shape)[0])]
        self.cells += [("real", place) for place in range(_count_cells(shape)[1])]

    def copy(self, before: Cell, now: Cell) -> None:
        """Set cells to others."""
        self.text.put(*(f"{now(*cell)} = {before(*cell)}" for cell in self.cells))

    def begin(self, now: Cell) -> None:
        """Fold no event."""
        for one, (at, real) in zip(self.shape, _place(self.shape), strict=True):
            self.text.put(f"{now('whole', at)} = {0 if one.kind in (COUNT, SUM) else -1}")
            if one.kind == SUM:
                self.text.put(f"{now('real', real)} = 0.0" if one.is_float else f"{now('whole', at + 1)} = 0")

    def grow(self, now: Cell, row: str, variable: str, in_front: bool = False) -> None:
        """Fold one event more: behind the others, or in front of them."""
        for place, (one, (at, real)) in enumerate(zip(self.shape, _place(self.shape), strict=True)):
            first, asked = now("whole", at), [] if one.variable < 0 else [f"{variable} == {one.variable}"]
            if one.kind in (SUM, LARGEST) and one.has_null:
                asked.append(f"known{place}[{row}]")
            if one.kind == (LAST if in_front else FIRST):
                asked.append(f"{first} < 0")
            with self.text.block_if(" and ".join(asked) or None):
                if one.kind in (COUNT, SUM):
                    self.text.put(f"{first} += 1")
                if one.kind == SUM:
                    cell = now("real", real) if one.is_float else now("whole", at + 1)
                    self.text.put(f"{cell} += values{place}[{row}]")
                elif one.kind == LARGEST:
                    compare = ">=" if in_front else ">"
                    with self.text.block(f"if {first} < 0 or values{place}[{row}] {compare} values{place}[{first}]"):
                        self.text.put(f"{first} = {row}")
                elif one.kind != COUNT:
                    self.text.put(f"{first} = {row}")


def fold_trends(
    folds: Folds, starts: np.ndarray, rows: np.ndarray, variables: np.ndarray
) -> list[tuple[np.ndarray, ...]]:
    """Fold listed trends: trend i has the rows and variables `starts[i]:starts[i + 1]`. Returns as `Folds.read`."""
    count = starts.size - 1
    cells = folds.cells(count)
    if folds.shape and count:
        given = {"starts": starts, "rows": rows, "variables": variables, "whole": cells[0], "real": cells[1]}
        _fold_loop(folds.shape).run(given | folds.name_columns())
    return folds.read(cells, count)


@lru_cache(64)
def _fold_loop(shape: tuple[Fold, ...]) -> Loop:
    text = Text()
    folds = FoldText(text, shape)

    def local(array: str, place: int) -> str:
        return f"{array}{place}"

    with text.block("for trend in range(len(starts) - 1)"):
        text.put("heed_stop()")
        folds.begin(local)
        with text.block("for i in range(starts[trend], starts[trend + 1])"):
            text.put("row, variable = rows[i], variables[i]")
            folds.grow(local, "row", "variable")
        folds.copy(local, cells_at("whole", "real", "trend"))
    text.put("return 0")
    return Loop.of("fold_trends", text)
