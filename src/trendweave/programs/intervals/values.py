"""What a match tells of its situations: aggregates of the events that a situation had before a moment, and how those of
earlier and later pieces become one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import ExecutionError, Problem
from trendweave.kernels.sorting import list_ranges
from trendweave.planning.interval_plan import OutputColumn
from trendweave.programs.intervals.situations import IntervalRows
from trendweave.programs.operators.measured import as_column
from trendweave.programs.operators.windows.aggregates import read_column
from trendweave.programs.operators.windows.edges import WindowEdges
from trendweave.results.types import situation_aggregate_type
from trendweave.rows.codes import order_codes


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


#: What an output needs to know of each stretch, NULL for nothing: the numbers of rows and of values, their sum (of
#: decimals in their last digit), the smallest or largest, and the first or last value.
Summary: TypeAlias = dict[str, pa.Array]
_TOLD = ("rows", "known", "total", "extreme", "first", "last")


def summarise(output: OutputColumn, name: str | None, rows: IntervalRows, stretches: Stretches) -> Summary:
    """What an output needs to know of each stretch."""
    function, counts = output.function, stretches.cut - stretches.first
    if name is None:
        return {"rows": pa.array(counts)}
    read, first, cut = _compact(stretches)
    column = rows.take(name, read)
    if function in ("FIRST", "LAST"):
        picked = _picked(function, column, rows.time[read], first, cut)
        return {"rows": pa.array(counts), function.lower(): column.take(pa.array(picked, mask=counts == 0))}
    # Windows are not empty; stretches without rows know nothing.
    filled = counts > 0
    places = pa.array(np.cumsum(filled) - 1, mask=~filled)
    edges = WindowEdges(np.zeros(np.count_nonzero(filled), np.int64), first[filled], cut[filled])
    shown = ".".join(output.path or ())
    values = read_column(pa.chunked_array([column]), None, shown, edges)
    missing, known = values.known == 0, pc.fill_null(pa.array(values.known).take(places), 0)
    if function == "COUNT":
        return {"known": known}
    if function in ("MIN", "MAX"):
        return {"known": known, "extreme": values.extreme(function == "MAX", missing).take(places)}
    total = values.sums.parts[0]
    if total.dtype == np.int64:
        words = values.sums.words()
        if (words[:, 1] != words[:, 0] >> 63).any():
            raise too_large(output)
        total = np.ascontiguousarray(words[:, 0])
    return {"known": known, "total": pa.array(total, mask=missing).take(places)}


def too_large(output: OutputColumn) -> ExecutionError:
    message = f"{output.name}: a sum of whole numbers does not fit 64 bits"
    return ExecutionError([Problem("TW402", message, "cast the column to a float")])


def _compact(stretches: Stretches) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rows that stretches cover, those with one beginning once, and the stretches as places among them."""
    counts = stretches.cut - stretches.first
    longest = np.ones(counts.size, np.bool_)
    longest[:-1] = stretches.first[1:] != stretches.first[:-1]
    begins, lengths = stretches.first[longest], counts[longest]
    offsets = np.cumsum(lengths) - lengths
    read = list_ranges(begins, lengths)
    first = np.repeat(offsets, np.diff(np.flatnonzero(longest), prepend=-1))
    return read, first, first + counts


def _picked(function: str, column: pa.Array, time: np.ndarray, first: np.ndarray, cut: np.ndarray) -> np.ndarray:
    """The row whose value is the first or last of each stretch. The order of several events of that time has no
    meaning: it is the smallest of their values for the first and the largest for the last, NULL only if all are."""
    edge = first if function == "FIRST" else cut - 1
    new = np.ones(time.size, np.bool_)
    new[1:] = time[1:] != time[:-1]
    new[first[cut > first]] = True
    if new.all():
        return edge
    codes = order_codes(pa.chunked_array([column]), pa.chunked_array([column]))[0]
    if function == "FIRST":
        codes[codes < 0] = np.iinfo(np.int64).max
    # Rows of one step by their values; stretches hold whole steps.
    return np.lexsort((codes, np.cumsum(new)))[np.clip(edge, 0, time.size - 1)]


def write_summary(output: OutputColumn, summary: Summary, kind: pa.DataType | None, of: np.ndarray) -> pa.Array:
    """The column of the result; `kind` is the type of the aggregated column."""
    place = pa.array(of)
    if output.function == "COUNT":
        return summary["known" if "known" in summary else "rows"].take(place)
    assert kind is not None
    for name in ("first", "last", "extreme"):
        if name in summary:
            return summary[name].take(place).cast(kind)
    known = summary["known"].take(place)
    total = pc.if_else(pc.greater(known, 0), summary["total"].take(place), None)
    if output.function == "AVG":
        scale = kind.scale if pa.types.is_decimal(kind) else 0
        mean = pc.divide(total.cast(pa.float64(), safe=False), known.cast(pa.float64()))
        return pc.divide(mean, 10.0**scale)
    numbers = pc.fill_null(total, 0).to_numpy(zero_copy_only=False)
    return as_column(numbers, situation_aggregate_type("SUM", kind), np.asarray(total.is_null()))


# What the events of a situation told in earlier pieces, and how it is joined with what later ones tell.


def read_summary(number: int, table: pa.Table) -> Summary:
    """What a state knows for an output, from columns that bear its number."""
    told = {name: f"{name}_{number}" for name in _TOLD}
    return {name: table.column(own).combine_chunks() for name, own in told.items() if own in table.column_names}


def take_summary(summary: Summary, place: np.ndarray) -> Summary:
    """What is known at some places; -1 stands for nothing yet."""
    return {name: values.take(pa.array(place, mask=place < 0)) for name, values in summary.items()}


def merge_summaries(earlier: Summary, later: Summary, output: OutputColumn) -> Summary:
    """Of earlier and later rows together, what is known of the later ones."""

    def merge(name: str, old: pa.Array, new: pa.Array) -> pa.Array:
        if name == "extreme":
            return _merge_extremes(old, new, str(output.function))
        if name in ("first", "last"):
            one, other, counts = (old, new, earlier["rows"]) if name == "first" else (new, old, later["rows"])
            return pc.if_else(pc.greater(pc.fill_null(counts, 0), 0), one, other)
        return pc.coalesce(pc.add_checked(old, new), old, new)

    try:
        return {name: merge(name, earlier[name], new) for name, new in later.items()}
    except pa.ArrowInvalid:
        raise too_large(output) from None


def _merge_extremes(old: pa.Array, new: pa.Array, function: str) -> pa.Array:
    """By their order codes: NaN is the largest, and NULL is none."""
    old_codes, new_codes = order_codes(pa.chunked_array([old]), pa.chunked_array([new]))
    takes_old = old_codes <= new_codes if function == "MIN" else old_codes >= new_codes
    takes_old = np.where(old_codes < 0, False, np.where(new_codes < 0, True, takes_old))
    return pc.if_else(pa.array(takes_old), old, new)
