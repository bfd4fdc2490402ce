"""The writers of loops that fold rows onto matrices, and of the one that applies matrices to vectors.

A stretch of rows is a matrix: the trends that were in a state before it (a line; the last one is that of the empty
past) are afterwards in other states, in so many ways. With sums a matrix has, per component, such numbers, as dual
numbers; for the largest value sums are maxima. Where nothing was before the rows, the last line is all there is: a
vector. `fold` adds rows behind many matrices or vectors: windows that do not overlap, panes, what a stream carries.
`apply` multiplies a vector that holds nothing but the empty past by some matrices, one after the other: a window.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any

import numpy as np

from trendweave.kernels.aggregates.exact_numbers import DIGIT_BITS
from trendweave.kernels.columns import make_writable
from trendweave.kernels.inputs import NO_TREND, Rows
from trendweave.kernels.loops.fold import CHECKED_BITS, FoldShape, add_product
from trendweave.kernels.loops.limbs import ANY_IN, CARRY
from trendweave.kernels.loops.run import run_loop
from trendweave.kernels.loops.text import INDENT, NAMES, Text, write_loop
from trendweave.kernels.loops.vectors import Numbers

#: Bits of a limb, as values have bits per digit.
LIMB_BITS = DIGIT_BITS


@lru_cache(maxsize=256)
def write_fold(shape: FoldShape) -> tuple[str, tuple[str, ...]]:
    """The text of `fold`, and the names of what it takes. Matrices lie one after the other in `results`, each of
    them as [state after, component, line]; of limbs, lowest first, each is one more axis before the last."""
    return _Fold(shape).write()


@lru_cache(maxsize=256)
def write_apply(shape: FoldShape) -> tuple[str, tuple[str, ...]]:
    """The text of `apply`, and the names of what it takes. Of windows that begin with the same matrix, which lie side
    by side, the longer ones go on from the shorter ones."""
    return _Apply(shape).write()


class Matrices:
    """What loops over matrices have in common. States are written one by one, or gone over in a loop where they are
    many."""

    def __init__(self, shape: FoldShape) -> None:
        self.shape, self.text = shape, Text()
        self.square = (shape.past + 1) * shape.lines
        self.largest = shape.numbers is Numbers.LARGEST
        self.limbs = shape.numbers is Numbers.LIMBS
        #: Whether numbers are local variables: v, and d for what waits for the end of a time.
        self.local = shape.is_vector and shape.is_written and not self.limbs
        self.zero, self.one = "0", "1"
        if shape.numbers is Numbers.FLOAT64:
            self.zero, self.one = "0.0", "1.0"
        elif self.largest:
            self.zero, self.one = "NO_TREND", "NO_VALUE"

    def states(self) -> Iterator[str]:
        """The number of every state; the block of its lines is open."""
        if self.shape.is_written:
            yield from map(str, range(self.shape.past))
        else:
            with self.text.block(f"for q in range({self.shape.past})"):
                yield "q"

    def sources(self, q: str) -> Iterator[str]:
        """What precedes a state; the block of its lines is open."""
        if q != "q":
            yield from map(str, self.shape.sources[int(q)])
        else:
            with self.text.block("for j in range(source_from[q], source_from[q + 1])"):
                yield "sources[j]"

    def finals(self) -> Iterator[str]:
        """The states that end trends; the block of their lines is open."""
        if self.shape.is_written:
            yield from map(str, self.shape.final)
        else:
            with self.text.block("for f in final"):
                yield "f"

    def line(self, part: int, state: str) -> str:
        """Where a line of a matrix begins."""
        lines = self.shape.lines
        if self.limbs:
            before = part * (self.shape.past + 1)
            return f"{before + int(state) if state.isdigit() else f'({before} + {state})'} * stride"
        if state.isdigit():
            return str(part * self.square + int(state) * lines)
        return f"{part * self.square} + {state} * {lines}" if part else f"{state} * {lines}"

    def number(self, matrix: str, part: int, state: str, to: str = "") -> str:
        """A number of a matrix, on the line at hand; `to` says in which half."""
        if not self.local:
            return f"{matrix}[{to}{self.line(part, state)} + i]"
        if state == str(self.shape.past):
            return self.zero if part and not self.largest else self.one
        return f"{'d' if to else 'v'}{state}" + (f"_{part}" if part else "")

    def numbers(self, to: str = "") -> list[str]:
        """All local variables."""
        return [
            self.number("", part, str(q), to) for part in range(self.shape.components) for q in range(self.shape.past)
        ]

    def each_line(self, lines: str) -> AbstractContextManager[None]:
        """A loop over the lines of a matrix; none where there is but one."""
        return nullcontext() if self.local else self.text.block(f"for i in range({lines})")

    def identity(self, matrix: str) -> None:
        """The matrix of no rows."""
        if self.local:
            self.text.put(*(f"{number} = {self.zero}" for number in self.numbers("to")))
            return
        lines, size = self.shape.lines, self.square * self.shape.components
        with self.text.block(f"for i in range({size // lines} * stride)" if self.limbs else f"for i in range({size})"):
            self.text.put(f"{matrix}[i] = {self.zero}")
        if self.limbs:
            for state in range(0 if not self.shape.is_vector else self.shape.past, self.shape.past + 1):
                self.text.put(f"{matrix}[{self.line(0, str(state))} + {0 if self.shape.is_vector else state}] = 1")
            return
        for begin in range(0, size if self.largest else self.square, self.square):
            if self.shape.is_vector:
                self.text.put(f"{matrix}[{begin + self.shape.past}] = {self.one}")
                continue
            with self.text.block(f"for i in range({begin}, {begin + self.square}, {lines + 1})"):
                self.text.put(f"{matrix}[i] = {self.one}")

    def watch(self, number: str, part: int) -> None:
        if self.shape.is_checked:
            self.text.put(f"seen |= {number} ^ ({number} >> 63)" if part else f"seen |= {number}")

    def add(self, to: str, amount: str) -> str:
        return f"{to} = max({to}, {amount})" if self.largest else f"{to} += {amount}"

    def tick(self, add_row: Callable[[str, str], None], matrix: str, limit: str, move: str, last: str) -> None:
        """Add the rows of one time to a matrix: in its second half, until all are known. A row that is read once, and
        the last of its time, is added at once: each number is read before it is written."""
        text, shape = self.text, self.shape
        half = (
            f"{self.square * shape.components // shape.lines} * stride"
            if self.limbs
            else self.square * shape.components
        )
        text.put("now = tick[row]", *([] if self.local else ["pending = False", f"to = {half}"]))
        if not self.local and shape.words == 1 and len(set(shape.variable)) == shape.past and not shape.resets:
            text.put("mask = letters[row]")
            with text.block(f"if ({last}) and mask & (mask - 1) == 0"):
                text.put("to = 0")
        text.put(*(f"reset{number} = False" for number, _ in enumerate(shape.resets)))
        with text.block(f"while {limit} and tick[row] == now"):
            if shape.words == 1:
                text.put("mask = letters[row]")
            for q in self.states():
                with text.block(f"if {shape.reads(int(q) if q != 'q' else q)}"):
                    text.put(*([] if self.local else ["pending = True"]))
                    with text.block_if(None) if self.limbs else self.each_line(str(shape.lines)):
                        add_row(q, matrix)
            for number, (_, variable) in enumerate(shape.resets):
                with text.block(f"if {shape.reads_variable(variable)}"):
                    text.put(f"reset{number} = True")
            text.put(move)
        for number, (state, _) in enumerate(shape.resets):
            with text.block(f"if reset{number}"):
                for part in range(shape.components):
                    with self.each_line("width" if self.limbs else str(shape.lines)):
                        text.put(f"{self.number(matrix, part, str(state))} = {self.zero}")
        if self.local:
            for place, (total, more) in enumerate(zip(self.numbers(), self.numbers("to"), strict=True)):
                text.put(self.add(total, more), f"{more} = {self.zero}")
                self.watch(total, place // shape.past)
            return
        with text.block("if pending and to != 0"):
            for part in range(1 if self.limbs else shape.components):
                places = f"{part * self.square}, {(part + 1) * self.square}"
                with text.block(f"for i in range({half if self.limbs else places})"):
                    text.put(self.add(f"{matrix}[i]", f"{matrix}[{half} + i]"), f"{matrix}[{half} + i] = {self.zero}")
                    self.watch(f"{matrix}[i]", part)

    def product(self, q: str, part: int) -> None:
        """y += value * x, where the rows of a state count; of the largest value, y = max(y, value)."""
        place = part - (not self.largest)
        counts = q == "q" or self.shape.counted[place][int(q)]
        with self.text.block_if(f"counted[{place * self.shape.past} + q]" if q == "q" else None):
            if counts and self.largest:
                with self.text.block("if x != NO_TREND"):
                    self.text.put(f"x = max(x, values[{f'{place} * n + ' if place else ''}row])")
            elif counts:
                add_product(self.text, self.shape, part, "row")

    def change(self, matrix: str, part: int, state: str, amount: str) -> None:
        to = self.number(matrix, part, state, "to + ")
        self.text.put(self.add(to, amount))
        self.watch(to, part)

    def append_row(self, q: str, matrix: str) -> None:
        """What a row, read as a state, adds behind a matrix, to the ways from one state before."""
        for part in range(self.shape.components):
            amount = "x" if part == 0 or self.largest else "y"
            if q == "q" or self.largest:
                self.text.put(f"{amount} = {self.zero}")
                for source in self.sources(q):
                    self.text.put(self.add(amount, self.number(matrix, part, source)))
            else:
                ways = [self.number(matrix, part, source) for source in self.sources(q)]
                self.text.put(f"{amount} = {' + '.join(way for way in ways if way != self.zero) or self.zero}")
            if part or self.largest:
                self.product(q, part)
                self.watch(amount, part)
            self.change(matrix, part, q, amount)

    def multiply(self, one: str, other: str, total: str) -> None:
        """total += one * other, where none is 0: infinity times 0 is no number."""
        with self.text.block(f"if {one} != {self.zero} and {other} != {self.zero}"):
            self.text.put(self.add(total, f"max({one}, {other})" if self.largest else f"{one} * {other}"))
            if self.shape.is_checked:
                self.text.put(f"bound += abs(float({one}) * float({other}))")


class _Fold(Matrices):
    """The writer of the loop over runs of rows, one for each matrix."""

    def write(self) -> tuple[str, tuple[str, ...]]:
        shape, text = self.shape, self.text
        parts, half = shape.components, self.square * shape.components
        watched = shape.is_checked or self.limbs
        text.put("n = len(tick)", *([f"stride = most_limbs * {shape.lines}"] if self.limbs else []))
        if not self.local:
            text.put("for i in range(len(total)):", f"{INDENT}total[i] = {self.zero}")
        with text.block("for b in range(len(row_start))"):
            size = f"{parts * shape.past} * stride" if self.limbs else str(parts * shape.past * shape.lines)
            text.put("heed_stop()", "row = row_start[b]", "end = row_end[b]", f"at = b * {size}")
            text.put(*(["seen = 0"] if watched else []))
            if self.limbs:
                text.put("limbs = first_limbs[b]", f"width = limbs * {shape.lines}")
            self.identity("total")
            self.copy("{here} = {there}")
            with text.block("while row < end"):
                last = "row + 1 == end or tick[row + 1] != now"
                add_row = self.append_limbs if self.limbs else self.append_row
                self.tick(add_row, "total", "row < end", "row += 1", last)
                if watched:
                    with text.block(f"if seen >> {CHECKED_BITS} != 0"):
                        text.put("break")
            if self.limbs:
                with text.block(f"for line in range({parts * (shape.past + 1)})"):
                    carried = f"carry(total, line * stride, 0, {shape.lines}, {shape.lines}, most_limbs, {LIMB_BITS})"
                    with text.block(f"if {carried} != 0"):
                        text.put("seen = 1 << 62")
            if watched:
                text.put(f"fits[b] = seen >> {CHECKED_BITS} == 0")
            with text.block_if("fits[b]" if watched else None):
                self.copy("{there} = {here}")
            if self.limbs:
                with text.block(f"for i in range({half // shape.lines} * stride)"):
                    text.put(f"total[{half // shape.lines} * stride + i] = 0")
        return write_loop("fold", text, *((CARRY, ANY_IN) if self.limbs else (NAMES,) if self.largest else ()))

    def copy(self, line: str) -> None:
        """A line for each number of a matrix, but for those of the empty past."""
        parts, lines = self.shape.components, "stride" if self.limbs else self.shape.lines
        if self.local:
            for place, number in enumerate(self.numbers()):
                part, q = divmod(place, self.shape.past)
                self.text.put(line.format(here=number, there=f"results[at + {q * parts + part}]"))
            return
        with self.text.block(f"for q in range({self.shape.past})"):
            for part in range(parts):
                with self.text.block(f"for i in range({lines})"):
                    there = f"results[at + (q * {parts} + {part}) * {lines} + i]"
                    self.text.put(line.format(here=self.number("total", part, "q"), there=there))

    # Numbers of limbs: signed digits of so many bits, the lines of the lowest before those of the next

    def append_limbs(self, q: str, matrix: str) -> None:
        """What a row, read as a state, adds behind a matrix."""
        shape, text = self.shape, self.text
        for part in range(shape.components):
            amount = "y" if part else "x"
            if q == "q":
                with text.block("for i in range(width)"):
                    text.put(f"{amount}[i] = 0")
                with text.block("for j in range(source_from[q], source_from[q + 1])"):
                    with text.block("for i in range(width)"):
                        text.put(f"{amount}[i] += {matrix}[{self.line(part, 'sources[j]')} + i]")
            else:
                ways = [f"{matrix}[{self.line(part, str(source))} + i]" for source in shape.sources[int(q)]]
                with text.block("for i in range(width)"):
                    text.put(f"{amount}[i] = {' + '.join(ways) or '0'}")
            self.settle(amount)
            counts = part and (q == "q" or shape.counted[part - 1][int(q)])
            with text.block_if(f"counted[{(part - 1) * shape.past} + q]" if q == "q" and part else None):
                if counts:
                    self.multiply_limbs(part)
            with text.block("for i in range(width)"):
                text.put(f"{matrix}[to + {self.line(part, q)} + i] += {amount}[i]")

    def multiply_limbs(self, part: int) -> None:
        """y += value * x, digit by digit; there is a limb more than x has for each digit."""
        text, lines = self.text, self.shape.lines
        with text.block("for digit in range(digits)"):
            text.put(f"value = values[({part - 1} * digits + digit) * n + row]")
            with text.block("if value != 0"):
                with text.block(f"while seen == 0 and any_in(x, max(0, width - digit * {lines}), width)"):
                    self.widen()
                with text.block(f"for i in range(width - digit * {lines})"):
                    text.put(f"y[i + digit * {lines}] += value * x[i]")
        self.settle("y")

    def settle(self, array: str) -> None:
        """Carry between limbs, and take more of them until the number fits."""
        lines = self.shape.lines
        carried = f"carry({array}, 0, 0, {lines}, {lines}, limbs, {LIMB_BITS})"
        with self.text.block(f"while seen == 0 and {carried} != 0"):
            self.widen()

    def widen(self) -> None:
        """One more limb, which is 0 everywhere; or a mark that there is none."""
        with self.text.block("if limbs == most_limbs"):
            self.text.put("seen = 1 << 62")
        with self.text.block("else"):
            with self.text.block(f"for i in range(width, width + {self.shape.lines})"):
                self.text.put("x[i] = 0", "y[i] = 0")
            self.text.put("limbs += 1", f"width += {self.shape.lines}")


class _Apply(Matrices):
    """The writer of the loop over windows, each some matrices one after the other: low[w] to high[w]."""

    def write(self) -> tuple[str, tuple[str, ...]]:
        shape, text, parts, size = self.shape, self.text, self.shape.components, self.shape.past + 1
        with text.block("for w in range(len(low))"):
            text.put("heed_stop()")
            with text.block("if w == 0 or low[w] != low[w - 1]"):
                text.put("reached = low[w]", *(["seen = 0"] if shape.is_checked else []))
                with text.block(f"for i in range({2 * parts * size})"):
                    text.put(f"vector[i] = {self.zero}")
                for part in range(parts if self.largest else 1):
                    text.put(f"vector[{part * size + shape.past}] = {self.one}")
            with text.block("for number in range(reached, high[w])"):
                text.put(f"at = number * {parts * shape.past * shape.lines}")
                with text.block(f"for q in range({shape.past})"):
                    for part in range(parts):
                        self.follow(part)
                for part in range(parts):
                    with text.block(f"for q in range({part * size}, {part * size + shape.past})"):
                        text.put(f"vector[q] = vector[{parts * size} + q]")
                if shape.is_checked:
                    with text.block(f"if seen >> {CHECKED_BITS} != 0"):
                        text.put("break")
            text.put("reached = max(reached, high[w])")
            self.write_results()
        return write_loop("apply", text, *((NAMES,) if self.largest else ()))

    def follow(self, part: int) -> None:
        """What a component of a state is after one more matrix."""
        shape, text, size = self.shape, self.text, self.shape.past + 1
        text.put(f"total = {self.zero}", *(["bound = 0.0"] if shape.is_checked else []))
        with text.block(f"for i in range({shape.lines})"):

            def ways(of_part: int) -> str:
                return f"maps[at + (q * {shape.components} + {of_part}) * {shape.lines} + i]"

            if self.largest:
                text.put(f"left = vector[{part * size} + i]", f"right = {ways(part)}")
                self.multiply("left", "right", "total")
            else:
                text.put("left = vector[i]", f"right = {ways(part)}")
                self.multiply("left", "right", "total")
                if part:
                    text.put(f"left = vector[{part * size} + i]", f"right = {ways(0)}")
                    self.multiply("left", "right", "total")
        if shape.is_checked:
            with text.block(f"if bound >= 2.0**{CHECKED_BITS}"):
                text.put("seen |= 1 << 62")
        text.put(f"vector[{(self.shape.components + part) * size} + q] = total")

    def write_results(self) -> None:
        shape, text, size = self.shape, self.text, self.shape.past + 1
        for part in range(shape.components):
            text.put(f"total{part} = {self.zero}")
        for final in self.finals():
            for part in range(shape.components):
                text.put(self.add(f"total{part}", f"vector[{part * size} + {final}]"))
        if shape.is_checked:
            text.put(f"fits[w] = seen >> {CHECKED_BITS} == 0")
        with text.block_if("fits[w]" if shape.is_checked else None):
            for part in range(shape.components):
                text.put(f"results[w * {shape.components} + {part}] = total{part}")


# What runs them


def fold_arguments(
    shape: FoldShape, rows: Rows, runs: tuple[np.ndarray, np.ndarray], values: np.ndarray
) -> dict[str, Any]:
    """What loops that fold take, by name: runs of rows, and the template for texts that do not write it out."""
    letters = make_writable(np.ascontiguousarray(rows.letters)).reshape(-1).view(np.int64)
    return {
        "row_start": make_writable(runs[0]), "row_end": make_writable(runs[1]), "tick": make_writable(rows.tick),
        "letters": letters, "values": make_writable(np.ascontiguousarray(values)).reshape(-1),
        **template_tables(shape),
    }  # fmt: skip


def template_tables(shape: FoldShape) -> dict[str, np.ndarray]:
    """A template, for texts that do not write it out."""
    bounds = np.cumsum([0, *map(len, shape.sources)])
    return {
        "variable": np.array(shape.variable, np.int64), "final": np.array(shape.final, np.int64),
        "sources": np.array([source for of_state in shape.sources for source in of_state], np.int64),
        "source_from": bounds.astype(np.int64), "counted": np.array(shape.counted, np.int64).reshape(-1),
    }  # fmt: skip


def run_fold(
    shape: FoldShape, runs: tuple[np.ndarray, np.ndarray], rows: Rows, values: np.ndarray, numbers: np.ndarray,
    interpreted: bool, more: Mapping[str, Any] | None = None,
) -> np.ndarray:  # fmt: skip
    """Fold runs of rows onto matrices, in place; whether each fits."""
    fits = np.ones(runs[0].size, np.bool_)
    text, takes = write_fold(shape)
    size = 2 * shape.components * (shape.past + 1) * shape.lines
    given = fold_arguments(shape, rows, runs, values)
    given |= {"total": np.zeros(size, numbers.dtype), "results": numbers.reshape(-1), "fits": fits, **(more or {})}
    run_loop("fold", text, takes, given, interpreted)
    return fits


def sum_ends(shape: FoldShape, vectors: np.ndarray) -> np.ndarray:
    """Totals of what ends trends, [run, component], of vectors of runs."""
    ends = vectors.reshape(-1, shape.past, shape.components)[:, list(shape.final)]
    return ends.max(axis=1, initial=NO_TREND) if shape.numbers is Numbers.LARGEST else ends.sum(axis=1)


def run_apply(
    shape: FoldShape, maps: np.ndarray, bounds: tuple[np.ndarray, np.ndarray], results: np.ndarray, interpreted: bool
) -> np.ndarray:
    """Totals of windows, each the matrices low:high one after the other, into `results`; whether each fits."""
    fits = np.ones(bounds[0].size, np.bool_)
    if shape.is_vector:  # what ends trends is all there is to read
        is_there = bounds[1] > bounds[0]
        results[~is_there] = NO_TREND if shape.numbers is Numbers.LARGEST else 0
        results[is_there] = sum_ends(shape, maps[bounds[0][is_there]])
        return fits
    text, takes = write_apply(shape)
    given = {
        "low": bounds[0], "high": bounds[1], "maps": make_writable(maps).reshape(-1), "results": results.reshape(-1),
        "fits": fits, "vector": np.zeros(2 * shape.components * (shape.past + 1), results.dtype),
        **template_tables(shape),
    }  # fmt: skip
    run_loop("apply", text, takes, given, interpreted)
    return fits
