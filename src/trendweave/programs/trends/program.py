"""Trend queries as programs: aggregates over all trends, and trends one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import ExecutionError, Problem
from trendweave.gpu.card import refuse_work
from trendweave.kernels import CountTooLargeError
from trendweave.planning.folding import plan_folding
from trendweave.planning.matches.certainty import plan_ends, settles_beginnings
from trendweave.planning.plan import MovingWindow, Plan, Selection, SessionWindow, SlidingWindow
from trendweave.planning.ways import steps_from_row_to_row
from trendweave.programs.program import (
    EVERYTHING,
    TRENDS,
    Arrange,
    Output,
    PartialResults,
    Scope,
    Steps,
    as_they_are,
)
from trendweave.programs.steps import Compute, SessionSteps, WindowedSteps
from trendweave.programs.trends.aggregates import PartitionTask, TaskOptions
from trendweave.programs.trends.bound import BoundTrends
from trendweave.programs.trends.detection import DEFAULTS, WISHES, Detection, Wishes
from trendweave.programs.trends.lists.aggregating import aggregate_trends, find_distinct_values
from trendweave.programs.trends.lists.choosing import read_rule, taken_until
from trendweave.programs.trends.lists.starts import (
    ConsumedStarts,
    EitherSteps,
    OpenBeginnings,
    Select,
    SelectionSteps,
    find_certain,
    find_waiting,
)
from trendweave.results.aggregate_table import result_table
from trendweave.results.each_columns import fold_columns
from trendweave.results.finished_rows import finish_batches, finish_rows, needs_finish, sort_by_times
from trendweave.results.partial_table import WINDOW, from_table, group_names, partial_schema, to_table
from trendweave.results.partials import TaskResult, merge_results
from trendweave.results.shown_trends import join_trends
from trendweave.results.trend_table import TrendWriter, make_writer
from trendweave.rows.codes import key_codes
from trendweave.rows.encoded import ASKED, NUMBER, TIME, EncodedRows, encode_rows
from trendweave.rows.segments import bit_of
from trendweave.rows.times import as_steps, moving_span

# What lists trends, or folds them on streams, is imported where it is used: most runs that aggregate do neither.
if TYPE_CHECKING:
    from trendweave.programs.trends.lists.listing import TrendListing, WrittenTrends


@dataclass(frozen=True)
class TrendAggregates(BoundTrends):
    """Aggregates over all trends. Unless `folds`, events wait on streams until their
    windows close, even where a few numbers would do."""

    folds: bool = True

    def aggregate(self, rows: pa.Table, scope: Scope = EVERYTHING) -> TaskResult:
        """Numbers per window and group, before they are written."""
        options = TaskOptions(self.numbers != "float64", scope.windows, scope.chunk, device=self.device)
        with too_large_counts(floats=True):
            if self.device != "gpu" and steps_from_row_to_row(self.plan):
                from trendweave.programs.trends.lists.contiguous import count_contiguous

                counted = count_contiguous(self.plan, self.preparation, rows, options)
                if counted is not None:
                    return counted
            return PartitionTask(self.plan, self.preparation, rows, options, find_distinct_values).run()

    def compute(self, rows: pa.Table, scope: Scope = EVERYTHING) -> Output:
        return Output.of_table(self.write(self.aggregate(rows, scope), scope))

    def write(
        self, aggregates: TaskResult, scope: Scope = EVERYTHING, beside: Mapping[str, pa.Array] = MappingProxyType({})
    ) -> pa.Table:
        """Result rows; columns `beside` aggregates come after those of the result."""
        result = result_table(self.plan, aggregates, self.base, self.events, self.numbers)
        for name, values in beside.items():
            result = result.append_column(name, values)
        if scope.counted:
            counts = aggregates.partials.components[0].values
            if counts.dtype == object:
                counts = np.array([float(count) if count < 2**1023 else np.inf for count in counts.tolist()])
            result = result.append_column(TRENDS, pa.array(counts.astype(np.float64)))
        return finish_rows(self.plan, result, self.schema)

    def partials(self) -> PartialResults | None:
        """Where several keys, and so several tasks, belong to one group of a window, or its groups are ordered."""
        if isinstance(self.plan.window, SessionWindow):
            return None
        if self.plan.limit is not None:
            return self.parts
        if isinstance(self.plan.window, MovingWindow):
            return None
        return self.parts if len(self.plan.grouping_keys) < len(self.plan.partition_key) else None

    @property
    def parts(self) -> PartialResults:
        """Aggregates of the keys of a task, to be merged by window and group; where rows are limited, groups of a
        window meet."""
        schema = partial_schema(self.plan, self.events, self.numbers)
        named = zip(group_names(self.plan), self.plan.groups, strict=True)
        together = (WINDOW, *(name for name, group in named if group.apart or self.plan.limit is None))

        def compute(rows: pa.Table, scope: Scope) -> pa.Table:
            return to_table(self.aggregate(rows, scope), schema)

        def merge(parts: pa.Table, scope: Scope) -> pa.Table:
            return self.write(merge_results([TaskResult(*from_table(parts, self.plan, self.events))]), scope)

        return PartialResults(schema, together, compute, merge)

    def steps(self, in_parts: bool = False, early: bool = False) -> Steps | None:
        if isinstance(self.plan.window, SessionWindow):
            return session_steps(self, self.plan.window)
        closing = self.closing()
        if closing is None:
            return None
        parts = self.partials() if in_parts else None
        # Folded numbers know times alone.
        folds = self.folds and not self.order_by and not early

        def compute(rows: pa.Table, scope: Scope) -> Output:
            return self.compute(rows, scope) if parts is None else Output.of_table(parts.compute(rows, scope))

        fold = None
        if folds and plan_folding(self.plan).why_not is None:
            from trendweave.programs.trends.folded.steps import TrendFold

            fold = TrendFold.of(self, closing, self.write if parts is None else lambda one: to_table(one, parts.schema))
        return WindowedSteps(closing, self.time_type, compute, fold)

    def why_whole(self) -> str | None:
        return "rows are ordered together (ORDER BY)" if self.plan.order_by and self.partials() is None else None

    def arranging(self, by_time: bool = False) -> Arrange | None:
        if isinstance(self.plan.window, SlidingWindow) and not by_time:
            return partial(sort_by_times, columns=(0,))
        return as_they_are

    def problems_of_early_rows(self) -> list[Problem]:
        if self.plan.having or self.plan.order_by:
            message = "early results of this query could be withdrawn by later events (HAVING or ORDER BY)"
            return [Problem("TW409", message, "remove early=, and use the rows when their windows close")]
        if isinstance(self.plan.window, SessionWindow):
            message = "a session may still grow, and join with another, so there are no early results"
            return [Problem("TW409", message, "remove early=, and use the rows when their sessions end")]
        if not self.plan.negations and self.plan.strategy == "skip-till-any-match":
            return []
        message = "early results of this query could be withdrawn by later events (NOT, or a strategy that skips less)"
        return [Problem("TW409", message, "remove early=, and use the rows when their windows close")]


@dataclass(frozen=True)
class TrendLists(BoundTrends):
    """Trends one by one, or one row of aggregates for each."""

    detection: Detection = DEFAULTS

    def show(self, rows: pa.Table, scope: Scope = EVERYTHING) -> WrittenTrends:
        """The trends of prepared rows in batches. They are counted here."""
        if scope.wait is not None:
            return self._of_ends[scope.wait].show(rows, replace(scope, wait=None))
        if steps_from_row_to_row(self.plan):
            if self.device == "gpu":
                refuse_work("a match of events next to each other is not served on a GPU")
            from trendweave.programs.trends.lists.contiguous import list_contiguous

            options = TaskOptions(only=scope.windows, chunk=scope.chunk, device=self.device)
            with too_large_counts():
                return list_contiguous(self.plan, self.preparation, rows, options, self.detection, self._make_writer)
        from trendweave.programs.trends.lists.listing import write_trends

        return write_trends(count_and_list(self, rows, scope, self.detection), self._make_writer)

    def _make_writer(self, rows: EncodedRows, groups: list[pa.Array]) -> TrendWriter:
        columns = (self.base, self.events, self.time, self.type, self.numbers)
        return make_writer(self.plan, self.preparation, *columns, rows, groups)

    def compute(self, rows: pa.Table, scope: Scope = EVERYTHING) -> Output:
        written = self.show(rows, scope)
        return self._finish(written.batches(), written.trends, scope)

    def _finish(self, batches: Iterator[pa.RecordBatch], trends: int | None, scope: Scope) -> Output:
        if scope.counted:
            batches = (batch.append_column(TRENDS, pa.array(np.ones(batch.num_rows))) for batch in batches)
        if not needs_finish(self.plan):
            return Output(batches, trends)
        base = self.base.append(pa.field(TRENDS, pa.float64())) if scope.counted else self.base
        known = not self.plan.having and self.plan.limit is None
        return Output(finish_batches(self.plan, batches, base, self.schema), trends if known else None)

    def why_whole(self) -> str | None:
        plan = self.plan
        if plan.order_by:
            return "rows are ordered together (ORDER BY)"
        # How many trends there are is known before they are shown, but not of these.
        uncounted = plan.match_conditions or plan.selection is not None or plan.complete
        return "trends that HAVING leaves out count for max_trends" if plan.having and uncounted else None

    def for_part(self, parts: int) -> Self:
        return replace(self, detection=self.detection.share(parts))

    def check_number(self, batches: Iterator[pa.RecordBatch], trends: int | None) -> Iterator[pa.RecordBatch]:
        from trendweave.programs.trends.lists.listing import describe_too_many

        most = self.detection.max_trends
        if trends is not None and trends > most:
            raise ExecutionError([describe_too_many(f"{trends:,}", most, self.plan)])

        def count() -> Iterator[pa.RecordBatch]:
            shown = 0
            for batch in batches:
                shown += batch.num_rows
                if shown > most:
                    raise ExecutionError([describe_too_many(f"more than {most:,}", most, self.plan)])
                yield batch

        return batches if trends is not None else count()

    def partials(self) -> PartialResults | None:
        """Rows come together by group where trends of several keys are chosen among; so none are merged."""
        return None

    def steps(self, in_parts: bool = False, early: bool = False) -> Steps | None:
        if isinstance(self.plan.window, SessionWindow):
            return session_steps(self, self.plan.window)
        return self.make_steps(self.compute, self.select)

    def make_steps(self, compute: Compute, select: Select) -> Steps | None:
        """Steps over windows that are counted, or move: by what computes their rows, or selects trends."""
        closing, kind = self.closing(), self.time_type
        if closing is None:
            return None
        if self.certainty.moment == "either":
            soon = self._of_ends[False].closing()
            assert soon is not None, "a window that moves is closed by watermarks"
            late, others = (partial(self._compute_ends, compute, wait) for wait in (True, False))
            return EitherSteps(closing, kind, late, others=WindowedSteps(soon, kind, others))
        if not settles_beginnings(self.plan):
            return WindowedSteps(closing, kind, compute)
        own = self.plan.selection is not None and self.plan.selection.skip == "next"
        nothing = ConsumedStarts(self.preparation.partition_key, own, self.preparation.ties)
        return SelectionSteps(closing, kind, compute, span=self._span, nothing=nothing, select=select)

    @staticmethod
    def _compute_ends(compute: Compute, wait: bool, rows: pa.Table, scope: Scope) -> Output:
        return compute(rows, replace(scope, wait=wait))

    @cached_property
    def _of_ends(self) -> tuple[TrendLists, TrendLists]:
        """Lists of the trends that are certain at their last event, and of those that wait."""
        soon, wait = (
            replace(self, plan=plan_ends(self.plan, wait), prepared=self.preparation) for wait in (False, True)
        )
        return soon, wait

    @property
    def _span(self) -> int:
        assert isinstance(self.plan.window, MovingWindow), "each trend has a window of its own"
        return moving_span(self.plan.window, self.time_type)

    @cached_property
    def _open_beginnings(self) -> OpenBeginnings:
        return OpenBeginnings.of(self.plan, self.preparation)

    def select(
        self, rows: pa.Table, taken: ConsumedStarts, before: int | None, watermark: int | None
    ) -> tuple[list[pa.RecordBatch], ConsumedStarts]:
        """Trends that have become certain while the watermark moved.

        Args:
            rows: Prepared rows.
            taken: What trends that have come out take away.
            before: Where the watermark was, in steps.
            watermark: Where it is; None: no more events come.

        Returns:
            Result rows, and what is taken away after them.
        """
        encoded = encode_rows(self.plan, self.preparation, self._keep_changing(rows, before, watermark))
        asked = taken.find_allowed(encoded) & self._find_beginnings(encoded, before, watermark)
        undecided = self._find_undecided(encoded, asked, watermark)
        open_ = np.unique(encoded.tick[undecided])
        selection = self.plan.selection
        waits = find_waiting(self.certainty, selection, asked, open_, encoded)
        if selection is not None and selection.shortest and not self.certainty.whatever_taken and waits.any():
            # They wait for those that have no trend yet.
            undecided &= ~self._find_begun(encoded, waits & asked)
            waits &= np.isin(encoded.tick, encoded.tick[undecided])
        asked &= ~waits
        if not asked.any():
            return [], taken
        if selection is None:
            # All trends that begin there come out now, so none is looked at again.
            taken = taken.after(encoded, np.unique(encoded.tick[asked]))
        listing = self._list_asked(encoded, asked)
        found = list(listing.find_trends())
        if not found:
            return [], taken
        trends, own = join_trends(found), listing.graphs.task.rows
        at = encoded.tick[own.table.column(NUMBER).to_numpy()[trends.rows]]
        first = until = at[trends.starts[:-1]]
        if selection is not None:
            # Each takes its own beginning away at least.
            until = np.maximum(first, taken_until(read_rule(self.plan), trends, at))
        certain = np.flatnonzero(find_certain(self.certainty, selection, first, until, open_, encoded))
        writer = self._make_writer(own, listing.graphs.group_columns)
        batches = self._finish(iter([writer.write(trends.take(certain))]), None, EVERYTHING)
        if selection is not None:
            taken = taken.after(encoded, until[certain])
        return list(batches.batches), taken

    def _list_asked(self, rows: EncodedRows, asked: np.ndarray) -> TrendListing:
        """List the trends that begin with some rows. Those of the listing have numbers."""
        table = rows.table.append_column(ASKED, pa.array(asked))
        table = table.append_column(NUMBER, pa.array(np.arange(asked.size)))
        return count_and_list(self, _keep_partitions(table, rows, asked), EVERYTHING, self.detection)

    def _find_begun(self, rows: EncodedRows, asked: np.ndarray) -> np.ndarray:
        """Find which of the rows that are asked for begin a trend, whether or not another one takes it away."""
        each = replace(self, plan=replace(self.plan, selection=Selection(shortest=True)), prepared=self.preparation)
        listing, begun = each._list_asked(rows, asked), np.zeros(asked.size, np.bool_)
        number = listing.graphs.task.rows.table.column(NUMBER).to_numpy()
        for trends in listing.find_trends():
            begun[number[trends.rows[trends.starts[:-1]]]] = True
        return begun

    def _keep_changing(self, rows: pa.Table, before: int | None, watermark: int | None) -> pa.Table:
        """Rows of partitions in which something may become certain: those that have new rows, or beginnings from which
        nothing can go on any longer."""
        if before is None or watermark is None:
            return rows
        steps = as_steps(rows.column(TIME), self.time_type)
        partition = key_codes([rows.column(name) for name in self.preparation.partition_key], rows.num_rows)
        changing = np.zeros(int(partition.max()) + 1, np.bool_)
        changing[partition[(steps >= before) | ((steps > before - self._span) & (steps <= watermark - self._span))]] = (
            True
        )
        return rows if changing.all() else rows.filter(pa.array(changing[partition]))

    def _find_beginnings(self, rows: EncodedRows, before: int | None, watermark: int | None) -> np.ndarray:
        """Rows that trends may begin with that become certain now."""
        closing, steps = self.closing(), rows.tick_steps[rows.tick]
        assert closing is not None, "a window that moves is closed by watermarks"
        states, number = self.plan.template.states, {one.name: place for place, one in enumerate(self.plan.variables)}
        words = rows.partitions.letters.shape[1]
        begins = [bit_of(number[states[start.state].variable], words) for start in self.plan.template.starts]
        asked: np.ndarray = (rows.partitions.letters & np.bitwise_or.reduce(begins)).any(axis=1)
        if watermark is not None:
            asked &= steps <= watermark - closing.wait
        if before is not None:
            asked &= steps > before - self._span
        return asked

    def _find_undecided(self, rows: EncodedRows, asked: np.ndarray, watermark: int | None) -> np.ndarray:
        """Rows that are asked for and begin trends that may still go on; where trends wait for those that are taken
        away, such rows as well."""
        undecided = np.zeros(asked.size, np.bool_)
        if watermark is None or self.certainty.moment != "decided" or not asked.any():
            return undecided
        partition, counted = rows.partitions.of_rows(), np.arange(asked.size)
        first = np.full(rows.partitions.count, asked.size)
        np.minimum.at(first, partition[asked], counted[asked])
        whatever_taken = self.certainty.whatever_taken and self.plan.selection is not None
        if whatever_taken:
            first[first < asked.size] = rows.partitions.starts[:-1][first < asked.size]
        # Nothing goes on from earlier ones any more.
        inside = rows.tick_steps[rows.tick] > watermark - self._span
        looked_at = np.flatnonzero((counted >= first[partition]) & inside)
        if looked_at.size:
            part = encode_rows(self.plan, self.preparation, rows.table.take(pa.array(looked_at)))
            undecided[looked_at] = self._open_beginnings.find(part, watermark, self.detection.memory)
        return undecided if whatever_taken else undecided & asked

    def problems_of_early_rows(self) -> list[Problem]:
        message = "trends are returned when their window closes; there are no early rows"
        return [Problem("TW409", message, "remove early=, or return aggregates")]


def _keep_partitions(table: pa.Table, rows: EncodedRows, asked: np.ndarray) -> pa.Table:
    """The rows of partitions in which something is asked for."""
    partition = rows.partitions.of_rows()
    kept = np.zeros(rows.partitions.count, np.bool_)
    kept[partition[asked]] = True
    return table if kept.all() else table.filter(pa.array(kept[partition]))


def session_steps(program: TrendAggregates | TrendLists, window: SessionWindow) -> Steps:
    return SessionSteps(window, program.time_type, program.preparation.partition_key, program.compute)


@dataclass(frozen=True)
class ListedAggregates(TrendAggregates):
    """Aggregates over trends that must be found one by one: complete ones, or those that are taken."""

    detection: Detection = DEFAULTS

    def for_part(self, parts: int) -> Self:
        return replace(self, detection=self.detection.share(parts))

    def aggregate(self, rows: pa.Table, scope: Scope = EVERYTHING) -> TaskResult:
        from trendweave.programs.trends.lists.listing import LOOKED_AT

        # None of them is shown, so what may be looked at is the limit.
        most = LOOKED_AT * self.detection.max_trends
        listing = count_and_list(self, rows, scope, replace(self.detection, max_trends=most))
        encoded = listing.graphs.task.rows
        folded = fold_columns(self.plan, self.plan.aggregates, self.preparation.values, encoded.table)
        partials = aggregate_trends(folded, listing.fold_trends(folded))
        groups = [pc.take(column, pa.array(partials.group)) for column in listing.graphs.group_columns]
        keys = listing.graphs.task.rows.label_windows(self.plan.window, partials.window)
        return TaskResult(replace(partials, window=keys), groups)

    def problems_of_early_rows(self) -> list[Problem]:
        message = "which trends are complete or selected is known when their window closes; there are no early rows"
        return [Problem("TW409", message, "remove early=, and use the rows when their windows close")]


def count_and_list(bound: BoundTrends, rows: pa.Table, scope: Scope, detection: Detection) -> TrendListing:
    """The trends of prepared rows, counted and ready to be found."""
    from trendweave.programs.trends.lists.listing import list_trends

    options = TaskOptions(only=scope.windows, chunk=scope.chunk, device=bound.device)
    with too_large_counts():
        return list_trends(bound.plan, bound.preparation, rows, options, detection)


@contextmanager
def too_large_counts(floats: bool = False) -> Iterator[None]:
    """A count that no kernel can hold, as a problem of ours; floats may be a way out."""
    try:
        yield
    except CountTooLargeError as error:
        hint = ('ask for numbers="float64", or ' if floats else "") + "use smaller windows"
        raise ExecutionError([Problem("TW403", str(error), hint)]) from error


def bind_trends(
    plan: Plan, events: pa.Schema, time: str, type_: str | None, wishes: Wishes = WISHES
) -> TrendAggregates | TrendLists:
    """The program of a trend plan."""
    bound = (plan, events, time, type_, wishes.numbers, None, wishes.device, wishes.order_by, wishes.limits)
    if plan.returns == "aggregates" and plan.finds_trends:
        return ListedAggregates(*bound, detection=wishes.detection)
    if plan.returns == "aggregates":
        return TrendAggregates(*bound)
    return TrendLists(*bound, detection=wishes.detection)
