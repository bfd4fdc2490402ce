"""A program on all cores: the same rows as on one.

Whatever goes wrong is told as one core tells it: that core is asked again, unless rows were shown already.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass

import pyarrow as pa

from trendweave.devices.cores import count_cores
from trendweave.errors import ExecutionError, TrendweaveError
from trendweave.programs.program import EVERYTHING, Output, Program
from trendweave.programs.shared.program import Shared
from trendweave.programs.situated.program import InSituations
from trendweave.programs.trends.lists import describe_too_many
from trendweave.programs.trends.program import TrendLists
from trendweave.rows.dropped import Dropped
from trendweave.runners.threads.dealing import Deal, deal
from trendweave.runners.threads.fitness import for_part, why_on_one_core
from trendweave.runners.threads.preparing import is_worth_cutting, prepare_slices
from trendweave.runners.threads.putting_together import arranging

#: Parts per core: what one core has left over another one takes.
_PARTS_PER_CORE = 2
#: A batch of a part, or None behind its last one.
_Next = Future[pa.RecordBatch | None]


def compute_in_threads(program: Program, events: pa.Table, cores: int | None = None) -> tuple[Output, Dropped]:
    """Result rows of events, and what was dropped of them.

    Args:
        program: Bound to the columns of the events.
        events: Rows as they came.
        cores: How many threads work; None: as many as there are cores.
    """
    cores = count_cores() if cores is None else cores
    if cores > 1 and is_worth_cutting(events.num_rows) and why_on_one_core(program) is None:
        pool = ThreadPoolExecutor(cores, thread_name_prefix="trendweave")
        try:
            return _Run(program, pool, cores).start(events)
        except TrendweaveError:
            pool.shutdown(cancel_futures=True)
            # One core tells what is wrong of all rows, not of a part.
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return compute_on_one_core(program, events)


def compute_on_one_core(program: Program, events: pa.Table) -> tuple[Output, Dropped]:
    """The same without threads."""
    rows, dropped = program.prepare(events)
    return program.compute(rows), dropped


@dataclass(frozen=True, slots=True)
class _Run:
    program: Program
    pool: Executor
    cores: int

    def start(self, events: pa.Table) -> tuple[Output, Dropped]:
        """Results that are ready, or that threads make while they are read."""
        slices, dropped = prepare_slices(self.program, events, self.pool, self.cores)
        parts = self.cores * _PARTS_PER_CORE
        dealt = deal(self.program, slices, self.pool, self.cores, parts)
        if dealt is None:
            self.pool.shutdown()
            return self.program.compute(pa.concat_tables(slices)), dropped
        if self.program.partials() is not None:
            merged = self._merge(dealt)
            self.pool.shutdown()
            return Output.of_table(merged), dropped
        return self._show(dealt), dropped

    def _merge(self, dealt: Deal) -> pa.Table:
        """Parts of results, put together."""
        merging = self.program.partials()
        assert merging is not None, "it was asked"

        def compute(fetch: Callable[[], pa.Table]) -> tuple[Program, pa.Table]:
            one = for_part(self.program, len(dealt.parts))
            parts = one.partials()
            assert parts is not None, "it is the same program"
            return one, parts.compute(fetch(), dealt.scope)

        found = list(self.pool.map(compute, dealt.parts))
        for one, _ in found:
            self._count(one)
        return merging.merge(pa.concat_tables([part for _, part in found]), EVERYTHING)

    def _count(self, one: Program) -> None:
        """What a part has counted is counted for all of them."""
        if isinstance(self.program, Shared) and isinstance(one, Shared):
            self.program.metrics.add(one.metrics)

    def _show(self, dealt: Deal) -> Output:
        """Rows of parts that need no merging: in order, or batch by batch as threads make them."""

        def compute(fetch: Callable[[], pa.Table]) -> tuple[Program, Output]:
            one = for_part(self.program, len(dealt.parts))
            return one, one.compute(fetch(), dealt.scope)

        found = list(self.pool.map(compute, dealt.parts))
        counts = [output.trends for _, output in found]
        known = [count for count in counts if count is not None]
        trends = sum(known) if len(known) == len(counts) else None
        shown = self._check_number(self._take_turns(found), trends)
        arrange = arranging(self.program)
        if arrange is None:
            return Output(shown, trends)
        return Output.of_table(arrange(pa.Table.from_batches(shown, self.program.schema)))

    def _take_turns(self, found: list[tuple[Program, Output]]) -> Iterator[pa.RecordBatch]:
        """A batch of each part in turn, while threads make the next ones. No more of them wait than there are parts."""

        def following(output: Output) -> pa.RecordBatch | None:
            return next(output.batches, None)

        try:
            waiting: deque[tuple[Program, Output, _Next]] = deque(
                (one, output, self.pool.submit(following, output)) for one, output in found
            )
            while waiting:
                one, output, made = waiting.popleft()
                batch = made.result()
                if batch is None:
                    self._count(one)
                    continue
                waiting.append((one, output, self.pool.submit(following, output)))
                yield batch
        finally:
            self.pool.shutdown(wait=False, cancel_futures=True)

    def _check_number(self, batches: Iterator[pa.RecordBatch], trends: int | None) -> Iterator[pa.RecordBatch]:
        """The limit of trends to show holds for all parts together."""
        program = self.program.inner if isinstance(self.program, InSituations) else self.program
        if not isinstance(program, TrendLists):
            return batches
        most = program.detection.max_trends
        if trends is not None and trends > most:
            raise ExecutionError([describe_too_many(f"{trends:,}", most, program.plan)])
        return batches if trends is not None else _count_up_to(batches, program, most)


def _count_up_to(batches: Iterator[pa.RecordBatch], program: TrendLists, most: int) -> Iterator[pa.RecordBatch]:
    shown = 0
    for batch in batches:
        shown += batch.num_rows
        if shown > most:
            raise ExecutionError([describe_too_many(f"more than {most:,}", most, program.plan)])
        yield batch
