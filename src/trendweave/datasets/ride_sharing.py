"""Ride sharing in bursts, after the generator of HAMLET, Section 5.1."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from trendweave.datasets.event_table import Time, check_at_least, check_positive, event_table, name_codes, random_source

# HAMLET names five of its 20 types (Request, Pickup, Travel, Dropoff, Cancel); the others are ours.
TYPES = (
    "Request", "Travel", "Pickup", "Dropoff", "Cancel",
    "Quote", "Match", "Accept", "Reject", "Dispatch",
    "Reroute", "Delay", "Arrive", "Wait", "NoShow",
    "Stop", "Pay", "Refund", "Tip", "Rate",
)  # fmt: skip
_TRAVEL = TYPES.index("Travel")


def ride_sharing(
    events: int,
    seed: int,
    drivers: int = 10,
    riders: int = 10,
    districts: int = 10,
    *,
    events_per_minute: int = 10_000,
    burst: float = 120,
    travel_share: float = 0.3,
    time: Time = "timestamp",
) -> pa.Table:
    """Events of 20 types that come in bursts: many of one type, one after the other.

    A burst has `burst` events on average (geometric; HAMLET, Section 5.2 reports 120 for its stock data). Its type is
    Travel, which the paper's queries repeat, with probability `travel_share`, otherwise one of the 19 others; two
    consecutive bursts of one type look like one. As in the paper, attribute values are random: uniform
    drivers, riders, districts and request types, durations of 1 to 60 minutes, speeds of 0 to 59, prices of 5 to 100.

    Args:
        events: How many rows the table has.
        seed: The same seed gives the same table, on every machine.
        drivers: How many drivers there are.
        riders: How many riders there are.
        districts: How many districts there are.
        events_per_minute: How dense the stream is.
        burst: Events of a burst, on average.
        travel_share: How probable it is that a burst is of type Travel.
        time: "timestamp" (UTC, from the start of 2024) or "seconds" since the start.

    Returns:
        Events in order of time, with the columns `time` and `type`.

    Raises:
        ValueError: An argument is out of its range.
    """
    check_at_least(0, events=events, travel_share=travel_share)
    check_at_least(1, drivers=drivers, riders=riders, districts=districts, burst=burst)
    check_positive(events_per_minute=events_per_minute)
    if travel_share > 1:
        raise ValueError(f"travel_share must be at most 1, not {travel_share}")
    random = random_source(seed)

    record = np.arange(events)
    begins_burst = random.random(events) < 1 / burst
    burst_of_event = np.cumsum(begins_burst)
    bursts = int(burst_of_event[-1]) + 1 if events else 0
    others = random.integers(0, len(TYPES) - 1, bursts)
    type_of_burst = np.where(random.random(bursts) < travel_share, _TRAVEL, others + (others >= _TRAVEL))

    attributes = {
        "driver": random.integers(0, drivers, events),
        "rider": random.integers(0, riders, events),
        "request_type": name_codes(random.integers(0, 3, events, dtype=np.int8), ("Pool", "Regular", "Premium")),
        "district": random.integers(0, districts, events),
        "duration": random.integers(1, 60, events, endpoint=True),
        "speed": random.integers(0, 60, events),
        "price": random.integers(5_00, 100_00, events, endpoint=True) / 100,
    }
    seconds = (record * 60 // events_per_minute).astype(np.int64)
    return event_table(seconds, type_of_burst[burst_of_event], TYPES, attributes, time)
