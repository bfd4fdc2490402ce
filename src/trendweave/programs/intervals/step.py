"""One step of an interval query that runs piece by piece: a state and rows that have become final in, results and the
next state out.

A match that becomes certain in a piece has at least one situation that was still running when the piece began or that
began in it: those are joined with all others, each combination once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from trendweave.kernels.intervals.situations import RUNNING, derive_situations, rows_reaching
from trendweave.programs.intervals.carried_values import as_columns, from_columns, merge_summaries, take_summaries
from trendweave.programs.intervals.matching import FoundMatches, Matcher
from trendweave.programs.intervals.open_counts import OpenCounts
from trendweave.programs.intervals.partitions import Remembered, number_partitions
from trendweave.programs.intervals.rows import BITS
from trendweave.programs.intervals.situations import SituationBuffers, find_certain_times
from trendweave.programs.intervals.values import Stretches, Summary, summarise, write_summary
from trendweave.results.interval_table import IntervalResults
from trendweave.results.types import column_type

if TYPE_CHECKING:
    from trendweave.programs.intervals.program import IntervalMatches


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
        self.partitions = number_partitions(self.bound, self.state, ready, self.begin)
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

    # Situations

    def _situations(self) -> tuple[SituationBuffers, np.ndarray]:
        """Situations of the state and of the rows, in order, and the place in the state of those that have one."""
        partitions, old = self.partitions, self.state.situations
        rows = partitions.rows
        found = derive_situations(rows.bits, rows.time, rows.starts, self.kinds, partitions.bits, partitions.since)
        certain = find_certain_times(self.plan, found, rows.time, self.lengths)
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
            kind=kind,
            partition=columns[1][order],
            start=columns[2][order],
            end=columns[3][order],
            certain=certain[order],
            first_row=first[order],
            end_row=last[order],
            carried=carried[order],
            offsets=np.searchsorted(kind, np.arange(self.kinds + 1)),
            partitions=partitions.count,
        )
        return buffers, place[order]

    def _still_certain(self, found: Any, certain: np.ndarray, place: np.ndarray, before: np.ndarray) -> np.ndarray:
        """A situation that was long enough in an earlier piece stays so."""
        known = place >= 0
        earlier = np.where(known, before[np.where(known, place, 0)], RUNNING)
        until_end = np.array([high is not None or self.plan.at_end for high in self.lengths.high])[found.kind]
        return np.where(known & (earlier != RUNNING) & ~until_end, earlier, certain)

    def _parts(self, number: int) -> Summary:
        """What the state knows of each situation."""
        if self.state.situations is None:
            output = self.plan.outputs[number]
            name = self.bound.preparation.values[number]
            nothing = np.zeros(self.situations.size, np.int64)
            empty = Stretches(nothing, nothing, nothing, nothing)
            return summarise(output, name, self.partitions.rows, empty)
        return from_columns(number, self.state.situations, self.known)

    # Results

    def _result(self) -> tuple[pa.Table, pa.Table | None]:
        """Rows, and the counts of windows that are still open."""
        ready = self.situations.certain != RUNNING
        if self.plan.returns == "situations":
            ended = (self.situations.end >= self.begin) & (self.situations.end != RUNNING)
            still = (self.situations.end == RUNNING) if self.watermark is None else False
            return self.results.situations(self.situations.keep(ready & (ended | still))), None
        places = np.flatnonzero(ready)
        usable = self.situations.keep(ready)
        found = self._matches(usable)
        if self.plan.returns == "counts":
            counting = OpenCounts(self.plan, self.results, self.partitions.keys, self.partitions.count)
            return counting.add(self.state.counts, usable, found, self.watermark)
        found = order_by_time(usable, found)
        values = {}
        for number, parts in self.parts.items():
            output = self.plan.outputs[number]
            assert output.situation is not None
            own = FoundMatches(places[found.situation], found.moment)
            stretches = self._seen_before(own.situation[:, output.situation], own.moment)
            fresh = summarise(output, self.bound.preparation.values[number], self.partitions.rows, stretches)
            both = merge_summaries(take_summaries(parts, stretches.situation), fresh, output)
            kind = None if output.path is None else column_type(self.bound.events, output.path)
            values[number] = write_summary(output, both, kind, stretches.of)
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
        found = FoundMatches.join_parts([part for part in parts if part.moment.size], self.kinds)
        return found.keep(found.moment >= self.begin)

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
        last = None
        if self.plan.looks_back:
            last, of_last = self.partitions.find_last_steps(self.state)
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

    def _until_now(self, number: int, parts: Summary, place: np.ndarray) -> Summary:
        """All that the events of the kept situations have told; of kinds that an output is not about, nothing."""
        output = self.plan.outputs[number]
        own = self.situations.kind[place] == output.situation
        asked = place[own]
        if not asked.size:
            return take_summaries(parts, place)
        first, last = self.situations.first_row[asked], self.situations.end_row[asked]
        stretches = Stretches(asked, first, last, np.arange(asked.size))
        fresh = summarise(output, self.bound.preparation.values[number], self.partitions.rows, stretches)
        return merge_summaries(
            take_summaries(parts, place), take_summaries(fresh, np.where(own, np.cumsum(own) - 1, 0)), output
        )


def order_by_time(situations: SituationBuffers, found: FoundMatches) -> FoundMatches:
    """By the time of detection, then by the starts of situations."""
    starts = situations.start[found.situation]
    order = np.lexsort((*reversed(starts.T), found.moment))
    return FoundMatches(found.situation[order], found.moment[order])
