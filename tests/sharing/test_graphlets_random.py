"""Random workloads of aggregates without edge predicates: each query has the rows that it has alone, and that the twin
of one query says, whatever is shared, all at once, in parts and piece by piece."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
from hypothesis import event, given
from hypothesis import strategies as hs

import trendweave
from tests.profiles import examples
from tests.reference.comparer import assert_same_rows
from tests.reference.query import Sliding, text
from tests.reference.workloads.members import Member
from tests.reference.workloads.strategies import KLEENE, Variety, workloads_and_streams
from tests.runners.reference_tables import rows_of, table_of
from trendweave.programs.bind import bind
from trendweave.programs.program import EVERYTHING
from trendweave.programs.shared.program import bind_shared
from trendweave.runners.options import Settings
from trendweave.workload import Workload

SHARING = ("auto", "always", "never")
Drawn = tuple[tuple[Member, ...], list[dict[str, Any]]]


#: Windows in which queries can be merged.
WINDOWS = (Sliding(8, 8), Sliding(8, 4), Sliding(6, 2), Sliding(20, 20), None)


@hs.composite
def mergeable(draw: hs.DrawFn, variety: Variety, sizes: tuple[int, ...], windowed: bool = False) -> Drawn:
    """Queries over few windows, without clauses that stand in the way of merging."""
    members, stream = draw(workloads_and_streams(variety, 14, sizes, windowed))
    windows = draw(hs.lists(hs.sampled_from(WINDOWS[: 4 if windowed else 5]), min_size=1, max_size=2))
    drawn = []
    for member in members:
        assert member.query is not None, "all of them are aggregates"
        query = member.query
        if not isinstance(query.window, Sliding):
            query = replace(query, window=draw(hs.sampled_from(windows)))
        drawn.append(replace(member, query=query, written=text(query)))
    return tuple(drawn), stream


ONE = mergeable(KLEENE, (4, 3, 6, 2))
TWO = mergeable(KLEENE, (4, 3, 6), windowed=True)
THREE = mergeable(Variety(edges=False, strategies=False, kinds=False, others=False), (5, 8, 12))
FOUR = mergeable(KLEENE, (4, 6))


def make(members: tuple[Member, ...]) -> Workload:
    return trendweave.workload({member.name: member.written for member in members})


def note_what_is_shared(workload: Workload) -> None:
    kinds = [unit.kind for unit in workload._sharing().units]
    event("some queries are merged" if "graphlets" in kinds else "none are merged")


@given(ONE)
@examples(60)
def test_rows_are_those_of_the_reference_and_of_the_query_alone(drawn: Drawn) -> None:
    members, stream = drawn
    workload, events = make(members), table_of(stream)
    note_what_is_shared(workload)
    for sharing in SHARING:
        result = workload.run(events, sharing=sharing)
        for member in members:
            found = rows_of(workload.rows(result, member.name))
            member.assert_rows(stream, found)
            assert_same_rows(rows_of(workload[member.name].run(events)), found, member.written)


@given(TWO)
@examples(25)
def test_pieces_give_the_rows_of_one_batch(drawn: Drawn) -> None:
    members, stream = drawn
    workload = make(members)
    events = table_of(sorted((row for row in stream if row["time"] is not None), key=lambda row: row["time"]))
    expected = workload.run(events)
    engine = workload.incremental(events, sharing="always")
    state, parts = engine.start(), []
    for place in range(0, events.num_rows, 3):
        piece = events.slice(place, 3)
        state, part = engine.push(state, piece, piece.column("time")[0].as_py())
        parts.append(part)
    parts.append(engine.finish(state))
    found = pa.concat_tables(parts)
    for member in members:
        own = [rows_of(workload.rows(table, member.name)) for table in (expected, found)]
        assert_same_rows(own[0], own[1], member.written)


@given(THREE)
@examples(25)
def test_other_keys_and_queries_beside(drawn: Drawn) -> None:
    members, stream = drawn
    workload, events = make(members), table_of(stream)
    note_what_is_shared(workload)
    result = workload.run(events, sharing="always", numbers="text")
    for member in members:
        alone = workload[member.name].run(events, numbers="text")
        assert_same_rows(rows_of(alone), rows_of(workload.rows(result, member.name)), member.written)


@given(FOUR)
@examples(25)
def test_parts_are_merged_to_the_same_rows(drawn: Drawn) -> None:
    """As Spark does it where groups span keys: parts of some partitions, merged by where they meet."""
    members, stream = drawn
    workload, events = make(members), table_of(stream)
    expected = workload.run(events)
    programs = {name: bind(workload[name].plan, events.schema, "time", "type", Settings()) for name in workload.names}
    program = bind_shared(programs, workload._sharing())
    parts = program.partials()
    if parts is None:
        return
    rows, _ = program.prepare(events)
    keys = [rows.column(path[0]).to_pylist() for path in program.needs.together]
    codes = [hash(values) % 2 for values in zip(*keys, strict=True)] if keys else [0] * rows.num_rows
    pieces = [rows.filter(pa.array([code == part for code in codes])) for part in (0, 1)]
    found = [parts.schema.empty_table(), *(parts.compute(piece, EVERYTHING) for piece in pieces)]
    merged = parts.merge(pa.concat_tables(found), EVERYTHING)
    for member in members:
        own = [rows_of(workload.rows(table, member.name)) for table in (expected, merged)]
        assert_same_rows(own[0], own[1], member.written)
