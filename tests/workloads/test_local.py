"""Workloads in process: rows as alone and as the twin says, whatever is shared."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as hs

import trendweave
from tests.profiles import examples
from tests.reference.workloads.members import Member
from tests.reference.workloads.strategies import (
    CONSTANTS,
    EDGED,
    EVERYTHING,
    KLEENE,
    Variety,
    workloads_and_streams,
)
from tests.runners.reference_tables import rows_of, table_of
from tests.workloads.judging import SHARINGS, Case, assert_rows_as_alone, assert_tables_as_alone, planned

pytestmark = pytest.mark.usefixtures("small_units")

VARIETIES = {"kleene": KLEENE, "edged": EDGED, "constants": CONSTANTS, "everything": EVERYTHING}
LONG = {"max_events": 60, "sizes": (2, 3, 5, 8, 12)}


def alone(case: Case, table: pa.Table) -> dict[str, pa.Table]:
    return {name: query.run(table) for name, query in case.queries.items()}


@pytest.mark.parametrize("variety", VARIETIES.values(), ids=VARIETIES.keys())
def test_rows_as_alone_and_as_the_twin_says(variety: Variety) -> None:
    @given(workloads_and_streams(variety))
    @examples(12)
    def check(drawn: tuple[tuple[Member, ...], list[dict]]) -> None:
        case, events = planned(drawn[0]), drawn[1]
        table = table_of(events)
        expected = alone(case, table)
        for member in case.members:
            member.assert_rows(events, rows_of(expected[member.name]))
        for sharing in SHARINGS:
            assert_tables_as_alone(case, expected, case.workload.run(table, sharing=sharing), sharing)

    check()


@pytest.mark.parametrize("variety", VARIETIES.values(), ids=VARIETIES.keys())
def test_long_streams_and_many_queries(variety: Variety) -> None:
    """Bursts long enough for snapshots of many events; only the engine alone judges."""

    @given(workloads_and_streams(variety, **LONG), hs.integers(0, 60))
    @examples(6)
    def check(drawn: tuple[tuple[Member, ...], list[dict]], cut: int) -> None:
        case, events = planned([member for member in drawn[0] if member.kind in ("aggregates", "interval")]), drawn[1]
        table = pa.concat_tables([table_of(events[:cut]), table_of(events[cut:])])
        expected = alone(case, table)
        for sharing in SHARINGS:
            assert_tables_as_alone(case, expected, case.workload.run(table, sharing=sharing), sharing)

    check()


@given(workloads_and_streams(), hs.sampled_from(SHARINGS))
@examples(12)
def test_columns_order_events_of_one_time(drawn: tuple[tuple[Member, ...], list[dict]], sharing: Any) -> None:
    """For queries that look for trends; situations begin and end at times."""
    case, table = planned(drawn[0]), table_of(drawn[1])
    order = {name: None if query.kind == "intervals" else "x" for name, query in case.queries.items()}
    if not any(order.values()):
        return
    expected = {name: query.run(table, order_by=order[name]) for name, query in case.queries.items()}
    found = case.workload.run(table, sharing=sharing, order_by="x")
    assert_tables_as_alone(case, expected, found, f"{sharing}, ordered")


@given(workloads_and_streams())
@examples(8)
def test_batches_of_an_iterator(drawn: tuple[tuple[Member, ...], list[dict]]) -> None:
    case, table = planned(drawn[0]), table_of(drawn[1])
    batches = case.workload.iter(table)
    assert_rows_as_alone(case, alone(case, table), pa.Table.from_batches(batches, batches.schema), "iter")


@pytest.mark.parametrize("sharing", SHARINGS)
def test_constants_inside_of_case_and_aggregates(sharing: str) -> None:
    """Queries that differ in them alone are not taken for one another."""
    events = [
        {"time": time, "type": "AB"[time % 3 == 2], "x": None if time % 7 == 0 else time * 5 % 6, "s": "pq"[time % 2]}
        for time in range(60)
    ]
    condition = "CASE WHEN A.s = 'p' THEN A.x > {0} ELSE A.x < {1} END"
    shapes = [
        f"RETURN COUNT(*), SUM(A.x * {{0}}) AS s PATTERN SEQ(A+, B) WHERE {condition} WITHIN 10 s SLIDE 5 s",
        "RETURN COUNT(*) PATTERN A WHERE A.x > CASE WHEN A.s = 'p' THEN {0} ELSE {1} END WITHIN 10 s SLIDE 5 s",
        "RETURN EACH SUM(A.x + {0}) AS z PATTERN A WHERE A.x > {1} WITHIN 10 s SLIDE 5 s",
    ]
    texts = {
        f"q{place}_{number}": shape.format(number % 4, number % 3)
        for place, shape in enumerate(shapes)
        for number in range(8)
    }
    table = table_of([event | {"y": None, "k": 0, "g": None} for event in events])
    workload = trendweave.workload(texts)

    found = workload.run(table, sharing=sharing)

    assert len(set(found.column("query").to_pylist())) > 15
    for name, text in texts.items():
        alone = rows_of(trendweave.query(text).run(table))
        assert sorted(map(repr, rows_of(workload.rows(found, name)))) == sorted(map(repr, alone)), name
