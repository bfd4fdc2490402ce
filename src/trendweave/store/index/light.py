"""Making the light index of a data file: blocks of some thousand events, and what is known of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from trendweave.programs.operators.measured import is_measured, is_text, measure
from trendweave.programs.operators.partials import ColumnPart, summarise_column
from trendweave.programs.operators.sums import join_sums
from trendweave.rows.times import TimeType, as_steps, has_time, time_type
from trendweave.store.index.texts import TextSets
from trendweave.store.kernels.cutting import cut_blocks
from trendweave.store.layout.reading import RowReader
from trendweave.store.layout.schemas import plain_type

#: Blocks end at multiples of such a length of time, so that windows with round edges need no rows. Each divides the
#: next one. In nanoseconds.
GRAINS = tuple(10**9 * seconds // 1000 for seconds in (1, 10, 100, 1_000, 10_000, 60_000, 600_000, 3_600_000,
                                                       21_600_000, 86_400_000))  # fmt: skip
MOST_STEPS = 2**63 - 1
#: Events of a block: fewest and most, and the part of the data's size that its numbers may take.
_FEWEST, _MOST, _SHARE = 1024, 65_536, 0.02
#: Bytes of a block beside those of its columns, of a column of numbers, and of a column of strings.
_OWN, _OF_NUMBER, _OF_TEXT = 28, 36, 8


@dataclass
class _Column:
    """What is gathered of a column of numbers."""

    parts: list[ColumnPart] = field(default_factory=list)

    def arrays(self) -> dict[str, np.ndarray]:
        low, high, known, nans = (
            np.concatenate([getattr(part, name) for part in self.parts]) for name in ("low", "high", "known", "nans")
        )
        sums = join_sums([part.sums for part in self.parts])
        made = {"low": low, "high": high, "sum": sums.parts.reshape(-1), "known": known.astype(np.uint32)}
        return made | ({"nans": nans.astype(np.uint32)} if nans.any() else {})


@dataclass
class _Pace:
    """The shortest and the longest time between neighbours, as long as times ascend strictly."""

    last: int | None = None
    least: int = MOST_STEPS
    greatest: int = 0
    ascends: bool = True

    def add(self, times: np.ndarray) -> None:
        if not times.size or not self.ascends:
            return
        before = times if self.last is None else np.concatenate(([self.last], times))
        if (before[1:] <= before[:-1]).any():
            self.ascends = False
        elif before.size > 1:
            gaps = np.diff(before)  # below zero where a gap does not fit 64 bits
            self.ascends = bool((gaps > 0).all())
            self.least, self.greatest = min(self.least, int(gaps.min())), max(self.greatest, int(gaps.max()))
        self.last = int(times[-1])

    def told(self) -> tuple[int, int]:
        return (self.least, self.greatest) if self.ascends and self.greatest else (-1, -1)


def build_light(
    reader: RowReader, time: str, told: Callable[[int], None] | None = None, events: int | None = None
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The light index of a file.

    Args:
        reader: Reads the file in its own columns.
        time: The column of the time.
        told: Is told of rows that are done.
        events: About how many events a block has; as many as keep the index small where this is left out.

    Returns:
        Facts and arrays for `write_arrays`.
    """
    parquet = reader.files.parquet(reader.file)
    schema = own_schema(parquet)
    groups = [parquet.metadata.row_group(number) for number in range(parquet.metadata.num_row_groups)]
    rows = np.array([group.num_rows for group in groups], np.int64)
    sizes = np.array([compressed_size(group) for group in groups], np.int64)
    numbers = [name for name in schema.names if name != time and is_measured(schema.field(name).type)]
    texts = [name for name in schema.names if name != time and is_text(schema.field(name).type)]
    most = events or _block_length(int(rows.sum()), int(sizes.sum()), len(numbers), len(texts))
    columns: dict[str, _Column | None] = {name: _Column() for name in numbers}
    sets = {name: TextSets() for name in texts}
    kind = time_type(schema.field(time).type)
    blocks: dict[str, list[np.ndarray]] = {key: [np.empty(0, np.int64)] for key in ("group", "count", "first", "last")}
    no_time, pace = 0, _Pace()
    for number in range(len(groups)):
        table = RowReader(reader.files, reader.file, schema).read([number], [time, *numbers, *texts])
        known = has_time(table.column(time))
        if (missing := table.num_rows - int(np.count_nonzero(known))) > 0:
            table = table.filter(known)
            no_time += missing
        steps = as_steps(table.column(time), kind)
        pace.add(steps)
        times, order = in_time_order(steps)
        starts = cut_blocks(times, grain_of(times, most, kind), most)
        counts = np.diff(starts)
        blocks["group"].append(np.full(counts.size, number))
        blocks["count"].append(counts)
        blocks["first"].append(times[starts[:-1]])
        blocks["last"].append(times[starts[1:] - 1])
        for name in numbers:
            columns[name] = _gather(columns[name], table.column(name), order, starts)
        for name in texts:
            sets[name].add(table.column(name), order, starts, sizes[number] / len(texts))
        if told is not None:
            told(int(rows[number]))
    arrays = {
        "group": np.concatenate(blocks["group"]).astype(np.uint32),
        "count": np.concatenate(blocks["count"]).astype(np.uint32),
        "first": np.concatenate(blocks["first"]),
        "last": np.concatenate(blocks["last"]),
        "rows": rows,
        "bytes": sizes,
    }
    for name, column in columns.items():
        if column is not None and column.parts:
            arrays |= {f"number/{name}/{key}": array for key, array in column.arrays().items()}
    for name, gathered in sets.items():
        arrays |= {f"text/{name}/{key}": array for key, array in gathered.arrays().items()}
    facts = {
        "time": time,
        "no_time": no_time,
        "events_per_block": events,
        "pace": pace.told() if not no_time else (-1, -1),
        "schema": schema.serialize().to_pybytes().hex(),
    }
    return facts, arrays


def own_schema(parquet: pq.ParquetFile) -> pa.Schema:
    """The columns of a file in the types in which they are read."""
    return pa.schema([pa.field(field.name, plain_type(field.type)) for field in parquet.schema_arrow])


def in_time_order(times: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Times that ascend, and the rows in that order where they did not already; rows of one time keep theirs."""
    if times.size < 2 or not (times[1:] < times[:-1]).any():
        return times, None
    order = np.argsort(times, kind="stable")
    return times[order], order


def grain_of(times: np.ndarray, most: int, kind: TimeType) -> int:
    """The shortest length of time, in steps, that holds about as many events as a block."""
    span = max(1, int(times[-1]) - int(times[0])) if times.size else 1
    for grain in GRAINS:
        steps, rest = divmod(grain, kind.step)
        if steps and not rest and 2 * times.size * steps >= span * most:
            return steps
    return max(1, GRAINS[-1] // kind.step)


def _block_length(rows: int, size: int, numbers: int, texts: int) -> int:
    """How many events a block has, so that its numbers take a small part of what its events take."""
    length = _FEWEST
    cost = _OWN + numbers * _OF_NUMBER + texts * _OF_TEXT
    while length < _MOST and cost > _SHARE * length * size / max(1, rows):
        length *= 2
    return length


def _gather(
    column: _Column | None, values: pa.ChunkedArray, order: np.ndarray | None, starts: np.ndarray
) -> _Column | None:
    measured = measure(values) if column is not None else None
    if column is None or measured is None:
        return None  # some value does not fit: nothing is known of this column in this file
    measured = measured if order is None else measured.take(order)
    column.parts.append(summarise_column(measured, starts))
    return column


def compressed_size(group: pq.RowGroupMetaData) -> int:
    """The bytes of a row group in its file."""
    return sum(group.column(place).total_compressed_size for place in range(group.num_columns))
