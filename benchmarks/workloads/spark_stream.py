"""Queries on Spark streams, against a stateless pass through Python over the same files.

A file of 100,000 events is a micro-batch. Wall time of whole micro-batches on one machine with two tasks at once, both
sides in turn in one session. Streams run for days, so the first micro-batches of a run, in which workers start and
windows fill, are left out, and so is the first run of both sides, in which the JVM spends more time on compiling than
on rows.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter, perf_counter_ns

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from benchmarks.registry import ResultRow, workload
from benchmarks.result_rows import at_least, at_most, duration
from benchmarks.spark_events import sequences
from benchmarks.spark_sessions import start
from benchmarks.spark_streams import ROCKSDB, copied, read_stream, run, write_stream
from benchmarks.workloads.greta_queries import paper_query
from trendweave import Query, datasets, query

AT_ONCE = 100_000
BATCHES = 12
#: So many events of a workload.
Events = Callable[[int], pa.Table]
_COLUMNS = ["time", "type", "key"]
TUMBLING = "WITHIN 10 seconds SLIDE 10 seconds"
_MATCH = "RETURN EACH FIRST(A.time) AS began PATTERN {} WHERE [key] GROUP-BY key WITHIN 10 seconds"
_FOLLOWED, _NOT_FOLLOWED = _MATCH.format("SEQ(A, B)"), _MATCH.format("SEQ(A, B, NOT A X)")
_PER_KEY = "RETURN key, COUNT(*) PATTERN SEQ(A+, B) WHERE [key] GROUP-BY key "
PER_KEY = query(_PER_KEY + TUMBLING)
PER_HOUR, PER_WEEK = query(_PER_KEY + "WITHIN 1 hour SLIDE 1 hour"), query(_PER_KEY + "WITHIN 7 days SLIDE 1 day")
HALF_A_DAY = 43_200


@workload("spark_stream")
def spark_stream(repeat: int) -> list[ResultRow]:
    """Streams of 100k events a micro-batch: throughput against a pass-through, latency, state and restart."""
    with _session() as (spark, folder):
        bench = _Bench(spark, folder, min(repeat, 2))
        return [
            *bench.against_floor("SEQ(A+, B), 1k keys", PER_KEY, _sequences(1_000), ["key"], 0.6, BATCHES, folded=True),
            *bench.against_floor(
                "Q1, 1k companies", paper_query("greta_q1"), _stock(), ["company", "sector", "price"], 0.45, 18
            ),
            *bench.against_floor(
                "SEQ(A+, B), 100k keys", PER_KEY, _sequences(100_000), ["key"], 0.6, BATCHES, folded=True
            ),
            *bench.state_of_an_hour(),
            *bench.week_of_many_keys(),
            *bench.state_of_a_long_stream(),
        ]


@workload("spark_stream_absence")
def spark_stream_absence(repeat: int) -> list[ResultRow]:
    """Absence with a time-out on a stream of 100k keys, against the same pattern without it."""
    with _session() as (spark, folder):
        return _Bench(spark, folder, min(repeat, 2)).absence(100_000, BATCHES)


@workload("push")
def push(repeat: int) -> list[ResultRow]:
    """A push session that gets events one by one: microseconds per event."""
    events = _sequences(1_000)(200_000).select(["time", "type", "key"])
    listed = events.to_pylist()
    taken: list[int] = []
    for _ in range(max(1, min(repeat, 3))):
        session = PER_KEY.push(events.schema, watermark="1 second", numbers="text")
        rows = 0
        for event in listed:
            begun = perf_counter_ns()
            rows += len(session.send(event))
            taken.append(perf_counter_ns() - begun)
        rows += session.finish().num_rows
        if rows != PER_KEY.run(events, numbers="text").num_rows:
            raise AssertionError("the session gave other rows than a batch")
    micros = np.array(taken) / 1e3
    note = f"{len(listed):,} events, 1k keys, windows of 10 s with about 100,000 events each"
    name = "push, one event at a time"
    return [
        at_most(name, "median", float(np.median(micros)), "us per event", 50, note),
        at_most(name, "99th percentile", float(np.percentile(micros, 99)), "us per event", None, note),
        at_most(name, "longest", float(micros.max()) / 1e3, "ms per event", None, "the event that closes a window"),
        at_most(name, "mean", float(micros.mean()), "us per event", None, "windows that close included"),
    ]


def _sequences(keys: int) -> Events:
    """10,000 events a second: a micro-batch spans one window."""
    return lambda events: sequences(events, min(keys, events), events // 10_000)


def _stock() -> Events:
    """One event a second and company: a micro-batch spans 100 seconds, and ten windows close with it."""
    return lambda events: datasets.stock(events, seed=1, companies=1_000)


@contextmanager
def _session() -> Iterator[tuple[SparkSession, Path]]:
    with tempfile.TemporaryDirectory() as place:
        spark = start(2, Path(place))
        spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
        spark.conf.set("spark.sql.shuffle.partitions", "2")
        # What docs/streaming.md recommends: write changes, not whole files, with every micro-batch.
        spark.conf.set("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true")
        spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", "1000")
        try:
            yield spark, Path(place)
        finally:
            spark.stop()


class _Bench:
    def __init__(self, spark: SparkSession, folder: Path, repeats: int) -> None:
        self.spark, self.folder, self.repeats = spark, folder, repeats
        self._numbers = count()

    def checkpoint(self) -> Path:
        return self.folder / f"checkpoint-{next(self._numbers)}"

    def against_floor(
        self,
        name: str,
        asked: Query,
        events: Events,
        columns: list[str],
        bar: float | None,
        batches: int,
        folded: bool = False,
    ) -> list[ResultRow]:
        folder = write_stream(events(batches * AT_ONCE), self.folder / f"events-{next(self._numbers)}", AT_ONCE)
        stream = read_stream(self.spark, folder, ["time", "type", *columns])
        ours, floor = [], []
        for number in range(1 + self.repeats):
            plain = run(copied(stream), self.checkpoint())
            last = run(asked.run(stream, watermark="1 second", numbers="text"), self.checkpoint(), folded=folded)
            if last.late:
                raise AssertionError(f"{last.late} events were late in a stream that is in order")
            if number:
                floor += plain.batches
                ours += last.batches
        note = f"{AT_ONCE:,} events a micro-batch: {duration(median(ours))}, pass-through {duration(median(floor))}"
        ratio = median(floor) / median(ours)
        keys = pc.count_distinct(events(AT_ONCE).column(columns[0])).as_py()
        state = f"{keys:,} keys, {last.waiting:,} events wait in {last.waiting_bytes:,} bytes, "
        state += f"{last.carried_bytes:,} bytes are carried on"
        return [
            at_least(name, "throughput / floor", ratio, "x", bar, note),
            at_least(name, "rate", AT_ONCE / median(ours) / 1e6, "M events/s", None, "events / median micro-batch"),
            at_most(name, "micro-batch, median", median(ours), "s"),
            at_most(name, "micro-batch, 99th percentile", quantiles(ours, n=100)[98], "s", None, f"of {len(ours)}"),
            at_most(name, "state per key", last.state_bytes / keys, "bytes", None, state),
        ]

    def absence(self, keys: int, batches: int) -> list[ResultRow]:
        """Every key has events now and then; both queries list matches once, one of them when nothing has followed."""
        table = _sequences(keys)(batches * AT_ONCE)
        folder = write_stream(table, self.folder / f"events-{next(self._numbers)}", AT_ONCE)
        stream = read_stream(self.spark, folder, ["time", "type", "key"])
        taken: dict[str, list[float]] = {_FOLLOWED: [], _NOT_FOLLOWED: []}
        held = {}
        for _ in range(self.repeats):
            for text in taken:
                last = run(query(text).run(stream, watermark="1 second"), self.checkpoint())
                taken[text] += last.batches
                held[text] = last.waiting
        followed, absent = (median(taken[text]) for text in (_FOLLOWED, _NOT_FOLLOWED))
        shown = query(_NOT_FOLLOWED).run(table.slice(0, AT_ONCE)).num_rows
        note = (
            f"{AT_ONCE:,} events a micro-batch: {duration(absent)}, without NOT {duration(followed)}; "
            f"{held[_NOT_FOLLOWED]:,} and {held[_FOLLOWED]:,} events held; "
            f"{shown:,} matches in the first {AT_ONCE:,} events"
        )
        return [
            at_most(f"absence with a time-out, {keys:,} keys", "time / without it", absent / followed, "x", 1.5, note)
        ]

    def state_of_an_hour(self) -> list[ResultRow]:
        """One window that stays open, with some events and with four times as many."""
        sizes = {}
        for batches in (3, 12):
            table = sequences(batches * AT_ONCE, 1_000, 1_800)
            stream = read_stream(self.spark, write_stream(table, self.folder / f"hour-{batches}", AT_ONCE), _COLUMNS)
            rows = PER_HOUR.run(stream, watermark="1 second", numbers="float64")
            sizes[batches] = run(rows, self.checkpoint(), folded=True).carried_bytes
        further = (sizes[12] - sizes[3]) / (9 * AT_ONCE)
        note = f"of 900,000 further events in the window; {sizes[3]:,} and {sizes[12]:,} bytes are carried on"
        return [
            at_most("SEQ(A+, B), window of an hour, 1k keys", "state per event", further, "bytes", 0.01, note),
            at_most("SEQ(A+, B), window of an hour, 1k keys", "state per key", sizes[12] / 1_000, "bytes"),
        ]

    def week_of_many_keys(self) -> list[ResultRow]:
        """A week's window every day, a tenth of a million keys: counts of seven panes, and no events."""
        name, keys = "SEQ(A+, B), a week every day, 100k keys", 100_000

        def events(count: int) -> pa.Table:
            return sequences(count, keys, count // AT_ONCE * HALF_A_DAY)

        rows = self.against_floor(name, PER_WEEK, events, ["key"], None, 20, folded=True)
        # Seven days of the windows that are open, and the day that has begun.
        last = rows[-1]
        return [*rows[:-1], {**last, "metric": "state per key and pane", "value": last["value"] / 8}]

    def state_of_a_long_stream(self) -> list[ResultRow]:
        """Ever new keys, ten times as long."""
        sizes, held = {}, {}
        for batches in (8, 80):
            table = sequences(batches * 10_000, batches * 1_000, batches * 10, visit=10)
            folder = write_stream(table, self.folder / f"long-{batches}", 10_000)
            stream = read_stream(self.spark, folder, ["time", "type", "key"])
            checkpoint = self.checkpoint()
            last = run(PER_KEY.run(stream, watermark="1 second", numbers="text"), checkpoint, keep=True, folded=True)
            sizes[batches], held[batches] = last.state_bytes, last.waiting
            begun = perf_counter()
            run(PER_KEY.run(stream, watermark="1 second", numbers="text"), checkpoint)
            restart = perf_counter() - begun
        note = f"{held[8]:,} and {held[80]:,} events held; 1,000 new keys a micro-batch"
        return [
            at_most("a stream ten times as long", "state", sizes[80] / sizes[8], "x", 1.2, note),
            at_most(
                "a stream ten times as long",
                "restart",
                restart,
                "s",
                None,
                "start from the checkpoint, nothing new to read",
            ),
        ]
