"""The stateful operator of a workload: at a restart it may be another one than the state was made for.

The state of a bucket knows the queries of the workload, and what the rows are that wait.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from trendweave.errors import DataError, Problem
from trendweave.programs.program import FAMILY, Flag
from trendweave.programs.shared.changes import Record, Roster, keep_carries
from trendweave.programs.shared.program import Shared
from trendweave.programs.shared.rows import tell_type
from trendweave.programs.shared.steps import SharedSteps
from trendweave.rows.encoded import TIME, read_letters
from trendweave.runners.spark.pieces import split_panes
from trendweave.runners.spark.stream_operator import StreamProcessor
from trendweave.runners.spark.stream_state import CONTENT, CarryState

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle, TimerValues


_METADATA = b"trendweave.workload"


@dataclass(frozen=True)
class StoredWorkload:
    """A workload, as a state has it.

    Attributes:
        record: Its queries by name, and when they came.
        schema: The columns of rows that wait.
        flags: What tells each bit of their words from others.
        families: The marks of families.
        pane: The length of the panes that rows are kept by.
        type: The column of the type, where all rows have one.
        delay: How far the watermark is behind the latest event, in milliseconds.
        changed: The watermark of the last change, in steps: what closed before is done in all buckets.
    """

    record: Record
    schema: pa.Schema
    flags: tuple[str, ...]
    families: tuple[int, ...]
    pane: int | None
    type: str | None = None
    delay: int = 0
    changed: int | None = None

    @staticmethod
    def of(program: Shared, record: Record, schema: pa.Schema, pane: int | None, delay: int) -> StoredWorkload:
        """What is stored of a program with rows of these columns."""
        # Whether types are conditions like others depends on the other queries.
        flags = tuple(_name_flag(tell_type(flag, program.needs, type_apart=True)) for flag in program.rows.flags)
        marks = tuple(family.mark for family in program.rows.families)
        return StoredWorkload(record, schema, flags, marks, pane, program.needs.type, delay)

    def to_bytes(self) -> bytes:
        rows = {"flags": self.flags, "families": self.families, "pane": self.pane, "type": self.type}
        facts = json.dumps({"record": self.record.write(), "delay": self.delay, "changed": self.changed, **rows})
        return self.schema.with_metadata({_METADATA: facts.encode()}).serialize().to_pybytes()

    @staticmethod
    def from_bytes(data: bytes) -> StoredWorkload:
        schema = pa.ipc.read_schema(pa.py_buffer(data))
        facts = json.loads((schema.metadata or {})[_METADATA])
        lists = tuple(facts["flags"]), tuple(facts["families"])
        rest = facts["pane"], facts["type"], facts["delay"], facts["changed"]
        return StoredWorkload(Record.read(facts["record"]), schema.remove_metadata(), *lists, *rest)

    def is_like(self, other: StoredWorkload) -> bool:
        """Whether both are the same queries with the same rows and delay; when these came is not asked."""
        own, others = (
            {name: (known.text, known.owner) for name, known in one.record.queries.items()} for one in (self, other)
        )
        rows, other_rows = ((one.flags, one.families, one.pane, one.type, one.delay) for one in (self, other))
        return own == others and rows == other_rows and self.schema.equals(other.schema)


class WorkloadState:
    """The value of a bucket's state that holds a `StoredWorkload`."""

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self._value = handle.getValueState("workload", CONTENT)

    def read(self) -> bytes | None:
        """Its bytes; None where there is nothing.

        Raises:
            DataError: They are damaged (TW311).
        """
        stored: Any = self._value.get()
        if stored is None:
            return None
        content = bytes(stored[0])
        if zlib.crc32(content) != stored[1]:
            message = "the state's record of its workload is damaged: its checksum is wrong"
            hint = "restart from an intact checkpoint, or from the source with a new one"
            raise DataError([Problem("TW311", message, hint)])
        return content

    def write(self, content: bytes) -> None:
        self._value.update((content, zlib.crc32(content)))


def move_rows(rows: pa.Table, before: StoredWorkload, after: StoredWorkload, program: Shared) -> pa.Table:
    """Rows of one workload as rows of another.

    Args:
        rows: Rows that wait.
        before: The workload that they were made for.
        after: The workload that they are for now.
        program: The same.

    Returns:
        The rows that queries need that stayed. What only others read is not set, or NULL.
    """
    rows, marks = _of_families(rows, before, after)
    place = rows.schema.get_field_index(FAMILY)
    family = pa.array(marks, pa.int32())
    marked = rows.append_column(FAMILY, family) if place < 0 else rows.set_column(place, FAMILY, family)
    moved = program.rewrite(marked)
    letters = read_letters(moved) if after.flags else np.zeros((moved.num_rows, 0), np.uint64)
    marks = moved.column(FAMILY).to_numpy()
    kept = _are_taken(letters, marks, program, stayed(before.record, after.record))
    moved = moved.select(after.schema.names).cast(after.schema)
    return moved if kept.all() else moved.filter(pa.array(kept))


def stayed(before: Record, after: Record) -> set[str]:
    """The names of queries that are in both, with the same text."""
    known = before.queries
    return {name for name, now in after.queries.items() if name in known and known[name].text == now.text}


def _of_families(rows: pa.Table, before: StoredWorkload, after: StoredWorkload) -> tuple[pa.Table, np.ndarray]:
    """The rows of families that there still are, and the marks of these."""
    if FAMILY in rows.column_names:
        marks = rows.column(FAMILY).to_numpy().astype(np.int64)
    else:
        marks = np.full(rows.num_rows, before.families[0], np.int64)
    known = np.isin(marks, after.families)
    return (rows, marks) if known.all() else (rows.filter(pa.array(known)), marks[known])


def _name_flag(flag: Flag) -> str:
    return hashlib.sha256(repr(flag).encode()).hexdigest()[:16]


def _are_taken(letters: np.ndarray, marks: np.ndarray, program: Shared, names: Collection[str]) -> np.ndarray:
    """Whether one of these queries takes each row."""
    taken = np.zeros(len(marks), np.bool_)
    for unit, view in zip(program.units, program.rows.views, strict=True):
        if not any(name in names for member in unit.members for name in program.names[member]):
            continue
        own = marks == program.rows.families[view.family].mark
        if view.takes is not None:
            some = np.zeros(len(marks), np.bool_)
            for bit in view.takes:
                some |= (letters[:, bit // 64] >> np.uint64(bit % 64)) & np.uint64(1) != 0
            own &= some
        taken |= own
    return taken


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
