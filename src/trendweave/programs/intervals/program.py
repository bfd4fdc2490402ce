"""Interval queries in process: Arrow prepares the rows, kernels derive situations and match them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from trendweave.kernels.intervals.situations import RUNNING
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.interval_preparation import IntervalPreparation, prepare_intervals
from trendweave.programs.intervals.given import given_situations, prepared_intervals
from trendweave.programs.intervals.match_values import match_values
from trendweave.programs.intervals.matching import FoundMatches, Matcher
from trendweave.programs.intervals.rows import CHUNK, IntervalRows, encode_events, prepared_events
from trendweave.programs.intervals.situations import Lengths, SituationBuffers, derived
from trendweave.results.interval_table import IntervalResults, interval_result_schema
from trendweave.results.types import times_type
from trendweave.rows.dropped import Dropped
from trendweave.rows.times import TimeType, time_type


@dataclass(frozen=True, slots=True)
class BoundIntervals:
    """An interval plan bound to the columns of some events (or given intervals)."""

    plan: IntervalPlan
    preparation: IntervalPreparation
    events: pa.Schema
    time: str
    type: str | None
    chunk: int | None = None

    @property
    def moment(self) -> pa.DataType:
        return times_type(self.plan, self.events, self.time)

    @property
    def kind(self) -> TimeType:
        return time_type(self.moment)

    @property
    def schema(self) -> pa.Schema:
        return interval_result_schema(self.plan, self.events, self.moment)

    @property
    def lengths(self) -> Lengths:
        return Lengths.of(self.plan, self.kind)

    def prepare(self, events: pa.Table) -> tuple[pa.Table, Dropped]:
        if self.plan.intervals is not None:
            return prepared_intervals(self.plan, self.preparation, events)
        return prepared_events(self.plan, self.preparation, events, self.time, self.type)

    def situations(self, table: pa.Table) -> tuple[IntervalRows, SituationBuffers]:
        """Prepared rows, and their situations of a good length."""
        if self.plan.intervals is not None:
            rows, found = given_situations(self.plan, self.preparation, table, self.lengths)
        else:
            keys = self.preparation.keys if self.chunk is None else (*self.preparation.keys, CHUNK)
            rows = encode_events(self.preparation, table, keys)
            found = derived(self.plan, rows, self.lengths)
        return rows, found.kept(found.certain != RUNNING)

    def results(self, rows: IntervalRows) -> IntervalResults:
        keys = rows.keys(self.preparation.keys)
        return IntervalResults(self.plan, self.schema, self.kind, keys, rows.partitions)

    def compute(self, table: pa.Table) -> pa.Table:
        """Result rows of prepared rows."""
        rows, situations = self.situations(table)
        if self.plan.returns == "situations":
            return self.results(rows).situations(situations)
        found = Matcher(self.plan, self.lengths.within).all_matches(situations)
        if self.chunk is not None:
            first = situations.start[found.situation].min(axis=1)
            chunks = rows.taken(CHUNK, rows.starts[:-1]).to_numpy(zero_copy_only=False)
            own = chunks[situations.partition[found.situation[:, 0]]]
            found = found.kept(np.floor_divide(first, self.chunk) == own)
        return self.write(rows, situations, found)

    def in_chunks(self, length: int) -> BoundIntervals:
        """For rows that carry the number of a chunk of time, which owns the matches that begin in it."""
        return replace(self, chunk=length)

    def write(self, rows: IntervalRows, situations: SituationBuffers, found: FoundMatches) -> pa.Table:
        results = self.results(rows)
        if self.plan.returns == "counts":
            return results.counts(situations, found)
        found = in_time(situations, found)
        values = match_values(self.plan, self.preparation.values, self.events, rows, situations, found)
        return results.matches(situations, found, values)


def in_time(situations: SituationBuffers, found: FoundMatches) -> FoundMatches:
    """By the time of detection, then by the starts of situations."""
    starts = situations.start[found.situation]
    order = np.lexsort((*reversed(starts.T), found.moment))
    return FoundMatches(found.situation[order], found.moment[order])


def bind_intervals(plan: IntervalPlan, events: pa.Schema, time: str, type_: str | None) -> BoundIntervals:
    return BoundIntervals(plan, prepare_intervals(plan), events, time, type_)
