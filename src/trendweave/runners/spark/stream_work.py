"""What a stream needs to know and do apart from Spark: late events, due times, and the rows of windows that close."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import TrendweaveError
from trendweave.programs.situated.open_runs import NO_RUNS, OpenRuns
from trendweave.programs.trends.program import BoundQuery
from trendweave.results.partial_table import partial_schema, to_table
from trendweave.rows.arrow_bytes import as_stream
from trendweave.rows.closing import Closing
from trendweave.rows.encoded import TIME
from trendweave.rows.times import as_steps, time_type
from trendweave.runners.spark.pieces import Piece, from_pieces, with_letters
from trendweave.runners.warm_up import compile_once


class PieceWork(ABC):
    """What all queries do with pieces of rows; `schema` is that of kept rows."""

    __slots__ = ()

    schema: pa.Schema

    # Watermarks: Spark counts in milliseconds, we in steps of the time column.

    def watermark_in_steps(self, milliseconds: int) -> int | None:
        """None for Spark's watermark before any event, which is 0. Rounded down: nothing closes too early."""
        return None if milliseconds <= 0 else milliseconds * 1_000_000 // self._step

    def in_milliseconds(self, steps: int) -> int:
        return -(-steps * self._step // 1_000_000)

    @abstractmethod
    def due(self, earliest: int, latest: int, watermark: int | None) -> int:
        """The watermark at which something is to be done about rows between these times."""

    @property
    def _step(self) -> int:
        return time_type(self.schema.field(TIME).type).step

    def steps(self, rows: pa.Table) -> np.ndarray:
        return as_steps(rows.column(TIME), time_type(self.schema.field(TIME).type))

    # Rows

    def in_time(self, piece: Piece, watermark: int) -> tuple[Piece | None, np.ndarray]:
        """The piece without events that are behind the watermark, and which of its rows those were."""
        rows = from_pieces([piece], self.schema)
        steps = self.steps(rows)
        late = steps < watermark
        if late.all():
            return None, late
        kept = steps[~late]
        return Piece.of(rows.filter(pa.array(~late)), piece.pane, int(kept.min()), int(kept.max())), late


@dataclass(frozen=True, slots=True)
class StreamWork(PieceWork):
    """`schema` is that of kept rows. `partial`: groups span buckets, and partial aggregates are merged later."""

    bound: BoundQuery
    closing: Closing
    schema: pa.Schema
    partial: bool

    def due(self, earliest: int, latest: int, watermark: int | None) -> int:
        return self.closing.due(earliest, latest, watermark)

    def settled(self, watermark: int) -> int:
        """The time before which a watermark settles everything about an event."""
        return watermark

    def touched(self, earliest: int, latest: int, closed: int | None) -> tuple[int, int]:
        """The open windows (or times) whose rows change with events between these times."""
        first = self.closing.windows(closed, None)[0]
        if not self.closing.slide:
            return max(first, earliest), latest + self.closing.length
        slide, length = self.closing.slide, self.closing.length
        return max(first, (earliest - length) // slide + 1), latest // slide

    def computed(self, pieces: Iterable[Piece], windows: tuple[int, int], runs: OpenRuns = NO_RUNS) -> Iterator[bytes]:
        """Result rows, or partial aggregates, of these windows, as Arrow streams; trends in several."""
        rows = from_pieces(pieces, self.schema)
        needed = self.closing.needed(self.steps(rows), windows)
        if not needed.any():
            return
        rows = self._prepared(rows, needed, runs)
        compile_once("trends" if self.bound.shows_trends else "aggregates")
        try:
            yield from (as_stream(found) for found in self._found(rows, windows) if found.num_rows)
        except TrendweaveError as error:
            times = pc.min_max(rows.column(TIME))
            place = f"times {times['min']} to {times['max']}: "
            problems = [replace(problem, message=place + problem.message) for problem in error.problems]
            raise type(error)(problems, self.bound.plan.text) from error

    def _prepared(self, rows: pa.Table, needed: np.ndarray, runs: OpenRuns) -> pa.Table:
        return with_letters(rows if needed.all() else rows.filter(pa.array(needed)))

    def _found(self, rows: pa.Table, windows: tuple[int, int]) -> Iterator[pa.Table]:
        if self.bound.shows_trends:
            yield from (pa.Table.from_batches([batch]) for batch in self.bound.trends(rows, windows).batches())
            return
        found = self.bound.aggregate(rows, windows)
        if not self.partial:
            yield self.bound.result(found)
            return
        yield to_table(found, partial_schema(self.bound.plan, self.bound.events, self.bound.numbers))
