"""Rows of a bucket that wait in Spark's state store, in pieces by pane of time.

Pieces are written once and dropped whole, so that a micro-batch writes what it brings and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from trendweave.rows.encoded import TIME
from trendweave.rows.times import as_steps, time_type
from trendweave.runners.spark.pieces import Piece, join_pieces
from trendweave.runners.spark.stream_state import BYTES, INT, LONG, About, struct_of

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

PIECE_KEY = struct_of(pane=LONG, piece=LONG)
PIECE_VALUE = struct_of(earliest=LONG, latest=LONG, rows=INT, checksum=LONG, payload=BYTES)
#: Pane and number of a piece.
PieceKey: TypeAlias = tuple[int, int]


class WaitingRows:
    """Rows with these columns; `pane` is the length of a pane in steps of time, None where time is not cut."""

    def __init__(self, handle: StatefulProcessorHandle, schema: pa.Schema, pane: int | None) -> None:
        self._pieces = handle.getMapState("pieces", PIECE_KEY, PIECE_VALUE)
        self._schema, self._pane = schema, pane
        self._time_type = time_type(schema.field(TIME).type)

    def drop_late(self, piece: Piece, watermark: int) -> tuple[Piece | None, np.ndarray]:
        """The piece without events that are behind the watermark, and which of its rows those were."""
        rows = join_pieces([piece], self._schema)
        steps = as_steps(rows.column(TIME), self._time_type)
        late = steps < watermark
        return _cut_piece(piece, rows, steps, ~late), late

    def write(self, piece: Piece, about: About) -> About:
        self._pieces.updateValue(
            (piece.pane, about.next_piece),
            (piece.earliest, piece.latest, piece.rows, piece.checksum, piece.payload),
        )
        return replace(about, next_piece=about.next_piece + 1)

    def take_all(self, schema: pa.Schema) -> pa.Table:
        """All rows, which have these columns; none are left."""
        held = self._read_all()
        self._pieces.clear()
        return join_pieces(held.values(), schema)

    def _read_all(self) -> dict[PieceKey, Piece]:
        return {(place[0], place[1]): _as_piece(place[0], value) for place, value in self._pieces.iterator()}

    def _is_read(self, place: PieceKey, times: tuple[int, int]) -> bool:
        """Whether a piece may have rows between these times."""
        pane = self._pane
        return pane is None or (place[0] * pane < times[1] and (place[0] + 1) * pane > times[0])

    def read(self, times: tuple[int, int], held: tuple[int, int] | None) -> Mapping[PieceKey, Piece | None]:
        """All pieces; those that cannot have rows between these times as None, unless reading all of them is less work
        than reading some one by one. All rows lie between the times `held`."""
        pane = self._pane
        if pane is None or (held is not None and all(self._is_read((time // pane, 0), times) for time in held)):
            return self._read_all()
        keys = [(place[0], place[1]) for place in self._pieces.keys()]  # noqa: SIM118 - it is no mapping
        needed = [place for place in keys if self._is_read(place, times)]
        if 2 * len(needed) >= len(keys):
            return self._read_all()
        found: dict[PieceKey, Piece | None] = dict.fromkeys(keys)
        return found | {place: _as_piece(place[0], self._pieces.getValue(place)) for place in needed}

    def join(self, held: Mapping[PieceKey, Piece | None], times: tuple[int, int]) -> pa.Table:
        """Rows between these times."""
        pieces = [piece for place, piece in held.items() if piece is not None and self._is_read(place, times)]
        rows = join_pieces(pieces, self._schema)
        steps = as_steps(rows.column(TIME), self._time_type)
        inside = (steps >= times[0]) & (steps < times[1])
        return rows if inside.all() else rows.filter(pa.array(inside))

    def let_go(self, held: Mapping[PieceKey, Piece | None], keeps_from: int, about: About) -> About:
        """Drops rows before a time. What is left knows its first time (of pieces that were not read, the first that
        their pane can have), and its last, as the newest rows go last."""
        latest = about.latest
        about = replace(about, earliest=None, latest=None)
        gone, kept = [], []
        for place, piece in held.items():
            earliest = place[0] * (self._pane or 0) if piece is None else piece.earliest
            if earliest < keeps_from:
                gone.append(place)
                if piece is not None and piece.latest >= keeps_from:
                    kept.append(piece)
                continue
            about = about.with_times(earliest, earliest if latest is None else latest)
        self._remove(gone, len(held))
        for piece in kept:
            rest = self._keep_from(piece, keeps_from)
            if rest is not None:
                about = self.write(rest, about).with_times(rest.earliest, rest.earliest if latest is None else latest)
        return about

    def _remove(self, places: Sequence[PieceKey], held: int) -> None:
        """Some of all pieces, in one call where it is all of them."""
        if places and len(places) == held:
            self._pieces.clear()
            return
        for place in places:
            self._pieces.removeKey(place)

    def _keep_from(self, piece: Piece, time: int) -> Piece | None:
        rows = join_pieces([piece], self._schema)
        steps = as_steps(rows.column(TIME), self._time_type)
        return _cut_piece(piece, rows, steps, steps >= time)


def _as_piece(pane: int, value: Any) -> Piece:
    earliest, latest, rows, checksum, payload = value
    return Piece(pane, earliest, latest, rows, checksum, bytes(payload))


def _cut_piece(piece: Piece, rows: pa.Table, steps: np.ndarray, kept: np.ndarray) -> Piece | None:
    """Some rows of a piece; None where there are none."""
    if not kept.any():
        return None
    times = steps[kept]
    return Piece.of(rows.filter(pa.array(kept)), piece.pane, int(times.min()), int(times.max()))
