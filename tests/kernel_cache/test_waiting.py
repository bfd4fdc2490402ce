"""Processes that need the same wait for the first of them, and a process that compiles for long says so once."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from trendweave.kernel_cache import files, waiting
from trendweave.stopping import Work


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(files.VARIABLE, str(tmp_path))
    monkeypatch.delenv("TRENDWEAVE_PROGRESS", raising=False)
    monkeypatch.setattr(waiting, "_spent", waiting._Spent())
    return tmp_path / "kernels"


def test_a_process_waits_for_another_that_compiles_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Locks of one process do not hinder itself, so the system's are seen through a stand-in."""
    asked: list[int] = []
    waited: list[float] = []

    def lock(file: object, how: int, length: int, place: int) -> None:
        asked.append(place)
        if len(asked) < 3:
            raise BlockingIOError
        assert how == fcntl.LOCK_EX | fcntl.LOCK_NB

    monkeypatch.setattr(waiting.fcntl, "lockf", lock)
    monkeypatch.setattr(waiting, "sleep", waited.append)
    with waiting.compiling("000000f00"), waiting.compiling("0000001"):
        pass
    assert len(asked) == 3, "what is compiled on the way does not wait"
    assert len(set(asked)) == 1
    assert len(waited) == 2


def test_a_file_system_without_locks_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    def lock(*given: object) -> None:
        raise OSError("no locks here")

    monkeypatch.setattr(waiting.fcntl, "lockf", lock)
    with waiting.compiling("0000001"):
        pass


def test_long_compiling_is_told_once(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(waiting, "PATIENCE", 0.0)
    monkeypatch.setattr(waiting, "_PAUSE", 1e9)
    _compile_and_be_told()
    _compile_and_be_told()
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(
        "trendweave: compiling this kind of query for this machine takes 1 to 10 seconds of CPU time"
    )
    assert str(files.kept_folder()) in line


def test_after_a_pause_it_is_told_again(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Another kind of query, some time later, needs other code."""
    monkeypatch.setattr(waiting, "PATIENCE", 0.0)
    monkeypatch.setattr(waiting, "_PAUSE", 1e9)
    _compile_and_be_told()
    monkeypatch.setattr(waiting._spent, "ended", -2e9)
    _compile_and_be_told()
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_short_compiling_is_not_told(capsys: pytest.CaptureFixture[str]) -> None:
    with waiting.compiling("0000001"):
        pass
    assert capsys.readouterr().err == ""
    assert not waiting._spent.told


def test_many_short_times_are_a_long_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_PAUSE", 1e9)
    monkeypatch.setattr(waiting._spent, "lately", waiting.PATIENCE)
    with waiting.compiling("0000001"):
        _wait_for(lambda: waiting._spent.told)


def test_those_who_want_no_bars_are_not_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRENDWEAVE_PROGRESS", "off")
    waiting._tell()
    assert capsys.readouterr().err == ""


def test_whoever_has_stopped_the_work_is_not_told(capsys: pytest.CaptureFixture[str]) -> None:
    work = Work()
    work.stop()
    waiting._tell(work)
    assert capsys.readouterr().err == ""
    waiting._tell(Work())
    assert "compiling" in capsys.readouterr().err


def _compile_and_be_told() -> None:
    with waiting.compiling("0000001"):
        _wait_for(lambda: waiting._spent.told)


def _wait_for(done: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not done() and time.monotonic() < end:
        time.sleep(0.001)


def test_a_driver_is_told_where_nothing_is_compiled(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    waiting.tell_driver.cache_clear()
    waiting.tell_driver()
    waiting.tell_driver()
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("trendweave: tasks with many events compile the first query of a kind for 1 to 10 seconds")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "loop.kernel").touch()
    waiting.tell_driver.cache_clear()
    waiting.tell_driver()
    assert capsys.readouterr().err == ""


def test_seconds_of_compiling_add_up() -> None:
    for _ in range(2):
        with waiting.compiling("0000001"):
            time.sleep(0.01)
    assert waiting.seconds_of_compiling() >= 0.02
