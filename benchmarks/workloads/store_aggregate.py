"""Aggregates over a week of stored events: from the tree against reading all of them (thesis, Figure 3.8)."""

from __future__ import annotations

import tempfile
from functools import partial
from itertools import pairwise
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import pyarrow as pa

from benchmarks.registry import ResultRow, workload
from benchmarks.timing import interleaved
from trendweave.store.event_store import EventStore

#: Events per second, as in the thesis: a week of them is 60.48 million.
_RATE = 100
_DAY = 86_400
_DAYS = 7
_START = 1_704_067_200  # 2024-01-01, a Monday
_QUESTION = "SUM(x), AVG(x), COUNT(*)"
_SCHEMA = pa.schema({"time": pa.timestamp("ms"), "x": pa.float64()})
#: Slides, and how many seconds of the stream are asked for: rows of results must fit the memory.
_SLIDES = [
    ("10 milliseconds", 3_600),
    ("100 milliseconds", 6 * 3_600),
    ("1 second", _DAY),
    ("10 seconds", _DAYS * _DAY),
    ("1 minute", _DAYS * _DAY),
    ("10 minutes", _DAYS * _DAY),
    ("1 hour", _DAYS * _DAY),
    ("1 day", _DAYS * _DAY),
]
#: Slides whose edges are on no round time, so that rows are read at the ends of each.
_UNEVEN = [("9.73 seconds", _DAYS * _DAY), ("611.3 seconds", _DAYS * _DAY), ("3607.7 seconds", _DAYS * _DAY)]


def _write(folder: Path) -> EventStore:
    generator = np.random.default_rng(38)
    store = EventStore.create(folder, _SCHEMA)
    for day in range(_DAYS):
        times = (_START + day * _DAY) * 1000 + np.arange(_RATE * _DAY) * (1000 // _RATE)
        values = generator.random(times.size) * 100
        store.append(pa.table({"time": pa.array(times, pa.timestamp("ms")), "x": values}))
    return store


def _row(name: str, metric: str, value: float, unit: str, bar: str = "", met: bool | None = None,
         note: str = "") -> ResultRow:  # fmt: skip
    return ResultRow(name=name, metric=metric, value=value, unit=unit, bar=bar or None, met=met, note=note)


@workload("store-aggregate")
def store_aggregate(repeat: int) -> list[ResultRow]:
    """Sliding aggregates over a stored week of 60.48 M events, windows of a day: tree against replay, by slide."""
    with tempfile.TemporaryDirectory() as folder:
        store = _write(Path(folder) / "week")
        rows = _index(Path(folder) / "week")
        store.calibrate()
        store = EventStore.open(Path(folder) / "week")
        measured: list[tuple[float, dict[str, float], dict[str, float]]] = []
        for slide, seconds in _SLIDES + _UNEVEN:
            made, times, cost = _compare(store, slide, seconds, min(repeat, 3))
            rows += made
            if (slide, seconds) in _SLIDES:
                measured.append((_in_seconds(slide), times, cost))
        return rows + _break_even(measured)


def _index(folder: Path) -> list[ResultRow]:
    """The index made anew from the files alone, in one thread's CPU time."""
    for path in (folder / "_trendweave" / "index").rglob("*.light.twx"):
        path.unlink()
    began = process_time()
    told = EventStore.open(folder).build_index().describe()
    rate = told.rows / (process_time() - began) / 1e6
    share = 100 * told.light_bytes / told.data_bytes
    return [
        _row("light index", "build", rate, "M events/s a core", "at least 5", rate >= 5, f"{told.rows:,} events"),
        _row("light index", "size / data", share, "%", "below 5", share < 5, f"{told.data_bytes / 1e6:,.0f} MB"),
    ]


def _compare(
    store: EventStore, slide: str, seconds: int, repeat: int
) -> tuple[list[ResultRow], dict[str, float], dict[str, float]]:
    length = "1 day" if seconds >= _DAY else "10 minutes"
    between = tuple(np.datetime64(_START + offset, "s").item() for offset in (0, seconds))
    question = (_QUESTION, length, slide, between)
    answers = {using: store.aggregate(*question, using=using) for using in ("index", "replay")}
    assert answers["index"].equals(answers["replay"]), f"the two ways differ at {slide}"
    rows = answers["index"].num_rows
    del answers
    ways = {using: partial(store.aggregate, *question, using=using) for using in ("index", "replay", "auto")}
    times = interleaved(ways, repeat, process_time)
    wall = interleaved({using: ways[using] for using in ("index", "replay")}, 1, perf_counter)
    plan = store.explain_aggregate(*question)
    ratio = times["replay"] / times["index"]
    late = times["auto"] / min(times["index"], times["replay"])
    name = f"{length} by {slide}"
    note = (
        f"{times['index'] * 1e3:,.1f} against {times['replay'] * 1e3:,.0f} ms CPU, {wall['index'] * 1e3:,.1f} against "
    )
    note += f"{wall['replay'] * 1e3:,.0f} ms wall; {rows:,} rows, {plan.groups.size:,} row groups read"
    bar = ("at least 50", ratio >= 50) if slide == "1 hour" else ("", None)
    made = [
        _row(name, "replay / index", ratio, "x", *bar, note),
        _row(name, "auto / better", late, "x", "at most 1.1", late <= 1.1, f"auto takes the {plan.way}"),
    ]
    return made, times, plan.cost


def _in_seconds(slide: str) -> float:
    amount, unit = slide.split()
    return (
        float(amount)
        * {"m": 1e-3, "s": 1, "minute": 60, "h": 3600, "d": _DAY}[
            "m" if unit.startswith("milli") else "minute" if unit.startswith("minute") else unit[0]
        ]
    )


def _break_even(measured: list[tuple[float, dict[str, float], dict[str, float]]]) -> list[ResultRow]:
    """The slide at which both ways cost the same, between two slides that were measured."""
    found = _crossing([(slide, times["replay"] / times["index"]) for slide, times, _ in measured])
    told = _crossing([(slide, cost["replay"] / cost["index"]) for slide, _, cost in measured])
    ratio = max(found, told) / min(found, told)
    note = f"measured at {found:.2f} s, predicted at {told:.2f} s"
    return [_row("break-even", "predicted against measured", ratio, "x", "at most 2", ratio <= 2, note)]


def _crossing(ratios: list[tuple[float, float]]) -> float:
    """Where the ratio becomes 1.1: below that a walk over the tree and nothing saved look alike."""
    for (slide, low), (further, high) in pairwise(ratios):
        if low < 1.1 <= high:
            part = np.log(1.1 / low) / np.log(high / low)
            return float(slide * (further / slide) ** part)
    return ratios[-1][0]
