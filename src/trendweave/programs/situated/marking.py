"""Events with a column for each situation that a trend query names: do they lie in one?

Events may come in pieces. What is kept of earlier ones is which conditions hold at their end, and since when.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.kernels.intervals.covered_rows import covered_rows
from trendweave.kernels.intervals.situations import RUNNING, Situations, derive_situations
from trendweave.programs.intervals.program import IntervalMatches
from trendweave.programs.intervals.rows import (
    BITS,
    IntervalRows,
    add_conditions_that_look_back,
    prepare_events,
    sort_partitions,
)
from trendweave.programs.intervals.situations import SituationBuffers, order_situations
from trendweave.programs.program import NO_CARRY, Carry
from trendweave.rows.codes import first_of_each, key_codes
from trendweave.rows.times import has_time


def mark_events(
    bound: IntervalMatches, columns: tuple[str, ...], events: pa.Table, before: Carry = NO_CARRY
) -> pa.Table:
    """All events, those without a time included, with one boolean column per situation.

    Args:
        bound: The program of the situations.
        columns: A name for the column of each situation.
        events: Events in any order.
        before: What `remember_runs` kept of events before all of these.
    """
    place = np.flatnonzero(np.asarray(has_time(events.column(bound.time))))
    timed = events if place.size == events.num_rows else events.take(pa.array(place))
    runs = _Runs.of(bound, timed, before)
    rows, found = runs.rows, runs.find_situations()
    place = place[rows.table_rows(np.arange(rows.time.size))]
    low, high = found.bounds()
    for k, name in enumerate(columns):
        flags = np.zeros(events.num_rows, np.bool_)
        flags[place] = covered_rows(rows.time, rows.starts, found.start, found.end, low[k], high[k])
        events = events.append_column(name, pa.array(flags))
    return events


def remember_runs(bound: IntervalMatches, events: pa.Table, before: Carry = NO_CARRY) -> Carry:
    """What is to be kept of these events, which all have a time; those that come later are not before any of them.

    Returns:
        `partitions`: keys, the runs that go on, and since when. `last`: where conditions look back, the rows of each
        partition's last step. Neither where there is nothing to keep.
    """
    return _Runs.of(bound, events, before).remember()


@dataclass(frozen=True, slots=True)
class _Runs:
    """Partitions are numbered over all that is known: those of earlier events, and those of these.

    `rows` are all events, `sources` those that make situations: of the type that FROM names, or all of them. `sources`
    begin with the last steps of earlier events, which are there to be looked back at: `fresh` tells them apart.
    """

    bound: IntervalMatches
    keys: list[pa.ChunkedArray]
    codes: np.ndarray
    rows: IntervalRows
    sources: IntervalRows
    fresh: np.ndarray
    open_bits: np.ndarray
    open_since: np.ndarray

    @staticmethod
    def of(bound: IntervalMatches, events: pa.Table, before: Carry) -> _Runs:
        plan, names = bound.plan, bound.preparation.keys
        table, _ = prepare_events(plan, bound.preparation, events, bound.time, None)
        partitions, last = before.get("partitions"), before.get("last")
        earlier = [part for part in (partitions, last) if part is not None]
        parts = [part.select(list(names)) for part in (*earlier, table)]
        total = sum(part.num_rows for part in (*earlier, table))
        keys = [
            pa.chunked_array([chunk for part in parts for chunk in part.column(name).chunks], table.field(name).type)
            for name in names
        ]
        codes = key_codes(keys, total)
        count = int(codes.max()) + 1 if total else 0
        known = 0 if partitions is None else partitions.num_rows
        old = 0 if last is None else last.num_rows
        open_bits, open_since = np.zeros(count, np.int64), np.zeros((count, len(plan.situations)), np.int64)
        if partitions is not None:
            open_bits[codes[:known]] = partitions.column(BITS).to_numpy()
            for k in range(len(plan.situations)):
                open_since[codes[:known], k] = partitions.column(f"since_{k}").to_numpy()
        rows = sources = sort_partitions(table, codes[known + old :], count)
        of_type = _of_type(bound, events)
        if old or of_type is not None:
            made = np.arange(table.num_rows) if of_type is None else np.flatnonzero(of_type)
            counted = table if of_type is None else table.take(pa.array(made))
            counted = counted if last is None else pa.concat_tables([last, counted])
            own = np.concatenate([codes[known : known + old], codes[known + old :][made]])
            sources = sort_partitions(counted, own, count)
        sources = add_conditions_that_look_back(bound.preparation, sources)
        fresh = sources.table_rows(np.arange(sources.time.size)) >= old
        return _Runs(bound, keys, codes, rows, sources, fresh, open_bits, open_since)

    def _derive(self) -> tuple[Situations, np.ndarray, np.ndarray]:
        """Situations of any length; and per partition, which runs are open at the end of the rows, and since when."""
        fresh, kinds = self.fresh, len(self.bound.plan.situations)
        starts = np.concatenate([[0], np.cumsum(fresh)])[self.sources.starts]
        # The kernel moves open runs on in place.
        bits, since = self.open_bits.copy(), self.open_since.copy()
        found = derive_situations(self.sources.bits[fresh], self.sources.time[fresh], starts, kinds, bits, since)
        return found, bits, since

    def find_situations(self) -> SituationBuffers:
        """Those of a good length. One that has not ended goes on: it is as long as any AT LEAST asks for."""
        found, _, _ = self._derive()
        ordered = order_situations(found, found.start, len(self.bound.plan.situations), self.open_bits.size)
        length = np.where(ordered.end == RUNNING, RUNNING, ordered.end - ordered.start)
        low = np.array(self.bound.lengths.low)
        high = np.array([RUNNING if most is None else most for most in self.bound.lengths.high])
        return ordered.keep((length >= low[ordered.kind]) & (length <= high[ordered.kind]))

    def remember(self) -> Carry:
        _, bits, since = self._derive()
        running = np.flatnonzero(bits)
        columns: dict[str, Any] = {BITS: bits[running]}
        columns |= {f"since_{k}": since[running, k] for k in range(since.shape[1])}
        example = pa.array(first_of_each(self.codes)[running])
        columns |= {name: key.take(example) for name, key in zip(self.bound.preparation.keys, self.keys, strict=True)}
        partitions = pa.table(columns).combine_chunks() if running.size else None
        parts = {"partitions": partitions, "last": self._last_steps()}
        return {name: part for name, part in parts.items() if part is not None}

    def _last_steps(self) -> pa.Table | None:
        rows = self.sources
        if not self.bound.plan.looks_back or not rows.time.size:
            return None
        partition = np.repeat(np.arange(rows.partitions), np.diff(rows.starts))
        newest = rows.time[np.maximum(rows.starts[1:] - 1, 0)]
        of_last = np.flatnonzero(rows.time == newest[partition])
        return rows.table.take(pa.array(rows.table_rows(of_last))).combine_chunks()


def _of_type(bound: IntervalMatches, events: pa.Table) -> np.ndarray | None:
    """Which rows make situations: events, which have a type, or those of one type where FROM names it. Others may still
    lie in them. None where all rows do."""
    if bound.type is None:
        return None
    column = events.column(bound.type)
    if bound.plan.source is None:
        return np.asarray(pc.is_valid(column)) if column.null_count else None
    return np.asarray(pc.fill_null(pc.equal(column, pa.scalar(bound.plan.source, pa.string())), False))
