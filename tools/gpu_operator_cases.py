"""Events, conditions and loops on one core that operators on a card are compared with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from trendweave import operators as ops
from trendweave.expressions.compiled.condition import Compiled, compile_condition
from trendweave.expressions.compiled.loading import without_nulls
from trendweave.gpu.filter import require_compiled
from trendweave.language.operator_texts import read_condition

COORDINATES = tuple("abcdef")
_POINT = pa.schema([pa.field(name, pa.float32(), nullable=False) for name in COORDINATES])
_AGGREGATES = "COUNT(*), COUNT(x), SUM(x), AVG(x), MIN(x), MAX(x), SUM(wide), AVG(wide), MIN(n), MAX(wide)"


def random_events(draw: np.random.Generator, count: int) -> pa.Table:
    """Events with NULL, NaN, infinities, ties in time and a few keys."""
    x = draw.normal(size=count).astype(np.float32)
    x[draw.random(count) < 0.02] = np.nan
    x[draw.random(count) < 0.01] = np.inf
    return pa.table(
        {
            "time": pa.array(np.sort(draw.integers(0, max(count, 1), count)) * 1000, pa.timestamp("ms")),
            "key": pa.array(draw.integers(0, 7, count), mask=draw.random(count) < 0.05),
            "x": pa.array(x, mask=draw.random(count) < 0.1),
            "n": pa.array(draw.integers(-9, 9, count).astype(np.int16)),
            "wide": pa.array(draw.integers(-(2**62), 2**62, count)),
            "broken": pa.array(draw.random(count) < 0.3, mask=draw.random(count) < 0.1),
        }
    )


def distance(limit: float, point: str | None = None) -> str:
    """Near a point, or near each other: the square of the distance in six dimensions is at most `limit`."""
    if point is not None:
        parts = [f"({name} - {point}) * ({name} - {point})" for name in COORDINATES]
    else:
        parts = [f"(left.{name} - right.{name}) * (left.{name} - right.{name})" for name in COORDINATES]
    return f"{' + '.join(parts)} <= {limit!r}"


def compiled_on(text: str, table: pa.Table | None = None, pair: bool = False) -> Compiled:
    """A condition on rows of a table, on points, or on pairs of points."""
    if pair:
        return require_compiled(compile_condition(read_condition(text), {"left": _POINT, "right": _POINT}))
    schema = _POINT if table is None else without_nulls(table)
    return require_compiled(compile_condition(read_condition(text), {"": schema}))


_MASK = """
def loop(count, {columns}):
    found = np.empty(count, np.bool_)
    for row in range(count):
        found[row] = test({values})
    return found
"""
_SCAN = """
def loop(low, high, {columns}):
    found = [(0, 0)]
    for probe in range(low.size):
        for row in range(low[probe], high[probe]):
            if test({values}):
                found.append((probe, row))
    return found
"""


@cache
def _compiled_loop(text: str, source: str) -> Callable[..., Any]:
    from numba import njit

    names: dict[str, Any] = {"np": np}
    exec("from numpy import ceil, float64, floor, fmod, inf, int64, nan, sqrt, trunc", names)
    exec(source, names)
    names["test"] = njit(nogil=True, error_model="numpy", forceinline=True)(names["test"])
    exec(text, names)
    return njit(nogil=True, error_model="numpy")(names["loop"])


def one_core_mask(compiled: Compiled, columns: Sequence[np.ndarray]) -> np.ndarray:
    """A filter by a loop that Numba compiles; one thread."""
    names = [f"c{number}" for number in range(len(columns))]
    text = _MASK.format(columns=", ".join(names), values=", ".join(f"{name}[row]" for name in names))
    return _compiled_loop(text, compiled.python)(columns[0].size, *columns)


def one_core_scan(
    compiled: Compiled, left: np.ndarray, right: np.ndarray, low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """A join by a loop that Numba compiles; one thread. Points lie by dimension."""
    names = [f"c{number}" for number in range(len(compiled.operands))]
    values = [
        f"{name}[{'probe' if operand.side == 'left' else 'row'}]"
        for name, operand in zip(names, compiled.operands, strict=True)
    ]
    text = _SCAN.format(columns=", ".join(names), values=", ".join(values))
    columns = [
        (left if operand.side == "left" else right)[COORDINATES.index(operand.column)] for operand in compiled.operands
    ]
    found = np.array(_compiled_loop(text, compiled.python)(low, high, *columns), np.int64).reshape(-1, 2)[1:]
    return np.ascontiguousarray(found[:, 0]), np.ascontiguousarray(found[:, 1])


def is_join(operator: Any) -> bool:
    """Whether an operator has two inputs."""
    return str(operator).startswith("JOIN")


def run_operators(report: Callable[..., None], rounds: int) -> None:
    """Whole operators with device="gpu" and with device="cpu", so many times."""
    operators = [
        ops.filter("x > 0.5 OR broken"),
        ops.window_aggregate(_AGGREGATES, rows=20, slide_rows=3, keys=["key"]),
        ops.window_aggregate(_AGGREGATES, within="1 minute", slide="10 seconds", keys=["key"]),
        ops.window_aggregate("SUM(x) / COUNT(*) AS mean, MAX(broken)", rows=50, slide_rows=1),
        ops.filter("x > 0") | ops.window_aggregate("SUM(wide), AVG(x)", rows=5),
        ops.filter("x > 0 AND NOT broken")
        | ops.window_aggregate("AVG(x) AS mean, MIN(n) AS least", rows=5, slide_rows=1, keys=["key"])
        | ops.filter("mean < 1")
        | ops.window_aggregate("COUNT(*), MAX(least)", within="1 minute"),
        ops.window_join("abs(left.x - right.x) <= 0.01", left="200 rows", right="5 minutes", keys=["key"]),
        ops.window_join(
            "left.x * right.x > 4 AND left.n < right.n", left="300 rows", right="10 minutes slide 1 minute"
        ),
        ops.window_join("left.n = right.n AND left.x < right.x", left="50 rows slide 7 rows", right="100 rows"),
    ]
    for operator in operators if rounds else []:
        wrong = []
        for number in range(rounds):
            events = random_events(np.random.default_rng(number), 3000)
            given = (
                (events, random_events(np.random.default_rng(number + 99), 2500)) if is_join(operator) else (events,)
            )
            tables = [operator.run(*given, device=device) for device in ("gpu", "cpu")]
            if repr(tables[0].to_pylist()) != repr(tables[1].to_pylist()):
                wrong.append(f"round {number}")
        report(f"operator {operator}", ok=not wrong, wrong="; ".join(wrong) or None)
