"""How far the tasks of Spark are, while somebody waits for an action on a result."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from threading import Event, Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple, Protocol

from trendweave.progress.displays import Display, Seen, is_notebook
from trendweave.progress.watching import PATIENCE, choose_display, write_rate

if TYPE_CHECKING:
    from pyspark import SparkStageInfo, StatusTracker
    from pyspark.sql import SparkSession


_PAUSE, _IDLE = 0.5, 600.0
_LOCK = Lock()
_RUNNING: set[int] = set()


class Tasks(NamedTuple):
    """Tasks of all active jobs: those that are done, and all of them; and the jobs that have begun with theirs."""

    done: int
    total: int
    jobs: frozenset[int] = frozenset()


class LooksAtTasks(Protocol):
    """Gives the tasks of active jobs; None where no job is active."""

    def __call__(self) -> Tasks | None: ...


def watch_tasks(spark: SparkSession, wanted: bool | None) -> None:
    """Show how far active jobs are, from now on; nothing where nobody looks, or where Spark shows it itself.

    Args:
        spark: The session of the events.
        wanted: Whether there may be a bar; None: where somebody looks.
    """
    display = choose_display(wanted)
    if display is None or type(spark).__module__.startswith("pyspark.sql.connect"):
        return
    if not is_notebook() and spark.conf.get("spark.ui.showConsoleProgress", "false") == "true":
        return
    tracker = spark.sparkContext.statusTracker()
    key = id(spark.sparkContext)
    with _LOCK:
        if key in _RUNNING:
            return
        _RUNNING.add(key)

    def watch() -> None:
        try:
            # The session may be stopped at any time, which ends the watch.
            with suppress(Exception):
                show_tasks(lambda: find_tasks(tracker), display)
        finally:
            with _LOCK:
                _RUNNING.discard(key)

    Thread(target=watch, name="trendweave-progress", daemon=True).start()


def show_tasks(
    look: LooksAtTasks,
    make: Callable[[], Display],
    patience: float = PATIENCE,
    idle: float = _IDLE,
    pause: float = _PAUSE,
) -> None:
    """Show a bar for as long as jobs are active, again and again, until none was active for long.

    Args:
        look: Tells the tasks of active jobs.
        make: Makes a bar.
        patience: Seconds that jobs run before a bar is shown.
        idle: Seconds without jobs after which this ends.
        pause: Seconds between two looks.
    """
    begun: float | None = None
    bar: Display | None = None
    last, clock = monotonic(), Event()
    since: dict[int, float] = {}
    before = last
    try:
        while begun is not None or monotonic() - last < idle:
            tasks = look()
            now = monotonic()
            if tasks is None:
                begun, last = None, now if begun is not None else last
                if bar is not None:
                    bar.close()
                    bar = None
            else:
                begun = now if begun is None else begun
                # A job that is seen for the first time has begun after the look before.
                since = {job: since.get(job, before) for job in tasks.jobs}
                if bar is None and tasks.total and now - begun >= patience:
                    bar = make()
                if bar is not None:
                    bar.update(_see(tasks, now - min(since.values(), default=begun)))
            before = now
            clock.wait(pause)
    finally:
        if bar is not None:
            bar.close()


def _see(tasks: Tasks, elapsed: float) -> Seen:
    """Rate and time left are those of the jobs that run now: earlier ones had tasks of other kinds."""
    if not tasks.total:
        return Seen("Spark", None, "", None, elapsed)
    share = tasks.done / tasks.total
    left = elapsed * (1 - share) / share if share and elapsed else None
    rate = f"{write_rate(tasks.done / elapsed)} tasks/s" if tasks.done and elapsed else ""
    return Seen(f"Spark: {tasks.done:,} of {tasks.total:,} tasks", share, rate, left, elapsed)


def find_tasks(tracker: StatusTracker) -> Tasks | None:
    """Count the tasks of active jobs. Stages of a job before its first one that has begun are skipped ones, done
    earlier."""
    jobs = tracker.getActiveJobsIds()
    if not jobs:
        return None
    counted: dict[int, SparkStageInfo] = {}
    begun: set[int] = set()
    for job in jobs:
        numbers = getattr(tracker.getJobInfo(job), "stageIds", ())
        stages = {number: info for number in numbers if (info := tracker.getStageInfo(number)) is not None}
        running = [number for number, info in stages.items() if info.numActiveTasks or info.numCompletedTasks]
        if running:
            begun.add(job)
            counted |= {number: info for number, info in stages.items() if number >= min(running)}
    done = sum(info.numCompletedTasks for info in counted.values())
    return Tasks(done, sum(info.numTasks for info in counted.values()), frozenset(begun))
