"""Drivers of streams in processes of their own, and the ways to kill them and their workers at a chosen moment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.spark.another_session import descends, is_daemon, statistics
from tests.streaming import another_driver
from tests.streaming.another_driver import Job

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 120  # seconds; a driver takes about ten until its first micro-batch


@dataclass(frozen=True)
class Driver:
    """A process group of its own: the Python program, and the JVM that it started."""

    process: subprocess.Popen[bytes]
    log: Path
    checkpoint: Path
    rows: Path

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def kill_workers(self) -> int:
        """The Python workers of this driver, in the middle of whatever they do."""
        parents = {int(entry.name): int(stat[1]) for entry in Path("/proc").glob("[0-9]*") if (stat := of(entry))}
        workers = [
            pid for pid, parent in parents.items() if is_daemon(parent) and descends(pid, self.process.pid, parents)
        ]
        for pid in workers:
            os.kill(pid, signal.SIGKILL)
        return len(workers)

    def under_way(self) -> int | None:
        """The micro-batch that was begun and is not done."""
        begun, done = (numbers(self.checkpoint / name) for name in ("offsets", "commits"))
        return max(begun) if begun and max(begun) not in done else None

    def wait(self, until: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not until():
            assert self.process.poll() is None, f"the driver ended by itself:\n{self.said()[-4_000:]}"
            assert time.monotonic() < deadline, f"nothing came in {PATIENCE} seconds:\n{self.said()[-4_000:]}"
            time.sleep(0.002)

    def said(self) -> str:
        return self.log.read_text()


def of(process: Path) -> list[str]:
    return statistics(int(process.name))


def numbers(folder: Path) -> set[int]:
    return {int(entry.name) for entry in folder.glob("[0-9]*")} if folder.exists() else set()


@contextmanager
def driver(job: Job, log: Path) -> Iterator[Driver]:
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, another_driver.__file__, job.argument()],
            cwd=log.parent,
            env=os.environ | {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(ROOT)},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    running = Driver(process, log, Path(job.checkpoint), Path(job.rows))
    try:
        yield running
    finally:
        if process.poll() is None:
            running.kill()


def kill_in_a_batch(job: Job, log: Path, batch: int) -> None:
    """Kill -9 of the driver as soon as this micro-batch, or one after it, has begun."""
    with driver(job, log) as running:
        running.wait(lambda: (running.under_way() or 0) >= batch)
        time.sleep(0.1)  # so that its tasks run
        running.kill()


def kill_between_rows_and_commit(job: Job, log: Path) -> None:
    """Kill -9 of the driver when files of rows are there that belong to a micro-batch which is not done."""
    before = set(Path(job.rows).glob("*.parquet"))
    with driver(job, log) as running:
        running.wait(lambda: running.under_way() is not None and set(running.rows.glob("*.parquet")) > before)
        running.kill()
