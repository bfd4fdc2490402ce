"""Conditions on a whole match: aggregates in WHERE, and FIRST or LAST of a variable that comes later."""

from __future__ import annotations

import pytest

import trendweave
from tests.features.places import Run
from tests.features.runs import Row, as_table, codes, only, stream
from trendweave.errors import DataError, ExecutionError, PlanningError


def found(run: Run, query: str, events: list[Row]) -> list[str]:
    """Trends as `a1 a2`, sorted."""
    rows = run(query, events)
    return sorted(" ".join(f"{e['variable'].lower()}{e['time']}" for e in row["events"]) for row in rows)


def test_a_sum_over_the_match(run: Run) -> None:
    events = stream("a1 a2 a3", x=[400, 500, 300])
    assert found(run, "RETURN TRENDS PATTERN A+ WHERE SUM(A.x) < 800", events) == ["a1", "a1 a3", "a2", "a3"]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("COUNT(A) >= 3", ["a1 a2 a3"]),
        ("AVG(A.x) = 2", ["a1 a2 a3", "a1 a3", "a2"]),
        ("MIN(A.x) > 1", ["a2", "a2 a3", "a3"]),
        ("MAX(A.x) < 3", ["a1", "a1 a2", "a2"]),
        ("FIRST(A.x) + 2 = LAST(A.x)", ["a1 a2 a3", "a1 a3"]),
        ("FIRST(A).x < LAST(A).x AND COUNT(A) = 2", ["a1 a2", "a1 a3", "a2 a3"]),
        ("SUM(A.x) / COUNT(A) > 2", ["a2 a3", "a3"]),
        ("SUM(A.x) BETWEEN 4 AND 5 OR COUNT(A) > 2", ["a1 a2 a3", "a1 a3", "a2 a3"]),
        ("SUM(A.x) IN (3, 6)", ["a1 a2", "a1 a2 a3", "a3"]),
    ],
)
def test_aggregates_of_a_match(run: Run, condition: str, expected: list[str]) -> None:
    assert found(run, f"RETURN TRENDS PATTERN A+ WHERE {condition}", stream("a1 a2 a3", x=[1, 2, 3])) == expected


def test_the_last_of_a_variable_that_comes_later(run: Run) -> None:
    # SEQ(S, D+, U+): the last price is above the first one.
    events = stream("a1 a2 a3 a4 a5", x=[5, 3, 4, 5, 6])
    query = (
        "RETURN TRENDS PATTERN SEQ(A S, A D+, A U+) WHERE D.x > NEXT(D).x AND U.x < NEXT(U).x AND LAST(U.x) > S.x "
        "SEMANTICS contiguous"
    )
    assert "s1 d2 u3 u4 u5" in found(run, query, events)
    assert all(name.endswith("5") for name in found(run, query, events) if name.startswith("s1"))


def test_a_plain_attribute_is_that_of_the_latest_event(run: Run) -> None:
    # SUM is over all a; b.y is that of the last b of the match.
    events = stream("a1 b2 b3", x=[5, None, None], y=[None, 9, 4])
    assert found(run, "RETURN TRENDS PATTERN SEQ(A, B+) WHERE SUM(A.x) > B.y", events) == ["a1 b2 b3", "a1 b3"]


def test_null_is_not_true(run: Run) -> None:
    events = stream("a1 a2 b3", x=[None, None, 1])
    assert found(run, "RETURN TRENDS PATTERN A+ WHERE SUM(A.x) < 5", events) == []
    assert found(run, "RETURN TRENDS PATTERN A+ WHERE SUM(A.x) IS NULL", events) == ["a1", "a1 a2", "a2"]


def test_sums_beyond_64_bits_are_compared_exactly(run: Run) -> None:
    events = stream("a1 a2 a3", x=[2**62, 2**62, 2**62])
    assert found(run, "RETURN TRENDS PATTERN A+ WHERE SUM(A.x) > 9223372036854775807", events) == [
        "a1 a2",
        "a1 a2 a3",
        "a1 a3",
        "a2 a3",
    ]


def test_texts_and_times_of_a_match(run: Run) -> None:
    events = stream("a1 a2 a5", s=["p", "q", "p"])
    assert found(run, "RETURN TRENDS PATTERN A{2,} WHERE FIRST(A.s) = LAST(A.s)", events) == ["a1 a2 a5", "a1 a5"]
    assert found(run, "RETURN TRENDS PATTERN A{2,} WHERE LAST(A.time) - FIRST(A.time) < 4", events) == [
        "a1 a2",
        "a2 a5",
    ]


def test_complete_trends_are_complete_before_they_are_asked(run: Run) -> None:
    events = stream("a1 a2 a3", x=[1, 2, 3])
    assert found(run, "RETURN COMPLETE TRENDS PATTERN A+ WHERE SUM(A.x) < 5", events) == []
    assert found(run, "RETURN COMPLETE TRENDS PATTERN A+ WHERE SUM(A.x) > 5", events) == ["a1 a2 a3"]


def test_matches_are_asked_before_one_is_taken(run: Run) -> None:
    # The longest from a1 has three events; of those with a sum below 4 it has two.
    events = stream("a1 a2 a3", x=[1, 2, 3])
    query = "RETURN TRENDS PATTERN A+ WHERE SUM(A.x) < 4 SEMANTICS contiguous AFTER MATCH SKIP PAST LAST EVENT"
    assert found(run, query, events) == ["a1 a2", "a3"]


@pytest.mark.parametrize(
    ("condition", "longest", "shortest"),
    [
        ("SUM(A.x) > 2", ["a1", "a3 a4"], ["a1", "a3"]),
        ("SUM(A.x) < 1", ["a1 a2", "a2 a3 a4"], ["a1 a2", "a2"]),
        ("SUM(A.x) = 3", ["a3"], ["a3"]),
        ("SUM(A.x) < 2 AND COUNT(A) >= 2", ["a1 a2 a3", "a2 a3 a4"], ["a1 a2", "a2 a3"]),
        ("MAX(A.x) < 5 AND MIN(A.x) < 0", ["a2 a3 a4"], ["a2"]),
        ("LAST(A.x) > FIRST(A.x)", ["a2 a3 a4"], ["a2 a3"]),
        ("AVG(A.x) < -1", ["a2 a3"], ["a2"]),
    ],
)
@pytest.mark.parametrize("semantics", ["contiguous", "skip-till-next-match"])
def test_what_is_taken_of_a_beginning(
    run: Run, semantics: str, condition: str, longest: list[str], shortest: list[str]
) -> None:
    # Sums fall and rise again while a match grows.
    events = stream("a1 a2 a3 a4", x=[5, -7, 3, 1])
    query = f"RETURN TRENDS PATTERN A+ WHERE {condition} SEMANTICS {semantics}"
    assert found(run, f"{query} LONGEST PER START", events) == longest
    assert found(run, f"{query} SHORTEST PER START", events) == shortest


def test_limits_choose_among_what_is_left(run: Run) -> None:
    events = stream("a1 a2 a3 a4", x=[1, 1, 1, 1])
    query = "RETURN TRENDS PATTERN A+ WHERE SUM(A.x) <= 2"
    assert len(found(run, f"{query} LIMIT 3", events)) == 3
    assert {len(name.split()) for name in found(run, f"{query} LONGEST 6", events)} == {2}
    sample = found(run, f"{query} SAMPLE 4 SEED 7", events)
    assert len(set(sample)) == 4
    assert sample == found(run, f"{query} SAMPLE 4 SEED 7", events)
    assert any(found(run, f"{query} SAMPLE 4 SEED {seed}", events) != sample for seed in range(5))


def test_a_limit_ends_the_search() -> None:
    events = as_table([{"time": time, "type": "A", "x": 1} for time in range(200)])
    query = trendweave.query("RETURN EACH COUNT(A) PATTERN A+ WHERE SUM(A.x) > 3 LIMIT 5")
    assert query.run(events).num_rows == 5
    with pytest.raises(ExecutionError, match="to choose among") as refused:
        trendweave.query("RETURN EACH COUNT(A) PATTERN A+ WHERE SUM(A.x) > 3").run(events)
    assert codes(refused) == ["TW412"]


def test_a_window_and_a_group_have_matches_of_their_own(run: Run) -> None:
    events = stream("a1 a2 a5", x=[1, 2, 3], g=["u", "u", "v"])
    query = "RETURN EACH SUM(A.x) AS total PATTERN A+ WHERE SUM(A.x) >= 3 GROUP-BY g WITHIN 4 seconds SLIDE 4 seconds"
    rows = run(query, events, numbers="int64")
    assert [(row["window_start"], row["g"], row["total"]) for row in rows] == [(0, "u", 3), (4, "v", 3)]


def test_under_within_alone(run: Run) -> None:
    rows = run("RETURN EACH COUNT(A) AS n PATTERN A+ WHERE COUNT(A) >= 2 WITHIN 3 seconds", stream("a1 a2 a4"))
    assert [(row["time"], row["n"]) for row in rows] == [(2, 2), (4, 2)]


def test_aggregates_of_the_complete_ones_that_meet_it(run: Run) -> None:
    events = stream("a1 a2 a3 a4", x=[1, 5, 2, 3])
    query = "RETURN COMPLETE COUNT(*), SUM(LENGTH) AS n PATTERN A+ WHERE A.x < NEXT(A).x AND COUNT(A) > 2"
    assert only(run(query, events)) == {"count": 1, "n": 3}


@pytest.mark.parametrize(
    ("condition", "code"),
    [
        ("SUM(A.s) > 3", "TW304"),
        ("FIRST(A.s) > COUNT(A)", "TW305"),
        ("SUM(A.nothing) > 3", "TW301"),
        ("SUM(A.x)", "TW306"),
    ],
)
def test_what_does_not_fit_the_table(condition: str, code: str) -> None:
    query = trendweave.query(f"RETURN EACH COUNT(A) PATTERN A+ WHERE {condition}")
    with pytest.raises(DataError) as refused:
        query.run(as_table(stream("a1", x=[1], s=["p"])))
    assert code in codes(refused)


def test_aggregates_over_all_trends_are_refused() -> None:
    with pytest.raises(PlanningError) as refused:
        trendweave.query("RETURN COUNT(*) PATTERN A+ WHERE SUM(A.x) > 3")
    assert codes(refused) == ["TW235"]
