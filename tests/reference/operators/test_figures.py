"""The twin against Figures 2.1 to 2.6 of the thesis."""

from __future__ import annotations

from typing import Any

import pytest

from .aggregation import aggregate, window_aggregate
from .events import Event
from .figures import MATCHES, TRACE, second_stream, stream
from .filtering import keep
from .joining import single_event_join, window_join
from .matching import Symbol, contiguous, match, skip_till_any, skip_till_next, skip_till_next_as_written
from .windows import Held, Rows, Span, active_window, count_windows, time_windows

T = 10


def contents(windows: list[Held]) -> list[list[int]]:
    return [[event["v"] for event in held.events] for held in windows]


def test_figure_2_1_count_windows() -> None:
    assert contents(count_windows(stream(T), 2, 1)) == [[2, 7], [7, 5], [5, 1], [1, 4]]
    assert [held.time - T for held in count_windows(stream(T), 2, 1)] == [1, 3, 6, 7]
    assert contents(count_windows(stream(T), 2, 2)) == [[2, 7], [5, 1]]


def test_figure_2_2_time_windows() -> None:
    """Anchored at the first event, as the definition says, and at 1970, where t decides which events are together."""
    assert contents(time_windows(stream(T), 2, 2, anchor=None)) == [[2, 7], [5], [], [1, 4]]
    assert contents(time_windows(stream(T), 2, 2)) == [[2, 7], [5], [], [1, 4]]
    assert contents(time_windows(stream(T + 1), 2, 2, anchor=None)) == [[2, 7], [5], [], [1, 4]]
    assert contents(time_windows(stream(T + 1), 2, 2)) == [[2], [7], [5], [1], [4]]


def test_figure_2_2_sliding_time_windows() -> None:
    sliding = [[2, 7], [7], [5], [5], [], [1], [1, 4], [4]]
    assert contents(time_windows(stream(T), 2, 1, anchor=None)) == sliding
    # Ours begin with the first window that holds an event.
    assert contents(time_windows(stream(T), 2, 1)) == [[2], *sliding]


def test_figure_2_3_filter() -> None:
    kept = keep(stream(T), lambda event: event["v"] > 3)
    assert [event["time"] - T for event in kept] == [1, 3, 7]


def test_figure_2_4_windowed_aggregation() -> None:
    """Seven windows w1 to w7, "an aggregated event for every time instant"; ours have no row for an empty window."""
    windows = [held for held in time_windows(stream(T), 2, 1, anchor=None) if held.time <= T + 7]
    assert [held.time - T for held in windows] == [1, 2, 3, 4, 5, 6, 7]
    assert [aggregate("SUM", held.events, "v") for held in windows] == [9, 7, 5, 5, None, 1, 5]
    rows = window_aggregate(stream(T), [("sum", "SUM", "v")], Span(2, 1), schema=["time", "v"])
    assert [(row["time"] - T, row["sum"]) for row in rows] == [
        (0, 2),
        (1, 9),
        (2, 7),
        (3, 5),
        (4, 5),
        (6, 1),
        (7, 5),
        (8, 4),
    ]


def test_figure_2_5_windowed_join() -> None:
    [six] = second_stream(T)
    assert [event["v"] for event in active_window(stream(T), Rows(2), six["time"])] == [7, 5]
    partners = single_event_join(six, stream(T), Rows(2), lambda one, two: two["v"] <= one["v"])
    assert [event["v"] for event in partners] == [5]
    rows = window_join(stream(T), second_stream(T), lambda left, right: left["v"] <= right["v"], Rows(2), Rows(2))
    assert [(row["time"] - T, row["left_v"], row["right_v"]) for row in rows] == [(4, 5, 6)]


def pattern() -> list[Symbol]:
    def is_of(name: str) -> Any:
        return lambda event, bound: event["type"] == name

    return [Symbol("A", is_of("A")), Symbol("B", is_of("B"), star=True), Symbol("C", is_of("C"))]


def names(found: list[tuple[Event, ...]]) -> list[str]:
    return [" ".join(event["name"] for event in one) for one in found]


@pytest.mark.parametrize(
    ("wanted", "strategy"),
    [("contiguous", contiguous), ("skip-till-next", skip_till_next), ("skip-till-any", skip_till_any)],
)
@pytest.mark.parametrize("greedy", [True, False])
def test_figure_2_6_matches(wanted: str, strategy: Any, greedy: bool) -> None:
    found = names(match(TRACE, pattern(), 10, strategy, greedy=greedy))
    assert sorted(found) == sorted(MATCHES[wanted])


def test_figure_2_6_is_not_what_definition_2_16_says_to_the_letter() -> None:
    """It looks for skipped events of the next symbol alone, so b1 may be skipped on the way from a1 to c1."""
    found = names(match(TRACE, pattern(), 10, skip_till_next_as_written))
    assert sorted(found) == sorted([*MATCHES["skip-till-next"], "a1 c1", "a1 b1 b2 c2", "a2 b2 c2"])
