"""A filter as a program: events in which a condition is true, in order of their time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from trendweave.errors import Problem
from trendweave.gpu.card import find_card
from trendweave.gpu.filter import mask_true
from trendweave.language import syntax_tree as st
from trendweave.planning.operator_plans import FilterPlan
from trendweave.programs.operators.condition_masks import keep_true
from trendweave.programs.operators.waiting import UpToWatermark
from trendweave.programs.program import (
    EVERYTHING,
    TRENDS,
    Carry,
    Flag,
    Needs,
    Output,
    PartialResults,
    Scope,
    Step,
    TimeCut,
    Work,
)
from trendweave.results.types import ResultColumn, result_schema
from trendweave.rows.dropped import Dropped
from trendweave.rows.encoded import TIME
from trendweave.rows.times import TimeType, as_steps, keep_rows_with_time, time_type

#: Columns of events are kept under names that no column of ours has.
_RAW = "event_"
#: Set in rows that are kept, which are all that come.
_KEPT = "kept"


@dataclass(frozen=True)
class KeptEvents:
    """Events that a condition keeps, with all of their columns. A prepared row is an event that is kept."""

    plan: FilterPlan
    events: pa.Schema
    time: str
    device: str = "cpu"

    @property
    def text(self) -> str:
        return self.plan.text

    @property
    def facts(self) -> tuple[str, ...]:
        return (self.plan.text, self.time)

    @property
    def work(self) -> Work:
        """None of them; on Spark, where it is asked, Spark SQL filters."""
        return "windows"

    @property
    def moment(self) -> pa.DataType:
        return self.events.field(self.time).type

    @property
    def time_type(self) -> TimeType:
        return time_type(self.moment)

    @cached_property
    def result(self) -> tuple[ResultColumn, ...]:
        return tuple(ResultColumn(field.name, field.type, (field.name,)) for field in self.events)

    @cached_property
    def schema(self) -> pa.Schema:
        return result_schema(self.result)

    @cached_property
    def needs(self) -> Needs:
        names = self.events.names
        return Needs(
            time=self.time,
            type=None,
            read=tuple(names),
            columns=tuple((self._kept_name(name), st.Attribute((name,))) for name in names if name != self.time),
            flags=(Flag(None, self.plan.condition),),
            words=(_KEPT,),
            only_flagged=True,
        )

    def _kept_name(self, column: str) -> str:
        return TIME if column == self.time else f"{_RAW}{column}"

    @cached_property
    def _kept_columns(self) -> pa.Schema:
        return pa.schema([pa.field(self._kept_name(field.name), field.type) for field in self.events])

    def keep(self, events: pa.Table) -> pa.Table:
        """The events in which the condition is true, as they came."""
        if self.device == "gpu":
            return events.filter(mask_true(find_card(), self.plan.condition, events))
        return keep_true(self.plan.condition, events)

    def prepare(self, events: pa.Table) -> tuple[pa.Table, Dropped]:
        rows = events.num_rows
        events, null_time = keep_rows_with_time(events, self.time)
        kept = self.keep(events).select(self.events.names)
        return kept.rename_columns(self._kept_columns.names), Dropped(rows, null_time)

    def adopt(self, rows: pa.Table) -> pa.Table:
        return rows.select(self._kept_columns.names).cast(self._kept_columns)

    def compute(self, rows: pa.Table, scope: Scope = EVERYTHING) -> Output:
        result = self.arrange(rows.rename_columns(self.schema.names))
        if scope.counted:
            result = result.append_column(TRENDS, pa.array(np.ones(result.num_rows)))
        return Output.of_table(result)

    def arrange(self, rows: pa.Table) -> pa.Table:
        """Rows of a result by time; those of one time stay as they are."""
        steps = as_steps(rows.column(self.time), self.time_type)
        if (steps[1:] >= steps[:-1]).all():
            return rows
        return rows.take(pa.array(np.argsort(steps, kind="stable")))

    def partials(self) -> PartialResults | None:
        return None

    def cut(self, wanted: int | None = None) -> TimeCut | None:
        return None

    def steps(self, in_parts: bool = False, early: bool = False) -> FilterSteps:
        return FilterSteps(self)

    def problems_of_early_rows(self) -> list[Problem]:
        return [Problem("TW409", "a filter returns events at once; there are no early rows", "remove early=")]

    def describe_key(self, rows: pa.Table, row: int) -> str:
        return "(none)"


@dataclass(frozen=True, slots=True)
class FilterSteps(UpToWatermark):
    """Rows wait for the watermark, so that they come out in order of their time whatever the pieces were."""

    program: KeptEvents
    carries: bool = False

    def step(self, rows: pa.Table, carry: Carry, before: int | None, watermark: int | None) -> Step:
        return Step(self.program.compute(rows).batches)


def bind_filter(plan: FilterPlan, events: pa.Schema, time: str, device: str = "cpu") -> KeptEvents:
    """The program of a filter.

    Args:
        plan: What it keeps.
        events: The columns of the events, which fit it.
        time: The column that holds the time.
        device: Where the condition is evaluated.
    """
    return KeptEvents(plan, events, time, device)
