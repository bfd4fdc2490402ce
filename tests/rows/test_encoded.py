"""Prepared rows by (partition, time): every column moves with its row, whatever its type."""

from __future__ import annotations

import math
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as hs

from tests.profiles import examples
from trendweave.rows.encoded import sort_partitions

KEYS: dict[pa.DataType, list[Any]] = {
    pa.string(): ["", "a", "bb", None],
    pa.large_binary(): [b"", b"\0", None],
    pa.int64(): [-1, 7, 2**62, None],
    pa.float64(): [0.0, -0.0, math.nan, None],
    pa.dictionary(pa.int8(), pa.string()): ["a", "b", None],
}
TIMES = {pa.timestamp("us"): [-5, 0, 1, 2**50], pa.int32(): [-5, 0, 3], pa.float64(): [-0.5, 0.25, 3.0]}


@given(hs.data(), hs.sampled_from(list(TIMES)), hs.integers(0, 12), hs.booleans())
@examples(150)
def test_rows_stay_whole(data: hs.DataObject, time: pa.DataType, rows: int, nullable: bool) -> None:
    kinds = data.draw(hs.lists(hs.sampled_from(list(KEYS)), max_size=2))
    columns = {f"k{i}": (kind, KEYS[kind]) for i, kind in enumerate(kinds)} | {"time": (time, TIMES[time])}
    table = pa.table(
        {
            name: pa.array(data.draw(hs.lists(hs.sampled_from(values), min_size=rows, max_size=rows)), kind)
            for name, (kind, values) in columns.items()
        }
        | {"row": pa.array(range(rows))}
    )
    cut = data.draw(hs.integers(0, rows))
    given_rows = pa.concat_tables([table.slice(0, cut), table.slice(cut)])
    names = tuple(f"k{i}" for i in range(len(kinds)))
    plan: Any = SimpleNamespace(partition_key=[SimpleNamespace(nullable=nullable) for _ in names])
    preparation: Any = SimpleNamespace(partition_key=names, ties=())

    partitions = sort_partitions(plan, preparation, given_rows)
    blocks = [block.encode() for block in partitions.in_blocks(data.draw(hs.integers(1, 12)))]

    found = [row for block in blocks for row in block.table["row"].to_pylist()]
    values = table.to_pylist()
    kept = [row for row in values if nullable or all(row[name] is not None for name in names)]
    assert sorted(found) == [row["row"] for row in kept]
    seen = []
    for block in blocks:
        assert block.table.schema == table.schema
        ends = block.partitions.starts.tolist()
        for low, high in pairwise(ends):
            part = block.table.slice(low, high - low)
            assert repr(part.to_pylist()) == repr([values[row] for row in part["row"].to_pylist()])
            keys = {repr([float(v) + 0.0 if isinstance(v, float) else v for v in key])
                    for key in zip(*(part[name].to_pylist() for name in names), strict=True)}  # fmt: skip
            assert len(keys) <= 1
            seen += list(keys)
            times = [(row["time"], row["row"]) for row in part.to_pylist()]
            assert times == sorted(times)
            ticks = block.tick[low:high].tolist()
            assert [b - a for a, b in pairwise(ticks)] == [int(b[0] != a[0]) for a, b in pairwise(times)]
    assert len(seen) == len(set(seen))


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_texts_are_repeated_for_each_row_of_their_partition(kind: pa.DataType) -> None:
    table = pa.table({"k": pa.array(["b", None, "b", None, "a"], kind), "time": [5, 4, 3, 2, 1]})
    plan: Any = SimpleNamespace(partition_key=[SimpleNamespace(nullable=True)])
    preparation: Any = SimpleNamespace(partition_key=("k",), ties=())

    partitions = sort_partitions(plan, preparation, table)
    encoded = partitions.encode(0, partitions.count)

    assert encoded.table["k"].to_pylist() == ["b", "b", None, None, "a"]
    assert encoded.table["time"].to_pylist() == [3, 5, 2, 4, 1]
    assert partitions.encode(1, 3, ["time"]).table.to_pylist() == [{"time": 2}, {"time": 4}, {"time": 1}]
