"""Aggregates over all trends: the one entry that runners call.

`aggregate` sorts what is asked for into passes (see `passes.py`) and reads their totals back:
  1. exact pass: number of trends, counts of occurrences, integer sums;
  2. float64 pass: sums of floats, or everything linear if floats are asked for;
  3. extremum pass: minima and maxima, on order-preserving codes.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from trendweave.kernels.aggregates import exact_numbers as exact
from trendweave.kernels.aggregates.blocks import Blocks, find_windows
from trendweave.kernels.aggregates.passes import MEMORY_LIMIT, Engine
from trendweave.kernels.inputs import (
    NO_TREND,
    NO_VALUE,
    Aggregate,
    Measure,
    QueryLanes,
    Results,
    Rows,
    Selection,
    Template,
)
from trendweave.kernels.sorting import from_ordered_bits, ordered_bits

NUMBERS = ("exact", "float64")
#: Before all ticks.
NO_MATCH = np.iinfo(np.int64).min


def sort_out(aggregates: Sequence[Aggregate], exactly: bool) -> tuple[list[int], list[int], list[int]]:
    """The numbers of the aggregates that each pass finds: counts and sums; sums of floats beside exact counts; largest
    and smallest values."""
    linear, floats, extrema = list[int](), list[int](), list[int]()
    for number, one in enumerate(aggregates):
        if one.kind in (Measure.MIN, Measure.MAX):
            extrema.append(number)
        elif exactly and one.kind == Measure.SUM and np.asarray(one.values).dtype.kind == "f":
            floats.append(number)
        else:
            linear.append(number)
    return linear, floats, extrema


def read_values(aggregates: Sequence[Aggregate], count: int, kind: type) -> np.ndarray:
    """What rows add to each count or sum."""
    matrix = np.ones((len(aggregates), count), kind)
    for row, one in zip(matrix, aggregates, strict=True):
        if one.kind != Measure.COUNT:
            row[:] = np.asarray(one.values)
        if one.valid is not None:
            row[~np.asarray(one.valid, np.bool_)] = 0
    return matrix


def find_states(aggregates: Sequence[Aggregate], template: Template, queries: QueryLanes | None = None) -> np.ndarray:
    """bool[aggregates, states]: whether occurrences in a state count. With queries side by side uint64: for which of
    them they do."""
    if queries is not None:
        everyone, states = (1 << queries.count) - 1, range(len(template.state_variable))
        of_states = [[one.variables >> state * queries.count & everyone for state in states] for one in aggregates]
        return np.array(of_states, np.uint64).reshape(len(aggregates), len(states))
    flags = [[bool(one.variables >> int(v) & 1) for v in template.state_variable] for one in aggregates]
    return np.array(flags, np.bool_).reshape(len(aggregates), len(template.state_variable))


def extremum_order(values: np.ndarray) -> np.ndarray:
    """int64 codes that order like the values."""
    return ordered_bits(values) if values.dtype == np.float64 else values


def extremum_codes(aggregate: Aggregate) -> tuple:
    """Codes whose maximum is wanted, and how to read them back: (codes, lookup or None)."""
    values = np.asarray(aggregate.values)
    lookup = None
    codes = extremum_order(values)
    if codes.size and (int(codes.min()) < NO_VALUE + 2 or int(codes.max()) > exact.INT64.max - 2):
        lookup, codes = np.unique(values, return_inverse=True)
        codes = codes.astype(np.int64)
    if aggregate.kind == Measure.MIN:
        codes = ~codes
    if aggregate.valid is not None:
        codes = np.where(aggregate.valid, codes, NO_VALUE)
    return codes, lookup


def read_extremum(aggregate: Aggregate, codes: np.ndarray, lookup) -> tuple:
    """(values, valid) from the largest codes."""
    valid = codes > NO_VALUE
    if aggregate.kind == Measure.MIN:
        codes = ~codes
    codes = np.where(valid, codes, 0)
    if lookup is not None:
        return lookup[codes], valid
    return from_ordered_bits(codes) if np.asarray(aggregate.values).dtype == np.float64 else codes, valid


def aggregate(
    rows: Rows,
    template: Template,
    transition_conditions: Sequence | None = None,
    aggregates: Sequence[Aggregate] = (),
    selection: Selection = Selection.ANY,
    numbers: str = "exact",
    start_guards: Mapping[int, np.ndarray] | None = None,
    final_guards: Mapping[int, np.ndarray] | None = None,
    memory_limit: int = MEMORY_LIMIT,
    folds: bool | None = None,
    queries: QueryLanes | None = None,
    counted: bool = True,
) -> Results:
    """Aggregates over all trends, per segment and window with at least one trend.

    transition_conditions  one Condition (or None) per transition of the template
    aggregates   each of them is found by itself, so give equal ones once
    selection    which later rows a row may be followed by
    numbers      "exact"; "float64": counts and sums as floats (infinite beyond 2**1024)
    start_guards, final_guards  state -> int64[n]: a vertex may begin trends only in windows >= start_guards[state][row]
                 and end trends only in windows <= final_guards[state][row] (leading and trailing NOT)
    folds        whether totals per state are summed, refused where they do not do; None: where they do
    queries      several queries whose templates are merged into the given one: windows of the results are then those
                 of `QueryLanes`, and `sort_by_query` takes them apart
    counted      whether the number of trends is wanted; where it is not, and nothing but extrema is, it is 1
    """
    check_choice("selection", selection, tuple(Selection))
    check_choice("numbers", numbers, NUMBERS)
    for part in aggregates:
        check_choice("the kind of an aggregate", part.kind, tuple(Measure))
    engine = Engine(
        rows, template, transition_conditions, selection, start_guards, final_guards, memory_limit, folds,
        queries,
    )  # fmt: skip
    return measure(engine, template, aggregates, numbers, queries, counted)


def match_starts(
    rows: Rows,
    template: Template,
    transition_conditions: Sequence | None,
    selection: Selection = Selection.ANY,
    start_guards: Mapping[int, np.ndarray] | None = None,
) -> np.ndarray:
    """Negative matches: per row the largest start tick of a match that ends at the row; NO_MATCH if none does.

    For a transition guarded by NOT N, predecessors before that start are out, for good (GRETA, Section 5.2, Definition
    5, where each of them is marked instead). Windows play no part, so a start guard above 0 keeps a row from beginning
    matches.
    """
    nowhere = np.zeros(len(rows.tick), np.int64)
    rows = rows._replace(window_first=nowhere, window_last=nowhere)
    return Engine(rows, template, transition_conditions, selection, start_guards).latest_starts()


class Passes(Protocol):
    """What goes over rows: the engine of a processor, or of a GPU. All find totals per window, the number of trends
    first."""

    count: int
    blocks: Blocks

    def exact_pass(self, values: np.ndarray, states: np.ndarray) -> Sequence[np.ndarray]:
        """Exact totals."""

    def float_pass(self, values: np.ndarray, states: np.ndarray) -> Sequence[np.ndarray]:
        """float64 totals."""

    def decimal_pass(self, values: np.ndarray, states: np.ndarray, wanted: np.ndarray) -> Sequence[np.ndarray]:
        """Totals of floats as decimals, in the windows that are wanted."""

    def extremum_pass(self, codes: np.ndarray, states: np.ndarray) -> Sequence[np.ndarray]:
        """The largest code per window, for each line of codes; see `Engine.extremum_pass`."""


def measure(
    engine: Passes,
    template: Template,
    aggregates: Sequence[Aggregate],
    numbers: str,
    queries: QueryLanes | None = None,
    counted: bool = True,
) -> Results:
    """What is asked for, in as few passes over the rows as it takes; see `aggregate`."""
    exactly = numbers == "exact"
    places = sort_out(aggregates, exactly)
    linear, floats, extrema = ([aggregates[number] for number in of_pass] for of_pass in places)

    def states(asked: Sequence[Aggregate]) -> np.ndarray:
        return find_states(asked, template, queries)

    totals: Sequence[np.ndarray] = ()
    if counted or linear or floats or not extrema:  # else the extrema say where there are trends
        values = read_values(linear, engine.count, np.int64 if exactly else np.float64)
        of_linear = states(linear)
        totals = engine.exact_pass(values, of_linear) if exactly else engine.float_pass(values, of_linear)
    sums = float_sums(engine, read_values(floats, engine.count, np.float64), states(floats)) if floats else []
    largest: Sequence[np.ndarray] = ()
    lookups: Sequence = ()
    if extrema:
        codes, lookups = zip(*map(extremum_codes, extrema), strict=True)
        largest = engine.extremum_pass(np.stack(codes).astype(np.int64, copy=False), states(extrema))
        if not len(totals):
            totals = [(largest[0] != NO_TREND).astype(np.int64 if exactly else np.float64)]

    found, segment, window = find_windows(engine.blocks, totals[0])
    count, *in_windows = take_windows(totals, found)
    read: list[tuple[np.ndarray, np.ndarray | None]] = [(tidy(column), None) for column in in_windows]
    read += [(column, None) for column in take_windows(sums, found)]
    read += list(map(read_extremum, extrema, take_windows(largest, found), lookups))
    by_number = dict(zip([*places[0], *places[1], *places[2]], read, strict=True))
    columns = [by_number[number] for number in range(len(aggregates))]
    return Results(segment, window, tidy(count), tuple(one for one, _ in columns), tuple(known for _, known in columns))


def take_windows(totals: Sequence[np.ndarray], found: np.ndarray) -> Sequence[np.ndarray]:
    """Totals of the windows that were found."""
    if isinstance(totals, np.ndarray):  # the numbers of a window lie side by side: taken at once
        return totals.T.take(found, axis=0).T
    return [column.take(found) for column in totals]


def sort_by_query(results: Results, query: np.ndarray, window: np.ndarray) -> tuple[np.ndarray, Results]:
    """The query of each entry, in their order, and the entries so, with windows of its own.

    Args:
        results: Entries by segment and window.
        query: The query of each.
        window: Its window.
    """
    query = query.astype(np.min_scalar_type(int(query.max(initial=0))))  # numbers of few bits are sorted in one go
    order = np.argsort(query, kind="stable")
    columns = tuple(column[order] for column in results.aggregates)
    valid = tuple(None if known is None else known[order] for known in results.valid)
    return query[order], Results(results.segment[order], window[order], results.count[order], columns, valid)


def check_choice(name: str, given: object, choices: tuple) -> None:
    """Refuse what is none of the choices."""
    if given not in choices:
        raise ValueError(f"{name} is one of {choices}, not {given!r}")


def tidy(column: np.ndarray) -> np.ndarray:
    """int64 if everything fits."""
    return exact.narrow_integers(column) if column.dtype == object else column


def float_sums(engine: Passes, values: np.ndarray, states: np.ndarray) -> list[np.ndarray]:
    """Sums of floats: float64 as long as all of them are finite, or are not because values are not; else decimals."""
    sums = list(engine.float_pass(values, states)[1:])
    for k in range(len(sums)):
        if np.isfinite(sums[k]).all():
            continue
        special, marked = not_finite(engine, values[k], states[k : k + 1])
        found = np.where(marked, special, sums[k])
        beyond = ~np.isfinite(found) & ~marked
        if beyond.any():
            finite = np.where(np.isfinite(values[k : k + 1]), values[k : k + 1], 0.0)
            found = found.astype(object)
            found[beyond] = engine.decimal_pass(finite, states[k : k + 1], beyond)[1][beyond]
        sums[k] = found
    return sums


def not_finite(engine: Passes, values: np.ndarray, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sums that values which are NaN or infinite make so, however large the others are: (sums, where there are any)."""
    kinds = np.stack([np.isnan(values), values == np.inf, values == -np.inf])
    if not kinds.any():
        nothing = np.zeros(int(engine.blocks.lanes.sum()))
        return nothing, nothing != 0
    found = engine.float_pass(kinds.astype(np.float64), np.repeat(states, 3, axis=0))[1:]
    none, above, below = (count > 0 for count in found)
    sums = np.where(none | (above & below), np.nan, np.where(above, np.inf, -np.inf))
    return sums, none | above | below
