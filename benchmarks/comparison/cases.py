"""What two source trees are compared by: short calls of each kind of query, through public names alone.

This file runs as a script whose `trendweave` comes from one of the trees, so it imports nothing of ours but public
names, which both trees have; a session of it answers lines on its standard input.

    prepare NAME   makes the events, calls once, and answers `rows N`
    run NAME       calls once more and answers `seconds N`
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterable
from itertools import count, permutations
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

#: One call, which gives the number of its rows.
Call = Callable[[], int]


class Case(NamedTuple):
    """A name, and what makes the call; a call on Spark is timed by the clock on the wall, others by CPU time."""

    group: str
    make: Callable[[], Call]


CASES: dict[str, Case] = {}

Q1 = (
    "RETURN sector, COUNT(*) PATTERN Stock S+ WHERE [company, sector] AND S.price > NEXT(S).price "
    "GROUP-BY sector WITHIN 10 minutes SLIDE {slide}"
)
Q2 = (
    "RETURN mapper, SUM(M.cpu) PATTERN SEQ(Start S, Measurement M+, End E) "
    "WHERE [job, mapper] AND M.load < NEXT(M).load GROUP-BY mapper WITHIN 1 minute SLIDE 30 seconds"
)
Q3 = (
    "RETURN segment, COUNT(*), AVG(P.speed) PATTERN SEQ(NOT Accident A, Position P+) "
    "WHERE [P.vehicle, segment] AND P.speed > NEXT(P).speed GROUP-BY segment WITHIN 5 minutes SLIDE 1 minute"
)
PER_KEY = "RETURN key, COUNT(*) PATTERN SEQ(A+, B) WHERE [key] GROUP-BY key WITHIN 10 seconds SLIDE 10 seconds"
CHAIN = "RETURN COMPLETE TRENDS PATTERN Check c+ WHERE c.status = 'notcovered' AND c.destination = NEXT(c).source"
DRIVERS = (
    "FROM CarSensors PARTITION BY car DEFINE A AS accel > 2.9, B AS speed > 80.0, C AS accel < -2.9 "
    "PATTERN A meets; overlaps; starts; during B AND B contains; finished-by; overlaps; meets C AND A before C "
    "WITHIN 5 minutes RETURN FIRST(B.car) AS car, AVG(B.speed) AS speed"
)
V_SHAPE = (
    "PATTERN SEQ(Stock A, Stock B+, Stock C+) SEMANTICS contiguous WHERE [company] "
    "AND A.price > B.price AND B.price > NEXT(B).price AND B.price < C.price AND C.price < NEXT(C).price"
)
SITUATED = (
    "RETURN car, COUNT(*) PATTERN Reading R+ WHERE [car] AND R.speed < NEXT(R).speed AND R DURING Fast "
    "GROUP-BY car WITHIN 1 minute SLIDE 1 minute DEFINE Fast AS speed > 62.0"
)


def case(name: str, group: str) -> Callable[[Callable[[], Call]], Callable[[], Call]]:
    """Register what makes a call under the name of a case."""

    def register(make: Callable[[], Call]) -> Callable[[], Call]:
        CASES[name] = Case(group, make)
        return make

    return register


def call_of(text: str, events: Any, **options: Any) -> Call:
    """Make the call that runs a query on a table and counts its rows."""
    import trendweave

    asked = trendweave.query(text)
    return lambda: int(asked.run(events, **options).num_rows)


# Aggregates


@case("Q1, 60-fold overlap, exact", "aggregation")
def _sliding() -> Call:
    return call_of(Q1.format(slide="10 seconds"), _stock(600_000), numbers="text")


@case("Q1, 60-fold overlap, float64", "aggregation")
def _sliding_floats() -> Call:
    return call_of(Q1.format(slide="10 seconds"), _stock(600_000), numbers="float64")


@case("Q1, tumbling, log2", "aggregation")
def _tumbling() -> Call:
    return call_of(Q1.format(slide="10 minutes"), _stock(1_000_000, companies=1_000), numbers="log2")


@case("Q1 without predicate, 60-fold overlap", "aggregation")
def _no_predicate() -> Call:
    text = Q1.format(slide="10 seconds").replace(" AND S.price > NEXT(S).price", "")
    return call_of(text, _stock(600_000), numbers="float64")


@case("Q2, job runs whose load rises", "aggregation")
def _cluster() -> Call:
    from trendweave import datasets

    return call_of(Q2, datasets.cluster(800_000, seed=1))


@case("Q3, negation, keys of one variable", "aggregation")
def _traffic() -> Call:
    from trendweave import datasets

    return call_of(Q3, datasets.traffic(600_000, seed=1))


@case("two comparisons, one window", "aggregation")
def _two_comparisons() -> Call:
    text = "RETURN COUNT(*) PATTERN S+ WHERE S.price > NEXT(S).price AND S.volume < NEXT(S).volume"
    return call_of(text, _drifting(20_000), type=None, numbers="float64")


@case("falling price, one window of 500k events", "aggregation")
def _one_window() -> Call:
    text = "RETURN COUNT(*), SUM(S.price), MAX(S.price) PATTERN S+ WHERE S.price > NEXT(S).price"
    return call_of(text, _drifting(500_000), type=None, numbers="float64")


@case("moving window, skip-till-next-match", "aggregation")
def _next_match() -> Call:
    text = "RETURN COUNT(*) PATTERN SEQ(A+, B) WHERE [key] SEMANTICS skip-till-next-match WITHIN 20 seconds"
    return call_of(text, _sequences(60_000, 100))


@case("300k keys of two events", "aggregation")
def _many_keys() -> Call:
    return call_of(PER_KEY, _sequences(600_000, 300_000))


@case("a hundred small tables", "aggregation")
def _small_tables() -> Call:
    call = call_of(PER_KEY, _sequences(200, 10))
    return lambda: sum(call() for _ in range(100))


@case("sequence of three", "aggregation")
def _sequence_of_three() -> Call:
    kinds = pa.array(["A", "B", "C"]).take(pa.array(np.random.default_rng(1).integers(0, 3, 1_000_000)))
    return call_of("RETURN COUNT(*) PATTERN SEQ(A, B, C)", pa.table({"time": np.arange(1_000_000), "type": kinds}))


@case("3,000 bits, exact", "aggregation")
def _many_bits() -> Call:
    return call_of("RETURN COUNT(*) PATTERN Stock S+", _stock(3_000, companies=1), numbers="text")


@case("without predicate, 60-fold overlap, exact", "aggregation")
def _many_bits_in_windows() -> Call:
    text = Q1.format(slide="10 seconds").replace(" AND S.price > NEXT(S).price", "")
    return call_of(text, _stock(100_000), numbers="text")


@case("contiguous V shapes, counted", "aggregation")
def _shapes_counted() -> Call:
    return call_of(f"RETURN COUNT(*) {V_SHAPE}", _stock(1_000_000, companies=1_000))


@case("a condition on an earlier event", "aggregation")
def _earlier_event() -> Call:
    draw = np.random.default_rng(1_000)
    kinds = np.repeat(["A", "B", "C"], [1_000, 40, 98_960])
    draw.shuffle(kinds)
    events = {"time": np.arange(100_000), "type": kinds, "x": draw.permutation(1_000_000)[:100_000]}
    return call_of("RETURN COUNT(*) PATTERN SEQ(A, B*, C) WHERE C.x >= A.x + 5", pa.table(events))


@case("fifty queries, float64", "aggregation")
def _fifty_queries() -> Call:
    return _together(numbers="float64")


@case("fifty queries, exact", "aggregation")
def _fifty_queries_exact() -> Call:
    return _together(numbers="text")


def _together(**options: Any) -> Call:
    """HAMLET, Section 5.1, first workload: fifty queries over one Kleene type."""
    from trendweave import datasets, workload

    events = datasets.ride_sharing(300_000, seed=1, burst=120, events_per_minute=10_000)
    others = [name for name in sorted(set(events.column("type").to_pylist())) if name != "Travel"]
    queries = {
        f"{first}_{last}": f"RETURN district, COUNT(*) PATTERN SEQ({first} A, Travel T+, {last} B) "
        "WHERE [district] GROUP-BY district WITHIN 1 minute SLIDE 1 minute"
        for first, last in list(permutations(others, 2))[::6][:50]
    }
    together = workload(queries)
    return lambda: int(together.run(events, **options).num_rows)


# Trends


@case("contiguous V shapes, each", "trends")
def _shapes_listed() -> Call:
    text = f"RETURN EACH FIRST(A.price) AS top, LAST(C.price) AS recovered, COUNT(B) AS falls {V_SHAPE}"
    return call_of(text, _stock(1_000_000, companies=1_000), max_trends=10**9)


@case("complete trends, 1.6 million", "trends")
def _complete() -> Call:
    return _iterate(CHAIN, _deposits(13), max_trends=10**9)


@case("complete trends, h-cet", "trends")
def _pieces_joined() -> Call:
    return _iterate(CHAIN, _deposits(12), max_trends=10**9, strategy="h-cet")


@case("trends with attributes, windows", "trends")
def _listed() -> Call:
    text = "RETURN TRENDS(price) PATTERN Stock S{2,4} WHERE [company] AND S.price > NEXT(S).price "
    return _iterate(text + "WITHIN 8 seconds SLIDE 4 seconds", _stock(60_000), max_trends=10**9)


@case("limit, overlapping windows", "trends")
def _limited() -> Call:
    text = "RETURN COMPLETE TRENDS(price) PATTERN S+ WHERE S.price > NEXT(S).price "
    return call_of(text + "WITHIN 10000 s SLIDE 2000 s LIMIT 1000", _drifting(60_000), type=None)


@case("sample of 1000 trends", "trends")
def _sampled() -> Call:
    return call_of("RETURN EACH COUNT(S) PATTERN S+ SAMPLE 200", _drifting(20_000), type=None)


def _iterate(text: str, events: pa.Table, **options: Any) -> Call:
    import trendweave

    asked = trendweave.query(text)
    return lambda: sum(batch.num_rows for batch in asked.iter(events, **options))


# Intervals


@case("aggressive drivers, 2M events", "intervals")
def _drivers() -> Call:
    return call_of(DRIVERS, _cars(2_000_000))


@case("four situations, two halves", "intervals")
def _halves() -> Call:
    text = f"{_define('ABCD')} PATTERN A starts B before C overlaps D WITHIN 10000 seconds"
    return call_of(text, _situations(2_000_000, "ABCD"))


@case("chain of six situations", "intervals")
def _chain() -> Call:
    pattern = "A overlaps B AND B overlaps C AND C contains D AND D meets E AND E overlaps F"
    return call_of(f"{_define('ABCDEF')} PATTERN {pattern} WITHIN 2000 seconds", _situations(1_000_000, "ABCDEF"))


@case("situations alone", "intervals")
def _alone() -> Call:
    return call_of(f"{_define('ABCD')} RETURN SITUATIONS", _situations(2_000_000, "ABCD"))


@case("trends during a situation", "intervals")
def _during() -> Call:
    cars = _cars(400_000)
    return call_of(SITUATED, cars.append_column("type", pa.array(["Reading"] * cars.num_rows)))


# Piece by piece


@case("twenty pieces of a table", "pieces")
def _pieces() -> Call:
    import trendweave

    events = _in_seconds(_sequences(400_000, 1_000))
    engine = trendweave.query(PER_KEY).incremental(events.schema)
    pieces = [events.slice(low, 20_000) for low in range(0, events.num_rows, 20_000)]

    def call() -> int:
        state, rows = engine.start(), 0
        for piece in pieces:
            state, found = engine.push(state, piece, int(piece.column("time")[-1].as_py()))
            rows += found.num_rows
        return rows + int(engine.finish(state).num_rows)

    return call


@case("pieces of intervals", "pieces")
def _interval_pieces() -> Call:
    import trendweave

    events = _cars(400_000)
    engine = trendweave.query(DRIVERS).incremental(events.schema)
    pieces = [events.slice(low, 40_000) for low in range(0, events.num_rows, 40_000)]

    def call() -> int:
        state, rows = engine.start(), 0
        for piece in pieces:
            state, found = engine.push(state, piece, int(piece.column("time")[-1].as_py()))
            rows += found.num_rows
        return rows + int(engine.finish(state).num_rows)

    return call


@case("push, event by event", "pieces")
def _push() -> Call:
    import trendweave

    asked = trendweave.query(PER_KEY)
    events = _sequences(40_000, 1_000)
    listed = events.to_pylist()

    def call() -> int:
        session = asked.push(events.schema, watermark="1 second")
        rows = sum(len(session.send(event)) for event in listed)
        return rows + int(session.finish().num_rows)

    return call


# Spark


@case("Spark batch, Q1, 1k companies", "spark_batch")
def _spark_q1() -> Call:
    return _on_spark(Q1.format(slide="10 seconds"), _stock(1_000_000, companies=1_000), numbers="float64")


@case("Spark batch, 100k keys", "spark_batch")
def _spark_keys() -> Call:
    return _on_spark(PER_KEY, _sequences(1_000_000, 100_000))


@case("Spark batch, no key, chunks of time", "spark_batch")
def _spark_chunks() -> Call:
    text = "RETURN COUNT(*) PATTERN S+ WHERE S.price > NEXT(S).price WITHIN 1 hour SLIDE 1 minute"
    return _on_spark(text, _drifting(500_000), type=None, numbers="float64")


@case("Spark batch, intervals", "spark_batch")
def _spark_intervals() -> Call:
    return _on_spark(DRIVERS, _cars(1_000_000))


@case("Spark batch, trends during a situation", "spark_batch")
def _spark_during() -> Call:
    cars = _cars(200_000)
    return _on_spark(SITUATED, cars.append_column("type", pa.array(["Reading"] * cars.num_rows)))


@case("Spark stream, 1k keys", "spark_stream")
def _stream_keys() -> Call:
    return _streaming(PER_KEY, _sequences(400_000, 1_000), 50_000)


@case("Spark stream, Q1", "spark_stream")
def _stream_q1() -> Call:
    text = Q1.format(slide="10 seconds").replace("10 minutes", "1 minute")
    return _streaming(text, _stock(400_000, companies=1_000), 50_000, numbers="float64")


@case("Spark stream, intervals", "spark_stream")
def _stream_intervals() -> Call:
    return _streaming(DRIVERS, _cars(400_000), 50_000)


_FOLDER = tempfile.TemporaryDirectory(prefix="compare-")
_NUMBERS = count()


def _folder() -> Path:
    return Path(_FOLDER.name) / str(next(_NUMBERS))


def _session() -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.local.dir": str(Path(_FOLDER.name) / "local"),
        "spark.sql.warehouse.dir": str(Path(_FOLDER.name) / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        ),
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    }.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def _write(events: pa.Table, rows: int) -> str:
    """Files of so many rows, in the order of their ages."""
    folder = _folder()
    folder.mkdir(parents=True)
    for number, low in enumerate(range(0, events.num_rows, rows)):
        path = folder / f"{number:04}.parquet"
        pq.write_table(events.slice(low, rows), path)
        os.utime(path, (number + 1, number + 1))
    return str(folder)


def _on_spark(text: str, events: pa.Table, **options: Any) -> Call:
    import trendweave

    frame = _session().read.parquet(_write(events, -(-events.num_rows // 4)))
    asked = trendweave.query(text)
    return lambda: int(asked.run(frame, **options).toArrow().num_rows)


def _streaming(text: str, events: pa.Table, rows: int, **options: Any) -> Call:
    """A whole stream, from its start to its end; rows are counted by Spark."""
    from pyspark.sql import functions as F

    import trendweave

    spark, folder, asked = _session(), _write(events, rows), trendweave.query(text)
    schema = spark.read.parquet(folder).schema
    spark.conf.set("spark.sql.shuffle.partitions", "2")

    def call() -> int:
        stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(folder)
        found = asked.run(stream, watermark="1 second", buckets=4, **options)
        counted = found.observe("compared", F.count(F.lit(1)).alias("rows"))
        writer = counted.writeStream.format("noop").option("checkpointLocation", str(_folder()))
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        seen = [step.observedMetrics for step in query.recentProgress]
        return sum(metrics["compared"]["rows"] for metrics in seen if "compared" in metrics)

    return call


# Events


def _stock(events: int, companies: int = 19) -> pa.Table:
    from trendweave import datasets

    return datasets.stock(events, seed=1, companies=companies)


def _deposits(layers: int) -> pa.Table:
    from trendweave import datasets

    return datasets.check_deposits(6 * layers, 1, rate=6, time="seconds")


def _drifting(events: int) -> pa.Table:
    """One event a second whose price rises by 3, give or take 8: it falls over a few events only."""
    draw = np.random.default_rng(1)
    price = np.arange(events) * 3 + draw.integers(-8, 9, events)
    return pa.table({"time": np.arange(events), "price": price, "volume": draw.integers(1, 100, events)})


def _sequences(events: int, keys: int) -> pa.Table:
    """Events of types A and B, half each, at random times, 10,000 a second, or so slowly that it takes a minute."""
    draw = np.random.default_rng(2)
    span = max(60, events // 10_000)
    micros = np.sort(draw.integers(0, span * 1_000_000, events))
    moments = pa.array(micros + 1_700_000_000_000_000).view(pa.timestamp("us", tz="UTC"))
    types = pa.array(["A", "B"]).take(pa.array(draw.integers(0, 2, events)))
    return pa.table({"time": moments, "type": types, "key": draw.integers(0, keys, events)})


def _in_seconds(events: pa.Table) -> pa.Table:
    seconds = events.column("time").cast(pa.timestamp("s", tz="UTC"), safe=False).cast(pa.int64())
    return events.set_column(0, "time", seconds)


def _cars(events: int, cars: int = 1_000) -> pa.Table:
    """A reading a second of each car, by time: speed and acceleration wander around their means."""
    draw = np.random.default_rng(5)
    seconds = events // cars
    accel, speed = np.empty((seconds, cars)), np.empty((seconds, cars))
    a, v = np.zeros(cars), np.full(cars, 60.0)
    for second in range(seconds):
        a = 0.9 * a + draw.normal(size=cars)
        v = 60 + 0.98 * (v - 60) + 0.3 * a + draw.normal(size=cars)
        accel[second], speed[second] = a, v
    places = {"time": np.repeat(np.arange(seconds), cars), "car": np.tile(np.arange(cars), seconds)}
    return pa.table({**places, "accel": accel.ravel(), "speed": speed.ravel()})


def _situations(seconds: int, names: str) -> pa.Table:
    """An event a second with one boolean per name: true for 10 to 100 seconds, then false for 10 to 50."""
    draw = np.random.default_rng(7)
    columns: dict[str, np.ndarray] = {"time": np.arange(seconds)}
    for name in names:
        pairs = seconds // 60 + 2
        lengths = np.stack([draw.integers(10, 51, pairs), draw.integers(10, 101, pairs)], axis=1).ravel()
        columns[name.lower()] = np.repeat(np.arange(lengths.size) % 2 == 1, lengths)[:seconds]
    return pa.table(columns)


def _define(names: str) -> str:
    return "FROM X DEFINE " + ", ".join(f"{name} AS {name.lower()}" for name in names)


# The session


def answer(lines: Iterable[str], source: Path) -> None:
    """Answer lines until there are none; `trendweave` must come from the source tree that was named."""
    import trendweave

    assert Path(trendweave.__file__).is_relative_to(source), trendweave.__file__
    calls: dict[str, Call] = {}
    for line in lines:
        what, _, name = line.strip().partition(" ")
        if what == "prepare":
            calls = {name: CASES[name].make()}  # the events of the case before are let go
            print(f"rows {calls[name]()}", flush=True)
            continue
        clock = perf_counter if CASES[name].group.startswith("spark") else process_time
        begun = clock()
        calls[name]()
        print(f"seconds {clock() - begun}", flush=True)


if __name__ == "__main__":
    answer(sys.stdin, Path(sys.argv[1]))
