"""The stateful operator of a workload: at a restart it may be another one than the state was made for.

Queries that stayed go on. Rows that wait become rows of the new workload, and keep what queries need that stayed; what
was carried for others is dropped. Queries that are new came at one time, the same in all buckets: the first after all
events that were read before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from trendweave.programs.shared.changes import Roster, keep_carries
from trendweave.programs.shared.program import Shared
from trendweave.programs.shared.steps import SharedSteps
from trendweave.rows.encoded import TIME
from trendweave.runners.spark.pieces import split_panes
from trendweave.runners.spark.stream_operator import StreamProcessor
from trendweave.runners.spark.stream_state import CarryState
from trendweave.runners.spark.workload_state import StoredWorkload, WorkloadState, move_rows

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle, TimerValues


class WorkloadProcessor(StreamProcessor):
    """A workload on one bucket of keys. `delay` is how far the watermark is behind the latest event, in milliseconds,
    rounded up."""

    def __init__(
        self,
        program: Shared,
        schema: pa.Schema,
        owner: str,
        buckets: int,
        in_parts: bool = False,
        early: bool = False,
        delay: int = 0,
    ) -> None:
        super().__init__(program, schema, owner, buckets, in_parts, early)
        self._shared, self._delay = program, delay
        self._columns = pa.schema([schema.field(TIME)])
        fresh = program.roster.record(())
        self._fresh = StoredWorkload.of(program, fresh, schema, self.pane, delay)
        self._known: dict[bytes, Mapping[str, int]] = {}
        self._made: dict[tuple[tuple[str, int], ...], SharedSteps] = {}

    def init(self, handle: StatefulProcessorHandle) -> None:
        super().init(handle)
        self._workload = WorkloadState(handle)

    def _make_carry(self, handle: StatefulProcessorHandle) -> CarryState:
        """Also where nothing is carried: the workload before may have done so, and the one after may."""
        return CarryState(handle, self.owner)

    def _watermark_in_steps(self, timers: TimerValues) -> int | None:
        self._milliseconds = max(0, timers.getCurrentWatermarkInMs())
        return super()._watermark_in_steps(timers)

    def _go_on(self, watermark: int | None) -> None:
        self._steps = self._steps_of(self._find_came(watermark))

    def _steps_of(self, came: Mapping[str, int]) -> SharedSteps:
        key = tuple(sorted(came.items()))
        if key not in self._made:
            steps = self._shared.coming(came).steps(self._in_parts, self._early)
            assert steps is not None, "a program without steps does not run on streams"
            self._made[key] = steps
        return self._made[key]

    def _find_came(self, watermark: int | None) -> Mapping[str, int]:
        """When queries came that were not there from the beginning."""
        content = self._workload.read()
        if content is None:
            self._workload.write(self._fresh.to_bytes())
            return {}
        if content in self._known:
            return self._known[content]
        stored = StoredWorkload.from_bytes(content)
        if stored.is_like(self._fresh):
            came = {name: one.since for name, one in stored.record.queries.items() if one.since is not None}
            self._known[content] = came
            return came
        return self._change(stored, watermark)

    def _change(self, stored: StoredWorkload, watermark: int | None) -> Mapping[str, int]:
        """The state of another workload becomes one of this workload."""
        roster = self._shared.roster.after(stored.record, self._first_unread(stored.delay))
        came = roster.since
        if stored.changed is not None:
            came = self._shared.coming(came).settle(stored.changed)
        record = Roster(self._shared.roster.programs, came).record(())
        now = replace(self._fresh, record=record, changed=watermark)
        rows = move_rows(self._waiting.take_all(stored.schema), stored, now, self._shared)
        about = replace(self._read_about(), earliest=None, latest=None)
        for piece in split_panes(rows, self._fresh.pane):
            about = self._waiting.write(piece, about).with_times(piece.earliest, piece.latest)
        steps = self._steps_of(came)
        assert self._carry is not None, "a workload has one always"
        before = self._carry.read()
        carry = keep_carries(before, steps.program.carry_keys)
        self._carry.write(before, carry)
        self._workload.write(now.to_bytes())
        if about.timer is not None and about.timer > self._milliseconds:
            self._handle.deleteTimer(about.timer)
            about = replace(about, timer=None)
        if about.earliest is None and not carry and about.timer is None:
            self._about.clear()
            return came
        waiting = None if about.earliest is None or about.latest is None else (about.earliest, about.latest)
        due = steps.due(waiting, carry, watermark)
        self._about.update(self._with_timer(about, due, watermark).as_tuple())
        return came

    def _first_unread(self, delay: int) -> int:
        """The first time after all events that the watermark comes from, in steps; Spark counts in milliseconds. The
        watermark of a restart is that of the run before."""
        return -(-(self._milliseconds + max(delay, self._delay) + 1) * 1_000_000 // self._time_type.step)
