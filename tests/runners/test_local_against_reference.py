"""The in-process runner against the reference twin: random queries on random streams, all features crossed."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import assume, given
from hypothesis import strategies as hs

import trendweave
from tests.profiles import examples
from tests.reference.comparer import assert_same_rows
from tests.reference.query import Query, text
from tests.reference.results import rows
from tests.reference.streams import queries_and_streams
from tests.runners.forced import run_forced
from tests.runners.reference_tables import rows_of, table_of
from trendweave.errors import PlanningError

#: What the planner refuses although it is legal, with the reason in its error.
REFUSED = {"TW206", "TW207", "TW209", "TW223", "TW211", "TW234"}


def planned(query: Query) -> trendweave.Query:
    try:
        return trendweave.query(text(query))
    except PlanningError as refused:
        assert {problem.code for problem in refused.problems} <= REFUSED, refused  # noqa: PT017
        assume(False)
        raise


@given(queries_and_streams(negation=False, empty=False))
@examples(300)
def test_queries_without_negation(case: tuple[Query, list[dict]]) -> None:
    query, events = case
    assert_same_rows(rows(query, events), rows_of(planned(query).run(table_of(events))), text(query))


@given(queries_and_streams(empty=False), hs.data())
@examples(150)
def test_every_way_of_summing_gives_the_same_rows(case: tuple[Query, list[dict]], data: hs.DataObject) -> None:
    """Each way that a kernel knows is forced in turn; order of rows and chunks of the table make no difference."""
    query, events = case
    expected = rows(query, events)
    asked = planned(query)
    for way in (None, "general", "scan"):
        table = table_of(data.draw(hs.permutations(events)))
        cut = data.draw(hs.integers(0, len(events)))
        chunked = pa.concat_tables([table.slice(0, cut), table.slice(cut)])
        found = run_forced(asked, chunked, way)
        assert_same_rows(expected, rows_of(found), f"{way}: {text(query)}")


@given(queries_and_streams(negation=True, empty=False))
@examples(200)
def test_queries_with_negation(case: tuple[Query, list[dict]]) -> None:
    query, events = case
    assert_same_rows(rows(query, events), rows_of(planned(query).run(table_of(events))), text(query))
