"""A program on all cores: the same rows as on one.

Whatever goes wrong is told as one core tells it: that core is asked again, unless rows were shown already.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import TypeVar

import pyarrow as pa

from trendweave.devices.names import count_cores
from trendweave.devices.pool import Pool, is_in_pool
from trendweave.errors import TrendweaveError
from trendweave.planning.plan import Path
from trendweave.programs.program import EVERYTHING, Output, Program, Scope
from trendweave.progress import follow
from trendweave.rows.dropped import Dropped
from trendweave.runners.threads.dealing import Deal, count_parts, cut_evenly, deal, deal_keys, is_worth_cutting

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
    if program.split().why_not is None:
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
        return found
    parts = program.partials() if in_parts else None
    return program.compute(rows, scope).batches if parts is None else parts.compute(rows, scope).to_batches()


def _try(program: Program, rows: int, work: Callable[[_Run], _Found]) -> _Found | None:
    """What threads make of rows; None where one core has to do it."""
    cores = count_cores()
    if cores < 2 or not is_worth_cutting(rows) or program.needs.time is None or is_in_pool():
        return None
    pool = Pool(cores)
    try:
        return work(_Run(program, pool, cores))
    except TrendweaveError:
        return None  # one core tells what is wrong of all rows, not of a part
    finally:
        pool.shutdown(cancel_futures=True)


@dataclass(frozen=True, slots=True)
class _Run:
    program: Program
    pool: Executor
    cores: int

    def start(self, events: pa.Table) -> tuple[Output, Dropped] | None:
        """Results that are ready, or that threads make while they are read; None where nothing is worth sharing out."""
        if self.program.split().why_not is not None and not self.program.evaluates:
            return None
        slices, dropped = prepare_slices(self.program, events, self.pool, self.cores)
        return self.compute(slices), dropped

    def slice(self, rows: pa.Table) -> list[pa.Table]:
        """Prepared rows in as many slices as there are cores."""
        return [rows.slice(first, count) for first, count in cut_evenly(rows.num_rows, self.cores)]

    def _deal(self, slices: list[pa.Table], keys: tuple[Path, ...] | None = None) -> Deal | None:
        """How rows are dealt out: by some keys, or as suits; None where they are not."""
        if self.program.split().why_not is not None:
            return None
        parts = count_parts(sum(rows.num_rows for rows in slices), self.cores)
        if keys is not None:
            return deal_keys(keys, slices, self.pool, parts)
        return deal(self.program, slices, self.pool, self.cores, parts)

    def compute(self, slices: list[pa.Table]) -> Output:
        """Results of prepared rows."""
        dealt, merging = self._deal(slices), self.program.partials()
        if dealt is None:
            return self.program.compute(pa.concat_tables(slices))
        return (
            self._show(dealt)
            if merging is None
            else Output.of_table(merging.merge(self._find_parts(dealt), EVERYTHING))
        )

    def compute_keys(
        self, slices: list[pa.Table], keys: tuple[Path, ...], scope: Scope, in_parts: bool
    ) -> list[pa.RecordBatch] | None:
        """Rows, or parts, of rows that are told apart by keys; None where all have the same."""
        dealt = self._deal(slices, keys)
        if dealt is None:
            return None
        dealt = replace(dealt, scope=scope)
        return self._find_parts(dealt).to_batches() if in_parts else list(self._show(dealt).batches)

    def _find_parts(self, dealt: Deal) -> pa.Table:
        """Parts of results, to be merged."""

        def compute(fetch: Callable[[], pa.Table]) -> tuple[Program, pa.Table]:
            one = self.program.for_part(len(dealt.parts))
            parts = one.partials()
            assert parts is not None, "it is the same program"
            return one, parts.compute(fetch(), dealt.scope)

        found = list(follow(self.pool.map(compute, dealt.parts), len(dealt.parts)))
        for one, _ in found:
            self.program.add_counts(one)
        return pa.concat_tables([part for _, part in found])

    def _show(self, dealt: Deal) -> Output:
        """Rows of parts that need no merging: in order, or batch by batch as threads make them."""

        def compute(fetch: Callable[[], pa.Table]) -> tuple[Program, Output]:
            one = self.program.for_part(len(dealt.parts))
            return one, one.compute(fetch(), dealt.scope)

        arrange = self.program.arranging(dealt.by_time)
        if arrange is not None:
            computed = self.pool.map(lambda fetch: list(compute(fetch)[1].batches), dealt.parts)
            batches = [batch for part in follow(computed, len(dealt.parts)) for batch in part]
            return Output.of_table(arrange(pa.Table.from_batches(batches))) if batches else Output(iter(()))
        found = list(follow(self.pool.map(compute, dealt.parts), len(dealt.parts)))
        counts = [output.trends for _, output in found]
        known = [count for count in counts if count is not None]
        trends = sum(known) if len(known) == len(counts) else None
        return Output(self.program.check_number(self._take_turns(found), trends), trends)

    def _take_turns(self, found: list[tuple[Program, Output]]) -> Iterator[pa.RecordBatch]:
        """A batch of each part in turn, while threads make the next ones. No more of them wait than there are parts."""

        def following(output: Output) -> pa.RecordBatch | None:
            return next(output.batches, None)

        pool = Pool(self.cores)  # those that began have another run by now
        try:
            waiting: deque[tuple[Program, Output, _Next]] = deque(
                (one, output, pool.submit(following, output)) for one, output in found
            )
            while waiting:
                one, output, made = waiting.popleft()
                batch = made.result()
                if batch is None:
                    self.program.add_counts(one)
                    continue
                waiting.append((one, output, pool.submit(following, output)))
                yield batch
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def prepare_slices(program: Program, events: pa.Table, pool: Executor, parts: int) -> tuple[list[pa.Table], Dropped]:
    """Prepared rows in slices that stand one after the other, each column of a slice in one piece, and what was
    dropped.

    Args:
        program: Prepares rows, each by itself.
        events: Rows as they came.
        pool: Threads.
        parts: How many slices there are at most.
    """
    slices = [events.slice(first, count) for first, count in cut_evenly(events.num_rows, parts)]
    prepared = list(pool.map(program.prepare, slices))
    return [rows for rows, _ in prepared], reduce(add, (dropped for _, dropped in prepared))
