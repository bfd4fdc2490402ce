"""Workloads piece by piece and in push sessions: after each piece, the rows that each query has alone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as hs

import trendweave
from tests.profiles import examples
from tests.reference.workloads.members import Member
from tests.reference.workloads.strategies import CONSTANTS, EDGED, EVERYTHING, KLEENE, Variety, workloads_and_streams
from tests.runners.reference_tables import SCHEMA, rows_of, table_of
from tests.runners.test_incremental import pieces
from tests.workloads.judging import SHARINGS, assert_equal_rows, from_united, own_rows, planned
from trendweave.errors import OptionError
from trendweave.runners.incremental import State

pytestmark = pytest.mark.usefixtures("small_units")

VARIETIES = {"kleene": KLEENE, "edged": EDGED, "constants": CONSTANTS, "everything": EVERYTHING}


@pytest.mark.parametrize("variety", VARIETIES.values(), ids=VARIETIES.keys())
def test_any_cut(variety: Variety) -> None:
    @given(workloads_and_streams(variety), hs.sampled_from(SHARINGS), hs.booleans(), hs.data())
    @examples(8)
    def check(drawn: tuple[tuple[Member, ...], list[dict]], sharing: str, ordered: bool, data: hs.DataObject) -> None:
        case, events = planned(drawn[0]), drawn[1]
        order = "x" if ordered and all(_takes_order(query) for query in case.queries.values()) else None
        engine = case.workload.incremental(SCHEMA, sharing=sharing, order_by=order)
        state = engine.start()
        engines = {name: query.incremental(SCHEMA, order_by=order) for name, query in case.queries.items()}
        states = {name: one.start() for name, one in engines.items()}
        found: dict[str, list[dict[str, Any]]] = {name: [] for name in engines}
        for piece, watermark in pieces(data, events):
            state, table = engine.push(State.from_bytes(state.to_bytes()), table_of(piece), watermark)
            for member in case.members:
                name = member.name
                states[name], expected = engines[name].push(states[name], table_of(piece), watermark)
                here = rows_of(own_rows(case, member, table))
                assert_equal_rows(rows_of(expected), here, f"{name} at {watermark}\n{case}", in_order=False)
                found[name] += here
        table = engine.finish(state)
        for member in case.members:
            here = rows_of(own_rows(case, member, table))
            expected = rows_of(engines[member.name].finish(states[member.name]))
            assert_equal_rows(expected, here, f"{member.name} at the end\n{case}", in_order=False)
            if order is None:
                member.assert_rows(events, found[member.name] + here, in_order=False)

    check()


def _takes_order(query: trendweave.Query) -> bool:
    """Whether columns may order events of one time, which come piece by piece."""
    try:
        query.incremental(SCHEMA, order_by="x")
    except OptionError:
        return False
    return True


@given(workloads_and_streams(windowed=True), hs.sampled_from(SHARINGS), hs.integers(0, 6), hs.data())
@examples(12)
def test_push_sessions(
    drawn: tuple[tuple[Member, ...], list[dict]], sharing: str, delay: int, data: hs.DataObject
) -> None:
    """Events one by one and in tables, some late; the session goes on from its state now and then."""
    case, events = planned(drawn[0]), data.draw(hs.permutations(drawn[1]))
    wait = f"{delay} seconds"
    session = case.workload.push(SCHEMA, watermark=wait, sharing=sharing)
    alone = {name: query.push(SCHEMA, watermark=wait) for name, query in case.queries.items()}
    columns = {name: query.schema(SCHEMA).names for name, query in case.queries.items()}
    rest = events
    while rest:
        if data.draw(hs.integers(0, 5)) == 0:
            session = case.workload.push(SCHEMA, watermark=wait, sharing=sharing, state=session.state())
        size = data.draw(hs.integers(1, 3))
        piece, rest = rest[:size], rest[size:]
        if size == 1:
            here = _plain(session.send(piece[0]))
            expected = {name: _plain(one.send(piece[0])) for name, one in alone.items()}
        else:
            here = rows_of(session.send_table(table_of(piece)))
            expected = {name: rows_of(one.send_table(table_of(piece))) for name, one in alone.items()}
        for name in alone:
            assert_equal_rows(expected[name], from_united(here, name, columns[name]), f"{name}\n{case}", in_order=False)
    assert session.late == max(one.late for one in alone.values())
    here = rows_of(session.finish())
    for name, one in alone.items():
        expected_end = rows_of(one.finish())
        assert_equal_rows(expected_end, from_united(here, name, columns[name]), f"{name}\n{case}", in_order=False)


def _plain(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Counts as integers."""
    from decimal import Decimal

    return [{name: int(v) if isinstance(v, Decimal) else v for name, v in row.items()} for row in rows]
