"""Groups of events by the values of some columns: numbers for them, and blocks whose events are all of one group.

A block is of one group where the layout gives it: the group is a folder, or all events of the block have one value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.programs.operators.measured import as_column, is_measured, is_text

if TYPE_CHECKING:
    from trendweave.store.snapshot import Snapshot

_NAN = object()


class Groups:
    """Gives each group a number, in the order in which they are met. NULL and NaN are values of their own."""

    def __init__(self, schema: pa.Schema, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._schema = pa.schema([schema.field(name) for name in names])
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._values: list[tuple[Any, ...]] = []

    @property
    def size(self) -> int:
        """How many groups were met."""
        return len(self._values)

    def number(self, values: tuple[Any, ...]) -> int:
        """The number of a group."""
        key = tuple(_key(value) for value in values)
        if key not in self._numbers:
            self._numbers[key] = len(self._values)
            self._values.append(tuple(value + 0.0 if isinstance(value, float) else value for value in values))
        return self._numbers[key]

    def of_rows(self, table: pa.Table) -> np.ndarray:
        """The group of each row."""
        codes = np.zeros(table.num_rows, np.int64)
        parts = []
        for name in self.names:
            encoded = table.column(name).combine_chunks().dictionary_encode("encode")
            own = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
            codes = codes * max(1, len(encoded.dictionary)) + own
            parts.append((encoded.dictionary.to_pylist(), own))
        distinct, rows, place = np.unique(codes, return_index=True, return_inverse=True)
        found = [tuple(values[own[row]] for values, own in parts) for row in rows.tolist()]
        numbers = np.array([self.number(values) for values in found], np.int64)
        return numbers[place] if distinct.size else codes

    def of_blocks(self, store: Snapshot) -> np.ndarray:
        """The group of each block; -1 where it has several, or where that is not known."""
        columns = [one_value_per_block(store, name) for name in self.names]
        known = np.logical_and.reduce([is_one for _, is_one in columns])
        numbers = np.full(store.blocks.size, -1)
        chosen = np.flatnonzero(known)
        if chosen.size:
            numbers[chosen] = self.of_rows(
                pa.table([column.take(pa.array(chosen)) for column, _ in columns], schema=self._schema)
            )
        return numbers

    def table(self) -> pa.Table:
        """The groups by their numbers."""
        columns = zip(*self._values, strict=True) if self._values else [()] * len(self.names)
        pairs = zip(self._schema, columns, strict=True)
        return pa.table([pa.array(values, field.type) for field, values in pairs], schema=self._schema)

    def ranks(self) -> np.ndarray:
        """The place of each group in the order of values; NULL comes last."""
        order = pc.sort_indices(self.table(), [(name, "ascending") for name in self.names]) if self.size else []
        ranks = np.empty(self.size, np.int64)
        ranks[np.asarray(order, np.int64)] = np.arange(self.size)
        return ranks


def one_value_per_block(store: Snapshot, name: str) -> tuple[pa.Array, np.ndarray]:
    """A value of each block, and whether all of its events have it."""
    kind = store.schema.field(name).type
    blocks = store.blocks
    if is_text(kind):
        return blocks.one_text(name)
    column = blocks.column(name) if is_measured(kind) else None
    if column is None:
        return pa.nulls(blocks.size, kind), np.zeros(blocks.size, np.bool_)
    told = column.known & blocks.exact
    missing = told & (column.nulls == blocks.count)
    one = told & (column.low == column.high) & (column.nulls == 0) & (column.nans == 0)
    values = np.where(one, column.low, 0)
    return as_column(values, kind, ~one), one | missing


def _key(value: Any) -> Any:
    if isinstance(value, float):
        return _NAN if math.isnan(value) else value + 0.0
    return value
