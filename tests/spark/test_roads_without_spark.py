"""Rows that travel as columns, in buckets that are cut, joined, spilled and divided at odd places: the rows of the
reference twin all the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as hs

from tests.folding import tables
from tests.profiles import examples
from tests.reference import prefix_counters
from tests.reference.comparer import assert_same_rows
from tests.reference.counted_streams import PLAIN_DOUBLES, counted_cases
from tests.reference.query import Query, text
from tests.reference.results import rows
from tests.reference.streams import queries_and_streams
from tests.reference.workloads.members import Member
from tests.reference.workloads.strategies import Variety, workloads_and_streams
from tests.runners.reference_tables import SCHEMA, rows_of, table_of
from tests.runners.test_local_against_reference import planned
from tests.spark.simulated_exchange import Machine, run_on_columns
from tests.workloads.judging import assert_equal_rows, own_rows
from tests.workloads.judging import planned as workload_planned
from trendweave.errors import ExecutionError
from trendweave.events import AUTO
from trendweave.programs.bind import bind
from trendweave.programs.program import FAMILY, Program
from trendweave.runners.options import Settings

MACHINES = hs.builds(
    Machine,
    buckets=hs.integers(1, 5),
    tasks=hs.integers(1, 3),
    rows_at_once=hs.integers(1, 6),
    rows_of_a_blob=hs.integers(1, 9),
    in_memory=hs.sampled_from([0, 3_000, 10**9]),
    seed=hs.integers(0, 2**32),
)
#: Queries that meet by the same keys: Spark itself copies rows for several families, which is tested there.
ONE_FAMILY = Variety(keys=False, others=False)
CHUNKS = hs.sampled_from(["auto", "off"])


@pytest.fixture(scope="module", autouse=True)
def _small_chunks() -> Iterator[None]:
    """So that windows cross chunks of time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("trendweave.planning.chunks._WITH_KEYS", 1)
        patch.setattr("trendweave.planning.chunks._WITHOUT_KEYS", 1)
        yield


def bound(query: Query, columns: pa.Schema, numbers: str = "decimal") -> Program:
    program = bind(planned(query).plan, columns, "time", "type", Settings(numbers=numbers))
    parts = program.partials()
    assume(parts is None or not parts.of_stretches)
    return program


@given(queries_and_streams(empty=False), MACHINES, CHUNKS)
@examples(50)
def test_random_queries_on_random_streams(case: tuple[Query, list[dict]], machine: Machine, chunks: str) -> None:
    query, events = case
    found = run_on_columns(bound(query, SCHEMA), table_of(events), machine, chunks)
    assert_same_rows(rows(query, events), rows_of(found), text(query))


@given(counted_cases(max_events=12, doubles=PLAIN_DOUBLES), MACHINES, CHUNKS)
@examples(25)
def test_all_kinds_of_numbers(case: tuple[Query, list[dict]], machine: Machine, chunks: str) -> None:
    query, events = case
    found = run_on_columns(bound(query, tables.SCHEMA, "text"), tables.table_of(events), machine, chunks)
    tables.assert_same_rows(prefix_counters.rows(query, events), found, query, text(query))


@given(workloads_and_streams(ONE_FAMILY), MACHINES, CHUNKS)
@examples(8)
def test_workloads(drawn: tuple[tuple[Member, ...], list[dict]], machine: Machine, chunks: str) -> None:
    case, events = workload_planned(drawn[0]), table_of(drawn[1])
    program = case.workload._asked(None, "time", AUTO).bind(SCHEMA, Settings())
    assume((FAMILY,) not in program.needs.together)
    parts = program.partials()
    assume(parts is None or not parts.of_stretches)
    found = run_on_columns(program, events, machine, chunks)
    for member in case.members:
        mine = rows_of(own_rows(case, member, found))
        member.assert_rows(drawn[1], mine, in_order=False)
        if not (member.query is not None and member.query.limit is not None):  # of equal rows any may be shown
            alone = rows_of(case.queries[member.name].run(events))
            assert_equal_rows(alone, mine, f"{member.name}\n{case}", in_order=False)


def test_a_key_that_is_larger_than_it_may_be_is_refused() -> None:
    # SEQ(A, B) per k: five events of key 7 in a chunk, and four may be held.
    events = table_of([event(second, "A", 7) for second in range(5)] + [event(2, "B", key) for key in range(50, 90)])
    query = planned_text("RETURN k, COUNT(*) PATTERN SEQ(A, B) WHERE [k] GROUP-BY k WITHIN 10 s SLIDE 10 s")
    for seed in range(5):
        run_on_columns(query, events, Machine(rows_of_a_key=5, rows_of_a_blob=2, seed=seed), "off")
        with pytest.raises(ExecutionError, match=r"TW405(.|\n)*7"):
            run_on_columns(query, events, Machine(rows_of_a_key=4, rows_of_a_blob=2, seed=seed), "off")


def test_many_keys_in_few_buckets_of_more_rows_than_are_computed_at_once() -> None:
    # Each key: a1 b2 a3 b4, so SEQ(A, B) has (a1, b2), (a1, b4), (a3, b4).
    keys = range(3_000)
    events = table_of([event(second, kind, key) for second, kind in enumerate("ABAB", 1) for key in keys])
    query = planned_text("RETURN k, COUNT(*) PATTERN SEQ(A, B) WHERE [k] GROUP-BY k WITHIN 10 s SLIDE 10 s")
    machine = Machine(buckets=2, rows_at_once=100, rows_of_a_blob=700, in_memory=20_000)
    found = rows_of(run_on_columns(query, events, machine))
    assert sorted((row["k"], row["count"]) for row in found) == [(key, 3) for key in keys]


def planned_text(query: str) -> Program:
    import trendweave

    return bind(trendweave.query(query).plan, SCHEMA, "time", "type", Settings())


def event(time: int, kind: str, key: int) -> dict[str, Any]:
    return {"time": time, "type": kind, "x": 0, "y": 0.0, "s": "", "k": key, "g": ""}
