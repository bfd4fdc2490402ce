"""The entries (value, row, time) of a data file, sorted by the value of one column: lookups read no data.

Of strings each different one is kept once, with the place where its entries begin.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.kernels.sorting import order_by_time
from trendweave.programs.operators.measured import LEAST, MOST, codes_of, is_measured, is_text, measure
from trendweave.rows.times import as_steps, has_time, time_type
from trendweave.store.index.array_file import ArrayFile
from trendweave.store.index.light import own_schema
from trendweave.store.index.ranges import Ranges
from trendweave.store.index.texts import compare_texts
from trendweave.store.layout.reading import RowReader

#: Every so many entries the value is kept a second time, close together: where to look, and how many there are.
PAGE = 4096


def build_secondary(reader: RowReader, time: str, column: str) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
    """The entries of a file; None where the file has no such column, or one that has no order.

    Args:
        reader: Reads the file in its own columns.
        time: The column of the time.
        column: The column to sort by.

    Returns:
        Facts and arrays for `write_arrays`.
    """
    parquet = reader.files.parquet(reader.file)
    schema = own_schema(parquet)
    if column not in schema.names:
        return None
    groups = list(range(parquet.metadata.num_row_groups))
    table = RowReader(reader.files, reader.file, schema).read(groups, list(dict.fromkeys([time, column])))
    kept = np.asarray(pc.and_(has_time(table.column(time)), pc.is_valid(table.column(column))))
    rows = np.flatnonzero(kept)
    table = table.filter(pa.array(kept)) if rows.size < table.num_rows else table
    times = as_steps(table.column(time), time_type(schema.field(time).type))
    facts = {"column": column, "type": str(schema.field(column).type), "rows": int(kept.size)}
    if is_text(schema.field(column).type):
        return facts, _text_arrays(table.column(column), rows, times)
    if not is_measured(schema.field(column).type):
        return None
    measured = measure(table.column(column))
    if measured is None:
        return None
    order, _, codes = order_by_time(np.zeros(rows.size, np.int64), codes_of(measured.values), 1)
    arrays = {"codes": codes, "fences": codes[::PAGE].copy()}
    return facts, {**arrays, "rows": rows[order].astype(np.uint32), "times": times[order]}


def _text_arrays(column: pa.ChunkedArray, rows: np.ndarray, times: np.ndarray) -> dict[str, np.ndarray]:
    encoded = column.combine_chunks().dictionary_encode()
    texts = encoded.dictionary.cast(pa.large_binary())
    ranks = np.empty(len(texts), np.int64)
    ranked = np.asarray(pc.sort_indices(texts))
    ranks[ranked] = np.arange(len(texts))
    codes = ranks[encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)]
    order, starts, _ = order_by_time(codes, np.arange(rows.size), len(texts))
    ordered = texts.take(pa.array(ranked))
    _, offsets, data = ordered.buffers()
    bounds = np.frombuffer(offsets, np.int64)[ordered.offset : ordered.offset + len(ordered) + 1]
    letters = np.frombuffer(data or b"", np.uint8)[bounds[0] : bounds[-1]] if len(ordered) else np.empty(0, np.uint8)
    return {
        "text_ends": bounds[1:] - bounds[0],
        "letters": letters,
        "starts": starts,
        "rows": rows[order].astype(np.uint32),
        "times": times[order],
    }


class SecondaryIndex:
    """The entries of one file."""

    def __init__(self, source: ArrayFile) -> None:
        self._source = source
        self.is_text = "starts" in source
        self.size = source.length("rows")

    @cached_property
    def _fences(self) -> np.ndarray:
        return self._source.array("fences")

    def places_of_codes(self, ranges: Ranges) -> list[tuple[int, int]]:
        """Where the entries are whose values lie in some ranges of codes."""
        return [(self._place(low), self._place(high + 1)) for low, high in ranges]

    def _place(self, code: int) -> int:
        """Before which entry values are below a code."""
        if code <= LEAST:
            return 0
        if code > MOST:
            return self.size
        fences = self._fences
        page = int(np.searchsorted(fences, code))  # all entries from the fence on are not below it
        if page == 0:
            return 0
        first = (page - 1) * PAGE
        part = self._source.part("codes", first, min(first + PAGE, self.size))
        return first + int(np.searchsorted(part, code))

    def places_of_texts(self, operator: str, value: str) -> list[tuple[int, int]]:
        """Where the entries are whose strings compare so with a value."""
        starts = self._source.array("starts")
        texts = self._texts()
        holds = np.array(compare_texts(texts, operator, value), np.bool_)
        chosen = np.flatnonzero(holds)
        if not chosen.size:
            return []
        runs = np.split(chosen, np.flatnonzero(np.diff(chosen) != 1) + 1)
        return [(int(starts[run[0]]), int(starts[run[-1] + 1])) for run in runs]

    def _texts(self) -> list[str]:
        ends = self._source.array("text_ends")
        letters = self._source.array("letters")
        offsets = pa.py_buffer(np.concatenate(([0], ends)).astype(np.int64))
        found = pa.LargeStringArray.from_buffers(ends.size, offsets, pa.py_buffer(letters.tobytes()))
        return found.to_pylist()

    def entries(self, places: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
        """Times and rows of entries."""
        parts = [(self._source.part("times", *place), self._source.part("rows", *place)) for place in places]
        if not parts:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        times, rows = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return times, rows.astype(np.int64)
