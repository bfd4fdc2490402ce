"""The light index of a data file, loaded: blocks and their columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from trendweave.programs.operators.sums import Sums
from trendweave.store.index.array_file import ArrayFile, DamagedIndex
from trendweave.store.index.texts import compare_texts, from_bytes, may_hold_text, may_hold_words


@dataclass(frozen=True)
class NumberColumn:
    """What is known of a column of numbers, per block.

    Attributes:
        low: The smallest value that is no NaN; above the largest where there is none.
        high: The largest one.
        known: How many values are not NULL.
        nans: How many of these are NaN.
        sums: Their sums.
    """

    low: np.ndarray
    high: np.ndarray
    known: np.ndarray
    nans: np.ndarray
    sums: Sums


class LightIndex:
    """The blocks of one file, in the order of row groups and of time inside each."""

    def __init__(self, source: ArrayFile) -> None:
        self._source = source
        self.group = source.array("group").astype(np.int32)
        self.count = source.array("count").astype(np.int64)
        self.first = source.array("first")
        self.last = source.array("last")
        self.rows = source.array("rows")
        self.bytes = source.array("bytes")
        sizes = {array.size for array in (self.group, self.count, self.first, self.last)}
        if len(sizes) != 1 or self.rows.size != self.bytes.size:
            raise DamagedIndex(f"{source.name}: its arrays do not fit each other")
        self.size = self.group.size
        self.no_time = int(source.facts["no_time"])
        self.pace = (int(source.facts["pace"][0]), int(source.facts["pace"][1]))
        self._columns: dict[str, NumberColumn | None] = {}

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of the file."""
        return pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(self._source.facts["schema"])))

    def column(self, name: str) -> NumberColumn | None:
        """What is known of a column; None where nothing is.

        Raises:
            DamagedIndex: Its bytes have changed.
        """
        if name not in self._columns:
            self._columns[name] = self._load(name)
        return self._columns[name]

    def _load(self, name: str) -> NumberColumn | None:
        source, start = self._source, f"number/{name}/"
        if f"{start}low" not in source:
            return None
        low, high, known = (source.array(start + key) for key in ("low", "high", "known"))
        nans = source.array(f"{start}nans") if f"{start}nans" in source else np.zeros(self.size, np.uint32)
        sums = Sums(source.array(f"{start}sum").reshape(1 if low.dtype == np.float64 else 2, self.size))
        return NumberColumn(low, high, known.astype(np.int64), nans.astype(np.int64), sums)

    def may_hold_text(self, name: str, operator: str, value: str) -> np.ndarray:
        """Which blocks may have a string that compares so with a value.

        Raises:
            DamagedIndex: Its bytes have changed.
        """
        source, start = self._source, f"text/{name}/"
        if f"{start}words" in source:
            texts = from_bytes(source.array(f"{start}texts"))
            return may_hold_words(compare_texts(texts, operator, value), source.array(f"{start}words"))
        if f"{start}filters" in source and operator == "=":
            kept = (source.array(start + key) for key in ("filters", "filter_ends", "filter_places"))
            groups = may_hold_text(value, *kept)
            return groups[self.group]
        return np.ones(self.size, np.bool_)

    def one_text(self, name: str) -> tuple[list[str | None], np.ndarray] | None:
        """A string of each block, and whether all of its events have it; None where that is not known.

        Raises:
            DamagedIndex: Its bytes have changed.
        """
        source, start = self._source, f"text/{name}/"
        if f"{start}words" not in source:
            return None
        texts = np.array([*from_bytes(source.array(f"{start}texts")), None], object)
        words, known = source.array(f"{start}words"), source.array(f"{start}known")
        alone = (words & (words - np.uint64(1))) == 0  # at most one bit
        bits = np.where(alone & (words != 0), np.log2(np.maximum(words, 1).astype(np.float64)), -1).astype(np.int64)
        return texts[bits].tolist(), alone & ((known == 0) | (known == self.count))
