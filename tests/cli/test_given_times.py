"""`--time-unit` and `--time-format` of every command that reads events."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.cli.command import trendweave
from trendweave.errors import DataError
from trendweave.rows.time_parsing import check_result_times

QUERY = "RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 1 hour SLIDE 1 hour"
FORMAT = "%d.%m.%Y %H:%M"


@pytest.fixture
def millis(tmp_path: Path) -> str:
    path = tmp_path / "millis.csv"
    path.write_text("time,type\n1766601000000,A\n1766601060000,B\n", encoding="utf-8")
    return str(path)


@pytest.fixture
def text(tmp_path: Path) -> str:
    path = tmp_path / "text.csv"
    path.write_text("time,type\n24.12.2025 18:30,A\n24.12.2025 18:31,B\n", encoding="utf-8")
    return str(path)


def test_run(millis: str, text: str) -> None:
    numbers = trendweave("run", "-q", QUERY, "--events", millis, "--runner", "local", "--time-unit", "ms")
    written = trendweave("run", "-q", QUERY, "--events", text, "--runner", "local", "--time-format", FORMAT)

    assert numbers.stdout.splitlines()[1] == "2025-12-24 18:00:00.000Z,2025-12-24 19:00:00.000Z,1"
    assert written.stdout.splitlines()[1] == "2025-12-24 18:00:00.000000Z,2025-12-24 19:00:00.000000Z,1"


def test_text_without_a_format_shows_the_option(text: str) -> None:
    refused = trendweave("run", "-q", QUERY, "--events", text, "--runner", "local")

    assert refused.returncode == 1
    assert "--time-format iso" in refused.stderr


def test_numbers_in_the_wrong_unit_are_refused_before_they_are_printed(millis: str) -> None:
    refused = trendweave("run", "-q", QUERY, "--events", millis, "--runner", "local", "--time-unit", "s")

    assert refused.returncode == 1
    assert refused.stdout == ""
    assert "1766601060000 lies beyond the year 9999" in " ".join(refused.stderr.split())
    assert "--time-unit ms" in refused.stderr


def test_rows_of_spark_are_looked_at_in_the_same_way(caplog: pytest.LogCaptureFixture) -> None:
    far = pa.table({"window_start": pa.array([1_766_601_060_000 * 10**6], pa.timestamp("us", "UTC"))})
    near = pa.table({"window_start": pa.array([8 * 10**15], pa.timestamp("us", "UTC")), "count": [1]})

    check_result_times(far, "time", {})
    with pytest.raises(DataError, match="times of time are taken for seconds since 1970, and 1766601060000 lies"):
        check_result_times(far, "time", {"time_unit": "s"})
    assert not caplog.messages
    check_result_times(near, "time", {"time_unit": "s"})
    assert "8000000000 lies beyond the year 2200" in caplog.messages[0]


@pytest.mark.parametrize(
    "rows",
    [
        {"window_start": [1_714_566_600_000], "count": [1]},
        {"time": [1_714_566_600_000.5], "count": [1]},
        {"name": ["High"], "start": [1_714_566_600_000], "end": [1_714_566_660_000]},
        {"moment": [1_714_566_600_000], "x": [1]},
        {"window_start": pa.nulls(1), "length": [1], "events": [[{"variable": "A", "time": 1_714_566_600_000}]]},
    ],
)
def test_rows_of_spark_tell_of_numbers_without_a_unit(caplog: pytest.LogCaptureFixture, rows: dict[str, Any]) -> None:
    check_result_times(pa.table(rows), "moment", {})

    assert len(caplog.messages) == 1
    assert "lies beyond the year 2200; give time_unit='ms'" in caplog.messages[0]


def test_other_numbers_of_rows_are_no_times(caplog: pytest.LogCaptureFixture) -> None:
    rows = {"window_start": [60], "window_end": [120], "count": [10**12], "start": [10**12]}

    check_result_times(pa.table(rows), "moment", {})
    check_result_times(pa.table({"count": [10**12], "events": [[10**12]]}), "moment", {})

    assert caplog.messages == []


@pytest.mark.parametrize("times", ["2025-12-24", "2025-12-24T00:30", "2025-12-24T02:30:00+02:00"])
def test_usual_times_that_the_file_is_read_with(tmp_path: Path, times: str) -> None:
    (tmp_path / "events.csv").write_text(f"time,type\n{times},A\n", encoding="utf-8")
    asked = ("run", "-q", "RETURN COUNT(*) PATTERN A WITHIN 1 hour SLIDE 1 hour", "--runner", "local")

    found = trendweave(*asked, "--events", str(tmp_path / "events.csv"), "--time-format", "iso")

    assert found.stdout.splitlines()[1].startswith("2025-12-24 00:00:00")


def test_dates_without_a_format_show_the_option(tmp_path: Path) -> None:
    (tmp_path / "events.csv").write_text("time,type\n2025-12-24,A\n", encoding="utf-8")

    refused = trendweave("run", "-q", QUERY, "--events", str(tmp_path / "events.csv"), "--runner", "local")

    assert "give --time-format iso, which takes a date" in " ".join(refused.stderr.split())


def test_check_and_pipe(text: str) -> None:
    checked = trendweave("check", "-q", QUERY, "--schema", text, "--time-format", FORMAT)
    piped = trendweave("pipe", "FILTER type = 'B'", "--events", text, "--runner", "local", "--time-format", FORMAT)

    assert checked.stdout == "ok\n"
    assert piped.stdout.splitlines() == ['"time","type"', '2025-12-24 18:31:00.000000Z,"B"']


def test_stores(millis: str, tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    trendweave("store", "create", store, "--like", millis, "--type", "type", "--time-unit", "ms")
    added = trendweave("store", "append", store, "--events", millis, "--time-unit", "ms")
    found = trendweave("run", "-q", QUERY, "--store", store, "--runner", "local")

    assert "2 rows were added" in added.stdout
    assert found.stdout.splitlines()[1] == "2025-12-24 18:00:00.000Z,2025-12-24 19:00:00.000Z,1"


def test_events_of_one_time_are_ordered_by_a_column(tmp_path: Path) -> None:
    (tmp_path / "events.csv").write_text("time,type,number\n1766601000,B,2\n1766601000,A,1\n", encoding="utf-8")
    asked = ("run", "-q", QUERY, "--events", str(tmp_path / "events.csv"), "--runner", "local")

    assert trendweave(*asked, "--order-by", "number").stdout.splitlines()[1:] == ["1766599200,1766602800,1"]
    assert "unless --order-by names a column" in " ".join(trendweave(*asked).stderr.split())
