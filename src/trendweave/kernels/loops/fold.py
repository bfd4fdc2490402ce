"""The writers of loops over templates without a condition: a number per state is all that the past amounts to.

A row read as state q acts on the totals, v[q] += w(row) * sum over p -> q of v[p], where the empty past counts as a
state of its own whose total is 1 (A-Seq, Section 3.1, prefix counters). Linear aggregates are carried along as dual
numbers: (count, sum) * (1, value) = (count, sum + value * count).

`fold` is for windows that do not overlap: totals are local variables, and every row a few additions.

`slide` is for windows that overlap. Rows are sparse matrices, so a window is a product of them, and a queue of two
stacks gives all windows without multiplying any: the newer rows are one matrix `newer` to which a row is appended, the
older ones are row vectors `older`, one per row: what the rows from there to the turning point make of an empty past. A
row is appended once and prepended at most once, whatever the overlap; a window costs one dot product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from trendweave.kernels.inputs import Template
from trendweave.kernels.loops.text import Text
from trendweave.kernels.loops.vectors import Numbers

#: Numbers and additions that are written one by one in `fold`; larger templates are propagated.
MOST_WRITTEN = 48
#: Bits of a checked number: sums of 2**4 of them, twice, still fit in a word.
CHECKED_BITS = 55
_TOO_LARGE = "1 << 62"


@dataclass(frozen=True)
class FoldShape:
    """What the loops are written from: what precedes each state (`past` for the empty one), which states end trends,
    and per component beside the count the states whose rows count."""

    numbers: Numbers
    variable: tuple[int, ...]
    sources: tuple[tuple[int, ...], ...]
    final: tuple[int, ...]
    counted: tuple[tuple[bool, ...], ...]
    words: int

    @property
    def past(self) -> int:
        """The number of the empty past."""
        return len(self.variable)

    @property
    def components(self) -> int:
        """Numbers per state."""
        return 1 + len(self.counted)

    @property
    def is_checked(self) -> bool:
        """Whether numbers are watched for overflow."""
        return self.numbers is Numbers.INT64

    @property
    def is_written(self) -> bool:
        """Whether the template is small enough for `fold`."""
        return (self.past + sum(map(len, self.sources))) * self.components <= MOST_WRITTEN

    def reads(self, state: int | str) -> str:
        """Whether a row may be read as a state, or as the one whose number is in `q`."""
        if isinstance(state, str):
            return f"letters[row * {self.words} + (variable[{state}] >> 6)] >> (variable[{state}] & 63) & 1"
        number = self.variable[state]
        mask = "mask" if self.words == 1 else f"letters[row * {self.words} + {number // 64}]"
        return f"{mask} >> {number % 64} & 1" if number % 64 else f"{mask} & 1"


def fold_shape(template: Template, states: np.ndarray, numbers: Numbers, words: int) -> FoldShape:
    """The shape of a template, and per component the states whose rows count."""
    before: list[list[int]] = [[] for _ in template.state_variable]
    for source, target in zip(template.source, template.target, strict=True):
        before[int(target)].append(int(source))
    for state in np.flatnonzero(template.is_start):
        before[state].append(len(before))
    return FoldShape(
        numbers,
        tuple(map(int, template.state_variable)),
        tuple(map(tuple, before)),
        tuple(np.flatnonzero(template.is_final).tolist()),
        tuple(tuple(map(bool, of_states)) for of_states in states),
        words,
    )


@lru_cache(maxsize=256)
def write_fold(shape: FoldShape) -> tuple[str, tuple[str, ...]]:
    """The text of `fold`, and the names of what it takes."""
    takes = ("row_start", "row_end", "tick", "letters", "values", "results", "fits")
    if not shape.counted:
        takes = tuple(name for name in takes if name != "values")
    if not shape.is_checked:
        takes = tuple(name for name in takes if name != "fits")
    text = Text()
    zero, one = ("0.0", "1.0") if shape.numbers is Numbers.FLOAT64 else ("0", "1")
    states, parts = range(shape.past), range(shape.components)

    def name(letter: str, state: int, part: int) -> str:
        return f"{letter}{state}" + (f"_{part}" if part else "")

    def total(source: int, part: int) -> str:
        if source == shape.past:
            return one if part == 0 else zero
        return name("v", source, part)

    def watch(number: str, part: int) -> None:
        if shape.is_checked:
            text.put(f"seen |= {number} ^ ({number} >> 63)" if part else f"seen |= {number}")

    with text.block_of("fold", takes):
        text.put("n = len(tick)")
        with text.block("for b in range(len(row_start))"):
            text.put("heed_stop()", *(["seen = 0"] if shape.is_checked else []))
            for part in parts:
                text.put(*(f"{name(letter, q, part)} = {zero}" for letter in "vd" for q in states))
            text.put("row = row_start[b]", "end = row_end[b]")
            with text.block("while row < end"):
                text.put("now = tick[row]")
                with text.block("while row < end and tick[row] == now"):
                    if shape.words == 1:
                        text.put("mask = letters[row]")
                    for q in states:
                        with text.block(f"if {shape.reads(q)}"):
                            ways = [total(source, 0) for source in shape.sources[q]]
                            text.put(f"x = {' + '.join(ways) or zero}", f"{name('d', q, 0)} += x")
                            watch(name("d", q, 0), 0)
                            for part in parts[1:]:
                                carried = [total(s, part) for s in shape.sources[q] if s != shape.past] or [zero]
                                text.put(f"y = {' + '.join(carried)}")
                                if shape.counted[part - 1][q]:
                                    _add_product(text, shape, part, "row")
                                text.put(f"{name('d', q, part)} += y")
                                watch("y", part)
                                watch(name("d", q, part), part)
                    text.put("row += 1")
                for part in parts:
                    for q in states:
                        v, d = name("v", q, part), name("d", q, part)
                        text.put(f"{v} += {d}", f"{d} = {zero}")
                        watch(v, part)
                if shape.is_checked:
                    with text.block(f"if seen >> {CHECKED_BITS} != 0"):
                        text.put("break")
            if shape.is_checked:
                text.put(f"fits[b] = seen >> {CHECKED_BITS} == 0")
            with text.block_if("fits[b]" if shape.is_checked else None):
                for part in parts:
                    index = "b" if shape.components == 1 else f"b * {shape.components} + {part}"
                    text.put(f"results[{index}] = {' + '.join(name('v', q, part) for q in shape.final) or zero}")
    return str(text), takes


def _add_product(text: Text, shape: FoldShape, part: int, row: str) -> None:
    """y += value * x, where a value is not 0: infinitely many trends with a value of 0 add nothing."""
    at = row if part == 1 else f"{part - 1} * n + {row}"
    text.put(f"value = values[{at}]")
    with text.block("if value != 0 and x != 0"):
        if shape.is_checked:
            with text.block(f"if abs(float(value)) * float(x) >= 2.0**{CHECKED_BITS}"):
                text.put(f"seen |= {_TOO_LARGE}")
        text.put("y += value * x")


@lru_cache(maxsize=256)
def write_slide(shape: FoldShape) -> tuple[str, tuple[str, ...]]:
    """The text of `slide`, and the names of what it takes.

    Matrices have, per component, a line of `size` numbers for each state and for the empty past. `newer` is stored by
    states after: newer[q] says in which ways each state before (the last one is the empty past) leads to q. `matrix` is
    stored by states before.
    """
    return _Slide(shape).write()


class _Slide:
    """The writer of `slide`. States are written one by one, or gone over in a loop where they are many."""

    def __init__(self, shape: FoldShape) -> None:
        self.shape, self.text = shape, Text()
        self.size = shape.past + 1
        self.square = self.size * self.size
        self.zero, self.one = ("0.0", "1.0") if shape.numbers is Numbers.FLOAT64 else ("0", "1")

    def write(self) -> tuple[str, tuple[str, ...]]:
        shape, text = self.shape, self.text
        takes = ["row_start", "row_end", "segment", "first_window", "windows", "offset", "tick", "window_first"]
        takes += [
            "window_last",
            "letters",
            *(["values"] if shape.counted else []),
            "newer",
            "matrix",
            "older",
        ]
        takes += ["results", *(["fits"] if shape.is_checked else [])]
        if not shape.is_written:
            takes += ["variable", "sources", "source_from", "final", *(["counted"] if shape.counted else [])]
        with text.block_of("slide", tuple(takes)):
            text.put("n = len(tick)", "middle = 0", "end = 0", "older_from = 0", "bad_before = -1", "seen = 0")
            with text.block("for b in range(len(row_start))"):
                text.put("begin = row_start[b]", "stop = row_end[b]")
                with text.block("if b == 0 or segment[b] != segment[b - 1]"):
                    text.put("middle = begin", "end = begin", "seen = 0")
                    self.identity("newer")
                with text.block("for lane in range(windows[b])"):
                    text.put("heed_stop()", "window = first_window[b] + lane")
                    with text.block("while begin < stop and window_last[begin] < window"):
                        text.put("begin += 1")
                    text.put("reach = max(end, begin)")
                    with text.block("while reach < stop and window_first[reach] <= window"):
                        text.put("reach += 1")
                    with text.block("if begin > middle"):
                        self.prepend()
                    with text.block("else"):
                        self.append()
                    text.put("end = reach", "out = offset[b] + lane")
                    self.result()
        return str(text), tuple(takes)

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

    def line(self, part: int, state: str) -> str:
        """Where a line of a matrix begins."""
        if state.isdigit():
            return str(part * self.square + int(state) * self.size)
        return f"{part * self.square} + {state} * {self.size}" if part else f"{state} * {self.size}"

    def identity(self, matrix: str) -> None:
        """The matrix of no rows."""
        with self.text.block(f"for i in range({self.square * self.shape.components})"):
            self.text.put(f"{matrix}[i] = {self.zero}")
        with self.text.block(f"for i in range(0, {self.square}, {self.size + 1})"):
            self.text.put(f"{matrix}[i] = {self.one}")

    def watch(self, number: str, part: int) -> None:
        if self.shape.is_checked:
            self.text.put(f"seen |= {number} ^ ({number} >> 63)" if part else f"seen |= {number}")

    def tick(self, add_row: Callable[[str, str], None], matrix: str, limit: str, move: str, last: str) -> None:
        """Add the rows of one time to a matrix: in its second half, until all are known. A row that is read once, and
        the last of its time, is added at once: each number is read before it is written."""
        text, words = self.text, self.shape.words
        half = self.square * self.shape.components
        text.put("now = tick[row]", "pending = False", f"to = {half}")
        if words == 1 and len(set(self.shape.variable)) == self.shape.past:
            text.put("mask = letters[row]")
            with text.block(f"if ({last}) and mask & (mask - 1) == 0"):
                text.put("to = 0")
        with text.block(f"while {limit} and tick[row] == now"):
            if words == 1:
                text.put("mask = letters[row]")
            for q in self.states():
                with text.block(f"if {self.shape.reads(int(q) if q != 'q' else q)}"):
                    text.put("pending = True")
                    with text.block(f"for i in range({self.size})"):
                        add_row(q, matrix)
            text.put(move)
        with text.block("if pending and to != 0"):
            for part in range(self.shape.components):
                with text.block(f"for i in range({part * self.square}, {(part + 1) * self.square})"):
                    text.put(f"{matrix}[i] += {matrix}[{half} + i]", f"{matrix}[{half} + i] = {self.zero}")
                    self.watch(f"{matrix}[i]", part)

    def product(self, q: str, part: int) -> None:
        """y += value * x, where the rows of a state count."""
        if q != "q":
            if self.shape.counted[part - 1][int(q)]:
                _add_product(self.text, self.shape, part, "row")
            return
        with self.text.block(f"if counted[{(part - 1) * self.shape.past} + q]"):
            _add_product(self.text, self.shape, part, "row")

    def change(self, matrix: str, part: int, state: str, amount: str) -> None:
        to = f"{matrix}[to + {self.line(part, state)} + i]"
        self.text.put(f"{to} += {amount}")
        self.watch(to, part)

    def append_row(self, q: str, matrix: str) -> None:
        """What a row, read as a state, adds behind a matrix, to the ways from one state before."""
        for part, amount in enumerate("x" + "y" * len(self.shape.counted)):
            self.text.put(f"{amount} = {self.zero}")
            for source in self.sources(q):
                self.text.put(f"{amount} += {matrix}[{self.line(part, source)} + i]")
            if part:
                self.product(q, part)
            self.watch(amount, part)
            self.change(matrix, part, q, amount)

    def prepend_row(self, q: str, matrix: str) -> None:
        """What a row, read as a state, adds in front of a matrix, to the ways to one state after."""
        for part, amount in enumerate("x" + "y" * len(self.shape.counted)):
            self.text.put(f"{amount} = {matrix}[{self.line(part, q)} + i]")
            if part:
                self.product(q, part)
                self.watch(amount, part)
            for source in self.sources(q):
                self.change(matrix, part, source, amount)

    def append(self) -> None:
        """The rows from `end` to `reach` behind `newer`."""
        self.text.put("row = end")
        with self.text.block("while row < reach"):
            last = "row + 1 == reach or tick[row + 1] != now"
            self.tick(self.append_row, "newer", "row < reach", "row += 1", last)

    def prepend(self) -> None:
        """All rows become old: from the last to the first in front of `matrix`, whose line of the empty past is kept
        where a window may begin."""
        text, size, parts = self.text, self.size, self.shape.components
        self.identity("matrix")
        text.put("bad_before = -1", "row = reach - 1", "seen = 0")
        with text.block("while row >= begin"):
            last = "row == begin or tick[row - 1] != now"
            self.tick(self.prepend_row, "matrix", "row >= begin", "row -= 1", last)
            if self.shape.is_checked:
                with text.block(f"if bad_before < 0 and seen >> {CHECKED_BITS} != 0"):
                    text.put("bad_before = row + 1")
            with text.block("if row < begin or window_last[row] != window_last[row + 1]"):
                text.put(f"at = (row + 1 - begin) * {parts * size}")
                for part in range(parts):
                    with text.block(f"for i in range({size})"):
                        come = self.line(part, str(self.shape.past))
                        text.put(f"older[at + {part * size} + i] = matrix[{come} + i]")
        text.put("older_from = begin", "middle = reach", "seen = 0")
        self.identity("newer")

    def finals(self) -> Iterator[str]:
        """The states that end trends; the block of their lines is open."""
        if self.shape.is_written:
            yield from map(str, self.shape.final)
        else:
            with self.text.block("for f in final"):
                yield "f"

    def result(self) -> None:
        """A window's totals: of new rows alone, or of old ones followed by new ones."""
        text, size, parts = self.text, self.size, self.shape.components
        checked = self.shape.is_checked
        text.put(*(f"total{part} = {self.zero}" for part in range(parts)))
        with text.block("if begin >= middle"):
            for final in self.finals():
                for part in range(parts):
                    text.put(f"total{part} += newer[{self.line(part, final)} + {self.shape.past}]")
            if checked:
                text.put(f"fits[out] = seen >> {CHECKED_BITS} == 0")
        with text.block("else"):
            text.put(f"at = (begin - older_from) * {parts * size}", "bound = 0.0")
            for final in self.finals():
                with text.block(f"for i in range({size})"):
                    text.put("left = older[at + i]", f"right = newer[{self.line(0, final)} + i]")
                    self.multiply("left", "right", 0)
                    for part in range(1, parts):
                        text.put(f"more = newer[{self.line(part, final)} + i]")
                        self.multiply("left", "more", part)
                        text.put(f"more = older[at + {part * size} + i]")
                        self.multiply("more", "right", part)
            if checked:
                text.put(
                    f"fits[out] = seen >> {CHECKED_BITS} == 0 and bound < 2.0**{CHECKED_BITS} and begin > bad_before"
                )
        with text.block_if("fits[out]" if checked else None):
            for part in range(parts):
                text.put(f"results[out * {parts} + {part}] = total{part}" if parts > 1 else "results[out] = total0")

    def multiply(self, one: str, other: str, part: int) -> None:
        """total += one * other, where none is 0: infinity times 0 is no number."""
        with self.text.block(f"if {one} != 0 and {other} != 0"):
            self.text.put(f"total{part} += {one} * {other}")
            if self.shape.is_checked:
                self.text.put(f"bound += abs(float({one}) * float({other}))")
