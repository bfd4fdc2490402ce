"""What stands in for Spark's newer interfaces for state, without a JVM: all state in one value, rows as frames."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import Row

from trendweave.errors import DataError
from trendweave.runners.spark.older import OneValueHandle, OneValueOperator, read_frames, write_frames


def test_state_comes_back_from_its_bytes() -> None:
    handle = OneValueHandle(None)
    handle.getValueState("about", None).update((1, None, b"x"))
    pieces = handle.getMapState("pieces", None, None)
    pieces.updateValue((1, 2), (b"rows",))
    pieces.updateValue((3, 4), (b"others",))
    handle.registerTimer(70)

    again = OneValueHandle(handle.to_bytes())

    assert again.getValueState("about", None).get() == (1, None, b"x")
    assert again.getValueState("carry", None).get() is None
    found = again.getMapState("pieces", None, None)
    assert dict(found.iterator()) == {(1, 2): (b"rows",), (3, 4): (b"others",)}
    assert found.getValue((3, 4)) == (b"others",)
    assert found.getValue((5, 6)) is None
    assert again.timers == {70}


def test_nothing_is_left_where_all_is_cleared() -> None:
    handle = OneValueHandle(None)
    handle.getValueState("about", None).update((1,))
    pieces = handle.getMapState("pieces", None, None)
    pieces.updateValue((1, 2), (b"rows",))
    handle.registerTimer(70)

    pieces.removeKey((1, 2))
    handle.getValueState("about", None).clear()
    handle.deleteTimer(70)

    assert handle.to_bytes() is None


def test_a_state_that_would_run_code_is_refused() -> None:
    with pytest.raises(pickle.UnpicklingError, match="states hold plain values only"):
        OneValueHandle(pickle.dumps(({"about": print}, [])))


def test_rows_are_the_same_as_frames_and_back() -> None:
    rows = [
        Row(payload=b"x", late_rows=None, events=2**60, late=0),
        Row(payload=None, late_rows=b"y", events=0, late=1),
    ]

    assert list(read_frames(write_frames(rows))) == rows


class State:
    """As Spark hands it to a function."""

    def __init__(self, value: tuple[Any, ...] | None, watermark: int, timed_out: bool = False) -> None:
        self.getOption, self.hasTimedOut, self._watermark = value, timed_out, watermark
        self.timeout: int | None = None
        self.removed = False

    def getCurrentWatermarkMs(self) -> int:
        return self._watermark

    def update(self, value: tuple[Any, ...]) -> None:
        self.getOption = value

    def setTimeoutTimestamp(self, moment: int) -> None:
        assert moment >= self._watermark, "Spark refuses it"
        self.timeout = moment

    def remove(self) -> None:
        self.removed = True


class Keeping:
    """An operator that waits for a number of milliseconds given by each row, and then says which it was."""

    def init(self, handle: OneValueHandle) -> None:
        self._handle = handle

    def handleInputRows(self, key: Any, rows: Iterator[Row], timers: Any) -> Iterator[Row]:
        for row in rows:
            self._handle.registerTimer(row.until)
        yield Row(said=f"came at {timers.getCurrentWatermarkInMs()}")

    def handleExpiredTimer(self, key: Any, timers: Any, expired: Any) -> Iterator[Row]:
        yield Row(said=f"left at {timers.getCurrentWatermarkInMs()}")

    def close(self) -> None:
        pass


def said(state: State, *until: int, latest: int = 0) -> list[str]:
    frames = write_frames([Row(until=moment, rows=1, latest=latest) for moment in until])
    return [row.said for row in read_frames(OneValueOperator(Keeping(), end=100)((0,), frames, state))]


def test_times_that_spark_would_take_for_late_are_refused() -> None:
    assert said(State(None, watermark=10), 20, latest=99) == ["came at 10"]
    with pytest.raises(DataError, match="TW310: an event lies beyond the year 2261"):
        said(State(None, watermark=10), 20, latest=100)


def test_timers_expire_when_the_watermark_has_passed_them() -> None:
    first = State(None, watermark=10)
    assert said(first, 5, 30, 20) == ["came at 10", "left at 10"]
    assert first.timeout == 20

    second = State(first.getOption, watermark=25, timed_out=True)
    assert said(second) == ["left at 25"]
    assert second.timeout == 30
    assert not second.removed

    third = State(second.getOption, watermark=31, timed_out=True)
    assert said(third) == ["left at 31"]
    assert third.timeout is None
    assert third.removed
