"""Runs interval queries on rows written as dictionaries, with the columns that the reference twin draws."""

from __future__ import annotations

import contextlib
from typing import Any

import pyarrow as pa

import trendweave
from tests.reference.intervals.query import Query, text
from tests.reference.intervals.relations import can_hold
from tests.reference.intervals.streams import COLUMN_TYPES, INTERVAL_COLUMN_TYPES
from trendweave.errors import PlanningError

ARROW = {int: pa.int64(), float: pa.float64(), str: pa.string()}


def as_table(query: Query, rows: list[dict[str, Any]]) -> pa.Table:
    types = INTERVAL_COLUMN_TYPES if query.from_intervals else COLUMN_TYPES
    return pa.Table.from_pylist(rows, pa.schema([(name, ARROW[kind]) for name, kind in types.items()]))


def full_text(query: Query) -> str:
    """Free names of given intervals need a definition, or nothing would name them."""
    written = text(query)
    free = [definition.name for definition in query.definitions]
    free = [name for name in free if not any(name in (one.left, one.right) for one in query.constraints)]
    bounded = {one.name for one in query.definitions if one.at_least is not None or one.at_most is not None}
    missing = ", ".join(name for name in free if name not in bounded)
    if not query.from_intervals or not missing:
        return written
    if "DEFINE " in written:
        return written.replace("DEFINE ", f"DEFINE {missing}, ", 1)
    line, *others = written.split("\n")
    return "\n".join([line, f"DEFINE {missing}", *others])


def planned(query: Query) -> trendweave.Query | None:
    """None where the planner has rightly found that the constraints can never hold together."""
    if can_hold([definition.name for definition in query.definitions], query.constraints):
        return trendweave.query(full_text(query))
    # Path consistency finds most contradictions, not all; the others have no match.
    with contextlib.suppress(PlanningError):
        return trendweave.query(full_text(query))
    return None
