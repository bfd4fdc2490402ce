"""The stateful operator of a stream: one call per bucket of keys and micro-batch, state in Spark's state store.

Per bucket there is one row that says what the state is and whom it belongs to, and pieces of rows by pane of time.
Pieces are written once and dropped whole, so that a micro-batch writes what it brings and nothing else. A timer per
bucket stands at the watermark at which its next window closes.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from trendweave.errors import DataError, Problem
from trendweave.programs.carry import check_owner, read_carry, write_carry
from trendweave.programs.program import NO_CARRY, Carry, Program
from trendweave.rows.arrow_bytes import as_stream, from_stream
from trendweave.rows.encoded import TIME
from trendweave.rows.times import as_steps, time_type
from trendweave.runners.spark.pieces import Piece, join_pieces
from trendweave.runners.spark.task import telling_where
from trendweave.runners.warm_up import compile_once

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


#: Pane and number of a piece.
PieceKey: TypeAlias = tuple[int, int]


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

    def with_times(self, earliest: int, latest: int) -> About:
        """With rows between these times as well."""
        return replace(
            self,
            earliest=earliest if self.earliest is None else min(earliest, self.earliest),
            latest=latest if self.latest is None else max(latest, self.latest),
        )

    @staticmethod
    def from_tuple(stored: tuple[Any, ...]) -> About:
        values: list[Any] = [bytes(value) if isinstance(value, bytearray) else value for value in stored[:-1]]
        about = About(*values)
        if about.as_tuple()[-1] != stored[-1]:
            message = "what the state says about itself is damaged: its checksum is wrong"
            hint = "start again from a checkpoint that is whole, or from the source with a new one"
            raise DataError([Problem("TW311", message, hint)])
        return about


class StreamProcessor(StatefulProcessor):
    """A program on one bucket of keys. `schema` is that of rows that wait, `owner` names whom the state belongs to.

    `early`: current rows of what is still open with every micro-batch, instead of rows when they are final.
    """

    def __init__(
        self, program: Program, schema: pa.Schema, owner: str, buckets: int, in_parts: bool = False, early: bool = False
    ) -> None:
        self._program, self.schema, self.owner, self._buckets = program, schema, owner, buckets
        self._in_parts, self._early = in_parts, early
        self._time_type = time_type(schema.field(TIME).type)

    @property
    def pane(self) -> int | None:
        """The length of the panes that rows are kept by."""
        steps = self._program.steps(self._in_parts)
        return None if steps is None else steps.pane

    def init(self, handle: StatefulProcessorHandle) -> None:
        steps = self._program.steps(self._in_parts)
        assert steps is not None, "a program without steps does not run on streams"
        self._steps, self._handle = steps, handle
        self._about = handle.getValueState("about", ABOUT)
        self._pieces = handle.getMapState("pieces", PIECE_KEY, PIECE_VALUE)
        self._carry = CarryState(handle, self.owner) if steps.carries else None

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:
        watermark = self._watermark_in_steps(timerValues)
        about = self._read_about()
        events = late = 0
        earliest, latest = [], []
        for row in rows:
            if row.rows == 0:  # it asks whose checkpoint this is, which is known by now, and stays
                self._about.update(about.as_tuple())
                continue
            whole = Piece(row.pane, row.earliest, row.latest, row.rows, row.checksum, bytes(row.payload))
            piece: Piece | None = whole
            if watermark is not None and whole.earliest < watermark:
                piece, behind = self._drop_late(whole, watermark)
                late += int(behind.sum())
                if row.original is not None:
                    yield output(late_rows=_late_rows(bytes(row.original), behind))
            if piece is None:
                continue
            about = self._write_piece(piece, about)
            events += piece.rows
            earliest.append(piece.earliest)
            latest.append(piece.latest)
        if earliest:
            changed = min(earliest), max(latest)
            about = about.with_times(*changed)
            due = self._steps.due(changed, NO_CARRY, watermark)
            self._about.update(self._with_timer(about, due, watermark).as_tuple())
            if self._early:
                yield from self._peek(changed, about.closed)
        yield output(events=events, late=late)

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[Row]:
        watermark = self._watermark_in_steps(timerValues)
        assert watermark is not None, "a timer expires because a watermark has passed it"
        about = replace(self._read_about(), timer=None)
        carry = NO_CARRY if self._carry is None else self._carry.read()
        times = self._steps.reads(about.closed, watermark)
        held = self._read_pieces(times)
        if not self._early:
            rows = self._join_rows(held, times)
            if rows.num_rows or carry:
                compile_once(self._program.work)
                with telling_where(self._program, _describe_times(rows)):
                    step = self._steps.step(self._program.adopt(rows), carry, about.closed, watermark)
                    yield from (output(payload) for payload in _write(step.batches))
                carry = step.carry
        about = self._let_go(held, self._steps.keeps_from(watermark), replace(about, closed=watermark))
        if self._carry is not None:
            self._carry.write(carry)
        if about.earliest is None and not carry:
            self._about.clear()
            return
        waiting = None if about.earliest is None or about.latest is None else (about.earliest, about.latest)
        due = self._steps.due(waiting, carry, watermark)
        self._about.update(self._with_timer(about, due, watermark).as_tuple())

    def close(self) -> None:
        pass

    # Times: Spark counts in milliseconds, we in steps of the time column.

    def _watermark_in_steps(self, timers: TimerValues) -> int | None:
        """None for Spark's watermark before any event, which is 0. Rounded down: nothing closes too early."""
        milliseconds = timers.getCurrentWatermarkInMs()
        return None if milliseconds <= 0 else milliseconds * 1_000_000 // self._time_type.step

    def _in_milliseconds(self, steps: int) -> int:
        """Not before Spark's first watermark, which is after 0."""
        return max(1, -(-steps * self._time_type.step // 1_000_000))

    def _with_timer(self, about: About, due: int | None, watermark: int | None) -> About:
        """The timer stands where the bucket has something to do next.

        One that the watermark has reached stays where it is: it expires in this micro-batch, after the events.
        """
        if due is None:
            return about
        moment = self._in_milliseconds(due)
        if about.timer is not None and about.timer <= moment:
            return about
        if about.timer is not None:
            self._handle.deleteTimer(about.timer)
        self._handle.registerTimer(moment)
        return replace(about, timer=moment)

    # Rows that wait

    def _drop_late(self, piece: Piece, watermark: int) -> tuple[Piece | None, np.ndarray]:
        """The piece without events that are behind the watermark, and which of its rows those were."""
        rows = join_pieces([piece], self.schema)
        steps = as_steps(rows.column(TIME), self._time_type)
        late = steps < watermark
        return _cut_piece(piece, rows, steps, ~late), late

    def _write_piece(self, piece: Piece, about: About) -> About:
        self._pieces.updateValue(
            (piece.pane, about.next_piece),
            (piece.earliest, piece.latest, piece.rows, piece.checksum, piece.payload),
        )
        return replace(about, next_piece=about.next_piece + 1)

    def _is_read(self, place: PieceKey, times: tuple[int, int]) -> bool:
        """Whether a piece may have rows between these times."""
        pane = self._steps.pane
        return pane is None or (place[0] * pane < times[1] and (place[0] + 1) * pane > times[0])

    def _read_pieces(self, times: tuple[int, int]) -> dict[PieceKey, Piece | None]:
        """All pieces; those that cannot have rows between these times as None, unless reading all of them is less work
        than reading some one by one."""
        keys = [(place[0], place[1]) for place in self._pieces.keys()]  # noqa: SIM118 - it is no mapping
        needed = [place for place in keys if self._is_read(place, times)]
        if 2 * len(needed) >= len(keys):
            return {(place[0], place[1]): _as_piece(place[0], value) for place, value in self._pieces.iterator()}
        held: dict[PieceKey, Piece | None] = dict.fromkeys(keys)
        return held | {place: _as_piece(place[0], self._pieces.getValue(place)) for place in needed}

    def _join_rows(self, held: Mapping[PieceKey, Piece | None], times: tuple[int, int]) -> pa.Table:
        """Rows between these times."""
        pieces = [piece for place, piece in held.items() if piece is not None and self._is_read(place, times)]
        rows = join_pieces(pieces, self.schema)
        steps = as_steps(rows.column(TIME), self._time_type)
        inside = (steps >= times[0]) & (steps < times[1])
        return rows if inside.all() else rows.filter(pa.array(inside))

    def _let_go(self, held: Mapping[PieceKey, Piece | None], keeps_from: int, about: About) -> About:
        """Drops rows before a time. What is left knows its first time (of pieces that were not read, the first that
        their pane can have), and its last, as the newest rows go last."""
        pane, latest = self._steps.pane, about.latest
        about = replace(about, earliest=None, latest=None)
        for place, piece in held.items():
            earliest = place[0] * (pane or 0) if piece is None else piece.earliest
            if earliest < keeps_from:
                rest = None if piece is None or piece.latest < keeps_from else self._keep_from(piece, keeps_from)
                self._pieces.removeKey(place)
                if rest is None:
                    continue
                about, earliest = self._write_piece(rest, about), rest.earliest
            about = about.with_times(earliest, earliest if latest is None else latest)
        return about

    def _keep_from(self, piece: Piece, time: int) -> Piece | None:
        rows = join_pieces([piece], self.schema)
        steps = as_steps(rows.column(TIME), self._time_type)
        return _cut_piece(piece, rows, steps, steps >= time)

    def _peek(self, changed: tuple[int, int], closed: int | None) -> Iterator[Row]:
        times = self._steps.looks_at(changed, closed)
        rows = self._join_rows(self._read_pieces(times), times)
        compile_once(self._program.work)
        with telling_where(self._program, _describe_times(rows)):
            batches = self._steps.peek(self._program.adopt(rows), changed, closed)
            yield from (output(payload) for payload in _write(batches))

    def _read_about(self) -> About:
        columns = self.schema.serialize().to_pybytes()
        fresh = About(STATE_VERSION, self.owner, self._buckets, columns)
        stored = self._about.get()
        if stored is None:
            return fresh
        stored = tuple(stored)
        if stored[0] != STATE_VERSION:
            message = f"the state has version {stored[0]}, this release reads version {STATE_VERSION}"
            raise DataError([Problem("TW311", message, "run it with the release that wrote it")])
        about = About.from_tuple(stored)
        if about.made_for != self.owner:
            message = "the checkpoint was made for another query, or for events with other columns"
            hint = "go on with the query that made it, or start with a new checkpoint"
            raise DataError([Problem("TW311", message, hint)])
        if about.buckets != self._buckets:
            message = f"the checkpoint was made with {about.buckets} buckets, not {self._buckets}"
            raise DataError([Problem("TW311", message, f"set buckets={about.buckets}, or use a new checkpoint")])
        if not pa.ipc.read_schema(pa.py_buffer(about.columns)).equals(self.schema):
            message = "the columns in the state are not those that this release computes"
            raise DataError([Problem("TW311", message, "run it with the release that wrote it")])
        return about


class CarryState:
    """What outlives rows, as one value of bytes with a checksum."""

    def __init__(self, handle: StatefulProcessorHandle, owner: str) -> None:
        self._value = handle.getValueState("carry", "content binary, checksum bigint")
        self._owner = owner

    def read(self) -> Carry:
        stored = self._value.get()
        if stored is None:
            return NO_CARRY
        content, checksum = bytes(stored[0]), stored[1]
        if zlib.crc32(content) != checksum:
            message = "what the state carries on is damaged: its checksum is wrong"
            hint = "start again from a checkpoint that is whole, or from the source with a new one"
            raise DataError([Problem("TW311", message, hint)])
        tables, owner, _ = read_carry(content)
        check_owner(owner, self._owner)
        return tables

    def write(self, carry: Carry) -> None:
        if not carry:
            self._value.clear()
            return
        content = write_carry(carry, self._owner)
        self._value.update((content, zlib.crc32(content)))


def output(payload: bytes | None = None, late_rows: bytes | None = None, events: int = 0, late: int = 0) -> Row:
    return Row(payload=payload, late_rows=late_rows, events=events, late=late)


def _late_rows(original: bytes, behind: Any) -> bytes:
    return as_stream(from_stream(original).filter(pa.array(behind)))


def _as_piece(pane: int, value: Any) -> Piece:
    earliest, latest, rows, checksum, payload = value
    return Piece(pane, earliest, latest, rows, checksum, bytes(payload))


def _cut_piece(piece: Piece, rows: pa.Table, steps: np.ndarray, kept: np.ndarray) -> Piece | None:
    """Some rows of a piece; None where there are none."""
    if not kept.any():
        return None
    times = steps[kept]
    return Piece.of(rows.filter(pa.array(kept)), piece.pane, int(times.min()), int(times.max()))


def _describe_times(rows: pa.Table) -> str:
    if not rows.num_rows:
        return ""
    times = pc.min_max(rows.column(TIME))
    return f"times {times['min']} to {times['max']}"


def _write(batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
    """Each batch as an Arrow stream."""
    return (as_stream(pa.Table.from_batches([batch])) for batch in batches if batch.num_rows)
