"""What a match tells of its situations: aggregates of the events that a situation had before a moment, and how those of
earlier and later pieces become one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import ExecutionError, Problem
from trendweave.planning.interval_plan import OutputColumn
from trendweave.planning.plan import AggregateColumn
from trendweave.programs.intervals.rows import IntervalRows
from trendweave.programs.operators.measured import LEAST, MOST, as_column, codes_of, values_of
from trendweave.programs.operators.sums import count_between, fold_between, sum_between
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


#: Numbers of rows and of known values, sum, smallest, largest, first and last value of each stretch, by these names:
#: "rows", "known", "total", "low", "high", "first", "last". Only what a function needs is there. Whole numbers of
#: decimals are counted in their last digit.
Summary: TypeAlias = dict[str, Any]


def summarise(output: OutputColumn, name: str | None, rows: IntervalRows, stretches: Stretches) -> Summary:
    """What an output needs to know of each stretch."""
    function, counts = output.function, stretches.cut - stretches.first
    if name is None:
        return {"rows": counts}
    read, first, cut = _compact(stretches)
    column = rows.take(name, read)
    if function in ("FIRST", "LAST"):
        picked = _picked(function, column, rows.time[read], first, cut)
        return {"rows": counts, function.lower(): column.take(pa.array(picked, mask=counts == 0))}
    valid = np.asarray(column.is_valid()) if column.null_count else None
    known = counts if valid is None else count_between(valid, first, cut)
    filled = counts > 0
    low, high = first[filled], cut[filled]

    def known_or(values: np.ndarray, otherwise: int) -> np.ndarray:
        return values if valid is None else np.where(valid, values, values.dtype.type(otherwise))

    def fold(what: Literal["least", "most"], codes: np.ndarray) -> np.ndarray:
        found = np.zeros(first.size, np.int64)
        found[filled] = fold_between(what, known_or(codes, MOST if what == "least" else LEAST), low, high)
        return found if valid is None else np.where(known > 0, found, 0)

    if function == "COUNT":
        return {"rows": counts, "known": known}
    if function in ("MIN", "MAX"):
        what: Literal["least", "most"] = "least" if function == "MIN" else "most"
        if not _is_number(column.type):
            return {"rows": counts, "first": _extreme(column, known, lambda codes: fold(what, codes))}
        numbers = _read_numbers(column, output)
        extreme = values_of(fold(what, codes_of(numbers)), numbers.dtype == np.float64)
        return {"rows": counts, "known": known, "low" if function == "MIN" else "high": extreme}
    numbers = _read_numbers(column, output)
    total = np.zeros(first.size, numbers.dtype)
    sums = sum_between(known_or(numbers, 0), low, high)
    if len(sums.parts) == 1:
        total[filled] = sums.parts[0]
    else:
        words = sums.words()
        if (words[:, 1] != words[:, 0] >> 63).any():
            raise too_large(output)
        total[filled] = words[:, 0]
    return {"rows": counts, "known": known, "total": total}


def _read_numbers(column: pa.Array, output: OutputColumn) -> np.ndarray:
    asked = AggregateColumn(output.name, str(output.function), "", output.path)
    return as_numbers(pa.chunked_array([column]), asked)[0]


def _is_number(kind: pa.DataType) -> bool:
    return not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_boolean(kind))


def _extreme(column: pa.Array, known: np.ndarray, fold: Callable[[np.ndarray], np.ndarray]) -> pa.Array:
    """The smallest or largest of values that are no numbers, by their order codes."""
    codes = order_codes(pa.chunked_array([column]), pa.chunked_array([column]))[0]
    present, example = np.unique(codes, return_index=True)
    if not present.size:
        return pa.nulls(known.size, column.type)
    place = np.searchsorted(present, fold(codes))
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
    if output.function == "COUNT":
        return pa.array(summary["known" if "known" in summary else "rows"][of], pa.int64())
    assert kind is not None
    place = pa.array(of)
    for name in ("first", "last"):
        if name in summary:
            return summary[name].take(place).cast(kind)
    unknown = summary["known"] == 0
    if output.function == "AVG":
        scale = kind.scale if pa.types.is_decimal(kind) else 0
        average = summary["total"] / np.where(unknown, 1, summary["known"]) / 10**scale
        return pa.array(average, pa.float64(), mask=unknown).take(place)
    numbers = summary[{"SUM": "total", "MIN": "low", "MAX": "high"}[str(output.function)]]
    return as_column(numbers, situation_aggregate_type(str(output.function), kind), unknown).take(place)


# What the events of a situation told in earlier pieces, and how it is joined with what later ones tell.


def read_summary(number: int, table: pa.Table) -> Summary:
    """What a state knows for an output, from columns that bear its number."""
    found = {}
    for name in ("rows", "known", "total", "low", "high", "first", "last"):
        if f"{name}_{number}" in table.column_names:
            column = table.column(f"{name}_{number}")
            found[name] = column.combine_chunks() if name in ("first", "last") else column.to_numpy()
    return found


def take_summary(summary: Summary, place: np.ndarray) -> Summary:
    """What is known at some places; -1 stands for nothing yet."""

    def take(values: Any) -> Any:
        if isinstance(values, np.ndarray):
            return np.append(values, values.dtype.type(0))[place]
        taken = values.take(pa.array(place, mask=place < 0))
        return taken.combine_chunks() if isinstance(taken, pa.ChunkedArray) else taken

    return {name: take(values) for name, values in summary.items()}


def merge_summaries(earlier: Summary, later: Summary, output: OutputColumn) -> Summary:
    """Of earlier and later rows together, what is known of the later ones."""

    def merge(name: str, old: Any, new: Any) -> Any:
        match name:
            case "rows" | "known":
                return old + new
            case "total":
                with np.errstate(over="ignore"):
                    both = old + new
                if both.dtype != np.float64 and (((old ^ both) & (new ^ both)) < 0).any():
                    raise too_large(output)
                return both
            case "low" | "high":  # NaN is the largest
                both = np.fmin(old, new) if name == "low" else np.maximum(old, new)
                return np.where(earlier["known"] == 0, new, np.where(later["known"] == 0, old, both))
            case "first" if output.function in ("MIN", "MAX"):
                return _merge_extremes(old, new, output.function)
            case "first":
                return pc.if_else(pa.array(earlier["rows"] > 0), old, new)
        return pc.if_else(pa.array(later["rows"] > 0), new, old)

    return {name: merge(name, earlier[name], new) for name, new in later.items()}


def _merge_extremes(old: pa.Array, new: pa.Array, function: str) -> pa.Array:
    """Of values that are no numbers, by their order codes; NULL is none."""
    old_codes, new_codes = order_codes(pa.chunked_array([old]), pa.chunked_array([new]))
    takes_old = old_codes <= new_codes if function == "MIN" else old_codes >= new_codes
    takes_old = np.where(old_codes < 0, False, np.where(new_codes < 0, True, takes_old))
    return pc.if_else(pa.array(takes_old), old, new)
