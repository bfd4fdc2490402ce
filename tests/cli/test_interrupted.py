"""Ctrl-C ends a command with 130 and without a word, also where Spark speaks of a cancelled job."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from types import FrameType
from unittest.mock import MagicMock

import pytest
from pyspark.errors import PySparkException

from tests.cli.command import trendweave
from trendweave.cli import spark_files, spark_session
from trendweave.cli.failure import Failure
from trendweave.cli.spark_session import explain_spark_errors, telling_interrupts


@pytest.fixture(autouse=True)
def handled_as_by_spark() -> Iterator[None]:
    """PySpark cancels all jobs, then raises."""

    def cancel(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, cancel)
    yield
    assert signal.getsignal(signal.SIGINT) is cancel
    signal.signal(signal.SIGINT, before)


def collect() -> None:
    """What PySpark does at Ctrl-C while it collects rows: it asks what became of the job."""
    try:
        signal.raise_signal(signal.SIGINT)
    finally:
        raise PySparkException("[SPARK_JOB_CANCELLED] Job 1 cancelled part of cancelled job group")


def test_what_spark_says_of_a_cancelled_job_is_ctrl_c() -> None:
    with pytest.raises(KeyboardInterrupt), telling_interrupts(), explain_spark_errors():
        collect()


def test_without_ctrl_c_a_cancelled_job_is_a_failure() -> None:
    with pytest.raises(Failure, match="SPARK_JOB_CANCELLED"), telling_interrupts(), explain_spark_errors():
        raise PySparkException("[SPARK_JOB_CANCELLED] Job 1 cancelled by somebody else")


def test_a_command_ends_with_130_and_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    started = MagicMock()

    def compute_on_spark(*_: object) -> None:
        with spark_session.session("local", {}, progress=False), spark_session.explain_spark_errors():
            collect()

    monkeypatch.setattr(spark_session, "SparkSession", started)
    monkeypatch.setattr(spark_session, "_prepare_environment", lambda *_: None)
    monkeypatch.setattr(spark_files, "compute_on_spark", compute_on_spark)
    done = trendweave("run", "-q", "PATTERN A+", "--events", "a.parquet", "--runner", "spark")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
    builder = started.builder.master.return_value
    while builder.config.called:
        builder = builder.config.return_value
    builder.getOrCreate.return_value.stop.assert_called_once_with()


def test_ignored_interrupts_stay_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with telling_interrupts():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
