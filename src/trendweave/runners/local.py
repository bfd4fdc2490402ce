"""The in-process place: Arrow prepares the rows, the program computes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, replace

import pyarrow as pa

from trendweave.devices.names import Device
from trendweave.errors import TrendweaveError
from trendweave.interruptible import interruptible
from trendweave.programs.program import Output, Program
from trendweave.programs.ties import count_ties
from trendweave.progress import follow
from trendweave.rows.dropped import Dropped, report_dropped
from trendweave.runners.events_at_once import look_for_ties
from trendweave.runners.metrics import Metrics
from trendweave.stopping import Work


class Batches:
    """An iterator over Arrow record batches.

    Attributes:
        schema: The columns of the batches; its metadata has the numbers of dropped rows, by reason.
        trends: The number of trends, counted before the first one is built; None if it cannot be known in advance
            (complete trends that need a check), or if the query does not list trends.
    """

    def __init__(
        self, program: Program, events: pa.Table, metrics: Metrics | None = None, device: Device = "cpu"
    ) -> None:
        # One work for all batches: threads make some of the next one already.
        work = Work()
        compute = _compute if device == "gpu" else interruptible(_compute, work)
        output, dropped = compute(program, events, device)
        report_dropped(dropped)
        look_for_ties(program, events)
        if metrics is not None:
            dropped = replace(dropped, same_time=count_ties(program, program.prepare(events)[0]))
            metrics.count(asdict(dropped))
        self.schema: pa.Schema = program.schema.with_metadata(dropped.metadata)
        self.trends: int | None = output.trends
        self._batches = output.batches
        self._rows = 0
        self._tell: Callable[[int], None] | None = None
        self._next = _next_batch if device == "gpu" else interruptible(_next_batch, work)

    def tell_at_end(self, tell: Callable[[int], None]) -> Batches:
        """The same batches; after the last one, a callback is called once with the number of all rows."""
        self._tell = tell
        return self

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self

    def __next__(self) -> pa.RecordBatch:
        batch = self._next(self._batches)
        if batch is None:
            tell, self._tell = self._tell, None
            if tell is not None:
                tell(self._rows)
            raise StopIteration
        self._rows += batch.num_rows
        return batch.replace_schema_metadata(self.schema.metadata)


def _next_batch(batches: Iterator[pa.RecordBatch]) -> pa.RecordBatch | None:
    return next(batches, None)


def _compute(program: Program, events: pa.Table, device: Device) -> tuple[Output, Dropped]:
    if device == "threads":
        from trendweave.runners.threads.run import compute_in_threads

        return compute_in_threads(program, events)
    rows, dropped = program.prepare(events)
    return program.compute(rows), dropped


def run_local(program: Program, events: pa.Table, metrics: Metrics | None = None, device: Device = "cpu") -> pa.Table:
    """Result rows; the number of dropped rows is in the metadata of the schema, and in the metrics that are asked.
    Ctrl-C ends it, but on a GPU, whose memory belongs to the thread that asked for it."""
    run = _run if device == "gpu" else interruptible(_run)
    return run(program, events, metrics, device)


def _run(program: Program, events: pa.Table, metrics: Metrics | None, device: Device) -> pa.Table:
    batches = Batches(program, events, metrics, device)
    try:
        followed = follow(batches, batches.trends, lambda batch: batch.num_rows)
        return pa.Table.from_batches(followed, batches.schema)
    except TrendweaveError:
        if device != "threads":
            raise
    # One core tells what is wrong of all rows, not of a part.
    rows, _ = program.prepare(events)
    return pa.Table.from_batches(program.compute(rows).batches, program.schema).replace_schema_metadata(
        batches.schema.metadata
    )
