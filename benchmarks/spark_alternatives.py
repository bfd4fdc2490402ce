"""What a user of Spark would write instead, without a library: a self-join, a window function, lists and a Python UDF.

All give the rows of the query they stand for, which the benchmark checks. The functions that run inside a UDF are
plain Python, as a user would write them, and share no code with the engine.
"""

from __future__ import annotations

from itertools import combinations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, LongType, StringType, StructField, StructType

# SEQ(A, B) per key in windows side by side


def pairs_by_self_join(events: DataFrame, window: str) -> DataFrame:
    """Every A joined with every later B of its key and window, then counted."""
    placed = events.withColumn("place", F.window("time", window))
    earlier = placed.where("type = 'A'").select("key", "place", F.col("time").alias("earlier"))
    later = placed.where("type = 'B'").select("key", "place", F.col("time").alias("later"))
    pairs = earlier.join(later, ["key", "place"]).where("earlier < later")
    return pairs.groupBy("place", "key").agg(F.count("*").alias("count")).select(*_edges(), "key", "count")


def pairs_by_window_function(events: DataFrame, window: str) -> DataFrame:
    """Every B counts the A before it."""
    placed = events.withColumn("place", F.window("time", window)).withColumn("at", F.unix_micros("time"))
    before = Window.partitionBy("key", "place").orderBy("at").rangeBetween(Window.unboundedPreceding, -1)
    counted = placed.withColumn("before", F.count(F.expr("IF(type = 'A', 1, NULL)")).over(before))
    pairs = counted.where("type = 'B'").groupBy("place", "key").agg(F.sum("before").alias("count"))
    return pairs.where("count > 0").select(*_edges(), "key", "count")


# Falling pairs of transactions per company and sector in windows that overlap


def falling_pairs_by_self_join(events: DataFrame, length: int, slide: int) -> DataFrame:
    """Each pair in each window that holds both: as many rows as there are pairs in windows, before they are counted."""
    keys = ["company", "sector"]
    stock = events.select(*keys, "price", F.unix_seconds("time").alias("at"))
    later = stock.select(*keys, F.col("price").alias("next_price"), F.col("at").alias("next_at"))
    inside = f"at < next_at AND next_at < at + {length} AND price > next_price"
    pairs = stock.join(later, keys).where(inside)
    first, last = f"FLOOR((next_at - {length}) / {slide}) + 1", f"FLOOR(at / {slide})"
    placed = pairs.where(f"{first} <= {last}").select(
        "sector", F.expr(f"EXPLODE(SEQUENCE({first}, {last}))").alias("n")
    )
    edges = [F.timestamp_seconds(F.expr(f"n * {slide} + {beyond}")) for beyond in (0, length)]
    counted = placed.groupBy("sector", "n").agg(F.count("*").alias("count"))
    return counted.select(edges[0].alias("window_start"), edges[1].alias("window_end"), "sector", "count")


# Lists and a UDF


def sequences_by_enumeration(events: DataFrame, window: str) -> DataFrame:
    """SEQ(A+, B) per key: the events of each key and window as a list, and all of its trends built in Python."""
    return _sequences(events, window, F.udf(_enumerated, LongType()))


def sequences_by_counting(events: DataFrame, window: str) -> DataFrame:
    """SEQ(A+, B) per key: the same lists, and for each event the number of trends that end there."""
    return _sequences(events, window, F.udf(_counted, LongType()))


def _sequences(events: DataFrame, window: str, count: Column) -> DataFrame:
    listed = events.groupBy(F.window("time", window).alias("place"), "key").agg(
        F.collect_list(F.struct(F.unix_micros("time").alias("at"), "type")).alias("events")
    )
    counted = listed.select(*_edges(), "key", count("events").alias("count"))
    return counted.where("count > 0")


def _enumerated(events: list) -> int:
    events = sorted(events)
    trends = 0
    for end, last in enumerate(events):
        if last["type"] != "B":
            continue
        before = [event["at"] for event in events[:end] if event["type"] == "A" and event["at"] < last["at"]]
        for size in range(1, len(before) + 1):
            trends += sum(len(set(chosen)) == size for chosen in combinations(before, size))
    return trends


def _counted(events: list) -> int:
    events = sorted(events)
    ending: list[int] = []
    trends = 0
    for event in events:
        before = sum(count for other, count in zip(events, ending, strict=False) if other["at"] < event["at"])
        ending.append(1 + before if event["type"] == "A" else 0)
        trends += before if event["type"] == "B" else 0
    return trends


def falling_trends_by_counting(events: DataFrame, length: int, slide: int) -> DataFrame:
    """Q1: the transactions of each company as a list, and per window the number of trends that end at each of them."""
    listed = events.groupBy("company", "sector").agg(
        F.collect_list(F.struct(F.unix_seconds("time").alias("at"), "price")).alias("events")
    )

    def per_window(transactions: list) -> list[tuple[int, str]]:
        return _falling(transactions, length, slide)

    # Counts beyond 64 bits travel as text, and are added up in Python too.
    row = StructType([StructField("n", LongType()), StructField("count", StringType())])
    counted = listed.select("sector", F.explode(F.udf(per_window, ArrayType(row))("events")).alias("found"))
    total = F.udf(lambda counts: str(sum(map(int, counts))), StringType())
    added = counted.groupBy("sector", "found.n").agg(total(F.collect_list("found.count")).alias("count"))
    edges = [F.timestamp_seconds(F.expr(f"n * {slide} + {beyond}")) for beyond in (0, length)]
    return added.select(edges[0].alias("window_start"), edges[1].alias("window_end"), "sector", "count")


def _falling(transactions: list, length: int, slide: int) -> list[tuple[int, str]]:
    rows = sorted((row["at"], row["price"]) for row in transactions)
    found = []
    for n in range((rows[0][0] - length) // slide + 1, rows[-1][0] // slide + 1):
        inside = [row for row in rows if n * slide <= row[0] < n * slide + length]
        ending: list[int] = []
        for at, price in inside:
            before = (
                count
                for (earlier, higher), count in zip(inside, ending, strict=False)
                if earlier < at and higher > price
            )
            ending.append(1 + sum(before))
        if ending:
            found.append((n, str(sum(ending))))
    return found


def _edges() -> list[Column]:
    return [F.col("place.start").alias("window_start"), F.col("place.end").alias("window_end")]
