"""A prepared table as arrays, sorted by (partition, time)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.planning.plan import Plan
from trendweave.planning.preparation import Preparation
from trendweave.rows.codes import joint_codes, key_codes, order_codes
from trendweave.rows.ordering import sort_by_key_and_time
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

    def order_codes_of(self, previous: str, following: str) -> tuple[np.ndarray, np.ndarray]:
        """Number the values of two prepared columns in their order, once.

        Args:
            previous: The column of the earlier event.
            following: The column of the later event.

        Returns:
            Codes as `order_codes` gives them.
        """
        if (previous, following) not in self._codes:
            left = self.table.column(previous)
            right = left if previous == following else self.table.column(following)
            self._codes[previous, following] = order_codes(left, right)
        return self._codes[previous, following]

    def equality_codes_of(self, pairs: tuple[tuple[str, str], ...]) -> tuple[np.ndarray, np.ndarray]:
        """Number several pairs of columns as one: several equalities become one.

        Args:
            pairs: Columns of the earlier and the later event.

        Returns:
            Codes as `joint_codes` gives them.
        """
        if len(pairs) == 1:
            return self.order_codes_of(*pairs[0])
        if pairs not in self._codes:
            self._codes[pairs] = joint_codes([self.order_codes_of(*pair) for pair in pairs])
        return self._codes[pairs]


def encode_rows(plan: Plan, preparation: Preparation, table: pa.Table) -> EncodedRows:
    """Sort and number prepared rows. Rows that no partition holds (NULL in an equivalence) are left out.

    Args:
        plan: The plan of the query.
        preparation: The names of prepared columns.
        table: Prepared rows.

    Returns:
        The rows by (partition, time).
    """
    for key, name in zip(plan.partition_key, preparation.partition_key, strict=True):
        if not key.nullable and table.column(name).null_count:
            table = table.filter(pc.is_valid(table.column(name)))
    kind = time_type(table.schema.field(TIME).type)
    keys = [*preparation.partition_key, *(name for name in (CHUNK,) if name in table.column_names)]
    partition = key_codes([table.column(name) for name in keys], table.num_rows)
    moment = as_steps(table.column(TIME), kind)
    count = int(partition.max(initial=-1)) + 1
    order, starts = sort_by_key_and_time(partition, moment, count, keys_in_order=False)
    if order is not None:
        moment, table = moment[order], table.take(pa.array(order))
    new_tick = np.ones(moment.size, np.bool_)
    new_tick[1:] = moment[1:] != moment[:-1]
    new_tick[starts[:-1]] = True
    tick = np.cumsum(new_tick) - 1
    partitions = Segments(np.arange(moment.size), starts, _read_letters(table), np.arange(starts.size - 1), {})
    return EncodedRows(table, kind, tick, moment[new_tick], partitions, {})


def _read_letters(table: pa.Table) -> np.ndarray:
    """Without such columns, all rows can be read as the only variable there is."""
    names = [name for name in table.column_names if name.startswith(LETTERS)]
    if not names:
        return np.ones((table.num_rows, 1), np.uint64)
    words = [table.column(name).to_numpy().view(np.uint64) for name in names]
    return np.stack(words, axis=1)
