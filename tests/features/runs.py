"""What tests of language features share: events as tables, results as rows, and trends listed by name.

Events are named by type and second: `a1` is of type A at second 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from tests.reference.by_hand import stream
from trendweave.errors import TrendweaveError

Row = dict[str, Any]
Events = list[Row] | pa.Table

__all__ = ["as_rows", "as_table", "assert_trends", "codes", "count", "only", "stream", "table", "windows"]


def table(written: str, **columns: Any) -> pa.Table:
    """`table("a1 b2", x=pa.array(...))`: as `stream`, with columns of any Arrow type."""
    events = as_table(stream(written))
    for name, values in columns.items():
        events = events.append_column(name, values if isinstance(values, pa.Array) else pa.array(values))
    return events


def as_table(events: Events) -> pa.Table:
    if isinstance(events, pa.Table):
        return events
    schema = pa.schema({"time": pa.int64(), "type": pa.string()})
    names = dict.fromkeys(name for event in events for name in event if name not in ("time", "type"))
    found = pa.Table.from_pylist(events, schema=schema)
    for name in names:
        found = found.append_column(name, pa.array([event.get(name) for event in events]))
    return found


def as_rows(result: pa.Table) -> list[Row]:
    """Counts as Python integers, whatever type they came in."""
    return [{name: _plain(value) for name, value in row.items()} for row in result.to_pylist()]


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, Decimal) and value.as_tuple().exponent == 0 else value


def only(rows: list[Row]) -> Row:
    """The one row of a query without a window, without its empty window columns."""
    (row,) = rows
    assert row.pop("window_start") is None
    assert row.pop("window_end") is None
    return row


def count(rows: list[Row]) -> int:
    """COUNT(*) of a query without a window; no row means none."""
    return only(rows)["count"] if rows else 0


def windows(rows: list[Row], value: str = "count") -> dict[tuple[Any, Any], Any]:
    """One value by window; also asserts that no window comes twice."""
    found = {(row["window_start"], row["window_end"]): row[value] for row in rows}
    assert len(found) == len(rows)
    return found


def assert_trends(
    run: Callable[..., list[Row]],
    clauses: str,
    events: list[Row],
    *trends: str,
    variables: dict[str, str] | None = None,
) -> None:
    """The query finds these trends and no others: as many as there are, and each event in as many as here.

    `assert_trends(run, "PATTERN SEQ(A+, B)", stream("a1 a2 b3"), "a1 b3", "a2 b3", "a1 a2 b3")`. `variables` maps the
    letters of trends to types where they are not the types themselves: `x1` with `{"x": "A"}` is a1 read as x.
    """
    read_as = variables or {}
    names = [f"{event['type'].lower()}{event['time']}" for event in events]
    assert len(set(names)) == len(names), "events that have the same name cannot be told apart"
    marked = [
        event | {f"is_{name}": int(own == name) for name in names} for own, event in zip(names, events, strict=True)
    ]
    outputs = ["COUNT(*)"]
    for letter in sorted({word[0] for trend in trends for word in trend.split()}):
        type_ = read_as.get(letter, letter.upper())
        variable = letter if letter in read_as else type_
        outputs += [f"SUM({variable}.is_{n}) AS {letter}{n[1:]}" for n in names if n[0].upper() == type_.upper()]
    found = run(f"RETURN {', '.join(outputs)} {clauses}", marked)
    if not trends:
        assert found == []
        return
    expected = {output.split(" AS ")[1]: 0 for output in outputs[1:]} | _in_how_many(trends)
    # SUM is NULL where no trend has an event of the variable.
    assert {name: value or 0 for name, value in only(found).items()} == expected | {"count": len(trends)}


def _in_how_many(trends: Iterable[str]) -> dict[str, int]:
    distinct = list(trends)
    assert len(set(distinct)) == len(distinct), "a trend is listed twice"
    return dict(Counter(word for trend in distinct for word in trend.split()))


def codes(refused: pytest.ExceptionInfo[TrendweaveError]) -> list[str]:
    return [problem.code for problem in refused.value.problems]
