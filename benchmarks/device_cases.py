"""The same work at many sizes, for whatever is asked of devices: operators and trends of the thesis' events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

import trendweave
from benchmarks.thesis_events import DIMENSIONS, distance, far_threshold, make_events, sequence
from trendweave import operators as ops


@dataclass(frozen=True, slots=True)
class Case:
    """Work by name. `make` gives, for a number of events, what does it on a device."""

    name: str
    make: Callable[[int], Callable[[str], pa.Table]]


def _filter(size: int) -> Callable[[str], pa.Table]:
    far, events = ops.filter(f"{distance()} > {far_threshold(1e-3)!r}"), make_events(size)
    return lambda device: far.run(events, device=device)


def _windows(size: int) -> Callable[[str], pa.Table]:
    total = ops.window_aggregate("SUM(a1) AS total", rows=max(1, size // 4), slide_rows=1)
    events = make_events(size, ("a1",))
    return lambda device: total.run(events, device=device)


def _windows_of_keys(size: int) -> Callable[[str], pa.Table]:
    means = ops.window_aggregate("AVG(a1) AS mean, MAX(a2) AS most", within="100 seconds", keys=["key"])
    events = make_events(size, ("a1", "a2"))
    keys = np.random.default_rng(9).integers(0, 1_000, size)
    events = events.append_column("key", pa.array(keys))
    return lambda device: means.run(events, device=device)


def _join(size: int) -> Callable[[str], pa.Table]:
    near = " + ".join(f"(left.{name} - right.{name}) * (left.{name} - right.{name})" for name in DIMENSIONS)
    window = max(1, size // 8)
    join = ops.window_join(f"{near} <= 0.003", left=f"{window} rows", right=f"{window} rows")
    left, right = make_events(size // 2, seed=4), make_events(size // 2, seed=5)
    return lambda device: join.run(left, right, device=device)


def _matching(size: int) -> Callable[[str], pa.Table]:
    query, events = sequence(3, 0.1 / size, max(2, size // 2), "skip-till-any-match"), make_events(size, ("a1",))
    return lambda device: query.run(events, type=None, device=device)


def _trends(size: int) -> Callable[[str], pa.Table]:
    keys = max(1, size // 1_000)
    events = pa.table(
        {
            "time": np.arange(size) // keys,
            "key": np.arange(size) % keys,
            "price": np.random.default_rng(1).random(size),
        }
    )
    query = trendweave.query("RETURN COUNT(*) PATTERN Stock S+ WHERE [key] AND S.price < NEXT(S).price GROUP-BY key")
    return lambda device: query.run(events, type=None, numbers="float64", device=device)


def _sequence_counts(size: int) -> Callable[[str], pa.Table]:
    kinds = np.random.default_rng(2).integers(0, 3, size).astype(np.int8)
    events = pa.table({"time": np.arange(size), "type": pa.DictionaryArray.from_arrays(kinds, ["A", "B", "C"])})
    query = trendweave.query("RETURN COUNT(*) PATTERN SEQ(A, B, C) WITHIN 1000 seconds SLIDE 1000 seconds")
    return lambda device: query.run(events, numbers="float64", device=device)


CASES = (
    Case("filter, six dimensions, 1 of 1,000", _filter),
    Case("SUM over a quarter of the events, slide 1", _windows),
    Case("AVG and MAX per key and 100 seconds", _windows_of_keys),
    Case("join by distance, windows of an eighth", _join),
    Case("(A, B, C) by nearness, windows of half", _matching),
    Case("S+ with one comparison, keys of 1,000 events", _trends),
    Case("SEQ(A, B, C), counted", _sequence_counts),
)
