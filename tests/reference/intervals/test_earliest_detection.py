"""When a match is certain: Table 5.2, Figures 5.1, 5.3 and 5.4 of the thesis, and durations (its Section 5.5.3)."""

from __future__ import annotations

import itertools

import pytest

from .by_hand import define, detected, found, pattern, timeline
from .matches import Known, constraint_is_certain, length_is_certain, possible_ends
from .query import Constraint, Query
from .relations import INVERSE, RELATIONS

# One time line for each relation of A and B.
LINES = {
    "before": "A 1-3, B 5-8",
    "meets": "A 1-4, B 4-8",
    "overlaps": "A 1-5, B 3-8",
    "starts": "A 1-4, B 1-8",
    "during": "A 3-5, B 1-8",
    "finishes": "A 4-8, B 1-8",
    "equals": "A 1-8, B 1-8",
    "finished-by": "A 1-8, B 4-8",
    "contains": "A 1-8, B 3-5",
    "started-by": "A 1-8, B 1-4",
    "overlapped-by": "A 3-8, B 1-5",
    "met-by": "A 4-8, B 1-4",
    "after": "A 5-8, B 1-3",
}
# Table 5.2, tr_min: the third of the four ends. Its relations begin with A; the others are seen from B's side.
THIRD_END = {
    "before": "B.ts",
    "meets": "B.ts",
    "starts": "A.te",
    "equals": "A.te",
    "started-by": "B.te",
    "overlaps": "A.te",
    "finished-by": "A.te",
    "contains": "B.te",
}
SIDES = {"A": "B", "B": "A"}
THIRD_END |= {INVERSE[r]: SIDES[end[0]] + end[1:] for r, end in THIRD_END.items() if INVERSE[r] not in THIRD_END}
# Table 5.2, prefix groups; tg_min is the later start. Before and meets come at B.ts by themselves.
ALIKE = (
    {"starts", "equals", "started-by"},
    {"overlaps", "finished-by", "contains"},
    {"overlapped-by", "finishes", "during"},
)


def ends_of(line: str) -> dict[str, int]:
    (_, a), (_, b) = (part.split() for part in line.split(","))
    return dict(zip(("A.ts", "A.te", "B.ts", "B.te"), map(int, (*a.split("-"), *b.split("-"))), strict=True))


@pytest.mark.parametrize("relation", RELATIONS)
def test_table_5_2_each_relation_alone(relation):
    line = LINES[relation]
    ends = ends_of(line)
    assert detected(pattern(f"A {relation} B"), line, until=10) == [ends[THIRD_END[relation]]]
    assert detected(pattern(f"B {INVERSE[relation]} A"), line, until=10) == [ends[THIRD_END[relation]]]
    assert detected(pattern(f"A {relation} B", at_end=True), line, until=10) == [max(ends["A.te"], ends["B.te"])]
    for other in set(RELATIONS) - {relation}:
        assert detected(pattern(f"A {other} B"), line, until=10) == []


@pytest.mark.parametrize("relation", RELATIONS)
def test_table_5_2_with_alternatives(relation):
    """With all relations that begin alike it is the later start, with any others the third end."""
    line = LINES[relation]
    ends = ends_of(line)
    later_start = max(ends["A.ts"], ends["B.ts"])
    alike = next((group for group in ALIKE if relation in group), {relation})
    not_alike = [other for other in RELATIONS if other not in alike]
    for size in range(len(alike)):
        for others in itertools.combinations(sorted(alike - {relation}), size):
            for more in ([], not_alike, not_alike[::2]):
                relations = (relation, *others, *more)
                query = Query((define("A"), define("B")), (Constraint("A", relations, "B"),))
                expected = later_start if alike <= set(relations) else ends[THIRD_END[relation]]
                assert detected(query, line, until=10) == [expected], relations


def test_before_or_meets_is_certain_when_b_begins():
    for line, time in ((LINES["before"], 5), (LINES["meets"], 4)):
        assert detected(pattern("A before; meets B"), line) == [time]


# -------------------------------------------------------------------------------------------------------------- figures

# The query of Listing 5.1 with Allen's names, without durations.
AGGRESSIVE = "A meets; overlaps; starts; during B AND B contains; finished-by; overlaps; meets C AND A before C"


@pytest.mark.parametrize("line", ["A 1-5, B 3-12, C 9-15", "A 1-5, B 3-15, C 9-12"])
def test_figure_5_1_both_matches_are_certain_when_braking_begins(line):
    assert detected(pattern(AGGRESSIVE), line) == [9]
    assert detected(pattern(AGGRESSIVE, at_end=True), line) == [15]
    assert found(pattern(AGGRESSIVE), timeline(line)) == [(9, 1, 5, 3, None, 9, None)]


def test_listing_5_1_with_its_durations():
    durations = (define("A", at_least=5), define("B", 4, 30), define("C", at_least=3))
    query = pattern(AGGRESSIVE, *durations, within=300)
    # B must not last longer than 30, which is known only at its end.
    assert detected(query, "A 1-6, B 3-16, C 9-12") == [16]
    assert detected(query, "A 1-6, B 3-12, C 9-15") == [12]
    assert detected(query, "A 1-6, B 3-10, C 9-15") == [12]
    assert detected(query, "A 1-5, B 3-12, C 9-15") == []
    assert detected(query, "A 1-6, B 3-34, C 9-15", until=40) == []
    assert detected(query, "A 1-6, B 3-12, C 9-11", until=20) == []


def test_figure_5_3_of_two_situations_one_falls_into_both_ranges():
    """A overlaps B: B1 begins inside A and ends after it; B2 only ends after it."""
    rows = found(pattern("A overlaps B"), timeline("A 1-6, B 3-8, B 10-13"))
    assert rows == [(6, 1, 6, 3, None)]


SAMPLE = "A before B AND A before C AND A before D AND C contains; finished-by; meets D"


def test_figure_5_4_a_certain_when_d_begins_and_not_reported_again_when_it_ends():
    line = timeline("A 0-2, B 4-12, C 5-8, D 8-10")
    assert found(pattern(SAMPLE), line) == [(8, 0, 2, 4, None, 5, 8, 8, None)]


def test_figure_5_4_b_two_running_situations_do_not_end_together_yet():
    """At the start and the end of B, C and D both run."""
    line = "A 0-2, B 7-9, C 4-{}, D 6-{}"
    assert found(pattern(SAMPLE), timeline(line.format(12, 12), until=15)) == [(12, 0, 2, 7, 9, 4, 12, 6, 12)]
    assert found(pattern(SAMPLE), timeline(line.format(12, 11), until=15)) == [(11, 0, 2, 7, 9, 4, None, 6, 11)]
    assert found(pattern(SAMPLE), timeline(line.format(12, 13), until=15)) == []
    assert found(pattern(SAMPLE), timeline(line.format("", ""), until=15)) == []


def test_figure_5_4_c_two_running_situations_that_nothing_relates():
    line = timeline("A 0-2, B 4-12, C 5-13, D 7-9")
    assert found(pattern(SAMPLE), line) == [(9, 0, 2, 4, None, 5, None, 7, 9)]


def test_figure_5_4_detection_waits_for_b_to_begin():
    line = timeline("A 0-2, B 11-12, C 5-10, D 7-9")
    assert found(pattern(SAMPLE), line) == [(11, 0, 2, 11, None, 5, 10, 7, 9)]


# ------------------------------------------------------------------------------------------------------------ durations


def test_the_deferred_start_of_section_5_5_3():
    """A during B, and B long enough only some time after A has ended."""
    long_b = define("B", at_least=7)
    assert detected(pattern("A during B", long_b), "A 3-5, B 1-12") == [8]
    assert detected(pattern("A during B", long_b), "A 3-5, B 1-8") == [8]
    assert detected(pattern("A during B", long_b), "A 3-5, B 1-7", until=12) == []
    assert detected(pattern("A during B", long_b), "A 3-9, B 1-12") == [9]


def test_long_enough_is_certain_at_the_first_event_that_shows_it():
    """Times between events are not times of detection; and an event may follow sooner than a second later."""
    query = pattern("A before B", define("B", at_least=5))
    assert detected(query, "A 0-2, B 4-", times=[0, 1, 2, 4, 8, 11, 12]) == [11]
    assert detected(query, "A 0-2, B 4-11", times=[0, 1, 2, 4, 8, 11, 12]) == [11]
    assert detected(query, "A 0-2, B 4-", times=[0, 1, 2, 4, 8, 9, 11]) == [9]
    assert detected(query, "A 0-2, B 4-", times=[0, 1, 2, 4, 8]) == []


def test_short_enough_is_certain_at_the_end_only():
    query = pattern("A before B", define("B", at_most=5))
    assert detected(query, "A 0-2, B 4-7") == [7]
    assert detected(query, "A 0-2, B 4-9") == [9]
    assert detected(query, "A 0-2, B 4-10", until=20) == []
    assert detected(query, "A 0-2, B 4-", until=20) == []


def test_the_futures_of_one_running_situation():
    ends = possible_ends(4, [9, 3])
    assert min(ends) > 4
    assert 9 in ends
    assert any(4 < end < 5 for end in possible_ends(4, [5]))
    assert max(ends) == float("inf")
    assert not length_is_certain(define("A", at_least=5), Known(0, None), 4)
    assert length_is_certain(define("A", at_least=5), Known(0, None), 5)
    assert not length_is_certain(define("A", at_most=500), Known(0, None), 5)


def test_what_running_situations_can_still_become():
    """For each knowledge about two begun situations, the relations that are possible are the smallest certain set."""
    possible = {
        (Known(0, None), Known(0, None)): {"starts", "equals", "started-by"},
        (Known(0, None), Known(2, None)): {"overlaps", "finished-by", "contains"},
        (Known(2, None), Known(0, None)): {"overlapped-by", "finishes", "during"},
        (Known(0, 5), Known(2, None)): {"overlaps"},
        (Known(0, 5), Known(5, None)): {"meets"},
        (Known(0, 3), Known(5, None)): {"before"},
        (Known(0, None), Known(2, 5)): {"contains"},
        (Known(0, None), Known(0, 5)): {"started-by"},
    }
    for (left, right), relations in possible.items():
        assert constraint_is_certain(tuple(sorted(relations)), left, right, 5)
        for missing in relations:
            assert not constraint_is_certain(tuple(set(RELATIONS) - {missing}), left, right, 5)


# -------------------------------------------------------------------------------------------- names, windows, the end


def test_names_that_no_constraint_relates_are_free_but_must_have_begun():
    query = pattern("A before B", define("C"))
    assert detected(query, "A 0-2, B 4-6, C 8-9") == [8]
    assert detected(query, "A 0-2, B 4-6, C 0-9, C 10-11") == [4, 10]
    assert detected(query, "A 0-2, B 4-6, C 3-4, A 7-8") == [4]
    assert detected(pattern("A before B", define("C", at_least=3)), "A 0-2, B 4-6, C 8-", until=12) == [11]


def test_every_combination_is_reported_once():
    query = pattern("A before B")
    line = timeline("A 0-1, A 2-3, B 4-5, B 6-9")
    assert found(query, line) == [(4, 0, 1, 4, None), (4, 2, 3, 4, None), (6, 0, 1, 6, None), (6, 2, 3, 6, None)]


def test_the_window_reaches_from_the_first_start_to_the_time_of_the_row():
    line = "A 0-2, B 4-9"
    assert detected(pattern("A before B", within=4), line) == [4]
    assert detected(pattern("A before B", within=3), line) == []
    assert detected(pattern("A before B", within=9, at_end=True), line) == [9]
    assert detected(pattern("A before B", within=8, at_end=True), line) == []


def test_at_the_end_of_the_input_running_situations_stay_running():
    line = "A 0-4, B 2-"
    assert found(pattern("A overlaps B"), timeline(line, until=6)) == [(4, 0, 4, 2, None)]
    assert found(pattern("A overlaps B", at_end=True), timeline(line, until=6)) == []
    assert found(pattern("A overlaps B"), timeline(line, until=3)) == []


def test_both_ends_at_one_event():
    assert detected(pattern("A finishes; starts B"), "A 2-5, B 0-5") == [5]
    assert detected(pattern("A equals B"), "A 2-5, B 2-5") == [5]
    assert detected(pattern("A equals B"), "A 2-5, B 2-6") == []
