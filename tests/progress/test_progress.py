"""Bars of long runs: only after a while, only where somebody looks, with what is known; never in the way of a run."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Literal

import pyarrow as pa
import pytest

import trendweave
from trendweave.errors import OptionError
from trendweave.programs.trends import aggregates
from trendweave.progress import displays, expect, follow, reporting, watching
from trendweave.progress.displays import NotebookBar, RichBar, Seen, TqdmBar, find_display, write_seconds
from trendweave.progress.reporting import listening
from trendweave.runners.spark import progress
from trendweave.runners.spark.progress import Tasks, find_tasks, show_tasks

EVENTS = pa.table({"time": list(range(100)), "type": ["A"] * 100, "x": [1.0] * 100})
QUERY = "RETURN COUNT(*) PATTERN A a WITHIN 10 seconds SLIDE 10 seconds"


class Noted:
    """A bar that keeps what it was told."""

    made: list[Noted]

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.closed = False
        Noted.made.append(self)

    def update(self, seen: Seen) -> None:
        self.seen.append(seen)

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def _looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody looks, and a run is long from its beginning on."""
    Noted.made = []
    monkeypatch.setattr(watching, "find_display", lambda: Noted)
    monkeypatch.setattr(watching, "PATIENCE", 0.0)
    monkeypatch.delenv(watching.VARIABLE, raising=False)


def wait_for(ready: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not ready():
        assert time.monotonic() < end, "nothing was shown"
        time.sleep(0.005)


@pytest.mark.usefixtures("_looked_at")
def test_parts_that_are_done_tell_rate_and_time_left() -> None:
    with watching.watching(None, "computing", 1_000_000, lambda: 1000.0):
        for part in follow(range(4), 4):
            if part == 1:
                wait_for(lambda: any(seen.share == 0.25 for bar in Noted.made for seen in bar.seen))
    (bar,) = Noted.made
    seen = next(seen for seen in bar.seen if seen.share == 0.25)
    assert seen.left == pytest.approx(3 * seen.elapsed)
    assert not seen.about
    assert seen.rate == f"{watching.write_rate(250_000 / seen.elapsed)} events/s"
    assert bar.closed


@pytest.mark.usefixtures("_looked_at")
def test_work_that_tells_nothing_is_estimated() -> None:
    with watching.watching(None, "computing", 1000, lambda: 1000.0):
        wait_for(lambda: Noted.made and Noted.made[0].seen)
    seen = Noted.made[0].seen[0]
    assert seen.about
    assert seen.left == pytest.approx(1000, rel=0.01)
    assert "about" in seen.text
    with watching.watching(None, "computing", 1000):
        expect(1e-9)
        wait_for(lambda: len(Noted.made) == 2 and any(seen.about for seen in Noted.made[1].seen))
    late = Noted.made[1].seen[-1]
    assert late.share is None, "what was estimated has passed, so nothing is known any more"
    assert late.rate == ""
    assert "longer than was estimated" in late.text


@pytest.mark.usefixtures("_looked_at")
def test_after_the_last_counted_part_nothing_is_estimated() -> None:
    with watching.watching(None, "5 events", 5, lambda: 1e-9):
        for _ in follow(range(2), 2):
            wait_for(lambda: any(seen.share is not None for bar in Noted.made for seen in bar.seen))
        number = len(Noted.made[0].seen)
        wait_for(lambda: len(Noted.made[0].seen) > number + 1)
        for _ in follow(range(2), 2):
            wait_for(lambda: Noted.made[0].seen[-1].share == 0)
            break
        number = len(Noted.made[0].seen)
        wait_for(lambda: len(Noted.made[0].seen) > number + 1)
    after = Noted.made[0].seen
    made = [seen for seen in after if seen.what == "5 events, making rows of the result"]
    assert made
    assert {(seen.share, seen.left, seen.rate, seen.about) for seen in made} == {(None, None, "", False)}
    assert after[-1].what == "5 events", "a loop that was left has not counted all of its parts"


@pytest.mark.usefixtures("_looked_at")
def test_a_bar_that_fails_does_not_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def broken() -> Any:
        tried.append(1)
        raise RuntimeError("no place to draw")

    monkeypatch.setattr(watching, "find_display", lambda: broken)
    with watching.watching(None, "computing", 1):
        wait_for(lambda: tried)


@pytest.mark.parametrize("numbers", ["decimal", "float64"])
def test_a_run_by_keys_is_cut_so_that_it_tells_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, numbers: Literal["decimal", "float64"]
) -> None:
    """The rows are those of a run that nobody looks at."""
    monkeypatch.setattr(reporting, "LEAST_TO_TELL", 20)
    keys = [place * 7 % 11 for place in range(100)]
    events = EVENTS.append_column("key", pa.array(keys))
    query = trendweave.query(
        "RETURN key, COUNT(*), SUM(S.x) AS total PATTERN A S+ WHERE [key] GROUP-BY key "
        "WITHIN 50 seconds SLIDE 25 seconds"
    )
    alone = query.run(events, numbers=numbers)
    shares = []

    def noting(parts: Any, total: int) -> Any:
        shares.append(total)
        return follow(parts, total)

    monkeypatch.setattr(aggregates, "follow", noting)
    with listening():
        assert query.run(events, numbers=numbers).equals(alone)
    assert shares == [5]


def test_only_the_outer_loop_tells() -> None:
    with listening() as tracker:
        seen = []
        for _ in follow(range(2), 2):
            for _ in follow(range(3), 3):
                seen.append(tracker.done)
        assert seen == [0, 0, 0, 0.5, 0.5, 0.5]
        assert tracker.done is None
        sizes = [tracker.done for _ in follow([1, 3], 4, float)]
        assert sizes == [0, 0.25]


@pytest.mark.usefixtures("_looked_at")
def test_runs_are_watched_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def noting(wanted: bool | None) -> None:
        asked.append(wanted)

    monkeypatch.setattr(watching, "choose_display", noting)
    query = trendweave.query(QUERY)
    rows = query.run(EVENTS)
    assert query.run(EVENTS, progress=False).equals(rows)
    list(query.iter(EVENTS, progress=True))
    trendweave.workload([query]).run(EVENTS, progress=False)
    assert asked == [None, False, True, False]
    with pytest.raises(OptionError, match="progress is True or False"):
        query.run(EVENTS, progress="no")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="progress"):
        query.push(EVENTS.schema, progress=False)


def test_where_bars_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "tqdm", raising=False)
    monkeypatch.delenv(watching.VARIABLE, raising=False)
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(isatty=lambda: False))
    assert watching.choose_display(None) is None
    assert watching.choose_display(True) is None, "nobody looks"
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(isatty=lambda: True))
    assert watching.choose_display(None) is RichBar
    assert watching.choose_display(False) is None
    monkeypatch.setenv(watching.VARIABLE, "off")
    assert watching.choose_display(None) is None
    assert watching.choose_display(True) is RichBar
    shell = type("ZMQInteractiveShell", (), {})()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))  # type: ignore[arg-type]
    assert find_display() is NotebookBar
    monkeypatch.setitem(sys.modules, "tqdm", SimpleNamespace())  # type: ignore[arg-type]
    assert find_display() is TqdmBar


SEEN = Seen("computing", 0.5, "3M events/s", 90.0, 200.0, about=True)


def test_the_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "160")
    bar = RichBar()
    bar.update(SEEN)
    bar.close()
    told = capsys.readouterr()
    assert told.out == "", "rows may be written there"
    assert "computing" in told.err
    assert "50%" in told.err
    assert "about 90 s left, 3M events/s" in told.err


UNKNOWN = Seen("making rows", None, "", None, 200.0)


def test_no_share_is_shown_where_none_is_known(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "160")
    bar = RichBar()
    bar.update(SEEN)
    assert "50%" in capsys.readouterr().err
    bar.update(UNKNOWN)
    told = capsys.readouterr().err
    bar.close()
    assert "making rows" in told
    assert "3 min 20 s so far" in told
    assert "%" not in told


def test_tqdm_shows_no_share_where_none_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []

    def tqdm(**given: Any) -> Any:
        nothing = dict.fromkeys(["set_description_str", "set_postfix_str", "refresh"], lambda *said, **how: None)
        made.append(SimpleNamespace(**given, **nothing))
        return made[0]

    monkeypatch.setitem(sys.modules, "tqdm", SimpleNamespace())  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "tqdm.auto", SimpleNamespace(tqdm=tqdm))  # type: ignore[arg-type]
    bar = TqdmBar()
    formats = []
    for seen in (SEEN, UNKNOWN, SEEN):
        bar.update(seen)
        formats.append("percentage" in made[0].bar_format)
    assert formats == [True, False, True]


def test_the_bar_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    handle = SimpleNamespace(update=shown.append)
    monkeypatch.setattr(
        displays, "import_module", lambda name: SimpleNamespace(HTML=str, display=lambda html, display_id: handle)
    )
    bar = NotebookBar()
    bar.update(SEEN)
    bar.close()
    assert 'value="0.500"' in shown[0]
    assert "about 90 s left" in shown[0]
    assert shown[-1] == ""


def test_lengths_of_time() -> None:
    assert [write_seconds(s) for s in (3.2, 99, 125, 7_300)] == ["3 s", "99 s", "2 min 5 s", "2 h 1 min"]


# Tasks of Spark


def test_tasks_of_active_jobs() -> None:
    stages = {
        1: SimpleNamespace(numTasks=8, numActiveTasks=0, numCompletedTasks=0),  # skipped: done by an earlier job
        2: SimpleNamespace(numTasks=10, numActiveTasks=2, numCompletedTasks=3),
        3: SimpleNamespace(numTasks=4, numActiveTasks=0, numCompletedTasks=0),
        4: None,
    }
    tracker: Any = SimpleNamespace(
        getActiveJobsIds=lambda: [7],
        getJobInfo=lambda job: SimpleNamespace(stageIds=list(stages)),
        getStageInfo=stages.get,
    )
    assert find_tasks(tracker) == Tasks(3, 14, frozenset({7}))
    tracker.getActiveJobsIds = list
    assert find_tasks(tracker) is None


@pytest.mark.usefixtures("_looked_at")
def test_a_bar_per_time_that_jobs_are_active() -> None:
    looks = iter([None, Tasks(0, 4), Tasks(2, 4), None, Tasks(1, 2), None])
    show_tasks(lambda: next(looks, None), Noted, patience=0.0, idle=0.05, pause=0.001)
    first, second = Noted.made
    assert [seen.what for seen in first.seen] == ["Spark: 0 of 4 tasks", "Spark: 2 of 4 tasks"]
    assert first.seen[1].share == 0.5
    assert "tasks/s" in first.seen[1].rate
    assert len(second.seen) == 1
    assert first.closed
    assert second.closed


def test_stages_of_each_job_are_looked_at_apart() -> None:
    idle, running = (SimpleNamespace(numTasks=4, numActiveTasks=active, numCompletedTasks=active) for active in (0, 1))
    stages = {1: running, 2: idle, 3: idle, 4: running, 5: idle}
    jobs = {7: [1, 2], 8: [3, 4], 9: [5]}
    tracker: Any = SimpleNamespace(
        getActiveJobsIds=lambda: list(jobs),
        getJobInfo=lambda job: SimpleNamespace(stageIds=jobs[job]),
        getStageInfo=stages.get,
    )
    assert find_tasks(tracker) == Tasks(2, 12, frozenset({7, 8})), "stage 3 was done earlier, and job 9 waits"


@pytest.mark.usefixtures("_looked_at")
def test_rate_and_time_left_are_of_the_jobs_that_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks are a second apart."""
    first, both, second = frozenset({1}), frozenset({1, 2}), frozenset({2})
    looks = [None, Tasks(0, 0), Tasks(1, 9, first), Tasks(4, 8, first), Tasks(5, 12, both), Tasks(1, 4, second)]
    looks += [Tasks(0, 0), Tasks(1, 4, frozenset({3})), None]
    now = [0.0]

    def look() -> Tasks | None:
        now[0] += 1
        return looks.pop(0) if looks else None

    monkeypatch.setattr(progress, "monotonic", lambda: now[0])
    show_tasks(look, Noted, patience=0.0, idle=3.0, pause=0.0)
    (bar,) = Noted.made
    assert [(seen.what, seen.rate, seen.left) for seen in bar.seen] == [
        ("Spark: 1 of 9 tasks", "1 tasks/s", pytest.approx(8)),
        ("Spark: 4 of 8 tasks", "2 tasks/s", pytest.approx(2)),
        ("Spark: 5 of 12 tasks", "1.67 tasks/s", pytest.approx(4.2)),
        ("Spark: 1 of 4 tasks", "0.5 tasks/s", pytest.approx(6)),
        ("Spark", "", None),
        ("Spark: 1 of 4 tasks", "1 tasks/s", pytest.approx(3)),
    ]


@pytest.mark.usefixtures("_looked_at")
def test_short_jobs_have_no_bar() -> None:
    looks = iter([Tasks(0, 4)] * 5)
    show_tasks(lambda: next(looks, None), Noted, patience=10.0, idle=0.01, pause=0.001)
    assert Noted.made == []


@pytest.mark.usefixtures("_looked_at")
def test_over_connect_nothing_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no status tracker; even asking for the context would be an error."""
    monkeypatch.setattr(progress, "choose_display", lambda wanted: Noted)
    session: Any = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    progress.watch_tasks(session, None)
    assert not progress._RUNNING
