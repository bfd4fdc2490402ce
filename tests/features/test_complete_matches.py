"""RETURN COMPLETE of every kind, RETURN ROWS, and LENGTH: what is told of trends that are found one by one."""

from __future__ import annotations

import pyarrow as pa

import trendweave
from tests.features.places import Run
from tests.features.runs import as_table, only, stream

# PATTERN SEQ(A+, B): complete are (a1 a2 b3) and (a1 a2 a4 b5)
EVENTS = stream("a1 a2 b3 a4 b5", x=[1, 2, 3, 4, 5])


def test_complete_each(run: Run) -> None:
    rows = run("RETURN COMPLETE EACH LENGTH, SUM(A.x) AS total, LAST(B.x) AS last PATTERN SEQ(A+, B)", EVENTS)
    assert sorted((row["LENGTH"], row["total"], row["last"]) for row in rows) == [(3, 3, 3), (4, 7, 5)]


def test_lengths_of_all_trends(run: Run) -> None:
    rows = run("RETURN EACH LENGTH AS n PATTERN SEQ(A+, B)", EVENTS[:3])
    assert sorted(row["n"] for row in rows) == [2, 2, 3]
    computed = run("RETURN EACH LENGTH * 2 AS n PATTERN SEQ(A+, B) HAVING LENGTH > 2", EVENTS[:3])
    assert [row["n"] for row in computed] == [6]


def test_aggregates_show_no_trends_and_are_not_limited_by_how_many_are_shown() -> None:
    query = trendweave.query("RETURN COMPLETE COUNT(*) PATTERN SEQ(A+, B)")
    assert query.run(as_table(EVENTS), max_trends=1).column("count").to_pylist() == [2]


def test_aggregates_over_complete_trends(run: Run) -> None:
    query = "RETURN COMPLETE COUNT(*), AVG(LENGTH) AS n, SUM(A.x), MAX(B.x) PATTERN SEQ(A+, B)"
    assert only(run(query, EVENTS)) == {"count": 2, "n": 3.5, "sum_A_x": 10, "max_B_x": 5}


def test_aggregates_over_complete_trends_per_window_and_group(run: Run) -> None:
    events = stream("a1 a2 a5 a6 a7", g=["u", "v", "u", "u", "v"], k=[1, 2, 1, 1, 3])
    query = (
        "RETURN COMPLETE COUNT(*), SUM(LENGTH) AS n PATTERN A+ WHERE [k] GROUP-BY g WITHIN 4 seconds SLIDE 4 seconds"
    )
    rows = sorted((row["window_start"], row["g"], row["count"], row["n"]) for row in run(query, events))
    assert rows == [(0, "u", 1, 1), (0, "v", 1, 1), (4, "u", 1, 2), (4, "v", 1, 1)]


def test_rows_of_complete_trends(run: Run) -> None:
    rows = run("RETURN COMPLETE ROWS(x) PATTERN SEQ(A+, B)", EVENTS)
    matches: dict[int, list[tuple[str, int, int]]] = {}
    for row in rows:
        matches.setdefault(row["match"], []).append((row["variable"], row["time"], row["x"]))
    first, second = [("A", 1, 1), ("A", 2, 2)], [("A", 4, 4), ("B", 5, 5)]
    assert sorted(matches) == [1, 2]
    assert sorted(matches.values(), key=len) == [[*first, ("B", 3, 3)], [*first, *second]]


def test_matches_are_numbered_per_window_and_partition(run: Run) -> None:
    events = stream("a1 a2 a3", k=[1, 2, 1])
    rows = run("RETURN ROWS PATTERN A WHERE [k] WITHIN 9 seconds SLIDE 9 seconds", events)
    assert sorted((row["k"], row["match"], row["time"]) for row in rows) == [(1, 1, 1), (1, 2, 3), (2, 1, 2)]


def test_rows_tell_their_group_once() -> None:
    events = as_table(stream("a1", g=["u"], x=[1]))
    query = trendweave.query("RETURN ROWS PATTERN A WHERE A.x > 0 GROUP-BY g WITHIN 2 seconds")
    assert query.schema(events).names == ["time", "g", "match", "variable", "event_time", "type", "x"]
    (row,) = query.run(events).to_pylist()
    assert list(row.values()) == [1, "u", 1, "A", 1, "A", 1]


def test_the_longest_and_samples_of_complete_trends_with_repeated_variables(run: Run) -> None:
    events = stream("a1 a2 a3 a4 b5")
    rows = run("RETURN COMPLETE EACH LENGTH AS n PATTERN SEQ(A{1,2}, B?) LONGEST 3", events)
    assert [row["n"] for row in rows] == [3, 3, 3]
    samples = [
        sorted(str(row["events"]) for row in run(f"PATTERN SEQ(A{{1,2}}, B?) SAMPLE 3 SEED {seed}", events))
        for seed in (1, 1, 2, 3, 4)
    ]
    assert samples[0] == samples[1]
    assert all(len(set(sample)) == 3 for sample in samples)
    assert len({str(sample) for sample in samples}) > 1


def test_a_sample_is_the_same_in_whatever_unit_times_are() -> None:
    query = trendweave.query("RETURN COMPLETE TRENDS PATTERN A{2,3} SAMPLE 3 SEED 5")
    seconds = pa.table({"time": pa.array(range(6), pa.timestamp("s")), "type": ["A"] * 6})
    chosen = []
    for unit in ("s", "us", "ns"):
        events = seconds.set_column(0, "time", seconds.column("time").cast(pa.timestamp(unit)))
        rows = query.run(events).to_pylist()
        chosen.append(sorted([event["time"].second for event in row["events"]] for row in rows))
    assert chosen[0] == chosen[1] == chosen[2]


def test_keys_of_one_variable(run: Run) -> None:
    events = stream("a1 b2 a3 b4", k=[1, None, 2, None])
    rows = run("RETURN COMPLETE EACH LENGTH AS n PATTERN SEQ(A+, B) WHERE [A.k] LONGEST 1", events)
    assert [row["n"] for row in rows] == [2]
