"""The writer of `fold_by_value`: conditions on one earlier event, and no others.

As `fold`, with a number per state and value of that event, the anchor. Between anchors all values undergo the same
steps, side by side in memory, so a row costs a few additions per value. Place 0 is that of trends that remember
nothing; a value gets the next place when its first event comes. Windows are gone over one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from trendweave.kernels.loops.fold import CHECKED_BITS, FoldShape
from trendweave.kernels.loops.text import Text
from trendweave.kernels.loops.vectors import Numbers

_COMPARISONS = {"<": "<", "<=": "<=", ">": ">", ">=": ">=", "=": "==", "!=": "!="}


@dataclass(frozen=True)
class ByValueShape:
    """A template, the states that read an anchor, those whose rows must know it, and per state the numbers and
    operators of its tests. `is_checked` watches for overflow: without it whole numbers wrap around."""

    fold: FoldShape
    sets: tuple[bool, ...]
    asks: tuple[bool, ...]
    tests: tuple[tuple[tuple[int, str], ...], ...]
    is_checked: bool

    @property
    def test_count(self) -> int:
        """Tests of all states."""
        return sum(map(len, self.tests))


@lru_cache(maxsize=256)
def write_by_value(shape: ByValueShape) -> tuple[str, tuple[str, ...]]:
    """The text of a loop, and the names of what it takes."""
    return _ByValue(shape).write()


class _ByValue:
    def __init__(self, shape: ByValueShape) -> None:
        self.shape, self.fold, self.text = shape, shape.fold, Text()
        self.zero = "0.0" if self.fold.numbers is Numbers.FLOAT64 else "0"

    def watch(self, number: str) -> None:
        if self.shape.is_checked:
            self.text.put(f"seen |= {number} ^ ({number} >> 63)")

    def each(self, *lines: str, watched: str | None = None) -> None:
        """Lines for every value in use."""
        with self.text.block("for i in range(used)"):
            self.text.put(*lines)
            if watched is not None:
                self.watch(watched)

    def cell(self, state: int, part: int) -> str:
        """Where the numbers of a state begin."""
        return f"{state * self.fold.components + part} * places"

    def write(self) -> tuple[str, tuple[str, ...]]:
        fold, text = self.fold, self.text
        takes = [
            "row_start",
            "row_end",
            "tick",
            "letters",
            "places",
            "place_of",
            "value_of",
            "total",
            "count",
            "amount",
        ]
        takes += ["values"] * bool(fold.counted) + ["codes", "previous", "following"] * bool(self.shape.test_count)
        takes += ["results"] + ["fits"] * self.shape.is_checked
        with text.block_of("fold_by_value", tuple(takes)):
            text.put("n = len(tick)", f"change = {fold.past * fold.components} * places")
            with text.block("for b in range(len(row_start))"):
                text.put("row = row_start[b]", "end = row_end[b]", "used = 1")
                text.put(*(["seen = 0"] if self.shape.is_checked else []))
                with text.block("while row < end"):
                    text.put("heed_stop()")
                    self.tick()
                    if self.shape.is_checked:
                        with text.block(f"if seen >> {CHECKED_BITS} != 0"):
                            text.put("break")
                self.write_results()
        return str(text), tuple(takes)

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
                self.each(
                    f"total[{at}] += total[change + {at}]",
                    f"total[change + {at}] = {self.zero}",
                    watched=f"total[{at}]",
                )

    def sum_sources(self, q: int, part: int, name: str) -> None:
        sources = [
            f"total[{self.cell(source, part)} + i]" for source in self.fold.sources[q] if source != self.fold.past
        ]
        self.each(f"{name}[i] = {' + '.join(sources) or self.zero}")

    def select(self, q: int, name: str) -> None:
        """Numbers of values for which a test does not hold become 0: they are not multiplied, as infinity times nothing
        is no number."""
        for number, operator in self.shape.tests[q]:
            code = f"codes[{number} * places + i]"
            fails = f"right < 0 or {code} < 0 or not {code} {_COMPARISONS[operator]} right"
            self.text.put(f"right = following[{number} * n + row]")
            with self.text.block("for i in range(1, used)"), self.text.block(f"if {fails}"):
                self.text.put(f"{name}[i] = {self.zero}")

    def read(self, q: int) -> None:
        """What a row read as a state adds."""
        fold, text, shape = self.fold, self.text, self.shape
        text.put(f"# read as state {q}")
        self.sum_sources(q, 0, "count")
        if fold.past in fold.sources[q]:
            text.put("count[0] += 1")
        self.select(q, "count")
        if shape.sets[q]:
            text.put("value = value_of[row]")
            with text.block("if place_of[value] == 0"):
                text.put("place_of[value] = used")
                text.put(*(f"codes[{t} * places + used] = previous[{t} * n + row]" for t in range(shape.test_count)))
                text.put(f"count[used] = {self.zero}", "used += 1")
            text.put("target = place_of[value]")
        for part in range(fold.components):
            name = "amount" if part else "count"
            if part:
                self.sum_sources(q, part, name)
                self.select(q, name)
                self.multiply(q, part)
            if shape.asks[q] and not shape.sets[q]:
                at = f"total[to + {self.cell(q, part)} + i]"
                self.each(f"{at} += {name}[i]", watched=at)
                continue
            text.put(f"whole = {self.zero}")
            self.each(f"whole += {name}[i]", watched="whole")
            at = f"total[to + {self.cell(q, part)} + {'target' if shape.sets[q] else '0'}]"
            text.put(f"{at} += whole")
            self.watch(at)

    def multiply(self, q: int, part: int) -> None:
        text = self.text
        self.watch_all("amount")
        if not self.fold.counted[part - 1][q]:
            return
        text.put(f"value = values[{part - 1} * n + row]" if part > 1 else "value = values[row]")
        with text.block("if value != 0"), text.block("for i in range(used)"):
            with text.block("if count[i] != 0"):
                if self.shape.is_checked:
                    with text.block(f"if abs(float(value)) * float(count[i]) >= 2.0**{CHECKED_BITS}"):
                        text.put("seen |= 1 << 62")
                text.put("amount[i] += value * count[i]")
                self.watch("amount[i]")

    def watch_all(self, name: str) -> None:
        if self.shape.is_checked:
            self.each(watched=f"{name}[i]")

    def write_results(self) -> None:
        fold, text = self.fold, self.text
        for part in range(fold.components):
            text.put(f"whole = {self.zero}")
            for final in fold.final:
                self.each(f"whole += total[{self.cell(final, part)} + i]", watched="whole")
            index = "b" if fold.components == 1 else f"b * {fold.components} + {part}"
            if self.shape.is_checked:
                with text.block(f"if seen >> {CHECKED_BITS} == 0"):
                    text.put(f"results[{index}] = whole")
            else:
                text.put(f"results[{index}] = whole")
        if self.shape.is_checked:
            text.put(f"fits[b] = seen >> {CHECKED_BITS} == 0")
        for cell in range(2 * fold.past * fold.components):
            self.each(f"total[{cell} * places + i] = {self.zero}")
        with text.block("for row in range(row_start[b], end)"):
            text.put("place_of[value_of[row]] = 0")
