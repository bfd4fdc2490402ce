"""A windowed aggregation bound to the columns of events: the columns of its result, and prepared rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from trendweave.expressions.arrow.evaluate import column_of
from trendweave.language import syntax_tree as st
from trendweave.language.durations import duration_text
from trendweave.planning.operator_plans import AggregatePlan, RowCount
from trendweave.planning.plan import Path
from trendweave.programs.operators.windows.edges import StepSpan
from trendweave.programs.operators.windows.outputs import Outputs, result_columns
from trendweave.programs.operators.windows.slices import foldable
from trendweave.programs.program import Needs, Work
from trendweave.results.types import Numbers, ResultColumn, column_type, result_schema
from trendweave.rows.dropped import Dropped
from trendweave.rows.encoded import TIME
from trendweave.rows.prepared import adopt_rows
from trendweave.rows.times import TimeType, keep_rows_with_time, time_type


@dataclass(frozen=True)
class BoundWindows:
    """A windowed aggregation and the columns of its events: what its rows are, and what is read of events.

    Attributes:
        plan: What is asked.
        events: The columns of the events.
        time: The column that holds the time.
        numbers: How sums of whole numbers are written.
        window: The windows; those of time in steps of the time column.
        outputs: What is asked for, in types.
        device: Where sums and extremes of windows are computed.
    """

    plan: AggregatePlan
    events: pa.Schema
    time: str
    numbers: Numbers
    window: StepSpan | RowCount
    outputs: Outputs
    device: str = "cpu"

    @property
    def text(self) -> str:
        return self.plan.text

    @property
    def facts(self) -> tuple[str, ...]:
        asked = (repr(self.plan.window), repr(self.plan.outputs), *self.plan.keys, "by", *self.plan.order_by)
        # States of windows of time hold sums of floats, where earlier ones held limbs.
        kind = "windows" if isinstance(self.window, RowCount) else "windows of slices"
        return (kind, self.plan.text, self.time, self.numbers, *asked)

    @property
    def work(self) -> Work:
        return "windows"

    @cached_property
    def moment(self) -> pa.DataType:
        return column_type(self.events, (self.time,))

    @cached_property
    def time_type(self) -> TimeType:
        return time_type(self.moment)

    @cached_property
    def result(self) -> tuple[ResultColumn, ...]:
        return result_columns(self.plan, self.outputs, self.events, self.time)

    @cached_property
    def schema(self) -> pa.Schema:
        return result_schema(self.result)

    # Prepared rows

    @cached_property
    def columns(self) -> dict[Path, str]:
        """What is read of an event besides its time, by name in prepared rows: keys, what orders events of one time,
        and what is aggregated, each as columns stand in the schema."""
        first = [(name,) for name in (*self.plan.keys, *self.ties_first)]
        later = {asked.path for asked in self.outputs.asked if asked.path is not None}
        in_schema = sorted(later, key=lambda path: (self.events.get_field_index(path[0]), path))
        return {path: f"column_{number}" for number, path in enumerate(dict.fromkeys([*first, *in_schema]))}

    @property
    def ties_first(self) -> tuple[str, ...]:
        """What orders events of one time first of all; of windows of time their order does not matter."""
        return self.plan.order_by if isinstance(self.window, RowCount) else ()

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The columns of the keys, in prepared rows."""
        return tuple(self.columns[(name,)] for name in self.plan.keys)

    @cached_property
    def ties(self) -> tuple[str, ...] | None:
        """The columns that order events of one time, in prepared rows; None where that does not matter."""
        if not isinstance(self.window, RowCount):
            return None
        measured = [name for path, name in self.columns.items() if path in {one.path for one in self.outputs.asked}]
        return tuple(dict.fromkeys([*(self.columns[(name,)] for name in self.ties_first), *measured]))

    @cached_property
    def needs(self) -> Needs:
        return Needs(
            time=self.time,
            type=None,
            read=tuple(dict.fromkeys([self.time, *self._read_columns()])),
            columns=tuple((name, st.value_at(path)) for path, name in self.columns.items()),
            together=tuple((name,) for name in self.keys),
        )

    def _read_columns(self) -> list[str]:
        return [column[0] for path in self.columns for column in sorted(st.columns_at(path))]

    def prepare(self, events: pa.Table) -> tuple[pa.Table, Dropped]:
        rows = events.num_rows
        events, missing = keep_rows_with_time(events, self.time)
        columns = {TIME: events.column(self.time)}
        columns |= {name: _plain(column_of(events, path)) for path, name in self.columns.items()}
        return pa.table(columns), Dropped(rows, missing)

    def adopt(self, rows: pa.Table) -> pa.Table:
        """Spark hands timestamps over in the session's zone."""
        rows = adopt_rows(rows, self.moment, ())
        for path, name in self.columns.items():
            wanted, place = column_type(self.events, path), rows.schema.get_field_index(name)
            if rows.schema.field(place).type != wanted:
                rows = rows.set_column(place, name, rows.column(place).cast(wanted))
        return rows

    # Piece by piece

    @property
    def folds(self) -> bool:
        """Whether rows are folded on a stream: all values fit 64 bits, and sums are written as they are."""
        kinds = [(one, None if one.path is None else column_type(self.events, one.path)) for one in self.outputs.asked]
        plain = self.numbers == "decimal" or not any(
            one.function == "SUM" and not pa.types.is_floating(kind) for one, kind in kinds
        )
        return plain and foldable([(one.function, one.path, kind) for one, kind in kinds])

    @cached_property
    def folded_paths(self) -> tuple[Path, ...]:
        """The columns that slices keep something of."""
        return tuple(dict.fromkeys(one.path for one in self.outputs.asked if one.path is not None))

    @cached_property
    def folded_columns(self) -> list[tuple[str, pa.DataType]]:
        """The same in prepared rows, with their types; NULL for those of which values are only counted."""
        more = {one.path for one in self.outputs.asked if one.function != "COUNT"}
        return [
            (self.columns[path], column_type(self.events, path) if path in more else pa.null())
            for path in self.folded_paths
        ]

    # In words

    def describe_key(self, rows: pa.Table, row: int) -> str:
        names = zip(self.plan.keys, self.keys, strict=True)
        return ", ".join(f"{shown}={rows.column(name)[row].as_py()}" for shown, name in names) or "(none)"

    def describe(self) -> list[str]:
        """What is done, in plain words."""
        per_key = f" of each {', '.join(self.plan.keys)}" if self.plan.keys else ""
        if isinstance(self.window, RowCount):
            rows, slide = self.window.rows, self.window.slide
            kept = f"the last {max(rows - 1, 0):,} events at most" if rows > 1 else "nothing"
            return [
                f"windows of {rows:,} events{per_key}, every {slide:,} events",
                f"kept on a stream: {kept}{per_key}",
            ]
        step = self.time_type.step
        length, every = duration_text(self.window.length * step), duration_text(self.window.slide * step)
        each = "a row for each slice between the edges of windows" if self.folds else "the events"
        kept = f"kept on a stream: {each}{per_key}, while windows are open"
        return [f"windows of {length}{per_key}, every {every}", kept]


def _plain(column: pa.Array) -> pa.Array:
    """Values instead of a dictionary of them."""
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
