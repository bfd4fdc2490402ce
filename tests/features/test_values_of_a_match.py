"""What a match says of its events one by one: the i-th event of a variable, lists of values, and percentiles."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

import trendweave
from tests.features.runs import codes, only, stream, table
from tests.reference.comparer import assert_same_rows
from trendweave.errors import DataError, TrendweaveError

WHOLE = {"window_start": None, "window_end": None}
#: Three failed log-ins and one that succeeds, as one match.
LOGINS = "PATTERN SEQ(F+, S) SEMANTICS contiguous AFTER MATCH SKIP PAST LAST EVENT"


def logins() -> pa.Table:
    return table("f1 f2 f3 s4", ip=["u", None, "u", "v"], x=[4, 1, None, 9])


# The i-th event


def test_events_by_number(run):
    query = f"RETURN EACH F[1].ip AS one, F[2].ip AS two, F[3].x AS three, F[-1].ip, F[-2].x, S[1].ip, S[-1].x {LOGINS}"
    assert only(run(query, logins())) == {
        "one": "u",
        "two": None,
        "three": None,
        "F_minus_1_ip": "u",
        "F_minus_2_x": 1,
        "S_1_ip": "v",
        "S_minus_1_x": 9,
    }


def test_no_such_event_is_null(run):
    query = f"RETURN EACH F[4].x AS later, F[-4].x AS earlier, S[2].x AS second, F[999999].ip AS far {LOGINS}"
    assert only(run(query, logins())) == {"later": None, "earlier": None, "second": None, "far": None}


def test_events_of_overlapping_trends(run):
    # (a1), (a2), (a3), (a1 a2), (a1 a3), (a2 a3), (a1 a2 a3)
    found = run(
        "RETURN EACH A[2].x AS second, A[-2].x AS before, LENGTH AS n PATTERN A+", stream("a1 a2 a3", x=[1, 2, 3])
    )
    second = {"second": 2, "before": 1}, {"second": 3, "before": 1}, {"second": 3, "before": 2}
    expected = [{"second": None, "before": None, "n": 1}] * 3 + [row | {"n": 2} for row in second]
    assert_same_rows([WHOLE | row for row in [*expected, {"second": 2, "before": 2, "n": 3}]], found)


def test_first_and_last_are_events_by_number(run):
    events = stream("a1 a2 a3", x=[5, 1, 3])
    for strategy in ("skip-till-any-match", "contiguous"):
        found = run(
            f"RETURN EACH A[1].x AS f, FIRST(A.x) AS g, A[-1].x AS l, LAST(A.x) AS m PATTERN A+ SEMANTICS {strategy}",
            events,
        )
        assert len(found) in (6, 7)
        assert all(row["f"] == row["g"] and row["l"] == row["m"] for row in found)


def test_conditions_on_events_by_number(run):
    events = stream("a1 a2 a3 b4", x=[1, 1, 2, 1])
    query = "RETURN EACH COLLECT_LIST(A.time) AS at PATTERN SEQ(A+, B) WHERE A[1].x = A[2].x AND B.x >= A[2].x"
    assert_same_rows([WHOLE | {"at": [1, 2]}, WHOLE | {"at": [1, 2, 3]}], run(query, events))


def test_having_and_order_by_events_by_number(run):
    events = stream("a1 a2 a3", x=[1, 3, 2])
    query = "RETURN EACH A[2].x AS x PATTERN A{2,} HAVING A[2].x > 1 AND A[-1].x < 3 ORDER BY A[1].x DESC LIMIT 1"
    assert_same_rows([WHOLE | {"x": 2}], run(query, events))


def test_events_by_number_in_expressions(run):
    query = f"RETURN EACH F[1].x - F[2].x AS fall, CONCAT(F[1].ip, S[1].ip) AS ips {LOGINS}"
    assert only(run(query, logins())) == {"fall": 3, "ips": "uv"}


# Lists of values


def test_lists_of_values_are_without_null(run):
    query = f"RETURN EACH COLLECT_LIST(F.ip), COLLECT_LIST(F.x) AS x, COLLECT_SET(F.ip) AS ips {LOGINS}"
    assert only(run(query, logins())) == {"collect_list_F_ip": ["u", "u"], "x": [4, 1], "ips": ["u"]}


def test_a_list_of_nothing_is_empty(run):
    events = table("b1", x=pa.array([None], pa.int64()))
    query = "RETURN EACH COLLECT_LIST(A.x) AS a, COLLECT_SET(B.x) AS b PATTERN SEQ(A*, B)"
    assert only(run(query, events)) == {"a": [], "b": []}


def test_sets_keep_the_first_of_equal_values(run):
    nan = float("nan")
    events = table("a1 a2 a3 a4 a5", x=pa.array([2.0, nan, 1.0, 2.0, nan]))
    (row,) = run(
        "RETURN EACH COLLECT_SET(A.x) AS x PATTERN A+ SEMANTICS contiguous ORDER BY LENGTH DESC LIMIT 1", events
    )
    assert [value if value == value else "NaN" for value in row["x"]] == [2.0, "NaN", 1.0]


@pytest.mark.parametrize(
    "values",
    [
        pa.array([True, False]),
        pa.array([1.5, math.inf]),
        pa.array([datetime(2024, 5, 16, tzinfo=UTC), datetime(2024, 5, 17, tzinfo=UTC)], pa.timestamp("us", "UTC")),
        pa.array([Decimal("1.25"), Decimal("-2.50")], pa.decimal128(10, 2)),
        pa.array([b"u", b"v"]),
        pa.array([{"p": 1, "q": "u"}, {"p": 2, "q": None}]),
        pa.array([[1, 2], []]),
        pa.array(["u", "v"]).dictionary_encode(),
    ],
    ids=lambda values: str(values.type),
)
def test_lists_have_the_type_of_their_column(run, values):
    events = table("a1 a2", x=values)
    query = trendweave.query("RETURN EACH COLLECT_LIST(A.x) AS x, A[2].x AS second PATTERN A{2}")
    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    schema = query.schema(events)
    assert (schema.field("x").type, schema.field("second").type) == (pa.list_(kind), kind)
    (row,) = run(str(query), events)
    assert (row["x"], row["second"]) == (values.to_pylist(), values.to_pylist()[1])


def test_lists_in_every_kind_of_window(run):
    events = stream("a1 a2 a12", x=[1, 2, 3])
    assert_same_rows(
        [{"time": 1, "x": [1]}, {"time": 2, "x": [2]}, {"time": 2, "x": [1, 2]}, {"time": 12, "x": [3]}],
        run("RETURN EACH COLLECT_LIST(A.x) AS x PATTERN A+ WITHIN 5 seconds", events),
    )
    assert_same_rows(
        [{"window_start": 0, "window_end": 10, "x": [1, 2]}, {"window_start": 10, "window_end": 20, "x": [3]}],
        run("RETURN COMPLETE EACH COLLECT_LIST(A.x) AS x PATTERN A+ WITHIN 10 seconds SLIDE 10 seconds", events),
    )
    assert_same_rows(
        [{"window_start": 1, "window_end": 7, "x": [1, 2]}, {"window_start": 12, "window_end": 17, "x": [3]}],
        run("RETURN COMPLETE EACH COLLECT_LIST(A.x) AS x PATTERN A+ WITHIN SESSION 5 seconds", events),
    )


def test_lists_per_group_and_key(run):
    events = stream("a1 a2 a3 a4", k=["u", "v", "u", "v"], x=[1, 2, 3, 4])
    query = "RETURN COMPLETE EACH COLLECT_LIST(A.x) AS x, MEDIAN(A.x) AS m PATTERN A+ GROUP-BY k WITHIN 10 s SLIDE 10 s"
    window = {"window_start": 0, "window_end": 10}
    assert_same_rows(
        [window | {"k": "u", "x": [1, 3], "m": 2.0}, window | {"k": "v", "x": [2, 4], "m": 3.0}], run(query, events)
    )


# Percentiles


def test_percentiles_lie_between_values(run):
    query = (
        "RETURN EACH MEDIAN(A.x), PERCENTILE(A.x, 0.25) AS q, PERCENTILE(A.x, 0) AS low, PERCENTILE(A.x, 1) AS high, "
        "PERCENTILE(A.x, 0.95) PATTERN A{4}"
    )
    assert only(run(query, stream("a1 a2 a3 a4", x=[40, 10, 30, 20]))) == pytest.approx(
        {"median_A_x": 25.0, "q": 17.5, "low": 10.0, "high": 40.0, "percentile_A_x_0_95": 38.5}
    )


def test_percentiles_leave_null_out(run):
    query = f"RETURN EACH MEDIAN(F.x) AS m, MEDIAN(S.x) AS s {LOGINS}"
    assert only(run(query, logins())) == {"m": 2.5, "s": 9.0}
    events = table("a1", x=pa.array([None], pa.float64()))
    assert only(run("RETURN EACH MEDIAN(A.x) AS m PATTERN A", events)) == {"m": None}


def test_nan_is_the_largest_value(run):
    events = table("a1 a2 a3", x=pa.array([math.nan, 1.0, 3.0]))
    row = only(
        run("RETURN EACH MEDIAN(A.x) AS m, PERCENTILE(A.x, 0.75) AS q, PERCENTILE(A.x, 0) AS o PATTERN A{3}", events)
    )
    assert (row["m"], row["o"]) == (3.0, 1.0)
    assert math.isnan(row["q"])


def test_infinite_values(run):
    events = table("a1 a2 a3", x=pa.array([math.inf, math.inf, -math.inf]))
    row = only(
        run("RETURN EACH MEDIAN(A.x) AS m, PERCENTILE(A.x, 0.9) AS h, PERCENTILE(A.x, 0.25) AS l PATTERN A{3}", events)
    )
    assert (row["m"], row["h"]) == (math.inf, math.inf)
    assert math.isnan(row["l"])  # half of both


def test_percentiles_of_decimals_and_large_numbers(run):
    events = table(
        "a1 a2",
        d=pa.array([Decimal("1.25"), Decimal("2.50")], pa.decimal128(10, 2)),
        n=pa.array([2**62 + 1, 2**62 + 1]),
        f=pa.array([0.5, 1.5], pa.float32()),
    )
    query = "RETURN EACH MEDIAN(A.d) AS d, MEDIAN(A.n) AS n, MEDIAN(A.f) AS f PATTERN A{2}"
    assert only(run(query, events)) == {"d": 1.875, "n": float(2**62), "f": 1.0}


def test_conditions_on_percentiles(run):
    events = stream("a1 a2 a3", x=[1, 5, 9])
    query = "RETURN EACH COLLECT_LIST(A.x) AS x PATTERN A+ WHERE MEDIAN(A.x) = 5 AND PERCENTILE(A.x, 1) > 5"
    assert_same_rows([WHOLE | {"x": [1, 9]}, WHOLE | {"x": [1, 5, 9]}], run(query, events))


@pytest.mark.parametrize("numbers", ["decimal", "int64", "text", "float64", "log2"])
def test_however_numbers_are_written(run, numbers):
    query = f"RETURN EACH MEDIAN(F.x) + 1 AS m, COLLECT_LIST(F.x) AS x, F[2].x AS n {LOGINS}"
    assert only(run(query, logins(), numbers=numbers)) == {"m": 3.5, "x": [4, 1], "n": 1}


# Of expressions


def test_values_of_expressions(run):
    query = (
        "RETURN EACH COLLECT_LIST(F.x * 2) AS twice, COLLECT_SET(CONCAT(F.ip, '!')) AS ips, MEDIAN(F.x + 1) AS middle, "
        f"PERCENTILE(-F.x, 0) AS low, COLLECT_LIST(F.x > 1) AS large {LOGINS} HAVING MEDIAN(F.x * 10) = 25"
    )
    assert only(run(query, logins())) == {
        "twice": [8, 2],
        "ips": ["u!"],
        "middle": 3.5,
        "low": -4.0,
        "large": [True, False],
    }


# What is refused


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("RETURN COUNT(*), A[2].x PATTERN A+", "TW110"),
        ("RETURN COMPLETE MEDIAN(A.x) PATTERN A+", "TW110"),
        ("RETURN COUNT(*) PATTERN A+ HAVING COLLECT_LIST(A.x) IS NOT NULL", "TW110"),
        ("RETURN COUNT(*) PATTERN A+ WHERE A[2].x > 1", "TW235"),
        ("RETURN EACH A[0].x PATTERN A+", "TW113"),
        ("RETURN EACH PERCENTILE(A.x, -0.5) PATTERN A+", "TW260"),
        ("RETURN EACH PERCENTILE(A.x, A.y) PATTERN A+", "TW260"),
        ("RETURN EACH PERCENTILE(A.x) PATTERN A+", "TW260"),
        ("RETURN EACH A[1].x, A[1].x PATTERN A+", "TW214"),
        ("RETURN EACH Z[1].x PATTERN A+", "TW201"),
        ("RETURN EACH COLLECT_LIST(*) PATTERN A+", "TW213"),
    ],
)
def test_refused_queries(query, code):
    with pytest.raises(TrendweaveError) as refused:
        trendweave.query(query)
    assert codes(refused) == [code]


@pytest.mark.parametrize(
    ("output", "code"),
    [
        ("MEDIAN(A.s) AS m", "TW304"),
        ("COLLECT_SET(A.l) AS m", "TW304"),
        ("A[2].nowhere AS m", "TW301"),
        ("COLLECT_LIST(A.s) + 1 AS m", "TW306"),
        ("GREATEST(COLLECT_LIST(A.s), A[1].s) AS m", "TW305"),
    ],
)
def test_columns_that_do_not_fit(run, output, code):
    with pytest.raises(DataError) as refused:
        run(f"RETURN EACH {output} PATTERN A+", table("a1", s=["u"], l=[[1]]))
    assert codes(refused) == [code]
