"""What a stream cannot do is said when the query is put on it, with the hint, and not after an hour."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import trendweave
from tests.spark.comparing import settings
from tests.streaming.sample import COLUMNS, QUERY, SLIDING
from trendweave.errors import LanguageError, TrendweaveError

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

NEGATED = "RETURN COUNT(*) PATTERN SEQ(A+, NOT B, A C) WITHIN 1 minute SLIDE 1 minute"
NEXT_MATCH = "RETURN COUNT(*) PATTERN SEQ(A+, B) SEMANTICS skip-till-next-match WITHIN 1 minute SLIDE 1 minute"


@pytest.fixture
def stream(streaming: SparkSession, tmp_path: Path) -> DataFrame:
    return streaming.readStream.schema(COLUMNS).parquet(str(tmp_path))


@pytest.mark.parametrize(
    ("query", "options", "code", "hint"),
    [
        (QUERY, {"watermark": "5 seconds"}, "TW409", "add WITHIN"),
        (NEGATED, {"watermark": "5 seconds", "early": True}, "TW409", "remove early="),
        (NEXT_MATCH, {"watermark": "5 seconds", "early": True}, "TW409", "remove early="),
        (SLIDING, {}, "TW410", "withWatermark"),
        (SLIDING, {"watermark": "5 seconds", "buckets": 0}, "TW408", "at least 1"),
    ],
)
def test_code_and_hint(stream: DataFrame, query: str, options: dict[str, Any], code: str, hint: str) -> None:
    with pytest.raises(TrendweaveError) as refused:
        trendweave.query(query).run(stream, **options)

    assert [problem.code for problem in refused.value.problems] == [code]
    assert hint in refused.value.problems[0].hint


def test_all_problems_at_once_with_another_state_store(streaming: SparkSession, stream: DataFrame) -> None:
    heap = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
    with (
        settings(streaming, sql_streaming_stateStore_providerClass=heap),
        pytest.raises(TrendweaveError) as refused,
    ):
        trendweave.query(QUERY).run(stream)

    assert [problem.code for problem in refused.value.problems] == ["TW409", "TW410", "TW411"]
    assert "HDFSBackedStateStoreProvider" in str(refused.value)
    assert "RocksDBStateStoreProvider" in refused.value.problems[-1].hint


def test_a_session_that_names_no_state_store(spark: SparkSession, stream: DataFrame) -> None:
    name = "spark.sql.streaming.stateStore.providerClass"
    before = spark.conf.get(name, None)
    spark.conf.unset(name)
    try:
        with pytest.raises(TrendweaveError, match=r"TW411: the state store of the session is Spark's default one;"):
            trendweave.query(SLIDING).run(stream, watermark="5 seconds")
    finally:
        if before is not None:
            spark.conf.set(name, before)


def test_unknown_options(stream: DataFrame) -> None:
    with pytest.raises(TypeError, match=r"knows the options .*watermark.*, not chunks, watermrk"):
        trendweave.query(SLIDING).run(stream, watermrk="5 seconds", chunks="off")


def test_watermarks_that_are_no_lengths_of_time(stream: DataFrame) -> None:
    for watermark in ("soon", "-5 seconds", "5"):
        with pytest.raises(LanguageError, match="watermark") as refused:
            trendweave.query(SLIDING).run(stream, watermark=watermark)
        assert refused.value.problems[0].hint


def test_a_watermark_without_delay_and_a_fine_one(stream: DataFrame) -> None:
    for watermark in ("0 seconds", "10 microseconds"):
        assert trendweave.query(SLIDING).run(stream, watermark=watermark).isStreaming
