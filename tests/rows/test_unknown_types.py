"""Columns of which nothing tells the type: of frames and files without rows, and where all values are NULL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import trendweave
from trendweave import operators
from trendweave.errors import DataError
from trendweave.runners import nothing_found

QUERY = trendweave.query(
    "RETURN COUNT(*), MAX(A.x) AS most PATTERN SEQ(A, B) WHERE A.s = 'a' AND A.x > 0 WITHIN 10 s SLIDE 10 s"
)
FRAME = pd.DataFrame({"time": [1, 2], "type": ["A", "B"], "x": [1, 2], "s": ["a", "b"]}).astype({"type": object})
COLUMNS = ["window_start", "window_end", "count", "most"]


@pytest.fixture(autouse=True)
def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nothing_found, "_TOLD", {})


@pytest.mark.parametrize("frame", [FRAME.head(0), FRAME.astype(object).head(0)], ids=["some", "all"])
def test_a_frame_without_rows(frame: pd.DataFrame, caplog: pytest.LogCaptureFixture) -> None:
    rows = QUERY.run(frame)

    assert list(rows.columns) == COLUMNS
    assert rows.empty
    assert caplog.messages == ["the result is empty: there are no events"]
    assert QUERY.schema(frame).names == COLUMNS
    assert list(QUERY.iter(frame)) == []
    assert trendweave.workload({"a": QUERY, "b": "RETURN TRENDS PATTERN A"}).run(frame).empty
    assert operators.filter("x > 0").run(frame).empty


@pytest.mark.parametrize("options", [{}, {"time_unit": "ms"}, {"time_format": "iso"}], ids=str)
def test_a_file_with_a_header_alone(tmp_path: Path, options: Any) -> None:
    path = tmp_path / "events.csv"
    path.write_text("time,type,x,s\n", encoding="utf-8")

    assert QUERY.run(path, **options).column_names == COLUMNS
    assert trendweave.workload({"a": QUERY}).run(str(path), **options).num_rows == 0
    assert trendweave.query("DEFINE High AS x > 100 RETURN SITUATIONS").run(path, **options).num_rows == 0


ROWS: list[dict[str, Any]] = [{"time": time, "type": "A", "v": None} for time in (1, 2)]
NO_VALUE = pa.Table.from_pylist(ROWS)
INT = NO_VALUE.set_column(2, "v", pa.nulls(2, pa.int64()))
SUMS = "RETURN SUM(a.v) AS s, MIN(a.v) AS least, AVG(a.v) AS mean, COUNT(*) AS n PATTERN A a+"


@pytest.mark.parametrize(
    "text",
    [
        SUMS,
        SUMS + " HAVING SUM(a.v) > 3",
        "RETURN EACH MEDIAN(a.v) AS m, SUM(a.v) + 1 AS s PATTERN A a",
        "RETURN EACH COUNT(a) AS n PATTERN A a+ WHERE MAX(a.v) > 3",
        "RETURN EACH FIRST(a.v) AS x PATTERN A a+ WHERE a.v = 'x'",
        "DEFINE H AS time < 2, L AS time > 1 RETURN AVG(H.v) AS x PATTERN H BEFORE L WITHIN 10 s",
    ],
)
def test_a_column_that_is_null_in_all_rows_gives_what_nulls_of_a_type_give(text: str) -> None:
    query = trendweave.query(text)
    texts = "'x'" in text
    typed = INT.set_column(2, "v", pa.nulls(2, pa.string())) if texts else INT
    expected = query.run(typed, numbers="int64").to_pylist()

    found = query.run(NO_VALUE, numbers="int64")
    assert found.to_pylist() == expected
    assert query.schema(NO_VALUE, numbers="int64") == found.schema
    assert list(query.run(ROWS, numbers="int64")) == expected
    for events in (NO_VALUE, NO_VALUE.schema, ROWS, NO_VALUE.to_pandas()):
        query.check(events)


def test_its_aggregates_are_floats_everywhere() -> None:
    query = trendweave.query(SUMS + " WITHIN 10 s SLIDE 10 s")
    found = query.run(NO_VALUE)
    assert [found.schema.field(name).type for name in ("s", "least", "mean")] == [pa.float64()] * 3
    assert list(query.run(NO_VALUE.to_pandas())["n"]) == [3]
    assert (
        trendweave.workload({"a": query, "b": "RETURN EACH MAX(a.v) AS most PATTERN A a"}).run(NO_VALUE).num_rows == 3
    )
    for operator in (operators.window_aggregate("SUM(v)", within="10 s", slide="10 s"),
                     operators.window_aggregate("MIN(v)", rows=2)):  # fmt: skip
        assert [list(row.values())[-1] for row in operator.run(ROWS)] == [None]

    matched = operators.filter("time > 0") | operators.match(
        "RETURN EACH SUM(a.v) AS s, LAST(a.time) AS time PATTERN A a"
    )
    assert [row["s"] for row in matched.run(ROWS)] == [None, None]
    assert matched.schema(NO_VALUE).field("s").type == pa.float64()
    assert "SUM(a.v)" in str(matched.explain(NO_VALUE))

    session = query.push(NO_VALUE)
    session.send_table(NO_VALUE)
    session.send({"time": 3, "type": "A", "v": 2})
    assert session.finish()["least"].to_pylist() == [2.0]
    engine = query.incremental(NO_VALUE)
    state, _ = engine.push(engine.start(), NO_VALUE, 1)
    assert engine.finish(state)["s"].to_pylist() == [None]


def test_where_no_type_can_be_given_a_hint_helps() -> None:
    with pytest.raises(DataError, match=r"TW304(.|\n)*cast the column to double"):
        trendweave.query("RETURN SUM(a.v.x) AS s PATTERN A a").run([{"time": 1, "type": "A", "v": {"x": None}}])


def test_columns_of_rows_that_are_all_null_are_still_refused() -> None:
    with pytest.raises(DataError, match="the type column type is NULL"):
        QUERY.run(pa.table({"time": [1], "type": pa.nulls(1), "x": [1], "s": ["a"]}))
