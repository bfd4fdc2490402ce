"""Blocks and entries say what the rows say: bounds hold, lookups find what a look at all rows finds."""

from __future__ import annotations

import math
import operator
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.profiles import examples
from tests.store.random_stores import Folders, Written, stores
from trendweave.errors import DataError, OptionError
from trendweave.store.event_store import EventStore

COMPARE = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def compares(value: Any, operation: str, constant: Any) -> bool:
    """As rows are compared: NULL with nothing, NaN is equal to itself and above all numbers."""
    if value is None:
        return False
    if isinstance(value, float) or isinstance(constant, float):
        pair = [(1, 0.0) if math.isnan(one) else (0, one) for one in (value, constant)]
        return bool(COMPARE[operation](*pair))
    return bool(COMPARE[operation](value, constant))


CONSTANTS = {
    "x": st.floats() | st.sampled_from([0.1, 0.5, -3.0, 1e16, 0.0]) | st.integers(-100, 100),
    "k": st.integers(-6, 6) | st.integers(-(2**63), 2**63 - 1) | st.floats(-5, 5),
    "small": st.integers(-(2**15), 2**15 - 1),
    "price": st.decimals(-9_999_999, 9_999_999, places=2),
    "word": st.sampled_from(["", "a", "b", "ab", "long" * 20, "zz"]),
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    return Folders(tmp_path_factory.mktemp("stores"))


@examples(40)
@given(st.data(), stores(), st.sampled_from(list(CONSTANTS)), st.sampled_from(list(COMPARE)))
def test_lookups_and_blocks(folders: Folders, data: st.DataObject, store: Written, name: str, operation: str) -> None:
    there = set().union(*(table.column_names for table in _indexed(store)))
    opened = store.make(folders(), (name,) if name in there else ())
    if name not in opened.schema.names:
        return
    constant = data.draw(CONSTANTS[name])
    found = opened.lookup(name, operation, constant)
    estimate = opened.estimate(name, operation, constant)
    hits = set(zip(found.file.tolist(), found.row.tolist(), strict=True))
    assert (estimate.entries, estimate.missing) == (len(hits), found.missing)
    assert found.time.tolist() == sorted(found.time.tolist())
    may = opened.blocks.may_hold(name, operation, constant)
    held = {
        (int(file), int(group)) for file, group in zip(opened.blocks.file[may], opened.blocks.group[may], strict=True)
    }
    for number, (table, size) in enumerate(zip(store.files, store.groups, strict=True)):
        values = table.column(name).to_pylist() if name in table.column_names else [None] * table.num_rows
        for row, value in enumerate(values):
            if table.column("time")[row].is_valid and compares(value, operation, constant):
                assert (number, row // size) in held
                assert number in found.missing or (number, row) in hits
    exact = name in ("small", "word") or (name == "x" and isinstance(constant, float))
    for number, row in hits if exact else ():
        assert compares(store.files[number].column(name)[row].as_py(), operation, constant)


def _indexed(store: Written) -> list[pa.Table]:
    """Files that exist when indexes are made."""
    return [table for table, indexed in zip(store.files, store.indexed, strict=True) if indexed]


def test_ranges_are_the_overlap_of_comparisons(tmp_path: Path) -> None:
    table = pa.table({"time": range(10), "x": [float(number) for number in range(10)], "word": list("abcdefghij")})
    pq.write_table(table, tmp_path / "a.parquet")
    store = EventStore.over(tmp_path).build_index(["x", "word"])

    assert store.lookup("x", ">=", 3, "<", 5).row.tolist() == [3, 4]
    assert store.lookup("x", "<>", 3, "<", 5).row.tolist() == [0, 1, 2, 4]
    assert store.lookup("word", ">", "b", "<=", "d").row.tolist() == [2, 3]
    assert store.lookup("x", ">", 5, "<", 3).row.tolist() == []
    for wrong in (("x",), ("x", ">="), ("x", "~", 3), ("x", "=", "3")):
        with pytest.raises(OptionError):
            store.lookup(*wrong)


def test_times_and_decimals_are_looked_up(tmp_path: Path) -> None:
    first = datetime(2024, 1, 1)
    table = pa.table({"time": range(5), "seen": [first + timedelta(days=day) for day in range(5)],
                      "price": [Decimal(number) / 4 for number in range(5)]})  # fmt: skip
    pq.write_table(table, tmp_path / "a.parquet")
    store = EventStore.over(tmp_path).build_index(["seen", "price"])

    assert store.lookup("seen", ">", first + timedelta(days=2)).row.tolist() == [3, 4]
    assert set(store.lookup("price", ">=", Decimal("0.5"), "<", Decimal("1.0")).row.tolist()) >= {2, 3}
    assert store.blocks.may_hold("seen", ">", datetime(2025, 1, 1)).tolist() == [False]


def test_many_strings_have_a_filter(tmp_path: Path) -> None:
    words = [f"{number} is a word that is rather long" for number in range(5_000)]
    pq.write_table(pa.table({"time": range(5_000), "word": words}), tmp_path / "a.parquet", row_group_size=100)
    store = EventStore.over(tmp_path).build_index()

    for number in (0, 777, 4_999):
        may = store.blocks.may_hold("word", "=", words[number])
        assert may[store.blocks.group == number // 100].all()
        assert may.mean() < 0.5
    assert store.blocks.may_hold("word", "=", "no word at all").mean() < 0.2


def test_folders_are_columns(tmp_path: Path) -> None:
    for day in (1, 2):
        folder = tmp_path / f"day={day}" / "shop=north%20end"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"time": [day, day + 5], "x": [1.0, 2.0]}), folder / "part.snappy.parquet")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "_temporary").mkdir()
    pq.write_table(pa.table({"time": [1], "x": [1.0]}), tmp_path / "_temporary" / "x.parquet")
    store = EventStore.over(tmp_path).build_index()

    assert store.schema.names == ["time", "x", "day", "shop"]
    assert store.read().to_pylist()[2] == {"time": 2, "x": 1.0, "day": 2, "shop": "north end"}
    assert store.aggregate("SUM(day), MAX(x)", using="index").to_pylist()[0]["sum_day"] == 6
    assert store.explain_aggregate("SUM(day), MAX(x)", using="index").rows == 0
    assert store.blocks.may_hold("shop", "=", "north end").all()
    assert not store.blocks.may_hold("shop", "=", "south end").any()
    assert store.blocks.may_hold("day", ">", 1).sum() == 1


def test_columns_of_two_types_are_told(tmp_path: Path) -> None:
    pq.write_table(pa.table({"time": [1], "x": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"time": [1], "x": ["1"]}), tmp_path / "b.parquet")

    with pytest.raises(DataError, match=r"the column x is string in b\.parquet, and int64 in other files"):
        EventStore.over(tmp_path)


def test_numbers_that_became_wider(tmp_path: Path) -> None:
    pq.write_table(pa.table({"time": [1], "x": pa.array([7], pa.int16())}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"time": [1], "x": pa.array([2**40])}), tmp_path / "b.parquet")
    store = EventStore.over(tmp_path).build_index(["x"])

    assert store.aggregate("SUM(x)", using="index").column("sum_x").to_pylist() == [2**40 + 7]
    assert store.blocks.may_hold("x", "=", 7).tolist() == [True, False]


def test_times_of_files_in_two_units(tmp_path: Path) -> None:
    for name, unit in (("a", "ms"), ("b", "ns")):
        times = pa.array([1, 2, 3], pa.timestamp(unit))
        pq.write_table(pa.table({"time": times, "x": [1.0, 2.0, 3.0]}), tmp_path / f"{name}.parquet")
    store = EventStore.over(tmp_path).build_index()

    found = store.aggregate("COUNT(*)", "1 millisecond", "1 millisecond", using="index")
    assert found.column("count").to_pylist() == [3, 1, 1, 1]


def test_what_is_no_parquet_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 is not enough")
    with pytest.raises(DataError, match=r"broken\.parquet cannot be read"):
        EventStore.over(tmp_path)


def test_the_light_index_is_small(tmp_path: Path) -> None:
    generator = np.random.default_rng(5)
    times = np.cumsum(generator.integers(1, 20, 300_000))
    columns = {"x": generator.random(times.size), "k": generator.integers(0, 4, times.size)}
    pq.write_table(pa.table({"time": pa.array(times, pa.timestamp("ms")), **columns}), tmp_path / "a.parquet")
    told = EventStore.over(tmp_path).build_index().describe()

    assert 0 < told.light_bytes < 0.05 * told.data_bytes
    assert "300,000 rows in 1 files" in str(told)
