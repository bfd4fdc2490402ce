"""Tasks over files, called one after the other without Spark, give the rows and counts of the in-process runner."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq
import pytest

import trendweave
from tests.spark.comparing import assert_same
from trendweave import datasets
from trendweave.programs.bind import bind
from trendweave.programs.program import Program, Scope
from trendweave.rows.dropped import Dropped
from trendweave.runners.options import Settings
from trendweave.runners.spark.blobs import Buckets
from trendweave.runners.spark.exchange import ComputeBlobs, Deal
from trendweave.runners.spark.parquet_files import File
from trendweave.runners.spark.reading import COUNTS, Piece, ReadTask, deal_pieces
from trendweave.runners.spark.tasks import Limits, MergeTask, TableTask

QUERIES = {
    "groups across keys": "RETURN sector, COUNT(*), SUM(S.price) PATTERN Stock S+ WHERE [company, sector] AND "
    "S.price > NEXT(S).price GROUP-BY sector WITHIN 2 seconds SLIDE 1 second",
    "one window": "RETURN COUNT(*) PATTERN Stock S WHERE S.price > 100",
    "some row groups": "RETURN COUNT(*) PATTERN Stock S WHERE S.transaction_id < 100 WITHIN 2 seconds SLIDE 1 second",
    "trends": "RETURN EACH FIRST(S.price) AS price PATTERN SEQ(Stock S, Stock T) WHERE [company] WITHIN 3 seconds",
    "neighbours": "RETURN company, COUNT(*) PATTERN Stock S+ WHERE [company] AND S.volume > 50 SEMANTICS contiguous "
    "GROUP-BY company WITHIN 2 seconds SLIDE 2 seconds",
    "situations": "FROM Stock DEFINE LOW AS price < 100 PARTITION BY company RETURN SITUATIONS",
    "in situations": "RETURN COUNT(*) PATTERN Stock S+ FROM Stock DEFINE LOW AS price < 100 WHERE [company] AND S "
    "DURING LOW WITHIN 4 seconds SLIDE 4 seconds",
}


@pytest.fixture(scope="module")
def events() -> pa.Table:
    table = datasets.stock(900, seed=3, companies=7)
    types = ["Stock"] * 870 + [None] * 10 + ["Other"] * 20
    return table.set_column(table.schema.get_field_index("type"), "type", pa.array(types))


@pytest.fixture(scope="module")
def files(events: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> tuple[File, ...]:
    folder = tmp_path_factory.mktemp("files")
    found = []
    for number in range(3):
        path = folder / f"{number}.parquet"
        pq.write_table(events.slice(number * 300, 300), path, row_group_size=70)
        found.append(File(str(path), path.stat().st_size))
    return tuple(found)


@pytest.mark.parametrize("name", QUERIES)
def test_rows_and_counts_are_those_of_the_table(events: pa.Table, files: tuple[File, ...], name: str) -> None:
    query = trendweave.query(QUERIES[name])
    expected = query.run(events)
    program = bind(query.plan, events.schema, "time", None if query.kind == "intervals" else "type", Settings())

    rows, dropped = run_tasks(program, files)

    assert expected.num_rows
    assert_same(expected, rows)
    assert dropped == program.prepare(events)[1]


def run_tasks(program: Program, files: tuple[File, ...]) -> tuple[pa.Table, Dropped]:
    """What Spark does, in one process: tasks read, blobs meet by bucket, tasks compute, parts are merged."""
    cut, parts = program.cut(), program.partials()
    task = TableTask(program, Scope(), parts is not None).in_chunks(cut)
    tasks = deal_pieces(files, 3_000)
    assert len(tasks) > len(files)
    deal = Deal(Buckets(3), task.keys, cut, program.moment)
    read = ReadTask(program, program.events, tasks, deal, counted=True)
    numbers = pa.RecordBatch.from_pydict({"id": list(range(len(tasks)))})
    made = pa.Table.from_batches(list(read([numbers])))
    counts = made.filter(pa.compute.is_null(made.column("bucket")))
    blobs = made.filter(pa.compute.is_valid(made.column("bucket"))).select(["bucket", "rows"])
    compute = ComputeBlobs(replace(task, adopts=False), Limits(), 10**9)
    found = list(_each_bucket(compute, blobs))
    schema = program.schema if parts is None else parts.schema
    if parts is not None:
        found = list(MergeTask(program)(found))
        schema = program.schema
    dropped = Dropped(**{name: pa.compute.sum(counts.column(column)).as_py() for name, column in COUNTS.items()})
    return pa.Table.from_batches(found, schema), dropped


def _each_bucket(compute: ComputeBlobs, blobs: pa.Table) -> Iterator[pa.RecordBatch]:
    for bucket in sorted(set(blobs.column("bucket").to_pylist())):
        own = blobs.filter(pa.compute.equal(blobs.column("bucket"), bucket))
        yield from compute(own.combine_chunks().to_batches())


def test_every_row_group_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "many.parquet"
    pq.write_table(pa.table({"time": range(100)}), path, row_group_size=7)
    file = File(str(path), path.stat().st_size)
    for most in (1, 50, 1_000, 10**9):
        pieces = [piece for task in deal_pieces([file], most) for piece in task]
        assert numbers_of(pieces) == list(range(15))


def test_files_without_rows_and_of_unknown_size(tmp_path: Path) -> None:
    path = tmp_path / "some.parquet"
    pq.write_table(pa.table({"time": [1, 2]}), path)
    empty, unknown = File("nowhere", 0), File(str(path), None)

    (task,) = deal_pieces([empty, unknown], 100)

    assert [piece.file for piece in task] == [unknown]
    assert numbers_of(list(task)) == [0]
    assert deal_pieces([empty], 100) == ()


def numbers_of(pieces: list[Piece]) -> list[Any]:
    from trendweave.runners.spark.parquet_files import EventFile

    columns = pa.schema({"time": pa.int64()})
    return [group for piece in pieces for group in EventFile(piece.file, columns).groups(piece.first, piece.end)]
