"""`trendweave pipe`: operators on files and on stores, told and run."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from tests.cli.command import trendweave
from trendweave import EventStore
from trendweave.cli.files import read_table, write_table

EVENTS = pa.table(
    {"time": [1, 2, 3, 11, 12], "machine": ["a", "a", "b", "a", "b"], "heat": [81.0, 85.0, 99.0, 70.0, 90.0]}
)
MEANS = "FILTER heat > 80 | AGGREGATE AVG(heat) AS mean, COUNT(*) OVER 10 seconds BY machine"
ROWS = ['"machine","window_start","window_end","time","mean","count"', '"a",0,10,9,83,2', '"b",0,10,9,99,1',
        '"b",10,20,19,90,1']  # fmt: skip


@pytest.fixture
def events(tmp_path: Path) -> str:
    write_table(EVENTS, tmp_path / "events.parquet")
    return str(tmp_path / "events.parquet")


def test_rows_of_a_text(events: str) -> None:
    result = trendweave("pipe", MEANS, "--events", events, "--runner", "local")

    assert (result.returncode, result.stdout.splitlines()) == (0, ROWS)


def test_rows_of_a_file_of_operators_in_a_file(events: str, tmp_path: Path) -> None:
    (tmp_path / "means.pipe").write_text(MEANS.replace(" | ", "\n| -- of hot ones\n"), encoding="utf-8")
    out = tmp_path / "rows.parquet"

    result = trendweave(
        "pipe", str(tmp_path / "means.pipe"), "--events", events, "--runner", "local", "--out", str(out)
    )

    assert (result.returncode, result.stdout) == (0, "")
    assert read_table(out).column("mean").to_pylist() == [83.0, 99.0, 90.0]


def test_operators_from_standard_input_on_a_store(tmp_path: Path) -> None:
    EventStore.create(tmp_path / "store", EVENTS.schema).append(EVENTS)

    asked = ("pipe", "-", "--store", str(tmp_path / "store"), "--between", "0", "5", "--runner", "local")
    result = trendweave(*asked, text=MEANS)

    assert (result.returncode, result.stdout.splitlines()) == (0, ROWS[:3])


def test_what_would_be_done_is_told(events: str) -> None:
    alone = trendweave("pipe", MEANS, "--explain")
    of_events = trendweave("pipe", MEANS, "--events", events, "--explain")

    assert alone.stdout.startswith("FILTER heat > 80\n  events in which the condition is true")
    assert "rows have: machine string, window_start int64" in of_events.stdout
    assert "on a stream all events meet by: machine" in of_events.stdout


def test_devices_are_told_for_files(events: str) -> None:
    told = trendweave("pipe", MEANS, "--events", events, "--explain", "--device", "auto").stdout

    assert f"device: cpu, of {EVENTS.num_rows} events" in told
    assert "  cpu (one core): for fewer events" in told


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("FILTR heat > 80", "--explain"), 1, "did you mean FILTER?"),
        ((MEANS,), 2, "give --events or --store"),
        ((MEANS, "--explain", "--device", "auto"), 2, "tells of a --device with --events or --store"),
        ((MEANS, "--events", "x", "--store", "y"), 2, "give either --events or --store"),
        ((MEANS, "--events", "x", "--using", "index"), 2, "are for --store"),
        ((MEANS, "--events", "x", "--master", "local[2]", "--runner", "local"), 2, "are for --runner spark"),
        ((MEANS, "--events", "x", "--exchange", "rows", "--runner", "local"), 2, "are for --runner spark"),
        ((MEANS, "--events", "x", "--order-by", "heat", "--runner", "local"), 2, "OVER 3 ROWS ORDER BY x"),
        (
            (MEANS, "--events", "x", "--out", "folder", "--runner", "local"),
            1,
            "folders of results are written by Spark",
        ),
    ],
)
def test_wrong_usage_is_told(arguments: tuple[str, ...], code: int, message: str) -> None:
    result = trendweave("pipe", *arguments)

    assert result.returncode == code
    assert message in result.stderr


def test_what_does_not_fit_is_told(events: str) -> None:
    result = trendweave("pipe", "FILTER cold > 1", "--events", events, "--runner", "local")

    assert result.returncode == 1
    assert "TW301: unknown column cold" in result.stderr


def test_more_trends_are_allowed_as_the_error_says(events: str) -> None:
    asked = ("pipe", "MATCH RETURN TRENDS PATTERN S+", "--events", events, "--runner", "local", "--max-trends")

    refused, allowed = (trendweave(*asked, number, "--memory", "64 MB") for number in ("30", "31"))

    assert refused.returncode == 1
    assert "--max-trends allows more" in refused.stderr
    assert (allowed.returncode, len(allowed.stdout.splitlines())) == (
        0,
        1 + 31,
    )  # all subsets of five but the empty one


def test_two_sides_come_in_two_files(events: str, tmp_path: Path) -> None:
    write_table(EVENTS.select(["time", "machine"]), tmp_path / "right.csv")
    asked = ("pipe", "JOIN LEFT 1 second RIGHT 1 ROW BY machine", "--events", events)

    result = trendweave(*asked, "--right", str(tmp_path / "right.csv"), "--runner", "local")

    assert result.returncode == 0
    assert result.stdout.splitlines()[:2] == ['"time","machine","left_time","left_heat","right_time"', '1,"a",1,81,1']
