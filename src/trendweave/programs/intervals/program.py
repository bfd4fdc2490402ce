"""Interval queries as programs: situations are derived from events, or given, and matched. In parts, counts are added
up, and situations are derived from what stretches of time tell (thesis, Section 5.6.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from trendweave.errors import ExecutionError, Problem
from trendweave.language import syntax_tree as st
from trendweave.planning.chunks import choose_interval_chunks
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.interval_preparation import IntervalPreparation, prepare_intervals
from trendweave.planning.plan import Path
from trendweave.programs.bound import BoundPlan
from trendweave.programs.intervals.given import prepare_given
from trendweave.programs.intervals.pieces import IntervalPiece, IntervalSteps, add_up
from trendweave.programs.intervals.rows import BITS, sort_partitions
from trendweave.programs.intervals.situations import Lengths
from trendweave.programs.program import EVERYTHING, TRENDS, Flag, Needs, Output, PartialResults, Scope, TimeCut, Work
from trendweave.results.types import ResultColumn, interval_columns, times_type
from trendweave.rows.dropped import Dropped
from trendweave.rows.encoded import TIME
from trendweave.rows.times import as_times


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

    @property
    def work(self) -> Work:
        return "intervals"

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

    def cut(self, wanted: int | None = None) -> TimeCut | None:
        """Without keys, a chunk owns the matches that begin in it."""
        chunks, within = choose_interval_chunks(self.plan, wanted), self.lengths.within
        if chunks is None or not within:
            return None
        return TimeCut(max(chunks.length // self.time_type.step, within), after=within, last_step=True)

    def steps(self, in_parts: bool = False, early: bool = False) -> IntervalSteps | None:
        if self.plan.within is None and self.plan.returns != "situations":
            message = "without WITHIN, the state would have to hold every situation forever"
            raise ExecutionError([Problem("TW452", message, "add WITHIN, or run the query on one table")])
        return IntervalSteps(self)

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
        return prepare_given(self.plan, self.preparation, events)

    def adopt(self, rows: pa.Table) -> pa.Table:
        fields = [self.events.field(name) for name in rows.column_names]
        return self.prepare(rows.cast(pa.schema(fields)))[0]

    def partials(self) -> PartialResults | None:
        return super().partials() if self.plan.returns == "counts" else None

    def steps(self, in_parts: bool = False, early: bool = False) -> IntervalSteps | None:
        message = "queries FROM INTERVALS cannot run piece by piece"
        raise ExecutionError([Problem("TW404", message, "run them as one table")])


def bind_intervals(plan: IntervalPlan, events: pa.Schema, time: str, type_: str | None) -> IntervalMatches:
    """The program of an interval plan."""
    kind = IntervalMatches if plan.intervals is None else GivenIntervals
    return kind(plan, prepare_intervals(plan), events, time, type_)
