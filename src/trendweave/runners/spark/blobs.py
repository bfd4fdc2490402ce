"""Buckets of rows: which row goes to which, and the rows of a bucket as bytes, and back: what Spark moves from task
to task.

Numbers travel in as few bytes as they need. Floats that stand for decimals, as prices do, travel as whole numbers of
cents or other parts; the same bits come back. What is left is compressed, which is quicker than what Spark spends on
more bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from trendweave.expressions.arrow.evaluate import column_of
from trendweave.kernels.sorting import stable_order
from trendweave.planning.plan import Path
from trendweave.rows.encoded import TIME
from trendweave.rows.hashing import hash_rows

_HALF = np.uint64(32)


@dataclass(frozen=True, slots=True)
class Buckets:
    """So many buckets: one for each task that computes. Rows with the same keys share one."""

    count: int

    def deal(self, rows: pa.Table, keys: tuple[Path, ...]) -> tuple[np.ndarray | None, np.ndarray]:
        """The order that brings rows by bucket, those of a bucket as they came (None: they stand in it), and where each
        bucket starts, with the end of the last."""
        if not keys or self.count == 1:
            return None, np.concatenate([[0], np.full(self.count, rows.num_rows)])
        # By the first half of the hash. Rows of one bucket differ in the other.
        places = ((hash_keys(rows, keys) >> _HALF) * np.uint64(self.count)) >> _HALF
        return stable_order(places.view(np.int64), self.count)

    def numbers(self) -> np.ndarray:
        """A number for each bucket. Spark hashes them, and its remainder by `count` differs from one to the next, so
        that with so many partitions each gets one bucket."""
        found = np.full(self.count, -1, np.int32)
        low, step = 0, 16 * self.count
        while (found < 0).any():
            tried = np.arange(low, low + step, dtype=np.int32)
            fresh = np.full(self.count, -1, np.int32)
            # Of several the one that is written last stays: the first that was tried.
            fresh[_spark_hash(tried[::-1]) % self.count] = tried[::-1]
            found = np.where(found < 0, fresh, found)
            low += step
        return found


def hash_keys(rows: pa.Table, keys: tuple[Path, ...]) -> np.ndarray:
    """A number per row that rows with the same keys have in common."""
    columns = [rows.column(path[0]) if len(path) == 1 else column_of(rows, path) for path in keys]
    return hash_rows(columns, rows.num_rows)


def _spark_hash(numbers: np.ndarray) -> np.ndarray:
    """What Spark's `hash` gives for numbers of 32 bits: MurmurHash3 with the seed 42."""
    word = numbers.astype(np.uint32) * np.uint32(0xCC9E2D51)
    word = _turn(word, 15) * np.uint32(0x1B873593)
    word = _turn(word ^ np.uint32(42), 13) * np.uint32(5) + np.uint32(0xE6546B64)
    word ^= np.uint32(4)
    word = (word ^ (word >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    word = (word ^ (word >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return (word ^ (word >> np.uint32(16))).view(np.int32)


def _turn(word: np.ndarray, bits: int) -> np.ndarray:
    return (word << np.uint32(bits)) | (word >> np.uint32(32 - bits))


#: Parts of one that floats are tried in, and how many of them are looked at before all of them are.
_PARTS = (1, 10, 100, 1_000, 10_000)
_FEW = 1_000


def find_whole(floats: np.ndarray) -> tuple[np.ndarray, int] | None:
    """Whole numbers and the parts of one that they count; None where some float would not come back with all its bits,
    as NaN, infinities and -0.0 do not."""
    with np.errstate(invalid="ignore", over="ignore"):
        for parts in _PARTS:
            if _to_whole(floats[:_FEW], parts) is not None:
                whole = _to_whole(floats, parts)
                return None if whole is None else (whole, parts)
    return None


def from_whole(whole: np.ndarray, parts: int) -> np.ndarray:
    """The floats that whole numbers stand for."""
    floats = whole.astype(np.float64)
    return floats if parts == 1 else floats / parts


def _to_whole(floats: np.ndarray, parts: int) -> np.ndarray | None:
    whole = np.rint(floats * parts).astype(np.int64)
    same = np.array_equal(from_whole(whole, parts).view(np.int64), floats.view(np.int64))
    return whole if same else None


_WIDTHS = (np.uint8, np.uint16, np.uint32)
#: Times in microseconds are often whole seconds or milliseconds.
_STEPS = (1_000_000, 1_000)


class Scale(NamedTuple):
    """How numbers are written: how many steps above the lowest they are; as they are where the step is 0. Floats are
    whole numbers of the `parts`-th part of one."""

    low: int = 0
    step: int = 0
    parts: int = 0


PLAIN = Scale()


def narrow(column: pa.Array, order: np.ndarray | None) -> tuple[pa.Array, Scale]:
    """A column in another order (None: its own), and how it is written.

    Whole numbers, times and floats of 64 bits without NULL are written by their distance to the lowest one where that
    takes fewer bytes. Where all are one number, there is nothing to write: Arrow's NULLs take no bytes.
    """
    if not _is_wide(column.type) or column.null_count or not len(column):
        return _taken(column, order), PLAIN
    numbers, parts = _stored(column, np.dtype(np.int64)), 0
    if pa.types.is_floating(column.type):
        found = find_whole(_stored(column, np.dtype(np.float64)))
        if found is None:
            return pa.array(_in_order(_stored(column, np.dtype(np.float64)), order)), PLAIN
        numbers, parts = found
    low, high = int(numbers.min()), int(numbers.max())
    if low == high:
        return pa.nulls(len(column)), Scale(low, 1, parts)
    step = _find_step(numbers, low, high)
    width = _find_width((high - low) // step)
    if width is None:
        taken = column if order is None else pa.array(_stored(column, np.dtype(np.int64)).take(order)).view(column.type)
        return taken, PLAIN if parts else Scale(low)
    distance = numbers - low
    distance = (distance if step == 1 else distance // step).astype(width)
    return pa.array(_in_order(distance, order)), Scale(low, step, parts)


def widen(parts: Sequence[pa.Array], scales: Sequence[Scale], kind: pa.DataType) -> pa.ChunkedArray:
    """Parts of a column that `narrow` wrote, one after the other, in the type that they had."""
    pairs = list(zip(parts, scales, strict=True))
    if not any(scale.step for scale in scales) or any(part.null_count and not scale.step for part, scale in pairs):
        chunks = [widen([part], [scale], kind).chunk(0) if scale.step else part for part, scale in pairs]
        return pa.chunked_array(chunks, kind)
    is_float = pa.types.is_floating(kind)
    width = np.dtype(np.float64 if is_float else np.int64)
    numbers = np.empty(sum(map(len, parts)), width)
    done = 0
    for part, scale in pairs:
        place = numbers[done : done + len(part)]
        if not scale.step:
            place[:] = _stored(part, width)
        elif is_float:
            place[:] = from_whole(_read_whole(part, scale), scale.parts)
        else:
            _read_whole(part, scale, place)
        done += len(part)
    return pa.chunked_array([pa.array(numbers).view(kind)])


def _read_whole(part: pa.Array, scale: Scale, place: np.ndarray | None = None) -> np.ndarray:
    """The whole numbers that were written, at their place where they have one."""
    place = np.empty(len(part), np.int64) if place is None else place
    if pa.types.is_null(part.type):
        place[:] = scale.low
    elif scale.step == 1:
        np.add(_stored(part, _width_of(part)), np.int64(scale.low), out=place, dtype=np.int64)
    else:
        np.multiply(_stored(part, _width_of(part)), np.int64(scale.step), out=place, dtype=np.int64)
        place += scale.low
    return place


def _find_step(numbers: np.ndarray, low: int, high: int) -> int:
    """The steps that all numbers are made of, as far as it is worth knowing."""
    if _find_width(high - low) is not None:
        return 1
    for step in _STEPS:
        if _find_width((high - low) // step) is not None and not ((numbers[:_FEW] - low) % step).any():
            # So far apart that their distance may not fit 64 bits, but then no step would have been worth it.
            return step if not ((numbers - low) % step).any() else 1
    return 1


def _find_width(distance: int) -> type[np.unsignedinteger] | None:
    return next((width for width in _WIDTHS if distance <= np.iinfo(width).max), None)


def _in_order(numbers: np.ndarray, order: np.ndarray | None) -> np.ndarray:
    return numbers if order is None else numbers.take(order)


def _taken(column: pa.Array, order: np.ndarray | None) -> pa.Array:
    return column if order is None else column.take(pa.array(order))


def _width_of(array: pa.Array) -> np.dtype:
    return np.dtype(array.type.to_pandas_dtype())


def _stored(array: pa.Array, width: np.dtype) -> np.ndarray:
    return np.frombuffer(array.buffers()[1], width)[array.offset : array.offset + len(array)]


def _is_wide(kind: pa.DataType) -> bool:
    return bool(kind == pa.int64() or kind == pa.float64() or pa.types.is_timestamp(kind))


#: The columns that travel: the number of a bucket, and its rows.
BUCKET, ROWS = "bucket", "rows"
#: Their types, in Spark's words.
BLOBS = f"{BUCKET} INT, {ROWS} BINARY"
_SCHEMA, _SCALES = b"schema", b"scales"
_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4" if pa.Codec.is_available("lz4") else None, use_threads=False)
_AS_THEY_ARE = pa.ipc.IpcWriteOptions(use_threads=False)
_READING = pa.ipc.IpcReadOptions(use_threads=False)


def pack(rows: pa.Table, order: np.ndarray | None, starts: np.ndarray, buckets: Buckets) -> pa.RecordBatch:
    """The blobs of all buckets that have rows.

    Args:
        rows: Rows in any order.
        order: The order that brings them by bucket; None where they stand in it.
        starts: Where each bucket starts then, with the end of the last.
        buckets: What there is.

    Returns:
        A row per bucket, with the columns of `BLOBS`.
    """
    columns, scales = zip(*(narrow(_one_array(column), order) for column in rows.columns), strict=True)
    described = {_SCHEMA: rows.schema.serialize().to_pybytes(), _SCALES: json.dumps(scales).encode()}
    fields = [pa.field(name, column.type) for name, column in zip(rows.column_names, columns, strict=True)]
    whole = pa.RecordBatch.from_arrays(list(columns), schema=pa.schema(fields, metadata=described))
    present = np.flatnonzero(np.diff(starts))
    parts = (whole.slice(starts[bucket], starts[bucket + 1] - starts[bucket]) for bucket in present)
    blobs = [_as_stream(part, _COMPRESSED).to_pybytes() for part in parts]
    numbers = pa.array(buckets.numbers()[present])
    return pa.RecordBatch.from_arrays([numbers, pa.array(blobs, pa.binary())], [BUCKET, ROWS])


@dataclass(frozen=True, slots=True)
class Blob:
    """Rows of a bucket: its narrow columns, the columns that they stand for, and how they are written."""

    bucket: int
    rows: pa.RecordBatch
    schema: pa.Schema
    scales: tuple[Scale, ...]

    @property
    def since(self) -> int:
        """Its rows are not earlier than this, where they have a time. Blobs of a task that reads events in order are in
        order by it."""
        place = self.schema.get_field_index(TIME)
        return 0 if place < 0 else self.scales[place].low

    def take(self, rows: np.ndarray) -> Blob:
        """Some of its rows, by number."""
        return Blob(self.bucket, self.rows.take(pa.array(rows)), self.schema, self.scales)

    def plain_bytes(self) -> pa.Buffer:
        """Bytes that can be read without a copy: columns are parts of them."""
        return _as_stream(self.rows, _AS_THEY_ARE)


def read_blob(bucket: int, data: pa.Buffer) -> Blob:
    """A blob out of its bytes."""
    rows = pa.ipc.open_stream(data, options=_READING).read_next_batch()
    described = rows.schema.metadata
    scales = tuple(Scale(*scale) for scale in json.loads(described[_SCALES]))
    return Blob(bucket, rows, pa.ipc.read_schema(pa.py_buffer(described[_SCHEMA])), scales)


def blobs_of(batch: pa.RecordBatch) -> Iterator[tuple[int, pa.Buffer]]:
    """The number of the bucket and the bytes of each blob, in rows with the columns of `BLOBS`. Bytes are parts of the
    batch."""
    column = batch.column(ROWS)
    wide = pa.types.is_large_binary(column.type)
    _, offsets, data = column.buffers()
    places = np.frombuffer(offsets, np.int64 if wide else np.int32)[column.offset : column.offset + len(column) + 1]
    for number, (low, high) in zip(batch.column(BUCKET).to_pylist(), pairwise(places.tolist()), strict=True):
        yield number, data.slice(low, high - low)


def unpack(blobs: Sequence[Blob], names: Sequence[str] | None = None) -> pa.Table:
    """All rows of some blobs, one after the other, with these columns (None: with all). There is at least one blob."""
    schema = blobs[0].schema
    places = [schema.get_field_index(name) for name in (schema.names if names is None else names)]
    columns = []
    for place in places:
        scales = [blob.scales[place] for blob in blobs]
        columns.append(widen([blob.rows.column(place) for blob in blobs], scales, schema.field(place).type))
    return pa.table(columns, schema=pa.schema([schema.field(place) for place in places]))


def _as_stream(rows: pa.RecordBatch, options: pa.ipc.IpcWriteOptions) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=options) as writer:
        writer.write_batch(rows)
    return sink.getvalue()


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks != 1 else column.chunk(0)
