"""Delta tables as stores: their own log says which files count."""

from __future__ import annotations

import builtins
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from trendweave.errors import DataError, OptionError
from trendweave.store.event_store import EventStore

deltalake = pytest.importorskip("deltalake")


def quotes(day: int) -> pa.Table:
    times = [datetime(2024, 1, day, hour) for hour in (3, 1, 2)]
    return pa.table(
        {"time": pa.array(times, pa.timestamp("us", "UTC")), "price": [1.5, None, 2.5], "day": [date(2024, 1, day)] * 3}
    )


def test_files_of_the_newest_version(tmp_path: Path) -> None:
    for day in (1, 2):
        deltalake.write_deltalake(tmp_path, quotes(day), mode="append", partition_by=["day"])
    store = EventStore.over(tmp_path).build_index(["price"])

    assert store.aggregate("COUNT(*), SUM(price), MIN(day)", using="index").to_pylist() == [
        {"window_start": None, "window_end": None, "count": 6, "sum_price": 8.0, "min_day": date(2024, 1, 1)}
    ]
    assert store.explain_aggregate("SUM(price)").groups.size == 0
    assert store.lookup("price", ">", 2).row.size == 2

    deltalake.DeltaTable(tmp_path).delete("price < 2")
    assert store.refresh().aggregate("COUNT(*)").column("count").to_pylist() == [4]
    assert store.build_index().verify(deep=True).is_well


def test_appending_is_one_version_and_a_batch_comes_once(tmp_path: Path) -> None:
    deltalake.write_deltalake(tmp_path, quotes(1))
    store = EventStore.over(tmp_path)
    assert store.append(quotes(2)) == 3
    for number in (4, 4, 5):
        store.append(quotes(number), batch=("stream", number))

    assert store.read().num_rows == 12
    assert EventStore.over(tmp_path).read().num_rows == 12
    with pytest.raises(OptionError, match="OPTIMIZE"):
        store.compact()


def test_the_index_survives_vacuum_and_optimize(tmp_path: Path) -> None:
    for day in (1, 2):
        deltalake.write_deltalake(tmp_path, quotes(day), mode="append")
    EventStore.over(tmp_path).build_index()
    table = deltalake.DeltaTable(tmp_path)
    table.optimize.compact()
    table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)

    store = EventStore.over(tmp_path)
    assert len(store.files) == 1
    assert store.aggregate("COUNT(*)").column("count").to_pylist() == [6]
    assert len(store.vacuum("0 seconds")) == 2, "the indexes of the files that are gone"


def test_hidden_rows_are_refused(tmp_path: Path) -> None:
    settings = {"delta.enableDeletionVectors": "true"}
    try:
        deltalake.write_deltalake(tmp_path, quotes(1), configuration=settings)
    except Exception as error:  # this version of deltalake cannot make such a table
        pytest.skip(str(error))
    with pytest.raises(DataError, match="deletion vectors"):
        EventStore.over(tmp_path)


def test_without_deltalake_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deltalake.write_deltalake(tmp_path, quotes(1))
    real = builtins.__import__

    def missing(name: str, *rest: Any, **more: Any) -> Any:
        if name == "deltalake":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(DataError, match=r"trendweave\[delta\]"):
        EventStore.over(tmp_path)
