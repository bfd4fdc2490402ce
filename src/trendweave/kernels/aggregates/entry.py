"""Aggregates over all trends: the one entry that runners call.

`aggregate` sorts what is asked for into passes (see `passes.py`) and reads their totals back:
  1. exact pass: number of trends, counts of occurrences, integer sums;
  2. float64 pass: sums of floats, or everything linear if floats are asked for;
  3. extremum pass: minima and maxima, on order-preserving codes.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal, localcontext
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from trendweave.kernels.aggregates import exact_numbers as exact
from trendweave.kernels.aggregates.blocks import Blocks, find_windows
from trendweave.kernels.aggregates.passes import MEMORY_LIMIT, Engine
from trendweave.kernels.columns import same_column
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
from trendweave.kernels.numbering import from_ordered_bits, ordered_bits

NUMBERS = ("exact", "float64")
#: Before all ticks.
NO_MATCH = np.iinfo(np.int64).min
_EXTREMUM = {False: Measure.MAX, True: Measure.MIN}


class Measured(NamedTuple):
    """An aggregate without its arrays: its kind, the mask of variables whose occurrences count, whether values are
    floats, and the numbers of the aggregates whose `values` and whose `valid` it reads; None: every occurrence counts.
    Those that read the same share their numbers."""

    kind: str
    variables: int
    floats: bool = False
    values: int | None = None
    valid: int | None = None


class Component(NamedTuple):
    """What a pass adds up, or finds the largest of: the values of the aggregate with this number, or occurrences that
    are `valid` in it (None: all of them)."""

    variables: int
    aggregate: int | None
    values: bool = True
    turned: bool = False  # the smallest value is the largest of those that are turned around


#: Per aggregate the places of what is counted, and of what is summed or the largest: pass and number of a component.
Places: TypeAlias = tuple[tuple[tuple[int, int] | None, tuple[int, int] | None], ...]
LINEAR, FLOATS, EXTREMA = range(3)


def describe(aggregates: Sequence[Aggregate]) -> list[Measured]:
    """Aggregates without their arrays; equal columns have one number."""
    measures = []
    for part in aggregates:
        values = valid = None
        same = [number for number, one in enumerate(aggregates) if same_column(one.valid, part.valid)]
        if part.valid is not None:
            valid = same[0]
        if part.kind != Measure.COUNT:
            values = next(number for number in same if same_column(aggregates[number].values, part.values))
        floats = values is not None and np.asarray(part.values).dtype.kind == "f"
        measures.append(Measured(part.kind, part.variables, floats, values, valid))
    return measures


def sort_out(measures: Sequence[Measured], exactly: bool) -> tuple[list[list[Component]], Places]:
    """Components of the passes, each kept once: counts and sums; sums of floats beside exact counts; largest values.
    And where each aggregate finds its own."""
    passes: list[list[Component]] = [[], [], []]
    places = []

    def place(number: int, component: Component) -> tuple[int, int]:
        if component not in passes[number]:
            passes[number].append(component)
        return number, passes[number].index(component)

    for measure in measures:
        counted = summed = None
        if measure.kind in (Measure.MIN, Measure.MAX):
            summed = place(EXTREMA, Component(measure.variables, measure.values, turned=measure.kind == Measure.MIN))
        if measure.kind in (Measure.COUNT, Measure.AVG):
            counted = place(LINEAR, Component(measure.variables, measure.valid, values=False))
        if measure.kind in (Measure.SUM, Measure.AVG):
            beside = FLOATS if measure.floats and exactly else LINEAR
            summed = place(beside, Component(measure.variables, measure.values))
        places.append((counted, summed))
    return passes, tuple(places)


def read_values(parts: Sequence[Component], aggregates: Sequence[Aggregate], count: int, kind: type) -> np.ndarray:
    """What rows add to each component."""
    matrix = np.ones((len(parts), count), kind)
    for row, part in zip(matrix, parts, strict=True):
        if part.aggregate is None:
            continue
        given = aggregates[part.aggregate]
        if part.values:
            row[:] = np.asarray(given.values)
        if given.valid is not None:
            row[~np.asarray(given.valid, np.bool_)] = 0
    return matrix


def find_states(masks: Sequence[int], template: Template, queries: QueryLanes | None = None) -> np.ndarray:
    """bool[masks, states]: whether a state's variable is in the mask. With queries side by side uint64: for which of
    them the state is."""
    if queries is not None:
        everyone, states = (1 << queries.count) - 1, range(len(template.state_variable))
        of_states = [[mask >> state * queries.count & everyone for state in states] for mask in masks]
        return np.array(of_states, np.uint64).reshape(len(masks), len(states))
    flags = [[bool(mask >> int(v) & 1) for v in template.state_variable] for mask in masks]
    return np.array(flags, np.bool_).reshape(len(masks), len(template.state_variable))


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
    selection    which later rows a row may be followed by
    numbers      "exact"; "float64": counts and sums as floats (infinite beyond 2**1024), averages as their ratio
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
    (linear, floats, extrema), places = sort_out(describe(aggregates), exactly)

    def states(parts: Sequence[Component]) -> np.ndarray:
        return find_states([part.variables for part in parts], template, queries)

    totals: Sequence[np.ndarray] = ()
    if counted or linear or floats or not extrema:  # else the extrema say where there are trends
        values = read_values(linear, aggregates, engine.count, np.int64 if exactly else np.float64)
        of_linear = states(linear)
        totals = engine.exact_pass(values, of_linear) if exactly else engine.float_pass(values, of_linear)
    sums = float_sums(engine, floats, aggregates, states(floats)) if floats else []
    largest: Sequence[np.ndarray] = ()
    lookups: Sequence = ()
    if extrema:
        asked = [aggregates[part.aggregate or 0]._replace(kind=_EXTREMUM[part.turned]) for part in extrema]
        codes, lookups = zip(*map(extremum_codes, asked), strict=True)
        largest = engine.extremum_pass(np.stack(codes).astype(np.int64, copy=False), states(extrema))
        if not len(totals):
            totals = [(largest[0] != NO_TREND).astype(np.int64 if exactly else np.float64)]

    found, segment, window = find_windows(engine.blocks, totals[0])
    totals, sums, largest = (take_windows(columns, found) for columns in (totals, sums, largest))
    columns, valid = [], []
    for part, (counted_at, summed_at) in zip(aggregates, places, strict=True):
        counts = None if counted_at is None else totals[1 + counted_at[1]]
        number, place = summed_at or (LINEAR, -1)
        if number == EXTREMA:
            column, known = read_extremum(part, largest[place], lookups[place])
        elif number == FLOATS:
            column, known = read_floats(counts, sums[place])
        else:
            column, known = read_linear(counts, None if summed_at is None else totals[1 + place])
        columns.append(column)
        valid.append(known)
    return Results(segment, window, tidy(totals[0]), tuple(columns), tuple(valid))


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


def read_linear(counts: np.ndarray | None, sums: np.ndarray | None) -> tuple:
    """(values, valid) of a count (no sums), a sum (no counts) or an average."""
    if sums is None:
        return tidy(counts), None
    if counts is None:
        return tidy(sums), None
    known = (counts != 0).astype(bool)
    return divide_sums(sums, np.where(known, counts, 1)), known


def read_floats(counts: np.ndarray | None, sums: np.ndarray) -> tuple:
    """The same of sums of floats beside exact counts, which are decimals where some are beyond floats."""
    if sums.dtype != object:
        return read_linear(counts, sums)
    if counts is None:
        return sums.astype(np.float64), None
    known = np.asarray(counts != 0, np.bool_)
    with localcontext(exact.DECIMALS):
        pairs = zip(sums.tolist(), counts.tolist(), strict=True)
        return np.array([float(Decimal(one) / int(n)) if n else 0.0 for one, n in pairs], np.float64), known


def tidy(column: np.ndarray) -> np.ndarray:
    """int64 if everything fits."""
    return exact.narrow_integers(column) if column.dtype == object else column


def divide_float(total: float, count: int) -> float:
    """total / count where the count may be beyond the range of floats."""
    if not np.isfinite(total):
        return float(total)
    numerator, denominator = float(total).as_integer_ratio()
    return numerator / (denominator * int(count))


def divide_sums(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Averages, rounded once where the sums are exact."""
    if sums.dtype != object and counts.dtype != object:
        with np.errstate(invalid="ignore"):
            averages = sums / counts
        if sums.dtype == np.int64:  # beyond 53 bits, whole numbers would be rounded before they are divided
            large = np.flatnonzero((sums > 2**53) | (sums < -(2**53)) | (counts > 2**53))
            averages[large] = [int(s) / int(c) for s, c in zip(sums[large], counts[large], strict=True)]
        return averages
    pairs = zip(sums.tolist(), counts.tolist(), strict=True)
    floats = sums.dtype == np.float64
    return np.array([divide_float(s, int(c)) if floats else s / int(c) for s, c in pairs], np.float64)


def float_sums(
    engine: Passes, floats: Sequence[Component], aggregates: Sequence[Aggregate], states: np.ndarray
) -> list[np.ndarray]:
    """Sums of floats: float64 as long as all of them are finite, or are not because values are not; else decimals."""
    values = read_values(floats, aggregates, engine.count, np.float64)
    sums = list(engine.float_pass(values, states)[1:])
    for k in range(len(floats)):
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
