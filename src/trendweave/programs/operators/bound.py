"""What programs of operators have in common: a plan that is bound to the columns of events, and their prepared rows."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import pyarrow as pa

from trendweave.expressions.arrow.evaluate import column_of
from trendweave.language import syntax_tree as st
from trendweave.planning.plan import Path
from trendweave.programs.program import Needs, TimeCut
from trendweave.results.types import ResultColumn, column_type, result_schema
from trendweave.rows.dropped import Dropped
from trendweave.rows.encoded import TIME
from trendweave.rows.prepared import adopt_rows
from trendweave.rows.times import TimeType, keep_rows_with_time, time_type


class BoundOperator:
    """An operator and the columns of its events.

    Attributes:
        plan: What is asked.
        events: The columns of the events.
        time: The column that holds the time.
    """

    plan: Any
    events: pa.Schema
    time: str

    @property
    def columns(self) -> Mapping[Path, str]:
        """What is read of an event besides its time, by name in prepared rows."""
        raise NotImplementedError

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of the keys, in prepared rows."""
        return ()

    @property
    def result(self) -> tuple[ResultColumn, ...]:
        raise NotImplementedError

    @property
    def text(self) -> str:
        return str(self.plan.text)

    @cached_property
    def moment(self) -> pa.DataType:
        return column_type(self.events, (self.time,))

    @cached_property
    def time_type(self) -> TimeType:
        return time_type(self.moment)

    @cached_property
    def schema(self) -> pa.Schema:
        return result_schema(self.result)

    @cached_property
    def needs(self) -> Needs:
        read = [column[0] for path in self.columns for column in sorted(st.columns_at(path))]
        return Needs(
            time=self.time,
            type=None,
            read=tuple(dict.fromkeys([self.time, *read])),
            columns=tuple((name, st.value_at(path)) for path, name in self.columns.items()),
            together=tuple((name,) for name in self.keys),
        )

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

    def partials(self) -> None:
        return None

    def cut(self, wanted: int | None = None) -> TimeCut | None:
        return None

    def describe_key(self, rows: pa.Table, row: int) -> str:
        names = getattr(self.plan, "keys", ())
        shown = (f"{key}={rows.column(name)[row].as_py()}" for key, name in zip(names, self.keys, strict=True))
        return ", ".join(shown) or "(none)"


def _plain(column: pa.Array) -> pa.Array:
    """Values instead of a dictionary of them."""
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
