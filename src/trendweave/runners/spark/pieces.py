"""Prepared rows as bytes, in pieces of one bucket of keys and one pane of time: what travels to and stays in state.

A piece is an Arrow record batch without its schema, which is kept once, compressed, and a checksum over it and its
times, so that a damaged one is noticed and not computed with.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from trendweave.errors import DataError, Problem
from trendweave.kernels.sorting import stable_order
from trendweave.programs.program import Needs
from trendweave.rows.arrow_bytes import as_stream
from trendweave.rows.encoded import TIME
from trendweave.rows.times import as_steps, time_type

BUCKET = "bucket"
#: The event as it came, where late events are wanted; it travels beside the piece.
ORIGINAL = "original"
#: Where rows were copied: whether each is the first copy of its event, which alone is counted; it travels as bits.
FIRST = "trendweave_first"
#: What a piece travels with: where it belongs, the times of its first and last event, and its bytes.
PIECE = pa.schema(
    [
        pa.field(BUCKET, pa.int32()),
        pa.field("pane", pa.int64()),
        pa.field("earliest", pa.int64()),
        pa.field("latest", pa.int64()),
        pa.field("rows", pa.int32()),
        pa.field("checksum", pa.int64()),
        pa.field("payload", pa.binary()),
        pa.field(ORIGINAL, pa.binary()),
        pa.field(FIRST, pa.binary()),
    ]
)
_ZSTD = pa.Codec.is_available("zstd")
#: Bytes at the end of a stream of batches that say that no other follows.
_END = 8
#: Rows that a task packs at once.
ROWS_AT_ONCE = 500_000


def stored_schema(prepared: pa.Schema, needs: Needs) -> pa.Schema:
    """Of prepared rows as they are kept: words of flags are no wider than the number of flags asks for."""
    flags = len(needs.flags)
    widths = ((7, pa.int8()), (15, pa.int16()), (31, pa.int32()), (flags, pa.int64()))
    narrow = next(kind for most, kind in widths if flags <= most)
    return pa.schema([field.with_type(narrow) if field.name in needs.words else field for field in prepared])


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows of a bucket and a pane, as bytes; times in steps of the time column."""

    pane: int
    earliest: int
    latest: int
    rows: int
    checksum: int
    payload: bytes

    @staticmethod
    def of(rows: pa.Table, pane: int, earliest: int, latest: int) -> Piece:
        payload = _write(rows.combine_chunks().to_batches()[0])
        places = (pane, earliest, latest, rows.num_rows)
        return Piece(*places, _checksum(places, payload), payload)

    def is_whole(self) -> bool:
        return _checksum((self.pane, self.earliest, self.latest, self.rows), self.payload) == self.checksum


def _write(batch: pa.RecordBatch) -> bytes:
    """A record batch without its schema. Spark hands bytes of the state to Python as text, so fewer are worth a lot."""
    if not _ZSTD:
        return batch.serialize().to_pybytes()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_batch(batch)
    stream = sink.getvalue()
    begin = batch.schema.serialize().size
    return stream.slice(begin, stream.size - begin - _END).to_pybytes()


def _checksum(places: tuple[int, int, int, int], payload: bytes) -> int:
    return zlib.crc32(payload, zlib.crc32(struct.pack("<4q", *places)))


def join_pieces(pieces: Iterable[Piece], schema: pa.Schema) -> pa.Table:
    batches = []
    for piece in pieces:
        try:
            if not piece.is_whole():
                raise ValueError("its checksum is wrong")
            batches.append(pa.ipc.read_record_batch(pa.py_buffer(piece.payload), schema))
        except (pa.ArrowException, ValueError, OSError) as error:
            message = f"a piece of the state is damaged: {error}"
            hint = "restart from an intact checkpoint, or from the source with a new one"
            raise DataError([Problem("TW311", message, hint)]) from error
    return pa.Table.from_batches(batches, schema)


def read_first(bits: bytes | None, rows: int) -> np.ndarray:
    """Whether each row of a piece is the first copy of its event."""
    if bits is None:
        return np.ones(rows, np.bool_)
    return np.unpackbits(np.frombuffer(bits, np.uint8), count=rows).astype(np.bool_)


def split_panes(rows: pa.Table, pane: int | None) -> Iterator[Piece]:
    """Rows of one bucket as pieces, one for each pane."""
    steps = as_steps(rows.column(TIME), time_type(rows.schema.field(TIME).type))
    panes = np.zeros(steps.size, np.int64) if pane is None else np.floor_divide(steps, pane)
    for number in np.unique(panes):
        own = panes == number
        times = steps[own]
        yield Piece.of(rows.filter(pa.array(own)), int(number), int(times.min()), int(times.max()))


@dataclass(frozen=True, slots=True)
class PackTask:
    """For mapInArrow: prepared rows with their bucket -> pieces. `schema` is that of the rows without the bucket,
    `pane` the length of a pane in steps of time; None where time is not cut. `numbers` are those of the buckets in the
    state, where they are not numbered one after the other."""

    schema: pa.Schema
    pane: int | None
    numbers: tuple[int, ...] | None = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held: list[pa.RecordBatch] = []
        rows = 0
        for batch in batches:
            held.append(batch)
            rows += batch.num_rows
            if rows >= ROWS_AT_ONCE:
                yield from self._pack(pa.Table.from_batches(held))
                held, rows = [], 0
        if rows:
            yield from self._pack(pa.Table.from_batches(held))

    def _pack(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        bucket = table.column(BUCKET).to_numpy().astype(np.int64)
        # Spark hands timestamps over in the session's zone; the schema says UTC.
        rows = table.select(self.schema.names).cast(self.schema)
        originals = table.select([ORIGINAL]) if ORIGINAL in table.column_names else None
        first = np.asarray(table.column(FIRST)) if FIRST in table.column_names else None
        steps = as_steps(rows.column(TIME), time_type(self.schema.field(TIME).type))
        pane = np.zeros(steps.size, np.int64) if self.pane is None else np.floor_divide(steps, self.pane)
        panes, place = np.unique(pane, return_inverse=True)
        code = bucket * panes.size + place.reshape(-1)
        if (code[1:] < code[:-1]).any():
            order, _ = stable_order(code, int(code.max()) + 1)
            rows, code, steps = rows.take(pa.array(order)), code[order], steps[order]
            originals = None if originals is None else originals.take(pa.array(order))
            first = None if first is None else first[order]
        borders = np.flatnonzero(np.diff(code, prepend=-1))
        ends = np.append(borders[1:], code.size)
        found: dict[str, list[Any]] = {name: [] for name in PIECE.names}
        for low, high in zip(borders.tolist(), ends.tolist(), strict=True):
            times = int(steps[low:high].min()), int(steps[low:high].max())
            piece = Piece.of(rows.slice(low, high - low), int(panes[code[low] % panes.size]), *times)
            number = int(code[low] // panes.size)
            values = (
                number if self.numbers is None else self.numbers[number],
                *(piece.pane, *times, piece.rows, piece.checksum, piece.payload),
                None if originals is None else as_stream(originals.slice(low, high - low)),
                None if first is None else np.packbits(first[low:high]).tobytes(),
            )
            for name, value in zip(PIECE.names, values, strict=True):
                found[name].append(value)
        yield pa.RecordBatch.from_pydict(found, PIECE)
