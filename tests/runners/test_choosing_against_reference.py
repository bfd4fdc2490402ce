"""AFTER MATCH SKIP, PER START, conditions on whole matches, complete aggregates and ROWS against the reference twin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable

import pytest
from hypothesis import given
from hypothesis import strategies as hs

from tests.profiles import examples
from tests.reference.comparer import assert_same_rows
from tests.reference.pattern import variable_types
from tests.reference.query import LENGTH, Aggregate, Attribute, Moving, Query, text
from tests.reference.results import rows
from tests.reference.streams import queries_and_streams
from tests.reference.trend_rows import each_rows, flat_rows, shown_text, trend_rows
from tests.runners.pieces import in_pieces
from tests.runners.reference_tables import rows_of, table_of
from tests.runners.test_local_against_reference import planned
from tests.runners.test_trends_against_reference import PLAIN, counted, identity
from tests.runners.test_trends_against_reference import planned as list_planned
from trendweave.programs.trends.lists import contiguous as contiguous_lists

base = {"empty": False, "conjunction": False}
kinds = {
    "choice": {"choice": True},
    "whole": {"whole": True},
    "complete": {"complete": True},
    "all": {"choice": True, "whole": True, "complete": True},
}


def complete_text(query: Query) -> str:
    return "COMPLETE " if query.complete else ""


@pytest.mark.parametrize("kind", kinds)
@given(data=hs.data())
@examples(60)
def test_lists(kind: str, data: hs.DataObject) -> None:
    query, events = data.draw(queries_and_streams(**base, **kinds[kind], lists=True))
    asked = list_planned(shown_text(query, f"{complete_text(query)}TRENDS(x, s)"))
    assert counted(rows_of(asked.run(table_of(events)))) == counted(trend_rows(query, events, PLAIN)), str(asked)


@given(queries_and_streams(**base, choice=True, lists=True), hs.sampled_from([0, 64]))
@examples(100)
def test_one_row_per_match(case: tuple[Query, list[dict]], listed_per_row: int) -> None:
    """Also where matches overlap so much that their events are not listed."""
    query, events = case
    variables = sorted(variable_types(query.pattern))
    one, other = variables[0], variables[-1]
    outputs = (
        Aggregate(LENGTH, name="n"), Aggregate("COUNT", one), Aggregate("SUM", one, "x"), Aggregate("AVG", other, "y"),
        Aggregate("MIN", one, "y"), Aggregate("MAX", other, "x"), Aggregate("FIRST", one, "s"),
        Aggregate("LAST", other, "s"),
    )  # fmt: skip
    written = ["LENGTH AS n", f"COUNT({one})"]
    written += [f"{output.function}({output.variable}.{output.attribute})" for output in outputs[2:]]
    asked = list_planned(shown_text(query, f"EACH {', '.join(written)}"))
    expected = each_rows(query, events, outputs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contiguous_lists, "_LISTED_PER_ROW", listed_per_row)
        assert_same_rows(expected, rows_of(asked.run(table_of(events))), str(asked))


@pytest.mark.parametrize("kind", ["choice", "complete", "all"])
@given(data=hs.data())
@examples(60)
def test_aggregates(kind: str, data: hs.DataObject) -> None:
    query, events = data.draw(queries_and_streams(**base, **kinds[kind]))
    assert_same_rows(rows(query, events), rows_of(planned(query).run(table_of(events))), text(query))


@given(queries_and_streams(**base, **kinds["all"], lists=True, windowed=True), hs.data())
@examples(60)
def test_lists_piece_by_piece(case: tuple[Query, list[dict]], data: hs.DataObject) -> None:
    query, events = case
    asked = list_planned(shown_text(query, f"{complete_text(query)}TRENDS(x, s)"))
    assert counted(in_pieces(asked, events, data)) == counted(trend_rows(query, events, PLAIN)), str(asked)


@given(queries_and_streams(**base, **kinds["all"], windowed=True), hs.data())
@examples(60)
def test_aggregates_piece_by_piece(case: tuple[Query, list[dict]], data: hs.DataObject) -> None:
    query, events = case
    assert_same_rows(rows(query, events), in_pieces(planned(query), events, data), text(query))


@given(queries_and_streams(empty=False, conjunction=False, lists=True, complete=True))
@examples(60)
def test_one_row_per_event(case: tuple[Query, list[dict]]) -> None:
    query, events = case
    asked = list_planned(shown_text(query, f"{complete_text(query)}ROWS(x, y)"))
    found = rows_of(asked.run(table_of(events)))
    expected = flat_rows(query, events, (Attribute("x"), Attribute("y")))
    without = [{name: row[name] for name in row if name != "match"} for row in found]
    assert counted(without) == counted([row for match in expected for row in match]), str(asked)
    hidden = {a.name for a in query.equivalence if a.variable is None} - {
        a.name for a in query.group_by if a.variable is None
    }
    if hidden:
        return
    event_time = "event_time" if isinstance(query.window, Moving) else "time"
    matches: dict[Hashable, list[dict]] = {}
    for row, event in zip(found, without, strict=True):
        place = [row[name] for name in row if name not in ("variable", event_time, "type", "x", "y")]
        matches.setdefault(identity(place), []).append(event)
    assert Counter(identity(match) for match in matches.values()) == Counter(map(identity, expected)), str(asked)
