"""Figures 2.1 to 2.6 of the thesis on the engine; `tests.reference.operators.figures` says what is known of them."""

from __future__ import annotations

import pyarrow as pa
import pytest

import trendweave
from tests.reference.operators.figures import MATCHES, TRACE, second_stream, stream
from trendweave import operators as ops

T = 10


def table(t: int) -> pa.Table:
    return pa.Table.from_pylist(stream(t))


def test_figure_2_1_count_windows() -> None:
    outputs = "MIN(v) AS low, MAX(v) AS high, COUNT(*) AS n"
    sliding = ops.window_aggregate(outputs, rows=2, slide_rows=1).run(table(T)).to_pylist()
    assert [(row["time"] - T, row["low"], row["high"]) for row in sliding] == [
        (1, 2, 7),
        (3, 5, 7),
        (6, 1, 5),
        (7, 1, 4),
    ]
    tumbling = ops.window_aggregate(outputs, rows=2).run(table(T)).to_pylist()
    assert tumbling == [
        {"window_start": T, "window_end": T + 1, "time": T + 1, "low": 2, "high": 7, "n": 2},
        {"window_start": T + 3, "window_end": T + 6, "time": T + 6, "low": 1, "high": 5, "n": 2},
    ]


@pytest.mark.parametrize(
    ("t", "sums"), [(T, [(0, 9), (2, 5), (6, 5)]), (T + 1, [(-1, 2), (1, 7), (3, 5), (5, 1), (7, 4)])]
)
def test_figure_2_2_tumbling_time_windows(t: int, sums: list[tuple[int, int]]) -> None:
    """Our windows are counted from 1970 and not from the first event: with another t other events are together.

    The third window of the figure holds no event, so there is no row for it.
    """
    rows = ops.window_aggregate("SUM(v) AS sum", within="2 seconds").run(table(t)).to_pylist()
    assert [(row["window_start"] - t, row["sum"]) for row in rows] == sums
    assert all(row["window_end"] == row["window_start"] + 2 == row["time"] + 1 for row in rows)


def test_figure_2_3_filter() -> None:
    kept = ops.filter("v > 3").run(table(T))
    assert kept.to_pylist() == [event for event in stream(T) if event["time"] - T in (1, 3, 7)]


def test_figures_2_2_and_2_4_sliding_time_windows() -> None:
    """w1 to w7 of Figure 2.4 less w5, which is empty, and with the windows at both ends that hold one event each."""
    rows = ops.window_aggregate("SUM(v) AS sum", within="2 seconds", slide="1 second").run(table(T)).to_pylist()
    expected = [(0, 2), (1, 9), (2, 7), (3, 5), (4, 5), (6, 1), (7, 5), (8, 4)]
    assert [(row["time"] - T, row["sum"]) for row in rows] == expected


def test_figure_2_5_windowed_join() -> None:
    join = ops.window_join("left.v <= right.v", left="2 rows", right="2 rows")
    rows = join.run(table(T), pa.Table.from_pylist(second_stream(T))).to_pylist()
    assert rows == [{"time": T + 4, "left_time": T + 3, "left_v": 5, "right_time": T + 4, "right_v": 6}]


@pytest.mark.parametrize("strategy", MATCHES)
def test_figure_2_6_matches(strategy: str) -> None:
    """Our skip-till-next-match is that of the figure, not that of Definition 2.16 (2) to the letter: no event may be
    skipped that could have come next, so `a1 c1` is none because of b1. The twin has both readings."""
    semantics = strategy if strategy == "contiguous" else f"{strategy}-match"
    text = f"RETURN TRENDS (name) PATTERN SEQ(A, B*, C) SEMANTICS {semantics}"
    found = trendweave.query(text).run(pa.Table.from_pylist(TRACE)).to_pylist()
    names = [" ".join(event["name"] for event in row["events"]) for row in found]
    assert sorted(names) == sorted(MATCHES[strategy])


@pytest.mark.parametrize("strategy", MATCHES)
def test_figure_2_6_each_match_is_a_row(strategy: str) -> None:
    """Definition 2.18: one result per match, at the time of its last event."""
    semantics = strategy if strategy == "contiguous" else f"{strategy}-match"
    text = (
        "RETURN EACH FIRST(A.name) AS a, COUNT(B) AS n, LAST(C.name) AS c, LAST(C.time) AS time "
        f"PATTERN SEQ(A, B*, C) SEMANTICS {semantics}"
    )
    found = trendweave.query(text).run(pa.Table.from_pylist(TRACE)).to_pylist()
    times = {event["name"]: event["time"] for event in TRACE}
    expected = [(names[0], len(names) - 2, names[-1], times[names[-1]]) for names in map(str.split, MATCHES[strategy])]
    assert sorted((row["a"], row["n"], row["c"], row["time"]) for row in found) == sorted(expected)
