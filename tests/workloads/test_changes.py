"""Queries come and go while a workload runs: each has the rows of the query alone that begin after it came."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as hs

import trendweave
from tests.profiles import examples
from tests.reference.workloads.members import Member
from tests.reference.workloads.strategies import CONSTANTS, EDGED, EVERYTHING, KLEENE, bursty_streams, workloads
from tests.runners.reference_tables import SCHEMA, rows_of, table_of
from tests.workloads.changing import Life, Row, further_members
from trendweave.errors import TrendweaveError
from trendweave.sharing import constants
from trendweave.workload import Workload

NAMES = ("a", "b", "c", "d", "e", "f")


@hs.composite
def pools(draw: hs.DrawFn) -> list[Member]:
    """Related queries and others, each of which can run piece by piece."""
    variety = draw(hs.sampled_from([EVERYTHING, EVERYTHING, CONSTANTS, KLEENE, EDGED]))
    related = draw(workloads(variety, windowed=True, sizes=(3, 2, 4, 5)))
    others = draw(hs.lists(hs.sampled_from(further_members()), max_size=3, unique=True))
    return [member for member in (*related, *others) if _runs(member)]


def _runs(member: Member) -> bool:
    if member.query is not None and member.query.order_by:
        return False  # rows of equal rank are chosen among as they come
    try:
        return not trendweave.query(member.written).incremental(SCHEMA).never_closing
    except TrendweaveError:
        return False


class Changing:
    """A workload that changes, with what each of its queries should have found."""

    def __init__(self, data: hs.DataObject, pool: list[Member]) -> None:
        self.data, self.pool = data, pool
        self.lives: dict[str, Life] = {}
        self.gone: list[Life] = []
        first = data.draw(hs.lists(hs.sampled_from(pool), min_size=1, max_size=4))
        self.rules = self._made(dict(zip(NAMES, first, strict=False)), None)

    def _made(self, members: dict[str, Member], came: int | None) -> Workload:
        lives = {name: Life(member, came) for name, member in members.items()}
        try:
            made = trendweave.workload({name: member.written for name, member in members.items()})
            made.schema(SCHEMA)
        except TrendweaveError as error:
            # Columns of one name and two types; texts that no table can hold together.
            assume(not any(problem.code.startswith(("TW27", "TW314")) for problem in error.problems))
            raise
        self.lives = lives
        return made

    def change(self, came: int | None) -> Workload:
        """Another workload: some queries are dropped, some come, some have another text."""
        members = {name: life.member for name, life in self.lives.items()}
        before = dict(self.lives)
        for _ in range(self.data.draw(hs.integers(1, 3))):
            name = self.data.draw(hs.sampled_from(NAMES))
            if name in members and len(members) > 1 and self.data.draw(hs.booleans()):
                del members[name]
            else:
                members[name] = self.data.draw(hs.sampled_from(self.pool))
        self.rules = self._made(members, came)
        for name, life in before.items():
            if name in members and members[name].written == life.member.written:
                self.lives[name] = life
            else:
                self.gone.append(life)
        return self.rules

    def note(self, rows: pa.Table) -> None:
        for name, life in self.lives.items():
            life.found += rows_of(self.rules.rows(rows, name))

    def check(self, events: list[Row]) -> None:
        for life in self.lives.values():
            life.check_all(events)
        for life in self.gone:
            life.check_some(events)


@pytest.fixture(autouse=True, scope="module")
def few_rules_are_alike() -> Iterator[None]:
    """Rules that differ in constants are computed together also where they are few."""
    with patch.object(constants, "LEAST", 2):
        yield


@given(pools(), hs.data())
@examples(20)
def test_engine_goes_on_with_the_state_of_another_workload(pool: list[Member], data: hs.DataObject) -> None:
    assume(pool)
    events = data.draw(bursty_streams(tuple(pool), max_events=14))
    rest = sorted((one for one in events if one["time"] is not None), key=lambda one: one["time"])
    everything, changing, latest = list(rest), Changing(data, pool), None
    engine = changing.rules.incremental(SCHEMA)
    state = engine.start()
    while rest:
        size = data.draw(hs.integers(1, 4))
        piece, rest = rest[:size], rest[size:]
        # Later pieces may hold the same time again, unless the watermark has passed it.
        watermark = rest[0]["time"] - data.draw(hs.sampled_from([0, 0, 1, 3])) if rest else None
        state, rows = engine.push(state, table_of(piece), watermark)
        changing.note(rows)
        latest = piece[-1]["time"]
        if data.draw(hs.integers(0, 2)) == 0:
            came = latest + 1 if state.watermark is None else max(latest + 1, state.watermark)
            engine = changing.change(came).incremental(SCHEMA)
            if data.draw(hs.booleans()):
                state = engine.read(state.to_bytes())
    changing.note(engine.finish(state))
    changing.check(everything)


@given(pools(), hs.data())
@examples(20)
def test_session_takes_and_drops_queries(pool: list[Member], data: hs.DataObject) -> None:
    assume(pool)
    rest = data.draw(bursty_streams(tuple(pool), max_events=14))
    rest = [one for one in rest if one["type"] is not None]
    delay = data.draw(hs.sampled_from([0, 0, 2, 5]))
    changing = Changing(data, pool)
    options: dict[str, Any] = {"watermark": f"{delay} seconds"}
    session = changing.rules.push(SCHEMA, **options)
    in_time: list[Row] = []
    late, latest = 0, None
    while rest:
        size = data.draw(hs.integers(1, 3))
        piece, rest = rest[:size], rest[size:]
        behind = [latest is not None and one["time"] is not None and one["time"] < latest - delay for one in piece]
        if size == 1:
            found = session.send(piece[0])
            changing.note(pa.Table.from_pylist(found, session.schema))
        else:
            changing.note(session.send_table(table_of(piece)))
        late += sum(behind)
        in_time += [one for one, is_late in zip(piece, behind, strict=True) if not is_late]
        latest = max((one["time"] for one in in_time if one["time"] is not None), default=None)
        if data.draw(hs.integers(0, 2)) == 0:
            rules = changing.change(None if latest is None else latest + 1)
            if data.draw(hs.booleans()):
                session.change(rules)
            else:
                session = rules.push(SCHEMA, **options, state=session.state())
    assert session.late == late
    assert session.workload == changing.rules
    changing.note(session.finish())
    changing.check(in_time)
