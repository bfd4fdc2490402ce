"""Queries on Spark DataFrames where half of all events have one key, and on one core and two."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from benchmarks.registry import ResultRow, workload
from benchmarks.result_rows import at_least, at_most, duration
from benchmarks.spark_bench import Bench, memory, two_tasks
from benchmarks.spark_cores import another_session
from benchmarks.spark_events import drifting, sequences, write
from benchmarks.spark_sessions import check_rows, compute
from benchmarks.workloads.spark_batch import EVENTS, REPEATS
from trendweave import query

PAIRS = query("RETURN COUNT(*) PATTERN SEQ(A, B) WHERE [key] WITHIN 10 minutes SLIDE 1 minute")


@workload("spark_skew")
def spark_skew(repeat: int) -> list[ResultRow]:
    """5M events of which half have one key, against keys of one size; and one core against two."""
    repeats = min(repeat, REPEATS)
    with two_tasks(repeats) as bench:
        rows = _hot_key(bench)
    with tempfile.TemporaryDirectory() as place:
        return rows + cores(Path(place), repeats)


def _hot_key(bench: Bench) -> list[ResultRow]:
    calls = {}
    for name, part in (("uniform", 0.0), ("hot", 0.5)):
        table = sequences(EVENTS, 1_000, EVENTS // 100, hot=part)
        events = bench.read(name, table)
        check_rows(PAIRS.run(events), PAIRS.run(table))
        calls[name] = lambda events=events: compute(PAIRS.run(events))
    seconds, peak = bench.timed(calls)
    name = "SEQ(A, B), 10 min / 1 min, half of all events on one of 1k keys"
    note = f"{EVENTS:,} events; {duration(seconds['hot'])}, {duration(seconds['uniform'])}"
    ratio = seconds["hot"] / seconds["uniform"]
    return [at_most(name, "time / uniform keys", ratio, "x", 1.5, note), memory(name, peak)]


def cores(folder: Path, repeats: int) -> list[ResultRow]:
    """Sessions of one task on one core, of one task at a time on both, and of two at a time, in turn."""
    table = drifting(EVENTS)
    events = write(table, folder / "events")
    shapes = {"one core": (1, 1), "one task": (1, 2), "two tasks": (2, 2)}
    seconds: dict[str, list[float]] = {name: [] for name in shapes}
    with ExitStack() as stack:
        sessions = {
            name: stack.enter_context(another_session(*shape, events, folder / name)) for name, shape in shapes.items()
        }
        for round_ in range(1 + repeats):
            for name, session in sessions.items():
                took = session.seconds()
                if round_:  # the first one warms up
                    seconds[name].append(took)
    name = "falling price, no key, 1 h / 1 min"
    alone, in_turn, together = (median(seconds[shape]) for shape in shapes)
    sizes = f"{EVENTS:,} events"
    held = f"{sizes}; {duration(alone)}, {duration(together)}; one core: local[1] and its workers held to it"
    free = f"{sizes}; {duration(in_turn)}, {duration(together)}; JVM and worker share the cores already"
    return [
        at_least(name, "speed of 2 cores / 1 core", alone / together, "x", 1.5, held),
        at_least(name, "speed of local[2] / local[1], both cores", in_turn / together, "x", None, free),
    ]
