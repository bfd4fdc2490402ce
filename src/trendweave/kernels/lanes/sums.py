"""Conditions on one earlier event, and no others: a vector of totals per state, one for each value of that event.

Between anchoring events all lanes undergo the same steps, side by side in memory, so a row costs a few additions per
lane, in loops that the compiler makes wide. Lane 0 is that of trends that remember nothing. Windows are gone over one
by one."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from trendweave.kernels.aggregates.blocks import cut_blocks, find_windows
from trendweave.kernels.aggregates.entry import read_linear, sort_out, tidy
from trendweave.kernels.aggregates.passes import normalise_rows
from trendweave.kernels.aggregates.state_steps import build_steps, note, note_product, reads, too_large
from trendweave.kernels.compiling import inlined, outer
from trendweave.kernels.inputs import OPERATORS, Aggregate, Results, Rows, Template
from trendweave.kernels.stopping import is_to_stop

# places in OPERATORS
LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, EQUAL = range(5)


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


class LaneTables(NamedTuple):
    """The same as arrays: per state whether it sets the lane and whether it asks for it, and its tests."""

    sets: np.ndarray  # bool[q]
    asks: np.ndarray  # bool[q]
    first_test: np.ndarray  # int64[q]: its tests are first:end
    end_test: np.ndarray  # int64[q]
    operator: np.ndarray  # int64[t]
    previous: np.ndarray  # int64[t, n]
    following: np.ndarray  # int64[t, n]
    value: np.ndarray  # int64[n]


class LaneTotals(NamedTuple):
    """Totals per state, number and lane; what the rows of a tick add; and room for one row."""

    total: np.ndarray  # [q, parts, lanes]
    change: np.ndarray
    count: np.ndarray  # [lanes]
    amount: np.ndarray  # [lanes]
    open: np.ndarray  # [lanes]: 1 where all tests hold
    code: np.ndarray  # int64[t, lanes]: the anchor's codes
    lane_of: np.ndarray  # int64[values + 1]


@inlined
def open_lanes(tables, work, state, row, used):
    """Mark the lanes in which all tests of a state hold for a row."""
    opened = work.open
    for lane in range(used):
        opened[lane] = 1
    for t in range(tables.first_test[state], tables.end_test[state]):
        code, right, operator = work.code[t], tables.following[t, row], tables.operator[t]
        if right < 0:
            for lane in range(1, used):
                opened[lane] = 0
        elif operator == LESS:
            for lane in range(1, used):
                opened[lane] *= (code[lane] >= 0) & (code[lane] < right)
        elif operator == LESS_EQUAL:
            for lane in range(1, used):
                opened[lane] *= (code[lane] >= 0) & (code[lane] <= right)
        elif operator == GREATER:
            for lane in range(1, used):
                opened[lane] *= (code[lane] >= 0) & (code[lane] > right)
        elif operator == GREATER_EQUAL:
            for lane in range(1, used):
                opened[lane] *= (code[lane] >= 0) & (code[lane] >= right)
        elif operator == EQUAL:
            for lane in range(1, used):
                opened[lane] *= (code[lane] >= 0) & (code[lane] == right)
        else:
            for lane in range(1, used):
                opened[lane] *= (code[lane] >= 0) & (code[lane] != right)


@inlined
def read_row(steps, tables, measures, work, to, state, row, used, checked):
    """Add what a row read as a state adds; returns remembered bits and the lanes now in use.

    Every loop over lanes does one thing, so that it is compiled to wide instructions. Lanes that are not open are
    selected away, not multiplied: infinity times nothing is no number."""
    total, count, amount, opened = work.total, work.count, work.amount, work.open
    states = steps.variable.size
    zero = total.dtype.type(0)
    seen = np.int64(0)
    tested = tables.first_test[state] < tables.end_test[state]
    if tested:
        open_lanes(tables, work, state, row, used)
    count[:used] = zero
    for j in range(steps.source_from[state], steps.source_from[state + 1]):
        source = steps.sources[j]
        if source == states:
            count[0] += 1
        else:
            before = total[source, 0]
            for lane in range(used):
                count[lane] += before[lane]
    if tested:
        for lane in range(used):
            count[lane] = count[lane] if opened[lane] != 0 else zero
    whole = zero
    largest = zero
    for lane in range(used):
        whole += count[lane]
        largest = max(largest, count[lane])
        seen = note(seen, count[lane], checked)
    keeps = tables.asks[state] and not tables.sets[state]
    target = 0
    if tables.sets[state]:
        value = tables.value[row]
        if work.lane_of[value] == 0:
            work.lane_of[value] = used
            for t in range(tables.operator.size):
                work.code[t, used] = tables.previous[t, row]
            used += 1
            count[used - 1] = zero
            opened[used - 1] = zero
        target = work.lane_of[value]
    for k in range(1, 1 + measures.states.shape[0]):
        amount[:used] = zero
        for j in range(steps.source_from[state], steps.source_from[state + 1]):
            source = steps.sources[j]
            if source != states:
                before = total[source, k]
                for lane in range(used):
                    amount[lane] += before[lane]
        if tested:
            for lane in range(used):
                amount[lane] = amount[lane] if opened[lane] != 0 else zero
        for lane in range(used):
            seen = note(seen, amount[lane], checked)
        value = measures.values[k - 1, row]
        if measures.states[k - 1, state] and value != 0:
            seen |= note_product(np.int64(0), value, largest, checked)
            for lane in range(used):
                amount[lane] += value * count[lane] if count[lane] != 0 else zero
                seen = note(seen, amount[lane], checked)
        if keeps:
            after = to[state, k]
            for lane in range(used):
                after[lane] += amount[lane]
                seen = note(seen, after[lane], checked)
        else:
            summed = zero
            for lane in range(used):
                summed += amount[lane]
                seen = note(seen, summed, checked)
            to[state, k, target] += summed
            seen = note(seen, to[state, k, target], checked)
    if keeps:
        after = to[state, 0]
        for lane in range(used):
            after[lane] += count[lane]
            seen = note(seen, after[lane], checked)
    else:
        seen = note(seen, whole, checked)
        to[state, 0, target] += whole
        seen = note(seen, to[state, 0, target], checked)
    return seen, used


@inlined
def add_window(steps, tables, rows, measures, work, row, row_end, checked):
    """Go over the rows of a window, tick by tick; returns remembered bits and the lanes in use."""
    states = steps.variable.size
    parts = 1 + measures.states.shape[0]
    seen = np.int64(0)
    used = 1
    while row < row_end and not is_to_stop():
        end = row + 1
        while end < row_end and rows.tick[end] == rows.tick[row]:
            end += 1
        readings = 0
        for r in range(row, end):
            if rows.window_first[r] <= rows.window_last[r]:
                for state in range(states):
                    readings += reads(rows.letters, r, steps.variable[state])
        for r in range(row, end):
            if rows.window_first[r] > rows.window_last[r]:
                continue
            for state in range(states):
                if not reads(rows.letters, r, steps.variable[state]):
                    continue
                # Alone at its time, a row is added at once: a lane is read before it is written.
                to = work.total if readings == 1 else work.change
                more, used = read_row(steps, tables, measures, work, to, state, r, used, checked)
                seen |= more
        if readings > 1:
            for state in range(states):
                for k in range(parts):
                    for lane in range(used):
                        work.total[state, k, lane] += work.change[state, k, lane]
                        seen = note(seen, work.total[state, k, lane], checked)
                        work.change[state, k, lane] = 0
        row = end
        if too_large(seen):
            break
    return seen, used


@outer
def sum_lanes(steps, tables, rows, blocks, measures, most_lanes, results, fits, checked):
    """One window per block: results[b, 0] the number of trends, then the linear aggregates."""
    states = steps.variable.size
    parts = 1 + measures.states.shape[0]
    highest = np.int64(0)
    for i in range(tables.value.size):
        highest = max(highest, tables.value[i])
    work = LaneTotals(
        np.zeros((states, parts, most_lanes), results.dtype),
        np.zeros((states, parts, most_lanes), results.dtype),
        np.zeros(most_lanes, results.dtype),
        np.zeros(most_lanes, results.dtype),
        np.zeros(most_lanes, results.dtype),
        np.zeros((max(1, tables.operator.size), most_lanes), np.int64),
        np.zeros(highest + 1, np.int64),
    )
    for b in range(blocks.row_start.size):
        seen, used = add_window(steps, tables, rows, measures, work, blocks.row_start[b], blocks.row_end[b], checked)
        for f in range(steps.final.size):
            for k in range(parts):
                for lane in range(used):
                    results[b, k] += work.total[steps.final[f], k, lane]
                    seen = note(seen, results[b, k], checked)
        fits[b] = not too_large(seen)
        work.total[:, :, :used] = 0
        work.change[:, :, :used] = 0
        for row in range(blocks.row_start[b], blocks.row_end[b]):
            work.lane_of[tables.value[row]] = 0


class LaneMeasures(NamedTuple):
    """Values of linear aggregates per row, and the states that they are measured of."""

    values: np.ndarray
    states: np.ndarray


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
        summed beside exact counts, or extrema are asked for.
    """
    linear, floats, extrema, places = sort_out(aggregates, numbers)
    if floats.parts or extrema:
        return None
    rows = normalise_rows(rows)
    blocks = cut_blocks(rows, 1)
    job = _Job(rows, blocks, template, lanes, linear.states(template))
    if numbers == "float64":
        results, _ = job.run(linear.matrix(rows.tick.size, np.float64), None)
    else:
        values = linear.matrix(rows.tick.size, np.int64)
        results, fits = job.run(values, True)
        if not fits.all():
            results = job.beyond_64_bits(values)
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
    """One call's rows and tables, ready for several passes."""

    def __init__(self, rows: Rows, blocks, template: Template, lanes: LaneInputs, states: np.ndarray) -> None:
        self.rows, self.blocks, self.states = rows, blocks, states
        self.steps, self.tables = build_steps(template), _tables(template, lanes)
        word, bit = rows.letters[:, lanes.variable // 64], np.uint64(lanes.variable % 64)
        sets = np.bitwise_and(word >> bit, np.uint64(1)).astype(bool)
        self.most_lanes = 2 + np.unique(lanes.value[sets]).size

    def run(self, values: np.ndarray, checked) -> tuple[np.ndarray, np.ndarray]:
        """Totals per window, of the type of the values, and whether they fit."""
        results = np.zeros((int(self.blocks.offset[-1]), 1 + values.shape[0]), values.dtype)
        fits = np.ones(results.shape[0], np.bool_)
        if self.blocks.lanes.size:
            measures = LaneMeasures(values, self.states)
            sum_lanes(
                self.steps, self.tables, self.rows, self.blocks, measures, self.most_lanes, results, fits, checked
            )
        return results, fits

    def beyond_64_bits(self, values: np.ndarray) -> np.ndarray | None:
        """Exact totals as Python integers: their last 64 bits, as integers wrap, and all the others from floats.

        Floats are near enough as long as they are off by less than 2**62. Totals are sums of products that are not
        negative, apart from the sign of values; so the relative error of each is at most half a unit in the last place
        per operation that it went through, and that of signed sums is bounded by the sums of magnitudes.
        """
        wrapped, _ = self.run(values, None)
        near, _ = self.run(values.astype(np.float64), None)
        bound = near if (values >= 0).all() else self.run(np.abs(values.astype(np.float64)), None)[0]
        longest = int((self.blocks.row_end - self.blocks.row_start).max())
        operations = (longest + 1) * (self.steps.sources.size + self.most_lanes + 4.0)
        off = bound * (operations * 2.0**-52)
        if not (off < 2.0**61).all():
            return None
        exact = np.empty(wrapped.shape, object)
        for place, low in np.ndenumerate(wrapped):
            distance = int(near[place]) - int(low)
            exact[place] = int(low) + ((distance + 2**63) >> 64 << 64)
        return exact


def _tables(template: Template, lanes: LaneInputs) -> LaneTables:
    variables = [int(variable) for variable in template.state_variable]
    tests: list[LaneTest] = []
    first, end = [], []
    for variable in variables:
        first.append(len(tests))
        tests += [test for test in lanes.tests if test.variable == variable]
        end.append(len(tests))
    count = lanes.value.size

    def stack(columns: list[np.ndarray]) -> np.ndarray:
        return np.stack(columns).astype(np.int64) if columns else np.empty((0, count), np.int64)

    return LaneTables(
        np.array([variable == lanes.variable for variable in variables], np.bool_),
        np.array([variable in lanes.asks for variable in variables], np.bool_),
        np.array(first, np.int64),
        np.array(end, np.int64),
        np.array([OPERATORS.index(test.operator) for test in tests], np.int64),
        stack([test.previous for test in tests]),
        stack([test.next for test in tests]),
        np.ascontiguousarray(lanes.value, np.int64).copy(),
    )
