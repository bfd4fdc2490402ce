"""The writer of `fold_by_value`: conditions on one earlier event, and no others.

As `fold`, with a number per state and value of that event, the anchor. Between anchors all values undergo the same
steps, side by side in memory, so a row costs a few additions per value, of which processors take several at once; that
needs unsigned indexes. Place 0 is that of trends that remember nothing; a value gets the next place when its first
event comes. Windows are gone over one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from trendweave.kernels.loops.fold import FoldShape
from trendweave.kernels.loops.text import Text, write_loop
from trendweave.kernels.loops.vectors import Numbers

#: Per operator what it is in Python, what NULLs of earlier and of later events become, so that it does not hold, and
#: the code of place 0 with which it always holds (None where no code does that).
_COMPARISONS = {
    "<": ("<", "1 << 62", "-1", "-2"), "<=": ("<=", "1 << 62", "-1", "-2"),
    ">": (">", "-1", "1 << 62", "(1 << 62) + 1"), ">=": (">=", "-1", "1 << 62", "(1 << 62) + 1"),
    "=": ("==", "-1", "-2", None), "!=": ("!=", "-1", "-1", None),
}  # fmt: skip


@dataclass(frozen=True)
class ByValueShape:
    """A template, the states that read an anchor, those whose rows must know it, and per state the numbers and
    operators of its tests. Numbers in words wrap around."""

    fold: FoldShape
    sets: tuple[bool, ...]
    asks: tuple[bool, ...]
    tests: tuple[tuple[tuple[int, str], ...], ...]


@lru_cache(maxsize=256)
def write_by_value(shape: ByValueShape) -> tuple[str, tuple[str, ...]]:
    """The text of a loop, and the names of what it takes."""
    return _ByValue(shape).write()


class _ByValue:
    def __init__(self, shape: ByValueShape) -> None:
        self.shape, self.fold, self.text = shape, shape.fold, Text()
        self.zero = "0.0" if self.fold.numbers is Numbers.FLOAT64 else "0"

    def each(self, *lines: str) -> None:
        """Lines for every value in use."""
        with self.text.block("for i in range(used)"):
            self.text.put(*lines)

    def cell(self, state: int, part: int) -> str:
        """Where the numbers of a state begin."""
        return f"{state * self.fold.components + part} * places"

    def write(self) -> tuple[str, tuple[str, ...]]:
        fold, text = self.fold, self.text
        text.put("n = len(tick)", f"change = {fold.past * fold.components} * places")
        for number, operator in (test for tests in self.shape.tests for test in tests):
            if (always := _COMPARISONS[operator][3]) is not None:
                text.put(f"codes[{number} * places] = {always}")
        with text.block("for b in range(len(row_start))"):
            text.put("row = row_start[b]", "end = row_end[b]", "used = 1")
            with text.block("while row < end"):
                text.put("heed_stop()")
                self.tick()
            self.write_results()
        return write_loop("fold_by_value", text)

    def tick(self) -> None:
        """The rows of one time. A row that is read once, alone at its time, is added at once: numbers are read before
        they are written."""
        fold, text = self.fold, self.text
        text.put("now = tick[row]", "stop = row", "readings = 0")
        with text.block("while stop < end and tick[stop] == now"):
            if fold.words == 1:
                text.put("mask = letters[stop]")
            text.put(*(f"readings += {fold.reads(q).replace('[row', '[stop')}" for q in range(fold.past)), "stop += 1")
        text.put("to = 0 if readings == 1 else change")
        with text.block("while row < stop"):
            if fold.words == 1:
                text.put("mask = letters[row]")
            for q in range(fold.past):
                with text.block(f"if {fold.reads(q)}"):
                    self.read(q)
            text.put("row += 1")
        with text.block("if readings > 1"):
            for cell in range(fold.past * fold.components):
                at = f"{cell} * places + i"
                self.each(f"total[{at}] += total[change + {at}]", f"total[change + {at}] = {self.zero}")

    def read(self, q: int) -> None:
        """What a row read as a state adds."""
        fold, text, shape = self.fold, self.text, self.shape
        text.put(f"# read as state {q}")
        if shape.sets[q]:
            text.put("value = value_of[row]")
            with text.block("if place_of[value] == 0"):
                text.put("place_of[value] = used")
                for number, operator in (test for tests in shape.tests for test in tests):
                    null = _COMPARISONS[operator][1]
                    text.put(f"code = previous[{number} * n + row]")
                    text.put(f"codes[{number} * places + used] = code if code >= 0 else {null}")
                text.put("used += 1")
        for number, operator in shape.tests[q]:
            text.put(f"right{number} = following[{number} * n + row]")
            with text.block(f"if right{number} < 0"):
                text.put(f"right{number} = {_COMPARISONS[operator][2]}")
        for part in range(fold.components):
            counts = part > 0 and fold.counted[part - 1][q]
            if counts:
                text.put(f"value = values[{part - 1} * n + row]" if part > 1 else "value = values[row]")
            keeps = shape.asks[q] and not shape.sets[q]
            if not keeps:
                text.put(f"whole = {self.zero}")
            with text.block("for i in range(used)"):
                self.sum_sources(q, part)
                if counts:
                    with text.block("if value != 0 and count[index(i)] != 0"):
                        text.put("x += value * count[index(i)]")
                if part == 0 and fold.counted:
                    text.put("count[index(i)] = x")
                text.put(f"total[index(to + {self.cell(q, part)} + i)] += x" if keeps else "whole += x")
            if not keeps:
                place = "place_of[value_of[row]]" if shape.sets[q] else "0"
                text.put(f"total[to + {self.cell(q, part)} + {place}] += whole")

    def sum_sources(self, q: int, part: int) -> None:
        """What a row may follow, for one value. Numbers of values for which a test does not hold become 0: they are not
        multiplied, as infinity times nothing is no number."""
        fold, text = self.fold, self.text
        sources = [f"total[index({self.cell(source, part)} + i)]" for source in fold.sources[q] if source != fold.past]
        text.put(f"x = {' + '.join(sources) or self.zero}")
        if part == 0 and fold.past in fold.sources[q]:
            with text.block("if i == 0"):
                text.put("x += 1")
        for number, operator in self.shape.tests[q]:
            code, right = f"codes[index({number} * places + i)]", f"right{number}"
            holds = f"{code} {_COMPARISONS[operator][0]} {right}"
            if operator == "!=":
                holds = f"({holds} and {code} >= 0 and {right} >= 0)"
            first = "i != 0 and " if _COMPARISONS[operator][3] is None else ""
            with text.block(f"if {first}not {holds}"):
                text.put(f"x = {self.zero}")

    def write_results(self) -> None:
        fold, text = self.fold, self.text
        for part in range(fold.components):
            text.put(f"whole = {self.zero}")
            for final in fold.final:
                self.each(f"whole += total[{self.cell(final, part)} + i]")
            text.put(
                "results[b] = whole" if fold.components == 1 else f"results[b * {fold.components} + {part}] = whole"
            )
        for cell in range(2 * fold.past * fold.components):
            self.each(f"total[{cell} * places + i] = {self.zero}")
        with text.block("for row in range(row_start[b], end)"):
            text.put("place_of[value_of[row]] = 0")
