"""Frames and files without rows, of which nothing tells the types of columns."""

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
    monkeypatch.setattr(nothing_found, "_TOLD", set())


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


def test_columns_of_rows_that_are_all_null_are_still_refused() -> None:
    with pytest.raises(DataError, match="the type column type is NULL"):
        QUERY.run(pa.table({"time": [1], "type": pa.nulls(1), "x": [1], "s": ["a"]}))
