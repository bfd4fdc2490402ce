"""A prepared table as arrays, sorted by (partition, time)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.kernels.sorting import stable_order
from trendweave.planning.plan import Plan
from trendweave.planning.preparation import Preparation
from trendweave.rows.codes import joint_codes, key_codes, order_codes
from trendweave.rows.segments import Segments
from trendweave.rows.times import TimeType, as_steps, time_type

TIME = "time"
CHUNK = "chunk"
LETTERS = "letters_"


@dataclass(slots=True)
class EncodedRows:
    """Rows of all partitions. `tick` numbers the distinct times of each partition, all partitions one after the
    other."""

    table: pa.Table
    time_type: TimeType
    tick: np.ndarray
    tick_steps: np.ndarray
    partitions: Segments
    _codes: dict[object, tuple[np.ndarray, np.ndarray]]

    def compared(self, previous: str, following: str) -> tuple[np.ndarray, np.ndarray]:
        """Order codes of two prepared columns, made once."""
        if (previous, following) not in self._codes:
            left = self.table.column(previous)
            right = left if previous == following else self.table.column(following)
            self._codes[previous, following] = order_codes(left, right)
        return self._codes[previous, following]

    def same(self, pairs: tuple[tuple[str, str], ...]) -> tuple[np.ndarray, np.ndarray]:
        """Codes of two lists of columns that are equal iff all columns are: several equalities become one."""
        if len(pairs) == 1:
            return self.compared(*pairs[0])
        if pairs not in self._codes:
            self._codes[pairs] = joint_codes([self.compared(*pair) for pair in pairs])
        return self._codes[pairs]


def encode(plan: Plan, preparation: Preparation, table: pa.Table) -> EncodedRows:
    """Rows that no partition holds (NULL in an equivalence) are left out, and so are rows that cannot be read as
    anything."""
    for key, name in zip(plan.partition_key, preparation.partition_key, strict=True):
        if not key.nullable and table.column(name).null_count:
            table = table.filter(pc.is_valid(table.column(name)))
    kind = time_type(table.schema.field(TIME).type)
    keys = [*preparation.partition_key, *(name for name in (CHUNK,) if name in table.column_names)]
    partition = key_codes([table.column(name) for name in keys], table.num_rows)
    moment = as_steps(table.column(TIME), kind)
    order = _sorted_by(partition, moment)
    if order is not None:
        partition, moment, table = partition[order], moment[order], table.take(pa.array(order))
    new_partition = np.ones(partition.size, np.bool_)
    new_partition[1:] = partition[1:] != partition[:-1]
    new_tick = new_partition.copy()
    new_tick[1:] |= moment[1:] != moment[:-1]
    tick = np.cumsum(new_tick) - 1
    letters = _letters(table)
    starts = np.append(np.flatnonzero(new_partition), partition.size)
    partitions = Segments(np.arange(partition.size), starts, letters, np.arange(starts.size - 1), {})
    return EncodedRows(table, kind, tick, moment[new_tick], partitions, {})


def _sorted_by(partition: np.ndarray, moment: np.ndarray) -> np.ndarray | None:
    """The order by (partition, time), or None where the rows of each partition stand together, in time, as Spark sorts
    them."""
    border = partition[1:] != partition[:-1]
    earlier = moment[1:] < moment[:-1]
    partitions = int(partition.max(initial=-1)) + 1
    # Numbers have no gaps, so with as many runs of equal numbers as numbers each of them has one run.
    together = np.count_nonzero(border) + 1 <= partitions or not partitions
    if together and not (earlier & ~border).any():
        return None
    if not earlier.any():
        return stable_order(partition, partitions)[0]
    by_time = np.argsort(moment, kind="stable")
    return by_time[stable_order(partition[by_time], partitions)[0]]


def _letters(table: pa.Table) -> np.ndarray:
    """Without such columns, all rows can be read as the only variable there is."""
    names = [name for name in table.column_names if name.startswith(LETTERS)]
    if not names:
        return np.ones((table.num_rows, 1), np.uint64)
    words = [table.column(name).to_numpy().view(np.uint64) for name in names]
    return np.stack(words, axis=1)
