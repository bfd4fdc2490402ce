"""Making stores, adding events from all kinds of tables, compacting, and two writers at once."""

from __future__ import annotations

import multiprocessing
from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trendweave
from trendweave.errors import DataError, ExecutionError, OptionError
from trendweave.store.event_store import EventStore
from trendweave.store.layout.commits import Sequence, alone
from trendweave.store.layout.reading import RowReader

SCHEMA = pa.schema({"time": pa.timestamp("us"), "company": pa.string(), "price": pa.float64()})


def quotes(number: int, first: int = 0) -> pa.Table:
    times = first + np.arange(number)[::-1] * 1_000_000
    names = [f"company {place % 5}" for place in range(number)]
    return pa.table({"time": times, "company": names, "price": np.arange(number) / 4}).cast(SCHEMA)


def test_events_are_dealt_to_buckets_in_order_of_time(tmp_path: Path) -> None:
    store = EventStore.create(tmp_path / "quotes", SCHEMA, keys=["company"], index=["price"], buckets=3)

    assert store.append(quotes(100)) == 100

    seen: dict[str, tuple[int, int]] = {}
    for number, file in enumerate(store.files):
        rows = store.read(np.flatnonzero(store.groups.file == number))
        times = rows.column("time").to_pylist()
        assert times == sorted(times)
        assert file.bucket is not None
        for name in set(rows.column("company").to_pylist()):
            assert seen.setdefault(name, file.bucket) == file.bucket
    assert len(seen) == 5
    assert store.blocks.exact.all()
    assert store.lookup("price", ">=", 24).time.size == 4
    assert EventStore.open(tmp_path / "quotes").read().num_rows == 100


def test_the_column_of_types(tmp_path: Path) -> None:
    typed = pa.table({"time": [1, 2, 3], "type": ["A", "B", "A"]})
    query = trendweave.query("RETURN COUNT(*) AS n PATTERN A a")

    def count(store: EventStore) -> int:
        return int(query.run(store, numbers="int64")["n"][0].as_py())

    for name, options, known, expected in (("found", {}, "type", 2), ("none", {"type": None}, None, 3)):
        made = EventStore.create(tmp_path / name, typed.schema, **options)
        made.append(typed)
        assert (made.type, EventStore.open(tmp_path / name).type) == (known, known)
        # What was said when it was made is known here, too.
        assert EventStore.over(tmp_path / name).type == known
        assert count(made) == expected
    (tmp_path / "files").mkdir()
    pq.write_table(typed, tmp_path / "files" / "events.parquet")
    assert count(EventStore.over(tmp_path / "files")) == 2
    assert count(EventStore.over(tmp_path / "files", type=None)) == 3
    assert EventStore.create(tmp_path / "without", SCHEMA).type is None


def test_all_kinds_of_tables(tmp_path: Path) -> None:
    store = EventStore.create(tmp_path / "quotes", SCHEMA)
    table = quotes(3)
    for events in (table, table.to_batches()[0], pa.RecordBatchReader.from_batches(SCHEMA, table.to_batches()),
                   table.to_pandas(), pl.from_arrow(table)):  # fmt: skip
        store.append(events)

    assert store.read().num_rows == 15
    assert store.schema == SCHEMA
    assert store.aggregate("COUNT(*), SUM(price)").to_pylist()[0]["sum_price"] == 3.75


def test_columns_may_be_added_and_must_fit(tmp_path: Path) -> None:
    store = EventStore.create(tmp_path / "quotes", SCHEMA)
    store.append(quotes(2))
    store.append(pd.DataFrame({"time": [datetime(2024, 1, 1)], "volume": [7]}))

    assert store.schema.names == ["time", "company", "price", "volume"]
    assert store.read(columns=["volume", "price"]).to_pylist()[-1] == {"volume": 7, "price": None}
    with pytest.raises(DataError) as raised:
        store.append(pa.table({"volume": ["many"], "price": [1.0]}))
    assert [problem.code for problem in raised.value.problems] == ["TW302", "TW332"]
    assert store.refresh().read().num_rows == 3


def test_columns_that_do_not_fit_are_refused_or_told_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    columns = {"time": pa.timestamp("us"), "type": pa.string(), "value": pa.int64()}
    store = EventStore.create(tmp_path / "events", pa.schema(columns))
    first = {"time": datetime(2024, 1, 1), "type": "A", "value": 1}
    store.append([first])
    assert caplog.messages == []

    with pytest.raises(DataError) as raised:
        store.append([{"time": datetime(2024, 1, 2), "Type": "A", "VALUE": 1}])
    assert [(problem.code, problem.message) for problem in raised.value.problems] == [
        ("TW301", "the store has no column Type"),
        ("TW301", "the store has no column VALUE"),
        ("TW302", "the events have no column type"),
    ]
    assert raised.value.problems[0].hint.startswith("did you mean type? to add Type as a new column, give the events")
    assert store.refresh().read().num_rows == 1

    for _ in range(2):
        store.append(pa.table({"time": [first["time"]], "type": ["A"], "other": ["x"]}))
    assert caplog.messages == [
        "the events have no column value, which is NULL in the store",
        "the column other of the events is new in the store, and NULL in earlier ones",
    ]
    caplog.clear()
    store.append([first, first | {"time": None, "type": None}, first | {"type": None}, first | {"type": None}])
    assert caplog.messages == [
        "the events have no column other, which is NULL in the store",
        "of 4 rows, 1 have no time and 2 no type: they are stored, and queries drop them",
    ]
    assert trendweave.query("RETURN COUNT(*) AS n PATTERN A a").run(store, numbers="int64")["n"].to_pylist() == [4]


def test_nothing_is_made_twice_and_nothing_is_opened_that_is_not_there(tmp_path: Path) -> None:
    EventStore.create(tmp_path / "quotes", SCHEMA)
    for make in (
        lambda: EventStore.create(tmp_path / "quotes", SCHEMA),
        lambda: EventStore.open(tmp_path / "other"),
        lambda: EventStore.over(tmp_path / "other"),
    ):
        with pytest.raises(DataError):
            make()
    with pytest.raises(DataError, match="no column sector"):
        EventStore.create(tmp_path / "more", SCHEMA, keys=["sector"])
    with pytest.raises(OptionError):
        EventStore.create(tmp_path / "more", SCHEMA, buckets=4)
    with pytest.raises(DataError, match="the time column company is string"):
        EventStore.create(tmp_path / "more", SCHEMA, time="company")
    assert not (tmp_path / "more").exists()


def test_empty_store_answers(tmp_path: Path) -> None:
    store = EventStore.create(tmp_path / "quotes", SCHEMA)

    assert store.aggregate("COUNT(*)", "1 hour", "1 hour").num_rows == 0
    assert store.read().num_rows == 0
    assert store.append(quotes(0)) == 0
    assert store.verify().is_well
    assert "0 rows in 0 files" in str(store.describe())


def test_compacting_keeps_rows_and_takes_overlaps_away(tmp_path: Path) -> None:
    store = EventStore.create(tmp_path / "quotes", SCHEMA, keys=["company"], buckets=2, index=["price"])
    for first in range(4):
        store.append(quotes(20, first))
    before = sorted(store.read().to_pylist(), key=repr)
    old = EventStore.open(tmp_path / "quotes")

    assert store.compact() == 8

    assert len(store.files) == 2
    assert sorted(store.read().to_pylist(), key=repr) == before
    assert store.blocks.exact.all()
    assert store.has_secondary("price").all()
    assert store.compact() == 0
    # A store that was opened before still reads the files that it knew, until they are swept away.
    assert sorted(old.read().to_pylist(), key=repr) == before
    assert len(store.vacuum("0 seconds")) >= 8
    assert sorted(EventStore.open(tmp_path / "quotes").read().to_pylist(), key=repr) == before
    assert len(pq.read_table(tmp_path / "quotes")) == 80, "other tools read the same rows"


def test_files_of_others_belong_to_the_store_and_are_left_alone(tmp_path: Path) -> None:
    store = EventStore.create(tmp_path, SCHEMA)
    store.append(quotes(5))
    pq.write_table(quotes(5), tmp_path / "more.parquet")
    pq.write_table(quotes(5), tmp_path / "_not.parquet")
    pq.write_table(quotes(5), tmp_path / f"part-{'0' * 32}-bucket-00000-of-00001-00000.parquet")  # never recorded

    assert store.refresh().read().num_rows == 10
    store.compact()
    store.vacuum("0 seconds")
    assert (tmp_path / "more.parquet").exists()
    assert store.read().num_rows == 10


def test_the_same_batch_of_a_stream_is_added_once(tmp_path: Path) -> None:
    store = EventStore.create(tmp_path, SCHEMA)
    sink, other = store.sink("quotes"), store.sink("others")

    for number in (0, 1, 1, 0):
        sink(quotes(5), number)
    other(quotes(5), 1)
    store.compact()
    EventStore.open(tmp_path).sink("quotes")(quotes(5), 1)

    assert EventStore.open(tmp_path).read().num_rows == 15


def _append_often(folder: str, first: int) -> None:
    store = EventStore.open(folder)
    for number in range(5):
        store.append(quotes(10, first + number))


def test_two_writers_both_succeed(tmp_path: Path) -> None:
    store = EventStore.create(tmp_path, SCHEMA, keys=["company"], buckets=2)
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_append_often, args=(str(tmp_path), first)) for first in (0, 1000)]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        store.compact()
        store.refresh()
        assert store.read().num_rows % 10 == 0, "an append is seen whole or not at all"
    for writer in writers:
        writer.join()

    assert [writer.exitcode for writer in writers] == [0, 0]
    assert store.refresh().read().num_rows == 100
    assert store.verify(deep=True).is_well


def test_two_compactions_do_not_meet(tmp_path: Path) -> None:
    store = EventStore.create(tmp_path, SCHEMA)
    with alone(store.place, "another one"), pytest.raises(ExecutionError) as raised:
        store.compact()

    assert raised.value.problems[0].code == "TW431"


def test_followers_agree_on_one_order(tmp_path: Path) -> None:
    store = EventStore.create(tmp_path, SCHEMA)
    one, other = Sequence(store.place), Sequence(store.place)
    store.append(quotes(1))
    assert one.count() == 1
    store.append(quotes(2), batch=("stream", 3))
    pq.write_table(quotes(3), tmp_path / "more.parquet")
    assert other.count() == 3
    store.append(quotes(4))
    assert one.count() == other.count() == 4
    store.compact()

    assert one.count() == 4, "a compaction adds no events"
    files = [file.name for file in one.files(0, 4)]
    assert files == [file.name for file in Sequence(store.place).files(0, 4)]
    assert files[2] == "more.parquet"
    assert [RowReader(store.open_files, file, SCHEMA).read([0], ["price"]).num_rows for file in one.files(0, 4)] == [
        1, 2, 3, 4
    ]  # fmt: skip
    store.vacuum("0 seconds")
    with pytest.raises(DataError, match="but is missing"):
        Sequence(store.place).files(0, 4)


def test_a_file_is_no_store(tmp_path: Path) -> None:
    path = tmp_path / "quotes.parquet"
    pq.write_table(quotes(3), path)
    for make in (EventStore.over, EventStore.open, lambda path: EventStore.create(path, SCHEMA)):
        with pytest.raises(DataError, match=r"TW331: .*quotes\.parquet is a file, and a store is a folder"):
            make(path)
    assert pq.read_table(path).num_rows == 3
