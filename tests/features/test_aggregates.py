"""`COUNT(*)`, `COUNT(S)`, `SUM`, `MIN`, `MAX`, `AVG`: over all occurrences of a variable's events in trends."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

import trendweave
from tests.features.runs import codes, only, stream, table
from tests.reference.comparer import assert_same_rows
from trendweave.errors import DataError, PlanningError

NAN, INF = math.nan, math.inf
WHOLE = {"window_start": None, "window_end": None}
ALL = "RETURN COUNT(*), COUNT(A), SUM(A.x), MIN(A.x), MAX(A.x), AVG(A.x) PATTERN A+"


def expected(trends, events, total, low, high, mean):
    row = {"count": trends, "count_A": events, "sum_A_x": total, "min_A_x": low, "max_A_x": high, "avg_A_x": mean}
    return [WHOLE | row]


def test_count_of_trends_and_of_events(run):
    # (a1 b3), (a2 b3), (a1 a2 b3)
    found = only(run("RETURN COUNT(*), COUNT(A), COUNT(B) PATTERN SEQ(A+, B)", stream("a1 a2 b3")))
    assert found == {"count": 3, "count_A": 4, "count_B": 3}


def test_an_event_counts_once_in_each_of_its_trends(run):
    # Three events, each in 4 of 7 trends.
    found = run(ALL, stream("a1 a2 a3", x=[1, 2, 6]))
    assert_same_rows(expected(7, 12, 36, 1, 6, 3.0), found)


def test_nulls_are_left_out(run):
    found = run(ALL, stream("a1 a2 a3", x=[3, None, 5]))
    assert_same_rows(expected(7, 12, 32, 3, 5, 4.0), found)


def test_with_nothing_left_the_result_is_null(run):
    nothing = expected(3, 4, None, None, None, None)
    for kind in (pa.int64(), pa.float64(), pa.decimal128(10, 2)):
        assert_same_rows(nothing, run(ALL, table("a1 a2", x=pa.nulls(2, kind))))


def test_floats(run):
    assert_same_rows(expected(3, 4, 8.0, 1.5, 2.5, 2.0), run(ALL, stream("a1 a2", x=[1.5, 2.5])))


def test_nan_and_infinity(run):
    # NaN is the largest; it spoils sums, not MIN.
    assert_same_rows(expected(3, 4, NAN, 0.5, NAN, NAN), run(ALL, stream("a1 a2", x=[0.5, NAN])))
    assert_same_rows(expected(3, 4, NAN, NAN, NAN, NAN), run(ALL, stream("a1 a2", x=[NAN, NAN])))
    assert_same_rows(expected(3, 4, INF, 0.5, INF, INF), run(ALL, stream("a1 a2", x=[0.5, INF])))
    assert_same_rows(expected(3, 4, -INF, -INF, 0.5, -INF), run(ALL, stream("a1 a2", x=[0.5, -INF])))
    assert_same_rows(expected(3, 4, NAN, -INF, INF, NAN), run(ALL, stream("a1 a2", x=[INF, -INF])))


def test_decimals(run):
    found = run(ALL, table("a1 a2 a3", x=pa.array([Decimal("1.10"), None, Decimal("-2.25")])))
    assert_same_rows(expected(7, 12, Decimal("-4.60"), Decimal("-2.25"), Decimal("1.10"), -0.575), found)


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()], ids=str
)
def test_sums_do_not_overflow_the_width_of_the_column(run, kind):
    found = run(ALL, table("a1 a2", x=pa.array([127, 126]).cast(kind)))
    assert_same_rows(expected(3, 4, 506, 126, 127, 126.5), found)


def test_sums_are_exact_beyond_64_bits(run):
    large = 2**63 - 1
    assert_same_rows(
        expected(7, 12, 12 * large, large, large, float(large)), run(ALL, stream("a1 a2 a3", x=[large] * 3))
    )
    low = -(2**63)
    assert_same_rows(expected(7, 12, 12 * low, low, low, float(low)), run(ALL, stream("a1 a2 a3", x=[low] * 3)))


def test_large_numbers_that_cancel(run):
    assert_same_rows(expected(3, 4, 2, -(2**62), 2**62 + 1, 0.5), run(ALL, stream("a1 a2", x=[2**62 + 1, -(2**62)])))


def test_min_and_max_of_timestamps_and_dates(run):
    query = "RETURN MIN(A.x), MAX(A.x) PATTERN A+"
    days = [date(2024, 2, 29), None, date(1923, 1, 1)]
    assert only(run(query, table("a1 a2 a3", x=pa.array(days)))) == {"min_A_x": days[2], "max_A_x": days[0]}
    moments = [datetime(2024, 2, 29, 1, 2, 3), None, datetime(1969, 12, 31)]
    for unit in ("s", "ms", "us"):
        found = only(run(query, table("a1 a2 a3", x=pa.array(moments, pa.timestamp(unit)))))
        assert found == {"min_A_x": moments[2], "max_A_x": moments[0]}
    zoned = pa.array([datetime(2024, 2, 29, tzinfo=UTC), None], pa.timestamp("us", "Asia/Tokyo"))
    found = only(run(query, table("a1 a2", x=zoned)))
    assert found == {"min_A_x": datetime(2024, 2, 29, tzinfo=UTC), "max_A_x": datetime(2024, 2, 29, tzinfo=UTC)}
    nothing = {"min_A_x": None, "max_A_x": None}
    for kind in (pa.date32(), pa.timestamp("us")):
        assert only(run(query, table("a1", x=pa.nulls(1, kind)))) == nothing


def test_min_and_max_only_of_events_in_trends(run):
    # SEQ(A+, B): a4 comes after the last b.
    events = stream("a1 a2 b3 a4", x=[5, 3, 0, 99])
    found = only(run("RETURN MIN(A.x), MAX(A.x), MIN(B.x) PATTERN SEQ(A+, B)", events))
    assert found == {"min_A_x": 3, "max_A_x": 5, "min_B_x": 0}


def test_min_and_max_with_edge_predicates(run):
    # SEQ(A, B) with A.x < B.x: (a1 b3), (a1 b4), (a2 b4)
    events = stream("a1 a2 b3 b4", x=[1, 5, 2, 9])
    found = only(
        run("RETURN COUNT(*), MIN(A.x), MAX(A.x), SUM(A.x), AVG(B.x) PATTERN SEQ(A, B) WHERE A.x < B.x", events)
    )
    assert found == {"count": 3, "min_A_x": 1, "max_A_x": 5, "sum_A_x": 7, "avg_B_x": 20 / 3}


def test_several_variables_and_attributes_at_once(run):
    # (a1 b3), (a2 b3), (a1 a2 b3)
    events = stream("a1 a2 b3", x=[1, 2, 10], y=[0.5, 1.5, 4.0])
    query = "RETURN SUM(A.x), SUM(B.x), SUM(A.y), AVG(A.x), COUNT(*), MAX(B.y), COUNT(B) PATTERN SEQ(A+, B)"
    found = only(run(query, events))
    assert found == {
        "sum_A_x": 6, "sum_B_x": 30, "sum_A_y": 4.0, "avg_A_x": 1.5, "count": 3, "max_B_y": 4.0, "count_B": 3
    }  # fmt: skip
    assert list(found) == ["sum_A_x", "sum_B_x", "sum_A_y", "avg_A_x", "count", "max_B_y", "count_B"]


def test_two_variables_of_one_type(run):
    # SEQ(A x, A y): (1 2), (1 3), (2 3)
    query = "RETURN SUM(x.v), SUM(y.v) PATTERN SEQ(A x, A y)"
    assert only(run(query, stream("a1 a2 a3", v=[1, 10, 100]))) == {"sum_x_v": 12, "sum_y_v": 210}


def test_a_variable_at_two_places(run):
    # SEQ(A, B, A): a1 and a3 are both A.
    assert only(run("RETURN SUM(A.x), COUNT(A) PATTERN SEQ(A, B, A)", stream("a1 b2 a3", x=[1, 0, 10]))) == {
        "sum_A_x": 11, "count_A": 2
    }  # fmt: skip


def test_as(run):
    query = "RETURN COUNT(*) AS trends, SUM(A.x) AS total, AVG(A.x) AS `mean x` PATTERN A+"
    assert only(run(query, stream("a1", x=[5]))) == {"trends": 1, "total": 5, "mean x": 5.0}


def test_one_aggregate_twice_under_two_names(run):
    query = "RETURN COUNT(*), COUNT(*) AS again, SUM(A.x), SUM(A.x) AS twice PATTERN A+"
    assert only(run(query, stream("a1", x=[5]))) == {"count": 1, "again": 1, "sum_A_x": 5, "twice": 5}


def test_equal_names_are_refused(run):
    with pytest.raises(PlanningError) as refused:
        run("RETURN COUNT(*), SUM(A.x) AS count PATTERN A+", stream("a1", x=[5]))
    assert codes(refused) == ["TW214"]


def test_of_the_time_column(run):
    assert only(run("RETURN MIN(A.time), MAX(A.time), SUM(A.time) PATTERN A+", stream("a1 a4"))) == {
        "min_A_time": 1, "max_A_time": 4, "sum_A_time": 10
    }  # fmt: skip


def test_of_a_field_of_a_struct(run):
    events = table("a1 a2", s=pa.array([{"x": 5}, None]))
    assert only(run("RETURN SUM(A.s.x) AS total, COUNT(*) PATTERN A+", events)) == {"total": 10, "count": 3}


def test_without_count(run):
    assert only(run("RETURN MAX(A.x) PATTERN A+", stream("a1 a2", x=[1, 2]))) == {"max_A_x": 2}


def test_an_average_is_of_occurrences(run):
    # SEQ(A, B): a1 is in two trends, a3 in one: (2 * 6 + 0) / 3.
    assert only(run("RETURN AVG(A.x) PATTERN SEQ(A, B)", stream("a1 b2 a3 b4", x=[6, 0, 0, 0]))) == {"avg_A_x": 4.0}


@pytest.mark.parametrize("function", ["SUM", "AVG"])
@pytest.mark.parametrize("values", [["1"], [True], [date(2024, 1, 1)], [datetime(2024, 1, 1)]], ids=repr)
def test_sums_need_numbers(run, function, values):
    with pytest.raises(DataError) as refused:
        run(f"RETURN {function}(A.x) PATTERN A+", table("a1", x=pa.array(values)))
    assert codes(refused) == ["TW304"]


@pytest.mark.parametrize("function", ["MIN", "MAX"])
@pytest.mark.parametrize("values", [["1"], [True]], ids=repr)
def test_min_and_max_need_numbers_or_times(run, function, values):
    with pytest.raises(DataError) as refused:
        run(f"RETURN {function}(A.x) PATTERN A+", table("a1", x=pa.array(values)))
    assert codes(refused) == ["TW304"]


def test_types_of_the_result():
    query = trendweave.query(ALL)
    whole, fraction = pa.decimal128(38, 0), pa.decimal128(38, 2)
    for kind, total in ((pa.int8(), whole), (pa.float32(), pa.float64()), (pa.decimal128(10, 2), fraction)):
        for events in (table("a1", x=pa.nulls(1, kind)), table("a1", x=pa.nulls(1, kind)).slice(1)):
            found = query.run(events).schema
            assert found.types == [pa.int64(), pa.int64(), whole, whole, total, kind, kind, pa.float64()]
