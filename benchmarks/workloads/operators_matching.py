"""Sequential matching on each device (Figures 4.13 and 4.14 of the thesis)."""

from __future__ import annotations

from functools import partial
from time import perf_counter

import pyarrow as pa

import trendweave
from benchmarks.devices import device_rows, least_seconds, seconds_per_device, sized
from benchmarks.registry import ResultRow, workload
from benchmarks.thesis_events import make_events, repeated, sequence
from trendweave.gpu.card import has_card

ANY, NEXT = "skip-till-any-match", "skip-till-next-match"
#: Partial matches at which a card must be so many times as fast as one core; the thesis' integrated GPU reached 5.
FULL_WINDOW, GPU_BAR = 1 << 16, 50.0
#: Windows from which on one core is asked once.
LONG_WINDOW = 1 << 15
#: Events with which the same loops are compiled.
_FEW = 100
_THESIS = "thesis: 5 x on an integrated GPU"


def _measure(name: str, query: trendweave.Query, window: int, repeat: int) -> list[ResultRow]:
    """Twice as many events as a window has, so that half of them look into a full one. One core is asked once where it
    takes long."""
    events = make_events(2 * window, ("a1",))

    def run(device: str) -> pa.Table:
        return query.run(events, type=None, device=device)

    if window < LONG_WINDOW:
        rows = run("cpu").num_rows
        seconds = seconds_per_device(run, min(repeat, 3), pa.Table.equals, ("cpu", "gpu"))
    else:
        query.run(events.slice(0, _FEW), type=None, device="cpu")  # compiles
        began = perf_counter()
        expected = run("cpu")
        seconds, rows = {"cpu": perf_counter() - began}, expected.num_rows
        if has_card():
            assert run("gpu").equals(expected), "the card has other matches"
            seconds |= least_seconds({"gpu": partial(run, "gpu")}, 3)
    bars = {"gpu": GPU_BAR} if window == FULL_WINDOW else {}
    pairs = 1.5 * window * window
    note = f"{rows:,} matches, windows look at {pairs / 1e9:.2g} G pairs; {_THESIS}"
    return device_rows(f"{name}, window {window:,}", events.num_rows, seconds, bars, note)


@workload("operators-matching")
def operators_matching(repeat: int) -> list[ResultRow]:
    """Sequences of 2 to 8 symbols and A B+ C by both strategies that skip, windows of 2^10 to 2^17 events."""
    rows: list[ResultRow] = []
    largest = sized(1 << 17, 1 << 14)
    for exponent in range(10, largest.bit_length(), 2 if largest < FULL_WINDOW else 1):
        window = 1 << exponent
        rows += _measure("(A, B), skip-till-any, 1e-7", sequence(2, 1e-7, window, ANY), window, repeat)
    window = min(largest, FULL_WINDOW)
    for strategy, short in ((ANY, "skip-till-any"), (NEXT, "skip-till-next")):
        for symbols in (2, 4, 8):
            query = sequence(symbols, 1e-5, window, strategy)
            rows += _measure(f"{symbols} symbols, {short}, 1e-5", query, window, repeat)
    for exponent in range(10, largest.bit_length(), 3 if largest < FULL_WINDOW else 2):
        window = 1 << exponent
        query = repeated(1e-5, 1e-7, window)
        rows += _measure("A B+ C, skip-till-next, 1e-5 and 1e-7", query, window, repeat)
    return rows
