"""Which beginnings are taken away by trends that have come out: what a selection under WITHIN alone carries on."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from trendweave.results.shown_trends import join_chunks
from trendweave.rows.codes import key_codes
from trendweave.rows.encoded import EncodedRows
from trendweave.rows.ordering import number_finer_times

UNTIL = "trendweave_until"
_PAIR = np.dtype([("partition", np.int64), ("moment", np.int64)])


@dataclass(frozen=True, slots=True)
class TakenAway:
    """Times, in steps, of partitions that are told by their `keys`: no trend may begin up to the one of a partition or,
    where only `own` beginnings are taken away, at any of them. Where columns order events of one time, `ties`, their
    values stand beside each time."""

    keys: tuple[str, ...]
    own: bool
    ties: tuple[str, ...] = ()
    table: pa.Table | None = None

    def find_allowed(self, rows: EncodedRows) -> np.ndarray:
        """Find the rows with which trends may begin."""
        if self.table is None:
            return np.ones(rows.tick.size, np.bool_)
        known, numbers = self._number(rows)[1], self._number_moments(rows, np.arange(rows.tick.size))[1]
        size = self.table.num_rows
        taken, moments = numbers[:size], numbers[size:]
        partition = known[size:][rows.partitions.of_rows()]
        if self.own:
            return ~np.isin(_pairs(partition, moments), _pairs(known[:size], taken))
        until, some = np.zeros(int(known.max()) + 1, np.int64), np.zeros(int(known.max()) + 1, np.bool_)
        until[known[:size]], some[known[:size]] = taken, True
        return ~some[partition] | (moments > until[partition])

    def after(self, rows: EncodedRows, partition: np.ndarray, until: np.ndarray) -> TakenAway:
        """The same once trends have come out.

        Args:
            rows: The rows that they are made of.
            partition: The partition of each trend.
            until: What each takes away: the number of a row with the time up to which nothing may begin.
        """
        values, codes = self._number(rows)
        columns, moments = self._number_moments(rows, until)
        size = codes.size - rows.partitions.count
        place = np.append(np.arange(size), size + partition)
        own = np.arange(place.size)
        if not self.own:
            # The latest of each partition.
            order = np.lexsort((moments, codes[place]))
            own = order[np.append(codes[place][order][1:] != codes[place][order][:-1], True)[: order.size]]
        found = [column.take(pa.array(place[own])) for column in values]
        found += [column.take(pa.array(own)) for column in columns]
        return replace(self, table=pa.table(found, names=[*self.keys, *self.ties, UNTIL]))

    def still(self, earliest: int) -> TakenAway:
        """Without what ended before a time at which trends may yet begin."""
        if self.table is None:
            return self
        open_ = self.table.column(UNTIL).to_numpy() >= earliest
        return self if open_.all() else replace(self, table=self.table.filter(pa.array(open_)))

    def _number(self, rows: EncodedRows) -> tuple[list[pa.Array], np.ndarray]:
        """The keys of what was taken away, then those of the partitions of some rows, and their numbers."""
        first = pa.array(rows.partitions.starts[:-1])
        values = []
        for name in self.keys:
            own = join_chunks(rows.table.column(name)).take(first)
            values.append(own if self.table is None else pa.concat_arrays([join_chunks(self.table.column(name)), own]))
        total = (0 if self.table is None else self.table.num_rows) + len(first)
        return values, key_codes([pa.chunked_array([column]) for column in values], total)

    def _number_moments(self, rows: EncodedRows, chosen: np.ndarray) -> tuple[list[pa.Array], np.ndarray]:
        """What orders events, and the time, of what was taken away and then of some rows; and numbers in that order."""
        columns = [join_chunks(rows.table.column(name)).take(pa.array(chosen)) for name in self.ties]
        columns.append(pa.array(rows.tick_steps[rows.tick[chosen]]))
        if self.table is not None:
            names = zip((*self.ties, UNTIL), columns, strict=True)
            columns = [pa.concat_arrays([join_chunks(self.table.column(name)), own]) for name, own in names]
        steps = columns[-1].to_numpy()
        if not self.ties:
            return columns, steps
        return columns, number_finer_times(steps, [pa.chunked_array([column]) for column in columns[:-1]])


def _pairs(partition: np.ndarray, moment: np.ndarray) -> np.ndarray:
    pairs = np.empty(partition.size, _PAIR)
    pairs["partition"], pairs["moment"] = partition, moment
    return pairs
