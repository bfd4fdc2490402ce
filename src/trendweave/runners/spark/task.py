"""What Python workers do: rows of whole keys, sorted, in; aggregates or result rows out. No Spark is needed here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import ExecutionError, Problem, TrendweaveError
from trendweave.programs.trends.program import BoundQuery
from trendweave.results.partial_table import from_table, partial_schema, to_table
from trendweave.results.partials import TaskResult, merge
from trendweave.rows.codes import first_of_each, key_codes
from trendweave.rows.encoded import TIME
from trendweave.runners.spark.chunks import PackedTimes
from trendweave.runners.warm_up import Work, compile_once

#: Columns of rows that are measured; the result does not show them.
TRENDS, PEAK = "trendweave_trends", "trendweave_peak"


@dataclass(frozen=True, slots=True)
class Limits:
    """Rows that are computed at once, and rows of one key that are held at most."""

    rows_at_once: int = 1_000_000
    rows_of_a_key: int = 20_000_000


@dataclass(frozen=True, slots=True)
class AggregateTask:
    """For mapInArrow. `keys` are the columns by which rows are sorted into keys; `partial` asks for partial
    aggregates, `measured` for columns with the number of trends and the rows of the largest key. `packed` is how times
    and chunks travel."""

    bound: BoundQuery
    keys: tuple[str, ...]
    partial: bool
    limits: Limits
    measured: bool = False
    packed: PackedTimes | None = None
    work: ClassVar[Work] = "aggregates"

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        compile_once(self.work)
        held: list[pa.RecordBatch] = []
        rows = 0
        wanted = self._wanted(self.limits.rows_at_once)
        for batch in batches:
            held.append(batch if self.packed is None else self.packed.unpacked(batch))
            rows += batch.num_rows
            if rows < wanted:
                continue
            table = pa.Table.from_batches(held)
            cut = self._last_border(table)
            if cut == 0:
                # All of it is one key, and more of it may come.
                self._check_size(table)
                wanted = self._wanted(2 * rows)
                held = table.to_batches()
                continue
            yield from self._computed(table.slice(0, cut))
            held, rows = table.slice(cut).to_batches(), table.num_rows - cut
            wanted = self._wanted(self.limits.rows_at_once)
        if rows:
            yield from self._computed(pa.Table.from_batches(held))

    def _wanted(self, rows: int) -> int:
        """That many, but not without a look at the size of a key that is beyond its limit."""
        return min(rows, self.limits.rows_of_a_key + 1)

    def _last_border(self, table: pa.Table) -> int:
        """The first row of the last key. Rows are sorted by keys, so all rows before it are of finished keys."""
        if not self.keys:
            return 0
        codes = key_codes([table.column(name) for name in self.keys], table.num_rows)
        others = np.flatnonzero(codes != codes[-1])
        return int(others[-1]) + 1 if others.size else 0

    def _check_size(self, table: pa.Table) -> None:
        if table.num_rows <= self.limits.rows_of_a_key:
            return
        message = f"{self._place(table)} has more than {self.limits.rows_of_a_key:,} events"
        hint = "split it by an equivalence, use smaller windows, or raise spark.trendweave.maxRowsOfAKey"
        raise ExecutionError([Problem("TW405", message, hint)])

    def _computed(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        # Spark hands timestamps over in the session's zone; the answer does not depend on it.
        time = self.bound.events.field(self.bound.time).type
        table = table.set_column(table.schema.get_field_index(TIME), TIME, table.column(TIME).cast(time))
        try:
            found = self.bound.aggregate(table)
            result = self._written(found)
        except TrendweaveError as error:
            place = f"{self._place(table)}: "
            problems = [replace(problem, message=place + problem.message) for problem in error.problems]
            raise type(error)(problems, self.bound.plan.text) from error
        if self.measured:
            result = _measured(result, found, self._largest_key(table))
        yield from result.to_batches()

    def _written(self, found: TaskResult) -> pa.Table:
        if not self.partial:
            return self.bound.result(found)
        return to_table(found, partial_schema(self.bound.plan, self.bound.events, self.bound.numbers))

    def _largest_key(self, table: pa.Table) -> int:
        codes = key_codes([table.column(name) for name in self.keys], table.num_rows)
        return int(np.bincount(codes).max())

    def _place(self, table: pa.Table) -> str:
        """Keys and time range, for messages. Rows are sorted by keys."""
        first, last = self._key(table, 0), self._key(table, table.num_rows - 1)
        keys = f"key {first}" if first == last else f"keys {first} to {last}"
        times = pc.min_max(table.column(TIME))
        return f"{keys}, times {times['min']} to {times['max']}"

    def _key(self, table: pa.Table, row: int) -> str:
        """As the query names it; a chunk of time is told by its times."""
        names = zip(self.bound.preparation.partition_key, self.bound.plan.partition_key, strict=True)
        paths = {name: ".".join(key.path) for name, key in names}
        shown = [f"{paths[name]}={table.column(name)[row].as_py()}" for name in self.keys if name in paths]
        return ", ".join(shown) or "(none)"


@dataclass(frozen=True, slots=True)
class MergeTask:
    """For mapInArrow: partial aggregates, of which all of a (window, group) are in one partition, to result rows."""

    bound: BoundQuery
    measured: bool = False

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held = list(batches)
        if not held:
            return
        table = pa.Table.from_batches(held)
        partials, groups = from_table(table, self.bound.plan, self.bound.events)
        codes = key_codes([pa.chunked_array([group]) for group in groups], table.num_rows)
        first = first_of_each(codes)
        merged = merge([replace(partials, group=codes)])
        taken = [pc.take(group, pa.array(first[merged.group])) for group in groups]
        found = TaskResult(merged, taken)
        result = self.bound.result(found)
        if self.measured:
            result = _measured(result, found, pc.max(table.column(PEAK)).as_py())
        yield from result.to_batches()


def _measured(result: pa.Table, found: TaskResult, peak: int) -> pa.Table:
    """With the number of trends behind each row, and the rows of the largest key."""
    counts = found.partials.components[0].values
    if counts.dtype == object:
        counts = np.array([float(count) if count < 2**1023 else np.inf for count in counts.tolist()])
    result = result.append_column(TRENDS, pa.array(counts.astype(np.float64)))
    return result.append_column(PEAK, pa.array(np.full(result.num_rows, peak, np.int64)))
