"""The stateful operator of a stream: one call per bucket of keys and micro-batch, state in Spark's state store, by
the interface that this Spark has.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, Row

from trendweave.programs.program import NO_CARRY, Carry, Program
from trendweave.programs.ties import count_ties
from trendweave.rows.arrow_bytes import as_stream, from_stream
from trendweave.rows.encoded import TIME
from trendweave.rows.times import as_steps, time_type
from trendweave.runners.spark.older import FrameOperator
from trendweave.runners.spark.packing import WITHOUT_KEYS
from trendweave.runners.spark.pieces import BUCKET, FIRST, Piece, read_first
from trendweave.runners.spark.stream_state import (
    ABOUT,
    FOLDED_VERSION,
    STATE_VERSION,
    About,
    CarryState,
    TableState,
    check_about,
)
from trendweave.runners.spark.tasks import telling_where
from trendweave.runners.spark.versions import StatefulProcessor, StateInterface, find_state_interface
from trendweave.runners.spark.waiting_rows import WaitingRows
from trendweave.runners.spark.workers import set_lasting_objects_aside, travelling_state, use_assigned_card

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import ExpiredTimerInfo, StatefulProcessorHandle, TimerValues


#: What comes out of the operator: rows as an Arrow stream, late events as another, and counts for the metrics.
OUTPUT = "payload binary, late_rows binary, events bigint, late bigint, same_time bigint"


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
        self._columns = schema

    def __reduce__(self) -> tuple[Any, ...]:
        return travelling_state(type(self), self.__dict__)

    @property
    def pane(self) -> int | None:
        """The length of the panes that rows are kept by."""
        steps = self._program.steps(self._in_parts, self._early)
        return None if steps is None else steps.pane

    def init(self, handle: StatefulProcessorHandle) -> None:
        steps = self._program.steps(self._in_parts, self._early)
        assert steps is not None, "a program without steps does not run on streams"
        self._steps, self._handle, self._took_steps = steps, handle, False
        self._about = handle.getValueState("about", ABOUT)
        self._waiting = WaitingRows(handle, self.schema, steps.pane)
        self._carry = self._make_carry(handle)

    def _make_carry(self, handle: StatefulProcessorHandle) -> CarryState | TableState | None:
        """Programs that carried something on before they folded rows keep all of it in one value, as they did."""
        waiting = self._program.steps(self._in_parts, early=True)
        if self._steps.folds and waiting is not None and not waiting.carries:
            return TableState(handle)
        return CarryState(handle, self.owner) if self._steps.carries else None

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:
        watermark = self._watermark_in_steps(timerValues)
        self._go_on(watermark)
        about = self._read_about()
        carry = NO_CARRY
        if closes := about.timer is not None and about.timer < timerValues.getCurrentWatermarkInMs():
            # The timer would take the same step, and read what came with this micro-batch as well.
            self._handle.deleteTimer(about.timer)
            about = replace(about, timer=None)
        stepped = closes or self._is_worth_folding(about, watermark)
        if stepped and watermark is not None:
            about, carry = yield from self._take_step(about, watermark)
        events = late = 0
        earliest, latest = [], []
        for row in rows:
            if row.rows == 0:  # it asks whose checkpoint this is, which is known by now, and stays
                if row.bucket == WITHOUT_KEYS:
                    self._about.update(about.as_tuple())
                continue
            first = read_first(row[FIRST], row.rows)
            whole = Piece(row.pane, row.earliest, row.latest, row.rows, row.checksum, bytes(row.payload))
            piece: Piece | None = whole
            if watermark is not None and whole.earliest < watermark:
                piece, behind = self._waiting.drop_late(whole, watermark)
                late += int((behind & first).sum())
                if row.original is not None:
                    yield output(late_rows=_late_rows(bytes(row.original), behind & first))
                first = first[~behind]
            if piece is None:
                continue
            about = self._waiting.write(piece, about)
            events += int(first.sum())
            earliest.append(piece.earliest)
            latest.append(piece.latest)
        if earliest:
            about = about.with_times(min(earliest), max(latest))
        if closes:
            self._write_about(about, carry, watermark)
        elif earliest:
            due = self._steps.due((min(earliest), max(latest)), NO_CARRY, watermark)
            self._about.update(self._with_timer(about, due, watermark).as_tuple())
        elif stepped:
            self._about.update(about.as_tuple())
        if earliest and self._early:
            yield from self._peek((min(earliest), max(latest)), about)
        yield output(events=events, late=late)

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[Row]:
        watermark = self._watermark_in_steps(timerValues)
        assert watermark is not None, "a timer expires because a watermark has passed it"
        self._go_on(watermark)
        about, carry = yield from self._take_step(replace(self._read_about(), timer=None), watermark)
        self._write_about(about, carry, watermark)

    def _write_about(self, about: About, carry: Carry, watermark: int | None) -> None:
        """After a step that a timer asked for: with its next timer, or nothing where nothing is left."""
        if about.times is None and not carry:
            self._about.clear()
            return
        due = self._steps.due(about.times, carry, watermark)
        self._about.update(self._with_timer(about, due, watermark).as_tuple())

    def _is_worth_folding(self, about: About, watermark: int | None) -> bool:
        """Whether rows wait that can be folded now. Not where a window closes in this micro-batch, nor where one will
        in the next, if that moves the watermark as far as the last one did."""
        if not self._steps.folds or watermark is None or about.earliest is None or about.earliest >= watermark:
            return False
        moved = 0 if about.closed is None else watermark - about.closed
        return about.timer is None or about.timer > self._in_milliseconds(watermark + moved)

    def _take_step(self, about: About, watermark: int) -> Generator[Row, None, tuple[About, Carry]]:
        """Gives out what the watermark makes final, and what the bucket is afterwards, with what it carries on."""
        before = carry = NO_CARRY if self._carry is None else self._carry.read()
        times = self._steps.reads(about.closed, watermark)
        held = self._waiting.read((0, 0) if self._early else times, about.times)
        if not self._early:
            rows = self._waiting.join(held, times)
            if rows.num_rows or carry:
                self._compile()
                with telling_where(self._program, lambda: _describe_times(rows)):
                    rows = self._program.adopt(rows)
                    step = self._steps.step(rows, carry, about.closed, watermark)
                    yield from (output(payload) for payload in _write(step.batches))
                carry = step.carry
                yield output(same_time=self._count_ties(rows, about.closed, watermark))
        about = self._waiting.let_go(held, self._steps.keeps_from(watermark), replace(about, closed=watermark))
        if self._carry is not None:
            self._carry.write(before, carry)
        return about, carry

    def _count_ties(self, rows: pa.Table, before: int | None, watermark: int) -> int:
        """Of the rows that are let go now, those with the same timestamp: they are let go together, each once."""
        times = as_steps(rows.column(TIME), self._time_type)
        final = times < self._steps.keeps_from(watermark)
        if before is not None:
            final &= times >= self._steps.keeps_from(before)
        return count_ties(self._program, rows.filter(pa.array(final)))

    def close(self) -> None:
        set_lasting_objects_aside(
            f"{type(self._program).__name__} on a stream" if self._took_steps else "wait on a stream"
        )

    def _go_on(self, watermark: int | None) -> None:
        """What has to be known before anything is done with a bucket."""

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

    def _peek(self, changed: tuple[int, int], about: About) -> Iterator[Row]:
        closed = about.closed
        times = self._steps.looks_at(changed, closed)
        rows = self._waiting.join(self._waiting.read(times, about.times), times)
        self._compile()
        with telling_where(self._program, lambda: _describe_times(rows)):
            batches = self._steps.peek(self._program.adopt(rows), changed, closed)
            yield from (output(payload) for payload in _write(batches))

    def _compile(self) -> None:
        self._took_steps = True
        use_assigned_card()

    def _read_about(self) -> About:
        version = FOLDED_VERSION if self._steps.folds else STATE_VERSION
        fresh = About(version, self.owner, self._buckets, self._columns.serialize().to_pybytes())
        return check_about(self._about.get(), fresh, self._columns)


def output(
    payload: bytes | None = None, late_rows: bytes | None = None, events: int = 0, late: int = 0, same_time: int = 0
) -> Row:
    return Row(payload=payload, late_rows=late_rows, events=events, late=late, same_time=same_time)


def _late_rows(original: bytes, behind: Any) -> bytes:
    return as_stream(from_stream(original).filter(pa.array(behind)))


def _describe_times(rows: pa.Table) -> str:
    if not rows.num_rows:
        return ""
    times = pc.min_max(rows.column(TIME))
    return f"times {times['min']} to {times['max']}"


def _write(batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
    """Each batch as an Arrow stream."""
    return (as_stream(pa.Table.from_batches([batch])) for batch in batches if batch.num_rows)


def through_state(pieces: DataFrame, processor: StreamProcessor, early: bool, delay: int) -> DataFrame:
    """What the operator gives out, one call per bucket and micro-batch.

    Args:
        pieces: Of the stream.
        processor: The operator.
        early: Rows come more than once.
        delay: How far the watermark is behind the latest event, in milliseconds.
    """
    mode = "update" if early else "append"
    grouped = pieces.groupBy(BUCKET)
    match find_state_interface(pieces):
        case StateInterface.ROWS:
            return grouped.transformWithState(processor, OUTPUT, mode, "eventTime")
        case StateInterface.FRAMES:
            return grouped.transformWithStateInPandas(FrameOperator(processor), OUTPUT, mode, "eventTime")
    from trendweave.runners.spark.older import transform_one_value

    return transform_one_value(pieces, BUCKET, processor, OUTPUT, mode, delay)
