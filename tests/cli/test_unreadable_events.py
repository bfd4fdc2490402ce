"""Events that cannot be taken are refused with the cause, and with a hint that leads away from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException

import trendweave
from trendweave.cli.spark_files import read_events
from trendweave.errors import DataError

NANOSECONDS = "[PARQUET_TYPE_ILLEGAL] Illegal Parquet type: INT64 (TIMESTAMP(NANOS,false)). SQLSTATE: 42846"


class _Refusing:
    """A session whose reader says no."""

    def __init__(self, message: str) -> None:
        self.read, self._message = self, message

    def format(self, kind: str) -> _Refusing:
        return self

    def options(self, **options: Any) -> _Refusing:
        return self

    def load(self, paths: list[str]) -> None:
        raise AnalysisException(self._message)


@pytest.mark.parametrize(
    ("message", "shown", "hint"),
    [
        (
            NANOSECONDS,
            "Illegal Parquet type: INT64 (TIMESTAMP(NANOS,false)).",
            "write them in microseconds, or use --runner local",
        ),
        ("[X] no such file. SQLSTATE: 42K03 SQLSTATE: XXKST", "[X] no such file.", "are the files there"),
    ],
)
def test_what_spark_cannot_read(message: str, shown: str, hint: str) -> None:
    session: Any = _Refusing(message)
    with pytest.raises(DataError) as refused:
        read_events(session, "parquet", ["a.parquet"])
    (problem,) = refused.value.problems
    assert problem.code == "TW308"
    assert problem.message.endswith(shown)
    assert hint in problem.hint


def test_a_pandas_on_spark_frame_is_refused_with_the_hint() -> None:
    frame = type("DataFrame", (), {"__module__": "pyspark.pandas.frame"})()
    with pytest.raises(DataError, match=r"TW308: the events are a pandas-on-Spark frame\n  hint: .*to_spark\(\)"):
        trendweave.query("RETURN COUNT(*) PATTERN A+").run(frame)


def test_a_store_refuses_it_in_the_same_words(tmp_path: Path) -> None:
    frame = type("DataFrame", (), {"__module__": "pyspark.pandas.frame"})()
    store = trendweave.EventStore.create(tmp_path / "store", {"time": pa.int64(), "type": pa.string()})
    with pytest.raises(DataError, match=r"TW308: the events are a pandas-on-Spark frame\n  hint: .*to_spark\(\)"):
        store.append(frame)
