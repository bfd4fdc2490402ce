"""One query without a key in a session of its own: `python -m benchmarks.spark_cores TASKS CORES EVENTS FOLDER`.

A session that runs one task at a time still uses two cores, as the JVM fetches and sorts while a Python worker
computes; so TASKS is how many run at once, and CORES is how many cores the session and its workers are held to.
Sessions need a JVM each. They live as long as the benchmark and wait while another one works: a line on standard input
asks for one run, whose seconds are the answer.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

import trendweave
from benchmarks.spark_sessions import compute, start

NO_KEY = "RETURN COUNT(*) PATTERN Stock S+ WHERE S.price > NEXT(S).price WITHIN 1 hour SLIDE 1 minute"
_ANSWER = "seconds "


class Runs:
    """Runs of the query in another process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def seconds(self) -> float:
        """Of one more run."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("run\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith(_ANSWER):
                return float(line.removeprefix(_ANSWER))
        raise RuntimeError("the other process ended")


@contextmanager
def another_session(tasks: int, cores: int, events: str, folder: Path) -> Iterator[Runs]:
    command = [sys.executable, "-m", "benchmarks.spark_cores", str(tasks), str(cores), events, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        # Leaving closes its input, at which it ends by itself.
        yield Runs(process)


def main(tasks: int, cores: int, path: str, folder: Path) -> None:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    spark = start(tasks, folder)
    events = spark.read.parquet(path)
    query = trendweave.query(NO_KEY)
    for _ in sys.stdin:
        begun = perf_counter()
        compute(query.run(events))
        print(f"{_ANSWER}{perf_counter() - begun}", flush=True)
    spark.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], Path(sys.argv[4]))
