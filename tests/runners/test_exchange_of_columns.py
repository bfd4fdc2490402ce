"""Rows that are dealt out and gathered again: all of them, each once, whole keys together."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as hs

from tests.profiles import examples
from trendweave.rows.encoded import TIME
from trendweave.runners.spark.exchange.buckets import Buckets
from trendweave.runners.spark.exchange.deal import Deal
from trendweave.runners.spark.exchange.gather import Gathered
from trendweave.runners.spark.table_task import Limits

UNLIMITED = Limits(10**9, 10**9)
KEYS = (("key",), ("inner", "part"))
SCHEMA = pa.schema(
    {
        TIME: pa.timestamp("us", tz="UTC"),
        "key": pa.string(),
        "inner": pa.struct({"part": pa.float64()}),
        "wide": pa.int64(),
        "letters_0": pa.int64(),
        "known": pa.bool_(),
        "price": pa.decimal128(20, 3),
    }
)
FLOATS = hs.sampled_from([0.0, -0.0, 1.5, math.nan, None])
ROW = hs.fixed_dictionaries(
    {
        TIME: hs.integers(-(2**55), 2**55) | hs.integers(0, 100),
        "key": hs.sampled_from(["a", "b", "c" * 30, "", None]),
        "inner": hs.none() | hs.fixed_dictionaries({"part": FLOATS}),
        "wide": hs.none() | hs.integers(-(2**63), 2**63 - 1) | hs.integers(0, 300),
        "letters_0": hs.integers(0, 3) | hs.integers(-(2**63), 2**63 - 1),
        "known": hs.none() | hs.booleans(),
        "price": hs.none() | hs.decimals(-1000, 1000, places=3),
    }
)


def as_batches(rows: list[dict[str, Any]], cuts: list[int]) -> list[pa.RecordBatch]:
    """The rows in batches, cut anywhere; slices of one table, so that offsets are not 0."""
    whole = pa.Table.from_pylist(rows, SCHEMA)
    edges = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    return [batch for low, high in itertools.pairwise(edges) for batch in whole.slice(low, high - low).to_batches()]


def travelled(
    dealt: Iterator[pa.RecordBatch], tasks: int, limits: Limits, keys: tuple[tuple[str, ...], ...], in_memory: int
) -> list[list[pa.Table]]:
    """The tables of each task: blobs go to tasks by the number of their bucket."""
    with ExitStack() as stack:
        gathered = [stack.enter_context(Gathered(in_memory)) for _ in range(tasks)]
        for batch in dealt:
            for row in range(batch.num_rows):
                gathered[batch.column("bucket")[row].as_py() % tasks].add(batch.slice(row, 1))
        return [list(one.tables(limits, keys, refuse)) for one in gathered]


def refuse(row: pa.Table) -> None:
    raise LookupError(row.to_pylist())


def texts(table: pa.Table) -> list[str]:
    return [repr(row) for row in table.to_pylist()]


def key_of(row: dict[str, Any]) -> str:
    part = None if row["inner"] is None else row["inner"]["part"]
    return repr((row["key"], None if part is None else part + 0.0))


@examples(150)
@given(
    hs.lists(ROW, min_size=1, max_size=60),
    hs.lists(hs.integers(0, 60), max_size=3),
    hs.integers(1, 5),
    hs.integers(1, 40),
    hs.sampled_from([0, 5_000, 10**9]),
)
def test_every_row_arrives_once_and_keys_stay_together(
    rows: list[dict[str, Any]], cuts: list[int], tasks: int, at_once: int, in_memory: int
) -> None:
    deal = Deal(Buckets(tasks), KEYS, None, SCHEMA.field(TIME).type)
    dealt = (deal.deal(pa.Table.from_batches([batch])) for batch in as_batches(rows, cuts) if batch.num_rows)
    tables = [
        table for of_task in travelled(dealt, tasks, Limits(at_once, 10**9), KEYS, in_memory) for table in of_task
    ]
    assert Counter(text for table in tables for text in texts(table)) == Counter(
        texts(pa.Table.from_pylist(rows, SCHEMA))
    )
    assert all(table.schema == SCHEMA for table in tables)
    places = [{key_of(row) for row in table.to_pylist()} for table in tables]
    assert sum(map(len, places)) == len(set().union(*places))
    assert all(table.num_rows <= at_once or len(keys) == 1 for table, keys in zip(tables, places, strict=True))
