"""Cluster monitoring, after the generator of GRETA, Section 10.1 and Table 2."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from trendweave.datasets.event_table import Time, check_at_least, check_positive, event_table, random_source

TYPES = ("Start", "Measurement", "End")


def cluster(
    events: int,
    seed: int,
    jobs: int = 11,
    mappers: int = 11,
    *,
    rate: float = 3_000,
    measurements: float = 30,
    time: Time = "timestamp",
) -> pa.Table:
    """Start, Measurement and End events of (job, mapper) pairs.

    As in Table 2, job and mapper are uniform over 0 to 10, cpu and memory uniform over 0 to 1000, and load is Poisson
    with mean 100, at most 10,000; `rate` is in events per second. The paper does not say how often a mapper starts and
    ends. Here a pair runs several times; a run is one Start, `measurements` Measurements on average (at least one) and
    one End. A run may start before the stream begins, or end after it.

    Args:
        events: How many rows the table has.
        seed: The same seed gives the same table, on every machine.
        jobs: How many jobs there are.
        mappers: How many mappers there are.
        rate: Events per second.
        measurements: Measurements of a run, on average.
        time: "timestamp" (UTC, from the start of 2024) or "seconds" since the start.

    Returns:
        Events in order of time, with the columns `time` and `type`.

    Raises:
        ValueError: An argument is out of its range.
    """
    check_at_least(0, events=events)
    check_at_least(1, jobs=jobs, mappers=mappers, measurements=measurements)
    check_positive(rate=rate)
    random = random_source(seed)

    record = np.arange(events)
    pair = random.integers(0, jobs * mappers, events)
    attributes = {
        "mapper": pair % mappers,
        "job": pair // mappers,
        "cpu": random.integers(0, 1_000, events, endpoint=True),
        "memory": random.integers(0, 1_000, events, endpoint=True),
        "load": np.minimum(random.poisson(100, events), 10_000),
    }
    # Runs are laid end to end over the events in the order (pair, time): what a boundary between pairs cuts off
    # happened before the stream or will happen behind it.
    by_pair = np.argsort(pair.astype(np.min_scalar_type(jobs * mappers)), kind="stable")
    type_codes = np.empty(events, np.int8)
    type_codes[by_pair] = _type_codes_of_runs(random, events, measurements)
    return event_table((record // rate).astype(np.int64), type_codes, TYPES, attributes, time)


def _type_codes_of_runs(random: np.random.Generator, events: int, measurements: float) -> np.ndarray:
    # A run has three events or more, so that these are surely enough.
    lengths = 2 + random.geometric(1 / measurements, events // 3 + 1)
    behind = np.cumsum(lengths)
    codes = np.ones(events, np.int8)
    begins = np.append(0, behind)
    codes[begins[begins < events]] = 0
    codes[behind[behind <= events] - 1] = 2
    return codes
