"""Queries that came later: they see no events of before, and give rows only for what begins after they came.

Most kinds of queries need no more than not to see earlier events: a trend or a session then begins with an event that
was seen. Windows that are counted from time 0, and those that move with the stream, would begin too early: their rows
are left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.outputs import window_names
from trendweave.planning.plan import MovingWindow, SlidingWindow
from trendweave.planning.situated_plan import QueryPlan, SituatedPlan
from trendweave.results.united_columns import QUERY
from trendweave.rows.times import TimeType, as_steps, moving_reach


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
