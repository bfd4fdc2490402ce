"""Conditions on one earlier event, and no others: see `loops/by_value.py`."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from trendweave.kernels.aggregates.blocks import cut_blocks
from trendweave.kernels.aggregates.entry import measure
from trendweave.kernels.aggregates.passes import normalise_rows, shut_out_rows, sums_exactly
from trendweave.kernels.inputs import Aggregate, Results, Rows, Template
from trendweave.kernels.loops.by_value import ByValueShape, write_by_value
from trendweave.kernels.loops.fold import fold_shape
from trendweave.kernels.loops.matrices import fold_arguments
from trendweave.kernels.loops.memory import NUMBER_TYPES
from trendweave.kernels.loops.run import interprets, run_loop
from trendweave.kernels.loops.vectors import Numbers


class LaneTest(NamedTuple):
    """`previous[a] operator next[e]` for each row e read as the variable, and the anchor a of its trend. Codes below 0
    are NULL."""

    variable: int
    previous: np.ndarray
    operator: str
    next: np.ndarray


class LaneInputs(NamedTuple):
    """One anchor: `variable` sets it, `value` numbers its values from 1 on, `asks` are the variables whose rows must
    know it."""

    variable: int
    value: np.ndarray
    asks: frozenset
    tests: tuple


class UnfitError(Exception):
    """This kernel cannot: 64 bits do not hold the numbers, floats are to be summed beside exact counts, extrema are
    asked for, or the template is too large to be written out."""


def aggregate_in_lanes(
    rows: Rows, template: Template, lanes: LaneInputs, aggregates: Sequence[Aggregate], numbers: str
) -> Results | None:
    """Aggregates over all trends under skip-till-any-match, whose only conditions are on one earlier event.

    Args:
        rows: The rows.
        template: The template.
        lanes: The earlier event, and the tests.
        aggregates: Counts and sums.
        numbers: "exact" or "float64".

    Returns:
        As `aggregate` gives them; None where this kernel cannot.
    """
    try:
        return measure(_Lanes(rows, template, lanes, numbers), template, aggregates, numbers)
    except UnfitError:
        return None


class _Lanes:
    """One call's rows, blocks and tests, ready for a pass."""

    def __init__(self, rows: Rows, template: Template, lanes: LaneInputs, numbers: str) -> None:
        self.rows = shut_out_rows(normalise_rows(rows))
        self.blocks, self.count = cut_blocks(self.rows, 1), rows.tick.size
        self.template, self.lanes, self.numbers = template, lanes, numbers
        variables = [int(variable) for variable in template.state_variable]
        self.tests = [test for variable in variables for test in lanes.tests if test.variable == variable]
        word, bit = self.rows.letters[:, lanes.variable // 64], np.uint64(lanes.variable % 64)
        sets = np.bitwise_and(word >> bit, np.uint64(1)).astype(bool)
        self.places = 2 + np.unique(lanes.value[sets]).size

    def exact_pass(self, values: np.ndarray, states: np.ndarray) -> list:
        """Exact totals."""
        shape = self._shape(states)
        if sums_exactly(self._steps(shape), shape):
            return list(self._run(shape, values.astype(object), Numbers.EXACT).T)
        return list(self._sum_whole(shape, values).T)

    def float_pass(self, values: np.ndarray, states: np.ndarray) -> list:
        """float64 totals."""
        if self.numbers == "exact":
            raise UnfitError
        return list(self._run(self._shape(states), values, Numbers.FLOAT64).T)

    def decimal_pass(self, values: np.ndarray, states: np.ndarray, wanted: np.ndarray) -> list:
        """None: floats are not summed beside exact counts."""
        raise UnfitError

    def extremum_pass(self, codes: np.ndarray, states: np.ndarray) -> list:
        """None."""
        raise UnfitError

    def _shape(self, states: np.ndarray) -> ByValueShape:
        fold = fold_shape(self.template, states, Numbers.INT64, self.rows.letters.shape[1])
        if not fold.is_written:
            raise UnfitError
        numbers, tests = iter(range(len(self.tests))), self.lanes.tests
        return ByValueShape(
            fold,
            tuple(variable == self.lanes.variable for variable in fold.variable),
            tuple(variable in self.lanes.asks for variable in fold.variable),
            tuple(
                tuple((next(numbers), test.operator) for test in tests if test.variable == variable)
                for variable in fold.variable
            ),
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
        room = fold.past * fold.components * self.places
        given = fold_arguments(fold, self.rows, (self.blocks.row_start, self.blocks.row_end), values) | {
            "places": self.places, "value_of": np.ascontiguousarray(self.lanes.value, np.int64).copy(),
            "place_of": np.zeros(int(self.lanes.value.max(initial=0)) + 1, np.int64),
            "total": np.zeros(2 * room, kind), "count": np.zeros(self.places, kind),
            "codes": np.zeros(len(self.tests) * self.places, np.int64),
            "previous": _stack([test.previous for test in self.tests]),
            "following": _stack([test.next for test in self.tests]),
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
