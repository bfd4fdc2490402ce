"""Sequential matching on a card: the rows of the CPU, and how fast they come."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa

import trendweave
from benchmarks.thesis_events import make_events, repeated, sequence
from trendweave.gpu.card import Card

#: Takes the name of a figure or a check, and numbers with their names.
Report = Callable[..., None]
_ANY, _NEXT = "skip-till-any-match", "skip-till-next-match"
#: Texts by codes, NULL, NaN, ties, keys, repetition, other windows.
_QUERIES = (
    "RETURN TRENDS PATTERN SEQ(E A, E B, E C) WHERE abs(A.v - B.v) <= 1 AND B.w < C.w WITHIN 9 seconds",
    "RETURN TRENDS PATTERN SEQ(E A, E B+, E C) WHERE abs(PREV(A).v - B.v) <= 1 AND B.v <= NEXT(B).v AND C.w > B.w "
    "WITHIN 12 seconds SLIDE 5 seconds SEMANTICS skip-till-next-match",
    "RETURN EACH LAST(B.w) AS w, COUNT(A) AS a PATTERN SEQ(E A+, E B) WHERE A.text < NEXT(A).text AND [key] "
    "AND A.text != B.text WITHIN 6 seconds",
)


def check(card: Card, report: Report, scale: float = 1.0) -> None:
    """Random rows with ties, NULL and NaN, and the thesis' sequences at full size."""
    for text in _QUERIES:
        query, shown, wrong = trendweave.query(text), 0, []
        for seed in range(4):
            events = _random_events(max(20, int(400 * min(scale, 1.0))), seed)
            on_cpu, on_card = (table.to_pylist() for table in _on_both(query, events))
            shown += len(on_cpu)
            if repr(on_cpu) != repr(on_card):
                wrong.append(f"seed {seed}")
        report(text, rows=shown, ok=not wrong, wrong="; ".join(wrong) or None)
    window = max(256, int((1 << 14) * scale))
    near = 0.5 / window
    events = make_events(2 * window, ("a1",))
    for name, query in (
        ("two symbols", sequence(2, near, window, _ANY)),
        ("six symbols", sequence(6, near, window, _ANY)),
        ("six symbols, skip-till-next", sequence(6, near, window, _NEXT)),
        ("A B+ C, skip-till-next", repeated(near, near / 20, window)),
    ):
        on_cpu, on_card = _on_both(query, events)
        report(f"{name}, windows of {window:,} events", rows=on_cpu.num_rows, ok=on_cpu.equals(on_card))


def measure(card: Card, report: Report, scale: float = 1.0) -> None:
    """The thesis' sequences at windows of 2^16 events."""
    window = max(256, int((1 << 16) * scale))
    events = make_events(2 * window, ("a1",))
    delta = 1e-5 * (1 << 16) / window
    for name, query, on_core in (
        ("(A, B), 1e-7", sequence(2, 1e-7, window, _ANY), True),
        ("(A, B), 1e-5", sequence(2, delta, window, _ANY), True),
        ("eight symbols, 1e-5", sequence(8, delta, window, _ANY), False),
        ("eight symbols, skip-till-next, 1e-5", sequence(8, delta, window, _NEXT), False),
        ("A B+ C, skip-till-next", repeated(delta, delta / 100, window), True),
    ):
        seconds = _seconds(query, events)
        rate = events.num_rows / seconds
        times = _seconds_on_core(query, events) / seconds if on_core else None
        report(f"{name}, windows of {window:,} events", seconds=seconds, events_per_s=rate, times_one_core=times)


def _on_both(query: trendweave.Query, events: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The rows of one core, whose links are found by compiled loops, and those of the card."""
    return query.run(events, type=None, device="cpu"), query.run(events, type=None, device="gpu")


def _seconds_on_core(query: trendweave.Query, events: pa.Table) -> float:
    """One call, after one of few events that compiles."""
    query.run(events.slice(0, 100), type=None, device="cpu")
    began = time.perf_counter()
    query.run(events, type=None, device="cpu")
    return time.perf_counter() - began


def _seconds(query: trendweave.Query, events: pa.Table) -> float:
    query.run(events, type=None, device="gpu")
    times = []
    for _ in range(3):
        began = time.perf_counter()
        query.run(events, type=None, device="gpu")
        times.append(time.perf_counter() - began)
    return sorted(times)[1]


def _random_events(rows: int, seed: int) -> pa.Table:
    random = np.random.default_rng(seed)

    def some(values: np.ndarray) -> pa.Array:
        return pa.array(values, mask=random.random(rows) < 0.1)

    return pa.table(
        {
            "time": np.sort(random.integers(0, max(1, rows // 2), rows)),
            "v": some(random.integers(-3, 4, rows).astype(np.float32)),
            "w": some(random.choice([1.0, 2.0, -3.0, np.nan, np.inf, 0.0, -0.0], rows)),
            "text": some(random.choice(np.array(["a", "b", "c"]), rows)),
            "key": random.integers(0, 3, rows),
        }
    )
