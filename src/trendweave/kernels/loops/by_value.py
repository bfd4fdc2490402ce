"""The writer of `fold_by_value`: conditions on one earlier event, and no others.

As `fold`, with a number per state and value of that event, the anchor. Between anchors all values undergo the same
steps, side by side in memory, so a row costs a few additions per value, of which processors take several at once; that
needs unsigned indexes. Place 0 is that of trends that remember nothing; a value gets the next place when its first
event comes. Windows are gone over one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from trendweave.kernels.aggregates.blocks import cut_blocks
from trendweave.kernels.aggregates.entry import measure
from trendweave.kernels.aggregates.passes import normalise_rows, shut_out_rows
from trendweave.kernels.inputs import Aggregate, Comparison, Results, Rows, Template
from trendweave.kernels.loops.fold import FoldShape, fold_shape
from trendweave.kernels.loops.matrices import fold_arguments
from trendweave.kernels.loops.memory import NUMBER_TYPES
from trendweave.kernels.loops.run import interprets, is_interpreted, run_loop
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
        self.tests = sorted({test for tests in shape.tests for test in tests})

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
        for number, operator in self.tests:
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
                for number, operator in self.tests:
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


# What runs it


class AnchorValues(NamedTuple):
    """One anchor: `variable` sets it, `value` numbers its values from 1 on, `asks` are the variables whose rows must
    know it. A test belongs to a variable: `previous[a] operator next[e]` for each row e that is read as it, and the
    anchor a of its trend."""

    variable: int
    value: np.ndarray
    asks: frozenset[int]
    tests: tuple[tuple[int, Comparison], ...]


class UnfitError(Exception):
    """This loop cannot: 64 bits do not hold the numbers, floats are to be summed beside exact counts, extrema are asked
    for, or the template is too large to be written out."""


def aggregate_by_value(
    rows: Rows, template: Template, anchor: AnchorValues, aggregates: Sequence[Aggregate], numbers: str
) -> Results | None:
    """Aggregates over all trends under skip-till-any-match, whose only conditions are on one earlier event.

    Args:
        rows: The rows.
        template: The template.
        anchor: The earlier event, and the tests.
        aggregates: Counts and sums.
        numbers: "exact" or "float64".

    Returns:
        As `aggregate` gives them; None where this loop cannot.
    """
    try:
        return measure(_Passes(rows, template, anchor, numbers), template, aggregates, numbers)
    except UnfitError:
        return None


class _Passes:
    """One call's rows, blocks and tests, ready for a pass."""

    def __init__(self, rows: Rows, template: Template, anchor: AnchorValues, numbers: str) -> None:
        self.rows = shut_out_rows(normalise_rows(rows))
        self.blocks, self.count = cut_blocks(self.rows, 1), rows.tick.size
        self.template, self.anchor, self.numbers = template, anchor, numbers
        word, bit = self.rows.letters[:, anchor.variable // 64], np.uint64(anchor.variable % 64)
        sets = np.bitwise_and(word >> bit, np.uint64(1)).astype(bool)
        self.places = 2 + np.unique(anchor.value[sets]).size

    def exact_pass(self, values: np.ndarray, states: np.ndarray) -> list:
        """Exact totals."""
        shape = self._shape(states)
        if is_interpreted(self._steps(shape), shape):
            return list(self._run(shape, values.astype(object), Numbers.EXACT).T)
        return list(self._sum_whole(shape, values).T)

    def float_pass(self, values: np.ndarray, states: np.ndarray) -> list:
        """float64 totals."""
        if self.numbers == "exact":
            raise UnfitError
        return list(self._run(self._shape(states), values, Numbers.FLOAT64).T)

    def decimal_pass(self, *_: Any, **__: Any) -> list:
        """Nothing: floats are not summed beside exact counts."""
        raise UnfitError

    extremum_pass = decimal_pass

    def _shape(self, states: np.ndarray) -> ByValueShape:
        fold, anchor = fold_shape(self.template, states, Numbers.INT64, self.rows.letters.shape[1]), self.anchor
        if not fold.is_written:
            raise UnfitError
        tests = [(own, (number, test.operator)) for number, (own, test) in enumerate(anchor.tests)]
        return ByValueShape(
            fold,
            tuple(variable == anchor.variable for variable in fold.variable),
            tuple(variable in anchor.asks for variable in fold.variable),
            tuple(tuple(test for own, test in tests if own == variable) for variable in fold.variable),
        )

    def _steps(self, shape: ByValueShape) -> int:
        return int((self.blocks.row_end - self.blocks.row_start).sum()) * self.places * shape.fold.components

    def _run(self, of_words: ByValueShape, values: np.ndarray, numbers: Numbers) -> np.ndarray:
        """Totals per window, of the type of the values; in words they wrap around."""
        shape = replace(of_words, fold=replace(of_words.fold, numbers=numbers))
        fold, kind = shape.fold, NUMBER_TYPES.get(numbers, np.int64)
        results = np.zeros((int(self.blocks.offset[-1]), fold.components), kind)
        if not self.blocks.lanes.size:
            return results
        text, takes = write_by_value(shape)
        room, tests = fold.past * fold.components * self.places, [test for _, test in self.anchor.tests]
        given = fold_arguments(fold, self.rows, (self.blocks.row_start, self.blocks.row_end), values) | {
            "places": self.places, "value_of": np.ascontiguousarray(self.anchor.value, np.int64).copy(),
            "place_of": np.zeros(int(self.anchor.value.max(initial=0)) + 1, np.int64),
            "total": np.zeros(2 * room, kind), "count": np.zeros(self.places, kind),
            "codes": np.zeros(len(tests) * self.places, np.int64),
            "previous": _stack([test.previous for test in tests]),
            "following": _stack([test.next for test in tests]),
            "results": results.reshape(-1),
        }  # fmt: skip
        # Python's integers do not wrap around.
        interpreted = numbers is not Numbers.INT64 and interprets(self._steps(shape), of_words)
        run_loop("fold_by_value", text, takes, given, interpreted or numbers is Numbers.EXACT)
        return results

    def _sum_whole(self, shape: ByValueShape, values: np.ndarray) -> np.ndarray:
        """Exact totals: floats where these hold them, else Python integers, of which the last 64 bits are those of
        integers that wrap around, and all the others those of floats.

        Floats are near enough as long as they are off by less than 2**62. Totals are sums of products that are not
        negative, apart from the sign of values; so the relative error of each is at most half a unit in the last place
        per operation that it went through, and that of signed sums is bounded by the sums of magnitudes. Below 2**53
        all that they are made of is exact.
        """
        near = self._run(shape, values.astype(np.float64), Numbers.FLOAT64)
        bound = near if (values >= 0).all() else self._run(shape, np.abs(values.astype(np.float64)), Numbers.FLOAT64)
        if (bound < 2.0**53).all():
            return near.astype(np.int64)
        longest = int((self.blocks.row_end - self.blocks.row_start).max())
        operations = (longest + 1) * (sum(map(len, shape.fold.sources)) + self.places + 4.0)
        off = bound * (operations * 2.0**-52)
        if not (off < 2.0**61).all():
            raise UnfitError
        wrapped = self._run(shape, values, Numbers.INT64)
        exact = np.empty(wrapped.shape, object)
        for place, low in np.ndenumerate(wrapped):
            distance = int(near[place]) - int(low)
            exact[place] = int(low) + ((distance + 2**63) >> 64 << 64)
        return exact


def _stack(columns: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(columns).astype(np.int64) if columns else np.empty(0, np.int64)
