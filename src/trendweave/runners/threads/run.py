"""A program on all cores: the same rows as on one.

Whatever goes wrong is told as one core tells it: that core is asked again, unless rows were shown already.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace
from typing import TypeVar

import pyarrow as pa

from trendweave.devices.cores import count_cores
from trendweave.devices.pool import Pool, is_in_pool
from trendweave.errors import ExecutionError, TrendweaveError
from trendweave.planning.plan import Path
from trendweave.programs.operators.filter import KeptEvents
from trendweave.programs.operators.windows.program import WindowAggregates
from trendweave.programs.program import EVERYTHING, Output, Program, Scope
from trendweave.programs.shared.program import Shared
from trendweave.programs.situated import InSituations
from trendweave.programs.trends.lists.listing import describe_too_many
from trendweave.programs.trends.program import TrendLists
from trendweave.progress import follow
from trendweave.rows.dropped import Dropped
from trendweave.runners.threads.deal import Deal
from trendweave.runners.threads.dealing import deal, deal_keys
from trendweave.runners.threads.filtering import filter_in_threads
from trendweave.runners.threads.fitness import for_part, why_on_one_core
from trendweave.runners.threads.preparing import count_parts, cut_evenly, evaluates, is_worth_cutting, prepare_slices
from trendweave.runners.threads.putting_together import arranging

#: A batch of a part, or None behind its last one.
_Next = Future[pa.RecordBatch | None]
_Found = TypeVar("_Found")


def compute_in_threads(program: Program, events: pa.Table) -> tuple[Output, Dropped]:
    """Result rows of events as they came, and what was dropped of them."""
    found = _try(program, events.num_rows, lambda run: run.start(events))
    if found is not None:
        return found
    rows, dropped = program.prepare(events)
    return program.compute(rows), dropped


def compute_rows_in_threads(program: Program, rows: pa.Table) -> list[pa.RecordBatch]:
    """All result rows of prepared rows."""
    found = None
    if why_on_one_core(program) is None:
        found = _try(program, rows.num_rows, lambda run: list(run.compute(run.slice(rows)).batches))
    return list(program.compute(rows).batches) if found is None else found


def compute_keys_in_threads(
    program: Program, rows: pa.Table, keys: tuple[Path, ...], scope: Scope, in_parts: bool
) -> Iterable[pa.RecordBatch]:
    """What a task makes of prepared rows of whole keys.

    Args:
        program: Computes rows.
        rows: Prepared rows.
        keys: What tells apart rows that need not be computed together.
        scope: What is asked of them.
        in_parts: Whether results are parts, which somebody else merges.
    """
    found = _try(program, rows.num_rows, lambda run: run.compute_keys(run.slice(rows), keys, scope, in_parts))
    if found is not None:
        return found.to_batches()
    parts = program.partials() if in_parts else None
    return program.compute(rows, scope).batches if parts is None else parts.compute(rows, scope).to_batches()


def _try(program: Program, rows: int, work: Callable[[_Run], _Found]) -> _Found | None:
    """What threads make of rows; None where one core has to do it."""
    cores = count_cores()
    if cores < 2 or not is_worth_cutting(rows) or program.needs.time is None or is_in_pool():
        return None
    pool = Pool(cores)
    try:
        found = work(_Run(program, pool, cores))
        if found is None:
            pool.shutdown()
        return found
    except TrendweaveError:
        # One core tells what is wrong of all rows, not of a part.
        pool.shutdown(cancel_futures=True)
        return None
    except BaseException:
        pool.shutdown(cancel_futures=True)
        raise


@dataclass(frozen=True, slots=True)
class _Run:
    program: Program
    pool: Executor
    cores: int

    def start(self, events: pa.Table) -> tuple[Output, Dropped] | None:
        """Results that are ready, or that threads make while they are read; None where nothing is worth sharing out."""
        if isinstance(self.program, KeptEvents):
            kept = filter_in_threads(self.program, events, self.pool, self.cores)
            self.pool.shutdown()
            return kept
        if why_on_one_core(self.program) is not None and not evaluates(self.program):
            return None
        slices, dropped = prepare_slices(self.program, events, self.pool, self.cores)
        return self.compute(slices), dropped

    def _parts(self, slices: list[pa.Table]) -> int:
        return count_parts(sum(rows.num_rows for rows in slices), self.cores)

    def slice(self, rows: pa.Table) -> list[pa.Table]:
        """Prepared rows in as many slices as there are cores."""
        return [rows.slice(first, count) for first, count in cut_evenly(rows.num_rows, self.cores)]

    def compute(self, slices: list[pa.Table]) -> Output:
        """Results of prepared rows."""
        dealt = None
        if why_on_one_core(self.program) is None:
            # Sums of windows are exact, however they are cut.
            by_time = isinstance(self.program, WindowAggregates)
            dealt = deal(self.program, slices, self.pool, self.cores, self._parts(slices), by_time)
        if dealt is None:
            # Whoever sorts and numbers rows does it quicker in one piece.
            rows = self._join(slices)
            self.pool.shutdown()
            return self.program.compute(rows)
        if self.program.partials() is None:
            return self._show(dealt)
        merging = self.program.partials()
        assert merging is not None, "it was asked"
        merged = merging.merge(self._compute_parts(dealt), EVERYTHING)
        self.pool.shutdown()
        return Output.of_table(merged)

    def _join(self, slices: list[pa.Table]) -> pa.Table:
        """Slices as one table, each column in one piece."""
        if len(slices) == 1:
            return slices[0]
        joined = pa.concat_tables(slices)
        columns = self.pool.map(lambda column: column.combine_chunks(), joined.columns)
        return pa.table(list(columns), schema=joined.schema)

    def compute_keys(
        self, slices: list[pa.Table], keys: tuple[Path, ...], scope: Scope, in_parts: bool
    ) -> pa.Table | None:
        """Rows, or parts, of rows that are told apart by keys; None where all have the same."""
        dealt = None if why_on_one_core(self.program) else deal_keys(keys, slices, self.pool, self._parts(slices))
        if dealt is None:
            self.pool.shutdown()
            return None
        dealt = replace(dealt, scope=scope)
        found = self._compute_parts(dealt) if in_parts else None
        if found is None:
            batches = list(self._show(dealt).batches)
            found = pa.Table.from_batches(batches) if batches else None
        self.pool.shutdown()
        return found

    def _compute_parts(self, dealt: Deal) -> pa.Table:
        """Parts of results, to be merged."""

        def compute(fetch: Callable[[], pa.Table]) -> tuple[Program, pa.Table]:
            one = for_part(self.program, len(dealt.parts))
            parts = one.partials()
            assert parts is not None, "it is the same program"
            return one, parts.compute(fetch(), dealt.scope)

        found = list(follow(self.pool.map(compute, dealt.parts), len(dealt.parts)))
        for one, _ in found:
            self._count(one)
        return pa.concat_tables([part for _, part in found])

    def _count(self, one: Program) -> None:
        """What a part has counted is counted for all of them."""
        if isinstance(self.program, Shared) and isinstance(one, Shared):
            self.program.metrics.add(one.metrics)

    def _show(self, dealt: Deal) -> Output:
        """Rows of parts that need no merging: in order, or batch by batch as threads make them."""

        def compute(fetch: Callable[[], pa.Table]) -> tuple[Program, Output]:
            one = for_part(self.program, len(dealt.parts))
            return one, one.compute(fetch(), dealt.scope)

        arrange = arranging(self.program, dealt.by_time)
        if arrange is not None:
            computed = self.pool.map(lambda fetch: list(compute(fetch)[1].batches), dealt.parts)
            batches = follow(computed, len(dealt.parts))
            found_rows = [batch for part in batches for batch in part]
            self.pool.shutdown()
            return Output.of_table(arrange(pa.Table.from_batches(found_rows))) if found_rows else Output(iter(()))
        found = list(follow(self.pool.map(compute, dealt.parts), len(dealt.parts)))
        counts = [output.trends for _, output in found]
        known = [count for count in counts if count is not None]
        trends = sum(known) if len(known) == len(counts) else None
        return Output(self._check_number(self._take_turns(found), trends), trends)

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
