"""AFTER MATCH SKIP and PER START with conditions on whole matches: the first trend of each beginning that meets them is
found without building all of them."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as hs

import trendweave
from tests.profiles import examples
from tests.reference.comparer import assert_same_rows
from tests.reference.pattern import Event, Not, seq, variable_types
from tests.reference.query import LENGTH, Aggregate, Query, text
from tests.reference.results import rows
from tests.reference.streams import FRUITFUL, fruitful_streams, queries, queries_and_streams
from tests.reference.trend_rows import each_rows, shown_text, trend_rows
from tests.runners.pieces import in_pieces
from tests.runners.reference_tables import rows_of, table_of
from tests.runners.test_local_against_reference import planned
from tests.runners.test_trends_against_reference import PLAIN, counted
from tests.runners.test_trends_against_reference import planned as list_planned
from trendweave.kernel_cache import kernel
from trendweave.planning.ways import takes_directly
from trendweave.programs.trends.lists import listing, walking
from trendweave.programs.trends.lists import taking as judging

base = {"empty": False, "conjunction": False, "choice": True, "whole": True}
CLAUSES = [
    *("LONGEST PER START", "SHORTEST PER START", "AFTER MATCH SKIP PAST LAST EVENT", "AFTER MATCH SKIP TO NEXT EVENT"),
    *("AFTER MATCH SKIP TO FIRST b", "AFTER MATCH SKIP TO LAST b"),
    *("AFTER MATCH SKIP PAST LAST EVENT SHORTEST PER START", "AFTER MATCH SKIP TO LAST b SHORTEST PER START"),
]
CONDITIONS = [
    *("COUNT(b) >= 3", "COUNT(a) = 2", "3 > COUNT(b)", "COUNT(b) BETWEEN 2 AND 3", "SUM(b.x) > 7", "SUM(b.x) < 5"),
    *("SUM(a.y) > 0", "AVG(b.x) > 2", "MAX(b.x) < 4", "MIN(a.x) > 0", "FIRST(a.x) > 1", "LAST(b.x) > FIRST(a.x)"),
    *("SUM(b.x) IS NULL", "(SUM(b.x) = 4 OR COUNT(a) > 3)", "COUNT(b) != 2", "SUM(b.x) = 6", "LAST(b.s) = FIRST(a.s)"),
]


@pytest.fixture(params=["small", "as they are"])
def blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few beginnings are judged at once, and few of their trends walked. Room for many is no reason to compile."""
    monkeypatch.setattr(kernel, "MOST_ELEMENTS", math.inf)
    if request.param == "small":
        monkeypatch.setattr(judging, "_FEWEST_STARTS", 1)
        monkeypatch.setattr(judging, "_SOME_STARTS", 2)
        monkeypatch.setattr(judging, "_MOST_STARTS", 3)
        monkeypatch.setattr(judging, "_CANDIDATES", 3)
        monkeypatch.setattr(judging, "_FIRST_CANDIDATES", 1)
        monkeypatch.setattr(walking, "TRENDS_AT_ONCE", 3)
        monkeypatch.setattr(walking, "VERTICES_AT_ONCE", 5)


@pytest.mark.usefixtures("blocks")
@given(queries_and_streams(**base, lists=True))
@examples(120)
def test_lists(case: tuple[Query, list[dict]]) -> None:
    query, events = case
    asked = list_planned(shown_text(query, "TRENDS(x, s)"))
    assert counted(rows_of(asked.run(table_of(events)))) == counted(trend_rows(query, events, PLAIN)), str(asked)


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("whole", [False, True])
@given(data=hs.data())
@examples(60)
def test_lists_with_anchors(whole: bool, data: hs.DataObject) -> None:
    """Events are copied into lanes, each with an own vertex."""
    query, events = data.draw(queries_and_streams(**{**base, "whole": whole}, anchors=True, lists=True))
    asked = list_planned(shown_text(query, "TRENDS(x, s)"))
    assert counted(rows_of(asked.run(table_of(events)))) == counted(trend_rows(query, events, PLAIN)), str(asked)


@hs.composite
def absences(draw: hs.DrawFn, whole: bool) -> tuple[Query, list[dict]]:
    """A leading NOT under WITHIN alone."""
    pattern = seq(Not(Event("N", "n")), draw(hs.sampled_from(FRUITFUL)))
    query = draw(queries(conjunction=False, lists=True, choice=True, whole=whole, moving=True, pattern=pattern))
    return query, draw(fruitful_streams(pattern))


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("whole", [False, True])
@given(data=hs.data())
@examples(60)
def test_lists_after_an_absence(whole: bool, data: hs.DataObject) -> None:
    """Whether the time before a match is clean depends on its last event."""
    query, events = data.draw(absences(whole))
    asked = list_planned(shown_text(query, "TRENDS(x, s)"))
    assert counted(rows_of(asked.run(table_of(events)))) == counted(trend_rows(query, events, PLAIN)), str(asked)


@pytest.mark.usefixtures("blocks")
@given(queries_and_streams(**base, lists=True))
@examples(60)
def test_one_row_per_match(case: tuple[Query, list[dict]]) -> None:
    query, events = case
    variables = sorted(variable_types(query.pattern))
    one, other = variables[0], variables[-1]
    outputs = (
        Aggregate(LENGTH, name="n"), Aggregate("SUM", one, "x"), Aggregate("MIN", other, "y"),
        Aggregate("LAST", other, "s"),
    )  # fmt: skip
    written = f"EACH LENGTH AS n, SUM({one}.x), MIN({other}.y), LAST({other}.s)"
    asked = list_planned(shown_text(query, written))
    assert_same_rows(each_rows(query, events, outputs), rows_of(asked.run(table_of(events))), str(asked))


@pytest.mark.usefixtures("blocks")
@given(queries_and_streams(**base))
@examples(60)
def test_aggregates(case: tuple[Query, list[dict]]) -> None:
    query, events = case
    assert_same_rows(rows(query, events), rows_of(planned(query).run(table_of(events))), text(query))


@pytest.mark.usefixtures("blocks")
@given(queries_and_streams(**base, lists=True, windowed=True), hs.data())
@examples(60)
def test_lists_piece_by_piece(case: tuple[Query, list[dict]], data: hs.DataObject) -> None:
    query, events = case
    asked = list_planned(shown_text(query, "TRENDS(x, s)"))
    assert counted(in_pieces(asked, events, data)) == counted(trend_rows(query, events, PLAIN)), str(asked)


def make_events(seed: int, count: int, ties: bool, below_zero: bool) -> pa.Table:
    """Whole numbers, some unknown, of two keys."""
    draw = np.random.default_rng(seed)
    return pa.table(
        {
            "time": np.cumsum(draw.choice([0, 1, 1, 2] if ties else [1, 1, 2], count)),
            "type": draw.choice(["A", "B", "C"], count, p=[0.5, 0.4, 0.1]),
            "k": draw.integers(0, 2, count),
            "x": pa.array(draw.integers(-2 if below_zero else 0, 5, count), mask=draw.random(count) < 0.1),
            "y": draw.integers(-4, 5, count) / 4,
            "s": draw.choice(["p", "q"], count),
        }
    )


PATTERNS = ["SEQ(A a+, B b+)", "(SEQ(A a, B b))+", "SEQ(A a+, A b*)", "SEQ(A a, ANY b+)", "SEQ(A a?, B b{1,3}, A c?)"]
WINDOWS = ["", "", "WITHIN 9 seconds", "WITHIN 12 seconds SLIDE 5 seconds", "WITHIN SESSION 2 seconds"]
RETURNED = ["TRENDS(x, s)", "EACH LENGTH, FIRST(b.time) AS since, SUM(a.x) AS sum"]


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("semantics", ["skip-till-next-match", "contiguous"])
@given(data=hs.data())
@examples(100)
def test_the_same_as_of_all_trends(semantics: str, data: hs.DataObject) -> None:
    """Longer streams, on which the selection among all trends is the judge."""
    draw = data.draw
    conditions = draw(hs.lists(hs.sampled_from(CONDITIONS), min_size=1, max_size=2))
    pattern = draw(hs.sampled_from(PATTERNS))
    edge = draw(hs.sampled_from(["", "AND b.x <= NEXT(b).x"])) if "B b)" not in pattern else ""
    asked = trendweave.query(
        f"RETURN {draw(hs.sampled_from(RETURNED))} PATTERN {pattern} SEMANTICS {semantics} "
        f"WHERE {draw(hs.sampled_from(['[k] AND ', '']))}{' AND '.join(conditions)} {edge} "
        f"{draw(hs.sampled_from(WINDOWS))} {draw(hs.sampled_from(CLAUSES))}"
    )
    assert takes_directly(asked.plan)
    events = make_events(
        draw(hs.integers(0, 10**6)), draw(hs.integers(1, 40)), draw(hs.booleans()), draw(hs.booleans())
    )
    found = counted(rows_of(asked.run(events)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(listing, "takes_directly", lambda plan: False)
        patch.setattr(listing, "takes_by_folding", lambda plan: False)
        assert found == counted(rows_of(asked.run(events))), f"{asked}\n{events.to_pylist()}"


@pytest.mark.parametrize("window", ["", "WITHIN 1 day SLIDE 1 day"])
@pytest.mark.parametrize("semantics", ["skip-till-next-match", "contiguous"])
@pytest.mark.parametrize(
    ("condition", "clause", "expected"),
    [
        ("COUNT(A) > 2000", "LONGEST PER START", 2000),
        ("COUNT(A) > 4000", "SHORTEST PER START", 0),
        ("SUM(A.x) > 2000", "AFTER MATCH SKIP PAST LAST EVENT", 1),
        ("SUM(A.x) > 4000", "LONGEST PER START", 0),
        ("SUM(A.x) < 10", "LONGEST PER START", 4000),
        ("COUNT(A) = 10", "AFTER MATCH SKIP PAST LAST EVENT", 400),
        ("COUNT(A) BETWEEN 5 AND 10", "SHORTEST PER START", 3996),
        ("COUNT(A) >= 4 AND LAST(A.y) > FIRST(A.y)", "AFTER MATCH SKIP PAST LAST EVENT", 1),
    ],
)
def test_few_are_looked_at(semantics: str, window: str, condition: str, clause: str, expected: int) -> None:
    # There are 8 million matches, of which at most 100 times as many may be looked at as are shown.
    count = 4_000
    events = pa.table({"time": np.arange(count), "type": ["A"] * count, "x": [1] * count, "y": np.arange(count)})
    query = f"RETURN EACH COUNT(A) AS n PATTERN A+ WHERE {condition} SEMANTICS {semantics} {window} {clause}"
    assert trendweave.query(query).run(events, max_trends=4000).num_rows == expected
