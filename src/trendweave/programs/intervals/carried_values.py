"""What the events of a situation told in earlier pieces, and how it is joined with what later ones tell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.planning.interval_plan import OutputColumn
from trendweave.programs.intervals.values import Summary, too_large
from trendweave.rows.codes import order_codes

_NUMBERS = ("known", "total", "low", "high")
_VALUES = ("first", "last")


def as_columns(number: int, parts: Summary) -> dict[str, pa.Array]:
    """The parts of an output as columns of a state."""
    columns = {f"rows_{number}": pa.array(parts.rows)}
    for name in _NUMBERS:
        values = getattr(parts, name)
        if values is not None:
            columns[f"{name}_{number}"] = pa.array(values)
    for name in _VALUES:
        values = getattr(parts, name)
        if values is not None:
            columns[f"{name}_{number}"] = values
    return columns


def from_columns(number: int, table: pa.Table, place: np.ndarray) -> Summary:
    """What is known of the situations at some places of a state; -1 stands for nothing yet."""
    nowhere = place < 0
    found = np.where(nowhere, 0, place)

    def numbers(name: str) -> np.ndarray | None:
        if f"{name}_{number}" not in table.column_names:
            return None
        column = table.column(f"{name}_{number}").to_numpy()
        if not column.size:
            return np.zeros(place.size, column.dtype)
        return np.where(nowhere, column.dtype.type(0), column[found])

    def values(name: str) -> pa.Array | None:
        if f"{name}_{number}" not in table.column_names:
            return None
        taken = table.column(f"{name}_{number}").take(pa.array(place, mask=nowhere))
        return taken.combine_chunks() if isinstance(taken, pa.ChunkedArray) else taken

    rows = table.column(f"rows_{number}").to_numpy()
    counts = np.where(nowhere, 0, rows[found]) if rows.size else np.zeros(place.size, np.int64)
    return Summary(counts, *(numbers(name) for name in _NUMBERS), *(values(name) for name in _VALUES))


@dataclass(frozen=True, slots=True)
class _Pair:
    earlier: Summary
    later: Summary
    output: OutputColumn

    def total(self) -> np.ndarray | None:
        if self.earlier.total is None or self.later.total is None:
            return None
        with np.errstate(over="ignore"):
            both = self.earlier.total + self.later.total
        if both.dtype != np.float64 and (((self.earlier.total ^ both) & (self.later.total ^ both)) < 0).any():
            raise too_large(self.output)
        return both

    def extreme(self, name: str) -> np.ndarray | None:
        """Of two numbers where both are known. NaN is the largest."""
        left, right = getattr(self.earlier, name), getattr(self.later, name)
        if left is None or right is None or self.earlier.known is None or self.later.known is None:
            return None
        both = np.fmin(left, right) if name == "low" else np.maximum(left, right)
        return np.where(self.earlier.known == 0, right, np.where(self.later.known == 0, left, both))

    def first(self) -> pa.Array | None:
        if self.earlier.first is None or self.later.first is None:
            return None
        if self.output.function in ("MIN", "MAX"):
            return self._extreme_value()
        return pc.if_else(pa.array(self.earlier.rows > 0), self.earlier.first, self.later.first)

    def last(self) -> pa.Array | None:
        if self.earlier.last is None or self.later.last is None:
            return None
        return pc.if_else(pa.array(self.later.rows > 0), self.later.last, self.earlier.last)

    def _extreme_value(self) -> pa.Array:
        """Of values that are no numbers, by their order codes; NULL is none."""
        left, right = self.earlier.first, self.later.first
        left_codes, right_codes = order_codes(pa.chunked_array([left]), pa.chunked_array([right]))
        takes_left = left_codes <= right_codes if self.output.function == "MIN" else left_codes >= right_codes
        takes_left = np.where(left_codes < 0, False, np.where(right_codes < 0, True, takes_left))
        return pc.if_else(pa.array(takes_left), left, right)


def merge_summaries(earlier: Summary, later: Summary, output: OutputColumn) -> Summary:
    pair = _Pair(earlier, later, output)
    known = None if earlier.known is None or later.known is None else earlier.known + later.known
    return Summary(
        earlier.rows + later.rows, known, pair.total(), pair.extreme("low"), pair.extreme("high"), pair.first(),
        pair.last(),
    )  # fmt: skip


def take_summaries(parts: Summary, place: np.ndarray) -> Summary:
    """The parts at some places."""
    numbers = (getattr(parts, name) for name in _NUMBERS)
    values = (getattr(parts, name) for name in _VALUES)
    return Summary(
        parts.rows[place],
        *(None if one is None else one[place] for one in numbers),
        *(None if one is None else one.take(pa.array(place)) for one in values),
    )
