"""Chunks of time, as Spark tasks see them, without Spark: matches and situations that cross borders are found once."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as hs

from tests.intervals.engines import as_table, full_text, planned
from tests.profiles import examples
from tests.reference.comparer import assert_same_rows
from tests.reference.intervals.query import Aggregate, Query
from tests.reference.intervals.streams import queries_and_events
from trendweave.programs.intervals.program import IntervalMatches, bind_intervals
from trendweave.programs.program import EVERYTHING, Scope
from trendweave.rows.encoded import CHUNK, TIME
from trendweave.runners.spark.tasks import ComputeTask, Limits, MergeTask, TableTask


def prepared(query: Query, events: list[dict[str, Any]]) -> tuple[IntervalMatches, pa.Table, pa.Table] | None:
    engine = planned(query)
    if engine is None or query.partition_by:
        return None
    table = as_table(query, events)
    bound = bind_intervals(engine.plan, table.schema, "time", None)
    return bound, bound.prepare(table)[0], engine.run(table)


def with_chunks(rows: pa.Table, length: int, within: int) -> pa.Table:
    """What `number_chunks` says in Spark SQL."""
    listed = rows.to_pylist()
    own = [row | {CHUNK: row[TIME] // length} for row in listed]
    copies = [row | {CHUNK: row[CHUNK] - 1} for row in own if row[TIME] % length < within]
    numbers = sorted({row[CHUNK] for row in own})
    last = []
    for number, following in pairwise(numbers):
        newest = max(row[TIME] for row in own if row[CHUNK] == number)
        last += [row | {CHUNK: following} for row in own if row[CHUNK] == number and row[TIME] == newest]
    together = sorted([*own, *copies, *last], key=lambda row: (row[CHUNK], row[TIME]))
    return pa.Table.from_pylist(together, rows.schema.append(pa.field(CHUNK, pa.int64())))


def result_rows(batches: Any, schema: pa.Schema) -> list[dict[str, Any]]:
    return pa.Table.from_batches(batches, schema).to_pylist()


@examples(250)
@given(queries_and_events(), hs.integers(1, 4), hs.integers(1, 30))
def test_matches_across_chunk_borders(drawn: tuple[Query, list[dict[str, Any]]], factor: int, at_once: int) -> None:
    query, events = drawn
    returns = tuple(one for one in query.returns if isinstance(one, Aggregate) and one.function != "COUNT")
    query = replace(
        query, partition_by=(), within=query.within or 8, every=None, return_situations=False, returns=returns
    )
    case = prepared(query, events) if query.constraints else None
    if case is None or case[0].plan.looks_back:
        return
    bound, rows, expected = case
    within = bound.lengths.within
    length = factor * within
    task = ComputeTask(TableTask(bound, Scope(chunk=length), in_parts=False, chunked=True), Limits(at_once, 10**9))
    chunked = with_chunks(rows, length, within)
    found = result_rows(task(chunked.to_batches(max_chunksize=3)), bound.schema)
    assert_same_rows(expected.to_pylist(), found, context=full_text(query))


@examples(250)
@given(queries_and_events(), hs.sets(hs.integers(-6, 20), max_size=5), hs.integers(1, 30))
def test_situations_across_stretches(
    drawn: tuple[Query, list[dict[str, Any]]], borders: set[int], at_once: int
) -> None:
    query, events = drawn
    query = replace(query, partition_by=(), within=None, every=None, constraints=(), returns=(), return_situations=True)
    case = prepared(query, events)
    if case is None or case[0].plan.looks_back:
        return
    bound, rows, expected = case
    edges = [-(10**6), *sorted(borders), 10**6]
    batches = []
    for low, high in pairwise(edges):
        piece = [row for row in rows.to_pylist() if low <= row[TIME] < high]
        task = ComputeTask(TableTask(bound, EVERYTHING, in_parts=True), Limits(at_once, 10**9))
        batches += task(pa.Table.from_pylist(piece, rows.schema).sort_by(TIME).to_batches(max_chunksize=3))
    found = result_rows(MergeTask(bound)(batches), bound.schema)
    assert_same_rows(expected.to_pylist(), found, context=full_text(query))
