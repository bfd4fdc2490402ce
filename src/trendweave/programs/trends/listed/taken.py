"""Up to which time beginnings are taken away, per partition: what a selection under WITHIN alone carries on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from trendweave.kernels.listing.selection import NOTHING_TAKEN
from trendweave.results.shown_trends import join_chunks
from trendweave.rows.codes import first_of_each, key_codes
from trendweave.rows.encoded import EncodedRows

UNTIL = "trendweave_until"
_NEVER = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True)
class TakenAway:
    """A row per partition, told by its `keys`, in which no trend may begin up to a time, in steps."""

    keys: tuple[str, ...]
    table: pa.Table | None = None

    def limits(self, rows: EncodedRows) -> np.ndarray:
        """Find the last tick of each partition at which no trend may begin."""
        _, codes = self._number(rows)
        until = self._until(codes)[codes[self._size :]]
        partition = rows.partitions.of_rows()
        of_tick = np.empty(rows.tick_steps.size, np.int64)
        of_tick[rows.tick] = partition
        first = rows.tick[rows.partitions.starts[:-1]]
        gone = np.bincount(of_tick[rows.tick_steps <= until[of_tick]], minlength=first.size)
        return np.where(gone > 0, first + gone - 1, NOTHING_TAKEN)

    def after(self, limits: np.ndarray, rows: EncodedRows) -> TakenAway:
        """The same once trends of these rows were taken, up to whose `limits` none may begin."""
        values, codes = self._number(rows)
        until = self._until(codes)
        reached = np.where(limits == NOTHING_TAKEN, _NEVER, rows.tick_steps[np.maximum(limits, 0)])
        np.maximum.at(until, codes[self._size :], reached)
        first = first_of_each(codes)
        known = np.flatnonzero(until != _NEVER)
        columns = [column.take(pa.array(first[known])) for column in values]
        return TakenAway(self.keys, pa.table([*columns, pa.array(until[known])], names=[*self.keys, UNTIL]))

    def still(self, earliest: int) -> TakenAway:
        """Without what ended before a time at which trends may yet begin."""
        if self.table is None:
            return self
        open_ = self.table.column(UNTIL).to_numpy() >= earliest
        return self if open_.all() else TakenAway(self.keys, self.table.filter(pa.array(open_)))

    @property
    def _size(self) -> int:
        return 0 if self.table is None else self.table.num_rows

    def _number(self, rows: EncodedRows) -> tuple[list[pa.Array], np.ndarray]:
        """The keys of what was taken away, then those of the partitions of some rows, and their numbers."""
        first = pa.array(rows.partitions.starts[:-1])
        values = []
        for name in self.keys:
            own = join_chunks(rows.table.column(name)).take(first)
            values.append(own if self.table is None else pa.concat_arrays([join_chunks(self.table.column(name)), own]))
        total = self._size + len(first)
        return values, key_codes([pa.chunked_array([column]) for column in values], total)

    def _until(self, codes: np.ndarray) -> np.ndarray:
        until = np.full(int(codes.max(initial=-1)) + 1, _NEVER)
        if self.table is not None:
            until[codes[: self._size]] = self.table.column(UNTIL).to_numpy()
        return until
