"""The light index of a data file: blocks of some thousand events, and what is known of each.

It is made when a file is written or indexed, and loaded to tell in which blocks a value may be. Of strings it has a
set where a file has few different ones, else a Bloom filter per row group.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from trendweave.programs.operators.measured import is_measured, is_text, measure
from trendweave.programs.operators.partials import ColumnPart, summarise_column
from trendweave.programs.operators.sums import Sums, join_sums
from trendweave.rows.hashing import hash_rows
from trendweave.rows.times import TimeType, as_steps, has_time, time_type
from trendweave.store.index.files import ArrayFile, DamagedIndex
from trendweave.store.kernels.cutting import cut_blocks
from trendweave.store.layout.files import plain_type
from trendweave.store.layout.reading import RowReader

#: So many different strings have a bit each.
_MOST_TEXTS = 64
#: Bits of a filter per different string: with so many, one string in a hundred is found that is not there; with fewer
#: than so few a filter says too little.
_BITS, _FEWEST_BITS = 10.0, 3.0
#: The part of a row group's bytes that the filters of its columns may take.
_FILTER_SHARE = 0.03


@dataclass
class TextSets:
    """Gathers the strings of one column, row group by row group."""

    numbers: dict[str, int] = field(default_factory=dict)
    words: list[np.ndarray] = field(default_factory=list)
    known: list[np.ndarray] = field(default_factory=list)
    filters: list[np.ndarray] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    too_many: bool = False

    def add(self, column: pa.ChunkedArray, order: np.ndarray | None, starts: np.ndarray, room: float) -> None:
        """The strings of a row group.

        Args:
            column: Of rows that have a time.
            order: The rows in order of time, where they are in another.
            starts: Where blocks begin among them, and their end.
            room: Bytes of the data file, a small part of which a filter may take.
        """
        codes = column.combine_chunks().dictionary_encode()
        found = codes.dictionary
        self._add_filter(found, room)
        if self.too_many:
            return
        for text in found.to_pylist():
            self.numbers.setdefault(text, len(self.numbers))
        if len(self.numbers) > _MOST_TEXTS:
            self.too_many = True
            return
        bits = np.array([1 << self.numbers[text] for text in found.to_pylist()] + [0], np.uint64)
        rows = bits[codes.indices.fill_null(len(found)).to_numpy(zero_copy_only=False)]
        rows = rows if order is None else rows[order]
        if starts.size > 1:
            self.words.append(np.bitwise_or.reduceat(rows, starts[:-1]))
            self.known.append(np.add.reduceat((rows != 0).astype(np.uint32), starts[:-1]))

    def _add_filter(self, found: pa.Array, room: float) -> None:
        bits_each = min(_BITS, 8 * _FILTER_SHARE * room / max(1, len(found)))
        if bits_each < _FEWEST_BITS:
            # Too many strings for a small filter: anything may be there.
            self.filters.append(np.empty(0, np.uint64))
            self.places.append(0)
            return
        words = int(bits_each * len(found)) // 64 + 1
        bits, places = np.zeros(words, np.uint64), max(1, round(bits_each * 0.69))
        if len(found):
            chosen = filter_places(hash_rows([found], len(found)), words * 64, places)
            np.bitwise_or.at(bits, chosen >> 6, np.uint64(1) << (chosen & 63).astype(np.uint64))
        self.filters.append(bits)
        self.places.append(places)

    def arrays(self) -> dict[str, np.ndarray]:
        """What is kept: the set of every block, or the filter of every row group."""
        if not self.too_many:
            words = np.concatenate(self.words) if self.words else np.empty(0, np.uint64)
            known = np.concatenate(self.known) if self.known else np.empty(0, np.uint32)
            return {"words": words, "known": known, "texts": _as_bytes(list(self.numbers))}
        ends = np.cumsum([bits.size for bits in self.filters])
        places = np.array(self.places, np.uint8)
        return {"filters": np.concatenate(self.filters), "filter_ends": ends, "filter_places": places}


def filter_places(hashes: np.ndarray, size: int, places: int) -> np.ndarray:
    """The bits of a filter that stand for some strings."""
    first, step = hashes & np.uint64(0xFFFFFFFF), (hashes >> np.uint64(32)) | np.uint64(1)
    many = first[:, None] + step[:, None] * np.arange(places, dtype=np.uint64)[None, :]
    return (many % np.uint64(size)).astype(np.int64).reshape(-1)


def may_hold_text(value: str, filters: np.ndarray, ends: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Which row groups may have a string, by their filters."""
    hashed = hash_rows([pa.array([value], pa.string())], 1)
    answers = np.ones(ends.size, np.bool_)
    begin = 0
    for group, end in enumerate(ends.tolist()):
        bits = filters[begin:end]
        if bits.size:
            chosen = filter_places(hashed, bits.size * 64, int(places[group]))
            answers[group] = bool(((bits[chosen >> 6] >> (chosen & 63).astype(np.uint64)) & np.uint64(1)).all())
        begin = end
    return answers


def may_hold_words(test: Sequence[bool], words: np.ndarray) -> np.ndarray:
    """Which blocks have a string for which a test holds; `test` answers for each string of the file."""
    wanted = np.uint64(sum(1 << number for number, holds in enumerate(test) if holds))
    return (words & wanted) != 0


def _as_bytes(texts: list[str]) -> np.ndarray:
    sink = pa.BufferOutputStream()
    table = pa.table({"text": pa.array(texts, pa.string())})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return np.frombuffer(sink.getvalue(), np.uint8)


def from_bytes(data: np.ndarray) -> list[str]:
    """The strings of a file."""
    return pa.ipc.open_stream(pa.py_buffer(data.tobytes())).read_all().column("text").to_pylist()


def compare_texts(texts: list[str], operator: str, value: str) -> list[bool]:
    """Whether each string compares so with a value."""
    functions = {"=": pc.equal, "<>": pc.not_equal, "<": pc.less, "<=": pc.less_equal,
                 ">": pc.greater, ">=": pc.greater_equal}  # fmt: skip
    return functions[operator](pa.array(texts, pa.string()), pa.scalar(value, pa.string())).to_pylist()


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
