"""PARTITION BY: events of one partition make its situations, and matches never cross partitions."""

from __future__ import annotations

from tests.features.intervals.readings import A_AND_B, matches, readings, situations
from tests.features.places import Run

PARTITIONED = A_AND_B.replace("DEFINE", "PARTITION BY k DEFINE")


def test_each_partition_has_its_own_situations(run: Run) -> None:
    events = readings("a1 -2 a3 -4", k=["u", "v", "u", "u"])
    # u has no event at 2: its run goes on.
    assert situations(run(f"{PARTITIONED} RETURN SITUATIONS", events)) == ["A1-4"]
    assert situations(run(f"{A_AND_B} RETURN SITUATIONS", events)) == ["A1-2", "A3-4"]


def test_a_match_stays_in_its_partition(run: Run) -> None:
    events = readings("a1 -2 a3 -4 b5 b6", k=["u", "u", "v", "v", "u", "w"])
    found = run(f"{PARTITIONED} PATTERN A before B WITHIN 1 minute RETURN k", events)
    assert [(row["k"], *matches([row])) for row in found] == [("u", "5: A1-2 B5-")]


def test_null_is_a_partition(run: Run) -> None:
    events = readings("a1 -2 b3", k=[None, None, None], x=[1, 2, 3])
    (row,) = run(f"{PARTITIONED} PATTERN A before B WITHIN 1 minute RETURN k, SUM(A.x) AS total", events)
    assert (row["k"], row["total"]) == (None, 1)


def test_several_attributes(run: Run) -> None:
    events = readings("a1 -2 b3 b4", k=["u", "u", "u", "u"], m=[1, 1, 2, 1])
    query = f"{A_AND_B.replace('DEFINE', 'PARTITION BY k, m DEFINE')} PATTERN A before B WITHIN 1 minute"
    (row,) = run(query, events)
    assert (row["k"], row["m"], matches([row])) == ("u", 1, ["4: A1-2 B4-"])
