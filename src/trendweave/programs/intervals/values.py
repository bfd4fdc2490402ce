"""What a match tells of its situations: aggregates of the events that a situation had before a moment, and how those of
earlier and later pieces become one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import ExecutionError, Problem
from trendweave.planning.interval_plan import OutputColumn
from trendweave.programs.intervals.rows import IntervalRows
from trendweave.programs.operators.measured import as_column
from trendweave.programs.operators.windows.aggregates import MovingHere, read_column
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


#: Numbers of rows and of known values, sum, smallest or largest, first and last value of each stretch, by these names:
#: "rows", "known", "total", "extreme", "first", "last". Only what a function needs is there. Sums of decimals are
#: counted in their last digit.
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
    # Windows are not empty; stretches without rows know nothing.
    filled = counts > 0
    places = pa.array(np.cumsum(filled) - 1, mask=~filled)
    edges = WindowEdges(np.zeros(np.count_nonzero(filled), np.int64), first[filled], cut[filled])
    shown = ".".join(output.path or ())
    values = read_column(pa.chunked_array([column]), lambda values: values, shown, MovingHere(edges))
    known = np.zeros(counts.size, np.int64)
    known[filled] = values.known
    if function in ("MIN", "MAX"):
        extremes = values.extreme(function == "MAX", values.known == 0)
        return {"rows": counts, "known": known, "extreme": extremes.take(places)}
    if function == "COUNT":
        return {"rows": counts, "known": known}
    sums = values.sums
    words = sums.words() if sums.parts.dtype == np.int64 else None
    if words is not None and (words[:, 1] != words[:, 0] >> 63).any():
        raise too_large(output)
    total = np.zeros(counts.size, sums.parts.dtype)
    total[filled] = sums.parts[0] if words is None else words[:, 0]
    return {"rows": counts, "known": known, "total": total}


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
    for name in ("first", "last", "extreme"):
        if name in summary:
            return summary[name].take(place).cast(kind)
    unknown = summary["known"] == 0
    if output.function == "AVG":
        scale = kind.scale if pa.types.is_decimal(kind) else 0
        average = summary["total"] / np.where(unknown, 1, summary["known"]) / 10**scale
        return pa.array(average, pa.float64(), mask=unknown).take(place)
    return as_column(summary["total"], situation_aggregate_type("SUM", kind), unknown).take(place)


# What the events of a situation told in earlier pieces, and how it is joined with what later ones tell.


def read_summary(number: int, table: pa.Table) -> Summary:
    """What a state knows for an output, from columns that bear its number."""
    found = {}
    for name in ("rows", "known", "total", "extreme", "first", "last"):
        if f"{name}_{number}" in table.column_names:
            column = table.column(f"{name}_{number}")
            found[name] = column.to_numpy() if name in ("rows", "known", "total") else column.combine_chunks()
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
            case "extreme":
                return _merge_extremes(old, new, str(output.function))
            case "first":
                return pc.if_else(pa.array(earlier["rows"] > 0), old, new)
        return pc.if_else(pa.array(later["rows"] > 0), new, old)

    return {name: merge(name, earlier[name], new) for name, new in later.items()}


def _merge_extremes(old: pa.Array, new: pa.Array, function: str) -> pa.Array:
    """By their order codes: NaN is the largest, and NULL is none."""
    old_codes, new_codes = order_codes(pa.chunked_array([old]), pa.chunked_array([new]))
    takes_old = old_codes <= new_codes if function == "MIN" else old_codes >= new_codes
    takes_old = np.where(old_codes < 0, False, np.where(new_codes < 0, True, takes_old))
    return pc.if_else(pa.array(takes_old), old, new)
