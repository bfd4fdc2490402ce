"""`GROUP-BY g`: all events of a trend share g, and each window has one row per group."""

from __future__ import annotations

import math
from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from tests.features.runs import codes, stream, table
from tests.reference.comparer import assert_same_rows
from trendweave.errors import DataError, PlanningError

NAN = math.nan
WHOLE = {"window_start": None, "window_end": None}


def expect(found, *rows):
    assert_same_rows([WHOLE | row for row in rows], found)


def test_one_row_per_group(run):
    events = stream("a1 a2 a3", g=["u", "v", "u"])
    found = run("RETURN COUNT(*) PATTERN A+ GROUP-BY g", events)
    expect(found, {"g": "u", "count": 3}, {"g": "v", "count": 1})
    assert list(found[0]) == ["window_start", "window_end", "g", "count"]


def test_null_is_a_group(run):
    events = stream("a1 a2 a3", g=[None, None, "u"])
    expect(run("RETURN COUNT(*) PATTERN A+ GROUP-BY g", events), {"g": None, "count": 3}, {"g": "u", "count": 1})


def test_null_is_no_group_where_the_attribute_is_an_equivalence_too(run):
    events = stream("a1 a2 a3", g=[None, None, "u"])
    expect(run("RETURN COUNT(*) PATTERN A+ WHERE [g] GROUP-BY g", events), {"g": "u", "count": 1})


def test_a_group_without_a_trend_has_no_row(run):
    events = stream("a1 b2 a3", g=["u", "u", "v"])
    expect(run("RETURN COUNT(*) PATTERN SEQ(A, B) GROUP-BY g", events), {"g": "u", "count": 1})


def test_several_attributes(run):
    events = stream("a1 a2 a3 a4", g=["u", "u", "v", "u"], h=[1, 2, 1, 1])
    expect(
        run("RETURN COUNT(*) PATTERN A+ GROUP-BY g, h", events),
        {"g": "u", "h": 1, "count": 3},
        {"g": "u", "h": 2, "count": 1},
        {"g": "v", "h": 1, "count": 1},
    )


def test_an_equivalence_apart_from_the_group(run):
    # k splits the trends, g names the rows: group u has k 1 (a1 a3) and k 2 (a2).
    events = stream("a1 a2 a3 a4", g=["u", "u", "u", "v"], k=[1, 2, 1, 1])
    expect(
        run("RETURN COUNT(*), COUNT(A) PATTERN A+ WHERE [k] GROUP-BY g", events),
        {"g": "u", "count": 4, "count_A": 5},
        {"g": "v", "count": 1, "count_A": 1},
    )


def test_all_aggregates_are_merged_over_the_partitions_of_a_group(run):
    events = stream("a1 a2 a3", g=["u", "u", "u"], k=[1, 2, 1], x=[3, None, 5])
    query = "RETURN COUNT(*), SUM(A.x), MIN(A.x), MAX(A.x), AVG(A.x) PATTERN A+ WHERE [k] GROUP-BY g"
    # (a1), (a3), (a1 a3) and (a2), which has no x.
    row = {"g": "u", "count": 4, "sum_A_x": 16, "min_A_x": 3, "max_A_x": 5, "avg_A_x": 4.0}
    expect(run(query, events), row)


def test_of_one_variable(run):
    # SEQ(A, B*): b2 and b3 have different groups, so no trend has both; (a1) has no b.
    events = stream("a1 b2 b3", g=["x", "u", "v"])
    expect(
        run("RETURN COUNT(*) PATTERN SEQ(A, B*) GROUP-BY B.g", events),
        {"g": None, "count": 1},
        {"g": "u", "count": 1},
        {"g": "v", "count": 1},
    )


def test_of_one_variable_with_null_events(run):
    # (a1) has no b, (a1 b2), (a1 b3), (a1 b2 b3) have b's without a group: all are group NULL.
    events = stream("a1 b2 b3 b4", g=["x", None, None, "u"])
    expect(
        run("RETURN COUNT(*) PATTERN SEQ(A, B*) GROUP-BY B.g", events), {"g": None, "count": 4}, {"g": "u", "count": 1}
    )


def test_of_two_variables(run):
    events = stream("a1 a2 b3", g=["u", "v", "w"])
    expect(
        run("RETURN A.g AS first, B.g AS last, COUNT(*) PATTERN SEQ(A+, B) GROUP-BY A.g, B.g", events),
        {"first": "u", "last": "w", "count": 1},
        {"first": "v", "last": "w", "count": 1},
    )


def test_of_one_variable_and_of_all(run):
    events = stream("a1 b2 a3 b4", g=["u", "u", "v", "v"], d=[1, 2, 3, 4])
    expect(
        run("RETURN COUNT(*) PATTERN SEQ(A, B) GROUP-BY g, B.d", events),
        {"g": "u", "d": 2, "count": 1},
        {"g": "v", "d": 4, "count": 1},
    )


def test_names(run):
    events = stream("a1", g=["u"])
    expect(run("RETURN g AS part, COUNT(*) AS n PATTERN A+ GROUP-BY g", events), {"part": "u", "n": 1})
    # All grouping attributes are in the result, listed or not.
    expect(run("RETURN COUNT(*) PATTERN A+ GROUP-BY g", events), {"g": "u", "count": 1})
    odd = [{"time": 1, "type": "A", "unit price": 3}]
    expect(run("RETURN COUNT(*) PATTERN A+ GROUP-BY `unit price`", odd), {"unit price": 3, "count": 1})


def test_two_columns_of_one_name_are_refused(run):
    for query in ("RETURN COUNT(*) PATTERN SEQ(A, B) GROUP-BY A.g, B.g", "RETURN COUNT(*) PATTERN A GROUP-BY count"):
        with pytest.raises(PlanningError) as refused:
            run(query, stream("a1", g=["u"]))
        assert codes(refused) == ["TW214"]


def test_by_type_and_by_time(run):
    events = stream("a1 b2 a3")
    expect(
        run("RETURN COUNT(*) PATTERN (A OR B)+ GROUP-BY type", events),
        {"type": "A", "count": 3},
        {"type": "B", "count": 1},
    )
    expect(run("RETURN COUNT(*) PATTERN A+ GROUP-BY time", events), {"time": 1, "count": 1}, {"time": 3, "count": 1})


KEYS = {
    "string": ["u", "v", "u", None],
    "empty string": ["", "None", "", None],
    "integer": [-(2**63), 2**63 - 1, -(2**63), None],
    "boolean": [True, False, True, None],
    "date": [date(2024, 2, 29), date(1, 1, 1), date(2024, 2, 29), None],
    "timestamp": [datetime(2024, 2, 29, 1, 2, 3, 4), datetime(1, 1, 1), datetime(2024, 2, 29, 1, 2, 3, 4), None],
    "decimal": [Decimal("1.10"), Decimal("-2.25"), Decimal("1.10"), None],
    "binary": [b"\x00u", b"\x00v", b"\x00u", None],
    "float": [1.5, math.inf, 1.5, None],
    "nan": [NAN, 2.0, NAN, None],
    "zeros": [0.0, 2.0, -0.0, None],
    "struct": [{"a": 1, "b": "x"}, {"a": 1, "b": None}, {"a": 1, "b": "x"}, None],
}


@pytest.mark.parametrize("grouping", ["g", "A.g"])
@pytest.mark.parametrize("kind", KEYS)
def test_keys_of_any_type(run, kind, grouping):
    # a1 and a3 are one group, a2 and a4 (NULL) are groups of their own.
    values = KEYS[kind]
    found = run(f"RETURN COUNT(*) PATTERN A+ GROUP-BY {grouping}", table("a1 a2 a3 a4", g=pa.array(values)))
    expect(found, {"g": values[0], "count": 3}, {"g": values[1], "count": 1}, {"g": None, "count": 1})


@pytest.mark.parametrize(
    "kind",
    [
        pa.int8(),
        pa.uint8(),
        pa.int32(),
        pa.float32(),
        pa.float64(),
        pa.decimal128(22, 3),
        pa.string(),
        pa.large_string(),
    ],
    ids=str,
)
def test_the_type_of_the_column_is_kept(kind):
    import trendweave

    events = table("a1 a2 a3", g=pa.array([7, 8, 7]).cast(kind))
    found = trendweave.query("RETURN COUNT(*) PATTERN A+ GROUP-BY g").run(events)
    assert found.schema.field("g").type == kind
    assert found.num_rows == 2


def test_timestamps_with_units_and_zones(run):
    for unit in ("s", "ms", "us", "ns"):
        keys = pa.array([0, 3_600, 0], pa.timestamp("s", "UTC")).cast(pa.timestamp(unit, "Asia/Tokyo"))
        found = run("RETURN COUNT(*) PATTERN A+ GROUP-BY g", table("a1 a2 a3", g=keys))
        assert sorted((row["g"].timestamp(), row["count"]) for row in found) == [(0, 3), (3_600, 1)]


def test_dictionary_encoded_keys(run):
    repeated = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None]), pa.array(["u", "v", "u"]))
    for keys in (pa.array(["u", "v", "u", None]).dictionary_encode(), repeated):
        expect(
            run("RETURN COUNT(*) PATTERN A+ GROUP-BY g", table("a1 a2 a3 a4", g=keys)),
            {"g": "u", "count": 3},
            {"g": "v", "count": 1},
            {"g": None, "count": 1},
        )


def test_a_field_of_a_struct(run):
    events = table("a1 a2 a3", place=pa.array([{"city": "u"}, None, {"city": "u"}]))
    expect(
        run("RETURN place.city AS city, COUNT(*) PATTERN A+ GROUP-BY place.city", events),
        {"city": "u", "count": 3},
        {"city": None, "count": 1},
    )


def test_a_list_is_no_key(run):
    with pytest.raises(DataError) as refused:
        run("RETURN COUNT(*) PATTERN A+ GROUP-BY g", table("a1", g=pa.array([[1]])))
    assert codes(refused) == ["TW307"]


def test_in_windows(run):
    events = stream("a0 a1 a2 a3", g=["u", "v", "u", "u"])
    found = run("RETURN COUNT(*) PATTERN A+ GROUP-BY g WITHIN 2 seconds SLIDE 2 seconds", events)
    assert_same_rows(
        [
            {"window_start": 0, "window_end": 2, "g": "u", "count": 1},
            {"window_start": 0, "window_end": 2, "g": "v", "count": 1},
            {"window_start": 2, "window_end": 4, "g": "u", "count": 3},
        ],
        found,
    )


def test_many_groups(run):
    events = [{"time": time, "type": "A", "g": f"group {time % 5_000}"} for time in range(10_000)]
    found = run("RETURN COUNT(*) PATTERN A+ GROUP-BY g", events)
    assert len(found) == 5_000
    assert {row["count"] for row in found} == {3}
