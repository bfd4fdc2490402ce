"""Interval queries as programs: situations are derived from events, or given, and matched, piece by piece or a whole
table as the only piece. In parts, counts are added up, and situations are derived from what stretches of time tell
(thesis, Section 5.6.3).

Situations and open runs are carried on, not events. A match comes out once, when the watermark has passed the event
that makes it certain: it has at least one situation that was still running when the piece began or that began in it,
and those are joined with all others, each combination once. Whatever the cuts and the order of arrival, the rows are
those of one batch over all events that were not late.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import ExecutionError, Problem
from trendweave.kernels.aggregates.blocks import find_first
from trendweave.kernels.intervals import RUNNING
from trendweave.language import syntax_tree as st
from trendweave.planning.chunks import choose_interval_chunks
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.plan import Path
from trendweave.planning.preparation import IntervalPreparation, prepare_intervals
from trendweave.programs.bound import BoundPlan
from trendweave.programs.intervals.matching import Bounds, Matcher, Matches
from trendweave.programs.intervals.situations import (
    BITS,
    Lengths,
    Situations,
    derive_situations,
    find_certain_times,
    find_given_situations,
    number_partitions,
    prepare_given,
    sort_partitions,
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
from trendweave.programs.program import (
    EVERYTHING,
    NO_CARRY,
    TRENDS,
    Arrange,
    Carry,
    Flag,
    Needs,
    Output,
    PartialResults,
    Scope,
    Step,
    Steps,
    TimeCut,
)
from trendweave.programs.steps import PassedSteps
from trendweave.results.finished_rows import sort_by_times
from trendweave.results.interval_table import IntervalResults, count_ranges, window_lengths
from trendweave.results.partials import exact_sums
from trendweave.results.types import ResultColumn, column_type, interval_columns, times_type
from trendweave.rows.codes import first_of_each, key_codes
from trendweave.rows.dropped import Dropped
from trendweave.rows.encoded import TIME
from trendweave.rows.times import as_times

#: What is remembered besides partitions: situations that a later match can have, with what their events told so far,
#: and the matches of windows that are still open.
_SITUATIONS, _COUNTS = "situations", "counts"
#: What is known of a situation that a state holds.
_KEPT = ("kind", "partition", "start", "end", "certain")


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
        if self.plan.intervals is None:
            self.partitions = number_partitions(program, table, state)
            self.rows = self.partitions.rows
            self.situations = self._find_situations()
            self.keys = list(self.partitions.keys.values())
        else:
            self.rows, self.situations = find_given_situations(program, table)
            self.keys = [self.rows.take(name, self.rows.starts[:-1]) for name in program.preparation.keys]
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
        found = find_certain_times(self.program, found, rows.time, found.first_row, last)
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
                cut = last if self.plan.intervals else find_first(self.rows.time, first, last, found.moment)
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


@dataclass(frozen=True)
class IntervalMatches(BoundPlan):
    """Matches, counts or situations of events. `type` is the column that FROM's type is looked for in, if any."""

    plan: IntervalPlan
    preparation: IntervalPreparation
    events: pa.Schema
    time: str
    type: str | None

    @property
    def facts(self) -> tuple[str, ...]:
        # States that hold extremes hold them as they are, where earlier ones held numbers.
        extremes = any(output.function in ("MIN", "MAX") for output in self.plan.outputs)
        return ("intervals", self.plan.text, self.time, str(self.type), *(("extremes",) if extremes else ()))

    @cached_property
    def moment(self) -> pa.DataType:
        return times_type(self.plan, self.events, self.time)

    @cached_property
    def result(self) -> tuple[ResultColumn, ...]:
        return interval_columns(self.plan, self.events, self.moment)

    @cached_property
    def lengths(self) -> Lengths:
        return Lengths.of(self.plan, self.time_type)

    @property
    def shown_keys(self) -> Mapping[Path, str]:
        keys = zip(self.preparation.keys, self.plan.partition_by, strict=True)
        return {(name,): ".".join(path) for name, path in keys}

    @cached_property
    def needs(self) -> Needs:
        source = None if self.type is None or self.plan.source is None else frozenset({self.plan.source})
        read = {path[0] for path in self.plan.needed_columns} | {self.time} | ({self.type} if self.type else set())
        return Needs(
            time=self.time,
            type=self.type,
            read=tuple(sorted(read)),
            named_types=source or frozenset(),
            kept_types=source,
            columns=tuple((name, st.value_at(path)) for name, path in self.preparation.columns),
            flags=tuple(None if one is None else Flag(None, one) for one in self.preparation.now),
            words=(BITS,),
            narrow=True,
            together=tuple((name,) for name in self.preparation.keys),
        )

    # All at once

    def compute(self, rows: pa.Table, scope: Scope = EVERYTHING) -> Output:
        return Output.of_table(self.compute_table(rows, scope))

    def compute_table(self, table: pa.Table, scope: Scope = EVERYTHING) -> pa.Table:
        return self._count_trends(IntervalPiece(self, table, scope=scope).result()[0], scope)

    def _count_trends(self, result: pa.Table, scope: Scope) -> pa.Table:
        """Result rows, with how many matches are behind each where that is asked for."""
        if not scope.counted:
            return result
        behind = result.column(self._counts[0]) if self.plan.returns == "counts" else pa.array(np.ones(result.num_rows))
        return result.append_column(TRENDS, behind.cast(pa.float64()))

    @property
    def _counts(self) -> list[str]:
        return [output.name for output in self.plan.outputs if output.function is not None]

    # In parts, and piece by piece

    def partials(self) -> PartialResults | None:
        """Counts of one window and group may come from several places; situations of all events are put together from
        those of stretches of time."""
        if self.plan.returns == "counts":
            together = tuple(name for name in self.schema.names if name not in self._counts)
            return PartialResults(self.schema, together, self._compute_counts, self._merge_counts)
        if self.plan.returns != "situations" or self.plan.partition_by or self.plan.looks_back:
            return None
        schema = pa.schema([(TIME, self.moment), (BITS, pa.int64())])
        return PartialResults(schema, (), self._find_changes, self.compute_table, of_stretches=True)

    def _compute_counts(self, rows: pa.Table, scope: Scope) -> pa.Table:
        return self.compute_table(rows, replace(scope, counted=False))

    def _merge_counts(self, parts: pa.Table, scope: Scope) -> pa.Table:
        """Those of one window and group are added up."""
        return self._count_trends(add_up(parts, self._counts).cast(self.schema), scope)

    def _find_changes(self, rows: pa.Table, scope: Scope) -> pa.Table:
        """The steps of a stretch of time at which some condition changes, with the first and the last one, as rows: all
        others tell nothing of situations."""
        own = sort_partitions(self, rows, np.zeros(rows.num_rows, np.int64), 1)
        word, of_step = own.find_steps()
        time = own.time if of_step is None else own.time[of_step]
        tells = np.ones(word.size, np.bool_)
        tells[1:-1] = word[1:-1] != word[:-2]
        return pa.table({TIME: as_times(time[tells], self.time_type), BITS: word[tells].astype(np.int64)})

    def why_whole(self) -> str | None:
        parts = self.partials()
        if parts is not None and parts.of_stretches:
            return "situations without PARTITION BY go on from event to event"
        return None

    def arranging(self, by_time: bool = False) -> Arrange | None:
        if self.plan.returns != "matches":
            return None
        # By the time of detection, then by the starts of situations.
        return partial(sort_by_times, columns=(0, *range(1, 2 * len(self.plan.names), 2)))

    def cut(self, wanted: int | None = None) -> TimeCut | None:
        """Without keys, a chunk owns the matches that begin in it."""
        chunks, within = choose_interval_chunks(self.plan, wanted), self.lengths.within
        if chunks is None or not within:
            return None
        return TimeCut(max(chunks.length // self.time_type.step, within), after=within, last_step=True)

    def steps(self, in_parts: bool = False, early: bool = False) -> Steps:
        if self.plan.within is None and self.plan.returns != "situations":
            message = "without WITHIN, the state would have to hold every situation forever"
            raise ExecutionError([Problem("TW452", message, "add WITHIN, or run the query on one table")])
        return PassedSteps(self._step, find_due=self._find_due)

    def _find_due(self, waiting: tuple[int, int] | None, carry: Carry, watermark: int | None) -> int | None:
        """The first row that waits is final, or an open window closes; else a situation can be in no match any more."""
        dues = [] if waiting is None else [waiting[0] + 1]
        counts, situations = carry.get(_COUNTS), carry.get(_SITUATIONS)
        if counts is not None and counts.num_rows:
            within, every = window_lengths(self.plan, self.time_type)
            dues.append(pc.min(counts.column("window")).as_py() * every + within)
        within_steps = self.lengths.within
        if not dues and within_steps is not None and situations is not None and situations.num_rows:
            dues.append(pc.max(situations.column("start")).as_py() + within_steps + 1)
        return min(dues, default=None)

    def _step(self, rows: pa.Table, carry: Carry, before: int | None, watermark: int | None) -> Step:
        piece = IntervalPiece(self, rows, carry, before, watermark)
        result, counts = piece.result()
        return Step(result.to_batches(), piece.remember(counts))

    def problems_of_early_rows(self) -> list[Problem]:
        message = "matches of an interval query are returned as soon as they are certain; there are no early rows"
        return [Problem("TW409", message, "remove early=")]


@dataclass(frozen=True)
class GivenIntervals(IntervalMatches):
    """Situations that the user already has: rows with a start, an end and a name."""

    @cached_property
    def needs(self) -> Needs:
        given = self.plan.intervals
        assert given is not None
        paths = [(given.start,), (given.end,), (given.name,), *self.plan.needed_columns]
        names = tuple(dict.fromkeys(path[0] for path in paths))
        columns = tuple((name, st.Attribute((name,))) for name in names)
        return Needs(None, None, names, columns=columns, together=self.plan.partition_by)

    def prepare(self, events: pa.Table) -> tuple[pa.Table, Dropped]:
        return prepare_given(self, events)

    def adopt(self, rows: pa.Table) -> pa.Table:
        fields = [self.events.field(name) for name in rows.column_names]
        return self.prepare(rows.cast(pa.schema(fields)))[0]

    def partials(self) -> PartialResults | None:
        return super().partials() if self.plan.returns == "counts" else None

    def steps(self, in_parts: bool = False, early: bool = False) -> Steps:
        message = "queries FROM INTERVALS cannot run piece by piece"
        raise ExecutionError([Problem("TW404", message, "run them as one table")])


def bind_intervals(plan: IntervalPlan, events: pa.Schema, time: str, type_: str | None) -> IntervalMatches:
    """The program of an interval plan."""
    kind = IntervalMatches if plan.intervals is None else GivenIntervals
    return kind(plan, prepare_intervals(plan), events, time, type_)
