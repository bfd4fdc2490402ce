"""The worked examples of the thesis, chapter 5."""

from __future__ import annotations

import pyarrow as pa
import pytest

import trendweave
from trendweave.planning.interval_plan import RELATIONS

FROM_TWO = "FROM INTERVALS PATTERN A {relations} B WITHIN 1 hour"

# An A for B = [10, 20), and the earliest moment of Table 5.2: the third of the four ends.
TABLE_5_2 = {
    "before": ((1, 5), 10),
    "meets": ((1, 10), 10),
    "starts": ((10, 15), 15),
    "equals": ((10, 20), 20),
    "started-by": ((10, 25), 20),
    "overlaps": ((5, 15), 15),
    "finished-by": ((5, 20), 20),
    "contains": ((5, 25), 20),
    "during": ((12, 15), 15),
    "finishes": ((15, 20), 20),
    "overlapped-by": ((15, 25), 20),
    "met-by": ((20, 25), 20),
    "after": ((21, 25), 21),
}
PREFIX_GROUPS = (
    ("overlaps", "finished-by", "contains"),
    ("starts", "equals", "started-by"),
    ("during", "finishes", "overlapped-by"),
)


def intervals(**named: list[tuple[int, int | None]]) -> pa.Table:
    rows = [{"name": name, "start": start, "end": end} for name, pairs in named.items() for start, end in pairs]
    return pa.Table.from_pylist(rows, pa.schema([("name", pa.string()), ("start", pa.int64()), ("end", pa.int64())]))


def detected(text: str, table: pa.Table) -> list[int]:
    return trendweave.query(text).run(table).column("time").to_pylist()


@pytest.mark.parametrize("relation", RELATIONS)
def test_table_5_1_only_the_named_relation_holds(relation: str) -> None:
    for other, (a, _) in TABLE_5_2.items():
        found = detected(FROM_TWO.format(relations=relation), intervals(A=[a], B=[(10, 20)]))
        assert bool(found) == (other == relation)


@pytest.mark.parametrize("relation", RELATIONS)
def test_table_5_2_earliest_detection_of_a_relation(relation: str) -> None:
    a, moment = TABLE_5_2[relation]
    assert detected(FROM_TWO.format(relations=relation), intervals(A=[a], B=[(10, 20)])) == [moment]


@pytest.mark.parametrize("group", PREFIX_GROUPS, ids=lambda group: group[0])
def test_table_5_2_relations_of_a_whole_prefix_group_are_certain_at_the_later_start(group: tuple[str, ...]) -> None:
    for relation in group:
        a, alone = TABLE_5_2[relation]
        table = intervals(A=[a], B=[(10, 20)])
        assert detected(FROM_TWO.format(relations=";".join(group)), table) == [max(a[0], 10)]
        two = [name for name in group if name != relation][:1]
        assert detected(FROM_TWO.format(relations=";".join([relation, *two])), table) == [alone]


# Listing 5.1, with Allen's names for finishes and finished-by.
LISTING_5_1 = """
FROM CarSensors PARTITION BY car_id
DEFINE A AS accel > 8 AT LEAST 5 seconds,
       B AS speed > 70 {bounds},
       C AS accel < -9 {braking}
PATTERN A meets; overlaps; starts; during B
    AND B contains; finished-by; overlaps; meets C
    AND A before C
WITHIN 5 minutes
RETURN FIRST(B.car_id) AS car, AVG(B.speed) AS speed
"""


def drive(car: str, accelerating: range, speeding: range, braking: range) -> list[dict[str, object]]:
    """One reading a second, for a minute."""
    return [
        {
            "car_id": car,
            "time": second,
            "accel": 9.0 if second in accelerating else -10.0 if second in braking else 0.0,
            "speed": 80.0 if second in speeding else 50.0,
        }
        for second in range(60)
    ]


# Figure 5.1: twice a sharp acceleration, speeding and hard braking. In the first match speeding overlaps the braking,
# in the second the braking happens during the speeding. Both are certain when the braking begins.
FIRST = drive("first", range(5, 15), range(10, 25), range(20, 30))
SECOND = drive("second", range(5, 15), range(10, 40), range(20, 30))


def test_figure_5_1_both_matches_are_certain_when_the_braking_begins() -> None:
    query = trendweave.query(LISTING_5_1.format(bounds="", braking=""))
    rows = query.run(pa.Table.from_pylist(FIRST + SECOND)).to_pylist()
    assert sorted(rows, key=lambda row: row["car"]) == [
        {
            "time": 20, "A_start": 5, "A_end": 15, "B_start": 10, "B_end": None, "C_start": 20, "C_end": None,
            "car": car, "speed": 80.0,
        }
        for car in ("first", "second")
    ]  # fmt: skip


def test_figure_5_1_at_the_end() -> None:
    query = trendweave.query(LISTING_5_1.format(bounds="", braking="") + "DETECT AT END")
    rows = query.run(pa.Table.from_pylist(FIRST + SECOND)).to_pylist()
    assert {row["car"]: (row["time"], row["B_end"], row["C_end"]) for row in rows} == {
        "first": (30, 25, 30),
        "second": (40, 40, 30),
    }


def test_listing_5_1_lengths_defer_the_detection() -> None:
    # A braking must last 3 seconds: it counts from 23 on. Speeding has a longest length: it counts from its end on.
    braking = trendweave.query(LISTING_5_1.format(bounds="", braking="AT LEAST 3 seconds"))
    assert braking.run(pa.Table.from_pylist(FIRST)).column("time").to_pylist() == [23]
    both = LISTING_5_1.format(bounds="BETWEEN 4 seconds AND 30 seconds", braking="AT LEAST 3 seconds")
    assert trendweave.query(both).run(pa.Table.from_pylist(FIRST)).column("time").to_pylist() == [25]
    too_short = LISTING_5_1.format(bounds="AT MOST 10 seconds", braking="")
    assert trendweave.query(too_short).run(pa.Table.from_pylist(FIRST)).num_rows == 0


def test_figure_5_3_range_queries() -> None:
    # A1 overlaps B: of the starts in (A.ts, A.te) and the ends beyond A.te, only B1 has both.
    table = intervals(A=[(10, 20)], B=[(15, 25), (26, 30)])
    rows = trendweave.query("FROM INTERVALS PATTERN A overlaps B WITHIN 1 minute").run(table).to_pylist()
    assert [(row["B_start"], row["time"]) for row in rows] == [(15, 20)]


# Figure 5.4. Relations as in the thesis, whose "C finishes D" (C.ts < D.ts, both end together) is Allen's finished-by.
PATTERN_5_4 = """
FROM INTERVALS
PATTERN A before B AND A before C AND A before D AND C contains; finished-by; meets D
WITHIN 1 hour
"""


def test_figure_5_4_a_detected_once_at_the_start_of_d() -> None:
    table = intervals(A=[(0, 5)], B=[(7, 40)], C=[(10, 20)], D=[(20, 30)])
    assert detected(PATTERN_5_4, table) == [20]


def test_figure_5_4_b_both_running_is_no_match_yet() -> None:
    # C and D run when B ends; only at 30 they end together.
    table = intervals(A=[(0, 5)], B=[(7, 15)], C=[(8, 30)], D=[(10, 30)])
    assert detected(PATTERN_5_4, table) == [30]
    assert detected(PATTERN_5_4, intervals(A=[(0, 5)], B=[(7, 15)], C=[(8, 30)], D=[(10, 31)])) == []
    assert detected(PATTERN_5_4, intervals(A=[(0, 5)], B=[(7, 15)], C=[(8, None)], D=[(10, None)])) == []


def test_figure_5_4_c_running_situations_that_nothing_relates() -> None:
    # D ends inside C while B, which has nothing to do with either, runs on.
    table = intervals(A=[(0, 5)], B=[(7, 50)], C=[(8, 40)], D=[(10, 20)])
    rows = trendweave.query(PATTERN_5_4).run(table).to_pylist()
    assert [(row["time"], row["B_end"], row["C_end"], row["D_end"]) for row in rows] == [(20, None, None, 20)]


def test_duration_example_of_section_5_5_3() -> None:
    # A during B; B becomes long enough only after A has ended.
    table = intervals(B=[(0, 30)], A=[(5, 10)], Z=[(25, 26)])
    text = "FROM INTERVALS DEFINE B AT LEAST 20 seconds, Z PATTERN A during B WITHIN 1 minute"
    assert detected(text, table) == [25]


def test_algebra_example_the_longest_run_is_the_situation() -> None:
    # Section 5.4.1: speed is above the limit from 2 to 9, so the situation is [2, 10).
    speeds = [{"time": t, "speed": 80 if 2 <= t < 10 else 60} for t in range(12)]
    text = "FROM X DEFINE B AS speed > 70 BETWEEN 4 seconds AND 30 seconds RETURN SITUATIONS"
    assert trendweave.query(text).run(pa.Table.from_pylist(speeds)).to_pylist() == [
        {"name": "B", "start": 2, "end": 10}
    ]
