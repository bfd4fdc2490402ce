"""Trend queries whose events lie in situations, piece by piece.

Events are kept as they came, as whether one lies in a situation may turn out later: when the situation has become long
enough, or too long. After the longest length that a definition names, that is settled, so windows close so much later.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.planning.situated_plan import SituatedPlan
from trendweave.programs.intervals.program import BoundIntervals, bind_intervals
from trendweave.programs.situated.marking import marked_events, runs_after, with_columns
from trendweave.programs.situated.open_runs import OpenRuns
from trendweave.programs.trends.program import BoundQuery, bind
from trendweave.results.aggregate_table import Numbers
from trendweave.rows.dropped import Dropped
from trendweave.rows.encoded import TIME
from trendweave.rows.prepared import count_dropped
from trendweave.rows.times import has_time
from trendweave.runners.incremental import Incremental, State, needed_columns
from trendweave.runners.options import Settings

if TYPE_CHECKING:
    from trendweave.programs.trends.detection import Detection

#: Columns of events are kept under names that no column of ours has.
_RAW = "event_"


@dataclass(frozen=True, slots=True)
class BoundPoints:
    """A query bound to the columns of some events. `needed` are those that it reads; kept rows have the time as TIME
    and the others under longer names."""

    trend: BoundQuery
    situations: BoundIntervals
    columns: tuple[str, ...]
    needed: tuple[str, ...]

    @property
    def delay(self) -> int:
        """So long after an event, in steps of the time column, it is settled in which situations it lies.

        What has been running for longer than this is long enough, or too long, whenever it ends.
        """
        lengths = self.situations.lengths
        return max(low if high is None else high for low, high in zip(lengths.low, lengths.high, strict=True))

    def kept_name(self, column: str) -> str:
        return TIME if column == self.trend.time else f"{_RAW}{column}"

    def kept(self, events: pa.Table) -> pa.Table:
        """Events that can play a part, as they are kept."""
        events = events.select(list(self.needed))
        known = has_time(events.column(self.trend.time))
        if self.trend.type is not None:
            known = pc.and_(known, pc.is_valid(events.column(self.trend.type)))
        if self.trend.type is not None and self.types is not None:
            kinds = pa.array(sorted(self.types), pa.string())
            known = pc.and_(known, pc.is_in(events.column(self.trend.type).cast(pa.string()), kinds))
        return events.filter(known).rename_columns([self.kept_name(name) for name in events.column_names])

    @property
    def types(self) -> set[str] | None:
        """The types of events that can play a part; None for all: where any event makes situations, or stands between
        two others."""
        source = self.situations.plan.source
        if source is None or self.trend.plan.strategy == "contiguous":
            return None
        return {variable.type for variable in self.trend.plan.variables} | {source}

    def events(self, rows: pa.Table) -> pa.Table:
        """Kept rows as the events that they were."""
        names = {self.kept_name(name): name for name in self.needed}
        return rows.rename_columns([names[name] for name in rows.column_names])

    def prepared(self, rows: pa.Table, needed: np.ndarray, runs: OpenRuns) -> pa.Table:
        """The `needed` ones of kept rows, prepared for the trend. The others tell which situations those lie in."""
        marked = marked_events(self.situations, self.columns, self.events(rows), runs)
        return self.trend.prepare(marked if needed.all() else marked.filter(pa.array(needed)))[0]

    def runs_after(self, rows: pa.Table, runs: OpenRuns) -> OpenRuns:
        return runs_after(self.situations, self.events(rows), runs)


def bind_points(
    plan: SituatedPlan,
    schema: pa.Schema,
    time: str,
    type_: str | None,
    numbers: Numbers,
    detection: Detection | None = None,
) -> BoundPoints:
    trend = bind(plan.trend, with_columns(plan, schema), time, type_, numbers, detection=detection)
    situations = bind_intervals(plan.situations, schema, time, type_)
    needed = {*needed_columns(plan.trend, time, type_), *(path[0] for path in plan.situations.needed_columns)}
    return BoundPoints(trend, situations, plan.columns, tuple(sorted(needed - set(plan.columns))))


class PointsIncremental(Incremental):
    """Takes events in pieces, as `Incremental` does."""

    def __init__(self, plan: SituatedPlan, schema: pa.Schema, time: str, type_: str | None, settings: Settings) -> None:
        self._points = bind_points(plan, schema, time, type_, settings.numbers, settings.detection)
        self._begin(self._points.trend, list(self._points.needed), plan.text)

    def due(self, earliest: int, latest: int, watermark: int | None) -> int:
        return super().due(earliest, latest, self._settled(watermark)) + self._points.delay

    def _rows(self, events: pa.Table) -> tuple[pa.Table, Dropped]:
        return self._points.kept(events), count_dropped(self.plan, events, self.time, self._bound.type)

    def _settled(self, watermark: int | None) -> int | None:
        return None if watermark is None else watermark - self._points.delay

    def _computed(self, state: State, needed: np.ndarray, only: tuple[int, int] | None) -> pa.Table:
        assert state.rows is not None
        return self._bound.compute(self._points.prepared(state.rows, needed, state.runs), only)

    def _let_go(self, state: State, gone: np.ndarray) -> State:
        assert state.rows is not None
        return replace(state, runs=self._points.runs_after(state.rows.filter(pa.array(gone)), state.runs))
