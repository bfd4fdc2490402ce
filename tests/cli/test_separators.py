"""CSV that is not separated by commas, in all commands that read files; what Spark is told is tested without it."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
from pyspark.sql.types import StructType

from tests.cli.command import trendweave
from trendweave.cli import spark_streams
from trendweave.cli.spark_files import escape_path, find_csv_options, read_events
from trendweave.cli.stream import Stream

QUERY = "RETURN COUNT(*) PATTERN A a+ WITHIN 10 s SLIDE 10 s"
TEXT = "time;type;x\n1;A;2,5\n2;A;3,5\n"


@pytest.fixture(params=[";", "\t", "|"])
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "e.csv").write_text(TEXT.replace(";", request.param))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_check_run_and_pipe(folder: Path) -> None:
    assert trendweave("check", "-q", QUERY, "--schema", "e.csv").stdout == "ok\n"
    run = trendweave("run", "-q", QUERY, "--events", "e.csv", "--runner", "local")
    assert run.stdout.splitlines()[1:] == ["0,10,3"]
    pipe = trendweave("pipe", "FILTER time > 1", "--events", "e.csv", "--runner", "local")
    assert pipe.stdout.splitlines()[1:] == ['2,"A","3,5"']


def test_stores(folder: Path) -> None:
    assert trendweave("store", "create", "s", "--like", "e.csv", "--type", "type").stdout == "created\n"
    assert trendweave("store", "append", "s", "--events", "e.csv").stdout == "2 rows were added\n"


def separator_of(folder: Path) -> str:
    return (folder / "e.csv").read_text()[4]


def test_spark_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Both need a session.
    monkeypatch.setattr(spark_streams, "read_schema", lambda _: StructType([]))
    monkeypatch.setattr(spark_streams, "_drop_unreadable", lambda events: events)
    spark = MagicMock()
    for place in (folder / "e.csv", folder):
        read_events(spark, "csv", [escape_path(place)])
        assert spark.read.format().options.call_args.kwargs["sep"] == separator_of(folder)
    columns = "time bigint, type string, x string"
    given = Stream(from_="files", checkpoint="c", events=str(folder), format="csv", schema=columns)
    spark_streams.read_events(given, spark)
    assert options_of(spark)["sep"] == separator_of(folder)


def options_of(spark: MagicMock) -> dict[str, Any]:
    return dict(spark.readStream.format().schema().options.call_args.kwargs)


@pytest.mark.parametrize("option", ["sep", "Delimiter"])
def test_what_the_user_says_counts(folder: Path, option: str) -> None:
    assert find_csv_options(MagicMock(), escape_path(folder), {option: ":"}) == {}


@pytest.mark.parametrize(
    ("columns", "separator"), [(["time", "type"], ","), (["time;type"], ";"), (["time\ttype"], "\t"), (["time"], ",")]
)
def test_spark_is_asked_for_files_elsewhere(columns: list[str], separator: str) -> None:
    spark = MagicMock()
    spark.read.option.return_value.csv.return_value.columns = columns
    assert find_csv_options(spark, "s3a://bucket/e.csv") == {"sep": separator}


def test_an_empty_folder_of_a_stream_has_commas(tmp_path: Path) -> None:
    spark = MagicMock()
    spark.read.option.return_value.csv.return_value.columns = []
    assert find_csv_options(spark, escape_path(tmp_path)) == {"sep": ","}
