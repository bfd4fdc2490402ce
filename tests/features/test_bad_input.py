"""Tables as they come: empty, unsorted, chunked, of any kind and type; and tables that a query cannot be asked of."""

from __future__ import annotations

import json
import logging
import math
import time as clock
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import trendweave
from tests.features.runs import assert_trends, codes, count, only, stream, table, windows
from trendweave.errors import DataError, LanguageError

NAN, INF = math.nan, math.inf
COUNT = "RETURN COUNT(*) PATTERN A+"
TUMBLING = f"{COUNT} WITHIN 4 seconds SLIDE 4 seconds"
SLIDING = f"{COUNT} WITHIN 4 seconds SLIDE 2 seconds"
MOVING = f"{COUNT} WITHIN 4 seconds"


def at(times: pa.Array) -> pa.Table:
    """Events of type A at given times."""
    return pa.table({"time": times, "type": pa.array(["A"] * len(times), pa.string())})


# ---------------------------------------------------------------------------------------------------- little or nothing


@pytest.mark.parametrize("query", [COUNT, TUMBLING, SLIDING, MOVING, f"{COUNT} GROUP-BY g", f"{COUNT} WHERE [A.g]"])
def test_an_empty_table(run, query):
    empty = table("a1", g=pa.array(["u"])).slice(1)
    assert run(query, empty) == []
    no_chunks = pa.table([pa.chunked_array([], field.type) for field in empty.schema], schema=empty.schema)
    assert run(query, no_chunks) == []


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.decimal128(10, 2)])
def test_aggregates_and_predicates_of_an_empty_table(run, kind):
    query = "RETURN SUM(A.x), MIN(A.x), AVG(A.x) PATTERN SEQ(A+, NOT C, B)"
    conditions = "WHERE A.x < NEXT(A).x AND A.x * B.x > 1 AND A.x > 0"
    assert run(f"{query} {conditions}", table("a1", x=pa.nulls(1, kind)).slice(1)) == []


def test_the_result_of_an_empty_table_has_the_same_columns():
    full, empty = at(pa.array([1, 2])), at(pa.array([1, 2])).slice(2)
    for query in (COUNT, SLIDING, MOVING):
        assert trendweave.query(query).run(full).schema.equals(trendweave.query(query).run(empty).schema)


def test_all_null(run):
    assert run(COUNT, at(pa.nulls(3, pa.int64()))) == []
    assert run(COUNT, pa.table({"time": [1, 2], "type": pa.nulls(2, pa.string())})) == []
    events = table("a1 a2", g=pa.nulls(2, pa.string()), x=pa.nulls(2, pa.int64()))
    assert only(run("RETURN COUNT(*), SUM(A.x) PATTERN A+ GROUP-BY g", events)) == {
        "g": None, "count": 3, "sum_A_x": None
    }  # fmt: skip
    assert run(f"{COUNT} WHERE [g]", events) == []
    assert run(f"{COUNT} WHERE A.x < NEXT(A).x AND A.x > 0", events) == []


def test_one_type_only(run):
    assert run("RETURN COUNT(*) PATTERN SEQ(A, B)", stream("a1 a2 a3")) == []
    assert_trends(run, "PATTERN SEQ(A, B?)", stream("a1 a2"), "a1", "a2")


def test_types_that_the_pattern_does_not_name(run):
    assert run(COUNT, stream("x1 y2 z3")) == []
    # Types are compared as they are written.
    assert run(COUNT, [{"time": 1, "type": "a"}, {"time": 2, "type": " A"}]) == []


def test_duplicate_events(run):
    # Twice the same row is two events of one time.
    assert count(run(COUNT, stream("a1 a1"))) == 2
    assert count(run("RETURN COUNT(*) PATTERN SEQ(A, B)", stream("a1 a1 b2 b2"))) == 4


def test_one_event_per_window_a_million_times():
    events = pa.table(
        {"time": pa.array(np.arange(1_000_000)), "type": pa.array(["A"]).take(pa.array(np.zeros(1_000_000, int)))}
    )
    began = clock.process_time()
    found = trendweave.query(f"{COUNT} WITHIN 1 second SLIDE 1 second").run(events)
    assert clock.process_time() - began < 30
    assert found.num_rows == 1_000_000
    assert found["count"].unique().to_pylist() == [1]
    assert found["window_start"].equals(events["time"])


# --------------------------------------------------------------------------------------------------------- dropped rows


def test_rows_without_time_or_type_are_dropped_counted_and_reported(caplog):
    events = pa.table({"time": [1, None, 2, 3, None], "type": ["A", "A", None, "Z", None]})
    with caplog.at_level(logging.WARNING, logger="trendweave"):
        found = trendweave.query(COUNT).run(events)
    assert found["count"].to_pylist() == [1]
    metrics = json.loads(found.schema.metadata[b"trendweave.metrics"])
    # A row without both counts as one without a time.
    assert metrics == {"rows": 5, "null_time": 2, "null_type": 1, "other_type": 1}
    assert [record.getMessage() for record in caplog.records] == [
        "dropped 2 rows without a time and 1 without a type, of 5"
    ]


def test_nothing_is_reported_where_nothing_was_dropped(caplog):
    with caplog.at_level(logging.WARNING, logger="trendweave"):
        found = trendweave.query(COUNT).run(at(pa.array([1, 2])))
    assert not caplog.records
    assert json.loads(found.schema.metadata[b"trendweave.metrics"])["null_time"] == 0


def test_nan_and_infinity_are_no_times(run):
    events = at(pa.array([1.0, NAN, INF, -INF, None, 2.5]))
    assert count(run(COUNT, events)) == 3
    assert windows(run(TUMBLING, events)) == {(0.0, 4.0): 3}
    assert run(MOVING, events)[-1] == {"time": 2.5, "count": 3}


def test_nan_and_infinity_in_values(run):
    events = stream("a1 a2 a3 a4", x=[NAN, INF, -INF, 1.0])
    found = only(run("RETURN COUNT(*), MIN(A.x), MAX(A.x), SUM(A.x) PATTERN A", events))
    assert (found["count"], found["min_A_x"]) == (4, -INF)
    assert math.isnan(found["max_A_x"])
    assert math.isnan(found["sum_A_x"])
    assert_trends(run, "PATTERN A WHERE A.x > 1e300", events, "a1", "a2")


# --------------------------------------------------------------------------------------------------------- other tables


def test_unsorted_rows(run):
    assert_trends(run, "PATTERN SEQ(A, B, C)", stream("c3 a1 b2 a4"), "a1 b2 c3")
    events = stream("a5 a1 a3 a2", g=["u", "v", "u", "v"])
    found = run(f"{COUNT} GROUP-BY g WITHIN 4 seconds SLIDE 4 seconds", events)
    assert sorted((row["window_start"], row["g"], row["count"]) for row in found) == [
        (0, "u", 1), (0, "v", 3), (4, "u", 1)
    ]  # fmt: skip


def test_chunked_and_sliced_tables(run):
    chunked = pa.table(
        {
            "time": pa.chunked_array([[5, 1], [], [3, 2]], pa.int64()),
            "type": pa.chunked_array([["A"], ["A", "B", "A"]]),
            "x": pa.chunked_array([[1, 2, 3, None]]),
            "g": pa.chunked_array([["u"], ["u", "u"], ["u"]]),
        }
    )
    query = "RETURN COUNT(*), SUM(A.x) PATTERN SEQ(A, B, A) WHERE A.x != B.x GROUP-BY g"
    # a1 b3 a5
    assert only(run(query, chunked)) == {"g": "u", "count": 1, "sum_A_x": 3}
    assert run(query, chunked.slice(1)) == []
    assert only(run("RETURN COUNT(*), SUM(A.x) PATTERN A", chunked.slice(1, 2))) == {"count": 1, "sum_A_x": 2}


def test_a_dictionary_encoded_type(run):
    expected = {"count": 1}
    for types in (
        pa.array(["A", "B"]).dictionary_encode(),
        pa.array(["A", "B"]).cast(pa.dictionary(pa.int8(), pa.large_string())),
        pa.chunked_array([pa.array(["A"]).dictionary_encode(), pa.array(["B"]).dictionary_encode()]),
        pa.DictionaryArray.from_arrays(pa.array([2, 1]), pa.array(["Z", "B", "A"])),
        pa.DictionaryArray.from_arrays(pa.array([2, 1]), pa.array(["A", "B", "A"])),
    ):
        assert only(run("RETURN COUNT(*) PATTERN SEQ(A, B)", pa.table({"time": [1, 2], "type": types}))) == expected


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()], ids=str)
def test_kinds_of_strings(run, kind):
    events = pa.table({"time": [1, 2], "type": pa.array(["A", "A"]).cast(kind), "g": pa.array(["u", "u"]).cast(kind)})
    assert only(run(f"{COUNT} GROUP-BY g", events)) == {"g": "u", "count": 3}
    assert count(run(f"{COUNT} WHERE A.g <= NEXT(A).g", events)) == 3


def test_other_names_of_time_and_type(run):
    events = pa.table({"at": [1, 2], "kind": ["A", "A"]})
    assert windows(run(TUMBLING, events, time="at", type="kind")) == {(0, 4): 3}
    # The moving window's column is called time all the same.
    assert run(MOVING, events, time="at", type="kind")[-1] == {"time": 2, "count": 3}


def test_no_type_column(run):
    assert count(run("RETURN COUNT(*) PATTERN Stock S+", pa.table({"time": [1, 2]}), type=None)) == 3
    # A column named type is an attribute like others then, NULL or not.
    events = pa.table({"time": [1, 2], "type": ["B", None]})
    assert count(run("RETURN COUNT(*) PATTERN Stock S+", events, type=None)) == 3
    assert count(run("RETURN COUNT(*) PATTERN SEQ(S a, S b)", events, type=None)) == 1
    with pytest.raises(DataError, match="this one has A, B") as refused:
        run("RETURN COUNT(*) PATTERN SEQ(A, B)", events, type=None)
    assert codes(refused) == ["TW302"]


def test_columns_that_are_named_like_the_engines_own(run):
    events = stream("a1 a2", c0=[1, 2], letters_0=[5, 6], later_c0=[0, 0], window_start=[7, 7])
    query = "RETURN SUM(A.c0), SUM(A.letters_0) AS s, SUM(A.window_start) AS w PATTERN A+"
    conditions = "WHERE A.c0 < NEXT(A).letters_0 AND A.c0 * NEXT(A).c0 > A.later_c0"
    assert only(run(f"{query} {conditions}", events)) == {"sum_A_c0": 6, "s": 22, "w": 28}


# ------------------------------------------------------------------------------------------ kinds of tables, in and out


def test_arrow():
    events = at(pa.array([1, 2]))
    for given in (events, events.to_reader(), events.combine_chunks().to_batches()[0], _OnlyAStream(events)):
        found = trendweave.query(COUNT).run(given)
        assert isinstance(found, pa.Table)
        assert found["count"].to_pylist() == [3]


class _OnlyAStream:
    """Nothing but the Arrow C stream interface."""

    def __init__(self, events: pa.Table) -> None:
        self.events = events

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.events.__arrow_c_stream__(requested_schema)


def test_pandas():
    events = pd.DataFrame({"time": [1, 2], "type": ["A", "A"], "g": ["u", "u"]})
    found = trendweave.query(f"{TUMBLING.replace(' WITHIN', ' GROUP-BY g WITHIN')}").run(events)
    assert isinstance(found, pd.DataFrame)
    assert found.astype({"count": int}).to_dict("records") == [
        {"window_start": 0, "window_end": 4, "g": "u", "count": 3}
    ]
    assert json.loads(found.attrs["trendweave.metrics"])["rows"] == 2
    categories = events.assign(type=events["type"].astype("category"))
    assert trendweave.query(COUNT).run(categories)["count"].tolist() == [3]
    # The index is no column.
    assert trendweave.query(COUNT).run(events.set_index("g"))["count"].tolist() == [3]
    moments = events.assign(time=pd.to_datetime(events["time"], unit="s", utc=True))
    assert trendweave.query(TUMBLING).run(moments)["window_start"].tolist() == [pd.Timestamp(0, tz="UTC")]


def test_polars():
    events = pl.DataFrame({"time": [1, 2], "type": ["A", "A"], "g": [7, 7]})
    for given in (events, events.lazy(), events.with_columns(pl.col("type").cast(pl.Categorical))):
        found = trendweave.query(f"{COUNT} GROUP-BY g").run(given)
        assert isinstance(found, pl.DataFrame)
        assert found.select("g", pl.col("count").cast(int)).to_dicts() == [{"g": 7, "count": 3}]
    moments = events.with_columns(pl.from_epoch("time"))
    assert trendweave.query(TUMBLING).run(moments)["window_start"].to_list() == [datetime(1970, 1, 1)]


@pytest.mark.parametrize("events", [None, 5, [1, 2], {"time": [1], "type": ["A"]}])
def test_what_is_no_table(events):
    with pytest.raises(DataError, match=f"events cannot be read from {type(events).__name__}") as refused:
        trendweave.query(COUNT).run(events)
    assert codes(refused) == ["TW308"]


def test_types_by_name_are_no_table():
    query = trendweave.query(TUMBLING)
    with pytest.raises(DataError, match=r"of types by name, make a schema: pyarrow.schema\(events\)"):
        query.push({"time": "int64", "type": "string", "g": "int64"})


def test_one_column_is_no_table():
    events = pd.DataFrame({"time": [1], "type": ["A"]})
    with pytest.raises(DataError, match=r"events cannot be read from Series(.|\n)*give the frame with all columns"):
        trendweave.query(COUNT).run(events["time"])


def test_columns_in_the_index_of_a_frame():
    events = pd.DataFrame({"time": [1], "type": ["A"]})
    query = trendweave.query(COUNT)
    with pytest.raises(DataError, match=r"time is in the index: run the query on frame.reset_index\(\)"):
        query.run(events.set_index("time"))
    with pytest.raises(DataError) as refused:
        query.run(events.set_index(["time", "type"]))
    assert ["is in the index" in problem.hint for problem in refused.value.problems] == [True, True]
    with pytest.raises(DataError, match="name it with type="):
        query.run(events.drop(columns="type"))


# ------------------------------------------------------------------------------------------ what does not fit the query


def test_missing_columns_are_named_together(run):
    events = pa.table({"time": [1], "type": ["A"], "price": [1]})
    with pytest.raises(DataError) as refused:
        run("RETURN SUM(A.pric) PATTERN A+ WHERE A.prize > 5 AND [company] GROUP-BY sector", events)
    assert codes(refused) == ["TW301"] * 4
    message = str(refused.value)
    assert message.count("did you mean price?") == 2
    assert "the columns are time, type, price" in message


def test_a_missing_time_or_type(run):
    with pytest.raises(DataError, match="did you mean tme") as refused:
        run(COUNT, pa.table({"tme": [1], "kind": ["A"]}))
    assert sorted(codes(refused)) == ["TW302", "TW302"]


@pytest.mark.parametrize(
    "times",
    [
        pa.array(["1"]),
        pa.array([True]),
        pa.array([datetime(2024, 1, 1).date()]),
        pa.array([timedelta(1)]),
        pa.array([datetime(2024, 1, 1).time()]),
        pa.array([1]).cast(pa.decimal128(20, 0)),
        pa.nulls(1),
    ],
    ids=lambda times: str(times.type),
)
def test_what_is_no_time(run, times):
    hint = {
        "string": "give time_format='iso'",
        "date32[day]": "give time_format='iso', which takes a date",
        "decimal128(20, 0)": "cast it to a whole number: .*, and give time_unit",
    }
    with pytest.raises(DataError, match=hint.get(str(times.type), "use a timestamp or a number of seconds")) as refused:
        run(COUNT, at(times))
    assert codes(refused) == ["TW303"]


@pytest.mark.parametrize("types", [[1], [b"A"], [True]], ids=repr)
def test_what_is_no_type(run, types):
    with pytest.raises(DataError, match="use a string column") as refused:
        run(COUNT, pa.table({"time": [1], "type": types}))
    assert codes(refused) == ["TW303"]


@pytest.mark.parametrize(
    ("condition", "code"),
    [
        ("A.s > 5", "TW305"),
        ("A.s > NEXT(A).x", "TW305"),
        ("A.x IN ('a', 'b')", "TW305"),
        ("A.s + 1 > 5", "TW306"),
        ("A.x LIKE 'a%'", "TW306"),
        ("A.s", "TW306"),
    ],
)
def test_strings_where_numbers_are_needed_and_the_other_way_round(run, condition, code):
    with pytest.raises(DataError) as refused:
        run(f"{COUNT} WHERE {condition}", stream("a1", s=["a"], x=[1]))
    assert set(codes(refused)) == {code}


def test_an_unknown_way_to_write_numbers():
    with pytest.raises(ValueError, match="numbers is one of decimal, int64, text, float64, log2, not dec"):
        trendweave.query(COUNT).run(at(pa.array([1])), numbers="dec")


def test_a_query_without_a_pattern():
    with pytest.raises(LanguageError) as refused:
        trendweave.query("RETURN COUNT(*)")
    assert codes(refused) == ["TW104"]
