"""The writer of `fold`, for templates without a condition: a number per state is all that the past amounts to.

A row read as state q acts on the totals, v[q] += w(row) * sum over p -> q of v[p], where the empty past counts as a
state of its own whose total is 1 (A-Seq, Section 3.1, prefix counters). Linear aggregates are carried along as dual
numbers: (count, sum) * (1, value) = (count, sum + value * count).

`fold` is for windows that do not overlap: totals are local variables, and every row a few additions.

Rows that are folded onto matrices (`matrices.py`) serve windows that overlap, and streams.
"""

from __future__ import annotations

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
    resets: tuple[tuple[int, int], ...] = ()  # (state, variable): rows of it make trends in this state nothing
    is_vector: bool = False  # where nothing was before the rows, a matrix is only what begins among them

    @property
    def past(self) -> int:
        """The number of the empty past."""
        return len(self.variable)

    @property
    def components(self) -> int:
        """Numbers per state."""
        return len(self.counted) + (self.numbers is not Numbers.LARGEST)

    @property
    def lines(self) -> int:
        """Numbers of a line of a matrix: one per state before, the last for what begins."""
        return 1 if self.is_vector else self.past + 1

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
        return self.reads_variable(self.variable[state])

    def reads_variable(self, number: int) -> str:
        """Whether a row may be read as a variable."""
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
                                    add_product(text, shape, part, "row")
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


def add_product(text: Text, shape: FoldShape, part: int, row: str) -> None:
    """y += value * x, where a value is not 0: infinitely many trends with a value of 0 add nothing."""
    at = row if part == 1 else f"{part - 1} * n + {row}"
    text.put(f"value = values[{at}]")
    with text.block("if value != 0 and x != 0"):
        if shape.is_checked:
            with text.block(f"if abs(float(value)) * float(x) >= 2.0**{CHECKED_BITS}"):
                text.put(f"seen |= {_TOO_LARGE}")
        text.put("y += value * x")
