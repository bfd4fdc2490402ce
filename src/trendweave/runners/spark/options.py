"""Options of the Spark runners. Arguments win over the session's `spark.trendweave.*`, and those over defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from trendweave.errors import ExecutionError, Problem
from trendweave.language.durations import read_duration
from trendweave.results.aggregate_table import NUMBERS, Numbers

#: Keyword argument -> the setting's name after `spark.trendweave.`, and its default.
_SETTINGS: dict[str, tuple[str, str]] = {
    "numbers": ("numbers", "decimal"),
    "chunks": ("chunks", "auto"),
    "rows_at_once": ("rowsAtOnce", "1000000"),
    "max_rows_of_a_key": ("maxRowsOfAKey", "20000000"),
    "buckets": ("buckets", "16"),
}
_IN_BATCH = ("numbers", "chunks", "rows_at_once", "max_rows_of_a_key")
_ON_STREAMS = ("numbers", "buckets", "watermark", "early", "late_rows", "metrics")


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """`chunks` is "auto", "off", or the length of a chunk of time in nanoseconds."""

    numbers: Numbers
    chunks: str | int
    rows_at_once: int
    max_rows_of_a_key: int


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """`watermark`: how far events may be behind. `early`: rows of open windows with every micro-batch. `late_rows`:
    late events come out as well. `metrics`: the name under which counts are in the progress of the query."""

    numbers: Numbers
    buckets: int
    watermark: str | None
    early: bool
    late_rows: bool
    metrics: str


def options_of(session: SparkSession, given: dict[str, Any]) -> SparkOptions:
    _check_names(given, _IN_BATCH, "run() on a Spark DataFrame")
    found = {name: _value(session, name, given) for name in _IN_BATCH}
    return SparkOptions(
        _numbers(found["numbers"]),
        _chunks(found["chunks"]),
        _positive("rows_at_once", found["rows_at_once"]),
        _positive("max_rows_of_a_key", found["max_rows_of_a_key"]),
    )


def stream_options_of(session: SparkSession, given: dict[str, Any]) -> StreamOptions:
    _check_names(given, _ON_STREAMS, "run() on a Spark stream")
    return StreamOptions(
        _numbers(_value(session, "numbers", given)),
        _positive("buckets", _value(session, "buckets", given)),
        given.get("watermark"),
        bool(given.get("early", False)),
        bool(given.get("late_rows", False)),
        str(given.get("metrics", "trendweave")),
    )


def _check_names(given: dict[str, Any], known: tuple[str, ...], what: str) -> None:
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise TypeError(f"{what} knows the options {', '.join(known)}, not {', '.join(unknown)}")


def _value(session: SparkSession, name: str, given: dict[str, Any]) -> str:
    setting, default = _SETTINGS[name]
    value = given.get(name)
    return str(session.conf.get(f"spark.trendweave.{setting}", default) if value is None else value)


def _numbers(value: str) -> Numbers:
    for known in NUMBERS:
        if value == known:
            return known
    raise ValueError(f"numbers is one of {', '.join(NUMBERS)}, not {value}")


def _chunks(value: str) -> str | int:
    return value if value in ("auto", "off") else read_duration(value, "chunks")


def _positive(name: str, value: str) -> int:
    if not value.isdecimal() or int(value) == 0:
        message = f"{name} is {value!r} (or spark.trendweave.{_SETTINGS[name][0]})"
        raise ExecutionError([Problem("TW408", message, "give a whole number, at least 1")])
    return int(value)
