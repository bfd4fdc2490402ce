"""Filters, windows and joins: random small cases and full-size ones against the CPU, and their figures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from tools.gpu_operator_cases import (
    COORDINATES,
    compiled_on,
    distance,
    one_core_mask,
    one_core_scan,
    random_events,
    run_operators,
)
from tools.gpu_timing import seconds_here, seconds_on
from trendweave import operators as ops
from trendweave.expressions.arrow.evaluate import is_true
from trendweave.gpu.card import Card
from trendweave.gpu.columns import CardColumn
from trendweave.gpu.filter import find_true, mask_rows
from trendweave.gpu.joins import Condition, count_ranges, find_pairs, meet_short
from trendweave.gpu.windows import fold_windows
from trendweave.language.operator_texts import read_condition
from trendweave.programs.operators.sums import fold_between, sums_of

Report = Callable[..., None]
FILTERS = ("x > 0.25 AND NOT broken", "x * 2 + n >= 1.5 OR x IS NULL", "n % 3 = 0 AND x / n < 1", "wide + n > 0")


def check(card: Card, report: Report, scale: float = 1.0) -> None:
    """Compare with the CPU."""
    rounds = max(2, int(20 * scale))
    check_filters(card, report, rounds, int(20_000_000 * scale))
    check_windows(report, rounds, int(20_000_000 * scale))
    check_joins(card, report, rounds, scale)
    run_operators(report, int(3 * scale))


def check_filters(card: Card, report: Report, rounds: int, full: int) -> None:
    """Masks of random conditions and sizes."""
    draw, wrong = np.random.default_rng(1), []
    for number in range(rounds):
        table = random_events(draw, int(draw.integers(0, 9000)))
        for text in FILTERS:
            condition = read_condition(text)
            mask = mask_rows(card, compiled_on(text, table), table)
            if not np.array_equal(np.asarray(mask), is_true(condition, table)):
                wrong.append(f"{text}, round {number}")
    report(f"filter: {rounds * len(FILTERS)} random cases", ok=not wrong, wrong="; ".join(wrong[:3]) or None)
    table = random_events(draw, full)
    mask = mask_rows(card, compiled_on(FILTERS[1], table), table)
    same = np.array_equal(np.asarray(mask), is_true(read_condition(FILTERS[1]), table))
    report("filter: all rows at full size", ok=bool(same), events=full)


def check_windows(report: Report, rounds: int, full: int) -> None:
    """Sums and extremes over random stretches and over windows of events."""
    draw, wrong = np.random.default_rng(2), []
    for number in range(rounds):
        rows = int(draw.integers(1, 20_000))
        low = np.sort(draw.integers(0, rows, 500))
        high = np.minimum(np.maximum.accumulate(low + draw.integers(1, rows + 1, 500)), rows)
        spread = int(draw.choice([0, 3, 8, 40, 250]))
        floats = draw.normal(size=rows) * 10.0 ** draw.integers(-spread, spread + 1, rows)
        whole = draw.integers(-(2 ** int(draw.integers(1, 63))), 2 ** int(draw.integers(1, 63)), rows)
        wrong += [f"{name}, round {number}" for name in _different(floats, whole, low, high)]
    report(f"windows: {rounds} random cases of each aggregate", ok=not wrong, wrong="; ".join(wrong[:3]) or None)
    if full > 1000:
        low = np.arange(full - 1000)
        floats, whole = draw.normal(size=full), draw.integers(-(2**62), 2**62, full)
        names = _different(floats, whole, low, low + 1000)
        report("windows: 1,000 events, slide 1, full size", ok=not names, events=full, wrong="; ".join(names) or None)


def _different(floats: np.ndarray, whole: np.ndarray, low: np.ndarray, high: np.ndarray) -> list[str]:
    """The aggregates that are not those of the CPU: whole numbers bit for bit, floats within rounding."""
    pairs = {
        "sum": [sums_of(whole).between(low, high, device).words() for device in ("gpu", "cpu")],
        "least": [fold_between("least", whole, low, high, device) for device in ("gpu", "cpu")],
        "most": [fold_between("most", whole, low, high, device) for device in ("gpu", "cpu")],
    }
    wrong = [name for name, (found, expected) in pairs.items() if not np.array_equal(found, expected)]
    rounding = fold_between("sum", np.abs(floats), low, high) * floats.size * 2.0**-52
    added, expected = (fold_between("sum", floats, low, high, device) for device in ("gpu", "cpu"))
    if (np.abs(added - expected) > rounding).any():
        wrong.append("sum of floats")
    return wrong


def check_joins(card: Card, report: Report, rounds: int, scale: float) -> None:
    """Pairs of a scan, and of a thread for each probe, against a loop on one core."""
    draw, wrong = np.random.default_rng(3), []
    compiled = compiled_on(distance(0.25), pair=True)
    for number in range(rounds):
        probes, others = (int(draw.integers(1, 3000)) for _ in range(2))
        low = np.sort(draw.integers(0, others, probes))
        high = np.minimum(low + draw.integers(0, others + 1), others)
        wrong += _different_pairs(card, draw, compiled, others, low, high, f"round {number}")
    report(f"joins: {rounds} random cases, two ways", ok=not wrong, wrong="; ".join(wrong[:3]) or None)
    probes, window = int(20_000 * scale) + 1, int(20_000 * scale) + 1
    low = np.arange(probes)
    names = _different_pairs(card, draw, compiled, probes + window, low, low + window, "full size")
    report("joins: full size, two ways", ok=not names, pairs_looked_at=probes * window, wrong="; ".join(names) or None)


def _different_pairs(
    card: Card, draw: np.random.Generator, compiled: Any, others: int, low: np.ndarray, high: np.ndarray, name: str
) -> list[str]:
    sides = {side: draw.random((6, size), np.float32) for side, size in (("left", low.size), ("right", others))}
    expected = one_core_scan(compiled, sides["left"], sides["right"], low, high)
    condition = _condition(card, compiled, sides)
    on_card = card.put(low), card.put(high)
    found = {"ranges": find_pairs(card, condition, *on_card), "each": meet_short(card, condition, *on_card)}
    return [
        f"{way}, {name}"
        for way, pairs in found.items()
        if not all(np.array_equal(card.get(a), b) for a, b in zip((pairs.probe, pairs.other), expected, strict=True))
    ]


def _condition(card: Card, compiled: Any, sides: dict[str, np.ndarray]) -> Condition:
    columns = {
        (side, name): CardColumn(card.put(values[place]), None)
        for side, values in sides.items()
        for place, name in enumerate(COORDINATES)
    }
    return Condition(compiled, "left", columns)


# Figures


def measure(card: Card, report: Report, scale: float = 1.0) -> None:
    """The benchmarks' figures."""
    measure_filter(card, report, int(200_000_000 * scale))
    measure_sums(card, report, int(200_000_000 * scale))
    measure_joins(card, report, 2.0**36 * scale)
    measure_operators(report, int(8_000_000 * scale))


def measure_filter(card: Card, report: Report, events: int) -> None:
    """The distance from a point in six dimensions: columns on the card, and in pinned memory of this process."""
    xp = card.xp
    arrays = [xp.random.random(events).astype(np.float32) for _ in COORDINATES]
    columns = {name: CardColumn(values, None) for name, values in zip(COORDINATES, arrays, strict=True)}
    sample = sum((card.get(values[:1_000_000]).astype(np.float64) - 0.5) ** 2 for values in arrays)
    few = None
    for selectivity in (1.0, 0.1, 0.01, 0.001, 1e-5):
        compiled = compiled_on(distance(float(np.quantile(sample, selectivity)), "0.5"))

        given = [columns[operand.column] for operand in compiled.operands]
        seconds = seconds_on(card, lambda c=compiled, given=given: find_true(card, c, given, events))
        report(f"filter, columns on the card, selectivity {selectivity:g}", events_per_s=events / seconds)
        few = compiled
    assert few is not None
    part = events // 2
    pinned = []
    for values in arrays:
        pinned.append(card.pinned(part, np.float32))
        pinned[-1][:] = card.get(values[:part])
    tables = {
        "from pinned memory": pinned,
        "from any memory": [values[: part // 4].copy() for values in pinned],
    }
    for place, given in tables.items():
        table = pa.table({name: _as_arrow(values) for name, values in zip(COORDINATES, given, strict=True)})
        seconds = seconds_on(card, lambda table=table: mask_rows(card, few, table), 3)
        rate = table.num_rows / seconds
        report(f"filter, {place}, a bit per event back", events_per_s=rate, bytes_per_s=rate * 24)
    some = [values[: part // 10].copy() for values in pinned]
    seconds = seconds_here(lambda: one_core_mask(few, some))
    report("filter, one core of the same machine, compiled", events_per_s=len(some[0]) / seconds)


def _as_arrow(values: np.ndarray) -> pa.Array:
    return pa.Array.from_buffers(pa.float32(), values.size, [None, pa.py_buffer(values)])


def measure_sums(card: Card, report: Report, events: int) -> None:
    """Sums over windows of events, slide 1, columns and results on the card."""
    xp = card.xp
    kinds = {
        "float64": xp.random.standard_normal(events // 2),
        "int64": xp.random.randint(-1000, 1000, events // 2).astype(np.int64),
    }
    for what, kind in (("sum", "float64"), ("sum", "int64"), ("most", "int64")):
        values = kinds[kind]
        for window in (1 << 12, 1 << 16, 1 << 20):
            length = min(window, len(values))
            low = xp.arange(len(values) - length + 1)
            given = (what, values, low, low + length)
            seconds = seconds_on(card, lambda given=given: fold_windows(card, *given), 3)
            report(f"{what} of {kind} over {window:,} events, slide 1", events_per_s=len(values) / seconds)
    here = card.get(kinds["float64"][: events // 40])
    for window in (1 << 12, 1 << 20):
        length = min(window, len(here))
        low = np.arange(len(here) - length + 1)
        seconds = seconds_here(lambda low=low, length=length: fold_between("sum", here, low, low + length))
        report(f"sum of float64 over {window:,} events, one core", events_per_s=len(here) / seconds)


def measure_joins(card: Card, report: Report, pairs: float) -> None:
    """Six dimensions: a scan of windows of some lengths."""
    draw = np.random.default_rng(4)
    compiled = compiled_on(distance(0.005), pair=True)
    for window in (1 << 12, 1 << 16, 1 << 20):
        probes = max(int(pairs / window), 1)
        sides = {
            side: draw.random((6, size), np.float32) for side, size in (("left", probes), ("right", probes + window))
        }
        condition, low = _condition(card, compiled, sides), card.xp.arange(probes, dtype=np.int64)
        high = low + window
        seconds = seconds_on(card, lambda c=condition, low=low, high=high: find_pairs(card, c, low, high), 2)
        found = len(find_pairs(card, condition, low, high).probe)
        rate = probes * window / seconds
        reach = window + 512
        counted = seconds_on(card, lambda c=condition, a=low, b=high, r=reach: count_ranges(card, c, a, b, r), 2)
        report(
            f"theta join, window of {window:,}",
            **{"pairs_per_s": rate, "first_pass": probes * window / counted, "events_per_s": probes / seconds},
            found=found,
        )
    few, short = max(int(pairs / 2**21), 1), 1 << 12
    sides = {side: draw.random((6, few + short), np.float32) for side in ("left", "right")}
    low = np.arange(few)
    seconds = seconds_here(lambda: one_core_scan(compiled, sides["left"], sides["right"], low, low + short))
    report("theta join, a plain loop on one core of the same machine", pairs_per_s=few * short / seconds)


def measure_operators(report: Report, events: int) -> None:
    """Whole operators, from Arrow columns of this process to Arrow columns."""
    draw = np.random.default_rng(6)
    table = pa.table(
        {
            "time": pa.array(np.arange(events) * 1000, pa.timestamp("us")),
            "key": pa.array(draw.integers(0, 1000, events)),
            **{name: pa.array(draw.random(events, np.float32)) for name in COORDINATES},
        }
    )
    operators = {
        "filter, six dimensions": ops.filter(distance(0.2, "0.5")),
        "sum of 1,000 events, slide 1": ops.window_aggregate("SUM(a)", rows=1000, slide_rows=1),
        "five aggregates of 1,000 events, slide 100, 1,000 keys": ops.window_aggregate(
            "COUNT(*), SUM(a), AVG(b), MIN(c), MAX(d)", rows=1000, slide_rows=100, keys=["key"]
        ),
        "filter and mean of 100 events": ops.filter("a > b") | ops.window_aggregate("AVG(c)", rows=100),
    }
    for name, operator in operators.items():
        seconds = {
            device: seconds_here(lambda operator=operator, device=device: operator.run(table, device=device))
            for device in ("cpu", "threads", "gpu")
        }
        rates = {f"{device}_events_per_s": events / taken for device, taken in seconds.items()}
        report(f"operator, {name}, {events:,} events", **rates)
    few = table.slice(0, events // 80)
    join = ops.window_join(distance(0.002), left="20000 rows", right="20000 rows")
    seconds = {
        device: seconds_here(lambda device=device: join.run(few, few, device=device)) for device in ("cpu", "gpu")
    }
    rates = {f"{device}_pairs_per_s": 2 * few.num_rows * 20_000 / taken for device, taken in seconds.items()}
    report(f"operator, join of windows of 20,000 events, {few.num_rows:,} events on each side", **rates)
