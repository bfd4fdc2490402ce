"""What comes to a query piece by piece: events with the right columns, watermarks, and states that belong to it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from trendweave.errors import DataError, Problem
from trendweave.events import Kind, schema_of
from trendweave.rows.times import TimeType, as_steps, time_type


class PieceEngine:
    """What engines that take events in pieces have in common. `facts` tell queries apart whose states do not fit."""

    def __init__(
        self, events: pa.Schema, time: str, type_: str | None, needed: list[str], facts: Sequence[str]
    ) -> None:
        #: The columns of events that the query needs.
        self.columns = pa.schema([events.field(name) for name in needed])
        self.time, self.type = time, type_
        self.kind: TimeType = time_type(events.field(time).type)
        types = [f"{field.name} {field.type}" for field in self.columns]
        #: Names the query and the columns that it is computed from; a state belongs to one of these.
        self.made_for = hashlib.sha256("\n".join([*facts, *types]).encode()).hexdigest()[:16]

    def check_owner(self, made_for: str) -> None:
        if made_for != self.made_for:
            message = "the state was made for another query, or for events with other columns"
            raise DataError([Problem("TW311", message, "go on with the query that made it, or start anew")])


def fitting(events: pa.Table, wanted: pa.Schema) -> pa.Table:
    """The columns that the query needs, in the types that it was made for."""
    columns, kinds, given = {}, schema_of(wanted), schema_of(events.schema)
    for field in wanted:
        name = field.name
        if name not in given or given[name].kind not in (kinds[name].kind, Kind.NULL):
            found = given[name].kind.value if name in given else "missing"
            message = f"column {name} of a piece is {found}; the query was made for {field.type}"
            raise DataError([Problem("TW312", message, "give every piece the same columns")])
        try:
            columns[name] = events.column(name).cast(field.type)
        except pa.ArrowException as error:
            message = f"column {name} of a piece does not fit {field.type}: {error}"
            raise DataError([Problem("TW312", message, "give every piece the same columns")]) from error
    return pa.table(columns)


def watermark_step(watermark: Any, kind: TimeType) -> int:
    """A watermark, given as a value of the time column, in steps."""
    try:
        moment = pa.array([watermark], kind.arrow)
        if kind.is_float and not np.isfinite(watermark):
            raise ValueError("it is not finite")
        if not kind.is_float and isinstance(watermark, float):
            raise TypeError("it is a float")
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        message = f"the watermark {watermark!r} is no time of the time column, which is {kind.arrow}: {error}"
        raise DataError([Problem("TW312", message, "give it as a value of that type")]) from error
    return int(as_steps(pa.chunked_array([moment]), kind)[0])
