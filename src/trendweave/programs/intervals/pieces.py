"""Interval queries piece by piece, and a whole table as the only piece: a state and rows that have become final in,
results and the next state out.

Situations and open runs are carried on, not events. A match comes out once, when the watermark has passed the event
that makes it certain: it has at least one situation that was still running when the piece began or that began in it,
and those are joined with all others, each combination once. Whatever the cuts and the order of arrival, the rows are
those of one batch over all events that were not late.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.kernels.intervals import RUNNING
from trendweave.programs.intervals.given import find_given_situations
from trendweave.programs.intervals.matching import Bounds, Matcher, Matches
from trendweave.programs.intervals.rows import number_partitions
from trendweave.programs.intervals.situations import (
    Situations,
    derive_situations,
    find_certain_times,
    rows_reaching,
)
from trendweave.programs.intervals.values import (
    Stretches,
    Summary,
    merge_summaries,
    read_summary,
    summarise,
    take_summary,
    write_summary,
)
from trendweave.programs.program import EVERYTHING, NO_CARRY, Carry, Scope, Step, Steps
from trendweave.results.interval_table import IntervalResults, count_ranges, window_lengths
from trendweave.results.partials import exact_sums
from trendweave.results.types import column_type
from trendweave.rows.codes import first_of_each, key_codes
from trendweave.rows.encoded import CHUNK

if TYPE_CHECKING:
    from trendweave.programs.intervals.program import IntervalMatches

#: What is remembered besides partitions: situations that a later match can have, with what their events told so far,
#: and the matches of windows that are still open.
_SITUATIONS, _COUNTS = "situations", "counts"
#: What is known of a situation that a state holds.
_KEPT = ("kind", "partition", "start", "end", "certain")


@dataclass(frozen=True, slots=True)
class IntervalSteps(Steps):
    """Rows wait for the watermark and not for a window, so time is not cut into panes."""

    program: IntervalMatches
    carries = True

    def due(self, waiting: tuple[int, int] | None, carry: Carry, watermark: int | None) -> int | None:
        """The first row that waits is final, or an open window closes; else a situation can be in no match any more."""
        dues = [] if waiting is None else [waiting[0] + 1]
        counts, situations = carry.get(_COUNTS), carry.get(_SITUATIONS)
        if counts is not None and counts.num_rows:
            within, every = window_lengths(self.program.plan, self.program.time_type)
            dues.append(pc.min(counts.column("window")).as_py() * every + within)
        within_steps = self.program.lengths.within
        if not dues and within_steps is not None and situations is not None and situations.num_rows:
            dues.append(pc.max(situations.column("start")).as_py() + within_steps + 1)
        return min(dues, default=None)

    def step(self, rows: pa.Table, carry: Carry, before: int | None, watermark: int | None) -> Step:
        piece = IntervalPiece(self.program, rows, carry, before, watermark)
        result, counts = piece.result()
        return Step(result.to_batches(), piece.remember(counts))


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
        state: Carry = NO_CARRY,
        before: int | None = None,
        watermark: int | None = None,
        scope: Scope = EVERYTHING,
    ) -> None:
        self.program, self.plan, self.state, self.watermark, self.scope = program, program.plan, state, watermark, scope
        self.lengths, self.kinds = program.lengths, len(program.plan.situations)
        self.begin = -RUNNING if before is None else before
        names = program.preparation.keys if scope.chunk is None else (*program.preparation.keys, CHUNK)
        if self.plan.intervals is None:
            self.partitions = number_partitions(program, table, state, names)
            self.rows = self.partitions.rows
            self.situations = self._find_situations()
            self.keys = list(self.partitions.keys.values())
        else:
            self.rows, self.situations = find_given_situations(self.plan, program.preparation, table, self.lengths)
            self.keys = [self.rows.take(name, self.rows.starts[:-1]) for name in names]
        self.results = IntervalResults(self.plan, program.schema, program.time_type, self.keys)

    def _find_situations(self) -> Situations:
        """Situations of the state and of the rows."""
        rows, bits, since = self.rows, self.partitions.bits, self.partitions.since
        ended = {name: np.empty(0, np.int64) for name in _KEPT}
        if _SITUATIONS in self.state:
            ended = {name: self.state[_SITUATIONS].column(name).to_numpy() for name in _KEPT}
        runs = ended["end"] == RUNNING
        places = np.full(since.shape, -1)
        places[ended["partition"][runs], ended["kind"][runs]] = np.flatnonzero(runs)
        found = derive_situations(rows, bits, since, places)
        last = found.end_row + (found.end != RUNNING)
        found = find_certain_times(self.plan, self.lengths, found, rows.time, found.first_row, last)
        if not runs.size:
            return found
        # A situation that was long enough in an earlier piece stays so.
        earlier = np.where(found.known >= 0, ended["certain"][found.known], RUNNING)
        until_end = np.array([high is not None or self.plan.at_end for high in self.lengths.high])[found.kind]
        stays = (earlier != RUNNING) & ~until_end
        found.certain[stays] = earlier[stays]
        kept = np.flatnonzero(~runs)
        kind, partition, start, end, certain = (ended[name][kept] for name in _KEPT)
        low = rows.starts[partition]
        return found.join(Situations(kind, partition, start, end, low, low, kept, certain, rows.partitions))

    # Results

    def result(self) -> tuple[pa.Table, pa.Table | None]:
        """Rows, and the counts of windows that are still open."""
        usable = self.usable
        if self.plan.returns == "situations":
            shown = usable.end >= self.begin
            if self.watermark is not None:
                shown &= usable.end != RUNNING
            return self.results.situations(usable.take(shown)), None
        found = self._find_matches(usable)
        if self.plan.returns == "counts":
            return self._count(usable, found)
        starts = usable.start[found.situation]
        found = found.keep(np.lexsort((*reversed(starts.T), found.moment)))  # by the time of detection, then by starts
        return self.results.matches(usable, found, self._values(usable, found)), None

    @property
    def usable(self) -> Situations:
        """Situations that are known to have a good length."""
        good = self.situations.certain != RUNNING
        return self.situations if good.all() else self.situations.take(good)

    def _find_matches(self, usable: Situations) -> Matches:
        found = Matcher(self.plan, self.lengths.within).all_matches(usable, self._asked(usable))
        if self.begin != -RUNNING:
            found = found.keep(found.moment >= self.begin)
        if self.scope.chunk is not None:
            starts = usable.start[found.situation].min(axis=1)
            own = self.keys[-1].to_numpy(zero_copy_only=False)[usable.partition[found.situation[:, 0]]]
            found = found.keep(np.floor_divide(starts, self.scope.chunk) == own)
        return found

    def _asked(self, usable: Situations) -> Iterator[Bounds]:
        """Combinations with at least one situation that this piece has seen run: kind by kind, those before it only
        among those that had ended, those after it among all."""
        low, high = usable.bounds(self.kinds)
        ended = np.concatenate([[0], np.cumsum(usable.end < self.begin)])
        middle = low + ended[high] - ended[low]
        # Only an event of its own partition makes a match certain.
        has_events = np.diff(self.rows.starts) > 0
        for k in range(self.kinds):
            first, last = low.copy(), high.copy()
            first[k], last[:k] = middle[k], middle[:k]
            yield first[:, has_events], last[:, has_events]

    def _count(self, usable: Situations, found: Matches) -> tuple[pa.Table, pa.Table]:
        """Rows of the windows that the watermark has passed, and the counts of the others. A match counts in each
        window that holds it, from its first start to its detection."""
        first = usable.start[found.situation].min(axis=1) if found.moment.size else found.moment
        paths = [output.path for output in self.plan.outputs if output.function is None]
        keys = [self.keys[self.plan.partition_by.index(path or ())] for path in paths]
        group = key_codes([pa.chunked_array([key]) for key in keys], self.rows.partitions)
        of = group[usable.partition[found.situation[:, 0]]]
        windows, groups, numbers = count_ranges(*self.results.window_range(first, found.moment), of)
        columns = {"window": pa.array(windows), "count": pa.array(numbers)}
        example = pa.array(first_of_each(group)[groups])
        counts = pa.table(columns | {f"key_{place}": key.take(example) for place, key in enumerate(keys)})
        if _COUNTS in self.state:
            counts = add_up(pa.concat_tables([self.state[_COUNTS], counts]), ["count"])
        within, every = window_lengths(self.plan, self.program.time_type)
        start = counts.column("window").to_numpy() * every
        closed = np.full(start.size, True) if self.watermark is None else start + within <= self.watermark
        rows, start = counts.filter(pa.array(closed)), start[closed]
        named = iter(name for name in rows.column_names if name.startswith("key_"))
        values = [
            rows.column("count" if output.function else next(named)).combine_chunks() for output in self.plan.outputs
        ]
        written = self.results.table([self.results.times(start), self.results.times(start + within), *values])
        return written, counts.filter(pa.array(~closed)).combine_chunks()

    def _values(self, usable: Situations, found: Matches) -> dict[int, pa.Array]:
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
            summary = self._summarise(number, asked, usable)
            kind = None if output.path is None else column_type(self.program.events, output.path)
            values[number] = write_summary(output, summary, kind, asked.of)
        return values

    def _summarise(self, number: int, stretches: Stretches, situations: Situations) -> Summary:
        """What the rows of stretches tell, after what the state knows of their situations."""
        output = self.plan.outputs[number]
        fresh = summarise(output, self.program.preparation.values[number], self.rows, stretches)
        if _SITUATIONS not in self.state:
            return fresh
        known = situations.known[stretches.situation]
        return merge_summaries(take_summary(read_summary(number, self.state[_SITUATIONS]), known), fresh, output)

    # What is remembered

    def remember(self, counts: pa.Table | None) -> Carry:
        """What is remembered of these rows and all before them; `counts` are those of open windows."""
        situations, watermark = self.situations, self.watermark
        keep = situations.end == RUNNING
        if self.lengths.within is not None and watermark is not None:
            good = keep | self.lengths.fit(situations.kind, situations.end - situations.start)
            keep = good & (situations.start >= watermark - self.lengths.within)
        kept = situations.take(keep)
        used = self.partitions.bits != 0
        used[kept.partition] = True
        columns: dict[str, Any] = {name: getattr(kept, name) for name in _KEPT}
        columns["partition"] = (np.cumsum(used) - 1)[kept.partition]
        for number, output in enumerate(self.plan.outputs):
            if output.function in (None, "DURATION") or output.situation is None:
                continue
            # All that its events have told; of other kinds, nothing.
            own = kept.kind == output.situation
            place = np.flatnonzero(own)
            asked = Stretches(place, kept.first_row[own], kept.end_row[own], place)
            summary = take_summary(self._summarise(number, asked, kept), np.where(own, np.cumsum(own) - 1, -1))
            columns |= {f"{name}_{number}": values for name, values in summary.items()}
        carry = self.partitions.remember(used, self.plan.looks_back)
        if kept.size:
            carry[_SITUATIONS] = pa.table(columns)
        if counts is not None and counts.num_rows:
            carry[_COUNTS] = counts
        return carry


def add_up(table: pa.Table, counts: Iterable[str]) -> pa.Table:
    """One row for those that are equal in all columns but their counts, which are added up."""
    names = [name for name in table.column_names if name not in counts]
    codes = key_codes([table.column(name) for name in names], table.num_rows)
    first = first_of_each(codes)
    rows = table.take(pa.array(first))
    for name in counts:
        totals = exact_sums(codes, table.column(name).to_numpy(), first.size)
        rows = rows.set_column(rows.schema.get_field_index(name), rows.field(name), pa.array(totals))
    return rows
