"""Situations: events as rows by partition and time, with one word of conditions each; what is remembered of earlier
rows; maximal runs of steps that fulfil a condition (thesis, Algorithm 5.1), or situations that the user already has
(FROM INTERVALS); and when each of them counts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.expressions.arrow.evaluate import column_of, evaluate, is_true
from trendweave.kernels.aggregates.blocks import find_first
from trendweave.kernels.intervals import RUNNING
from trendweave.kernels.sorting import list_ranges
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.preparation import IntervalPreparation
from trendweave.programs.program import Carry
from trendweave.rows.codes import first_of_each, key_codes
from trendweave.rows.dropped import Dropped
from trendweave.rows.encoded import CHUNK, TIME
from trendweave.rows.segments import sort_by_key_and_time
from trendweave.rows.times import TimeType, as_steps, has_time, keep_rows_with_time

if TYPE_CHECKING:
    from trendweave.programs.intervals.program import IntervalMatches

BITS = "bits"
#: What is remembered of partitions: keys, open runs and since when they run, a row each; and, where conditions look
#: back, the rows of the last step of each.
PARTITIONS, LAST = "partitions", "last"


@dataclass(frozen=True, slots=True)
class IntervalRows:
    """`order` are rows of the table by (partition, time), None where they are in that order already.

    `bits` and `time` are sorted; `starts[p]:starts[p + 1]` are the sorted rows of partition p.
    """

    table: pa.Table
    order: np.ndarray | None
    time: np.ndarray
    bits: np.ndarray
    starts: np.ndarray

    @property
    def partitions(self) -> int:
        return self.starts.size - 1

    def table_rows(self, rows: np.ndarray) -> np.ndarray:
        return rows if self.order is None else self.order[rows]

    def take(self, name: str, rows: np.ndarray) -> pa.Array:
        """Values of a column in sorted rows."""
        column = self.table.column(name).take(pa.array(self.table_rows(rows)))
        return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column

    def select(self, kept: np.ndarray) -> IntervalRows:
        """Some of the sorted rows."""
        starts = np.concatenate([[0], np.cumsum(kept)])[self.starts]
        order = self.table_rows(np.flatnonzero(kept))
        return IntervalRows(self.table, order, self.time[kept], self.bits[kept], starts)

    def first_of_steps(self) -> np.ndarray | None:
        """The rows that begin a step: rows of one partition with equal times are one. None where each row does."""
        new = np.ones(self.time.size, np.bool_)
        new[1:] = self.time[1:] != self.time[:-1]
        new[self.starts[:-1][np.diff(self.starts) > 0]] = True
        return None if new.all() else np.flatnonzero(new)

    def find_steps(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Which conditions hold in each step, which is in all of its rows; and the rows that begin a step, as
        `first_of_steps` has them."""
        first = self.first_of_steps()
        return self.bits if first is None else np.bitwise_and.reduceat(self.bits, first), first

    def rows_of_last_steps(self) -> pa.Table:
        """The rows of each partition's last step, as the table has them."""
        newest = np.repeat(self.time[self.starts[1:] - 1], np.diff(self.starts)) if self.time.size else self.time
        return self.table.take(pa.array(self.table_rows(np.flatnonzero(self.time == newest)))).combine_chunks()


def sort_partitions(program: IntervalMatches, table: pa.Table, codes: np.ndarray, count: int) -> IntervalRows:
    """Rows of a prepared table by partition, a number below `count` each, and time, with the conditions that need one
    row only, in as few bits as they need."""
    moment = as_steps(table.column(TIME), program.time_type)
    kind = np.min_scalar_type((1 << len(program.plan.situations)) - 1)
    bits = table.column(BITS).to_numpy().astype(kind, copy=False)
    order, starts, moment = sort_by_key_and_time(codes, moment, count)
    if order is not None:
        bits = bits[order]
    return IntervalRows(table, order, moment, bits, starts)


def add_conditions_that_look_back(preparation: IntervalPreparation, rows: IntervalRows) -> IntervalRows:
    """Adds the conditions that compare a row with the step before.

    A step may have several events, and their order has no meaning: the condition holds for a row iff it holds with each
    event of the step before. Without a step before, PREV is NULL.
    """
    if not rows.time.size or all(condition is None for condition in preparation.later):
        return rows
    row, before, lengths = _pairs_with_step_before(rows)
    every = np.arange(rows.time.size)
    here = pa.table({name: rows.take(name, every) for name in preparation.looked_back_at} | {TIME: pa.array(every)})
    previous = pa.array(before, mask=before < 0)
    columns = {name: evaluate(expression, here).take(previous) for name, expression in preparation.back}
    own = here if row.size == every.size else here.take(pa.array(row))
    table = pa.table(columns | {name: own.column(name) for name in own.column_names})
    bits = rows.bits.astype(np.int64)
    first = np.cumsum(lengths) - lengths
    for number, condition in enumerate(preparation.later):
        if condition is not None:
            holds = is_true(condition, table)
            if row.size != every.size:
                holds = np.logical_and.reduceat(holds, first)
            bits |= holds.astype(np.int64) << number
    return replace(rows, bits=bits)


def _pairs_with_step_before(rows: IntervalRows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each row with each row of the step before in its partition, -1 where there is none; and pairs per row."""
    count = rows.time.size
    first = rows.first_of_steps()
    first = np.arange(count) if first is None else first
    sizes = np.diff(np.append(first, count))
    leading = np.isin(first, rows.starts)
    before_first = np.where(leading, -1, np.concatenate([[-1], first[:-1]]))
    before_size = np.where(leading, 1, np.concatenate([[1], sizes[:-1]]))
    lengths = np.repeat(before_size, sizes)
    row = np.repeat(np.arange(count), lengths)
    return row, list_ranges(np.repeat(before_first, sizes), lengths), lengths


@dataclass(frozen=True, slots=True)
class Partitions:
    """Partitions that are remembered, then those that are new.

    Attributes:
        keys: The values of each column that tells partitions apart, by name, one per partition.
        rows: The new rows that make situations, by partition and time.
        sources: The same after the last steps that are remembered, which are looked back at.
        every: All new rows.
        bits: Per partition, which conditions hold.
        since: Since when each of them does.
    """

    keys: dict[str, pa.Array]
    rows: IntervalRows
    sources: IntervalRows
    every: IntervalRows
    bits: np.ndarray
    since: np.ndarray

    def remember(self, used: np.ndarray, looks_back: bool) -> dict[str, pa.Table]:
        """Keys and open runs of partitions that are used, and the rows that conditions may look back at."""
        kept = np.flatnonzero(used)
        columns = {BITS: pa.array(self.bits[kept])}
        columns |= {f"since_{k}": pa.array(self.since[kept, k]) for k in range(self.since.shape[1])}
        columns |= {name: key.take(pa.array(kept)) for name, key in self.keys.items()}
        tables = {PARTITIONS: pa.table(columns)} if kept.size else {}
        if looks_back and self.sources.time.size:
            tables[LAST] = self.sources.rows_of_last_steps()
        return tables


def number_partitions(
    program: IntervalMatches, table: pa.Table, before: Carry, makes: np.ndarray | None = None
) -> Partitions:
    """Bring rows that have become final together with what is remembered of those before them.

    Args:
        program: The query.
        table: Prepared rows.
        before: What is remembered of partitions.
        makes: Which rows make situations; None: all.
    """
    names = [*program.preparation.keys, *((CHUNK,) if CHUNK in table.column_names else ())]
    known, last = before.get(PARTITIONS), before.get(LAST)
    old = 0 if known is None else known.num_rows
    held = 0 if last is None else last.num_rows
    parts = [part for part in (known, last, table) if part is not None]
    columns = [
        pa.chunked_array([chunk for part in parts for chunk in part.column(name).chunks], table.field(name).type)
        for name in names
    ]
    # Numbered by their first rows, so those that are remembered keep their numbers.
    codes = key_codes(columns, old + held + table.num_rows)
    first = first_of_each(codes)
    count = first.size
    keys = {name: column.take(pa.array(first)).combine_chunks() for name, column in zip(names, columns, strict=True)}
    bits, since = np.zeros(count, np.int64), np.zeros((count, len(program.plan.situations)), np.int64)
    if known is not None:
        bits[:old] = known.column(BITS).to_numpy()
        for k in range(since.shape[1]):
            since[:old, k] = known.column(f"since_{k}").to_numpy()
    own = codes[old + held :]
    every = None if makes is None else sort_partitions(program, table, own, count)
    if makes is not None:
        table, own = table.filter(pa.array(makes)), own[makes]
    if last is not None:
        table = pa.concat_tables([last, table])
        own = np.concatenate([codes[old : old + held], own])
    rows = sources = add_conditions_that_look_back(program.preparation, sort_partitions(program, table, own, count))
    if last is not None:
        rows = sources.select(sources.table_rows(np.arange(sources.time.size)) >= held)
    return Partitions(keys, rows, sources, rows if every is None else every, bits, since)


@dataclass(frozen=True, slots=True)
class Lengths:
    """The lengths of a plan in steps of the time column. What is finer than a step is rounded to what it means there:
    a time difference is a whole number of steps."""

    low: tuple[int, ...]
    high: tuple[int | None, ...]
    within: int | None

    @staticmethod
    def of(plan: IntervalPlan, kind: TimeType) -> Lengths:
        return Lengths(
            tuple(-(-(situation.low or 0) // kind.step) for situation in plan.situations),
            tuple(None if situation.high is None else situation.high // kind.step for situation in plan.situations),
            None if plan.within is None else plan.within // kind.step,
        )

    def fit(self, kind: np.ndarray, length: np.ndarray) -> np.ndarray:
        """Which lengths are good ones of their kinds."""
        high = np.array([RUNNING if most is None else most for most in self.high], np.int64)
        return (length >= np.array(self.low, np.int64)[kind]) & (length <= high[kind])


@dataclass(frozen=True, slots=True)
class Situations:
    """Sorted by kind, partition and start.

    Attributes:
        kind: Which situation of the query it is.
        partition: Where it was found.
        start: When it began.
        end: When it ended; RUNNING where it still runs.
        first_row: The first row that it covers.
        end_row: The row that ends it; the end of the partition where it still runs.
        known: Its place among those that a state holds; -1 where it began after them.
        certain: When it is known to have a good length; RUNNING where that is never.
        partitions: How many partitions there are.
        disjoint: Whether those of one kind and partition never overlap; given intervals may.
    """

    kind: np.ndarray
    partition: np.ndarray
    start: np.ndarray
    end: np.ndarray
    first_row: np.ndarray
    end_row: np.ndarray
    known: np.ndarray
    certain: np.ndarray
    partitions: int
    disjoint: bool = True

    @property
    def size(self) -> int:
        return self.kind.size

    def take(self, places: np.ndarray) -> Situations:
        """Some of them, by places or by a mask."""
        return replace(self, **{name: getattr(self, name)[places] for name in _COLUMNS})

    def join(self, others: Situations) -> Situations:
        """These and others of the same partitions, sorted."""
        both: dict[str, Any] = {name: np.concatenate([getattr(self, name), getattr(others, name)]) for name in _COLUMNS}
        order = np.lexsort((both["start"], both["partition"], both["kind"]))
        return replace(self, **{name: column[order] for name, column in both.items()})

    def bounds(self, kinds: int) -> tuple[np.ndarray, np.ndarray]:
        """`low[k, p]` and `high[k, p]`: the situations of kind k and partition p."""
        numbers = np.arange(kinds * self.partitions + 1)
        edges = np.searchsorted(self.kind * self.partitions + self.partition, numbers)
        return edges[:-1].reshape(kinds, self.partitions), edges[1:].reshape(kinds, self.partitions)


_COLUMNS = ("kind", "partition", "start", "end", "first_row", "end_row", "known", "certain")


def derive_situations(
    rows: IntervalRows, bits: np.ndarray, since: np.ndarray, places: np.ndarray | None = None
) -> Situations:
    """Situations of all conditions and any length, each certain as soon as it has begun.

    Args:
        rows: Rows by partition and time. Bit k of a row's word says whether it fulfils condition k; a step does iff all
            of its rows do.
        bits: Which conditions held at the last step of each partition before these rows; moved on to their last step.
        since: Since when each of them does; moved on as well.
        places: The places of the situations that ran then, by partition and kind, among those that a state holds.
    """
    word, of_step = rows.find_steps()
    starts = rows.starts if of_step is None else np.searchsorted(of_step, rows.starts)
    filled = np.flatnonzero(starts[1:] > starts[:-1])
    change = word.copy()
    change[1:] ^= word[:-1]
    change[starts[filled]] = word[starts[filled]] ^ bits[filled].astype(word.dtype)
    at = np.flatnonzero(change != 0)
    partition = np.repeat(np.arange(rows.partitions), np.diff(np.searchsorted(at, starts)))
    row = at if of_step is None else of_step[at]
    change, now, moment = change[at], word[at], rows.time[row]
    before = bits.copy()
    bits[filled] = word[starts[filled + 1] - 1]
    columns = list[Any]()
    for k in range(since.shape[1]):
        bit = now.dtype.type(1 << k)
        own = np.flatnonzero((change & bit) != 0)
        begins = (now[own] & bit) != 0
        on, off = own[begins], own[~begins]
        # Within a partition beginnings and ends alternate: the n-th beginning belongs to the n-th end.
        went, goes = np.flatnonzero(before >> k & 1), np.flatnonzero(bits >> k & 1)
        first, last = np.searchsorted(partition[on], went), np.searchsorted(partition[off], goes, side="right")
        of = np.insert(partition[on], first, went)
        start = np.insert(moment[on], first, since[went, k])
        first_row = np.insert(row[on], first, rows.starts[went])
        known = np.insert(np.full(on.size, -1), first, -1 if places is None else places[went, k])
        end = np.insert(moment[off], last, RUNNING)
        end_row = np.insert(row[off], last, rows.starts[goes + 1])
        since[goes, k] = start[end == RUNNING]
        columns.append((np.full(of.size, k), of, start, end, first_row, end_row, known, start))
    named: dict[str, Any] = dict(zip(_COLUMNS, map(np.concatenate, zip(*columns, strict=True)), strict=True))
    return Situations(**named, partitions=rows.partitions)


def find_certain_times(
    program: IntervalMatches, found: Situations, times: np.ndarray, first: np.ndarray, last: np.ndarray
) -> Situations:
    """Situations with the moments at which they are known to have a good length.

    Args:
        program: The query.
        found: The situations.
        times: The moments at which time passes.
        first: Per situation, the first of them that it sees.
        last: Up to but without this one.
    """
    plan, lengths = program.plan, program.lengths
    kind, start, end = found.kind, found.start, found.end
    certain = end.copy() if plan.at_end else start.copy()
    for k, situation in enumerate(plan.situations):
        if lengths.high[k] is not None:
            certain[kind == k] = end[kind == k]
        elif situation.low is not None and not plan.at_end:
            own = np.flatnonzero(kind == k)
            row = find_first(times, first[own], last[own], start[own] + lengths.low[k])
            reached = row < last[own]
            certain[own] = RUNNING
            certain[own[reached]] = times[row[reached]]
    certain[(end != RUNNING) & ~lengths.fit(kind, end - start)] = RUNNING
    return replace(found, certain=certain)


END = "end"
KIND = "kind"


def prepare_given(program: IntervalMatches, given: pa.Table) -> tuple[pa.Table, Dropped]:
    """Intervals that the pattern can use. Rows without a start or a name, and those that end before they begin, are
    dropped and counted; without an end, they run."""
    columns, rows = program.plan.intervals, given.num_rows
    assert columns is not None
    given, null_time = keep_rows_with_time(given, columns.start)
    null_name = given.column(columns.name).null_count
    known = pa.array(program.plan.names, pa.string())
    names = pc.index_in(pc.cast(given.column(columns.name), pa.string()), value_set=known)
    kind = pc.fill_null(names, -1).to_numpy().astype(np.int64)
    for number, condition in enumerate(program.preparation.now):
        if condition is not None:
            kind[(kind == number) & ~is_true(condition, given)] = -1
    kept = kind >= 0
    other = rows - null_time - null_name - int(np.count_nonzero(kept))
    given, kind = given.filter(pa.array(kept)), kind[kept]
    prepared = {
        TIME: given.column(columns.start).cast(program.moment),
        END: given.column(columns.end).cast(program.moment),
        KIND: pa.array(kind),
    }
    prepared |= {name: column_of(given, path) for name, path in program.preparation.columns}
    table = pa.table(prepared)
    ends = table.column(END)
    backwards = pc.fill_null(pc.less_equal(ends, table.column(TIME)), False)
    wrong = pc.sum(backwards).as_py() or 0
    if wrong:
        table = table.filter(pc.invert(backwards))
    return table, Dropped(rows, null_time + wrong, null_name, other)


def find_given_situations(program: IntervalMatches, table: pa.Table) -> tuple[IntervalRows, Situations]:
    """The rows, by partition, and the situations that they are."""
    start, has_end = as_steps(table.column(TIME), program.time_type), has_time(table.column(END))
    end = np.full(start.size, RUNNING)
    end[np.asarray(has_end)] = as_steps(table.column(END).filter(has_end), program.time_type)
    kind = table.column(KIND).to_numpy()
    codes = key_codes([table.column(name) for name in program.preparation.keys], start.size)
    partitions = int(codes.max()) + 1 if codes.size else 0
    order = np.lexsort((end, start, kind, codes))
    kind, codes, start, end = kind[order], codes[order], start[order], end[order]
    starts = np.searchsorted(codes, np.arange(partitions + 1))
    rows = IntervalRows(table, order, start, np.zeros(order.size, np.int64), starts)
    # Time passes with the starts and ends of a partition's intervals.
    ended = end != RUNNING
    moments, of = np.concatenate([start, end[ended]]), np.concatenate([codes, codes[ended]])
    passing = np.lexsort((moments, of))
    edges = np.searchsorted(of[passing], np.arange(partitions + 1))
    place = np.arange(order.size)
    found = Situations(kind, codes, start, end, place, place + 1, place, start, partitions)
    found = find_certain_times(program, found, moments[passing], edges[codes], edges[codes + 1])
    found = found.take(np.argsort(kind, kind="stable"))
    same = (found.kind[1:] == found.kind[:-1]) & (found.partition[1:] == found.partition[:-1])
    return rows, replace(found, disjoint=not (same & (found.start[1:] < found.end[:-1])).any())
