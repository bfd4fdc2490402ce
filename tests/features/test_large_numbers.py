"""Counts grow like 2^n. They are exact, or the query asked for a float, or it fails and says how to go on."""

from __future__ import annotations

import math
import sys
from decimal import Decimal

import pyarrow as pa
import pytest

import trendweave
from tests.features.runs import codes, count, only
from trendweave.errors import ExecutionError

COUNT = "RETURN COUNT(*) PATTERN A+"


@pytest.fixture(autouse=True)
def _long_numbers():
    """Python refuses to read numbers of more than 4,300 digits, unless it is told otherwise."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    yield
    sys.set_int_max_str_digits(before)


def repeated(n: int, **columns: list) -> pa.Table:
    """a0 a1 a2 ... of type A."""
    return pa.table({"time": pa.array(range(n), pa.int64()), "type": pa.array(["A"] * n, pa.string()), **columns})


@pytest.mark.parametrize("n", [1, 62, 63, 64, 65, 127, 128, 1_000, 1_024, 10_000])
def test_text_is_exact_at_any_size(run, n):
    assert int(only(run(COUNT, repeated(n), numbers="text"))["count"]) == 2**n - 1


@pytest.mark.parametrize("numbers", ["decimal", "text", "log2"])
def test_trends_without_the_variable_of_the_group_change_no_number(run, numbers):
    """A Q OR C S+: no event is a Q, so no trend lacks an S."""
    events = repeated(60, v=pa.array([3] * 60))
    found = only(run("RETURN COUNT(*) PATTERN (B Q OR A S+) GROUP-BY S.v", events, numbers=numbers))["count"]
    assert found == {"decimal": Decimal(2**60 - 1), "text": str(2**60 - 1), "log2": math.log2(2**60 - 1)}[numbers]


def test_decimal_is_exact_up_to_38_digits(run):
    assert count(run(COUNT, repeated(126))) == 2**126 - 1
    assert len(str(2**126 - 1)) == 38


def test_beyond_38_digits_a_decimal_is_an_error_that_names_window_digits_and_option(run):
    with pytest.raises(ExecutionError) as refused:
        run(f"{COUNT} WITHIN 200 seconds SLIDE 200 seconds", repeated(127))
    assert codes(refused) == ["TW402"]
    message = str(refused.value)
    assert "count needs 39 digits" in message
    assert "window_start 0, window_end 200" in message
    assert 'numbers="text"' in message


def test_the_error_names_the_window_that_is_too_large(run):
    # a100 to a299: [0, 150) has 50 of them, [150, 300) has 150.
    with pytest.raises(ExecutionError, match="window_start 150, window_end 300"):
        run(f"{COUNT} WITHIN 150 seconds SLIDE 150 seconds", repeated(300).slice(100))
    with pytest.raises(ExecutionError, match="at time 126;"):
        run(f"{COUNT} WITHIN 1000 seconds", repeated(130))


def test_the_error_names_the_keys_that_a_number_has_together(run):
    # Two keys with 2 ** 126 - 1 trends each, which 38 digits hold; their sum has one digit more.
    events, window = repeated(252, k=pa.array([0, 1] * 126), g=pa.array(["u"] * 252)), "WITHIN 300 s SLIDE 300 s"
    with pytest.raises(ExecutionError, match="count needs 39 digits at window_start 0, window_end 300, over all k;"):
        run(f"{COUNT} WHERE [k] {window}", events)
    with pytest.raises(ExecutionError, match="window_end 300, g u, over all k;"):
        run(f"{COUNT} WHERE [k] GROUP-BY g {window}", events)
    with pytest.raises(ExecutionError, match="window_end 300, g u;"):
        run(f"{COUNT} GROUP-BY g {window}", events)


def test_int64(run):
    assert count(run(COUNT, repeated(63), numbers="int64")) == 2**63 - 1
    with pytest.raises(ExecutionError, match="count needs 20 digits") as refused:
        run(COUNT, repeated(64), numbers="int64")
    assert codes(refused) == ["TW402"]


def test_sums_in_int64(run):
    query = "RETURN SUM(A.x) PATTERN A"
    lowest = repeated(2, x=pa.array([-(2**62)] * 2))
    assert only(run(query, lowest, numbers="int64")) == {"sum_A_x": -(2**63)}
    with pytest.raises(ExecutionError, match="sum_A_x needs 19 digits") as refused:
        run(query, repeated(2, x=pa.array([2**62] * 2)), numbers="int64")
    assert codes(refused) == ["TW402"]


def test_float64(run):
    for n in (10, 53, 100, 1_023):
        assert only(run(COUNT, repeated(n), numbers="float64"))["count"] == pytest.approx(2.0**n - 1, rel=1e-12)
    with pytest.raises(ExecutionError) as refused:
        run(COUNT, repeated(1_024), numbers="float64")
    assert codes(refused) == ["TW402"]


def test_a_sum_beyond_all_floats_is_refused_whatever_is_nan_elsewhere():
    text = "RETURN SUM(A.x) PATTERN A WITHIN 2 seconds SLIDE 2 seconds"
    for last in (1.0, math.nan):
        with pytest.raises(ExecutionError, match="a SUM exceeds the range of floats at window_start 0") as refused:
            trendweave.query(text).run(repeated(3, x=pa.array([1e308, 1e308, last])))
        assert codes(refused) == ["TW402"]
    found = trendweave.query(text).run(repeated(3, x=pa.array([1e308, math.inf, math.nan])))
    assert str(found["sum_A_x"].to_pylist()) == "[inf, nan]"


def test_log2(run):
    for n in (1, 2, 10, 1_000, 10_000):
        expected = math.log2(2**n - 1)
        assert only(run(COUNT, repeated(n), numbers="log2"))["count"] == pytest.approx(expected, rel=1e-12)
    # Each of n events is in 2^(n - 1) trends.
    found = only(run("RETURN COUNT(*), COUNT(A) PATTERN A+", repeated(1_024), numbers="log2"))
    assert found == {"count": 1_024.0, "count_A": 1_033.0}
    # No b anywhere: log2 of zero.
    assert only(run("RETURN COUNT(B) PATTERN SEQ(A, B?)", repeated(3), numbers="log2")) == {"count_B": -math.inf}


def test_sums_of_whole_numbers_are_exact_beyond_64_bits(run):
    # Each of 40 events is in 2^39 trends.
    values = [2**62 + number for number in range(40)]
    found = only(run("RETURN SUM(A.x), AVG(A.x) PATTERN A+", repeated(40, x=pa.array(values))))
    assert found == {"sum_A_x": sum(values) * 2**39, "avg_A_x": sum(values) / 40}
    large = only(run("RETURN SUM(A.x) PATTERN A+", repeated(500, x=pa.array(range(500))), numbers="text"))
    assert int(large["sum_A_x"]) == sum(range(500)) * 2**499


def test_sums_of_decimals_are_exact(run):
    values = pa.array([Decimal(f"{number}.05") for number in range(60)])
    expected = sum(Decimal(value) for value in values.to_pylist()) * 2**59
    assert only(run("RETURN SUM(A.x) PATTERN A+", repeated(60, x=values))) == {"sum_A_x": expected}
    assert only(run("RETURN SUM(A.x) PATTERN A+", repeated(60, x=values), numbers="text")) == {"sum_A_x": str(expected)}
    with pytest.raises(ExecutionError) as refused:
        run("RETURN SUM(A.x) PATTERN A+", repeated(150, x=pa.array([Decimal("1.05")] * 150)))
    assert codes(refused) == ["TW402"]


def test_averages_and_extremes_need_no_large_numbers(run):
    # 2^1999 occurrences each, far beyond any float; the averages are small.
    events = repeated(2_000, x=pa.array(range(2_000)), y=pa.array([0.5, 1.5] * 1_000))
    found = only(run("RETURN AVG(A.x), AVG(A.y), MIN(A.x), MAX(A.x) PATTERN A+", events))
    assert found == {"avg_A_x": 999.5, "avg_A_y": pytest.approx(1.0), "min_A_x": 0, "max_A_x": 1_999}


def test_large_numbers_in_groups_are_merged_exactly(run):
    # 100 events for each of two k of one group.
    events = repeated(200, g=pa.array(["u"] * 200), k=pa.array([0, 1] * 100))
    query = "RETURN COUNT(*), COUNT(A) PATTERN A+ WHERE [k] GROUP-BY g"
    (found,) = run(query, events, numbers="text")
    assert int(found["count"]) == 2 * (2**100 - 1)
    assert int(found["count_A"]) == 2 * 100 * 2**99


def test_large_numbers_in_sliding_windows(run):
    # Windows of 400 every 200 over 600 events: 200, 400, 400, 200 of them.
    found = run(f"{COUNT} WITHIN 400 seconds SLIDE 200 seconds", repeated(600), numbers="text")
    assert [int(row["count"]) for row in found] == [2**200 - 1, 2**400 - 1, 2**400 - 1, 2**200 - 1]


def test_large_numbers_with_edge_predicates(run):
    # Rising values: every choice of events rises. Falling: single ones.
    events = repeated(300, x=pa.array(range(300)))
    rising = only(run(f"{COUNT} WHERE A.x < NEXT(A).x", events, numbers="text"))
    assert int(rising["count"]) == 2**300 - 1
    assert only(run(f"{COUNT} WHERE A.x > NEXT(A).x", events, numbers="text")) == {"count": "300"}
    unequal = only(run(f"{COUNT} WHERE A.x != NEXT(A).x", events, numbers="text"))
    assert int(unequal["count"]) == 2**300 - 1


def test_types_of_the_result():
    kinds = {
        "decimal": pa.decimal128(38, 0),
        "int64": pa.int64(),
        "text": pa.string(),
        "float64": pa.float64(),
        "log2": pa.float64(),
    }
    for numbers, kind in kinds.items():
        assert trendweave.query(COUNT).run(repeated(3), numbers=numbers).schema.field("count").type == kind
        assert trendweave.query(COUNT).run(repeated(0), numbers=numbers).schema.field("count").type == kind
