"""Patterns over stored events, by indexes and by replay: CPU time of one process, answers compared.

The thesis' figures 3.9 to 3.14 have 50 million events of 128 bytes; here are fewer, so that the fixed cost of planning
weighs more. Data is in the cache of the operating system for both.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median
from time import process_time

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import trendweave
from benchmarks.random_patterns import ATTRIBUTES, random_pattern, synthetic_events
from benchmarks.registry import ResultRow, workload
from benchmarks.result_rows import at_least, at_most, duration
from trendweave import EventStore, Metrics, Query

EVENTS = 6_000_000
SYMBOLS = (2, 4, 8, 16, 32)
DATA = Path(__file__).parents[3] / "shared" / "data"
YEAR = 365 * 24 * 3_600 * 10**6


@workload("store-patterns")
def store_patterns(repeat: int) -> list[ResultRow]:
    """100 random patterns of 2 to 32 symbols over stored events, and patterns over real data, against replay."""
    del repeat  # many queries, each once: the median is over them
    with tempfile.TemporaryDirectory() as place:
        rows = _random_patterns(Path(place) / "synthetic")
        for name, table, index, keys, questions in _real_data():
            store = _store(Path(place) / name, table, index, keys)
            rows += [row for question in questions for row in _ask(store, f"{name}, {question[0]}", *question[1:])]
    return rows


def _store(folder: Path, table: pa.Table, index: tuple[str, ...], keys: tuple[str, ...] = ()) -> EventStore:
    layout = {"keys": list(keys), "buckets": 64, "group_rows": 8192} if keys else {}
    store = EventStore.create(folder, table.schema, type=None, index=list(index), **layout)
    store.append(table)
    return EventStore.open(folder)


def _random_patterns(folder: Path) -> list[ResultRow]:
    store = _store(folder, synthetic_events(EVENTS), ATTRIBUTES)
    random = np.random.default_rng(3)
    trendweave.query(random_pattern(2, random)).run(store, using="replay")  # compiles
    rows, all_ratios = [], []
    for symbols in SYMBOLS:
        queries = [trendweave.query(random_pattern(symbols, random)) for _ in range(20)]
        ratios, errors, plannings, by_index = [], [], [], []
        for query in queries:
            replay, auto, counts = _compare(query, store)
            ratios.append(replay / auto)
            by_index.append(auto)
            plannings.append(counts["planning_seconds"])
            errors.append(abs(counts["estimated_cost"] / counts["actual_cost"] - 1))
        all_ratios += ratios
        name = f"{symbols} symbols, {EVENTS / 1e6:g}M events"
        note = f"slowest {min(ratios):.2f} x; by index {duration(median(by_index))}"
        rows.append(at_least(name, "replay / auto, median of 20", median(ratios), "x", None, note))
        rows.append(at_most(name, "error of the estimated cost, median", median(errors), "", 0.15))
        if symbols == SYMBOLS[-1]:
            note = "wall clock; indexes are asked, too"
            rows.append(at_most(name, "planning, median", median(plannings) * 1e3, "ms", 100, note))
    rows.append(at_least("all 100 patterns", "replay / auto, median", median(all_ratios), "x", 10))
    rows.append(at_most("all 100 patterns", "auto / replay, worst", 1 / min(all_ratios), "x", 1.1))
    for attribute in ATTRIBUTES[:4]:
        queries = [trendweave.query(random_pattern(8, random, attribute)) for _ in range(5)]
        found = [_compare(query, store) for query in queries]
        name = f"8 symbols, one of {attribute}"
        rows.append(at_least(name, "replay / auto, median of 5", median([one / two for one, two, _ in found]), "x"))
    return rows


def _compare(query: Query, store: EventStore) -> tuple[float, float, dict]:
    """CPU seconds of a replay, and of what is chosen: the better of two calls."""
    began = process_time()
    expected = query.run(store, using="replay")
    replay = process_time() - began
    auto = []
    for _ in range(2):
        metrics = Metrics()
        began = process_time()
        found = query.run(store, metrics=metrics)
        auto.append(process_time() - began)
        if sorted(map(str, found.to_pylist())) != sorted(map(str, expected.to_pylist())):
            raise AssertionError(f"other rows by index: {query}")
    return replay, min(auto), metrics.get


def _ask(store: EventStore, name: str, text: str, bar: float | None) -> list[ResultRow]:
    replay, auto, counts = _compare(trendweave.query(text), store)
    note = f"{counts['road']}, {counts['row_groups_read']} of {store.groups.rows.size} row groups; {duration(auto)}"
    return [at_least(name, "replay / auto", replay / auto, "x", bar, note)]


def _real_data() -> list[tuple[str, pa.Table, tuple[str, ...], tuple[str, ...], list[tuple[str, str, float | None]]]]:
    """Real events, grown by repetition in later years; none where the files are not there."""
    if not DATA.exists():
        return []
    crimes = pq.read_table(DATA / "chicago_crimes_2022.parquet")
    related = (
        "RETURN COUNT(*) PATTERN SEQ(Crime a, Crime b, Crime c) WHERE a.type = 'ROBBERY' AND b.type = 'BATTERY' "
        "AND c.type = 'MOTOR VEHICLE THEFT' AND a.community_area = {0} AND b.community_area = {0} "
        "AND c.community_area = {0} WITHIN 30 minutes"
    )
    flights = pq.read_table(DATA / "us_flights_2001.parquet").rename_columns(
        ["time", "delay", "distance", "origin", "destination"]
    )
    late = (
        "RETURN COUNT(*) PATTERN SEQ(Flight a, Flight b) WHERE a.delay > {0} AND b.delay > {0} AND [origin] "
        "WITHIN 1 hour SLIDE 1 hour"
    )
    tracks = pq.read_table(DATA / "adsb_tracks.parquet")
    tracks = tracks.rename_columns(["time" if name == "timestamp" else name for name in tracks.column_names])
    landing = (
        "RETURN COUNT(*) PATTERN SEQ(Position a, Position b, Position c) WHERE [icao24] AND a.altitude > 15000 AND "
        "b.altitude BETWEEN 7000 AND 8000 AND b.vertical_rate < -1500 AND c.altitude < 2500 AND c.groundspeed < 180 "
        "WITHIN 30 minutes SLIDE 30 minutes"
    )
    return [
        (
            "crimes",
            _grow(crimes, 20),
            ("type", "community_area"),
            (),
            [("related in one area", related.format(9), 20), ("related in a busy area", related.format(25), None)],
        ),
        (
            "flights",
            _grow(flights, 2),
            ("delay",),
            (),
            [("very late", late.format(1000), 20), ("late", late.format(480), 5)],
        ),
        (
            "aircraft",
            _grow(tracks, 20),
            ("altitude", "vertical_rate", "groundspeed"),
            ("icao24",),
            [("landing", landing, 5)],
        ),
    ]


def _grow(table: pa.Table, times: int) -> pa.Table:
    column = table.column("time")
    place = table.column_names.index("time")
    stamps = pc.cast(column, pa.int64())
    parts = [
        table.set_column(place, "time", pc.cast(pc.add(stamps, number * YEAR), column.type)) for number in range(times)
    ]
    grown = pa.concat_tables(parts)
    return grown.take(pc.sort_indices(grown, sort_keys=[("time", "ascending")])).combine_chunks()
