"""What a match tells of its situations: aggregates of the events that a situation had before a moment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import ExecutionError, Problem
from trendweave.kernels.intervals.running_aggregates import running_aggregates
from trendweave.planning.interval_plan import OutputColumn
from trendweave.planning.plan import AggregateColumn
from trendweave.programs.intervals.rows import IntervalRows
from trendweave.results.types import situation_aggregate_type
from trendweave.rows.codes import order_codes
from trendweave.rows.numbers import as_numbers


@dataclass(frozen=True, slots=True)
class Stretches:
    """Rows `first .. cut` of a situation, each pair of situation and cut once, sorted; `of` tells which one an entry
    asked for. Situations are all of one kind, so their rows come in their order."""

    situation: np.ndarray
    first: np.ndarray
    cut: np.ndarray
    of: np.ndarray

    @staticmethod
    def distinct(situation: np.ndarray, first: np.ndarray, cut: np.ndarray) -> Stretches:
        order = np.lexsort((cut, situation))
        situation, first, cut = situation[order], first[order], cut[order]
        new = np.ones(first.size, np.bool_)
        new[1:] = (situation[1:] != situation[:-1]) | (cut[1:] != cut[:-1])
        of = np.empty(first.size, np.int64)
        of[order] = np.cumsum(new) - 1
        return Stretches(situation[new], first[new], cut[new], of)


@dataclass(frozen=True, slots=True)
class Summary:
    """Numbers of rows and of known values, sum, smallest, largest, first and last value of each stretch.

    Only what a function needs is there. Whole numbers of decimals are counted in their last digit.
    """

    rows: np.ndarray
    known: np.ndarray | None = None
    total: np.ndarray | None = None
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    first: pa.Array | None = None
    last: pa.Array | None = None


def summarise(output: OutputColumn, name: str | None, rows: IntervalRows, stretches: Stretches) -> Summary:
    """What an output needs to know of each stretch."""
    counts = stretches.cut - stretches.first
    if name is None:
        return Summary(counts)
    read, first, cut = _compact(stretches)
    column = rows.take(name, read)
    if output.function in ("FIRST", "LAST"):
        picked = _picked(output.function, column, rows.time[read], first, cut)
        values = column.take(pa.array(picked, mask=counts == 0))
        return Summary(counts, first=values) if output.function == "FIRST" else Summary(counts, last=values)
    valid = np.asarray(column.is_valid()) if column.null_count else np.ones(len(column), np.bool_)
    if output.function == "COUNT":
        running = np.concatenate([[0], np.cumsum(valid)])
        return Summary(counts, known=running[cut] - running[first])
    if output.function in ("MIN", "MAX") and not _is_number(column.type):
        return Summary(counts, first=_extreme(output.function, column, valid, first, cut))
    numbers, _ = as_numbers(
        pa.chunked_array([column]), AggregateColumn(output.name, str(output.function), "", output.path)
    )
    found = running_aggregates(first, cut, numbers, valid)
    if found is None:
        raise too_large(output)
    return Summary(counts, *found)


def _is_number(kind: pa.DataType) -> bool:
    return not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_boolean(kind))


def _extreme(function: str, column: pa.Array, valid: np.ndarray, first: np.ndarray, cut: np.ndarray) -> pa.Array:
    """The smallest or largest of values that are no numbers, by their order codes."""
    codes = order_codes(pa.chunked_array([column]), pa.chunked_array([column]))[0]
    found = running_aggregates(first, cut, codes, valid)
    assert found is not None, "there are fewer codes than would overflow"
    known, _, low, high = found
    present, example = np.unique(codes, return_index=True)
    if not present.size:
        return pa.nulls(first.size, column.type)
    place = np.searchsorted(present, low if function == "MIN" else high)
    return column.take(pa.array(example[np.minimum(place, present.size - 1)], mask=known == 0))


def too_large(output: OutputColumn) -> ExecutionError:
    message = f"{output.name}: a sum of whole numbers does not fit 64 bits"
    return ExecutionError([Problem("TW402", message, "cast the column to a float")])


def _compact(stretches: Stretches) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rows that stretches cover, those with one beginning once, and the stretches as places among them."""
    if not stretches.first.size:
        nothing = np.empty(0, np.int64)
        return nothing, nothing, nothing
    new = np.ones(stretches.first.size, np.bool_)
    new[1:] = stretches.first[1:] != stretches.first[:-1]
    group = np.cumsum(new) - 1
    begins = stretches.first[new]
    last_of_group = np.append(np.flatnonzero(new)[1:], new.size) - 1
    lengths = stretches.cut[last_of_group] - begins
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    read = np.arange(int(offsets[-1])) - np.repeat(offsets[:-1] - begins, lengths)
    first = offsets[:-1][group]
    return read, first, first + (stretches.cut - stretches.first)


def _picked(function: str, column: pa.Array, time: np.ndarray, first: np.ndarray, cut: np.ndarray) -> np.ndarray:
    """The row whose value is the first or last of each stretch. The order of several events of that time has no
    meaning: it is the smallest of their values for the first and the largest for the last, NULL only if all are."""
    filled = cut > first
    row = np.where(filled, first if function == "FIRST" else cut - 1, 0)
    several = np.flatnonzero(cut - first > 1)
    neighbour = first[several] + 1 if function == "FIRST" else cut[several] - 2
    places = several[time[neighbour] == time[row[several]]]
    if not places.size:
        return row
    codes = order_codes(pa.chunked_array([column]), pa.chunked_array([column]))[0]
    codes = np.where(codes < 0, np.iinfo(np.int64).max, codes if function == "FIRST" else -codes)
    for place in _batches(places):
        low, high = first[place], cut[place]
        wanted = time[row[place]]
        # All rows of the stretch that have that time.
        lengths = high - low
        entry = np.repeat(np.arange(place.size), lengths)
        rows = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths - low, lengths)
        same = time[rows] == wanted[entry]
        entry, rows = entry[same], rows[same]
        order = np.lexsort((codes[rows], entry))
        leads = np.ones(order.size, np.bool_)
        leads[1:] = entry[order][1:] != entry[order][:-1]
        row[place] = rows[order][leads]
    return row


def _batches(places: np.ndarray, size: int = 10_000) -> list[np.ndarray]:
    return [places[i : i + size] for i in range(0, places.size, size)]


def write_summary(output: OutputColumn, parts: Summary, kind: pa.DataType | None, of: np.ndarray) -> pa.Array:
    """The column of the result; `kind` is the type of the aggregated column."""
    if output.function == "COUNT":
        return pa.array((parts.rows if parts.known is None else parts.known)[of], pa.int64())
    assert kind is not None
    place = pa.array(of)
    values = parts.last if parts.first is None else parts.first
    if values is not None:
        return values.take(place).cast(kind)
    assert parts.known is not None
    unknown = parts.known == 0
    scale = kind.scale if pa.types.is_decimal(kind) else 0
    if output.function == "AVG":
        assert parts.total is not None
        average = parts.total / np.where(unknown, 1, parts.known) / 10**scale
        return pa.array(average, pa.float64(), mask=unknown).take(place)
    numbers = {"SUM": parts.total, "MIN": parts.low, "MAX": parts.high}[str(output.function)]
    assert numbers is not None
    return _typed(numbers, unknown, situation_aggregate_type(str(output.function), kind), scale).take(place)


def _typed(numbers: np.ndarray, unknown: np.ndarray, kind: pa.DataType, scale: int) -> pa.Array:
    array = pa.array(numbers, mask=unknown)
    if pa.types.is_decimal(kind):
        # Moves the point: whole numbers of the last digit times 10 ** -scale.
        factor = pa.scalar(1, pa.decimal128(1, 0)).cast(pa.decimal128(scale + 1, scale))
        unit = pc.divide(factor, pa.scalar(10**scale, pa.decimal128(scale + 1, 0))) if scale else factor
        return pc.multiply(array.cast(pa.decimal128(19, 0)), unit).cast(kind)
    if pa.types.is_date32(kind):
        array = array.cast(pa.int32())
    return array.cast(kind)
