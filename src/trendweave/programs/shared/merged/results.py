"""What the kernel found for many queries -> aggregates of each, as its own program would have them.

Queries that show the same columns are written as one table, with the number of the member beside each row.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import ExecutionError, Problem, TrendweaveError
from trendweave.kernels.aggregates.entry import read_extremum, read_linear
from trendweave.kernels.many_queries import SharedResults
from trendweave.planning.plan import AggregateColumn, GroupColumn
from trendweave.programs.program import Scope
from trendweave.programs.shared.merged.inputs import UnitMeasures, UnitRows
from trendweave.programs.shared.unit import MEMBER, Found, telling_member
from trendweave.programs.trends.program import PartialAggregates, TrendAggregates
from trendweave.results.partial_table import from_table, partial_schema, to_table
from trendweave.results.partials import Component, Partials, TaskResult, merge
from trendweave.rows.codes import first_of_each, key_codes
from trendweave.rows.windows import window_columns


@dataclass(frozen=True)
class Columns:
    """Queries of a unit that show the same columns, by their numbers inside it, and how these are written.

    `members` are the numbers of the queries in the workload, `program` is that of the first.
    """

    queries: tuple[int, ...]
    members: np.ndarray
    program: TrendAggregates

    @property
    def merger(self) -> ColumnParts | None:
        parts = self.program.partials()
        return ColumnParts(self, parts) if isinstance(parts, PartialAggregates) else None

    def write(self, found: MemberResults, scope: Scope) -> Found:
        """Result rows; where one of them cannot be written, the error says whose it is."""
        try:
            return self._write(found, scope)
        except TrendweaveError:
            for place in np.unique(found.place):
                with telling_member(int(self.members[place])):
                    self._write(found.of_query(int(place)), scope)
            raise

    def _write(self, found: MemberResults, scope: Scope) -> Found:
        if len(self.queries) == 1:
            return Found(self.program.write(found.result, scope), int(self.members[0]))
        table = self.program.write(found.result, scope, {MEMBER: pa.array(self.members[found.place])})
        return Found(table.select([MEMBER, *(name for name in table.column_names if name != MEMBER)]), None)


@dataclass(frozen=True, slots=True)
class MemberResults:
    """Aggregates of several queries: the place of each entry's query among those of its columns."""

    result: TaskResult
    place: np.ndarray

    def of_query(self, place: int) -> MemberResults:
        own = self.place == place
        groups = [group.filter(pa.array(own)) for group in self.result.groups]
        return MemberResults(TaskResult(self.result.partials.take(own), groups), self.place[own])


def sort_by_columns(members: Sequence[int], programs: Sequence[TrendAggregates]) -> tuple[Columns, ...]:
    """Put queries together that are written alike. What is ordered or cut off is ordered for each query by itself."""
    alike: dict[Hashable, list[int]] = defaultdict(list)
    for query, program in enumerate(programs):
        plan = program.plan
        shown = tuple(
            (column.name, column.function, column.path, column.variable is None) for column in plan.aggregates
        )
        own = query if plan.order_by or plan.limit is not None else None
        alike[plan.window, plan.groups, shown, plan.outputs, plan.having, own].append(query)
    return tuple(
        Columns(tuple(queries), np.array([members[query] for query in queries], np.int32), programs[queries[0]])
        for queries in alike.values()
    )


@dataclass(frozen=True, slots=True)
class ColumnParts:
    """Parts of queries that show the same columns, merged by query, window and group."""

    columns: Columns
    inner: PartialAggregates
    of_stretches = False

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([pa.field(MEMBER, pa.int32()), *self._own_schema])

    @property
    def _own_schema(self) -> pa.Schema:
        program = self.columns.program
        return partial_schema(program.plan, program.events, program.numbers)

    @property
    def together(self) -> tuple[str, ...]:
        return self.inner.together

    def write(self, found: MemberResults) -> pa.Table:
        """A part."""
        table = to_table(found.result, self._own_schema)
        return table.add_column(0, MEMBER, pa.array(self.columns.members[found.place], pa.int32()))

    def compute(self, rows: pa.Table, scope: Scope) -> pa.Table:
        raise AssertionError("a unit computes the parts of all of its queries at once")

    def merge(self, parts: pa.Table, scope: Scope) -> pa.Table:
        return self.find(parts, scope).table

    def find(self, parts: pa.Table, scope: Scope) -> Found:
        """Result rows of all parts that meet in one place."""
        program = self.columns.program
        order = np.argsort(self.columns.members)
        place = order[np.searchsorted(self.columns.members, parts.column(MEMBER).to_numpy(), sorter=order)]
        partials, groups = from_table(parts.drop_columns([MEMBER]), program.plan, program.events)
        codes = key_codes([pa.chunked_array([group]) for group in groups], parts.num_rows)
        first = first_of_each(codes)
        merged, place = _merge_by_query([(place, replace(partials, group=codes))])
        values = [pc.take(group, pa.array(first[merged.group])) for group in groups]
        return self.columns.write(MemberResults(TaskResult(merged, values), place), scope)


def _merge_by_query(parts: Sequence[tuple[np.ndarray, Partials]]) -> tuple[Partials, np.ndarray]:
    """Merge entries by query, window and group; in the order of the three."""
    lowest = min((int(part.window.min()) for _, part in parts if part.window.size), default=0)
    highest = max((int(part.window.max()) for _, part in parts if part.window.size), default=0)
    width = highest - lowest + 1
    merged = merge([replace(part, window=place * width + (part.window - lowest)) for place, part in parts])
    return replace(merged, window=merged.window % width + lowest), merged.window // width


class UnitResults:
    """Reads what the kernel found."""

    def __init__(self, rows: UnitRows, measures: UnitMeasures, results: SharedResults) -> None:
        self._rows, self._measures, self._results = rows, measures, results
        # Entries are sorted by query.
        self._starts = np.searchsorted(results.query, np.arange(len(rows.placed.merged.places) + 1))
        self._groups: dict[tuple[GroupColumn, ...], tuple[np.ndarray, list[pa.Array]]] = {}

    def read(self, columns: Columns) -> MemberResults | None:
        """The aggregates of some queries; None where they have no trends."""
        groups, values = self._number_groups(columns.program.plan.groups)
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
            window, group = self._results.window[entries], groups[self._results.segment[entries]]
            parts.append((of_entry, Partials(window, group, tuple(components))))
        if not parts:
            return None
        merged, of_query = _merge_by_query(parts)
        taken = [pc.take(value, pa.array(merged.group)) for value in values]
        return MemberResults(TaskResult(merged, taken), of_query)

    def _range(self, query: int) -> tuple[int, int]:
        return int(self._starts[query]), int(self._starts[query + 1])

    def _number_groups(self, groups: tuple[GroupColumn, ...]) -> tuple[np.ndarray, list[pa.Array]]:
        """The group of each partition, and the values of each group."""
        if groups not in self._groups:
            block, names = self._rows.block, self._rows.placed.key_columns
            columns = [block.first_values(names[group.path]) for group in groups]
            codes = key_codes([pa.chunked_array([column]) for column in columns], block.end - block.first)
            first = pa.array(first_of_each(codes))
            self._groups[groups] = codes, [pc.take(column, first) for column in columns]
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
            return Component("sum", totals.values[entries])
        weight = self._results.linear[self._measures.place[numbers[1]]].values[entries]
        given, _ = self._measures.values(self._rows.placed.merged.measures[numbers[0]])
        if column.function == "AVG" and given.dtype == np.float64:
            averages, known = read_linear(weight, totals.values[entries], totals.exponent)
            return Component("avg", averages, known, weight)
        sums, _ = read_linear(None, totals.values[entries], totals.exponent)
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


def results_of_members(
    columns: Sequence[Columns], found: Sequence[TaskResult]
) -> Iterator[tuple[Columns, MemberResults]]:
    """Aggregates that were found query by query."""
    for one in columns:
        for place, query in enumerate(one.queries):
            result = found[query]
            yield one, MemberResults(result, np.full(result.partials.window.size, place))
