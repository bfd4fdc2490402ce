"""Rows of a bucket as bytes, and back: what Spark moves from task to task.

A blob tells its columns itself: it is a stream of Arrow's, with the names and types of the rows, and with how numbers
are written, as its metadata. It is compressed here, which is quicker than what Spark spends on more bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from trendweave.rows.encoded import TIME
from trendweave.runners.spark.exchange.buckets import Buckets
from trendweave.runners.spark.exchange.narrow import Scale, narrow, widen

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
