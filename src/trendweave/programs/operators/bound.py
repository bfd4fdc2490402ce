"""What programs of operators have in common: how their rows are prepared."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import pyarrow as pa

from trendweave.expressions.arrow.evaluate import column_of
from trendweave.language import syntax_tree as st
from trendweave.planning.plan import Path
from trendweave.programs.bound import BoundPlan
from trendweave.programs.program import Needs
from trendweave.results.types import column_type
from trendweave.rows.dropped import Dropped
from trendweave.rows.encoded import TIME, adopt_rows
from trendweave.rows.times import keep_rows_with_time


class BoundOperator(BoundPlan):
    """An operator and the columns of its events."""

    @property
    def columns(self) -> Mapping[Path, str]:
        """What is read of an event besides its time, by name in prepared rows."""
        raise NotImplementedError

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of the keys, in prepared rows."""
        return ()

    @property
    def shown_keys(self) -> Mapping[Path, str]:
        return {(name,): key for name, key in zip(self.keys, getattr(self.plan, "keys", ()), strict=True)}

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


def _plain(column: pa.Array) -> pa.Array:
    """Values instead of a dictionary of them."""
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
