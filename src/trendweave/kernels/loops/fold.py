"""Templates without a condition: a number per state is all that the past amounts to.

A row read as state q acts on the totals, v[q] += w(row) * sum over p -> q of v[p], where the empty past counts as a
state of its own whose total is 1 (A-Seq, Section 3.1, prefix counters). Linear aggregates are carried along as dual
numbers: (count, sum) * (1, value) = (count, sum + value * count).

Rows are folded onto vectors of totals, or onto matrices (`matrices.py`); windows that overlap slide (`slide.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trendweave.kernels.inputs import Template
from trendweave.kernels.loops.text import Text
from trendweave.kernels.loops.vectors import Numbers

#: Numbers and additions that are written one by one; larger templates are propagated, or gone over in tables.
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
        """Whether the template is small enough to be written out."""
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


def add_product(text: Text, shape: FoldShape, part: int, row: str) -> None:
    """y += value * x, where a value is not 0: infinitely many trends with a value of 0 add nothing."""
    at = row if part == 1 else f"{part - 1} * n + {row}"
    text.put(f"value = values[{at}]")
    with text.block("if value != 0 and x != 0"):
        if shape.is_checked:
            with text.block(f"if abs(float(value)) * float(x) >= 2.0**{CHECKED_BITS}"):
                text.put(f"seen |= {_TOO_LARGE}")
        text.put("y += value * x")
