"""The stateful operator of a stream: one call per bucket of keys and micro-batch, state in Spark's state store.

Per bucket there is one row that says what the state is and whom it belongs to, and pieces of rows by pane of time.
Pieces are written once and dropped whole, so that a micro-batch writes what it brings and nothing else. A timer per
bucket stands at the watermark at which its next window closes.
"""

from __future__ import annotations

import zlib
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.streaming.stateful_processor import ExpiredTimerInfo, TimerValues

from trendweave.errors import DataError, Problem
from trendweave.rows.arrow_bytes import as_stream, from_stream
from trendweave.runners.spark.pieces import Piece
from trendweave.runners.spark.stream_work import PieceWork, StreamWork

#: Written into every state. A state of another version is converted where that is possible, else refused.
STATE_VERSION = 1
ABOUT = (
    "version int, made_for string, buckets int, columns binary, closed bigint, next_piece bigint, timer bigint, "
    "earliest bigint, latest bigint, checksum bigint"
)
PIECE_KEY = "pane bigint, piece bigint"
PIECE_VALUE = "earliest bigint, latest bigint, rows int, checksum bigint, payload binary"
#: What comes out of the operator: rows as an Arrow stream, late events as another, and counts for the metrics.
OUTPUT = "payload binary, late_rows binary, events bigint, late bigint"


@dataclass(frozen=True, slots=True)
class About:
    """What the state of a bucket is. Times are steps of the time column, `timer` is in milliseconds."""

    version: int
    made_for: str
    buckets: int
    columns: bytes
    closed: int | None = None
    next_piece: int = 0
    timer: int | None = None
    earliest: int | None = None
    latest: int | None = None

    def as_tuple(self) -> tuple[Any, ...]:
        """With a checksum at its end."""
        values = tuple(getattr(self, name) for name in self.__slots__)
        return (*values, zlib.crc32(repr(values).encode()))

    @staticmethod
    def from_tuple(stored: tuple[Any, ...]) -> About:
        about = About(*(bytes(value) if isinstance(value, bytearray) else value for value in stored[:-1]))
        if about.as_tuple()[-1] != stored[-1]:
            message = "what the state says about itself is damaged: its checksum is wrong"
            hint = "start again from a checkpoint that is whole, or from the source with a new one"
            raise DataError([Problem("TW311", message, hint)])
        return about


class PieceProcessor(StatefulProcessor):
    """Takes pieces in, without what is late, and sets a timer; what happens when it expires depends on the query."""

    def __init__(self, work: PieceWork, made_for: str, buckets: int) -> None:
        self._work, self._made_for, self._buckets = work, made_for, buckets

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._about = handle.getValueState("about", ABOUT)
        self._pieces = handle.getMapState("pieces", PIECE_KEY, PIECE_VALUE)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:
        watermark = self._work.watermark_in_steps(timerValues.getCurrentWatermarkInMs())
        about = self._read_about()
        events = late = 0
        earliest, latest = [], []
        for row in rows:
            if row.rows == 0:  # it asks whose checkpoint this is, which is known by now, and stays
                self._about.update(about.as_tuple())
                continue
            piece = Piece(row.pane, row.earliest, row.latest, row.rows, row.checksum, bytes(row.payload))
            if watermark is not None and piece.earliest < watermark:
                piece, behind = self._work.in_time(piece, watermark)
                late += int(behind.sum())
                if row.original is not None:
                    yield output(late_rows=_late_rows(bytes(row.original), behind))
            if piece is None:
                continue
            self._pieces.updateValue(
                (piece.pane, about.next_piece),
                (piece.earliest, piece.latest, piece.rows, piece.checksum, piece.payload),
            )
            about = replace(about, next_piece=about.next_piece + 1)
            events += piece.rows
            earliest.append(piece.earliest)
            latest.append(piece.latest)
        if earliest:
            lowest, highest = min(earliest), max(latest)
            about = replace(
                about,
                earliest=lowest if about.earliest is None else min(lowest, about.earliest),
                latest=highest if about.latest is None else max(highest, about.latest),
            )
            self._about.update(self._with_timer(about, watermark).as_tuple())
            for payload in self._after_input(about, lowest, highest):
                yield output(payload)
        yield output(events=events, late=late)

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[Row]:
        watermark = self._work.watermark_in_steps(timerValues.getCurrentWatermarkInMs())
        assert watermark is not None, "a timer expires because a watermark has passed it"
        for payload in self._expired(replace(self._read_about(), timer=None), watermark):
            yield output(payload)

    def close(self) -> None:
        pass

    def _after_input(self, about: About, earliest: int, latest: int) -> Iterator[bytes]:
        """What comes out with the events themselves, which lie between these times."""
        yield from ()

    @abstractmethod
    def _expired(self, about: About, watermark: int) -> Iterator[bytes]:
        """What the watermark makes final; the state without what that no longer needs."""

    def _read_about(self) -> About:
        columns = self._work.schema.serialize().to_pybytes()
        fresh = About(STATE_VERSION, self._made_for, self._buckets, columns)
        stored = self._about.get()
        if stored is None:
            return fresh
        stored = tuple(stored)
        if stored[0] != STATE_VERSION:
            message = f"the state has version {stored[0]}, this release reads version {STATE_VERSION}"
            raise DataError([Problem("TW311", message, "run it with the release that wrote it")])
        about = About.from_tuple(stored)
        if about.made_for != self._made_for:
            message = "the checkpoint was made for another query, or for events with other columns"
            hint = "go on with the query that made it, or start with a new checkpoint"
            raise DataError([Problem("TW311", message, hint)])
        if about.buckets != self._buckets:
            message = f"the checkpoint was made with {about.buckets} buckets, not {self._buckets}"
            raise DataError([Problem("TW311", message, f"set buckets={about.buckets}, or use a new checkpoint")])
        if not pa.ipc.read_schema(pa.py_buffer(about.columns)).equals(self._work.schema):
            message = "the columns in the state are not those that this release computes"
            raise DataError([Problem("TW311", message, "run it with the release that wrote it")])
        return about

    def _held(self) -> Iterable[tuple[tuple[int, int], Piece]]:
        for key, value in self._pieces.iterator():
            earliest, latest, rows, checksum, payload = value
            yield (key[0], key[1]), Piece(key[0], earliest, latest, rows, checksum, bytes(payload))

    def _with_timer(self, about: About, watermark: int | None) -> About:
        """The timer stands where the bucket has something to do next.

        One that the watermark has reached stays where it is: it expires in this micro-batch, after the events.
        """
        assert about.earliest is not None
        assert about.latest is not None
        if watermark is not None and about.timer is not None and about.timer <= self._work.in_milliseconds(watermark):
            return about
        due = self._work.in_milliseconds(self._work.due(about.earliest, about.latest, watermark))
        if about.timer == due:
            return about
        if about.timer is not None:
            self._handle.deleteTimer(about.timer)
        self._handle.registerTimer(due)
        return replace(about, timer=due)


class TrendProcessor(PieceProcessor):
    """`early`: current rows of open windows with every micro-batch, instead of final rows when windows close."""

    _work: StreamWork

    def __init__(self, work: StreamWork, made_for: str, buckets: int, early: bool) -> None:
        super().__init__(work, made_for, buckets)
        self._early = early

    def _after_input(self, about: About, earliest: int, latest: int) -> Iterator[bytes]:
        if self._early:
            held = [piece for _, piece in self._held()]
            yield from self._work.computed(held, self._work.touched(earliest, latest, about.closed))

    def _expired(self, about: About, watermark: int) -> Iterator[bytes]:
        held = list(self._held())
        settled = self._work.settled(watermark)
        if not self._early:
            windows = self._work.closing.windows(about.closed, settled)
            yield from self._computed([piece for _, piece in held], windows)
        first = self._work.closing.first_kept_pane(settled)
        self._let_go([piece for _, piece in held if piece.pane < first])
        for key_of_piece, piece in held:
            if piece.pane < first:
                self._pieces.removeKey(key_of_piece)
        left = [piece for _, piece in held if piece.pane >= first]
        if not left:
            self._about.clear()
            return
        about = replace(
            about,
            closed=settled,
            earliest=min(piece.earliest for piece in left),
            latest=max(piece.latest for piece in left),
        )
        self._about.update(self._with_timer(about, watermark).as_tuple())

    def _computed(self, held: list[Piece], windows: tuple[int, int]) -> Iterator[bytes]:
        yield from self._work.computed(held, windows)

    def _let_go(self, pieces: list[Piece]) -> None:
        """Before these pieces are dropped; all of them lie before those that stay."""


class CheckedBytes:
    """A value of the state that is bytes, with a checksum; `what` it is, for those who read that it is damaged."""

    def __init__(self, handle: StatefulProcessorHandle, name: str, what: str) -> None:
        self._value = handle.getValueState(name, "content binary, checksum bigint")
        self._what = what

    def get(self) -> bytes | None:
        stored = self._value.get()
        if stored is None:
            return None
        content, checksum = bytes(stored[0]), stored[1]
        if zlib.crc32(content) != checksum:
            message = f"the {self._what} in the state are damaged: their checksum is wrong"
            hint = "start again from a checkpoint that is whole, or from the source with a new one"
            raise DataError([Problem("TW311", message, hint)])
        return content

    def update(self, content: bytes) -> None:
        self._value.update((content, zlib.crc32(content)))

    def clear(self) -> None:
        self._value.clear()


def output(payload: bytes | None = None, late_rows: bytes | None = None, events: int = 0, late: int = 0) -> Row:
    return Row(payload=payload, late_rows=late_rows, events=events, late=late)


def _late_rows(original: bytes, behind: Any) -> bytes:
    return as_stream(from_stream(original).filter(pa.array(behind)))
