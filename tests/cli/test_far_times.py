"""Times before year 1 and after 9999, which Python has not: commands write them as text."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as hs
from rich.console import Console

from tests.cli.command import trendweave
from tests.cli.test_terminal import cells, terminal
from tests.profiles import examples
from trendweave.cli.answers import Answers
from trendweave.cli.live_view import LinesView, LiveView
from trendweave.cli.tables import print_table
from trendweave.consoles import make_console
from trendweave.pictures.times import write_far_times
from trendweave.serve.worker.cells import write_rows

#: The last is the last of all.
BEFORE, AFTER = "-0500-03-01 12:00:00", "+12024-02-29 12:00:00"
LAST = "+294247-01-10 04:00:54.775807"


def micros(text: str) -> int:
    """By NumPy, which has all years, and writes no plus."""
    return int(np.datetime64(text.removeprefix("+").replace(" ", "T"), "us").astype(np.int64))


def far(*texts: str | None, zone: str | None = None) -> pa.Array:
    return pa.array([None if one is None else micros(one) for one in texts], pa.timestamp("us", zone))


def written(array: pa.Array) -> list[str | None]:
    return write_far_times(pa.table({"a": array})).column("a").to_pylist()


@given(hs.integers(-(2**63), 2**63 - 1), hs.sampled_from(["s", "ms", "us"]))
@examples(200)
def test_all_times_without_a_zone_are_as_numpy_writes_them(number: int, unit: str) -> None:
    times = pa.array([number], pa.timestamp(unit)), pa.array([2**62], pa.timestamp(unit))
    text = written(pa.chunked_array([*times]).combine_chunks())[0]
    assert text is not None
    if number == -(2**63):  # what NumPy takes for no time
        assert text.startswith("-")
        return
    sign = "+" if text.startswith("+") else ""
    assert np.datetime64(text.removeprefix("+").replace(" ", "T"), unit) == np.datetime64(number, unit)
    assert sign == ("+" if np.datetime64(number, unit).astype("datetime64[Y]").astype(int) + 1970 > 9999 else "")


@given(hs.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1)), hs.sampled_from([None, "UTC", "Europe/Berlin", "-03:30"]))
@examples(100)
def test_times_beside_them_are_as_python_writes_them(moment: datetime, zone: str | None) -> None:
    times = pa.array([moment.replace(tzinfo=UTC) if zone else moment], pa.timestamp("us", zone))
    expected = str(times[0].as_py())
    table = pa.table({"a": pa.chunked_array([times, far(AFTER, zone=zone)])})
    assert write_far_times(table).column("a")[0].as_py() == expected


def test_zones_go_on_by_the_same_rules() -> None:
    for clock in ("07-01 12:00:00", "01-01 12:00:00", "03-31 00:59:59", "03-31 01:00:00", "10-27 01:00:00"):
        # 10,000 years are 25 times 400, after which all days of the week come again.
        at_home = datetime.fromisoformat(f"2024-{clock}+00:00").astimezone(ZoneInfo("Europe/Berlin"))
        assert written(far(f"+12024-{clock}", zone="Europe/Berlin")) == [f"+1{at_home}"]
    # Before there were rules, clocks went by the sun.
    assert written(far(BEFORE, zone="Europe/Berlin")) == ["-0500-03-01 12:53:28+00:53:28"]


def test_dates_lists_structs_slices_and_nothing() -> None:
    days, day = pa.array([4_000_000, None, 0], pa.date32()), f"+{np.datetime64(4_000_000, 'D')}"
    assert written(days) == [day, None, "1970-01-01"]
    assert written(days.cast(pa.date64())) == [day, None, "1970-01-01"]
    times = far(BEFORE, None, AFTER)
    assert written(times.slice(1)) == [None, AFTER]
    events = pa.StructArray.from_arrays(
        [times, pa.array([1, 2, 3])], ["time", "x"], mask=pa.array([False, True, False])
    )
    assert written(events.slice(1)) == [None, {"time": AFTER, "x": 3}]
    lists = pa.ListArray.from_arrays(pa.array([0, None, 2, 3], pa.int32()), events)
    assert written(lists) == [[{"time": BEFORE, "x": 1}, None], None, [{"time": AFTER, "x": 3}]]
    assert written(lists.slice(2)) == [[{"time": AFTER, "x": 3}]]
    near = pa.table({"a": pa.array([0, None], pa.timestamp("us", "UTC")), "b": [[1], []], "c": ["x", "y"]})
    assert write_far_times(near) is near
    assert written(pa.nulls(2, pa.timestamp("us"))) == [None, None]


@pytest.fixture
def events(tmp_path: Path) -> Path:
    path = tmp_path / "events.parquet"
    times = pa.concat_arrays([far(BEFORE, AFTER), pa.array([0], pa.timestamp("us"))])
    pq.write_table(pa.table({"time": times, "type": ["A"] * 3}), path)
    return path


COUNT = "RETURN COUNT(*) AS n PATTERN A a WITHIN 1 minute SLIDE 1 minute"
STARTS = [BEFORE, "1970-01-01 00:00:00", AFTER]


def test_result_tables_and_json(events: Path, tmp_path: Path) -> None:
    call = ("run", "-q", COUNT, "--runner", "local", "--events", str(events))
    result = trendweave(*call)
    assert (result.returncode, result.stderr) == (0, "")
    assert [row["window_start"] for row in csv.DictReader(io.StringIO(result.stdout))] == STARTS
    for name in ("rows.csv", "rows.json"):
        assert trendweave(*call, "--out", str(tmp_path / name)).returncode == 0
    with (tmp_path / "rows.csv").open(encoding="utf-8") as file:
        assert [row["window_start"] for row in csv.DictReader(file)] == STARTS
    lines = (tmp_path / "rows.json").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["window_start"] for line in lines] == STARTS
    # Files that have types keep them.
    assert trendweave(*call, "--out", str(tmp_path / "rows.parquet")).returncode == 0
    assert pq.read_schema(tmp_path / "rows.parquet").field("window_start").type == pa.timestamp("us")


def test_trends_are_written_and_not_drawn(events: Path, tmp_path: Path) -> None:
    call = ("run", "-q", "RETURN TRENDS PATTERN A a", "--runner", "local", "--events", str(events))
    assert f"a {AFTER}" in trendweave(*call).stdout
    result = trendweave(*call, "--show", str(tmp_path / "trends.html"))
    assert result.returncode == 1
    assert "TW310" in result.stderr
    assert "years 1 to 9999" in result.stderr


def test_terminals_and_pages() -> None:
    table = pa.table({"t": far(BEFORE, LAST), "n": [1, 2]})
    with terminal() as shown:
        print_table(make_console(), table)
    assert [row[0] for row in cells(shown.getvalue())] == [BEFORE, LAST]
    assert write_rows(table, 1000) == ([[BEFORE, "1"], [LAST, "2"]], True)


def test_streams() -> None:
    tables = [pa.table({"t": far(one), "n": [1]}) for one in ("2024-01-01 00:00:00", AFTER)]
    out = io.StringIO()
    lines = LinesView(out, Console(file=io.StringIO()), Answers({"": ("t",)}), time_is_number=False)
    live = LiveView(Console(file=io.StringIO()), "far", Answers({"": ("t",)}), time_is_number=False)
    drawn = io.StringIO()
    for table in tables:
        lines.show_rows(table)
        live.show_rows(table)
        Console(file=drawn, width=100).print(live.draw())
    live.close()
    assert [json.loads(line)["t"] for line in out.getvalue().splitlines()] == ["2024-01-01 00:00:00", AFTER]
    assert [row[0] for row in cells(drawn.getvalue())] == ["2024-01-01 00:00:00", AFTER]
