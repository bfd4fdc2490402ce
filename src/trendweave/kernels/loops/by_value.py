"""The writer of `fold_by_value`: conditions on one earlier event, and no others.

As `fold`, with a number per state and value of that event, the anchor. Between anchors all values undergo the same
steps, side by side in memory, so a row costs a few additions per value, of which processors take several at once; that
needs unsigned indexes. Place 0 is that of trends that remember nothing; a value gets the next place when its first
event comes. Windows are gone over one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from trendweave.kernels.aggregates.blocks import cut_blocks
from trendweave.kernels.aggregates.entry import measure
from trendweave.kernels.aggregates.passes import normalise_rows, shut_out_rows
from trendweave.kernels.inputs import Aggregate, Comparison, Results, Rows, Template
from trendweave.kernels.loops.fold import Fold, FoldShape, fold_arguments, fold_shape
from trendweave.kernels.loops.memory import NUMBER_TYPES
from trendweave.kernels.loops.plan import NOT_THERE, StoreKind
from trendweave.kernels.loops.run import interprets, is_interpreted, run_loop
from trendweave.kernels.loops.text import INDENT, write_loop
from trendweave.kernels.loops.vectors import Numbers, lanes_of

#: Per operator what it is in Python, what NULLs of earlier and of later events become, so that it does not hold, and
#: the code of place 0 with which it always holds (None where no code does that).
_COMPARISONS = {
    "<": ("<", "1 << 62", "-1", "-2"), "<=": ("<=", "1 << 62", "-1", "-2"),
    ">": (">", "-1", "1 << 62", "(1 << 62) + 1"), ">=": (">=", "-1", "1 << 62", "(1 << 62) + 1"),
    "=": ("==", "-1", "-2", None), "!=": ("!=", "-1", "-1", None),
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ByValueShape(FoldShape):
    """The states that read an anchor, those whose rows must know it, and per state the numbers and operators of its
    tests. Numbers in words wrap around."""

    sets: tuple[bool, ...]
    asks: tuple[bool, ...]
    tests: tuple[tuple[tuple[int, str], ...], ...]


@lru_cache(maxsize=256)
def write_by_value(shape: ByValueShape) -> tuple[str, tuple[str, ...]]:
    """The text of a loop, and the names of what it takes."""
    return _ByValue(shape).write()


class _ByValue(Fold):
    """A lane for each value: `high` of the `lanes` are in use."""

    shape: ByValueShape

    def write(self) -> tuple[str, tuple[str, ...]]:
        text, shape = self.text, self.shape
        self.tests = sorted({test for tests in shape.tests for test in tests})
        text.put("n = len(tick)", "low = 0", "used = 0", f"width = {lanes_of(shape.components)}")
        for number, operator in self.tests:
            if (always := _COMPARISONS[operator][3]) is not None:
                text.put(f"codes[{number} * lanes] = {always}")
        with text.block("for b in range(len(row_start))"):
            text.put("row = row_start[b]", "end = row_end[b]", "high = 1")
            with text.block("while row < end"):
                text.put("heed_stop()")
                self.tick()
            self.write_results()
        return write_loop("fold_by_value", text)

    def watch(self, number: str, k: int) -> None:
        """Nothing is too large."""

    def get(self, entry: str) -> str:
        return entry.replace("[", "[index(", 1).replace("]", ")]") if "[" in entry else entry

    def add_changes(self) -> None:
        for cell in range(self.shape.past * self.shape.components):
            with self.text.block("for i in range(high)"):
                self.text.put(f"nodes[{cell} * lanes + i] += nodes[later + {cell} * lanes + i]")
                self.text.put(f"nodes[later + {cell} * lanes + i] = {self.zero}")

    def sum_words(self, q: str, reads: list[tuple[str, StoreKind]], held: bool) -> None:
        """What a row read as a state adds. Numbers of values for which a test does not hold become 0: they are not
        multiplied, as infinity times nothing is no number."""
        text, shape, state = self.text, self.shape, int(q)
        keeps = shape.asks[state] and not shape.sets[state]
        if shape.sets[state]:
            text.put("value = value_of[row]")
            with text.block("if place_of[value] == 0"):
                text.put("place_of[value] = high")
                for number, operator in self.tests:
                    null = _COMPARISONS[operator][1]
                    text.put(f"code = previous[{number} * n + row]")
                    text.put(f"codes[{number} * lanes + high] = code if code >= 0 else {null}")
                text.put("high += 1")
        for number, operator in shape.tests[state]:
            text.put(f"right{number} = following[{number} * n + row]")
            with text.block(f"if right{number} < 0"):
                text.put(f"right{number} = {_COMPARISONS[operator][2]}")
        counted = [k for k in range(1, shape.components) if shape.counted[k - 1][state]]
        text.put(*(f"value{k} = {self.value(k)}" for k in counted))
        text.put(*(f"whole{k} = {self.zero}" for k in range(0 if keeps else shape.components)))
        with self.over_lanes(False) as places:
            self.sum_reads(reads, held, places)
            if shape.plan.start[state] != NOT_THERE:
                text.put("if i == 0:", f"{INDENT}x0 += 1")
            for number, operator in shape.tests[state]:
                self.test(number, operator)
            for k in counted:
                with text.block(f"if value{k} != 0 and x0 != 0"):
                    text.put(f"x{k} += value{k} * x0")
            if keeps:
                self.keep(q, places)
            else:
                text.put(*(f"whole{k} += x{k}" for k in range(shape.components)))
        text.put("changed = True")
        if not keeps:
            place = "place_of[value_of[row]]" if shape.sets[state] else "0"
            for k in range(shape.components):
                text.put(f"nodes[later + {state * shape.components + k} * lanes + {place}] += whole{k}")

    def test(self, number: int, operator: str) -> None:
        """Numbers of values for which a test does not hold become 0."""
        code, right = f"codes[index({number} * lanes + i)]", f"right{number}"
        holds = f"{code} {_COMPARISONS[operator][0]} {right}"
        if operator == "!=":
            holds = f"({holds} and {code} >= 0 and {right} >= 0)"
        first = "i != 0 and " if _COMPARISONS[operator][3] is None else ""
        with self.text.block(f"if {first}not {holds}"):
            self.text.put(*(f"x{k} = {self.zero}" for k in range(self.shape.components)))

    def write_results(self) -> None:
        text, parts = self.text, self.shape.components
        for part in range(parts):
            text.put(f"whole = {self.zero}")
            for final in self.plan.ends:
                text.put("for i in range(high):", f"{INDENT}whole += nodes[{final * parts + part} * lanes + i]")
            text.put(f"results[b * {parts} + {part}] = whole")
        text.put(f"for i in range(2 * {self.half}):", f"{INDENT}nodes[i] = {self.zero}")
        text.put("for row in range(row_start[b], end):", f"{INDENT}place_of[value_of[row]] = 0")


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
        words, anchor = self.rows.letters.shape[1], self.anchor
        fold = fold_shape(self.template, states, Numbers.INT64, words, lanes=True)
        if not fold.plan.is_written:
            raise UnfitError
        tests = [(own, (number, test.operator)) for number, (own, test) in enumerate(anchor.tests)]
        return ByValueShape(
            **{field.name: getattr(fold, field.name) for field in fields(fold)},
            sets=tuple(variable == anchor.variable for variable in fold.plan.variable),
            asks=tuple(variable in anchor.asks for variable in fold.plan.variable),
            tests=tuple(tuple(test for own, test in tests if own == variable) for variable in fold.plan.variable),
        )

    def _steps(self, shape: ByValueShape) -> int:
        return int((self.blocks.row_end - self.blocks.row_start).sum()) * self.places * shape.components

    def _run(self, of_words: ByValueShape, values: np.ndarray, numbers: Numbers) -> np.ndarray:
        """Totals per window, of the type of the values; in words they wrap around."""
        shape, kind = replace(of_words, numbers=numbers), NUMBER_TYPES.get(numbers, np.int64)
        results = np.zeros((int(self.blocks.offset[-1]), shape.components), kind)
        if not self.blocks.lanes.size:
            return results
        text, takes = write_by_value(shape)
        room, tests = shape.past * shape.components * self.places, [test for _, test in self.anchor.tests]
        given = fold_arguments(takes, shape, self.rows, (self.blocks.row_start, self.blocks.row_end), values) | {
            "lanes": self.places, "value_of": np.ascontiguousarray(self.anchor.value, np.int64).copy(),
            "place_of": np.zeros(int(self.anchor.value.max(initial=0)) + 1, np.int64),
            "nodes": np.zeros(2 * room, kind),
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
        operations = (longest + 1) * (sum(map(len, shape.plan.sources)) + self.places + 4.0)
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
