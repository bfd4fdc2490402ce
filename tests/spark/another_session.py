"""A script: one query in a Spark session of its own kind, told by the first argument. Prints its rows as JSON.

killed-worker    two threads, and a Python worker is killed while it works
local-cluster    two executors, each a process of its own
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trendweave

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SMALL = (
    "RETURN g, COUNT(*), AVG(S.x) PATTERN S+ WHERE [k] AND S.x < NEXT(S).x GROUP-BY g "
    "WITHIN 30 seconds SLIDE 10 seconds"
)
#: A predicate that is neither an equality nor an order keeps a worker busy for seconds.
LONG = "RETURN k, COUNT(*) PATTERN S+ WHERE S.x * NEXT(S).x % 7 > 2 AND S.x < NEXT(S).x + 40 GROUP-BY k"
LONG_ROWS = 30_000
MASTERS = {"killed-worker": "local[2,4]", "local-cluster": "local-cluster[2,1,1024]"}


def events(spark: SparkSession, rows: int) -> DataFrame:
    return spark.range(rows).selectExpr("id AS time", "id % 4 AS k", "id % 2 AS g", "id * 37 % 101 AS x")


def session(kind: str) -> SparkSession:
    from pyspark.sql import SparkSession

    return (
        SparkSession.builder.master(MASTERS[kind])
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "1g")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )


# A worker that is killed


def killed_worker(spark: SparkSession) -> dict[str, Any]:
    killed: list[int] = []
    killer = threading.Thread(target=kill_a_busy_worker, args=(killed,), daemon=True)
    killer.start()
    tracker = spark.sparkContext.statusTracker()
    rows = trendweave.query(LONG).run(events(spark, LONG_ROWS), type=None, numbers="log2").collect()
    stages = {stage for job in tracker.getJobIdsForGroup(None) for stage in tracker.getJobInfo(job).stageIds}
    infos = [info for info in map(tracker.getStageInfo, stages) if info is not None]
    return {"rows": as_json(rows), "killed": len(killed), "failed": sum(info.numFailedTasks for info in infos)}


def kill_a_busy_worker(killed: list[int]) -> None:
    """The first worker of this script's Spark that has computed for a second."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for pid in workers():
            if seconds_of_work(pid) > 1:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
                return
        time.sleep(0.05)


def workers() -> list[int]:
    """Children of PySpark's daemons below this process."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (stat := statistics(int(entry.name))):
            parents[int(entry.name)] = int(stat[1])
    return [pid for pid, parent in parents.items() if is_daemon(parent) and descends(pid, os.getpid(), parents)]


def descends(pid: int, ancestor: int, parents: dict[int, int]) -> bool:
    while pid in parents and pid != ancestor:
        pid = parents[pid]
    return pid == ancestor


def statistics(pid: int) -> list[str]:
    """State, parent and so on; nothing where the process is gone. The name before them may hold spaces."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def is_daemon(pid: int) -> bool:
    try:
        return b"pyspark.daemon" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def seconds_of_work(pid: int) -> float:
    stat = statistics(pid)
    return int(stat[11]) / os.sysconf("SC_CLK_TCK") if stat else 0.0


# The other one


def small_query(spark: SparkSession) -> dict[str, Any]:
    result = trendweave.query(SMALL).run(events(spark, 400), type=None)
    return {"rows": as_json(result.collect())}


def as_json(rows: list[Any]) -> list[dict[str, Any]]:
    return [{name: str(value) for name, value in row.asDict().items()} for row in rows]


def main(kind: str) -> None:
    spark = session(kind)
    found = killed_worker(spark) if kind == "killed-worker" else small_query(spark)
    print("RESULT " + json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
