"""Values and columns that are unusual, and must not give unusual answers."""

from __future__ import annotations

import math
from datetime import date
from decimal import Decimal

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import trendweave
from tests.features.places import Run
from trendweave.errors import DataError, ExecutionError


def of_a(**columns: object) -> pa.Table:
    """Events of type A, unless their types are given."""
    return pa.table({"type": ["A"] * len(columns["time"])} | columns)


@pytest.mark.parametrize("times", [[1, 2**63 - 1], [-(2**63), 2**63 - 1]])
def test_a_moving_window_at_the_ends_of_64_bits(run: Run, times: list[int]) -> None:
    found = run("RETURN COUNT(*) PATTERN A+ WITHIN 4 s", of_a(time=pa.array(times, pa.int64())))
    assert [(row["time"], int(row["count"])) for row in found] == [(times[0], 1), (times[1], 1)]


@pytest.mark.parametrize("value", [1, 1.0, Decimal("1.5")])
def test_averages_beyond_floats(run: Run, value: object) -> None:
    """2,000 a's have 2^2000 - 1 trends; exact numbers know their mean, floats must not invent one."""
    text, columns = "RETURN AVG(A.x) PATTERN A+", {"time": list(range(2_000)), "x": [value] * 2_000}
    assert run(text, of_a(**columns))[0]["avg_A_x"] == float(value)
    with pytest.raises(ExecutionError, match="TW402"):
        run(text, of_a(**columns), numbers="float64")


@pytest.mark.parametrize(("value", "numbers"), [(1.0, "decimal"), (-1.0, "log2"), (1, "float64")])
def test_a_sum_of_finite_numbers_is_never_infinite(run: Run, value: float, numbers: str) -> None:
    with pytest.raises(ExecutionError, match="TW402"):
        run("RETURN SUM(A.x) PATTERN A+", of_a(time=list(range(2_000)), x=[value] * 2_000), numbers=numbers)


def test_a_sum_of_infinities_is_infinite(run: Run) -> None:
    assert run("RETURN SUM(A.x) PATTERN A", of_a(time=[1, 2], x=[math.inf, 1.0]))[0]["sum_A_x"] == math.inf


def test_unsigned_keys_beyond_63_bits(run: Run) -> None:
    keys = pa.array([2**63, 2**63, 2**63 + 1], pa.uint64())
    for text in ("[k]", "[A.k]"):
        (row,) = run(f"RETURN COUNT(*) PATTERN A{{2}} WHERE {text}", of_a(time=[1, 2, 3], k=keys))
        assert row["count"] == 1


def test_decimals_of_negative_scale(run: Run) -> None:
    values = pa.array([Decimal("5E+2"), Decimal("7E+2")], pa.decimal128(5, -2))
    (row,) = run("RETURN SUM(A.x), MIN(A.x), MAX(A.x), AVG(A.x) PATTERN A", of_a(time=[1, 2], x=values))
    assert [row[name] for name in ("sum_A_x", "min_A_x", "max_A_x", "avg_A_x")] == [1200, 500, 700, 600.0]


def test_minus_zero_inside_a_struct_is_zero(run: Run) -> None:
    groups = pa.array([{"a": 0.0}, {"a": 2.0}, {"a": -0.0}, None])
    found = run("RETURN g, COUNT(*) PATTERN A+ GROUP-BY g", of_a(time=[1, 2, 3, 4], g=groups))
    assert sorted(int(row["count"]) for row in found) == [1, 1, 3]


@pytest.mark.parametrize("kind", [pa.date32(), pa.date64()])
def test_dates_between_neighbours(run: Run, kind: pa.DataType) -> None:
    days = pa.array([date(2024, 1, 1), date(2024, 1, 2)], kind)
    (row,) = run("RETURN COUNT(*) PATTERN A{2} WHERE A.d < NEXT(A).d", of_a(time=[1, 2], d=days))
    assert row["count"] == 1


def test_float_seconds_are_read_to_the_microsecond(run: Run) -> None:
    times = [1.7e9 + 0.1, 1.7e9 + 0.25]
    found = run("RETURN COUNT(*) PATTERN A WITHIN 100 ms SLIDE 100 ms", of_a(time=times))
    assert [row["window_start"] for row in found] == [1700000000.1, 1700000000.2]
    (row,) = run("RETURN COUNT(*) PATTERN A{2}", of_a(time=[1.0, 1.0 + 1e-3]))
    assert row["count"] == 1
    assert run("RETURN COUNT(*) PATTERN A{2}", of_a(time=[1.0, 1.0 + 1e-8])) == []  # the same time
    with pytest.raises(DataError, match="TW310"):
        run("RETURN COUNT(*) PATTERN A", of_a(time=[1e300]))


def test_text_as_polars_has_it() -> None:
    frame = pl.DataFrame({"time": [1, 2, None, 4], "type": ["A", "Z", "A", "A"], "g": ["u", "v", "u", "u"]})
    for table in (frame, frame.lazy(), frame.to_arrow(compat_level=pl.CompatLevel.newest())):
        for text in ("[g]", "[A.g]", "A.g = 'u'", "CONCAT(A.g, NEXT(A).g) = 'uu'", "A.g = NEXT(A).g"):
            result = trendweave.query(f"RETURN g, COUNT(*) PATTERN A+ WHERE {text} GROUP-BY g").run(table)
            counts = result["count"].to_list() if isinstance(result, pl.DataFrame) else result["count"].to_pylist()
            assert counts == [3]


def test_times_in_a_dictionary(run: Run) -> None:
    times = pa.array([1, 2]).dictionary_encode()
    found = run("RETURN COUNT(*) PATTERN A+ WITHIN 4 s SLIDE 4 s", of_a(time=times))
    assert [int(row["count"]) for row in found] == [3]


def test_pairs_of_trends_beyond_floats(run: Run) -> None:
    with pytest.raises(ExecutionError, match="TW402"):
        run("RETURN COUNT(*) PATTERN A+ AND A{2,}", of_a(time=list(range(600))), numbers="float64")


def test_what_is_no_table() -> None:
    with pytest.raises(DataError, match="TW308"):
        trendweave.query("RETURN COUNT(*) PATTERN A").run(pd.Series([1]))


def test_the_error_of_a_large_count_names_window_group_and_ways_out(run: Run) -> None:
    text = "RETURN g, COUNT(*) PATTERN A+ GROUP-BY g WITHIN 1000 s SLIDE 1000 s"
    with pytest.raises(ExecutionError) as caught:
        run(text, of_a(time=list(range(200)), g=["u"] * 200))
    (problem,) = caught.value.problems
    assert problem.message == (
        "count needs 61 digits at window_start 0, window_end 1000, g u; decimal128(38, 0) cannot hold it"
    )
    assert problem.hint == 'ask for numbers="text" or "log2"'


def test_the_error_of_a_large_count_names_the_whole_input() -> None:
    with pytest.raises(ExecutionError, match=r'count needs 25 digits at the whole input.*\n.*"decimal" or "text"'):
        trendweave.query("RETURN COUNT(*) PATTERN A+").run(of_a(time=list(range(80))), numbers="int64")


@pytest.mark.parametrize(("kind", "time"), [(pa.float32(), 1.7e9), (pa.float16(), 60_000.0)])
def test_window_edges_that_a_small_float_cannot_hold(run: Run, kind: pa.DataType, time: float) -> None:
    with pytest.raises(DataError, match="TW310"):
        run("RETURN COUNT(*) PATTERN A WITHIN 7 s SLIDE 3 s", of_a(time=pa.array([time]).cast(kind, safe=False)))


def test_a_key_of_one_variable_with_very_many_values_is_refused_in_time(run: Run) -> None:
    length = 60_000
    columns = {"time": list(range(length)), "k": list(range(length)), "type": ["P", "B"] * (length // 2)}
    with pytest.raises(ExecutionError, match="TW406"):
        run("RETURN COUNT(*) PATTERN SEQ(P, B*, P) WHERE [P.k]", of_a(**columns))


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_upper_case_in_a_slice_of_a_table(run: Run, kind: pa.DataType) -> None:
    events = of_a(time=[1, 2, 3, 4], s=pa.array(["b", "a", "b", "é"], kind)).slice(2)
    for text in ("UPPER(A.s) = 'B'", "LOWER(A.s) = 'b'", "UPPER(A.s) = 'É'"):
        (row,) = run(f"RETURN COUNT(*) PATTERN A WHERE {text}", events)
        assert row["count"] == 1
