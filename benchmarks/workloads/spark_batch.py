"""Queries on Spark DataFrames, against Spark alone and against what a user would write instead.

The floor reads the same Parquet columns, filters, brings keys together and sorts them by time, and that is all. Rows
meet as columns unless a row of the table says otherwise; both roads are timed in turn. Wall time of one machine with
two tasks at once, medians, all sides in turn in one session; JVM and kernels are warm. Every answer is compared with
that of the in-process runner.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from benchmarks import spark_alternatives as instead
from benchmarks.registry import ResultRow, workload
from benchmarks.result_rows import at_least, at_most, duration, slower
from benchmarks.spark_cores import another_session
from benchmarks.spark_events import drifting, sequences, write
from benchmarks.spark_sessions import check_rows, compute, floor, forget_peaks, peak_megabytes, start
from benchmarks.timing import interleaved
from benchmarks.workloads.greta_queries import paper_query
from trendweave import Query, datasets, query

EVENTS = 5_000_000
REPEATS = 3
#: Spark looks at the size of a batch for Python after every row, unless this says that no batch is too large.
BATCH_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
HOUR = 3_600
BY_ROWS = 'exchange="rows": Spark moves and sorts rows'
#: The highest resident size of a worker on the road of rows, before there was another.
MOST_MEMORY = 460
TUMBLING = "WITHIN 10 minutes SLIDE 10 minutes"
PER_KEY = query(f"RETURN key, COUNT(*) PATTERN SEQ(A+, B) WHERE [key] GROUP-BY key {TUMBLING}")
PAIRS_PER_KEY = query(f"RETURN key, COUNT(*) PATTERN SEQ(A, B) WHERE [key] GROUP-BY key {TUMBLING}")
PAIRS = query("RETURN COUNT(*) PATTERN SEQ(A, B) WHERE [key] WITHIN 10 minutes SLIDE 1 minute")
FALLING_PAIRS = query(
    "RETURN sector, COUNT(*) PATTERN SEQ(Stock S, Stock T) WHERE [company, sector] AND S.price > T.price "
    "GROUP-BY sector WITHIN 10 minutes SLIDE 10 seconds"
)


@workload("spark_batch")
def spark_batch(repeat: int) -> list[ResultRow]:
    """Queries over 5M events in Parquet files: throughput against Spark alone, cores, a hot key, alternatives."""
    with _session() as (spark, folder):
        bench = _Bench(spark, folder, min(repeat, REPEATS))
        rows = [
            *bench.down_trends(),
            *bench.sequences_per_key("SEQ(A+, B), 100k keys of 50 events", EVENTS // 50, None),
            *bench.sequences_per_key("SEQ(A+, B), 1M keys of 5 events", EVENTS // 5, 300),
            *bench.hot_key(),
            *bench.alternatives(),
        ]
    with tempfile.TemporaryDirectory() as place:
        return rows + cores(Path(place), min(repeat, REPEATS))


@contextmanager
def _session() -> Iterator[tuple[SparkSession, Path]]:
    with tempfile.TemporaryDirectory() as place:
        spark = start(2, Path(place))
        try:
            yield spark, Path(place)
        finally:
            spark.stop()


class _Bench:
    """The measurements that share a session."""

    def __init__(self, spark: SparkSession, folder: Path, repeats: int) -> None:
        self.spark, self.folder, self.repeats = spark, folder, repeats

    def read(self, name: str, table: pa.Table) -> DataFrame:
        return self.spark.read.parquet(write(table, self.folder / name))

    # Against Spark alone

    def down_trends(self) -> list[ResultRow]:
        asked, table = paper_query("greta_q1"), datasets.stock(EVENTS, seed=1, companies=1_000)
        events = self.read("stock", table)
        check_rows(asked.run(events, numbers="text"), asked.run(table, numbers="text"))
        calls = {
            "floor": lambda: compute(floor(events, ["Stock"], ["company", "sector"], ["price"])),
            "text": lambda: compute(asked.run(events, numbers="text")),
            "float64": lambda: compute(asked.run(events, numbers="float64")),
            "float64, rows": lambda: compute(asked.run(events, numbers="float64", exchange="rows")),
        }
        seconds, peak = self.timed(calls)
        name = "Q1, 10 min / 10 s, 1k companies"
        exact = 'exact, numbers="text"'
        self.spark.conf.set(BATCH_BYTES, str(2**31 - 1))
        larger, _ = self.timed(calls)
        self.spark.conf.unset(BATCH_BYTES)
        unchecked = f"{BATCH_BYTES} at its largest (docs/spark.md)"
        return [
            _share(name, seconds["floor"], seconds["text"], 0.6, exact),
            _share(name, seconds["floor"], seconds["float64"], 0.8, 'numbers="float64"'),
            _share(name, seconds["floor"], seconds["float64, rows"], None, f'numbers="float64"; {BY_ROWS}'),
            _share(name, larger["floor"], larger["text"], None, f"{exact}; {unchecked}"),
            _share(name, larger["floor"], larger["float64"], None, f'numbers="float64"; {unchecked}'),
            _memory(name, peak),
        ]

    def sequences_per_key(self, name: str, keys: int, visit: int | None) -> list[ResultRow]:
        table = sequences(EVENTS, keys, HOUR, visit)
        events = self.read(f"keys-{keys}", table)
        check_rows(PER_KEY.run(events), PER_KEY.run(table))
        calls = {
            "floor": lambda: compute(floor(events, ["A", "B"], ["key"])),
            "columns": lambda: compute(PER_KEY.run(events)),
            "rows": lambda: compute(PER_KEY.run(events, exchange="rows")),
        }
        seconds, peak = self.timed(calls)
        note = "windows of 10 minutes, one row per key and window"
        return [
            _share(name, seconds["floor"], seconds["columns"], 1.0, note),
            _share(name, seconds["floor"], seconds["rows"], None, f"{note}; {BY_ROWS}"),
            _memory(name, peak),
        ]

    # Skew

    def hot_key(self) -> list[ResultRow]:
        calls = {}
        for name, share in (("uniform", 0.0), ("hot", 0.5)):
            table = sequences(EVENTS, 1_000, EVENTS // 100, hot=share)
            events = self.read(name, table)
            check_rows(PAIRS.run(events), PAIRS.run(table))
            calls[name] = lambda events=events: compute(PAIRS.run(events))
        seconds, peak = self.timed(calls)
        name = "SEQ(A, B), 10 min / 1 min, half of all events on one of 1k keys"
        note = f"{EVENTS:,} events; {duration(seconds['hot'])}, {duration(seconds['uniform'])}"
        ratio = seconds["hot"] / seconds["uniform"]
        return [at_most(name, "time / uniform keys", ratio, "x", 1.5, note), _memory(name, peak)]

    # Instead

    def alternatives(self) -> list[ResultRow]:
        window = "10 minutes"
        many = sequences(EVENTS, EVENTS // 50, HOUR)
        few = sequences(500_000, 10_000, HOUR)
        stock = datasets.stock(50_000, seed=1, companies=1_000)
        fewer = datasets.stock(19 * 300, seed=1)
        return [
            *self.compared("SEQ(A, B), 100k keys, 10 min / 10 min", PAIRS_PER_KEY, many, {
                "self-join": lambda events: instead.pairs_by_self_join(events, window),
                "window function": lambda events: instead.pairs_by_window_function(events, window),
            }, "; neither says A+ or a predicate between neighbours", bar=1.5),
            *self.compared("SEQ(A+, B), 10k keys, 10 min / 10 min", PER_KEY, few, {
                "list and UDF that builds trends": lambda events: instead.sequences_by_enumeration(events, window),
                "list and UDF that counts": lambda events: instead.sequences_by_counting(events, window),
            }, "; four A a window: each more doubles what is built"),
            *self.compared("falling pairs, 1k companies, 10 min / 10 s", FALLING_PAIRS, stock, {
                "self-join": lambda events: instead.falling_pairs_by_self_join(events, 600, 10),
            }, "; only 50 seconds of events: what is joined grows with their square"),
            *self.compared("Q1, 19 companies, 10 min / 10 s", paper_query("greta_q1"), fewer, {
                "list and UDF that counts": lambda events: instead.falling_trends_by_counting(events, 600, 10),
            }, "; only 5 minutes of events: a full window takes four times as long per event", "text"),
        ]  # fmt: skip

    def compared(
        self,
        name: str,
        asked: Query,
        table: pa.Table,
        others: dict[str, Callable[[DataFrame], DataFrame]],
        note: str,
        numbers: str = "decimal",
        bar: float | None = None,
    ) -> list[ResultRow]:
        events = self.read(name.replace("/", "per"), table)
        expected = asked.run(table, numbers=numbers)
        calls = {"ours": lambda: compute(asked.run(events, numbers=numbers))}
        for other, frame in others.items():
            check_rows(frame(events), expected)
            calls[other] = lambda frame=frame: compute(frame(events))
        return slower(name, table.num_rows, interleaved(calls, self.repeats), note, bar)

    def timed(self, calls: dict[str, Callable[[], None]]) -> tuple[dict[str, float], float]:
        """Medians, and the highest resident size of a Python worker in MiB."""
        forget_peaks()
        return interleaved(calls, self.repeats), peak_megabytes()


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


# Rows


def _share(name: str, alone: float, ours: float, bar: float | None, note: str) -> ResultRow:
    rate = EVENTS / ours / 1e6
    sizes = f"{EVENTS:,} events; Spark alone {duration(alone)}, ours {duration(ours)} ({rate:.2f} M events/s)"
    return at_least(name, "throughput / Spark alone", alone / ours, "x", bar, f"{sizes}; {note}")


def _memory(name: str, peak: float) -> ResultRow:
    return at_most(name, "highest resident size of a Python worker", peak, "MiB", MOST_MEMORY)
