"""A prepared table as arrays, sorted by (partition, time)."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from weakref import WeakValueDictionary

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.expressions.arrow.values import join_chunks
from trendweave.kernels.sorting import number_ticks
from trendweave.planning.plan import Plan, SessionWindow, Window
from trendweave.planning.preparation import Preparation
from trendweave.rows.codes import joint_codes, key_codes, order_codes
from trendweave.rows.segments import Segments, number_finer_times, sort_by_key_and_time, take_rows
from trendweave.rows.times import TimeType, as_steps, as_times, time_type
from trendweave.rows.windows import SessionNumbers, number_sessions


def adopt_rows(rows: pa.Table, moment: pa.DataType, words: Sequence[str]) -> pa.Table:
    """Rows that another engine has prepared, in the types that Arrow would have given them.

    Args:
        rows: Prepared rows.
        moment: The type of their times, where they have one.
        words: The names of the columns that hold flags.
    """
    for place, column in enumerate(rows.schema):
        wanted = moment if column.name == TIME else pa.int64() if column.name in words else column.type
        if column.type != wanted:
            rows = rows.set_column(place, column.name, rows.column(place).cast(wanted))
    return rows


TIME = "time"
CHUNK = "chunk"
APART = "window_apart"
#: Whether trends with a window of their own that stand at a row are asked for; without this column all are.
ASKED = "asked"
#: Numbers rows, so that they are known again in another order.
NUMBER = "number"
LETTERS = "letters_"


@dataclass(slots=True)
class EncodedRows:
    """Rows of all partitions. `tick` numbers the distinct times of each partition, all partitions one after the
    other; where columns order events of one time, the distinct times and values of these. `tick_steps` are the times of
    the ticks."""

    table: pa.Table
    time_type: TimeType
    tick: np.ndarray
    tick_steps: np.ndarray
    partitions: Segments
    _codes: dict[object, tuple[np.ndarray, np.ndarray]]
    _sessions: dict[SessionWindow, SessionNumbers] = field(default_factory=dict)

    def number_sessions(self, window: SessionWindow) -> SessionNumbers:
        """Number the sessions of all partitions, once.

        Args:
            window: The window of the plan.

        Returns:
            The numbers.
        """
        if window not in self._sessions:
            starts = self.tick[self.partitions.starts[:-1]]
            self._sessions[window] = number_sessions(window, self.time_type, self.tick_steps, starts)
        return self._sessions[window]

    def label_windows(self, window: Window, keys: np.ndarray) -> np.ndarray:
        """Find what windows are shown by.

        Args:
            window: The window of the plan.
            keys: The keys of some windows.

        Returns:
            The keys; of sessions, their first and last times.
        """
        return self.number_sessions(window).edges[keys] if isinstance(window, SessionWindow) else keys

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


@dataclass(frozen=True, slots=True)
class SortedPartitions:
    """Prepared rows, and the order that brings them by (partition, time); None where they stand in it.
    `starts` says where each partition begins, with the end of the last; `moment` are the times in this order, and
    `texts` the columns of text that have one value in each partition. `place` numbers times that other columns make
    finer, in this order; None where times are as they are."""

    table: pa.Table
    time_type: TimeType
    order: np.ndarray | None
    starts: np.ndarray
    moment: np.ndarray
    texts: tuple[str, ...]
    place: np.ndarray | None = None

    @property
    def count(self) -> int:
        """How many partitions there are."""
        return self.starts.size - 1

    def in_blocks(self, rows: int) -> Iterator[PartitionBlock]:
        """Cut the partitions into blocks.

        Args:
            rows: A block of several partitions has no more rows.

        Yields:
            The blocks in order.
        """
        cuts = [0]
        while cuts[-1] < self.count:
            fitting = int(np.searchsorted(self.starts, self.starts[cuts[-1]] + rows, side="right")) - 1
            cuts.append(max(fitting, cuts[-1] + 1))
        # Blocks are taken from one array quicker than from many.
        whole = replace(self, table=self.table.combine_chunks()) if len(cuts) > 2 else self
        return (PartitionBlock(whole, first, end) for first, end in pairwise(cuts))

    def encode(self, first: int, end: int, names: Sequence[str] | None = None) -> EncodedRows:
        """Number the rows of some partitions.

        Args:
            first: The first of them.
            end: The one after the last.
            names: The columns that are read; None: all.

        Returns:
            Their rows by (partition, time).
        """
        low, high = int(self.starts[first]), int(self.starts[end])
        table = self.table if names is None else self.table.select(names)
        if self.order is not None:
            table = self._take(table, first, end)
        elif high - low < table.num_rows:
            table = table.slice(low, high - low)
        starts = self.starts[first : end + 1] - low
        tick, tick_steps = number_ticks((self.moment if self.place is None else self.place)[low:high], starts)
        if self.place is not None:
            tick_steps = np.empty_like(tick_steps)
            tick_steps[tick] = self.moment[low:high]
        partitions = Segments(np.arange(tick.size), starts, read_letters(table), np.arange(starts.size - 1), {})
        return EncodedRows(table, self.time_type, tick, tick_steps, partitions, {})

    def _take(self, table: pa.Table, first: int, end: int) -> pa.Table:
        """The rows of some partitions in their order. Texts that are keys are taken once per partition and repeated,
        and times were moved when rows were sorted: that is quicker than to fetch each from where it stands."""
        assert self.order is not None
        low, high = int(self.starts[first]), int(self.starts[end])
        taken = {name: table.column(name) for name in table.column_names}
        others = [name for name in taken if name not in self.texts and (name != TIME or self.time_type.is_float)]
        order = self.order[low:high]
        taken |= {name: take_rows(taken[name], order) for name in others}
        if TIME not in others and TIME in taken:
            taken[TIME] = pa.chunked_array([as_times(self.moment[low:high], self.time_type)])
        if texts := [name for name in self.texts if name in taken]:
            each = table.select(texts).take(pa.array(self.order[self.starts[first:end]])).combine_chunks()
            sizes = np.diff(self.starts[first : end + 1])
            repeated = each.take(pa.array(np.repeat(np.arange(end - first), sizes)))
            taken |= {name: repeated.column(name) for name in texts}
        return pa.table(list(taken.values()), schema=table.schema)


@dataclass(frozen=True, slots=True)
class PartitionBlock:
    """Some partitions one after the other: the first, and the one after the last."""

    partitions: SortedPartitions
    first: int
    end: int

    def encode(self, names: Sequence[str] | None = None) -> EncodedRows:
        """Number the rows of the block.

        Args:
            names: The columns that are read; None: all.

        Returns:
            The rows by (partition, time).
        """
        return self.partitions.encode(self.first, self.end, names)

    def first_values(self, name: str) -> pa.Array:
        """The value of a column in the first row of each partition.

        Args:
            name: The column.

        Returns:
            A value per partition.
        """
        rows, order = self.partitions.starts[self.first : self.end], self.partitions.order
        values = self.partitions.table.column(name).take(pa.array(rows if order is None else order[rows]))
        return join_chunks(values)


def sort_partitions(plan: Plan, preparation: Preparation, table: pa.Table) -> SortedPartitions:
    """Find the partitions of prepared rows. Rows that no partition holds (NULL in an equivalence) are left out.

    Args:
        plan: The plan of the query.
        preparation: The names of prepared columns.
        table: Prepared rows.

    Returns:
        The rows, and their order by (partition, time).
    """
    for key, name in zip(plan.partition_key, preparation.partition_key, strict=True):
        if not key.nullable and table.column(name).null_count:
            table = table.filter(pc.is_valid(table.column(name)))
    kind = time_type(table.schema.field(TIME).type)
    keys = [*preparation.partition_key, *(name for name in (CHUNK, APART) if name in table.column_names)]
    partition = key_codes([table.column(name) for name in keys], table.num_rows)
    moment = as_steps(table.column(TIME), kind)
    count = int(partition.max(initial=-1)) + 1
    texts = tuple(name for name in keys if _is_text(table.schema.field(name).type))
    if preparation.ties and table.num_rows:
        place = number_finer_times(moment, [table.column(name) for name in preparation.ties])
        order, starts, place = sort_by_key_and_time(partition, place, count, keys_in_order=False)
        return SortedPartitions(table, kind, order, starts, moment if order is None else moment[order], texts, place)
    return SortedPartitions(table, kind, *sort_by_key_and_time(partition, moment, count, keys_in_order=False), texts)


def _is_text(kind: pa.DataType) -> bool:
    """Values of any length, which are equal only if all of their bytes are."""
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    return any(test(kind) for test in texts)


def encode_rows(plan: Plan, preparation: Preparation, table: pa.Table) -> EncodedRows:
    """Sort and number prepared rows.

    Args:
        plan: The plan of the query.
        preparation: The names of prepared columns.
        table: Prepared rows.

    Returns:
        The rows of all partitions by (partition, time).
    """
    known = _encodings.get(id(table))
    nullable = tuple(key.nullable for key in plan.partition_key)
    asked = tuple(preparation.partition_key), nullable, tuple(preparation.ties)
    if known is not None and asked in known.of_table:
        return known.of_table[asked]
    partitions = sort_partitions(plan, preparation, table)
    encoded = partitions.encode(0, partitions.count)
    if known is not None:
        known.of_table[asked] = encoded
    return encoded


class Encodings:
    """What a table that several queries read is encoded as, by what they ask; as long as this lives, each once."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table
        self.of_table = dict[Hashable, EncodedRows]()
        _encodings[id(table)] = self


#: By the identity of the table, which lives as long as its encodings.
_encodings: WeakValueDictionary[int, Encodings] = WeakValueDictionary()


def read_letters(table: pa.Table) -> np.ndarray:
    """Read which variables each row can be read as. Without such columns it is the only one that there is.

    Args:
        table: Prepared rows.

    Returns:
        A bit per variable, in words of 64.
    """
    names = [name for name in table.column_names if name.startswith(LETTERS)]
    if not names:
        return np.ones((table.num_rows, 1), np.uint64)
    words = [table.column(name).to_numpy().view(np.uint64) for name in names]
    return np.stack(words, axis=1)
