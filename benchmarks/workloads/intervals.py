"""Patterns over intervals: the experiments of the thesis, Section 5.7, on generated data."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import trendweave
from benchmarks.registry import ResultRow, workload
from benchmarks.timing import interleaved, median_seconds
from trendweave.language.interval_tree import RELATIONS
from trendweave.programs.intervals.matching import Matcher
from trendweave.programs.intervals.program import IntervalPiece, bind_intervals

AGGRESSIVE = """
FROM CarSensors PARTITION BY car_id
DEFINE A AS accel > {accel}, B AS speed > {speed}, C AS accel < {brake}
PATTERN A meets; overlaps; starts; during B AND B contains; finished-by; overlaps; meets C AND A before C
WITHIN 5 minutes
RETURN FIRST(B.car_id) AS car, AVG(B.speed) AS speed
"""
CARS = 1000


def traffic(events: int, seed: int = 5) -> pa.Table:
    """A reading a second of each car, by time: speed and acceleration wander around their means."""
    draw = np.random.default_rng(seed)
    seconds = events // CARS
    accel, speed = np.empty((seconds, CARS), np.float32), np.empty((seconds, CARS), np.float32)
    a, v = np.zeros(CARS), np.full(CARS, 60.0)
    for second in range(seconds):
        a = 0.9 * a + draw.normal(size=CARS)
        v = 60 + 0.98 * (v - 60) + 0.3 * a + draw.normal(size=CARS)
        accel[second], speed[second] = a, v
    return pa.table(
        {
            "time": np.repeat(np.arange(seconds), CARS),
            "car_id": np.tile(np.arange(CARS), seconds),
            "accel": accel.ravel().astype(np.float64),
            "speed": speed.ravel().astype(np.float64),
        }
    )


def situation_stream(seconds: int, names: str, seed: int = 7) -> pa.Table:
    """An event a second with one boolean per name: true for 10 to 100 seconds, then false for 10 to 50."""
    draw = np.random.default_rng(seed)
    columns: dict[str, np.ndarray] = {"time": np.arange(seconds)}
    for name in names:
        pairs = seconds // 60 + 2
        lengths = np.stack([draw.integers(10, 51, pairs), draw.integers(10, 101, pairs)], axis=1).ravel()
        columns[name.lower()] = np.repeat(np.arange(lengths.size) % 2 == 1, lengths)[:seconds]
    return pa.table(columns)


def definitions(names: str) -> str:
    return "FROM X DEFINE " + ", ".join(f"{name} AS {name.lower()}" for name in names)


def per_second(events: int, seconds: float) -> float:
    return events / seconds / 1e6


@workload("interval_aggressive_drivers")
def aggressive_drivers(repeat: int) -> list[ResultRow]:
    """Listing 5.1 without lengths on 1,000 cars, from an Arrow table."""
    events = traffic(20_000_000)
    accel, speed = events.column("accel").to_numpy(), events.column("speed").to_numpy()
    limits = {
        "accel": float(np.quantile(accel[:2_000_000], 0.9)),
        "speed": float(np.quantile(speed[:2_000_000], 0.99)),
        "brake": float(np.quantile(accel[:2_000_000], 0.1)),
    }
    query = trendweave.query(AGGRESSIVE.format(**limits))
    found = query.run(events).to_pandas()
    some = events.filter(pc.less(events.column("car_id"), 5))
    alone = query.run(some).to_pandas()
    assert len(alone) > 0
    assert len(alone) == int((found["car"] < 5).sum())
    value = per_second(events.num_rows, median_seconds(lambda: query.run(events), repeat))
    note = f"{events.num_rows:,} events, {len(found):,} matches"
    return [row("Listing 5.1, 1,000 cars", value, "million events/s", "at least 10", value >= 10, note)]


@workload("interval_windows")
def windows(repeat: int) -> list[ResultRow]:
    """A starts B before C overlaps D, which falls apart into two halves, with growing windows."""
    events = situation_stream(20_000_000, "ABCD")
    _check_disconnected(events.slice(0, 60_000))
    rows = []
    for length in (500, 5_000, 10_000, 100_000):
        query = trendweave.query(
            f"{definitions('ABCD')} PATTERN A starts B before C overlaps D WITHIN {length} seconds"
        )
        matches = query.run(events).num_rows
        value = per_second(events.num_rows, median_seconds(lambda query=query: query.run(events), repeat))
        bar = ("at least 5", value >= 5) if length == 10_000 else (None, None)
        rows.append(row(f"window of {length:,} s", value, "million events/s", *bar, f"{matches:,} matches"))
    return rows


def _check_disconnected(events: pa.Table) -> None:
    """All combinations, tried one by one."""
    text = f"{definitions('ABCD')} PATTERN A starts B before C overlaps D WITHIN 10000 seconds DETECT AT END"
    found = trendweave.query(text).run(events).num_rows
    listed: dict[str, list[tuple[int, int]]] = {name: [] for name in "ABCD"}
    for one in trendweave.query(f"{definitions('ABCD')} DETECT AT END RETURN SITUATIONS").run(events).to_pylist():
        listed[one["name"]].append((one["start"], one["end"]))
    first = [(a, b) for a in listed["A"] for b in listed["B"] if a[0] == b[0] and a[1] < b[1]]
    second = [(c, d) for c in listed["C"] for d in listed["D"] if c[0] < d[0] < c[1] < d[1]]
    expected = sum(b[1] < c[0] and d[1] - a[0] <= 10_000 for a, b in first for c, d in second)
    assert found == expected, (found, expected)


@workload("interval_names")
def names(repeat: int) -> list[ResultRow]:
    """Chains and stars of 4 to 10 names with random relations: the median of several patterns."""
    events = situation_stream(2_000_000, "ABCDEFGHIJ")
    draw = np.random.default_rng(3)
    choices = [name for name in RELATIONS if name not in ("before", "after")]
    rows = []
    for shape in ("chain of meets", "chain", "star"):
        seconds = {}
        for count in (4, 6, 8, 10):
            own = "ABCDEFGHIJ"[:count]
            times = []
            for _ in range(9 if shape != "chain of meets" else 1):
                drawn = ["meets"] * 9 if shape == "chain of meets" else [str(draw.choice(choices)) for _ in range(9)]
                links = (
                    zip(own, own[1:], drawn, strict=False)
                    if "chain" in shape
                    else zip("A" * 9, own[1:], drawn, strict=False)
                )
                pattern = " AND ".join(f"{a} {relation} {b}" for a, b, relation in links)
                query = trendweave.query(f"{definitions(own)} PATTERN {pattern} WITHIN 2000 seconds")
                times.append(median_seconds(lambda query=query: query.run(events), max(1, repeat // 2)))
            seconds[count] = float(np.median(times))
            value = per_second(events.num_rows, seconds[count])
            rows.append(row(f"{shape} of {count} names", value, "million events/s", None, None, ""))
        if shape != "star":
            growth = seconds[10] / seconds[4]
            note = "2.5 is linear"
            rows.append(row(f"{shape}: 10 names against 4", growth, "x the time", "at most 3", growth <= 3, note))
    return rows


@workload("interval_adaptive")
def adaptive(repeat: int) -> list[ResultRow]:
    """A before B before C while the rates change from 1:1:1 to 1:50:50 to 50:1:50, against every fixed order."""
    events = _changing_rates()
    text = f"{definitions('ABC')} PATTERN A before B AND A before C AND B before C WITHIN 2000 seconds"
    query = trendweave.query(text)
    bound = bind_intervals(query.plan, events.schema, "time", None)
    situations = IntervalPiece(bound, bound.prepare(events)[0]).usable
    within = bound.lengths.within

    def with_order(order: tuple[int, ...] | None) -> int:
        return Matcher(query.plan, within, fixed=order).all_matches(situations).moment.size

    orders = list(itertools.permutations(range(3)))
    assert len({with_order(order) for order in (None, *orders)}) == 1
    seconds = interleaved({str(order): lambda order=order: with_order(order) for order in (None, *orders)}, repeat)
    adapted = seconds.pop(str(None))
    best, worst = min(seconds.values()), max(seconds.values())
    note = f"{situations.size:,} situations, {with_order(None):,} matches; worst order {worst / best:.2f} x the best"
    ratio = adapted / best
    return [row("adaptive against the best fixed order", ratio, "x the time", "at most 1.05", ratio <= 1.05, note)]


def _changing_rates() -> pa.Table:
    """Three phases; a name with a rate of 1 has a situation of about 5 seconds every 2,500 seconds or 50 seconds."""
    draw = np.random.default_rng(11)
    phase = 6_000_000
    columns = {"time": np.arange(3 * phase)}
    rates = {"a": (400, 2500, 50), "b": (400, 50, 2500), "c": (400, 50, 50)}
    for name, gaps in rates.items():
        parts = []
        for gap in gaps:
            count = 2 * phase // gap + 4
            off = draw.integers(gap // 2, gap + gap // 2 + 1, count)
            on = draw.integers(3, 8, count)
            lengths = np.stack([off, on], axis=1).ravel()
            parts.append(np.repeat(np.arange(lengths.size) % 2 == 1, lengths)[:phase])
        columns[name] = np.concatenate(parts)
    return pa.table(columns)


@workload("interval_latency")
def latency(repeat: int) -> list[ResultRow]:
    """Time from the first start to the detection, against DETECT AT END, per relation and ratio of lengths."""
    rows = []
    for ratio, (a_length, b_length) in {"2:1": (55, 28), "1:1": (55, 55), "1:2": (55, 110)}.items():
        events = _two_lengths(400_000, a_length, b_length)
        for relation in RELATIONS:
            text = f"{definitions('AB')} PATTERN A {relation} B WITHIN 1000 seconds"
            early = trendweave.query(text).run(events).to_pandas()
            late = trendweave.query(f"{text} DETECT AT END").run(events).to_pandas()
            starts = ["A_start", "B_start"]
            both = early.merge(late, on=starts, suffixes=("", "_late"))
            assert (both["time"] <= both["time_late"]).all()
            if not len(both):
                continue
            first = both[starts].min(axis=1)
            value = float(((both["time"] - first) / (both["time_late"] - first)).mean())
            note = f"{len(both):,} matches"
            rows.append(row(f"{relation}, lengths {ratio}", value, "of the time to the end", None, None, note))
    return rows


def _two_lengths(seconds: int, a_length: int, b_length: int) -> pa.Table:
    """Lengths around these; ends often coincide, as times are rounded to 5 seconds."""
    draw = np.random.default_rng(13)
    columns = {"time": np.arange(seconds)}
    for name, length in (("a", a_length), ("b", b_length)):
        count = seconds // 20
        on = draw.integers(length // 10, length // 4 + 2, count) * 5
        off = draw.integers(2, 11, count) * 5
        lengths = np.stack([off, on], axis=1).ravel()
        columns[name] = np.repeat(np.arange(lengths.size) % 2 == 1, lengths)[:seconds]
    return pa.table(columns)


@workload("interval_spark")
def spark_batch(repeat: int) -> list[ResultRow]:
    """Listing 5.1 on Spark, partitioned, against Spark's own read, shuffle and sort of the same columns."""
    import tempfile
    from pathlib import Path

    import pyarrow.parquet as pq
    from pyspark.sql import SparkSession

    events = traffic(10_000_000)
    query = trendweave.query(AGGRESSIVE.format(accel=2.9, speed=80.0, brake=-2.9))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cars.parquet"
        pq.write_table(events, file, row_group_size=1_000_000)
        builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
        builder = builder.config("spark.sql.shuffle.partitions", "4").config("spark.driver.memory", "3g")
        spark = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
        frame = spark.read.parquet(str(file))
        expected = query.run(events).num_rows
        assert query.run(frame).count() == expected

        def ours() -> None:
            query.run(frame).write.format("noop").mode("overwrite").save()

        def plain() -> None:
            placed = frame.repartition("car_id").sortWithinPartitions("car_id", "time")
            placed.write.format("noop").mode("overwrite").save()

        seconds = interleaved({"ours": ours, "plain": plain}, max(1, repeat // 2))
        spark.stop()
    ratio = seconds["plain"] / seconds["ours"]
    note = f"{events.num_rows:,} events, {expected:,} matches, {per_second(events.num_rows, seconds['ours']):.2f} M/s"
    return [row("against read, shuffle and sort", ratio, "x its speed", "at least 0.4", ratio >= 0.4, note)]


_METRICS = {
    "million events/s": "rate",
    "x the time": "time",
    "of the time to the end": "time to detection",
    "x its speed": "throughput",
}


def row(name: str, value: float, unit: str, bar: str | None, met: bool | None, note: str) -> ResultRow:
    return ResultRow(name=name, metric=_METRICS[unit], value=round(value, 3), unit=unit, bar=bar, met=met, note=note)
