"""Where queries are asked to run. Nothing is imported for it, as whoever asks must know a place first."""

from __future__ import annotations

from enum import Enum


class Place(Enum):
    """Where a query is asked to run; the value is how an error calls it."""

    RUN = "run()"
    ITER = "iter()"
    SCHEMA = "schema()"
    INCREMENTAL = "incremental()"
    PUSH = "push()"
    STORE = "run() on a store"
    SPARK_BATCH = "run() on a Spark DataFrame"
    SPARK_STREAM = "run() on a Spark stream"
