"""Spark sessions for benchmarks, what Spark alone does with events, how rows are compared, and the memory of Python
workers."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

#: Of both the floor and the queries: four per core, so that tasks are neither tiny nor few.
PARTITIONS = 8


def start(cores: int, folder: Path) -> SparkSession:
    """A session on this machine alone; Spark's own files go into `folder`."""
    # Under `make` both are set; these lines serve a bare `python -m benchmarks`.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    java_home = Path(sys.prefix) / "java-home"
    if "JAVA_HOME" not in os.environ and java_home.exists():
        os.environ["JAVA_HOME"] = java_home.read_text().strip()

    session = (
        SparkSession.builder.master(f"local[{cores}]")
        .appName("trendweave benchmarks")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "4g")
        .config("spark.local.dir", str(folder / "local"))
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", str(PARTITIONS))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    return session


def compute(frame: DataFrame) -> None:
    """All rows of all columns, to nowhere."""
    frame.write.format("noop").mode("overwrite").save()


def floor(events: DataFrame, types: Sequence[str], keys: Sequence[str], others: Sequence[str] = ()) -> DataFrame:
    """Spark alone: read the columns that a query needs, filter, bring keys together and sort each by time."""
    read = events.select("time", "type", *keys, *others).where(F.col("type").isin(*types))
    return read.repartition(*keys).sortWithinPartitions(*keys, "time")


def check_rows(found: DataFrame, expected: pa.Table) -> None:
    """The same rows as those expected, whatever their order; the last column is compared as text, as the counts of
    others need not be decimals."""
    rows = found.toArrow()
    *keys, last = expected.column_names
    assert rows.column_names == [*keys, last]
    assert rows.num_rows > 0
    as_text = pa.schema([*list(expected.schema)[:-1], pa.field(last, pa.string())])
    order = [(name, "ascending") for name in keys]
    assert rows.cast(as_text).sort_by(order).equals(expected.cast(as_text).sort_by(order))


# Python workers


def forget_peaks() -> None:
    """The highest resident sizes of this process's Python workers count from now on."""
    for process in _workers():
        (process / "clear_refs").write_text("5")


def peak_megabytes() -> float:
    """The highest resident size of one Python worker since then. Idle workers stay for a minute, so all are there."""
    sizes = [_status(process, "VmHWM") for process in _workers()]
    return max(int(size.split()[0]) for size in sizes) / 1024


def _workers() -> list[Path]:
    """Processes that Spark's Python daemon forked below this process, as folders of /proc."""
    parents = {}
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                parents[int(process.name)] = int(_status(process, "PPid"))
            except (FileNotFoundError, ProcessLookupError):
                continue  # it ended while we looked
    found = []
    for number in parents:
        above = number
        while above in parents and above != os.getpid():
            above = parents[above]
        folder = Path("/proc") / str(number)
        if above == os.getpid() and b"pyspark.daemon" in (folder / "cmdline").read_bytes():
            found.append(folder)
    return found


def _status(process: Path, name: str) -> str:
    return (process / "status").read_text().split(f"{name}:")[1].split("\n")[0].strip()
