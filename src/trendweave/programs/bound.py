"""What programs have in common: a plan that is bound to the columns of events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from trendweave.planning.plan import Path
from trendweave.programs.preparing import prepare_rows
from trendweave.programs.program import Needs, PartialResults, TieKeys, TimeCut
from trendweave.results.types import ResultColumn, column_type, result_schema
from trendweave.rows.dropped import Dropped
from trendweave.rows.encoded import TIME
from trendweave.rows.prepared import adopt_rows
from trendweave.rows.times import TimeType, time_type

#: Before the names of columns of events that are kept.
_KEPT = "event_"


class BoundPlan:
    """A plan and the columns of its events.

    Attributes:
        plan: What is asked.
        events: The columns of the events.
        time: The column that holds the time.
    """

    plan: Any
    events: pa.Schema
    time: str

    @property
    def result(self) -> tuple[ResultColumn, ...]:
        raise NotImplementedError

    @property
    def shown_keys(self) -> Mapping[Path, str]:
        """What brings rows together, by its place in prepared rows, as messages call it."""
        return {}

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

    @property
    def needs(self) -> Needs:
        raise NotImplementedError

    @property
    def tie_keys(self) -> TieKeys | None:
        return None

    def prepare(self, events: pa.Table) -> tuple[pa.Table, Dropped]:
        return prepare_rows(self.needs, events)

    def adopt(self, rows: pa.Table) -> pa.Table:
        """Spark hands timestamps over in the session's zone, and flags may be kept in few bits."""
        return adopt_rows(rows, self.moment, self.needs.words)

    def partials(self) -> PartialResults | None:
        return None

    def cut(self, wanted: int | None = None) -> TimeCut | None:
        return None

    def describe_key(self, rows: pa.Table, row: int) -> str:
        return describe_key(rows, row, self.shown_keys)


def describe_key(rows: pa.Table, row: int, keys: Mapping[Path, str]) -> str:
    """The values of keys in a row, for messages."""
    shown = []
    for (column, *fields), name in keys.items():
        value = rows.column(column)[row].as_py()
        for field in fields:
            value = None if value is None else value[field]
        shown.append(f"{name}={value}")
    return ", ".join(shown) or "(none)"


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
