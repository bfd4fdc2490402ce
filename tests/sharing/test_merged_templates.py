"""Merged templates: the prefix tree and stretches of A-Seq, Kleene parts of HAMLET, and what must stay apart."""

from __future__ import annotations

from time import process_time

import pytest

import trendweave
from trendweave.sharing.graphlets import Graphlets, merge_queries, share_graphlets
from trendweave.sharing.merged import MergedQueries
from trendweave.sharing.show import describe_merged, describe_part
from trendweave.sharing.units import plan_sharing

WINDOW = "WITHIN 20 seconds SLIDE 10 seconds"
KINDLES = {
    "Q1": "SEQ(VKindle, BKindle, VCase, BCase)",
    "Q2": "SEQ(VKindle, BKindle, VKindleFire)",
    "Q3": "SEQ(VKindle, BKindle, VCase, BCase, VeBook, BeBook)",
    "Q4": "SEQ(VKindle, BKindle, VCase, BCase, VLight, BLight)",
    "Q5": "SEQ(ViPad, VKindleFire, VKindle, BKindle)",
}


def plans_of(*patterns: str, returns: str = "COUNT(*)") -> list:
    return [
        trendweave.query(text if "RETURN" in text else f"RETURN {returns} PATTERN {text} {WINDOW}").plan
        for text in patterns
    ]


def merge(*patterns: str) -> MergedQueries:
    plans = plans_of(*patterns)
    unit = merge_queries(plans, range(len(plans)))
    assert unit is not None
    assert unit.members == tuple(range(len(plans))), "all have something in common"
    return unit.merged


def parts_of(merged: MergedQueries) -> dict[str, tuple[int, ...]]:
    """Common parts by their types, with the queries that use them."""
    found = {describe_part(merged, part): merged.queries_of(part) for part in merged.common}
    assert len(found) == len(merged.common), "no type is in two common parts"
    return found


def beginnings(merged: MergedQueries) -> list[tuple[str, int]]:
    """Types of common states, and how many queries use each."""
    return [(merged.states[state].reading.type, len(merged.states[state].queries)) for state in merged.prefixes]


# ------------------------------------------------------------------------------------------------------ A-Seq


def test_tree_of_example_7() -> None:
    """Figure 9: Q1 to Q4 share their first two types, Q1, Q3 and Q4 four: 9 states in place of 19."""
    merged = merge(*(pattern for name, pattern in KINDLES.items() if name != "Q5"))
    assert sum(map(len, merged.places)) == 19
    assert len(merged.states) == 9
    assert beginnings(merged) == [("VKindle", 4), ("BKindle", 4), ("VCase", 3), ("BCase", 3)]
    assert merged.finals[0] == (merged.places[2][3],), "Q1 ends in the middle of Q3"
    assert merged.common == ()


def test_stretch_of_example_6() -> None:
    """Q5 has (VKindle, BKindle) at its end, which the others have in front."""
    merged = merge(*KINDLES.values())
    everybody = (0, 1, 2, 3, 4)
    assert parts_of(merged) == {"VKindle": everybody, "BKindle": everybody, "VKindleFire": (1, 4)}


def test_stretches_of_examples_8_and_9() -> None:
    """(A, B, C, D, E, F, G) has (D, E) and (F, G) in common with others: multi-connect."""
    merged = merge("SEQ(A, B, C, D, E, F, G)", "SEQ(X, D, E)", "SEQ(Y, F, G, Z)")
    assert parts_of(merged) == {"D": (0, 1), "E": (0, 1), "F": (0, 2), "G": (0, 2)}
    assert merge("SEQ(A, B, C, D, E)", "SEQ(X, D, E)").prefixes == ()


def test_the_longest_stretch_is_found() -> None:
    merged = merge("SEQ(A, B, C, D, X)", "SEQ(Y, A, B, C, D)", "SEQ(Z, A, B, C, D, W)")
    assert parts_of(merged) == dict.fromkeys("ABCD", (0, 1, 2))


def test_parts_of_few_and_of_many() -> None:
    """(T+, Y) is common to two queries, T+ to five: bursts of T are computed once for all five."""
    merged = merge("SEQ(A, T+, Y)", "SEQ(B, T+, Y)", *(f"SEQ({name}, T+)" for name in "CDE"))
    assert parts_of(merged) == {"T+": (0, 1, 2, 3, 4), "Y": (0, 1)}


# ----------------------------------------------------------------------------------------------- Kleene parts


@pytest.mark.parametrize(
    ("core", "written"),
    [
        ("B+", {"B+"}),
        ("(SEQ(B, C))+", {"B", "C"}),
        ("(SEQ(B, C, D))+", {"B", "C", "D"}),
        ("(SEQ(B+, C))+", {"B+", "C"}),
        ("(SEQ(B, NOT N, C))+", {"B", "C"}),
    ],
)
def test_kleene_parts_after_other_beginnings(core: str, written: set[str]) -> None:
    merged = merge(f"SEQ(A, {core})", f"SEQ(E, {core})", f"SEQ(F, {core})")
    assert parts_of(merged) == dict.fromkeys(written, (0, 1, 2))
    assert merged.prefixes == ()


def test_patterns_in_other_windows_have_all_parts_in_common() -> None:
    windows = (
        "WITHIN 20 seconds SLIDE 10 seconds",
        "WITHIN 20 seconds SLIDE 20 seconds",
        "WITHIN 5 seconds SLIDE 5 seconds",
    )
    merged = merge(*(f"RETURN COUNT(*) PATTERN SEQ(A, B+, C) {window}" for window in windows))
    assert len(merged.windows) == 3
    assert parts_of(merged) == {"A": (0, 1, 2), "B+": (0, 1, 2), "C": (0, 1, 2)}


def test_other_local_conditions_are_other_variables_of_one_part() -> None:
    queries = [f"RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE B.x > {limit} {WINDOW}" for limit in (1, 2, 3)]
    merged = merge(*queries)
    assert beginnings(merged) == [("A", 3)]
    assert parts_of(merged) == {"B+": (0, 1, 2)}
    assert len({state.reading for state in merged.states}) == 4


def test_loops_of_common_beginnings_are_one_state() -> None:
    merged = merge("SEQ((SEQ(A+, B))+, C)", "SEQ((SEQ(A+, B))+, D)", "(SEQ(A+, B))+")
    assert beginnings(merged) == [("A", 3), ("B", 3)]
    assert len(merged.states) == 4


def test_a_part_is_apart_from_what_goes_into_it() -> None:
    """Two loops of T, of which one leads into the other, are not computed together."""
    merged = merge("SEQ(T a+, T b+)", "SEQ(C, T+)")
    assert len(merged.common) == 1
    for part in merged.parts:
        for step in merged.steps:
            assert step.source == step.target or not {step.source, step.target} <= set(part)


def test_other_nots_keep_states_apart() -> None:
    merged = merge("SEQ(A, NOT N, B)", "SEQ(A, NOT M, B)", "SEQ(A, B)", "SEQ(A, NOT N, B, C)")
    assert beginnings(merged) == [("A", 4), ("B", 2)]
    assert {step.blocker.type for step in merged.steps if step.blocker is not None} == {"N", "M"}


# ---------------------------------------------------------------------------------------------- what is measured


def test_measures_do_not_keep_states_apart() -> None:
    """SUM(A.x) and SUM(B.x) over common states are two measures; with another beginning, one serves both."""
    common = plans_of(*(f"RETURN SUM({name}.x) AS s PATTERN SEQ(A, B+) {WINDOW}" for name in "AB"))
    unit = merge_queries(common, [0, 1])
    assert unit is not None
    assert len(unit.merged.states) == 2
    assert sorted(unit.measures.places) == [(0,), (1,)]
    other = plans_of(*(f"RETURN SUM(B.x) AS s PATTERN SEQ({name}, B+) {WINDOW}" for name in "AE"))
    unit = merge_queries(other, [0, 1])
    assert unit is not None
    assert [(column.function, column.path) for column in unit.measures.columns] == [("SUM", ("x",))]
    assert unit.measures.reads == ((0,), (0,))


def test_who_counts_trends_does_not_pay_for_a_sum() -> None:
    counts = [f"RETURN COUNT(*) PATTERN SEQ({name}, T+) {WINDOW}" for name in "ABCDEFGH"]
    summed = [f"RETURN SUM(T.x) AS s PATTERN SEQ({name}, T+) {WINDOW}" for name in "XY"]
    units = share_graphlets(plans := plans_of(*counts, *summed), list(range(10)))
    assert [unit.members for unit in units] == [tuple(range(8)), (8, 9)]
    units = share_graphlets(plans, [0, 1, 8, 9])
    assert [unit.members for unit in units] == [(0, 1, 8, 9)], "few of each are better off together"


# ------------------------------------------------------------------------------------------------ what is alone

NOTHING = "of the queries that could be merged with it, none has a part of its pattern under the same keys"
ALONE = {
    f"RETURN TRENDS(B.x) PATTERN SEQ(A, B+) {WINDOW}": "it shows trends one by one",
    f"RETURN COUNT(*) PATTERN SEQ(A, B+) SEMANTICS contiguous {WINDOW}": "its strategy is contiguous",
    "RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 20 seconds": "its windows depend on the events",
    "RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 65 hours SLIDE 1 hour": "an event lies in more than 64 of its windows",
    "RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN SESSION 20 seconds": "its windows depend on the events",
    f"RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE B.x < NEXT(B).x {WINDOW}": (
        "it compares neighbouring events, and no other query could share the search for them"
    ),
    f"RETURN COUNT(*) PATTERN SEQ(A, B+, NOT C) {WINDOW}": "it has NOT at the beginning or the end",
    f"RETURN COUNT(*) PATTERN SEQ(A, NOT SEQ(C, D), B+) {WINDOW}": "it has NOT of more than one event",
    f"RETURN COUNT(DISTINCT B.x) PATTERN SEQ(A, B+) {WINDOW}": "it asks for DISTINCT, LENGTH or a spread",
    f"RETURN COUNT(*) PATTERN SEQ(X, Y) {WINDOW}": NOTHING,
    f"RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE [k] {WINDOW}": NOTHING,
}


@pytest.mark.parametrize("text", ALONE)
def test_why_a_query_is_alone(text: str) -> None:
    shared = plans_of("SEQ(A, B+)", "SEQ(C, B+)")
    plan = plan_sharing([*shared, trendweave.query(text).plan])
    assert [unit.members for unit in plan.units] == [(0, 1), (2,)]
    assert plan.units[1].reason == ALONE[text]  # type: ignore[union-attr]


RULE = {
    "return": "COUNT(*)",
    "pattern": "SEQ(A a, B b+)",
    "where": "b.x < NEXT(b).x AND a.x > 1",
    "semantics": "",
    "group": "",
    "window": "WITHIN 20 seconds SLIDE 10 seconds",
}
WITHOUT_EDGES = {**RULE, "where": "a.x > 1"}
NEXT_MATCH = {**WITHOUT_EDGES, "semantics": "SEMANTICS skip-till-next-match"}
SEARCH = "of the queries that could share its search for neighbours, none"
MERGED = "of the queries that could be merged with it,"
#: Two rules, of which the second differs in one thing, and why each is alone; None where they are computed together.
PAIRS: list[tuple[dict[str, str], str, str, str | None, str | None]] = [
    (RULE, "window", "WITHIN 30 seconds SLIDE 10 seconds", f"{SEARCH} has its windows", f"{SEARCH} has its windows"),
    (RULE, "window", "WITHIN 20 seconds SLIDE 5 seconds", f"{SEARCH} has its windows", f"{SEARCH} has its windows"),
    (RULE, "window", "", f"{SEARCH} has its windows", f"{SEARCH} has its windows"),
    (RULE, "window", "WITHIN 20 seconds", "no other query could share", "its windows depend on the events"),
    (RULE, "where", "b.x > NEXT(b).x AND a.x > 1", "asks the same of two events", "asks the same of two events"),
    (RULE, "where", "b.x < NEXT(b).x AND a.x > 2", None, None),
    (
        RULE,
        "semantics",
        "SEMANTICS skip-till-next-match",
        f"{SEARCH} has its strategy",
        "its strategy is skip-till-next",
    ),
    (RULE, "group", "GROUP-BY g", f"{SEARCH} has its keys", f"{SEARCH} has its keys"),
    (RULE, "pattern", "SEQ(C a, D b+)", "asks the same of two events", "asks the same of two events"),
    (RULE, "return", "COUNT(*), MAX(b.y)", None, None),
    (RULE, "return", "EACH LENGTH", "no other query could share", "it shows trends one by one"),
    (WITHOUT_EDGES, "window", "WITHIN 30 seconds SLIDE 5 seconds", None, None),
    (
        WITHOUT_EDGES,
        "window",
        "",
        f"{MERGED} those under its keys have no windows",
        "those under its keys have windows",
    ),
    (
        WITHOUT_EDGES,
        "window",
        "WITHIN 20 seconds",
        "no other query could be merged",
        "its windows depend on the events",
    ),
    (WITHOUT_EDGES, "where", "a.x > 2", None, None),
    (
        WITHOUT_EDGES,
        "semantics",
        "SEMANTICS contiguous",
        "no other query could be merged",
        "its strategy is contiguous",
    ),
    (WITHOUT_EDGES, "group", "GROUP-BY g", f"{MERGED} none has a part", f"{MERGED} none has a part"),
    (WITHOUT_EDGES, "pattern", "SEQ(C a, D b+)", f"{MERGED} none has a part", f"{MERGED} none has a part"),
    (WITHOUT_EDGES, "return", "COUNT(*), MAX(b.y), SUM(b.x), MIN(b.z)", "none with such aggr", "none with such aggr"),
    (
        NEXT_MATCH,
        "window",
        "WITHIN 30 seconds SLIDE 10 seconds",
        f"{SEARCH} has its windows",
        f"{SEARCH} has its windows",
    ),
    (
        NEXT_MATCH,
        "window",
        "WITHIN 20 seconds",
        "its strategy is skip-till-next-match",
        "its windows depend on the events",
    ),
    (NEXT_MATCH, "where", "a.x > 2", None, None),
    (
        NEXT_MATCH,
        "semantics",
        "SEMANTICS contiguous",
        "its strategy is skip-till-next-match",
        "its strategy is contiguous",
    ),
    (NEXT_MATCH, "group", "GROUP-BY g", f"{SEARCH} has its keys", f"{SEARCH} has its keys"),
    (NEXT_MATCH, "pattern", "SEQ(C a, D b+)", "asks the same of two events", "asks the same of two events"),
]


@pytest.mark.parametrize(("rule", "clause", "other", "why", "why_other"), PAIRS)
def test_two_rules_that_differ_in_one_thing(
    rule: dict[str, str], clause: str, other: str, why: str | None, why_other: str | None
) -> None:
    """The reason names that thing, or is about a rule by itself."""
    texts = [
        "RETURN {return} PATTERN {pattern} WHERE {where} {semantics} {group} {window}".format(**one)
        for one in (rule, {**rule, clause: other})
    ]
    units = plan_sharing([trendweave.query(text).plan for text in texts]).units
    if why is None or why_other is None:
        assert [unit.members for unit in units] == [(0, 1)]
        return
    assert [unit.members for unit in units] == [(0,), (1,)]
    for unit, told in zip(units, (why, why_other), strict=True):
        assert told in unit.reason  # type: ignore[union-attr]


def test_words() -> None:
    merged = merge(*KINDLES.values())
    assert dict(describe_merged(merged)) == {
        "states": "13 of 23; 4 of beginnings that queries share",
        "part BKindle": "of 5 queries",
        "part VKindle": "of 5 queries",
        "part VKindleFire": "of 2 queries",
    }


def test_a_thousand_queries_are_planned_at_once() -> None:
    plans = plans_of(
        *(
            f"RETURN COUNT(*) PATTERN SEQ(X{number % 40}, T+, Y{number % 37}) "
            f"WITHIN {number % 7 + 1} minutes SLIDE 1 minutes"
            for number in range(1_000)
        )
    )
    began = process_time()
    units = share_graphlets(plans, list(range(1_000)))
    assert process_time() - began < 2
    assert len(units) == 1
    assert isinstance(units[0], Graphlets)
    assert parts_of(units[0].merged)["T+"] == tuple(range(1_000))
