"""Position reports and accidents on a road, in the manner of Linear Road as GRETA, Section 10.1 uses it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from trendweave.datasets.event_table import Time, check_at_least, check_positive, event_table, random_source
from trendweave.datasets.random_walk import reflect, sum_within

TYPES = ("Position", "Accident")

SECONDS_BETWEEN_REPORTS = 30
FEET_PER_SEGMENT = 5_280
FEET_PER_REPORT_AND_MPH = 44  # one mile per hour for 30 seconds
TOP_SPEED = 100
_REPORTS_PER_TRIP = (20, 60)  # 10 to 30 minutes on the road
_REPORTS_PER_PHASE = 5  # of slowing down or speeding up


def traffic(
    events: int,
    seed: int,
    segments: int = 100,
    *,
    hours: float = 3,
    accidents: int | None = None,
    time: Time = "timestamp",
) -> pa.Table:
    """Position reports, every 30 seconds from each car on the road, and Accident events, which have a segment only.

    More and more cars enter during `hours`, so the rate of events rises about linearly to the end, as in the paper. The
    final rate depends on the number of events: with 21.6 million events in 3 hours it is the paper's 4k per second.
    Cars drive on a ring of `segments` miles for 10 to 30 minutes, in phases of slowing down and speeding up, between 0
    and 100 miles per hour; `position` is in feet. Cars do not react to each other or to accidents.

    Without `accidents`, there are two a minute, but never more than a twentieth of all events.

    Args:
        events: How many rows the table has.
        seed: The same seed gives the same table, on every machine.
        segments: Miles of the ring.
        hours: How long the stream is.
        accidents: How many accidents there are; None for two a minute.
        time: "timestamp" (UTC, from the start of 2024) or "seconds" since the start.

    Returns:
        Events in order of time, with the columns `time` and `type`.

    Raises:
        ValueError: An argument is out of its range.
    """
    check_at_least(0, events=events)
    check_at_least(1, segments=segments)
    check_positive(hours=hours)
    duration = max(1, int(hours * 3_600))
    accidents = min(duration // 30, events // 20) if accidents is None else accidents
    check_at_least(0, accidents=accidents)
    check_at_least(accidents, events=events)
    random = random_source(seed)

    reports = events - accidents
    enters, trip = _trips(random, reports, duration)
    first = np.cumsum(trip) - trip
    vehicle = np.repeat(np.arange(len(trip)), trip)
    turn = np.arange(reports) - np.repeat(first, trip)
    speed = _speeds(random, first, trip)
    # The way up to a report was driven at the speeds of the reports before it.
    driven = sum_within(speed * FEET_PER_REPORT_AND_MPH, first) - speed * FEET_PER_REPORT_AND_MPH
    begins = random.integers(0, segments * FEET_PER_SEGMENT, len(trip))
    position = (np.repeat(begins, trip) + driven) % (segments * FEET_PER_SEGMENT)

    seconds = np.concatenate(
        [np.repeat(enters, trip) + turn * SECONDS_BETWEEN_REPORTS, _rising_times(random, accidents, duration)]
    )
    segment = np.concatenate([position // FEET_PER_SEGMENT, random.integers(0, segments, accidents)])
    # The narrowest type: numpy sorts 16 bits by radix, many times faster.
    order = np.argsort(seconds.astype(np.min_scalar_type(duration)), kind="stable")
    is_accident = order >= reports
    report = np.where(is_accident, 0, order)

    def of_reports(values: np.ndarray) -> pa.Array:
        return pa.array(values[report] if reports else np.zeros(events, np.int64), pa.int64(), mask=is_accident)

    attributes = {
        "vehicle": of_reports(vehicle),
        "segment": segment[order],
        "position": of_reports(position),
        "speed": of_reports(speed),
    }
    return event_table(seconds[order], is_accident, TYPES, attributes, time)


def _rising_times(random: np.random.Generator, count: int, duration: int) -> np.ndarray:
    """Seconds whose density rises linearly from 0: the square root turns a uniform number into one of these."""
    return (np.sqrt(random.random(count)) * duration).astype(np.int64)


def _trips(random: np.random.Generator, reports: int, duration: int) -> tuple[np.ndarray, np.ndarray]:
    """When each car enters, and how many reports it sends before it leaves or the stream ends; `reports` in all."""
    enters, trip = np.empty(0, np.int64), np.empty(0, np.int64)
    while trip.sum() < reports:
        cars = reports // _REPORTS_PER_TRIP[0] + 1
        new = _rising_times(random, cars, duration)
        until_the_end = (duration - 1 - new) // SECONDS_BETWEEN_REPORTS + 1
        enters = np.append(enters, new)
        trip = np.append(trip, np.minimum(random.integers(*_REPORTS_PER_TRIP, cars, endpoint=True), until_the_end))
    sent = np.cumsum(trip)
    cars = int(np.searchsorted(sent, reports)) + 1 if reports else 0
    enters, trip = enters[:cars], trip[:cars]
    if cars:
        trip[-1] -= sent[cars - 1] - reports
    # Cars are numbered as they enter.
    order = np.argsort(enters, kind="stable")
    return enters[order], trip[order]


def _speeds(random: np.random.Generator, first: np.ndarray, trip: np.ndarray) -> np.ndarray:
    reports = int(trip.sum())
    phases = random.integers(0, 2, reports // _REPORTS_PER_PHASE + 1) * 2 - 1
    direction = np.repeat(phases, _REPORTS_PER_PHASE)[:reports]
    change = direction * random.integers(0, 8, reports, endpoint=True) + random.integers(-2, 2, reports, endpoint=True)
    change[first] = random.integers(20, 80, len(first), endpoint=True)
    return reflect(sum_within(change, first), 0, TOP_SPEED)
