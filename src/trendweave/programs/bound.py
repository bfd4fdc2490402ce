"""What programs have in common: a plan that is bound to the columns of events."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from trendweave.planning.plan import Path
from trendweave.programs.preparing import prepare_rows
from trendweave.programs.program import Program
from trendweave.results.types import column_type
from trendweave.rows.dropped import Dropped
from trendweave.rows.encoded import TIME, adopt_rows
from trendweave.rows.times import TimeType, time_type

#: Before the names of columns of events that are kept.
_KEPT = "event_"


class BoundPlan(Program):
    """A plan and the columns of its events.

    Attributes:
        plan: What is asked.
        time: The column that holds the time.
    """

    plan: Any
    time: str

    @property
    def text(self) -> str:
        return str(self.plan.text)

    @cached_property
    def moment(self) -> pa.DataType:
        return column_type(self.events, (self.time,))

    @cached_property
    def time_type(self) -> TimeType:
        return time_type(self.moment)

    def prepare(self, events: pa.Table) -> tuple[pa.Table, Dropped]:
        return prepare_rows(self.needs, events)

    def adopt(self, rows: pa.Table) -> pa.Table:
        """Spark hands timestamps over in the session's zone, and flags may be kept in few bits."""
        return adopt_rows(rows, self.moment, self.needs.words)


@dataclass(frozen=True)
class WholeEvents:
    """Events that are kept as they are until they are computed: rows with their time as TIME, and all other columns
    under names that no column of ours has.

    Attributes:
        columns: Those that are kept.
        time: The column that holds the time.
    """

    columns: pa.Schema
    time: str

    def name(self, column: str) -> str:
        """What rows call a column of events."""
        return TIME if column == self.time else f"{_KEPT}{column}"

    def path(self, path: Path) -> Path:
        """Where rows have an attribute of events."""
        return (self.name(path[0]), *path[1:])

    @staticmethod
    def shown(path: Path) -> str:
        """What events call an attribute of rows, but for the time."""
        return ".".join((path[0].removeprefix(_KEPT), *path[1:]))

    def keep(self, events: pa.Table) -> pa.Table:
        """Events as rows."""
        return events.select(self.columns.names).rename_columns([self.name(name) for name in self.columns.names])

    def adopt(self, rows: pa.Table) -> pa.Table:
        """Rows that another engine has kept."""
        kept = pa.schema([field.with_name(self.name(field.name)) for field in self.columns])
        return rows.select(kept.names).cast(kept)

    def restore(self, rows: pa.Table) -> pa.Table:
        """Rows as events."""
        names = {self.name(name): name for name in self.columns.names}
        return rows.rename_columns([names[name] for name in rows.column_names])
