"""The stateful operator of interval queries on a stream: situations are the state, events only wait for the watermark.

Per bucket of partitions there is the row that every stream has about its state, pieces of rows that the watermark has
not passed, and one value of situations and open runs. A micro-batch writes the pieces that it brings; the situations
are written when the watermark has passed some of the rows that wait.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql.streaming import StatefulProcessorHandle

from trendweave.errors import TrendweaveError
from trendweave.programs.intervals.state import IntervalState
from trendweave.rows.arrow_bytes import as_stream
from trendweave.runners.interval_incremental import IntervalIncremental
from trendweave.runners.spark.pieces import Piece, from_pieces
from trendweave.runners.spark.stream_operator import About, CheckedBytes, PieceProcessor
from trendweave.runners.spark.stream_work import PieceWork
from trendweave.runners.warm_up import compile_once


@dataclass(frozen=True, slots=True)
class IntervalWork(PieceWork):
    """`schema` is that of rows that wait."""

    engine: IntervalIncremental
    schema: pa.Schema

    def due(self, earliest: int, latest: int, watermark: int | None) -> int:
        """Not before Spark's first watermark, which is after 0."""
        return max(1, self.engine.due(earliest, latest, watermark))

    def advanced(
        self, state: IntervalState, pieces: list[Piece], watermark: int
    ) -> tuple[IntervalState, Iterator[bytes]]:
        """The state at the watermark, and the rows that became certain, as Arrow streams."""
        compile_once("intervals")
        rows = from_pieces(pieces, self.schema)
        pending = rows if state.pending is None else pa.concat_tables([state.pending, rows])
        try:
            state, found = self.engine.advance(replace(state, pending=pending), watermark)
        except TrendweaveError as error:
            raise type(error)(error.problems, self.engine.bound.plan.text) from error
        return state, iter([as_stream(found)] if found.num_rows else [])

    def next_step(self, state: IntervalState, pieces: list[Piece]) -> int | None:
        """The step that the watermark must pass for something to come out, or to be let go; None for never."""
        dues = [piece.earliest + 1 for piece in pieces]
        found = self.engine.next_due(state)
        if found is not None:
            dues.append(found[1])
        if not dues:
            let_go = self.engine.let_go(state)
            dues = [] if let_go is None else [let_go]
        return min(dues) - 1 if dues else None


class IntervalProcessor(PieceProcessor):
    """Rows come out when the watermark has passed the step that makes them certain."""

    _work: IntervalWork

    def init(self, handle: StatefulProcessorHandle) -> None:
        super().init(handle)
        self._situations = CheckedBytes(handle, "situations", "situations")

    def _expired(self, about: About, watermark: int) -> Iterator[bytes]:
        held = list(self._held())
        passed = [(place, piece) for place, piece in held if piece.earliest < watermark]
        state, found = self._work.advanced(self._read_situations(), [piece for _, piece in passed], watermark)
        yield from found
        for place, _ in passed:
            self._pieces.removeKey(place)
        left = [piece for _, piece in held if piece.earliest >= watermark]
        if not left and state.is_empty:
            self._situations.clear()
            self._about.clear()
            return
        self._situations.update(state.to_bytes())
        step = self._work.next_step(state, left)
        # What is kept of rows that the watermark has passed has no times of its own that matter.
        about = replace(about, closed=watermark, earliest=step, latest=step)
        if step is not None:
            about = self._with_timer(about, watermark)
        self._about.update(about.as_tuple())

    def _read_situations(self) -> IntervalState:
        content = self._situations.get()
        return self._work.engine.start() if content is None else self._work.engine.read(content)
