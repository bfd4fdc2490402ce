"""Events in every kind of table, and rows as the same kind."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import trendweave
from trendweave import operators
from trendweave.cli.files import write_table
from trendweave.errors import DataError
from trendweave.rows.tables import as_pandas
from trendweave.table_files import choose_separator, read_file

COUNT = trendweave.query("RETURN COUNT(*) PATTERN A+")
EVENTS = pa.table({"time": [1, 2, 3], "type": ["A", "A", "B"], "x": [1, None, 3]})


class OtherFrame:
    """A frame that only speaks Arrow's C interface."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


class Relation:
    """As relations of DuckDB are that lack the interface."""

    def to_arrow_table(self) -> pa.Table:
        return EVENTS


@pytest.mark.parametrize(
    "events", [OtherFrame(EVENTS), EVENTS.to_batches()[0], Relation()], ids=["C", "batch", "DuckDB"]
)
def test_other_kinds_give_arrow_tables(events: Any) -> None:
    assert COUNT.run(events).column("count").to_pylist() == [3]
    assert COUNT.schema(events) == COUNT.run(EVENTS).schema.remove_metadata()


def test_lists_of_dictionaries_give_lists() -> None:
    events = [{"time": 1, "type": "A"}, {"time": 2, "type": "A", "x": 3}]
    pairs = operators.window_join("left.x = right.x", left="5 seconds", right="5 seconds")

    assert COUNT.run(events) == [{"window_start": None, "window_end": None, "count": 3}]
    assert type(COUNT.run(events)[0]["count"]) is int
    assert operators.filter("x = 3").run(events) == [{"time": 2, "type": "A", "x": 3}]
    assert len(pairs.run(events, events)) == 1
    assert COUNT.incremental(events).schema == COUNT.schema(events)


@pytest.mark.parametrize("first", [datetime(1, 1, 1), datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23)])
def test_times_that_python_has_not_are_told(first: datetime) -> None:
    """A window that an event of the first year lies in may begin before it, and one of the last year end behind it."""
    events = [{"time": first + timedelta(seconds=number), "type": "A"} for number in range(2)]
    text = "RETURN COUNT(*) AS n PATTERN A+ WITHIN 7 days"
    assert [row["n"] for row in trendweave.query(text).run(events)] == [1, 3]
    windows = trendweave.query(f"{text} SLIDE 7 days")
    with pytest.raises(DataError, match=r"TW310: .*years 1 to 9999\n.*give events as an Arrow table"):
        windows.run(events)
    assert windows.run(pa.Table.from_pylist(events)).column("n").to_pylist() == [3]
    session = windows.push(pa.Table.from_pylist(events).schema)
    session.send_table(pa.Table.from_pylist(events))
    if first.year == 1:
        with pytest.raises(DataError, match="TW310"):
            session.send({"time": first + timedelta(days=30), "type": "A"})


@pytest.mark.parametrize("ending", ["parquet", "csv", "json", "jsonl", "arrow", "feather"])
def test_paths_of_files_give_arrow_tables(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"events.{ending}"
    write_table(EVENTS, path)

    assert COUNT.run(path).column("count").to_pylist() == COUNT.run(str(path)).column("count").to_pylist() == [3]


@pytest.mark.parametrize(
    ("events", "hint"),
    [
        ({"time": [1], "type": ["A"]}, "pyarrow.table"),
        (iter([{"time": 1}]), "push()"),
        ([], "an Arrow table"),
        ([1, 2], "a list of dictionaries"),
        (5, "Arrow C stream interface"),
        ("nowhere.parquet", "the path of a file"),
        (Path(__file__).parent, "trendweave.read"),
        (__file__, ".parquet"),
    ],
    ids=("dictionary", "iterator", "empty list", "numbers", "number", "no file", "folder", "other file"),
)
def test_what_is_no_table_is_answered(events: Any, hint: str) -> None:
    with pytest.raises(DataError) as refused:
        COUNT.run(events)

    (problem,) = refused.value.problems
    assert problem.code == "TW308"
    assert hint in problem.hint


def test_an_array_of_json_is_told_from_lines(tmp_path: Path) -> None:
    (tmp_path / "events.json").write_text(' [{"time": 1, "type": "A"}, {"time": 2, "type": "A"}]', encoding="utf-8")
    with pytest.raises(DataError, match=r"jq -c '\.\[\]' events\.json") as refused:
        trendweave.query("RETURN COUNT(*) PATTERN A+").run(str(tmp_path / "events.json"))
    assert "it is one array; JSON files have one object per line here" in str(refused.value)


def test_a_damaged_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "events.parquet").write_bytes(b"no file of Parquet")

    with pytest.raises(DataError, match=r"events\.parquet cannot be read"):
        COUNT.run(tmp_path / "events.parquet")


def test_counts_in_pandas_are_whole_numbers() -> None:
    counts = [pa.array(values, pa.decimal128(38, 0)) for values in ([1, 2], [1, None], [2**70, None])]

    frame = as_pandas(pa.table({"plain": counts[0], "some": counts[1], "large": counts[2]}))

    assert [str(kind) for kind in frame.dtypes] == ["int64", "Int64", "object"]
    assert frame["large"].tolist() == [2**70, None]
    assert frame["some"].isna().tolist() == [False, True]


def test_decimals_of_users_stay_what_they_are() -> None:
    frame = as_pandas(pa.table({"price": pa.array([1], pa.decimal128(10, 0))}))

    assert frame["price"].dtype == object


def test_whole_numbers_beside_null_stay_whole() -> None:
    least = trendweave.query("RETURN MIN(a.x) PATTERN A a GROUP-BY time")

    frame = least.run(pd.DataFrame({"time": [1, 2], "type": "A", "x": pd.array([2**60 + 1, None], dtype="Int64")}))

    assert frame["min_a_x"].tolist() == [2**60 + 1, pd.NA]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC"])
def test_times_inside_events_are_timestamps(unit: str, zone: str | None) -> None:
    times = pd.Series(pd.to_datetime([1, 2], unit="s")).dt.as_unit(unit).dt.tz_localize(zone)
    trends = trendweave.query("RETURN TRENDS PATTERN SEQ(A, B)")

    (events,) = trends.run(pd.DataFrame({"time": times, "type": ["A", "B"]}))["events"]

    assert isinstance(events, np.ndarray)
    assert [event["time"] for event in events] == times.tolist()
    assert all(isinstance(event["time"], pd.Timestamp) for event in events)


def test_lists_of_times_may_lack_something() -> None:
    kind = pa.list_(pa.struct([("time", pa.timestamp("ns")), ("x", pa.int64())]))
    values = [[{"time": 1, "x": 2}, None, {"time": None, "x": None}], None, []]

    found = as_pandas(pa.table({"events": pa.array(values, kind)}).slice(0))["events"].tolist()

    assert list(found[0]) == [{"time": pd.Timestamp(1), "x": 2}, None, {"time": None, "x": None}]
    assert found[1] is None
    assert list(found[2]) == []


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_csv_is_read_by_the_separator_of_its_header(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "events.csv"
    text = 'time,type,"x, y; z"\n1,A,2\n2,A,\n'
    path.write_text(text if separator == "," else text.replace(",", separator).replace(f"x{separator} y", "x, y"))

    table = read_file(path)

    assert table.column_names == ["time", "type", "x, y; z"]
    assert table.to_pydict() == {"time": [1, 2], "type": ["A", "A"], "x, y; z": [2, None]}
    assert COUNT.run(path).column("count").to_pylist() == [3]


def test_an_empty_cell_of_csv_is_null_with_and_without_quotes(tmp_path: Path) -> None:
    """As Spark reads it."""
    path = tmp_path / "events.csv"
    path.write_text('time,type,x,s\n1,A,"",""\n2,A,,\n3,"","1","a"\n4,A,"2"," "\n')
    found = read_file(path)
    assert found.to_pydict() == {
        "time": [1, 2, 3, 4],
        "type": ["A", "A", None, "A"],
        "x": [None, None, 1, 2],
        "s": [None, None, "a", " "],
    }
    missing = trendweave.query("RETURN COUNT(*) AS n PATTERN A WHERE A.s IS NULL").run(path, numbers="int64")
    assert missing.column("n").to_pylist() == [2]


@pytest.mark.parametrize(
    ("header", "separator"),
    [("time", ","), ("", ","), ("a;b,c", ","), ("a|b;c;d", ";"), ("a b\tc", "\t"), ('"a,b"|c', "|"), ('"a;b"', ",")],
)
def test_separators_of_headers(header: str, separator: str) -> None:
    assert choose_separator(header) == separator
