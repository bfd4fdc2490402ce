"""Conditions on one earlier event, and no others: see `loops/by_value.py`."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from trendweave.kernels.aggregates.blocks import cut_blocks, find_windows
from trendweave.kernels.aggregates.entry import read_linear, sort_out, tidy
from trendweave.kernels.aggregates.passes import normalise_rows, shut_out_rows, sums_exactly
from trendweave.kernels.inputs import Aggregate, Results, Rows, Template
from trendweave.kernels.loops.by_value import ByValueShape, write_by_value
from trendweave.kernels.loops.fold import fold_shape
from trendweave.kernels.loops.memory import NUMBER_TYPES, fold_arguments
from trendweave.kernels.loops.run import is_interpreted, note_interpreted, run_loop
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
        As `aggregate` gives them; None where this kernel cannot: 64 bits do not hold the numbers, floats are to be
        summed beside exact counts, extrema are asked for, or the template is too large to be written out.
    """
    linear, floats, extrema, places = sort_out(aggregates, numbers)
    if floats.parts or extrema:
        return None
    rows = shut_out_rows(normalise_rows(rows))
    blocks = cut_blocks(rows, 1)
    job = _Job(rows, blocks, template, lanes, linear.states(template))
    if not job.fold.is_written:
        return None
    if numbers == "float64":
        results = job.run(linear.matrix(rows.tick.size, np.float64), Numbers.FLOAT64)
    else:
        values = linear.matrix(rows.tick.size, np.int64)
        exactly = sums_exactly(job.steps, job.shape)
        results = job.run(values.astype(object), Numbers.EXACT) if exactly else job.sum_whole(values)
        if results is None:
            return None
    found, segment, window = find_windows(blocks, results[:, 0])
    columns, valid = [], []
    for place in places:
        counts = None if place.counted is None else results[found, 1 + place.counted]
        sums = None if place.summed is None else results[found, 1 + place.summed]
        column, known = read_linear(counts, sums, None)
        columns.append(column)
        valid.append(known)
    return Results(segment, window, tidy(results[found, 0]), tuple(columns), tuple(valid))


class _Job:
    """One call's rows, blocks and shape, ready for several passes."""

    def __init__(self, rows: Rows, blocks, template: Template, lanes: LaneInputs, states: np.ndarray) -> None:
        self.rows, self.blocks, self.lanes = rows, blocks, lanes
        variables = [int(variable) for variable in template.state_variable]
        self.tests = [test for variable in variables for test in lanes.tests if test.variable == variable]
        numbers = iter(range(len(self.tests)))
        self.fold = fold_shape(template, states, Numbers.INT64, rows.letters.shape[1])
        self.shape = ByValueShape(
            self.fold,
            tuple(variable == lanes.variable for variable in variables),
            tuple(variable in lanes.asks for variable in variables),
            tuple(
                tuple((next(numbers), test.operator) for test in lanes.tests if test.variable == variable)
                for variable in variables
            ),
        )
        word, bit = rows.letters[:, lanes.variable // 64], np.uint64(lanes.variable % 64)
        sets = np.bitwise_and(word >> bit, np.uint64(1)).astype(bool)
        self.places = 2 + np.unique(lanes.value[sets]).size
        self.steps = int((blocks.row_end - blocks.row_start).sum()) * self.places * self.fold.components

    def run(self, values: np.ndarray, numbers: Numbers) -> np.ndarray:
        """Totals per window, of the type of the values; in words they wrap around."""
        fold = replace(self.fold, numbers=numbers)
        shape = replace(self.shape, fold=fold)
        kind = NUMBER_TYPES.get(numbers, np.int64)
        results = np.zeros((int(self.blocks.offset[-1]), fold.components), kind)
        if not self.blocks.lanes.size:
            return results
        text, takes = write_by_value(shape)
        room = fold.past * fold.components * self.places
        given = fold_arguments(takes, self.rows, self.blocks, values) | {
            "places": self.places, "value_of": np.ascontiguousarray(self.lanes.value, np.int64).copy(),
            "place_of": np.zeros(int(self.lanes.value.max(initial=0)) + 1, np.int64),
            "total": np.zeros(2 * room, kind), **{name: np.zeros(self.places, kind) for name in ("count", "amount")},
            "codes": np.zeros(len(self.tests) * self.places, np.int64),
            "previous": _stack([test.previous for test in self.tests]),
            "following": _stack([test.next for test in self.tests]),
            "results": results.reshape(-1),
        }  # fmt: skip
        interpreted = numbers is Numbers.EXACT or (
            numbers is Numbers.FLOAT64
            and is_interpreted(self.steps, self.shape)  # Python's integers do not wrap around
        )
        if interpreted:
            note_interpreted(self.steps, self.shape)
        run_loop("fold_by_value", text, takes, given, interpreted)
        return results

    def sum_whole(self, values: np.ndarray) -> np.ndarray | None:
        """Exact totals: floats where these hold them, else Python integers, of which the last 64 bits are those of
        integers that wrap around, and all the others those of floats.

        Floats are near enough as long as they are off by less than 2**62. Totals are sums of products that are not
        negative, apart from the sign of values; so the relative error of each is at most half a unit in the last place
        per operation that it went through, and that of signed sums is bounded by the sums of magnitudes. Below 2**53
        all that they are made of is exact.
        """
        near = self.run(values.astype(np.float64), Numbers.FLOAT64)
        bound = near if (values >= 0).all() else self.run(np.abs(values.astype(np.float64)), Numbers.FLOAT64)
        if (bound < 2.0**53).all():
            return near.astype(np.int64)
        longest = int((self.blocks.row_end - self.blocks.row_start).max())
        operations = (longest + 1) * (sum(map(len, self.fold.sources)) + self.places + 4.0)
        off = bound * (operations * 2.0**-52)
        if not (off < 2.0**61).all():
            return None
        wrapped = self.run(values, Numbers.INT64)
        exact = np.empty(wrapped.shape, object)
        for place, low in np.ndenumerate(wrapped):
            distance = int(near[place]) - int(low)
            exact[place] = int(low) + ((distance + 2**63) >> 64 << 64)
        return exact


def _stack(columns: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(columns).astype(np.int64) if columns else np.empty(0, np.int64)
