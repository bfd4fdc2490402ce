"""Interval queries piece by piece, and a whole table as the only piece: a state and rows that have become final in,
results and the next state out.

Situations and open runs are carried on, not events. A match comes out once, when the watermark has passed the event
that makes it certain: it has at least one situation that was still running when the piece began or that began in it,
and those are joined with all others, each combination once. Whatever the cuts and the order of arrival, the rows are
those of one batch over all events that were not late.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.kernels.intervals.situations import RUNNING, Situations, rows_reaching
from trendweave.kernels.sorting import stable_order
from trendweave.programs.intervals.counts import add_up, count_matches, write_counts
from trendweave.programs.intervals.given import find_given_situations
from trendweave.programs.intervals.matching import FoundMatches, Matcher
from trendweave.programs.intervals.partitions import NOTHING, Remembered, number_partitions
from trendweave.programs.intervals.rows import CHUNK
from trendweave.programs.intervals.situations import SituationBuffers, find_certain_times
from trendweave.programs.intervals.values import (
    Stretches,
    Summary,
    merge_summaries,
    read_summary,
    summarise,
    take_summary,
    write_summary,
)
from trendweave.programs.program import EVERYTHING, Carry, Scope, Step, UpToWatermark
from trendweave.results.interval_table import IntervalResults, window_lengths
from trendweave.results.types import column_type

if TYPE_CHECKING:
    from trendweave.programs.intervals.program import IntervalMatches

#: What is known of a situation that a state holds.
_KEPT = ("kind", "partition", "start", "end", "certain")


@dataclass(frozen=True, slots=True)
class IntervalSteps(UpToWatermark):
    """Rows wait for the watermark and not for a window, so time is not cut into panes."""

    program: IntervalMatches
    carries: bool = True

    def due(self, waiting: tuple[int, int] | None, carry: Carry, watermark: int | None) -> int | None:
        """The first row that waits is final, or an open window closes; else a situation can be in no match any more."""
        dues = [] if waiting is None else [waiting[0] + 1]
        counts, situations = carry.get("counts"), carry.get("situations")
        if counts is not None and counts.num_rows:
            within, every = window_lengths(self.program.plan, self.program.time_type)
            dues.append(pc.min(counts.column("window")).as_py() * every + within)
        within_steps = self.program.lengths.within
        if not dues and within_steps is not None and situations is not None and situations.num_rows:
            dues.append(pc.max(situations.column("start")).as_py() + within_steps + 1)
        return min(dues, default=None)

    def step(self, rows: pa.Table, carry: Carry, before: int | None, watermark: int | None) -> Step:
        piece = IntervalPiece(self.program, rows, Remembered(**carry), before, watermark)
        result, counts = piece.result()
        return Step(result.to_batches(), piece.remember(counts).to_carry())


class IntervalPiece:
    """From what is remembered and the rows that have become final to results and what is to be remembered.

    Args:
        program: The query.
        table: Prepared rows.
        state: What is remembered of earlier pieces.
        before: The watermark up to which they have gone.
        watermark: Where it is now; None: at the end of all events.
        scope: Which part of a result is asked for, where this is the only piece.
    """

    def __init__(
        self,
        program: IntervalMatches,
        table: pa.Table,
        state: Remembered = NOTHING,
        before: int | None = None,
        watermark: int | None = None,
        scope: Scope = EVERYTHING,
    ) -> None:
        self.program, self.plan, self.state, self.watermark, self.scope = program, program.plan, state, watermark, scope
        self.lengths = program.lengths
        self.begin = -RUNNING if before is None else before
        self.kinds = len(self.plan.situations)
        names = program.preparation.keys if scope.chunk is None else (*program.preparation.keys, CHUNK)
        if self.plan.intervals is None:
            self.partitions = number_partitions(program, table, state, names)
            self.rows = self.partitions.rows
            self.situations, self.known = self._find_situations()
            keys = list(self.partitions.keys.values())
        else:
            self.rows, self.situations = find_given_situations(self.plan, program.preparation, table, self.lengths)
            self.known = None
            keys = [self.rows.take(name, self.rows.starts[:-1]) for name in names]
        self.keys = keys
        self.results = IntervalResults(self.plan, program.schema, program.time_type, keys, self.rows.partitions)

    # Situations

    def _find_situations(self) -> tuple[SituationBuffers, np.ndarray | None]:
        """Situations of the state and of the rows, in order, and the place in the state of those that have one."""
        old, rows, count = self.state.situations, self.rows, self.partitions.count
        found = self.partitions.derive()
        last = found.end_row + (found.end != RUNNING)
        certain = find_certain_times(self.plan, self.lengths, found, rows.time, found.first_row, last)
        if old is None or not old.num_rows:
            # They come by partition and end, which within a kind is also the order of their starts.
            order, _ = stable_order(found.kind, self.kinds)
            return SituationBuffers.of(found, certain, order, self.kinds, count), None
        ended = {name: old.column(name).to_numpy() for name in _KEPT}
        running = np.flatnonzero(ended["end"] == RUNNING)
        at = np.full((count, self.kinds), -1, np.int64)
        at[ended["partition"][running], ended["kind"][running]] = running
        place = np.where(found.carried, at[found.partition, found.kind], -1)
        certain = self._still_certain(found, certain, place, ended["certain"])
        kept = np.flatnonzero(ended["end"] != RUNNING)
        low = rows.starts[ended["partition"][kept]]
        columns = [ended[name][kept] for name in _KEPT[:4]]
        earlier = (*columns, low, low, np.ones(kept.size, np.bool_))
        both = Situations._make(map(np.concatenate, zip(earlier, found, strict=True)))
        certain = np.concatenate([ended["certain"][kept], certain])
        order = np.lexsort((both.start, both.partition, both.kind))
        return SituationBuffers.of(both, certain, order, self.kinds, count), np.concatenate([kept, place])[order]

    def _still_certain(
        self, found: Situations, certain: np.ndarray, place: np.ndarray, before: np.ndarray
    ) -> np.ndarray:
        """A situation that was long enough in an earlier piece stays so."""
        earlier = np.where(place >= 0, before[place], RUNNING)
        until_end = np.array([high is not None or self.plan.at_end for high in self.lengths.high])[found.kind]
        return np.where((earlier != RUNNING) & ~until_end, earlier, certain)

    # Results

    def result(self) -> tuple[pa.Table, pa.Table | None]:
        """Rows, and the counts of windows that are still open."""
        ready = self.situations.certain != RUNNING
        usable = self.situations.keep(ready)
        if self.plan.returns == "situations":
            shown = usable.end >= self.begin
            if self.watermark is not None:
                shown &= usable.end != RUNNING
            return self.results.situations(usable.keep(shown)), None
        found = self._find_matches(usable)
        if self.plan.returns == "counts":
            return self._count(usable, found)
        starts = usable.start[found.situation]
        order = np.lexsort((*reversed(starts.T), found.moment))  # by the time of detection, then by starts
        found = found.keep(order)
        return self.results.matches(usable, found, self._values(usable, np.flatnonzero(ready), found)), None

    def _find_matches(self, usable: SituationBuffers) -> FoundMatches:
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
        has_events = np.diff(self.rows.starts) > 0
        parts = []
        for k in range(self.kinds):
            first, last = low.copy(), high.copy()
            first[k] = middle[k]
            last[:k] = middle[:k]
            used = np.flatnonzero((last > first).all(axis=0) & has_events)
            if used.size:
                matcher.statistics = None
                parts.append(matcher.all_matches(usable, first[:, used], last[:, used]))
        found = FoundMatches.join_parts(parts, self.kinds)
        if self.state is not NOTHING:
            found = found.keep(found.moment >= self.begin)
        if self.scope.chunk is not None:
            starts = usable.start[found.situation].min(axis=1)
            own = self.keys[-1].to_numpy(zero_copy_only=False)[usable.partition[found.situation[:, 0]]]
            found = found.keep(np.floor_divide(starts, self.scope.chunk) == own)
        return found

    def _count(self, usable: SituationBuffers, found: FoundMatches) -> tuple[pa.Table, pa.Table]:
        """Rows of the windows that the watermark has passed, and the counts of the others."""
        counts = count_matches(self.results, usable, found)
        if self.state.counts is not None:
            counts = add_up(pa.concat_tables([self.state.counts, counts]), ["count"])
        if self.watermark is None:
            return write_counts(self.results, counts), counts.slice(0, 0)
        within, every = window_lengths(self.plan, self.program.time_type)
        closed = counts.column("window").to_numpy() * every + within <= self.watermark
        written = write_counts(self.results, counts.filter(pa.array(closed)))
        return written, counts.filter(pa.array(~closed)).combine_chunks()

    def _values(self, usable: SituationBuffers, places: np.ndarray, found: FoundMatches) -> dict[int, pa.Array]:
        """The aggregate columns of matches: what each situation had before the match was certain."""
        stretches: dict[int, Stretches] = {}
        values = {}
        for number, output in enumerate(self.plan.outputs):
            if output.function in (None, "DURATION") or output.situation is None:
                continue
            if output.situation not in stretches:
                own = found.situation[:, output.situation]
                first, last = usable.first_row[own], usable.end_row[own]
                # A given interval has one row, whatever the moment is.
                cut = last if self.plan.intervals else rows_reaching(self.rows.time, found.moment, first, last)
                stretches[output.situation] = Stretches.distinct(own, first, cut)
            asked = stretches[output.situation]
            summary = self._summarise(number, asked, places[asked.situation])
            kind = None if output.path is None else column_type(self.program.events, output.path)
            values[number] = write_summary(output, summary, kind, asked.of)
        return values

    def _summarise(self, number: int, stretches: Stretches, places: np.ndarray) -> Summary:
        """What the rows of stretches tell, after what the state knows of their situations."""
        output = self.plan.outputs[number]
        fresh = summarise(output, self.program.preparation.values[number], self.rows, stretches)
        if self.known is None or self.state.situations is None:
            return fresh
        earlier = take_summary(read_summary(number, self.state.situations), self.known[places])
        return merge_summaries(earlier, fresh, output)

    # What is remembered

    def remember(self, counts: pa.Table | None) -> Remembered:
        """What is remembered of these rows and all before them; `counts` are those of open windows."""
        situations, watermark = self.situations, self.watermark
        keep = situations.end == RUNNING
        if self.lengths.within is not None and watermark is not None:
            good = keep | self.lengths.fit(situations.kind, situations.end - situations.start)
            keep = good & (situations.start >= watermark - self.lengths.within)
        place = np.flatnonzero(keep)
        used = self.partitions.bits != 0
        used[situations.partition[place]] = True
        number = np.cumsum(used) - 1
        columns: dict[str, Any] = {name: getattr(situations, name)[place] for name in _KEPT}
        columns["partition"] = number[columns["partition"]]
        for output in range(len(self.plan.outputs)):
            columns |= {f"{name}_{output}": values for name, values in self._until_now(output, place).items()}
        last = self.partitions.last_steps() if self.plan.looks_back else None
        return Remembered(last, self.partitions.remember(np.flatnonzero(used)), pa.table(columns), counts)

    def _until_now(self, number: int, place: np.ndarray) -> Summary:
        """All that the events of some situations have told; of kinds that an output is not about, nothing."""
        output, situations = self.plan.outputs[number], self.situations
        if output.function in (None, "DURATION") or output.situation is None:
            return {}
        own = situations.kind[place] == output.situation
        asked = place[own]
        stretches = Stretches(asked, situations.first_row[asked], situations.end_row[asked], np.arange(asked.size))
        return take_summary(self._summarise(number, stretches, asked), np.where(own, np.cumsum(own) - 1, -1))
