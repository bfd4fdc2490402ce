"""RETURN TRENDS, EACH, COMPLETE TRENDS by hand: CET's figures, columns and types, numbers, options, errors."""

from __future__ import annotations

import logging
from datetime import UTC, datetime

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import trendweave
from tests.features.places import Run
from tests.features.runs import Row, as_table, codes, stream, table
from trendweave.errors import ExecutionError

# PATTERN Check c+ WHERE c.destination = NEXT(c).source: query Q1 of CET without its window
CHAIN = "PATTERN Check c+ WHERE c.status = 'notcovered' AND c.destination = NEXT(c).source"
STRATEGIES = ("baseline", "m-cet", "t-cet", "h-cet")


def checks(*written: str) -> list[Row]:
    """`checks("1 A B", "2 B C")`: deposits from a bank to a bank; `w` instead of banks is a withdrawal."""
    rows = []
    for text in written:
        time, source, *destination = text.split()
        type_ = "Check" if destination else "Withdrawal"
        rows.append(
            {
                "time": int(time),
                "type": type_,
                "source": source,
                "destination": (destination or [None])[0],
                "status": "notcovered",
            }
        )
    return rows


def names(rows: list[Row]) -> list[str]:
    """Trends as `c1 c4 c6`, sorted."""
    return sorted(" ".join(f"{event['variable']}{event['time']}" for event in row["events"]) for row in rows)


def found(run: Run, query: str, events: list[Row], strategy: str | None = None) -> list[str]:
    return names(run(query, events, **({"strategy": strategy} if strategy else {})))


@pytest.mark.parametrize("strategy", [None, *STRATEGIES])
def test_cet_figure_2(run: Run, strategy: str | None) -> None:
    # The banks behind B are ours: the figure's picture has them, its text has the trends.
    events = checks("1 A B", "2 B C", "3 A", "4 B D", "5 D E", "6 D F", "7 E G")
    assert found(run, CHAIN, events, strategy) == ["c1 c2", "c1 c4 c5 c7", "c1 c4 c6"]


@pytest.mark.parametrize(("size", "expected"), [(1, 1), (2, 64), (3, 81), (4, 64), (6, 36), (12, 12)])
def test_cet_figure_4_and_theorem_1(size: int, expected: int) -> None:
    """Twelve events in groups; each is compatible with each of the following group: 3^(n/3) is the most."""
    groups = [i // size for i in range(12)]
    events = checks(*(f"{i // size + 1} bank{group} bank{group + 1}" for i, group in enumerate(groups)))
    for strategy in STRATEGIES:
        batches = trendweave.query(CHAIN).iter(as_table(events), strategy=strategy)
        assert batches.trends == sum(batch.num_rows for batch in batches) == expected


TABLE_1 = checks("1 A B", "2 B C", "3 B D", "4 D E")


@pytest.mark.parametrize(
    ("events", "expected"),
    [(1, ["c1"]), (2, ["c1 c2"]), (3, ["c1 c2", "c1 c3"]), (4, ["c1 c2", "c1 c3 c4"])],
)
@pytest.mark.parametrize("strategy", [None, *STRATEGIES])
def test_cet_table_1(run: Run, events: int, expected: list[str], strategy: str | None) -> None:
    assert found(run, CHAIN, TABLE_1[:events], strategy) == expected


@pytest.mark.parametrize("strategy", [None, *STRATEGIES])
def test_cet_figure_6(run: Run, strategy: str | None) -> None:
    """Events in pairs, all of a pair compatible with all of the next, as in the figure; its last pair is ours."""
    events = checks(*(f"{i // 2 + 1} bank{i // 2} bank{i // 2 + 1}" for i in range(8)))
    assert len(found(run, CHAIN, events, strategy)) == 16


def test_all_trends_and_complete_ones(run: Run) -> None:
    events = stream("a1 a2 b3 a4 b5")
    every = ["A1 A2 A4 B5", "A1 A2 B3", "A1 A2 B5", "A1 A4 B5", "A1 B3", "A1 B5", "A2 A4 B5", "A2 B3", "A2 B5", "A4 B5"]
    assert found(run, "RETURN TRENDS PATTERN SEQ(A+, B)", events) == every
    complete = ["A1 A2 A4 B5", "A1 A2 B3"]
    assert found(run, "RETURN COMPLETE TRENDS PATTERN SEQ(A+, B)", events) == complete
    assert found(run, "PATTERN SEQ(A+, B)", events) == complete


def test_complete_trends_of_a_variable_at_several_places(run: Run) -> None:
    # Neither can be longer than three, so (a1, a2, a4) is complete although (a1, a2, a3, a4) is there to be read.
    events = stream("a1 a2 a3 a4")
    assert found(run, "RETURN COMPLETE TRENDS PATTERN A{2,3}", events) == [
        "A1 A2 A3",
        "A1 A2 A4",
        "A1 A3 A4",
        "A2 A3 A4",
    ]


def test_complete_trends_across_keys_of_one_variable(run: Run) -> None:
    # b2 alone is part of (a1, b2) where A has a key of its own.
    events = stream("a1 b2 a3", k=[1, None, 2])
    assert found(run, "PATTERN SEQ(A?, B) WHERE [A.k]", events) == ["A1 B2"]


def test_complete_trends_across_groups_of_one_variable_in_a_moving_window(run: Run) -> None:
    """A trend without a b has the group NULL; it is part of one with a b, whatever group that one falls into."""
    query = "RETURN COMPLETE TRENDS PATTERN SEQ(B b?, D d) GROUP-BY b.g WITHIN 6 seconds"
    events = [{"time": 1, "type": "B", "g": 1}, {"time": 2, "type": "D", "g": 1}]
    assert [(row["g"], row["length"]) for row in run(query, events)] == [(1, 2)]
    alone = [{"time": 2, "type": "D", "g": 1}]
    assert [(row["g"], row["length"]) for row in run(query, alone)] == [(None, 1)]


def test_a_bare_listing_shows_all_attributes_that_the_query_names(run: Run) -> None:
    events = [{"time": i, "type": kind, "v": 10 * i, "w": i} for i, kind in enumerate("ACB")]
    (row,) = run("PATTERN SEQ(A, NOT C c, B) WHERE c.v > 30 AND A.w >= 0", events)
    assert [(event["v"], event["w"]) for event in row["events"]] == [(0, 0), (20, 2)]


def test_a_trend_is_shown_in_each_window_that_holds_it(run: Run) -> None:
    rows = run("RETURN TRENDS PATTERN A+ WITHIN 4 seconds SLIDE 2 seconds", stream("a1 a2"))
    shown = {(row["window_start"], row["window_end"], row["length"]) for row in rows}
    assert shown == {(-2, 2, 1), (0, 4, 1), (0, 4, 2), (2, 6, 1)}
    assert len(rows) == 5


def test_trends_that_end_at_the_same_time_in_a_moving_window(run: Run) -> None:
    rows = run("RETURN TRENDS PATTERN SEQ(A+, B) WITHIN 3 seconds", stream("a1 a2 b3 b5"))
    shown = sorted((row["time"], *names([row])) for row in rows)
    assert shown == [(3, "A1 A2 B3"), (3, "A1 B3"), (3, "A2 B3")]


def test_columns_and_types() -> None:
    at = pa.timestamp("us", "UTC")
    events = pa.table(
        {
            "at": pa.array([datetime(2024, 1, 1, 0, 0, s, tzinfo=UTC) for s in (1, 2)], at),
            "kind": ["A", "B"],
            "g": ["u", "u"],
            "x": pa.array([1, 2], pa.int32()),
        }
    )
    query = trendweave.query("RETURN TRENDS(x, B.g) PATTERN SEQ(A, B) GROUP-BY g WITHIN 1 minute SLIDE 1 minute")
    schema = query.schema(events, time="at", type="kind")
    event = pa.struct({"variable": pa.string(), "time": at, "type": pa.string(), "x": pa.int32(), "g": pa.string()})
    assert schema == pa.schema(
        {"window_start": at, "window_end": at, "g": pa.string(), "length": pa.int64(), "events": pa.list_(event)}
    )
    result = query.run(events, time="at", type="kind")
    assert result.schema.equals(schema)
    (row,) = result.to_pylist()
    assert [tuple(e.values()) for e in row["events"]] == [
        ("A", datetime(2024, 1, 1, 0, 0, 1, tzinfo=UTC), "A", 1, None),
        ("B", datetime(2024, 1, 1, 0, 0, 2, tzinfo=UTC), "B", 2, "u"),
    ]


def test_one_row_per_trend(run: Run) -> None:
    events = stream("a1 a2 b3", x=[5, None, 7], s=["p", "q", None])
    query = "RETURN EACH FIRST(A.s) AS s, LAST(B.x) AS high, COUNT(A), SUM(A.x), AVG(A.x), MAX(A.x) PATTERN SEQ(A+, B)"
    rows = {tuple(row.values())[2:] for row in run(query, events, numbers="int64")}
    assert rows == {("p", 7, 1, 5, 5.0, 5), ("q", 7, 1, None, None, None), ("p", 7, 2, 5, 5.0, 5)}
    assert trendweave.query(query).schema(as_table(events)).field("count_A").type == pa.int64()


def test_sums_of_one_trend_beyond_64_bits(run: Run) -> None:
    events = stream("a1 a2 a3", x=[2**62, 2**62, 2**62])
    (row,) = run("RETURN EACH COUNT(A), SUM(A.x) PATTERN A+ LONGEST 1", events)
    assert row["sum_A_x"] == 3 * 2**62


def test_the_same_kind_of_table_comes_back() -> None:
    events = as_table(stream("a1 a2"))
    query = trendweave.query("RETURN TRENDS PATTERN A+")
    assert isinstance(query.run(events.to_pandas()), pd.DataFrame)
    assert isinstance(query.run(pl.from_arrow(events)), pl.DataFrame)
    assert query.run(events).num_rows == 3


def test_batches_come_one_by_one_and_the_number_is_known_before() -> None:
    batches = trendweave.query("RETURN TRENDS PATTERN A+").iter(as_table(stream("a1 a2 a3")))
    assert batches.trends == 7
    assert sum(batch.num_rows for batch in batches) == 7
    nothing = trendweave.query("RETURN TRENDS PATTERN B+").iter(as_table(stream("a1")))
    assert (nothing.trends, list(nothing)) == (0, [])


def test_the_number_of_trends_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "trendweave"):
        trendweave.query("RETURN TRENDS PATTERN A+").run(as_table(stream("a1 a2 a3")))
    assert "7 trends to show" in caplog.text


def test_too_many_trends_are_refused_with_their_number_and_the_ways_out() -> None:
    events = as_table([{"time": i, "type": "A"} for i in range(100)])
    query = trendweave.query("RETURN TRENDS PATTERN A+")
    with pytest.raises(ExecutionError, match=f"there are {2**100 - 1:,} trends to show; max_trends is 1,000,000") as no:
        query.run(events)
    assert codes(no) == ["TW412"]
    assert all(way in str(no.value) for way in ("LIMIT", "SAMPLE", "LONGEST", "window", "COUNT", "max_trends"))
    with pytest.raises(ExecutionError, match="max_trends is 6"):
        query.run(events.slice(0, 3), max_trends=6)
    assert query.run(events.slice(0, 3), max_trends=7).num_rows == 7
    assert trendweave.query("RETURN TRENDS PATTERN A+ LIMIT 5").run(events).num_rows == 5
    many = as_table([{"time": i // 3, "type": "Check", "source": f"b{i // 3}", "destination": f"b{i // 3 + 1}",
                      "status": "notcovered"} for i in range(60)])  # fmt: skip
    with pytest.raises(ExecutionError, match=f"there are {3**20:,} complete trends"):
        trendweave.query(CHAIN).run(many)
    with pytest.raises(ExecutionError, match="more than 100 complete trends"):
        trendweave.query("PATTERN A{5}").run(events, max_trends=100)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strategy": "b-cet"}, "strategy is one of baseline, m-cet, t-cet, h-cet, not b-cet"),
        ({"memory": "lots"}, 'memory is a size such as "512 MB"'),
        ({"memory": "1 MB"}, "memory is at least 16 MB"),
        ({"max_trends": 0}, "max_trends is 1 or more"),
    ],
)
def test_options_that_make_no_sense(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        trendweave.query("RETURN TRENDS PATTERN A+").run(as_table(stream("a1")), **options)


def test_options_are_for_trends() -> None:
    with pytest.raises(ValueError, match="not for aggregates"):
        trendweave.query("RETURN COUNT(*) PATTERN A+").run(as_table(stream("a1")), memory="1 GB")
    with pytest.raises(ValueError, match="LIMIT walks"):
        trendweave.query("RETURN TRENDS PATTERN A+ LIMIT 1").run(as_table(stream("a1")), strategy="t-cet")
    with pytest.raises(ValueError, match="m-cet"):
        trendweave.query("PATTERN A{2,3}").run(as_table(stream("a1")), strategy="h-cet")


def test_t_cet_refuses_what_does_not_fit_and_h_cet_finds_a_plan() -> None:
    layers = [(i // 3, f"b{i // 3}", f"b{i // 3 + 1}") for i in range(39)]
    events = as_table(checks(*(f"{time} {source} {destination}" for time, source, destination in layers)))
    query = trendweave.query(CHAIN)
    with pytest.raises(ExecutionError, match="t-cet would need more than 4 MB") as refused:
        query.run(events, strategy="t-cet", memory="16 MB", max_trends=10**7)
    assert codes(refused) == ["TW413"]
    batches = query.iter(events, strategy="h-cet", memory="16 MB", max_trends=10**7)
    assert batches.trends == sum(batch.num_rows for batch in batches) == 3**13


def test_the_longest_trends(run: Run) -> None:
    events = stream("a1 a2 a3 b4")
    assert found(run, "RETURN TRENDS PATTERN SEQ(A+, B) LONGEST 1", events) == ["A1 A2 A3 B4"]
    assert len(found(run, "RETURN TRENDS PATTERN SEQ(A+, B) LONGEST 4", events)) == 4


def test_a_limit_counts_per_window_and_group(run: Run) -> None:
    events = stream("a1 a2 a3 a4", g=["u", "u", "v", "v"], k=[1, 2, 3, 3])
    rows = run("RETURN TRENDS PATTERN A+ WHERE [k] GROUP-BY g LIMIT 2", events)
    assert sorted(row["g"] for row in rows) == ["u", "u", "v", "v"]


def test_a_limit_of_more_complete_trends_than_64_bits_count() -> None:
    # 2^70 paths: one of the two events of each time
    columns = {"time": [place // 2 for place in range(140)], "type": ["A"] * 140, "x": list(range(140))}
    batches = trendweave.query("RETURN COMPLETE TRENDS(x) PATTERN A+ LIMIT 10").iter(pa.table(columns))
    assert batches.trends == 10
    found = {tuple(event["x"] for event in row["events"]) for batch in batches for row in batch.to_pylist()}
    assert len(found) == 10
    assert {len(trend) for trend in found} == {70}


def test_samples_depend_on_the_seed_alone(run: Run) -> None:
    events = [{"time": i, "type": "A"} for i in range(300)]
    one, again, other = (names(run(f"RETURN TRENDS PATTERN A+ SAMPLE 20 SEED {seed}", events)) for seed in (1, 1, 2))
    assert one == again
    assert one != other
    assert len(set(one)) == 20


def test_the_longest_go_on_with_shorter_ones(run: Run) -> None:
    """A trend that is too short ends where a longer one would go on: it is the next to be shown."""
    events = table("a1 b2 a3")
    for number, lengths in ((1, [2]), (2, [2, 1]), (3, [2, 1])):
        rows = run(f"RETURN TRENDS PATTERN SEQ(A*, B) LONGEST {number}", events)
        assert sorted((row["length"] for row in rows), reverse=True) == lengths


@pytest.mark.parametrize(
    ("values", "condition"),
    [
        ([7, 10**18, 7, None, 10**18, -(10**18)], "c.x = NEXT(c).x"),
        ([0.5, 1e300, 0.5, None, 1e300, -1e300], "c.x = NEXT(c).x"),
        ([1, 4, 1, None, 4, 9], "c.x = NEXT(c).x + 0.0"),
    ],
)
@pytest.mark.parametrize("shown", ["TRENDS", "COMPLETE TRENDS"])
def test_equal_values_may_lie_far_apart(run: Run, values: list[float | None], condition: str, shown: str) -> None:
    events = pa.table({"time": list(range(1, 7)), "type": ["E"] * 6, "x": values})
    found_names = names(run(f"RETURN {shown} PATTERN E c+ WHERE {condition}", events))
    assert [row for row in found_names if " " in row] == ["c1 c3", "c2 c5"]


def test_equal_values_of_one_event(run: Run) -> None:
    events = pa.table({"time": [1], "type": ["A"], "x": [0]})
    (row,) = run("RETURN EACH COUNT(A) PATTERN SEQ(A, A*) WHERE A.x = NEXT(A).x + 0.5", events)
    assert row["count_A"] == 1
