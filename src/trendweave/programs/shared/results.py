"""Results of members as rows of the workload: with the names of queries, and with the columns of all.

A query that came later sees no events of before, and gives rows only for what begins after it came. Most kinds of
queries need no more than not to see earlier events: a trend or a session then begins with an event that was seen.
Windows that are counted from time 0, and those that move with the stream, would begin too early: their rows are left
out.

Parts of many results are rows of one kind: where they meet, and an Arrow table as bytes. All members that are merged by
the same values meet by slot: the merger and a hash of those values. So a place that brings parts together needs to know
nothing about queries, and moves few, large rows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.outputs import window_names
from trendweave.planning.plan import MovingWindow, SlidingWindow
from trendweave.planning.situated_plan import QueryPlan, SituatedPlan
from trendweave.programs.program import TRENDS, PartialResults, Scope
from trendweave.programs.shared.unit import MEMBER, Given
from trendweave.results.types import ResultColumn, result_schema
from trendweave.results.united_columns import QUERY, Notes, widen
from trendweave.rows.arrow_bytes import as_stream, from_stream
from trendweave.rows.hashing import hash_rows
from trendweave.rows.times import TimeType, as_steps, moving_reach

if TYPE_CHECKING:
    from trendweave.programs.shared.program import Shared

SLOT, PAYLOAD = "slot", "payload"
SCHEMA = pa.schema([(SLOT, pa.int32()), ("member", pa.int32()), (PAYLOAD, pa.large_binary()), ("filter", pa.string())])
#: Into how many slots the parts of a merger are cut, so that several tasks can merge them.
_SLOTS = 32
#: In place of a member: parts that are to be merged, and final rows of several members.
_TO_MERGE, _MIXED = -1, -2


@dataclass(frozen=True)
class NamedRows:
    """Writes rows of members. A member that stands for several names has its rows written for each."""

    columns: tuple[ResultColumn, ...]
    names: tuple[tuple[str, ...], ...]
    notes: Notes = field(default_factory=dict)

    @cached_property
    def schema(self) -> pa.Schema:
        return result_schema(self.columns)

    def write(self, found: Given) -> Iterator[pa.RecordBatch]:
        """Batches with the columns of the workload; a hidden column of counts stays the last."""
        if found.member is not None:
            for name in self.names[found.member]:
                for batch in found.table.to_batches():
                    yield self._widen(batch, pa.repeat(pa.scalar(name, pa.string()), batch.num_rows))
            return
        for batch in found.table.to_batches():
            numbers = batch.column(MEMBER).to_numpy(zero_copy_only=False)
            rest = batch.drop_columns([MEMBER])
            yield self._widen(rest, self._first_names.take(pa.array(numbers)))
            for number in self._of_several[np.isin(self._of_several, numbers)]:
                own = rest.filter(pa.array(numbers == number))
                yield from self._repeat(own, self.names[number][1:])

    @cached_property
    def _first_names(self) -> pa.Array:
        return pa.array([names[0] for names in self.names], pa.string())

    @cached_property
    def _of_several(self) -> np.ndarray:
        """Members that stand for several names."""
        return np.flatnonzero([len(names) > 1 for names in self.names])

    def _repeat(self, batch: pa.RecordBatch, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for name in names:
            yield self._widen(batch, pa.repeat(pa.scalar(name, pa.string()), batch.num_rows))

    def _widen(self, batch: pa.RecordBatch, names: pa.Array) -> pa.RecordBatch:
        counted = batch.column(TRENDS) if TRENDS in batch.schema.names else None
        wide = widen(batch, names, self.columns, self.notes)
        return wide if counted is None else wide.append_column(TRENDS, counted)


@dataclass(frozen=True, slots=True)
class Beginning:
    """Result rows count from a value of a column on, in steps of the time column."""

    column: str
    first: int
    kind: TimeType


def find_beginning(plan: QueryPlan, kind: TimeType, since: int | None) -> Beginning | None:
    """Which result rows of a query that came at a time are left out.

    Args:
        plan: The plan of the query.
        kind: How the time column counts.
        since: When it came, in steps; None: it was there from the beginning.

    Returns:
        What rows count; None for all that it finds.
    """
    if since is None:
        return None
    if isinstance(plan, IntervalPlan):
        # Matches are counted per window, or begin with an event.
        return Beginning("window_start", since, kind) if plan.returns == "counts" and plan.every is not None else None
    window = plan.trend.window if isinstance(plan, SituatedPlan) else plan.window
    match window:
        case SlidingWindow():
            return Beginning(window_names(window)[0], since, kind)
        case MovingWindow(by="time"):
            reach, exact = moving_reach(window, kind)
            return Beginning(window_names(window)[0], since + reach + (not exact), kind)
    return None


@dataclass(frozen=True)
class RowFilter:
    """Rows that count: of some queries (None: of all), and of some from a value of a column on."""

    names: frozenset[str] | None
    begins: Mapping[str, Beginning]

    @staticmethod
    def read(find_begin: Callable[[str, int], Beginning | None], text: str) -> RowFilter:
        """What `write` wrote; rows of a query that came at a time count as `find_begin` says."""
        names, came = json.loads(text)
        begins = {name: find_begin(name, since) for name, since in came.items()}
        known = {name: begin for name, begin in begins.items() if begin is not None}
        return RowFilter(None if names is None else frozenset(names), known)

    @staticmethod
    def write(names: Iterable[str] | None, came: Mapping[str, int]) -> str:
        """A text for rows of these queries (None: of all), some of which came at a time."""
        return json.dumps([None if names is None else sorted(names), dict(came)])

    def keep(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Batches of rows of the workload, without those that do not count."""
        for batch in batches:
            kept = np.ones(batch.num_rows, np.bool_)
            queries = batch.column(QUERY)
            for name in pc.unique(queries).to_pylist():
                own = np.asarray(pc.equal(queries, name))
                if self.names is not None and name not in self.names:
                    kept &= ~own
                elif name in self.begins:
                    kept[own] = self._begins_in_time(batch.filter(pa.array(own)), self.begins[name])
            yield batch if kept.all() else batch.filter(pa.array(kept))

    def _begins_in_time(self, batch: pa.RecordBatch, begin: Beginning) -> np.ndarray:
        return as_steps(pa.chunked_array([batch.column(begin.column)]), begin.kind) >= begin.first


@dataclass(frozen=True)
class SharedParts:
    """Parts of all units of a workload."""

    program: Shared

    def write(self, unit: int, given: Iterable[Given], row_filter: str | None = None) -> pa.Table:
        """Parts of a unit as rows; a filter leaves out rows when they are merged."""
        found: list[tuple[int, int, bytes]] = []
        for part in given:
            if part.merger is not None and part.table.num_rows:
                found += [
                    (slot, _TO_MERGE, as_stream(table)) for slot, table in self._cut(unit, part.merger, part.table)
                ]
            elif part.table.num_rows:
                member = _MIXED if part.member is None else part.member
                found.append((self._slot(unit, 0, len(found) % _SLOTS), member, as_stream(part.table)))
        slots, members, payloads = zip(*found, strict=True) if found else ((), (), ())
        return pa.table([slots, members, payloads, [row_filter] * len(found)], schema=SCHEMA)

    @cached_property
    def _mergers(self) -> list[tuple[PartialResults | None, ...]]:
        return [unit.mergers() for unit in self.program.units]

    @cached_property
    def _mergers_before(self) -> list[int]:
        """How many mergers the units before each have."""
        return list(accumulate(map(len, self._mergers), initial=0))

    def _slot(self, unit: int, merger: int, place: int) -> int:
        return (self._mergers_before[unit] + merger) * _SLOTS + place

    def _cut(self, number: int, merger: int, table: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        merges = self._mergers[number][merger]
        assert merges is not None, "final rows say whose they are"
        if not merges.together:
            yield self._slot(number, merger, 0), table
            return
        columns = [table.column(name) for name in merges.together]
        places = (hash_rows(columns, table.num_rows) % np.uint64(_SLOTS)).astype(np.int64)
        for place in np.unique(places):
            yield self._slot(number, merger, int(place)), table.filter(pa.array(places == place))

    def merge(self, parts: pa.Table, scope: Scope) -> pa.Table:
        batches: list[pa.RecordBatch] = []
        to_merge: dict[tuple[int, int, str | None], list[pa.Table]] = {}
        owners = [(unit, merger) for unit, mergers in enumerate(self._mergers) for merger in range(len(mergers))]
        columns = (parts.column(name).to_pylist() for name in SCHEMA.names)
        for slot, member, payload, row_filter in zip(*columns, strict=True):
            table = from_stream(payload)
            if member == _TO_MERGE:
                to_merge.setdefault((*owners[slot // _SLOTS], row_filter), []).append(table)
            else:
                batches += self.program.write_rows([Given(table, None if member == _MIXED else member)], row_filter)
        for (unit, merger, row_filter), pieces in to_merge.items():
            with self.program.telling(unit):
                merged = self.program.units[unit].merge(merger, pa.concat_tables(pieces), scope)
                batches += self.program.write_rows([merged], row_filter)
        return pa.Table.from_batches(batches) if batches else self.program.schema.empty_table()
