"""Filters and windows with device="gpu": the same rows as on the CPU, whatever the events are."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tests.gpu.simulator import SimulatedCard
from tests.operators.running import assert_tables
from trendweave import operators as ops
from trendweave.operators import Operator

ALL = ", ".join(
    f"{function}({column}) AS {function.lower()}_{column}"
    for column, functions in {
        "x": ("COUNT", "SUM", "AVG", "MIN", "MAX"),
        "n": ("COUNT", "SUM", "AVG", "MIN", "MAX"),
        "far": ("SUM", "AVG"),
        "day": ("MIN", "MAX"),
    }.items()
    for function in functions
)


def events(seed: int, count: int) -> pa.Table:
    """Unsorted, with many events of one time, NULL, NaN, infinities, -0.0 and NULL times."""
    draw = np.random.default_rng(seed)

    def holes(values: np.ndarray, kind: pa.DataType | None = None) -> pa.Array:
        return pa.array(values, kind, mask=draw.random(count) < 0.1)

    x = draw.choice([0.0, -0.0, 1.5, -2.25, np.nan, np.inf, -np.inf, 0.1, 3e-8], count).astype(np.float32)
    far = draw.normal(size=count) * 10.0 ** draw.integers(-200, 200, count)
    far[draw.random(count) < 0.05] = draw.choice([np.inf, -np.inf, np.nan])
    return pa.table(
        {
            "time": holes(draw.integers(0, max(count // 3, 1), count) * 1_000_000, pa.timestamp("us")),
            "key": holes(draw.choice([0.0, -0.0, np.nan, 1.0, 2.0], count)),
            "name": holes(draw.choice(["a", "b", "c"], count)),
            "x": holes(x),
            "n": holes(draw.integers(-(2**62), 2**62, count)),
            "far": holes(far),
            "day": holes(draw.integers(-9, 9, count).astype(np.int32), pa.date32()),
        }
    )


OPERATORS = [
    ops.window_aggregate(ALL + ", COUNT(*)", rows=7, slide_rows=2, keys=["key", "name"]),
    ops.window_aggregate(ALL, rows=9, slide_rows=1),
    ops.window_aggregate(ALL, rows=3, slide_rows=5, keys=["name"]),
    ops.window_aggregate(ALL, within="20 seconds", slide="7 seconds", keys=["name", "key"]),
    ops.window_aggregate("SUM(n) / COUNT(*) AS mean, MAX(day)", within="10 seconds"),
    ops.filter("x > 0 OR n < 0")
    | ops.filter("day IS NOT NULL")
    | ops.window_aggregate("AVG(x) AS mean, MAX(n) AS most", rows=4, slide_rows=1, keys=["name"])
    | ops.filter("mean < 1")
    | ops.window_aggregate("COUNT(*), MAX(most)", within="30 seconds"),
    ops.filter("n < n") | ops.window_aggregate("SUM(x)", rows=2),
]


@pytest.mark.parametrize("operator", OPERATORS, ids=range(len(OPERATORS)))
def test_same_rows_as_on_the_cpu(gpu: SimulatedCard, operator: Operator) -> None:
    for seed, count in ((1, 0), (2, 1), (3, 40), (4, 300)):
        table = events(seed, count)

        found = operator.run(table, device="gpu")

        expected = operator.run(table, device="cpu")
        assert_tables(found, expected)


def test_keys_of_all_types(gpu: SimulatedCard) -> None:
    given = events(6, 120)
    draw = np.random.default_rng(7)
    numbers = draw.integers(0, 3, 120)
    keys = {
        "flag": pa.array(numbers > 0),
        "large": pa.array(numbers.astype(np.uint64) + np.uint64(2**63 - 1)),
        "pair": pa.array([{"a": int(number)} for number in numbers]),
        "coded": pa.array([f"k{number}" for number in numbers]).dictionary_encode(),
        "decimal": pa.array([int(number) for number in numbers], pa.decimal128(9, 2)),
        "day": given["day"],
        "at": pa.array(numbers, pa.timestamp("s", "UTC")),
    }
    for key, values in keys.items():
        table = pa.table({"time": given["time"], "x": given["x"], "key": values})
        operator = ops.window_aggregate("SUM(x), MAX(x)", rows=4, slide_rows=1, keys=["key"])

        found = operator.run(table, device="gpu")

        assert repr(found.to_pylist()) == repr(operator.run(table, device="cpu").to_pylist()), key


def test_texts_are_aggregated_too(gpu: SimulatedCard) -> None:
    for text in ("MAX(name)", "COUNT(name)"):
        operator = ops.window_aggregate(text, rows=5, keys=["key"])

        found = operator.run(events(5, 200), device="gpu")

        assert repr(found.to_pylist()) == repr(operator.run(events(5, 200), device="cpu").to_pylist())
