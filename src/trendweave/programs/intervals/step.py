"""One step of an interval query that runs piece by piece: a state and rows that have become final in, results and the
next state out.

A match that becomes certain in a piece has at least one situation that was still running when the piece began or that
began in it: those are joined with all others, each combination once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from trendweave.kernels.intervals.situations import RUNNING, derive_situations, rows_reaching
from trendweave.programs.intervals.carried_values import as_columns, from_columns, joined, taken
from trendweave.programs.intervals.matching import FoundMatches, Matcher
from trendweave.programs.intervals.rows import BITS, IntervalRows, rows_of_partitions, with_conditions_that_look_back
from trendweave.programs.intervals.situations import SituationBuffers, certain_since
from trendweave.programs.intervals.values import Stretches, Told, told, written
from trendweave.programs.program import Carry
from trendweave.results.interval_table import IntervalResults, count_ranges
from trendweave.results.types import column_type
from trendweave.rows.codes import key_codes

if TYPE_CHECKING:
    from trendweave.programs.intervals.program import IntervalMatches


@dataclass(frozen=True, slots=True)
class Remembered:
    """`partitions` holds keys, open runs and since when they run; `situations` those that a later match can have, with
    what their events told so far; `last` the rows of each partition's last step, where conditions look back; `counts`
    the matches of windows that are still open.

    Everything but one row per partition is bounded by the window.
    """

    last: pa.Table | None = None
    partitions: pa.Table | None = None
    situations: pa.Table | None = None
    counts: pa.Table | None = None

    def to_carry(self) -> Carry:
        """Without what is empty and need not be told."""
        parts = {name: getattr(self, name) for name in self.__slots__}
        return {name: part for name, part in parts.items() if part is not None and part.num_rows}

    @staticmethod
    def from_carry(carry: Carry) -> Remembered:
        return Remembered(**carry)


@dataclass(frozen=True, slots=True)
class _Partitions:
    """Partitions of the state, then those that are new. Rows are sorted by (partition, time)."""

    keys: list[pa.Array]
    rows: IntervalRows
    bits: np.ndarray
    since: np.ndarray
    count: int


class IntervalPiece:
    """One step of the stream, from what is remembered and the rows that have become final to results and what is to be
    remembered. `before` is the watermark up to which earlier steps have gone."""

    def __init__(self, bound: IntervalMatches, state: Remembered, before: int | None, watermark: int | None) -> None:
        self.bound, self.plan, self.state, self.watermark = bound, bound.plan, state, watermark
        self.lengths = self.bound.lengths
        self.begin = -RUNNING if before is None else before
        self.kinds = len(self.plan.situations)

    def run(self, ready: pa.Table) -> tuple[pa.Table, Remembered]:
        """Result rows, and what is remembered of these rows and all before them."""
        self.partitions = self._partitions(ready)
        self.situations, self.known = self._situations()
        self.parts = {number: self._parts(number) for number in self._aggregates()}
        self.results = IntervalResults(
            self.plan, self.bound.schema, self.bound.time_type, self.partitions.keys, self.partitions.count
        )
        result, counts = self._result()
        return result, self._next_state(counts)

    def _aggregates(self) -> Iterator[int]:
        for number, output in enumerate(self.plan.outputs):
            if output.function not in (None, "DURATION") and output.situation is not None:
                yield number

    # Rows

    def _partitions(self, ready: pa.Table) -> _Partitions:
        state, names = self.state, self.bound.preparation.keys
        old = 0 if state.partitions is None else state.partitions.num_rows
        ready = ready if state.last is None else pa.concat_tables([state.last, ready])
        columns = []
        for name in names:
            known = [] if state.partitions is None else state.partitions.column(name).chunks
            columns.append(pa.chunked_array([*known, *ready.column(name).chunks], ready.schema.field(name).type))
        codes = self._numbered(key_codes(columns, old + ready.num_rows), old)
        count = max(int(codes.max()) + 1 if codes.size else 0, old)
        example = np.zeros(count, np.int64)
        example[codes[::-1]] = np.arange(codes.size)[::-1]
        keys = [_one(column.take(pa.array(example))) for column in columns]
        rows = self._sorted(ready, codes[old:], count)
        bits, since = np.zeros(count, np.int64), np.zeros((count, self.kinds), np.int64)
        if state.partitions is not None:
            bits[:old] = state.partitions.column(BITS).to_numpy()
            for k in range(self.kinds):
                since[:old, k] = state.partitions.column(f"since_{k}").to_numpy()
        return _Partitions(keys, rows, bits, since, count)

    @staticmethod
    def _numbered(codes: np.ndarray, old: int) -> np.ndarray:
        """Partitions of the state keep their numbers; new ones follow."""
        if not codes.size:
            return codes
        numbers = np.full(int(codes.max()) + 1, -1, np.int64)
        numbers[codes[:old]] = np.arange(old)
        new = np.flatnonzero(numbers < 0)
        numbers[new] = old + np.arange(new.size)
        return numbers[codes]

    def _sorted(self, ready: pa.Table, codes: np.ndarray, count: int) -> IntervalRows:
        rows = rows_of_partitions(ready, codes, count)
        if not self.plan.looks_back:
            return rows
        rows = with_conditions_that_look_back(self.bound.preparation, rows)
        # The last steps of earlier pieces were there to be looked back at.
        fresh = rows.time >= self.begin
        order = rows.table_rows(np.flatnonzero(fresh))
        starts = np.concatenate([[0], np.cumsum(fresh)])[rows.starts]
        return IntervalRows(ready, order, rows.kind, rows.time[fresh], rows.bits[fresh], starts)

    # Situations

    def _situations(self) -> tuple[SituationBuffers, np.ndarray]:
        """Situations of the state and of the rows, in order, and the place in the state of those that have one."""
        partitions, old = self.partitions, self.state.situations
        rows = partitions.rows
        found = derive_situations(rows.bits, rows.time, rows.starts, self.kinds, partitions.bits, partitions.since)
        certain = certain_since(self.plan, found, rows.time, self.lengths)
        place = np.full(found.kind.size, -1, np.int64)
        if old is not None and old.num_rows:
            ended = {name: old.column(name).to_numpy() for name in ("kind", "partition", "start", "end", "certain")}
            running = np.flatnonzero(ended["end"] == RUNNING)
            at = np.full((partitions.count, self.kinds), -1, np.int64)
            at[ended["partition"][running], ended["kind"][running]] = running
            place = np.where(found.carried, at[found.partition, found.kind], -1)
            certain = self._still_certain(found, certain, place, ended["certain"])
            kept = np.flatnonzero(ended["end"] != RUNNING)
            low = rows.starts[ended["partition"][kept]]
            columns = [
                np.concatenate([ended[name][kept], getattr(found, name)])
                for name in ("kind", "partition", "start", "end")
            ]
            certain = np.concatenate([ended["certain"][kept], certain])
            first, last = np.concatenate([low, found.first_row]), np.concatenate([low, found.end_row])
            carried = np.concatenate([np.ones(kept.size, np.bool_), found.carried])
            place = np.concatenate([kept, place])
        else:
            columns = [found.kind, found.partition, found.start, found.end]
            first, last, carried = found.first_row, found.end_row, found.carried
        order = np.lexsort((columns[2], columns[1], columns[0]))
        kind = columns[0][order]
        buffers = SituationBuffers(
            kind, columns[1][order], columns[2][order], columns[3][order], certain[order], first[order], last[order],
            carried[order], np.searchsorted(kind, np.arange(self.kinds + 1)), partitions.count,
        )  # fmt: skip
        return buffers, place[order]

    def _still_certain(self, found: Any, certain: np.ndarray, place: np.ndarray, before: np.ndarray) -> np.ndarray:
        """A situation that was long enough in an earlier piece stays so."""
        known = place >= 0
        earlier = np.where(known, before[np.where(known, place, 0)], RUNNING)
        until_end = np.array([high is not None or self.plan.at_end for high in self.lengths.high])[found.kind]
        return np.where(known & (earlier != RUNNING) & ~until_end, earlier, certain)

    def _parts(self, number: int) -> Told:
        """What the state knows of each situation."""
        if self.state.situations is None:
            output = self.plan.outputs[number]
            name = self.bound.preparation.values[number]
            nothing = np.zeros(self.situations.size, np.int64)
            empty = Stretches(nothing, nothing, nothing, nothing)
            return told(output, name, self.partitions.rows, empty)
        return from_columns(number, self.state.situations, self.known)

    # Results

    def _result(self) -> tuple[pa.Table, pa.Table | None]:
        """Rows, and the counts of windows that are still open."""
        ready = self.situations.certain != RUNNING
        if self.plan.returns == "situations":
            ended = (self.situations.end >= self.begin) & (self.situations.end != RUNNING)
            still = (self.situations.end == RUNNING) if self.watermark is None else False
            return self.results.situations(self.situations.kept(ready & (ended | still))), None
        places = np.flatnonzero(ready)
        usable = self.situations.kept(ready)
        found = self._matches(usable)
        if self.plan.returns == "counts":
            return self._counted(usable, found)
        found = order_by_time(usable, found)
        values = {}
        for number, parts in self.parts.items():
            output = self.plan.outputs[number]
            assert output.situation is not None
            own = FoundMatches(places[found.situation], found.moment)
            stretches = self._seen_before(own.situation[:, output.situation], own.moment)
            fresh = told(output, self.bound.preparation.values[number], self.partitions.rows, stretches)
            both = joined(taken(parts, stretches.situation), fresh, output)
            kind = None if output.path is None else column_type(self.bound.events, output.path)
            values[number] = written(output, both, kind, stretches.of)
        return self.results.matches(usable, found, values), None

    def _seen_before(self, place: np.ndarray, moment: np.ndarray) -> Stretches:
        first, last = self.situations.first_row[place], self.situations.end_row[place]
        return Stretches.distinct(place, first, rows_reaching(self.partitions.rows.time, moment, first, last))

    def _matches(self, usable: SituationBuffers) -> FoundMatches:
        """Combinations with at least one situation that this piece has seen run: kind by kind, those before it only
        among those that had ended, those after it among all."""
        low, high = usable.bounds()
        middle = high.copy()
        for k in range(self.kinds):
            ends = usable.end[usable.offsets[k] : usable.offsets[k + 1]]
            old = np.concatenate([[0], np.cumsum(ends < self.begin)])
            offset = usable.offsets[k]
            middle[k] = low[k] + old[high[k] - offset] - old[low[k] - offset]
        matcher = Matcher(self.plan, self.lengths.within)
        # Only an event of its own partition makes a match certain.
        has_events = np.diff(self.partitions.rows.starts) > 0
        parts = []
        for k in range(self.kinds):
            first, last = low.copy(), high.copy()
            first[k] = middle[k]
            last[:k] = middle[:k]
            used = np.flatnonzero((last > first).all(axis=0) & has_events)
            if used.size:
                bounds = np.ascontiguousarray(first[:, used]), np.ascontiguousarray(last[:, used])
                matcher.statistics = None
                parts.append(matcher.join(usable, *bounds))
        found = FoundMatches.joined([part for part in parts if part.moment.size], self.kinds)
        return found.kept(found.moment >= self.begin)

    def _counted(self, usable: SituationBuffers, found: FoundMatches) -> tuple[pa.Table, pa.Table]:
        """Adds to the open windows; those that the watermark has passed come out, the others stay."""
        first = usable.start[found.situation].min(axis=1) if found.moment.size else found.moment
        partition = usable.partition[found.situation[:, 0]]
        paths = [output.path for output in self.plan.outputs if output.function is None]
        group = key_codes(
            [pa.chunked_array([self._key(path)]) for path in paths if path is not None], self.partitions.count
        )
        windows, groups, numbers = count_ranges(*self.results.window_range(first, found.moment), group[partition])
        example = np.zeros(int(group.max()) + 1 if group.size else 1, np.int64)
        example[group[::-1]] = np.arange(group.size)[::-1]
        columns = {"window": pa.array(windows), "count": pa.array(numbers)}
        for place, path in enumerate(path for path in paths if path is not None):
            columns[f"key_{place}"] = self._key(path).take(pa.array(example[groups]))
        table = pa.table(columns)
        if self.state.counts is not None:
            table = _summed(pa.concat_tables([self.state.counts, table]))
        within, every = self.results.window_lengths()
        ends = table.column("window").to_numpy() * every + within
        closed = np.ones(ends.size, np.bool_) if self.watermark is None else ends <= self.watermark
        still_open = table.filter(pa.array(~closed)).combine_chunks()
        return self._count_rows(table.filter(pa.array(closed))), still_open

    def _count_rows(self, table: pa.Table) -> pa.Table:
        within, every = self.results.window_lengths()
        start = table.column("window").to_numpy() * every
        columns = [self.results.times(start), self.results.times(start + within)]
        keys = iter(name for name in table.column_names if name.startswith("key_"))
        for output in self.plan.outputs:
            columns.append(_one(table.column("count" if output.function else next(keys))))
        return self.results.table(columns)

    def _key(self, path: tuple[str, ...]) -> pa.Array:
        return self.partitions.keys[self.plan.partition_by.index(path)]

    # The next state

    def _next_state(self, counts: pa.Table | None) -> Remembered:
        situations, watermark = self.situations, self.watermark
        keep = situations.end == RUNNING
        if self.lengths.within is not None and watermark is not None:
            length = situations.end - situations.start
            low, high = np.array(self.lengths.low), [RUNNING if one is None else one for one in self.lengths.high]
            good = keep | ((length >= low[situations.kind]) & (length <= np.array(high)[situations.kind]))
            keep = good & (situations.start >= watermark - self.lengths.within)
        place = np.flatnonzero(keep)
        used = np.zeros(self.partitions.count, np.bool_)
        used[situations.partition[place]] = True
        used |= self.partitions.bits != 0
        last, of_last = self._last_steps()
        used[of_last] = True
        number = np.cumsum(used) - 1
        columns: dict[str, Any] = {
            name: getattr(situations, name)[place] for name in ("kind", "start", "end", "certain")
        }
        columns["partition"] = number[situations.partition[place]]
        for output, parts in self.parts.items():
            columns |= as_columns(output, self._until_now(output, parts, place))
        kept = np.flatnonzero(used)
        partitions = {BITS: self.partitions.bits[kept]}
        partitions |= {f"since_{k}": self.partitions.since[kept, k] for k in range(self.kinds)}
        keys = zip(self.bound.preparation.keys, self.partitions.keys, strict=True)
        partitions |= {name: key.take(pa.array(kept)) for name, key in keys}
        return Remembered(last, pa.table(partitions), pa.table(columns), counts)

    def _until_now(self, number: int, parts: Told, place: np.ndarray) -> Told:
        """All that the events of the kept situations have told; of kinds that an output is not about, nothing."""
        output = self.plan.outputs[number]
        own = self.situations.kind[place] == output.situation
        asked = place[own]
        if not asked.size:
            return taken(parts, place)
        first, last = self.situations.first_row[asked], self.situations.end_row[asked]
        stretches = Stretches(asked, first, last, np.arange(asked.size))
        fresh = told(output, self.bound.preparation.values[number], self.partitions.rows, stretches)
        return joined(taken(parts, place), taken(fresh, np.where(own, np.cumsum(own) - 1, 0)), output)

    def _last_steps(self) -> tuple[pa.Table | None, np.ndarray]:
        """The rows of each partition's last step, where conditions look back, and their partitions."""
        if not self.plan.looks_back:
            return None, np.empty(0, np.int64)
        rows = self.partitions.rows
        partition = np.repeat(np.arange(self.partitions.count), np.diff(rows.starts))
        has_rows = np.diff(rows.starts) > 0
        newest = np.where(has_rows, rows.time[np.maximum(rows.starts[1:] - 1, 0)] if rows.time.size else 0, 0)
        of_last = rows.time == newest[partition]
        table = rows.table.take(pa.array(rows.table_rows(np.flatnonzero(of_last))))
        members = partition[of_last]
        if self.state.last is not None:
            # Partitions without a new step keep the old one.
            old = self._old_last_partitions()
            silent = ~has_rows[old]
            table = pa.concat_tables([self.state.last.filter(pa.array(silent)), table])
            members = np.concatenate([old[silent], members])
        return table.combine_chunks(), members

    def _old_last_partitions(self) -> np.ndarray:
        assert self.state.last is not None
        names = self.bound.preparation.keys
        known = self.state.partitions
        assert known is not None
        last = self.state.last
        columns = [
            pa.chunked_array([*known.column(name).chunks, *last.column(name).chunks], last.schema.field(name).type)
            for name in names
        ]
        codes = key_codes(columns, known.num_rows + self.state.last.num_rows)
        return self._numbered(codes, known.num_rows)[known.num_rows :]


def order_by_time(situations: SituationBuffers, found: FoundMatches) -> FoundMatches:
    """By the time of detection, then by the starts of situations."""
    starts = situations.start[found.situation]
    order = np.lexsort((*reversed(starts.T), found.moment))
    return FoundMatches(found.situation[order], found.moment[order])


def _one(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _summed(table: pa.Table) -> pa.Table:
    """One row per window and group."""
    names = [name for name in table.column_names if name != "count"]
    codes = key_codes([table.column(name) for name in names], table.num_rows)
    if not codes.size:
        return table
    example = np.zeros(int(codes.max()) + 1, np.int64)
    example[codes[::-1]] = np.arange(codes.size)[::-1]
    totals = np.bincount(codes, weights=table.column("count").to_numpy()).astype(np.int64)
    result = table.take(pa.array(example))
    return result.set_column(result.schema.get_field_index("count"), "count", pa.array(totals))
