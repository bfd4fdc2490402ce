"""Trends one by one: how many come out per second, in how much memory, by which strategy, and how a sample is drawn."""

from __future__ import annotations

import json
import subprocess
import sys
from time import process_time

import numpy as np
import pyarrow as pa

from benchmarks.registry import ResultRow, workload
from benchmarks.result_rows import at_least, at_most, duration
from benchmarks.timing import interleaved, median_seconds
from trendweave import datasets, query, warm_up

CHAIN = "PATTERN Check c+ WHERE c.status = 'notcovered' AND c.destination = NEXT(c).source"
MANY = 10**9

_CHILD = """
import json
from time import process_time
from benchmarks.memory import own_peak_megabytes
from benchmarks.workloads.trends import CHAIN, MANY, deposits
from trendweave import query
events, asked = deposits(14, 2), query(CHAIN)
list(query(CHAIN).iter(deposits(4, 2)))
started = process_time()
batches = asked.iter(events, memory="512 MB", max_trends=MANY)
rows = sum(batch.num_rows for batch in batches)
seconds = process_time() - started
peak = own_peak_megabytes()
print(json.dumps({"trends": batches.trends, "rows": rows, "seconds": seconds, "peak": peak}))
"""


def deposits(layers: int, chains: int = 1) -> pa.Table:
    """CET, Section 7.1, in its worst case: each check is compatible with the three of the layer before, so a chain of
    layers has 3^layers complete trends. Half of the checks are covered and play no part."""
    return datasets.check_deposits(6 * chains * layers, 1, rate=6 * chains, time="seconds")


@workload("check-deposits")
def check_deposits(repeat: int) -> list[ResultRow]:
    """Ten million complete trends of 14 checks each, as Arrow batches, in a process of its own."""
    warm_up()  # compiling takes memory as well, once per machine
    runs = []
    for _ in range(max(1, min(repeat, 3))):
        done = subprocess.run([sys.executable, "-c", _CHILD], capture_output=True, text=True, check=True)
        runs.append(json.loads(done.stdout))
    assert all(run["trends"] == run["rows"] == 2 * 3**14 for run in runs)
    best = sorted(runs, key=lambda run: run["seconds"])[len(runs) // 2]
    name, note = "check deposits, compatibility 3, complete trends", f"{best['rows']:,} trends of 14 events"
    return [
        at_least(name, "rate", best["rows"] / best["seconds"] / 1e6, "M trends/s", 2, f"{note}, one core"),
        at_most(name, "peak of the process", max(run["peak"] for run in runs), "MB", 512, note),
    ]


@workload("cet-strategies")
def cet_strategies(repeat: int) -> list[ResultRow]:
    """H-CET, M-CET and T-CET as the window grows (CET, Figure 13)."""
    asked, rows = query(CHAIN), []
    for layers in (8, 10, 12, 13):
        events = deposits(layers)

        def run(strategy: str, events: pa.Table = events) -> int:
            return sum(batch.num_rows for batch in asked.iter(events, max_trends=MANY, strategy=strategy))

        names = ["m-cet", "h-cet"] if layers > 12 else ["m-cet", "t-cet", "h-cet"]
        if layers <= 8:
            names.append("baseline")
        for strategy in names:
            assert run(strategy) == 3**layers
        seconds = interleaved(
            {strategy: lambda strategy=strategy: run(strategy) for strategy in names}, repeat, process_time
        )
        others = {strategy: took for strategy, took in seconds.items() if strategy in ("m-cet", "t-cet")}
        told = ", ".join(f"{strategy} {duration(took)}" for strategy, took in seconds.items())
        rows.append(
            at_most(
                f"{3 * layers} events, {3**layers:,} complete trends",
                "h-cet / faster of m-cet and t-cet",
                seconds["h-cet"] / min(others.values()),
                "x",
                1.3,
                told,
            )
        )
    return rows


@workload("overlapping-trends")
def overlapping_trends(repeat: int) -> list[ResultRow]:
    """Windows that overlap by 80% share one graph; without sharing each window builds its own."""
    count, length, slide = 30_000, 10_000, 2_000
    random = np.random.Generator(np.random.PCG64(5))
    price = np.arange(count) * 3 + random.integers(-1_000, 1_000, count)
    events = pa.table({"time": np.arange(count), "price": price})
    where = "PATTERN S+ WHERE S.price > NEXT(S).price"
    shared = query(f"RETURN COMPLETE TRENDS(price) {where} WITHIN {length} s SLIDE {slide} s LIMIT 100")
    alone = query(f"RETURN COMPLETE TRENDS(price) {where} LIMIT 100")
    starts = range(slide - length, count, slide)

    def one_by_one() -> int:
        found = 0
        for start in starts:
            inside = events.slice(max(0, start), min(count, start + length) - max(0, start))
            found += alone.run(inside, type=None).num_rows
        return found

    assert shared.run(events, type=None).num_rows == one_by_one()
    seconds = interleaved(
        {"shared": lambda: shared.run(events, type=None), "alone": one_by_one}, min(repeat, 3), process_time
    )
    note = f"{count:,} events, {len(starts)} windows; {duration(seconds['shared'])} and {duration(seconds['alone'])}"
    ratio = seconds["alone"] / seconds["shared"]
    return [at_least("overlapping windows, 80% overlap", "without / with sharing", ratio, "x", 2, note)]


@workload("sample-trends")
def sample_trends(repeat: int) -> list[ResultRow]:
    """1000 trends drawn at random from 100,000 events: in one window, and ten in each of a hundred windows."""
    count = 100_000
    events = pa.table({"time": np.arange(count)})
    rows = []
    for name, window, size in (("one window", "", 1_000), ("100 windows", "WITHIN 1000 s SLIDE 1000 s", 10)):
        counted = query(f"RETURN COUNT(*) PATTERN S+ {window}").run(events, type=None, numbers="log2")
        trends = min(counted["count"].to_pylist())
        assert trends > 500, trends
        asked = query(f"RETURN EACH COUNT(S) PATTERN S+ {window} SAMPLE {size}")
        assert asked.run(events, type=None).num_rows == 1_000
        seconds = median_seconds(lambda asked=asked: asked.run(events, type=None), min(repeat, 3), process_time)
        note = f"{count:,} events, 2^{trends:,.0f} trends in a window"
        rows.append(at_most(f"SAMPLE, 1000 trends, {name}", "time", seconds, "s", 10, note))
    return rows
