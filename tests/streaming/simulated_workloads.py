"""A stream of a workload without a JVM, as `simulated` has one for a query; its workload may change at a restart."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Row
from pyspark.sql.streaming import TwsTester

import trendweave
from tests.runners.reference_tables import SCHEMA, rows_of
from tests.streaming.simulated import hashed
from trendweave.expressions.arrow.evaluate import column_of
from trendweave.programs.program import FAMILY
from trendweave.programs.shared.program import Shared
from trendweave.programs.shared.rows import SharedRows
from trendweave.rows.arrow_bytes import from_stream
from trendweave.runners.options import Settings
from trendweave.runners.spark.packing import question
from trendweave.runners.spark.pieces import BUCKET, FIRST, PackTask
from trendweave.runners.spark.stream import MergeStreamTask, make_processor, merges_parts
from trendweave.runners.spark.stream_state import StateBuckets
from trendweave.runners.spark.tasks import MergeTask

Event = dict[str, Any]


class SimulatedWorkload:
    """Takes micro-batches of events whose times are whole seconds; gives the rows that have become final, by query."""

    def __init__(self, workload: trendweave.Workload, delay: int, buckets: int = 3, early: bool = False) -> None:
        self.delay, self.buckets, self.early = delay, buckets, early
        self.watermark, self.latest, self.late, self.events = 0, None, 0, 0
        processor = self._plan(workload)
        self.tester = TwsTester(processor, timeMode="eventtime", eventTimeExtractor=lambda piece: 2**62)

    def restart(self, workload: trendweave.Workload) -> None:
        """Go on from the same state; a checkpoint keeps state and watermark, and nothing else."""
        processor = self._plan(workload)
        processor.init(self.tester.handle)
        self.tester.processor = processor

    def _plan(self, workload: trendweave.Workload) -> Any:
        settings = Settings(buckets=self.buckets, early=self.early)
        bound = workload._asked(None, "time", trendweave.events.AUTO).bind(SCHEMA, settings)
        assert isinstance(bound, Shared)
        self.workload, self.program = workload, bound.on_streams(self.early)
        self.in_parts = merges_parts(self.program, settings)
        prepared = self._copy(self.program.prepare(SCHEMA.empty_table())[0])[0].schema
        processor = make_processor(
            self.program, prepared, settings, StateBuckets(self.buckets), self.in_parts, self.delay * 1_000
        )
        self.pack, self.has_asked = PackTask(processor.schema, processor.pane), False
        return processor

    def push(self, events: list[Event]) -> dict[str, list[Event]]:
        """One micro-batch: the watermark of those before it holds while its events are read."""
        found: list[Row] = []
        for bucket, rows in self._in_buckets(events).items():
            found += self.tester.test((bucket,), rows)
        times = [event["time"] for event in events if event["time"] is not None]
        self.latest = max([*times, *([] if self.latest is None else [self.latest])], default=None)
        self.late += sum(row.late for row in found)
        self.events += sum(row.events for row in found)
        return self._unpack(found)

    def advance(self) -> dict[str, list[Event]]:
        """What the next micro-batch does first: the watermark moves, and something becomes final."""
        if self.latest is None or (self.latest - self.delay) * 1_000 <= self.watermark:
            return {name: [] for name in self.workload.names}
        self.watermark = (self.latest - self.delay) * 1_000
        found = self._unpack(self.tester.setWatermark(self.watermark))
        timers = self.tester.handle._timers
        left = [timer for key in timers.getAllKeysWithTimers() for timer in timers.listTimers(key)]
        assert all(timer > self.watermark for timer in left)
        return found

    def held(self) -> int:
        """Pieces in the state of all buckets."""
        return sum(len(self.tester.peekMapState("pieces", (bucket,))) for bucket in range(self.buckets))

    def carries(self) -> int:
        """Buckets that remember something of rows that were let go."""
        return sum(self.tester.peekValueState("carry", (bucket,)) is not None for bucket in range(self.buckets))

    def _copy(self, rows: pa.Table) -> tuple[pa.Table, list[int]]:
        """Rows as `prepare_rows` copies them, and the number of the family of each."""
        families = self.program.rows.families
        if len(families) == 1:
            return rows, [0] * rows.num_rows
        copies, numbers, taken = [], [], np.zeros(rows.num_rows, np.bool_)
        for number, family in enumerate(families):
            shared = SharedRows(rows, self.program.rows)
            own = np.ones(rows.num_rows, np.bool_) if family.takes is None else shared.with_any(family.takes)
            marked = rows.append_column(FAMILY, pa.array(np.full(rows.num_rows, family.mark, np.int32)))
            copies.append(marked.append_column(FIRST, pa.array(~taken)).filter(pa.array(own)))
            taken |= own
            numbers += [number] * int(own.sum())
        joined = pa.concat_tables(copies)
        return (joined if rows.num_rows else joined.drop_columns([FIRST])), numbers

    def _in_buckets(self, events: list[Event]) -> dict[int, list[Row]]:
        rows, numbers = self._copy(self.program.prepare(pa.Table.from_pylist(events, SCHEMA))[0])
        keys = []
        for number, family in enumerate(self.program.rows.families):
            own = rows.filter(pc.equal(pa.array(numbers, pa.int64()), number))
            columns = [column_of(own, path).to_pylist() for path in family.keys]
            values = zip(*columns, strict=True) if columns else [()] * own.num_rows
            keys += [f"{family.mark} {hashed(key)}" for key in values]
        places = pa.array([zlib.crc32(key.encode()) % self.buckets for key in keys], pa.int32())
        pieces: dict[int, list[Row]] = {}
        batches = list(self.pack(rows.append_column(BUCKET, places).to_batches() if rows.num_rows else []))
        if batches and not self.has_asked:
            batches, self.has_asked = [question(range(self.buckets)), *batches], True
        for batch in batches:
            for piece in batch.to_pylist():
                pieces.setdefault(piece["bucket"], []).append(Row(**piece))
        return pieces

    def _unpack(self, found: list[Row]) -> dict[str, list[Event]]:
        tables = [from_stream(row.payload) for row in found if row.payload is not None]
        if self.in_parts:
            batches = [batch for table in tables for batch in table.to_batches()]
            merged = MergeStreamTask(MergeTask(self.program), self.program.schema)(batches)
            tables = [pa.Table.from_batches([batch]) for batch in merged]
        rows = {name: [] for name in self.workload.names}
        for table in tables:
            for name in rows:
                rows[name] += rows_of(self.workload.rows(table, name))
        return rows
