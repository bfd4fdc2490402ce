"""Events piece by piece: the rows of a window come out once, when the watermark has passed its end.

State is what windows that are still open need: the prepared columns of their events, sorted into nothing yet.
Whatever the cuts and the order of arrival, the rows are those of one batch over all events that were not late.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from trendweave.errors import DataError, Problem
from trendweave.planning.plan import Plan
from trendweave.programs.situated.open_runs import NO_RUNS, OpenRuns
from trendweave.programs.trends.program import BoundQuery, bind
from trendweave.rows.arrow_bytes import as_stream, from_stream
from trendweave.rows.closing import Closing
from trendweave.rows.dropped import NOTHING_DROPPED, Dropped, split_late
from trendweave.rows.encoded import TIME
from trendweave.rows.tables import as_arrow
from trendweave.rows.times import as_steps
from trendweave.runners.event_pieces import PieceEngine, fitting, watermark_step
from trendweave.runners.options import Settings

#: Written into every state; a state of another version is refused.
STATE_VERSION = 1
_METADATA = b"trendweave.state"
_RUNS = b"trendweave.runs"


@dataclass(frozen=True, slots=True)
class State:
    """Prepared rows of open windows, the watermark in steps of the time column, and what was dropped so far; where
    events lie in situations, also what is left of those that were let go."""

    rows: pa.Table | None = None
    watermark: int | None = None
    late: int = 0
    dropped: Dropped = NOTHING_DROPPED
    made_for: str = ""
    runs: OpenRuns = NO_RUNS

    def to_bytes(self) -> bytes:
        facts = {
            "version": STATE_VERSION,
            "watermark": self.watermark,
            "late": self.late,
            "dropped": asdict(self.dropped),
            "empty": self.rows is None,
            "made_for": self.made_for,
        }
        rows = pa.table({}) if self.rows is None else self.rows
        metadata = {_METADATA: json.dumps(facts).encode()}
        if not self.runs.is_empty:
            metadata[_RUNS] = self.runs.to_bytes()
        return as_stream(rows.replace_schema_metadata(metadata))

    @staticmethod
    def from_bytes(data: bytes) -> State:
        try:
            rows = from_stream(data)
            facts = json.loads((rows.schema.metadata or {})[_METADATA])
        except (pa.ArrowInvalid, KeyError, ValueError, OSError) as error:
            raise DataError(
                [Problem("TW311", f"the state cannot be read: {error}", "start from an empty state")]
            ) from error
        if facts["version"] != STATE_VERSION:
            message = f"the state has version {facts['version']}, this release reads version {STATE_VERSION}"
            raise DataError([Problem("TW311", message, "run it with the release that wrote it")])
        kept = None if facts["empty"] else rows.replace_schema_metadata(None)
        written = rows.schema.metadata.get(_RUNS)
        runs = NO_RUNS if written is None else OpenRuns.from_bytes(written)
        return State(kept, facts["watermark"], facts["late"], Dropped(**facts["dropped"]), facts["made_for"], runs)


def needed_columns(plan: Plan, time: str, type_: str | None) -> list[str]:
    needed = {path[0] for columns in plan.needed_columns for path in columns.paths}
    return sorted(needed | {time} | ({type_} if type_ is not None else set()))


class Incremental(PieceEngine):
    """Takes events in pieces. It holds no state of its own: every call gets one and gives the next one back."""

    def __init__(self, plan: Plan, schema: pa.Schema, time: str, type_: str | None, settings: Settings) -> None:
        bound = bind(plan, schema, time, type_, settings.numbers, detection=settings.detection)
        self._begin(bound, needed_columns(plan, time, type_), plan.text)

    def _begin(self, bound: BoundQuery, needed: list[str], text: str) -> None:
        super().__init__(
            bound.events, bound.time, bound.type, needed, [text, bound.time, str(bound.type), bound.numbers]
        )
        self._bound = bound
        self._closing = Closing.of(bound.plan.window, self.kind)

    @property
    def schema(self) -> pa.Schema:
        """The columns of result rows."""
        return self._bound.schema

    @property
    def plan(self) -> Plan:
        return self._bound.plan

    @property
    def ever_closes(self) -> bool:
        """False for one window over the whole input."""
        return self._closing is not None

    def start(self) -> State:
        return State(made_for=self.made_for)

    def _checked(self, state: State) -> State:
        self.check_owner(state.made_for)
        return state

    def push(self, state: State, events: Any, watermark: Any = None) -> tuple[State, pa.Table]:
        """Take some events, then move the watermark; the rows of the windows that it closed come back.

        Events with a time before the state's watermark are late: dropped and counted. A watermark never moves back.
        """
        state = self._taken(self._checked(state), fitting(as_arrow(events)[0], self.columns))
        if watermark is None:
            return state, self.schema.empty_table()
        return self._closed(state, watermark_step(watermark, self.kind))

    def advance(self, state: State, watermark: int) -> tuple[State, pa.Table]:
        """Move the watermark, given in steps of the time column; the rows of the windows that it closed come back."""
        return self._closed(self._checked(state), watermark)

    def read(self, data: bytes) -> State:
        return self._checked(State.from_bytes(data))

    def due(self, earliest: int, latest: int, watermark: int | None) -> int:
        """The watermark at which something of rows between these times closes next, or can be let go."""
        assert self._closing is not None, "one window over the whole input never closes"
        return self._closing.due(earliest, latest, watermark)

    def next_due(self, state: State) -> tuple[int, int] | None:
        """The time of the first row that the state holds, and the watermark at which something closes next."""
        steps = np.empty(0, np.int64) if state.rows is None else self._steps(state.rows.column(TIME))
        if not steps.size:
            return None
        earliest = int(steps.min())
        return earliest, self.due(earliest, int(steps.max()), state.watermark)

    def finish(self, state: State) -> pa.Table:
        """The rows of all windows that are still open."""
        return self._closed(self._checked(state), None)[1]

    def _steps(self, column: pa.ChunkedArray) -> np.ndarray:
        return as_steps(column, self.kind)

    def _taken(self, state: State, events: pa.Table) -> State:
        late = 0
        if state.watermark is not None:
            events, late = split_late(events, self.time, self.type, self.kind, state.watermark)
        rows, dropped = self._rows(events)
        joined = rows if state.rows is None else pa.concat_tables([state.rows, rows])
        return replace(state, rows=joined, late=state.late + late, dropped=state.dropped + dropped)

    def _closed(self, state: State, watermark: int | None) -> tuple[State, pa.Table]:
        """Windows that end at or before the watermark (None: all) are computed, and what only they needed is let go."""
        if watermark is not None and state.watermark is not None:
            watermark = max(watermark, state.watermark)
        if state.rows is None:
            return replace(state, watermark=watermark), self.schema.empty_table()
        steps = self._steps(state.rows.column(TIME))
        if self._closing is None:
            if watermark is not None:
                return replace(state, watermark=watermark), self.schema.empty_table()
            only, needed, kept = None, np.ones(steps.size, np.bool_), np.zeros(steps.size, np.bool_)
        else:
            settled = self._settled(watermark)
            only = self._closing.windows(self._settled(state.watermark), settled)
            needed, kept = self._closing.needed(steps, only), self._closing.kept(steps, settled)
        result = self._computed(state, needed, only) if needed.any() else self.schema.empty_table()
        if not kept.all():
            state = replace(self._let_go(state, ~kept), rows=state.rows.filter(pa.array(kept)).combine_chunks())
        return replace(state, watermark=watermark), result

    # What depends on the kind of query

    def _rows(self, events: pa.Table) -> tuple[pa.Table, Dropped]:
        """What is kept of events, and what was dropped of them."""
        return self._bound.prepare(events)

    def _settled(self, watermark: int | None) -> int | None:
        """The time before which a watermark settles everything about an event."""
        return watermark

    def _computed(self, state: State, needed: np.ndarray, only: tuple[int, int] | None) -> pa.Table:
        """The rows of some windows, which hold the `needed` ones of the rows that are kept."""
        assert state.rows is not None
        return self._bound.compute(state.rows.filter(pa.array(needed)), only)

    def _let_go(self, state: State, gone: np.ndarray) -> State:
        """The state after rows are let go that all are before those that stay."""
        return state
