"""`check` takes what `run` takes, with the same options about times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import trendweave
from trendweave.cli.files import write_table
from trendweave.errors import DataError, OptionError

QUERY = trendweave.query("RETURN COUNT(*) PATTERN A A+ WHERE A.x > 0 WITHIN 1 minute")
RULES = trendweave.workload({"rule": QUERY})
EVENTS = pa.table({"time": ["2024-05-01T12:30", "2024-05-01T12:31"], "type": ["A", "A"], "x": [1, 2]})
KINDS = {
    "Arrow": EVENTS,
    "schema": EVENTS.schema,
    "pandas": EVENTS.to_pandas(),
    "pandas without rows": EVENTS.to_pandas().astype(object).head(0),
    "polars": pl.from_arrow(EVENTS),
    "lazy": pl.from_arrow(EVENTS).lazy(),  # type: ignore[union-attr]
    "dictionaries": EVENTS.to_pylist(),
    "names": {"time": "string", "type": "string", "x": "bigint"},
}


@pytest.mark.parametrize("asked", [QUERY, RULES], ids=["query", "workload"])
@pytest.mark.parametrize("events", KINDS.values(), ids=KINDS)
def test_every_kind_of_table(asked: Any, events: Any) -> None:
    asked.check(events, time_format="iso")


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl", "arrow"])
def test_paths(tmp_path: Path, ending: str) -> None:
    table = EVENTS.append_column("moment", pa.array([1, 2]))
    write_table(table, tmp_path / f"events.{ending}")

    QUERY.check(str(tmp_path / f"events.{ending}"), time="moment")
    with pytest.raises(DataError, match="unknown column y"):
        trendweave.query("RETURN COUNT(*) PATTERN A WHERE A.y > 0").check(tmp_path / f"events.{ending}", time="moment")


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "broken.parquet").write_text("this is no Parquet", encoding="utf-8")
    for path, said in (("broken.parquet", "broken.parquet cannot be read"), ("none.csv", "there is no file")):
        with pytest.raises(DataError, match=said):
            QUERY.check(tmp_path / path)
    with pytest.raises(DataError, match="a schema cannot be read from int"):
        QUERY.check(3)


def test_times_that_are_still_text_are_refused_with_an_option_that_helps() -> None:
    with pytest.raises(DataError, match="the time column time is a string") as refused:
        QUERY.check(EVENTS)
    assert "give time_format='iso'" in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        ("double", {"time_unit": "ms"}, None),
        ("bigint", {"time_unit": "ms"}, None),
        ("timestamp", {"time_format": "iso"}, None),
        ("date", {"time_format": "iso"}, None),
        ("bigint", {"time_format": "%Y%m%d"}, None),
        ("string", {"time_unit": "ms"}, "is a string, and time_unit is for numbers"),
        ("double", {"time_format": "iso"}, "is a float, and time_format is for text"),
        ("timestamp", {"time_unit": "s"}, "is a timestamp, and time_unit is for numbers"),
    ],
)
def test_what_an_option_reads(kind: str, options: Any, said: str | None) -> None:
    columns = {"time": kind, "type": "string", "x": "int"}
    if said is None:
        QUERY.check(columns, **options)
    else:
        with pytest.raises(DataError, match=said):
            QUERY.check(columns, **options)


def test_lengths_are_held_against_the_unit_that_is_read() -> None:
    query = trendweave.query("RETURN COUNT(*) PATTERN A WITHIN 1500 milliseconds SLIDE 1500 milliseconds")
    columns = {"time": "bigint", "type": "string"}

    query.check(columns, time_unit="ms")
    with pytest.raises(DataError, match="finer than the time column"):
        query.check(columns, time_unit="s")


def test_options_are_checked() -> None:
    with pytest.raises(OptionError, match="time_unit is one of"):
        QUERY.check(EVENTS, time_unit="weeks")  # type: ignore[typeddict-item]


@pytest.mark.parametrize(
    ("unit", "hint"),
    [
        ("sec", "did you mean seconds?"),
        ("S", "write 's'"),
        ("Seconds", "write 'seconds'"),
        ("weeks", "write 'ms' for milliseconds since 1970"),
    ],
)
def test_another_unit(unit: str, hint: str) -> None:
    with pytest.raises(OptionError) as refused:
        QUERY.check(EVENTS, time_unit=unit)  # type: ignore[typeddict-item]
    (problem,) = refused.value.problems
    assert problem.message.startswith("time_unit is one of s (seconds), ms (milliseconds), ")
    assert problem.hint == hint
