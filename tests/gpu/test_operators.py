"""Operators with device="gpu" give the rows that they give on the CPU."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tests.gpu.simulator import SimulatedCard
from tests.operators.running import assert_tables
from trendweave import operators as ops
from trendweave.errors import ExecutionError
from trendweave.operators import Operator

ALL = "COUNT(*), COUNT(x), SUM(x), AVG(x), MIN(x), MAX(x), SUM(n), AVG(n), MIN(n), MAX(n), MAX(name), SUM(far)"


def events(count: int = 400, seed: int = 3) -> pa.Table:
    draw = np.random.default_rng(seed)
    x = draw.normal(size=count)
    x[draw.random(count) < 0.02] = np.nan
    x[draw.random(count) < 0.02] = np.inf
    return pa.table(
        {
            "time": pa.array(np.sort(draw.integers(0, count, count)) * 1_000_000, pa.timestamp("us")),
            "machine": pa.array(draw.choice(["a", "b", None], count)),
            "x": pa.array(x, mask=draw.random(count) < 0.1),
            "n": pa.array(draw.integers(-(2**62), 2**62, count)),
            "far": pa.array(draw.normal(size=count) * 10.0 ** draw.integers(-200, 200, count)),
            "name": pa.array(draw.choice(["p", "q", "rr"], count)),
        }
    )


OPERATORS = [
    ops.filter("x > 0.5 AND n < 0"),
    ops.window_aggregate(ALL, rows=20, slide_rows=3, keys=["machine"]),
    ops.window_aggregate(ALL, rows=7, slide_rows=1),
    ops.window_aggregate(ALL, within="1 minute", slide="10 seconds", keys=["machine"]),
    ops.filter("x > 0") | ops.window_aggregate("SUM(n), AVG(x)", rows=5, keys=["machine"]),
]


@pytest.mark.parametrize("operator", OPERATORS, ids=str)
def test_same_rows_on_the_card(gpu: SimulatedCard, operator: Operator) -> None:
    before = gpu.launches + gpu.copied

    found = operator.run(events(), device="gpu")

    assert_tables(found, operator.run(events(), device="cpu"))
    assert found.num_rows > 10
    assert gpu.launches + gpu.copied > before


def test_no_events(gpu: SimulatedCard) -> None:
    for operator in OPERATORS:
        assert operator.run(events(0), device="gpu").num_rows == 0


def test_texts_in_conditions_are_refused(gpu: SimulatedCard) -> None:
    with pytest.raises(ExecutionError, match=r"TW422(.|\n)*device='threads'"):
        ops.filter("name LIKE 'p%'").run(events(), device="gpu")


JOINS = [
    ops.window_join("abs(left.x - right.x) <= 0.3", left="20 rows", right="30 seconds", keys=["machine"]),
    ops.window_join("left.n < right.n AND left.x * right.x > 0.5", left="10 rows slide 3 rows", right="25 rows"),
    ops.window_join(
        "left.name = right.name AND left.x + right.x > 1", left="40 rows", right="1 minute slide 10 seconds"
    ),
    ops.window_join("left.name < right.name AND left.x > right.x + right.n", left="15 rows", right="15 rows"),
]


@pytest.mark.parametrize("operator", JOINS, ids=str)
def test_same_pairs_on_the_card(gpu: SimulatedCard, operator: Operator) -> None:
    left, right = events(300, 1), events(260, 2)

    found = operator.run(left, right, device="gpu")

    assert repr(found.to_pylist()) == repr(operator.run(left, right, device="cpu").to_pylist())
    assert found.num_rows > 10


def test_conditions_on_pairs_of_texts_alone_are_refused(gpu: SimulatedCard) -> None:
    operator = ops.window_join("concat(left.name, right.name) = 'pq'", left="5 rows", right="5 rows")

    with pytest.raises(ExecutionError, match=r"TW422(.|\n)*device='threads'"):
        operator.run(events(), events(), device="gpu")


@pytest.mark.parametrize(
    "operator",
    [
        ops.window_aggregate("SUM(n) AS total", rows=5, keys=["machine"]) | ops.filter("total > 20"),
        ops.filter("name = 'p' OR x > 1"),
        ops.filter("ROUND(x) > 1"),
        ops.filter("YEAR(time) > 2000"),
        ops.window_join("left.name < right.name", left="5 rows", right="5 rows"),
        ops.window_join("left.name = 'p' OR left.x < right.x", left="5 rows", right="5 rows"),
    ],
    ids=str,
)
def test_what_no_card_evaluates_is_refused_before_anything_runs(gpu: SimulatedCard, operator: Operator) -> None:
    given, before = events(), gpu.launches
    for ask in (
        lambda: operator.run(given, device="gpu"),
        lambda: operator.schema(given, device="gpu"),
        lambda: operator.explain(given.schema, device="gpu"),
        lambda: operator.incremental(given.schema, device="gpu"),
        lambda: operator.push(given.schema, device="gpu"),
    ):
        with pytest.raises(ExecutionError, match="TW422"):
            ask()
    assert gpu.launches == before
    assert operator.schema(given, device="threads") == operator.schema(given)
