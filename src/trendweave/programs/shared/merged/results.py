"""What the kernel found for many queries -> aggregates of each, as its own program would have them.

Queries that show the same columns are written as one table, with the number of the member beside each row.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import ExecutionError, Problem
from trendweave.kernels.aggregates.entry import read_extremum, read_floats, read_linear
from trendweave.kernels.many_queries import SharedResults
from trendweave.planning.plan import AggregateColumn, GroupColumn
from trendweave.programs.program import PartialResults, Scope
from trendweave.programs.shared.members import by_member, group_by_member, name_member, parts_by_member
from trendweave.programs.shared.merged.inputs import UnitMeasures, UnitRows
from trendweave.programs.shared.unit import Found, telling_member
from trendweave.programs.trends.program import TrendAggregates
from trendweave.results.partials import Component, Partials, TaskResult, merge
from trendweave.rows.codes import first_of_each, key_codes
from trendweave.rows.windows import window_columns


@dataclass(frozen=True)
class Columns:
    """Queries of a unit that show the same columns, by their numbers inside it, and how these are written.

    `members` are the numbers of the queries in the workload; `program` is that of the first, with them as a group.
    """

    queries: tuple[int, ...]
    members: np.ndarray
    program: TrendAggregates

    @property
    def merger(self) -> PartialResults | None:
        return None if self.program.partials() is None else parts_by_member(self.program)

    def write(self, found: TaskResult, scope: Scope) -> Found:
        """Result rows; where one of them cannot be written, the error says whose it is."""

        def take(own: np.ndarray) -> TaskResult:
            return TaskResult(found.partials.take(own), [group.filter(pa.array(own)) for group in found.groups])

        numbers = found.groups[0].to_numpy()
        return Found(by_member(name_member(found, numbers, take, lambda one: self.program.write(one, scope))), None)


def sort_by_columns(members: Sequence[int], programs: Sequence[TrendAggregates]) -> tuple[Columns, ...]:
    """Put queries together that are written alike."""
    alike: dict[Hashable, list[int]] = defaultdict(list)
    for query, program in enumerate(programs):
        plan = program.plan
        shown = tuple(
            (column.name, column.function, column.path, column.variable is None) for column in plan.aggregates
        )
        alike[plan.window, plan.groups, shown, plan.outputs, plan.having, plan.order_by, plan.limit].append(query)
    return tuple(
        Columns(
            tuple(queries),
            np.array([members[query] for query in queries], np.int32),
            group_by_member(programs[queries[0]]),
        )
        for queries in alike.values()
    )


class UnitResults:
    """Reads what the kernel found."""

    def __init__(self, rows: UnitRows, measures: UnitMeasures, results: SharedResults) -> None:
        self._rows, self._measures, self._results = rows, measures, results
        # Entries are sorted by query.
        self._starts = np.searchsorted(results.query, np.arange(len(rows.placed.merged.places) + 1))
        self._groups: dict[tuple[GroupColumn, ...], tuple[np.ndarray, list[pa.Array], int]] = {}

    def read(self, columns: Columns) -> TaskResult | None:
        """The aggregates of some queries; None where they have no trends."""
        groups, values, count = self._number_groups(columns.program.plan.groups[1:])
        by_reads: dict[tuple[tuple[int, ...], ...], list[int]] = defaultdict(list)
        for place, query in enumerate(columns.queries):
            by_reads[self._rows.placed.merged.reads[query]].append(place)
        parts = []
        for reads, places in by_reads.items():
            ranges = [self._range(columns.queries[place]) for place in places]
            entries = np.concatenate([np.arange(first, end) for first, end in ranges])
            if not entries.size:
                continue
            of_entry = np.repeat(places, [end - first for first, end in ranges])
            components = [Component("sum", self._results.count[entries])]
            for column, numbers in zip(columns.program.plan.aggregates, reads, strict=True):
                components.append(self._component(columns, column, numbers, entries, of_entry))
            group = of_entry * count + groups[self._results.segment[entries]]
            parts.append(Partials(self._results.window[entries], group, tuple(components)))
        if not parts:
            return None
        merged = merge(parts)
        taken = [pc.take(value, pa.array(merged.group % count)) for value in values]
        return TaskResult(merged, [pa.array(columns.members[merged.group // count]), *taken])

    def _range(self, query: int) -> tuple[int, int]:
        return int(self._starts[query]), int(self._starts[query + 1])

    def _number_groups(self, groups: tuple[GroupColumn, ...]) -> tuple[np.ndarray, list[pa.Array], int]:
        """The group of each partition, the values of each group, and how many there are."""
        if groups not in self._groups:
            block, names = self._rows.block, self._rows.placed.key_columns
            columns = [block.first_values(names[group.path]) for group in groups]
            codes = key_codes([pa.chunked_array([column]) for column in columns], block.end - block.first)
            first = first_of_each(codes)
            self._groups[groups] = codes, [pc.take(column, pa.array(first)) for column in columns], max(1, first.size)
        return self._groups[groups]

    def _component(
        self,
        columns: Columns,
        column: AggregateColumn,
        numbers: tuple[int, ...],
        entries: np.ndarray,
        of_entry: np.ndarray,
    ) -> Component:
        """An aggregate of some entries; SQL's NULL where no event has a value."""
        if not numbers:
            return Component("sum", self._results.count[entries])
        place = self._measures.place[numbers[0]]
        if column.function in ("MIN", "MAX"):
            asked, lookup = self._measures.extremum[numbers[0]]
            values, known = read_extremum(asked, self._results.extrema[place][entries], lookup)
            return Component("min" if column.function == "MIN" else "max", values, known)
        totals = self._results.linear[place]
        if column.path is None:
            return Component("sum", totals[entries])
        weight = self._results.linear[self._measures.place[numbers[1]]][entries]
        given, _ = self._measures.values(self._rows.placed.merged.measures[numbers[0]])
        read = read_floats if given.dtype == np.float64 else read_linear
        if column.function == "AVG" and given.dtype == np.float64:
            averages, known = read(weight, totals[entries])
            return Component("avg", averages, known, weight)
        sums, _ = read(None, totals[entries])
        beyond = np.flatnonzero(np.isinf(sums)) if sums.dtype == np.float64 else np.empty(0, np.int64)
        if beyond.size and np.isfinite(given).all():
            self._too_large(columns, int(of_entry[beyond[0]]), self._results.window[entries[beyond[:1]]])
        return Component("sum", sums, np.asarray(weight != 0, np.bool_), weight)

    def _too_large(self, columns: Columns, place: int, window: np.ndarray) -> None:
        edges = window_columns(columns.program.plan.window, self._rows.encoded.time_type, window)
        shown = [f"{name} {edge[0]}" for name, edge in edges.items() if edge[0].is_valid]
        message = f"a SUM exceeds the range of floats at {', '.join(shown) or 'the whole input'}"
        problem = Problem("TW402", message, "use AVG, smaller windows, or CAST the column to BIGINT")
        with telling_member(int(columns.members[place])):
            raise ExecutionError([problem])


def results_of_members(columns: Sequence[Columns], found: Sequence[TaskResult]) -> Iterator[tuple[Columns, TaskResult]]:
    """Aggregates that were found query by query, in their order."""
    of_query = {query: (one, member) for one in columns for query, member in zip(one.queries, one.members, strict=True)}
    for query, result in enumerate(found):
        one, member = of_query[query]
        numbers = pa.array(np.full(result.partials.window.size, member))
        yield one, TaskResult(result.partials, [numbers, *result.groups])
