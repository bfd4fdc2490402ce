"""The first task of a fresh worker of Spark, above one that hands its rows through."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from time import perf_counter

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import trendweave
from benchmarks.registry import ResultRow, workload
from benchmarks.result_rows import at_most
from benchmarks.spark_sessions import compute, start
from benchmarks.workloads.greta_queries import paper_query
from trendweave import datasets
from trendweave.shipping import write_kernels

EVENTS = 100_000


@workload("cold-start-spark")
def cold_start_spark(repeat: int) -> list[ResultRow]:
    """Q1 on 100,000 rows in a worker that has just been started: kernels compiled before, or shipped by the driver."""
    events = datasets.stock(EVENTS, seed=1)
    text = paper_query("greta_q1").source
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRENDWEAVE_CACHE"] = str(Path(folder) / "kernels")
        # A worker per task, so that each task is the first of one.
        os.environ["PYSPARK_SUBMIT_ARGS"] = "--conf spark.python.worker.reuse=false pyspark-shell"
        session = start(1, Path(folder))
        try:
            empty = _seconds(session, events, _hand_through, repeat)
            compiled = _seconds(session, events, _run_query(text), repeat)
            trendweave.query(text).run(events, numbers="text")
            write_kernels(Path(folder) / "shipped.zip")
            session.sparkContext.addPyFile(str(Path(folder) / "shipped.zip"))
            shipped = _seconds(session, events, _run_query(text, folder), repeat)
        finally:
            session.stop()
    name = "first task of a fresh worker, Q1 on 100,000 rows"
    return [
        at_most(name, f"wall time above mapInArrow, kernels {how}", ours - empty, "s", 0.7,
                f"{ours:.2f} s against {empty:.2f} s, medians, importing included")
        for how, ours in (("compiled before", compiled), ("shipped by the driver", shipped))
    ]  # fmt: skip


Work = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def _seconds(session: SparkSession, events: pa.Table, work: Work, repeat: int) -> float:
    frame: DataFrame = session.createDataFrame(events.to_pandas()).coalesce(1).cache()
    frame.count()
    asked = frame.mapInArrow(work, frame.schema)
    compute(asked)  # compiles on the JVM and, where there is something, in the first worker
    seconds = []
    for _ in range(max(3, repeat)):
        begun = perf_counter()
        compute(asked)
        seconds.append(perf_counter() - begun)
    return median(seconds)


def _hand_through(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def _run_query(text: str, folder: str | None = None) -> Work:
    """Work of a task that finds nothing compiled on its machine, if there is a folder to begin with."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if folder is not None:
            os.environ["TRENDWEAVE_CACHE"] = tempfile.mkdtemp(dir=folder)
        import trendweave

        held = list(batches)
        trendweave.query(text).run(pa.Table.from_batches(held), numbers="text")
        yield from held

    return run
