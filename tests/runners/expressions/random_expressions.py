"""Random expressions of numbers, times and truth values, one inside the other, and rows with awkward values."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import strategies as some

from tests.runners.expressions.values import HIGH, INF, LOW, NAN
from trendweave.language import syntax_tree as st

Expressions = some.SearchStrategy[st.Expression]

_INTEGERS = [0, 1, -1, 3, None, LOW, HIGH, 2**53 + 1, -7, 2**32, LOW + 1, 3_037_000_500]
_FLOATS = [0.0, -0.0, 1.5, NAN, INF, -INF, None, 2.0**63, -(2.0**63), 1e308, -2.5, 5e-324]
_TICKS = [0, 1, None, -1, 86_400_000_000, LOW, HIGH, 1_730_611_800_000_000, 10**12, -(10**15), 5, 7]


def awkward_rows() -> pa.Table:
    """Twelve rows; a second table with other partners is made by turning the columns."""
    small = [None if value is None else max(min(value, 127), -128) for value in _INTEGERS]
    days = [None if value is None else value % 2**32 - 2**31 for value in _INTEGERS]
    return pa.table(
        {
            "i64": pa.array(_INTEGERS, pa.int64()),
            "j64": pa.array(_INTEGERS[5:] + _INTEGERS[:5], pa.int64()),
            "i8": pa.array(small[3:] + small[:3], pa.int8()),
            "u32": pa.array([None if value is None else value % 2**32 for value in _INTEGERS], pa.uint32()),
            "u64": pa.array([None if value is None else value % 2**64 for value in _INTEGERS], pa.uint64()),
            "f64": pa.array(_FLOATS, pa.float64()),
            "g64": pa.array(_FLOATS[4:] + _FLOATS[:4], pa.float64()),
            "f32": pa.array(_FLOATS[7:] + _FLOATS[:7], pa.float32()),
            "whole": pa.array(range(12), pa.int64()),  # without NULL
            "flag": pa.array([True, False, None] * 4),
            "moment": pa.array(_TICKS, pa.timestamp("us", "UTC")),
            "fine": pa.array(_TICKS[2:] + _TICKS[:2], pa.timestamp("ns")),
            "coarse": pa.array(_TICKS[5:] + _TICKS[:5], pa.timestamp("s")),
            "day": pa.array(days, pa.int32()).cast(pa.date32()),
            "span": pa.array(_TICKS[3:] + _TICKS[:3], pa.duration("ms")),
            "nothing": pa.nulls(12),
        }
    )


def columns(*names: str) -> Expressions:
    return some.sampled_from([st.Attribute((name,)) for name in names])


def literals(*values: Any) -> Expressions:
    return some.sampled_from([st.Literal(value) for value in values])


def picks(kind: Expressions) -> Expressions:
    """Functions that return one of their arguments, and CASE."""
    of_several = some.sampled_from(["COALESCE", "GREATEST", "LEAST", "NULLIF"])
    case = some.builds(st.Case, some.lists(whens(kind), min_size=1, max_size=2).map(tuple), some.none() | kind)
    return some.builds(st.Call, of_several, some.tuples(kind, kind)) | case


def whens(kind: Expressions) -> some.SearchStrategy[st.When]:
    tests = columns("flag") | literals(True, False, None)
    compared = some.builds(st.Comparison, some.sampled_from(["<", "=", "!="]), kind, kind)
    return some.builds(st.When, tests | compared, kind)


def whole_numbers(depth: int) -> Expressions:
    leaves = columns("i64", "j64", "i8", "u32", "u64", "whole") | literals(0, 1, -1, -3, 7, HIGH, LOW)
    if depth == 0:
        return leaves
    below = whole_numbers(depth - 1)
    return some.one_of(
        leaves,
        some.builds(st.Arithmetic, some.sampled_from("+-*%"), below, below),
        some.builds(st.Negative, below),
        picks(below),
        some.builds(st.Cast, numbers(depth - 1) | conditions(depth - 1), some.just("BIGINT")),
        some.builds(st.Call, some.sampled_from(["CEIL", "FLOOR"]), some.tuples(numbers(depth - 1))),
        some.builds(st.Call, some.sampled_from(["ABS", "SIGN", "ROUND"]), some.tuples(below)),
    )


def numbers(depth: int) -> Expressions:
    leaves = columns("f64", "g64", "f32") | literals(0.0, -0.0, 0.1, -2.5, 1e300, INF)
    if depth == 0:
        return leaves | whole_numbers(0)
    below = numbers(depth - 1)
    return some.one_of(
        leaves,
        whole_numbers(depth),
        some.builds(st.Arithmetic, some.sampled_from("+-*/%"), below, below),
        some.builds(st.Arithmetic, some.sampled_from("+-"), below, lengths(depth - 1)),
        some.builds(st.Negative, below),
        some.builds(st.Call, some.sampled_from(["ABS", "SIGN", "SQRT"]), some.tuples(below)),
        some.builds(st.Cast, below | conditions(depth - 1), some.just("DOUBLE")),
        picks(below),
    )


def times(depth: int) -> Expressions:
    leaves = columns("moment", "fine", "coarse", "day") | some.sampled_from(
        [st.TimestampLiteral(1_730_611_800_000_000), st.DateLiteral(20_000), st.DateLiteral(-700_000)]
    )
    if depth == 0:
        return leaves
    moved = some.builds(st.Arithmetic, some.sampled_from("+-"), times(depth - 1), lengths(depth - 1))
    return leaves | moved | picks(times(depth - 1))


def lengths(depth: int) -> Expressions:
    leaves = columns("span") | some.sampled_from([st.Duration(90_000_000_000), st.Duration(7)])
    if depth == 0:
        return leaves
    between = some.builds(st.Arithmetic, some.just("-"), times(depth - 1), times(depth - 1))
    total = some.builds(st.Arithmetic, some.sampled_from("+-"), lengths(depth - 1), lengths(depth - 1))
    return leaves | between | total | some.builds(st.Negative, lengths(depth - 1)) | picks(lengths(depth - 1))


def conditions(depth: int) -> Expressions:
    leaves = columns("flag") | literals(True, False, None)
    if depth == 0:
        return leaves
    below = conditions(depth - 1)
    alike = [numbers(depth - 1), times(depth - 1), lengths(depth - 1), numbers(depth - 1) | lengths(depth - 1), below]
    alike += [kind | literals(None) | columns("nothing") for kind in alike[:3]]
    operators = some.sampled_from(["<", "<=", ">", ">=", "=", "!="])
    return some.one_of(
        leaves,
        *(some.builds(st.Comparison, operators, kind, kind) for kind in alike),
        *(some.builds(st.InList, kind, some.tuples(kind, kind), some.booleans()) for kind in alike),
        *(some.builds(st.Between, kind, kind, kind, some.booleans()) for kind in alike),
        *(some.builds(st.IsNull, kind, some.booleans()) for kind in alike),
        some.builds(st.Inverse, below),
        some.tuples(below, below).map(st.all_of),
        some.tuples(below, below).map(st.any_of),
    )


anything = some.one_of(kind(3) for kind in (numbers, times, lengths, conditions))
