"""AFTER MATCH SKIP, LONGEST and SHORTEST PER START: which of the matches that overlap are taken."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import trendweave
from tests.features.places import Run
from tests.features.runs import Row, as_table, codes, only, stream
from trendweave.errors import PlanningError

# PATTERN A{3,} of rising prices: a1 a2 a3, then a4 a5 a6 a7
RISING = "PATTERN A{3,} WHERE A.x < NEXT(A).x SEMANTICS contiguous"
PRICES = [1, 2, 3, 2, 3, 4, 5]


def rising() -> list[Row]:
    return stream("a1 a2 a3 a4 a5 a6 a7", x=PRICES)


def names(rows: list[Row]) -> list[str]:
    return [" ".join(f"{event['variable'].lower()}{event['time']}" for event in row["events"]) for row in rows]


def found(run: Run, clauses: str, events: list[Row]) -> list[str]:
    return sorted(names(run(f"RETURN TRENDS {clauses}", events)))


def test_three_or_more_rising_prices_once_each(run: Run) -> None:
    every = ["a1 a2 a3", "a4 a5 a6", "a4 a5 a6 a7", "a5 a6 a7"]
    assert found(run, RISING, rising()) == every
    assert found(run, f"{RISING} AFTER MATCH SKIP PAST LAST EVENT", rising()) == ["a1 a2 a3", "a4 a5 a6 a7"]


def test_the_longest_and_the_shortest_of_each_beginning(run: Run) -> None:
    longest = ["a1 a2 a3", "a4 a5 a6 a7", "a5 a6 a7"]
    assert found(run, f"{RISING} LONGEST PER START", rising()) == longest
    assert found(run, f"{RISING} AFTER MATCH SKIP TO NEXT EVENT", rising()) == longest
    assert found(run, f"{RISING} SHORTEST PER START", rising()) == ["a1 a2 a3", "a4 a5 a6", "a5 a6 a7"]


def test_the_shortest_leave_more_beginnings(run: Run) -> None:
    events = stream("a1 a2 a3 a4", x=[1, 2, 3, 4])
    query = "PATTERN A{2,} WHERE A.x < NEXT(A).x SEMANTICS contiguous AFTER MATCH SKIP PAST LAST EVENT"
    assert found(run, query, events) == ["a1 a2 a3 a4"]
    assert found(run, f"{query} SHORTEST PER START", events) == ["a1 a2", "a3 a4"]


def test_a_v_shape_may_begin_where_the_last_one_ended(run: Run) -> None:
    # SEQ(A s, A d+, A u+): down to a3, up to a5, down to a6, up to a7
    events = stream("a1 a2 a3 a4 a5 a6 a7", x=[5, 4, 3, 4, 5, 4, 6])
    query = (
        "PATTERN SEQ(A s, A d+, A u+) WHERE s.x > d.x AND d.x > NEXT(d).x AND d.x < u.x AND u.x < NEXT(u).x "
        "SEMANTICS contiguous AFTER MATCH SKIP "
    )
    assert found(run, f"{query}PAST LAST EVENT", events) == ["s1 d2 d3 u4 u5"]
    assert found(run, f"{query}TO LAST u", events) == ["s1 d2 d3 u4 u5", "s5 d6 u7"]
    assert found(run, f"{query}TO FIRST d", events) == ["s1 d2 d3 u4 u5", "s2 d3 u4 u5", "s5 d6 u7"]


def test_a_variable_that_a_match_does_not_have_takes_nothing_more_away(run: Run) -> None:
    events = stream("a1 a2 b3")
    query = "PATTERN SEQ(A+, B?) SEMANTICS contiguous AFTER MATCH SKIP TO LAST B"
    # (a1 a2 b3) takes away what begins before b3; without it, (a2) would stay.
    assert found(run, query, events) == ["a1 a2 b3"]
    assert found(run, query, events[:2]) == ["a1 a2", "a2"]


def test_next_matches_skip_what_does_not_fit(run: Run) -> None:
    events = stream("a1 b2 a3 c4 b5 a6 b7")
    query = "PATTERN SEQ(A, B) SEMANTICS skip-till-next-match AFTER MATCH SKIP PAST LAST EVENT"
    assert found(run, query, events) == ["a1 b2", "a3 b5", "a6 b7"]


def test_partitions_do_not_take_each_other_away(run: Run) -> None:
    events = stream("a1 a2 a3 a4", k=[1, 2, 1, 2])
    query = "PATTERN A+ WHERE [k] SEMANTICS contiguous AFTER MATCH SKIP PAST LAST EVENT"
    assert found(run, query, events) == ["a1 a3", "a2 a4"]


PAIRS = [{"time": time, "type": kind, "x": x} for time, kind, x in ((1, "A", 2), (1, "A", 1), (2, "B", 1), (3, "B", 2))]


def values(run: Run, clauses: str, events: list[Row]) -> list[list[object]]:
    return sorted([event["x"] for event in row["events"]] for row in run(f"RETURN TRENDS(x) {clauses}", events))


@pytest.mark.parametrize("semantics", ["skip-till-next-match", "contiguous"])
def test_each_of_several_events_of_one_time_begins_its_own(run: Run, semantics: str) -> None:
    events = PAIRS if semantics == "skip-till-next-match" else [row | {"time": min(row["time"], 2)} for row in PAIRS]
    query = f"PATTERN SEQ(A a, B b) WHERE a.x = b.x SEMANTICS {semantics}"
    for clause in (
        "LONGEST PER START",
        "SHORTEST PER START",
        "AFTER MATCH SKIP TO NEXT EVENT",
        "AFTER MATCH SKIP TO FIRST a",
    ):
        assert values(run, f"{query} {clause}", events) == [[1, 1], [2, 2]]


def test_past_the_last_event_one_match_of_a_time_is_taken(run: Run) -> None:
    # The one that ends last; and where both end together, the one of smaller values, wherever it runs.
    query = "PATTERN SEQ(A a, B b) WHERE a.x = b.x SEMANTICS skip-till-next-match AFTER MATCH SKIP PAST LAST EVENT"
    assert values(run, query, PAIRS) == [[2, 2]]
    events = [{"time": time, "type": "A", "x": x} for time, x in ((1, 2), (1, 1), (2, 4), (2, 3), (3, 5))]
    pairs = "PATTERN A{2} SEMANTICS skip-till-next-match AFTER MATCH SKIP"
    assert values(run, f"{pairs} PAST LAST EVENT", events) == [[1, 3]]
    assert values(run, f"{pairs} TO NEXT EVENT", events) == [[1, 3], [2, 3], [3, 5], [4, 5]]


def test_each_window_has_matches_of_its_own(run: Run) -> None:
    query = "RETURN EACH LENGTH AS n PATTERN A+ WITHIN 4 seconds SLIDE 2 seconds SEMANTICS contiguous "
    rows = run(f"{query}AFTER MATCH SKIP PAST LAST EVENT", stream("a1 a2 a3"))
    assert [(row["window_start"], row["n"]) for row in rows] == [(-2, 1), (0, 3), (2, 2)]


def test_under_within_alone_a_match_takes_away_what_begins_in_it(run: Run) -> None:
    # A+ WITHIN 3: from a1 up to a3, then from a4 up to a6; time is that of the last event.
    events = stream("a1 a2 a3 a4 a5 a6 a7")
    query = "PATTERN A+ WITHIN 3 seconds SEMANTICS contiguous"
    rows = run(f"RETURN TRENDS {query} AFTER MATCH SKIP PAST LAST EVENT", events)
    assert sorted((row["time"], name) for row, name in zip(rows, names(rows), strict=True)) == [
        (3, "a1 a2 a3"),
        (6, "a4 a5 a6"),
        (7, "a7"),
    ]


def test_under_within_alone_partitions_keep_apart_what_is_taken(run: Run) -> None:
    events = stream("a1 a2 a3 a4 a5 a6", k=[1, 2, 1, 2, 1, 2])
    query = "PATTERN A+ WHERE [k] WITHIN 4 seconds SEMANTICS contiguous AFTER MATCH SKIP PAST LAST EVENT"
    assert found(run, query, events) == ["a1 a3", "a2 a4", "a5", "a6"]


def test_absence_that_times_out_once(run: Run) -> None:
    # SEQ(A+, NOT B) WITHIN 4: the first match begins with a1 and waits until 5.
    events = stream("a1 a2 a6 b8 a20")
    query = "PATTERN SEQ(A+, NOT B) WITHIN 4 seconds SEMANTICS skip-till-next-match AFTER MATCH SKIP PAST LAST EVENT"
    rows = run(f"RETURN TRENDS {query}", events)
    assert [(row["time"], name) for row, name in zip(rows, names(rows), strict=True)] == [(5, "a1 a2"), (24, "a20")]


def test_aggregates_of_taken_matches(run: Run) -> None:
    query = f"RETURN COUNT(*), AVG(LENGTH), MAX(LENGTH) AS most, SUM(A.x), MIN(A.x), COUNT(A), AVG(A.x) {RISING}"
    row = only(run(f"{query} AFTER MATCH SKIP PAST LAST EVENT", rising()))
    assert row == {
        "count": 2,
        "avg_LENGTH": 3.5,
        "most": 4,
        "sum_A_x": 20,
        "min_A_x": 1,
        "count_A": 7,
        "avg_A_x": 20 / 7,
    }


def test_aggregates_of_taken_matches_over_several_keys(run: Run) -> None:
    events = stream("a1 a2 a3 a4 a5", k=[1, 2, 1, 2, 2], g=["u", "u", "u", "u", "u"])
    query = "RETURN COUNT(*), SUM(LENGTH) AS n PATTERN A+ WHERE [k] GROUP-BY g WITHIN 9 seconds SLIDE 9 seconds "
    (row,) = run(f"{query}SEMANTICS contiguous AFTER MATCH SKIP PAST LAST EVENT", events)
    assert (row["g"], row["count"], row["n"]) == ("u", 2, 5)


def test_taken_matches_of_sessions(run: Run) -> None:
    events = stream("a1 a2 a8 a9 a10", k=[1, 1, 1, 1, 1])
    rows = run(
        "RETURN COUNT(*), SUM(LENGTH) AS n PATTERN A+ WHERE [k] WITHIN SESSION 3 seconds SEMANTICS contiguous "
        "AFTER MATCH SKIP PAST LAST EVENT",
        events,
    )
    assert [(row["window_start"], row["count"], row["n"]) for row in rows] == [(1, 1, 2), (8, 1, 3)]


def test_limits_choose_among_taken_matches(run: Run) -> None:
    query = f"{RISING} AFTER MATCH SKIP PAST LAST EVENT"
    assert found(run, f"{query} LONGEST 1", rising()) == ["a4 a5 a6 a7"]
    assert found(run, f"{query} LIMIT 1", rising()) == ["a1 a2 a3"]


def test_rows_of_taken_matches(run: Run) -> None:
    rows = run(f"RETURN ROWS {RISING} AFTER MATCH SKIP PAST LAST EVENT", rising())
    assert [(row["match"], row["variable"], row["time"], row["type"], row["x"]) for row in rows] == [
        (1 if time < 4 else 2, "A", time, "A", x) for time, x in enumerate(PRICES, 1)
    ]


@pytest.mark.parametrize("window", ["", "WITHIN 1 day", "WITHIN 1 day SLIDE 1 day"])
@pytest.mark.parametrize("semantics", ["skip-till-next-match", "contiguous"])
def test_only_taken_matches_are_looked_at(semantics: str, window: str) -> None:
    # There are 2 * 10^8 matches; of those only one is taken.
    count = 20_000
    events = pa.table({"time": np.arange(count), "type": ["A"] * count, "k": np.zeros(count, np.int64)})
    query = f"RETURN EACH COUNT(A) AS n PATTERN A+ WHERE [k] SEMANTICS {semantics} {window}"
    found = trendweave.query(f"{query} AFTER MATCH SKIP PAST LAST EVENT").run(events)
    assert found["n"].to_pylist() == [count]


def test_how_many_are_taken_is_not_known_before() -> None:
    query = "RETURN EACH LENGTH PATTERN A+ SEMANTICS contiguous AFTER MATCH SKIP PAST LAST EVENT"
    batches = trendweave.query(query).iter(as_table(stream("a1 a2 a3")))
    assert batches.trends is None
    assert sum(batch.num_rows for batch in batches) == 1


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("RETURN TRENDS PATTERN A+ AFTER MATCH SKIP PAST LAST EVENT", "TW237"),
        ("RETURN TRENDS PATTERN A+ SEMANTICS skip-till-any-match LONGEST PER START", "TW237"),
        ("RETURN COUNT(*) PATTERN A+ SEMANTICS contiguous WITHIN 3 seconds LONGEST PER START", "TW236"),
        ("RETURN ROWS PATTERN A+ SEMANTICS contiguous WITHIN 3 seconds LONGEST PER START", "TW236"),
        ("RETURN TRENDS PATTERN A+ SEMANTICS contiguous AFTER MATCH SKIP TO LAST B", "TW201"),
    ],
)
def test_what_is_refused(query: str, code: str) -> None:
    with pytest.raises(PlanningError) as refused:
        trendweave.query(query)
    assert code in codes(refused)
