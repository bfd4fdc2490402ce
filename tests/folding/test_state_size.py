"""What a stream remembers grows with keys and panes, and not with events."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import trendweave
from tests.profiles import PROFILE
from trendweave.runners.incremental import State

KEYS = 200 if PROFILE == "ci" else 20_000
DAY = 24 * 3600
FIRST = 100 * 7 * DAY  # the first second of a window
COLUMNS = pa.schema({"time": pa.int64(), "type": pa.string(), "x": pa.int64(), "k": pa.int64()})
QUERY = "RETURN k, COUNT(*), SUM(A.x), MAX(A.x), AVG(B.x) PATTERN SEQ(A, B, C) WHERE [k] GROUP-BY k "


def a_day(day: int, of_a_key: int, keys: int = KEYS) -> pa.Table:
    """So many events of each key on this day, in no order."""
    lot = np.random.default_rng(day)
    count = of_a_key * keys
    return pa.table(
        {
            "time": FIRST + day * DAY + lot.integers(0, DAY, count),
            "type": pa.array(np.array(["A", "B", "C"])[np.arange(count) % 3]),
            "x": lot.integers(0, 100, count),
            "k": np.arange(count) // of_a_key,
        },
        schema=COLUMNS,
    )


@pytest.mark.parametrize("window", ["WITHIN 7 days SLIDE 7 days", "WITHIN 7 days SLIDE 1 day"])
def test_a_week_over_many_keys(window: str) -> None:
    """Ten times as many events make numbers longer, and not more of them; no event waits that the watermark passed."""
    sizes = {}
    for of_a_key in (6, 60):
        engine = trendweave.query(QUERY + window).incremental(COLUMNS)
        state, evenings = engine.start(), []
        for day in range(6):
            state, _ = engine.push(state, a_day(day, of_a_key), FIRST + (day + 1) * DAY)
            assert state.rows is not None
            assert state.rows.num_rows == 0
            evenings.append(len(state.to_bytes()))
        sizes[of_a_key] = evenings
    for few, many in zip(sizes[6], sizes[60], strict=True):
        assert many < 2 * few
    days_kept = 7 if "1 day" in window else 1
    numbers = 40 if days_kept == 1 else 150  # of 8 bytes, per key and pane: 3 states, 4 aggregates, 4 lines
    assert sizes[60][-1] < 8 * numbers * KEYS * days_kept


@pytest.mark.parametrize("pattern", ["SEQ(A, NOT C, B)", "SEQ(A, B, NOT C)", "SEQ(NOT C, A, B)"])
@pytest.mark.parametrize("window", ["WITHIN 7 days SLIDE 7 days", "WITHIN 7 days SLIDE 1 day"])
def test_events_under_not_are_forgotten_too(pattern: str, window: str) -> None:
    sizes = {}
    for of_a_key in (6, 60):
        query = trendweave.query(f"RETURN k, COUNT(*) PATTERN {pattern} WHERE [k] GROUP-BY k {window}")
        engine = query.incremental(COLUMNS)
        state = engine.start()
        for day in range(3):
            state, _ = engine.push(state, a_day(day, of_a_key, 100), FIRST + (day + 1) * DAY)
            assert state.rows is not None
            assert state.rows.num_rows == 0
        sizes[of_a_key] = len(state.to_bytes())
    assert sizes[60] < 1.5 * sizes[6]


def test_a_state_that_is_pushed_often_is_as_large_as_one_that_is_pushed_once() -> None:
    engine = trendweave.query(QUERY + "WITHIN 7 days SLIDE 1 day").incremental(COLUMNS)
    day = a_day(0, 30).sort_by("time")
    once, _ = engine.push(engine.start(), day, FIRST + DAY)
    often = engine.start()
    for low in range(0, day.num_rows, day.num_rows // 10):
        piece = day.slice(low, day.num_rows // 10)
        often, _ = engine.push(often, piece, piece.column("time")[0].as_py())
    often, _ = engine.push(often, day.slice(0, 0), FIRST + DAY)
    assert len(often.to_bytes()) <= 1.05 * len(once.to_bytes())
    assert rows_at_the_end(engine, often) == rows_at_the_end(engine, once)


def rows_at_the_end(engine: Any, state: State) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in engine.finish(state).to_pylist())
