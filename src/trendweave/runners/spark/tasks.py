"""What a task does with a table of whole keys, whatever brought its rows together: result rows or parts of them out.
Parts are merged. No Spark is needed here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import ExecutionError, Problem, TrendweaveError
from trendweave.expressions.arrow.evaluate import column_of
from trendweave.planning.plan import Path
from trendweave.programs.program import TRENDS, Program, Scope, TimeCut
from trendweave.programs.ties import count_ties
from trendweave.rows.codes import first_of_each, key_codes
from trendweave.rows.encoded import CHUNK, TIME
from trendweave.runners.spark.workers import leave_worker, use_assigned_card
from trendweave.runners.threads.run import compute_keys_in_threads

#: A column of rows that are counted: the rows of the largest key. The result does not show it.
PEAK = "trendweave_peak"
#: A column of rows that are there for counts alone: events with the same timestamp, then what was shared; NULL in all
#: others. The result shows neither.
COUNTS = "trendweave_counts"
_COUNTS = pa.list_(pa.int64())


@dataclass(frozen=True, slots=True)
class Limits:
    """Rows that are computed at once, and rows of one key that are held at most."""

    rows_at_once: int = 1_000_000
    rows_of_a_key: int = 20_000_000


@dataclass(frozen=True, slots=True)
class TableTask:
    """Computes tables of whole keys.

    Attributes:
        program: Computes rows.
        scope: What of them, and whether trends are counted; then there is a column with the rows of the largest key.
        in_parts: Whether results are parts, which are merged later.
        chunked: Whether rows carry the numbers of chunks of time. Where the scope asks for no chunks, nothing lies
            across their borders, and the program need not know of them.
        adopts: Whether rows were prepared by another engine; those that the program has prepared are taken as they are.
        device: What computes.
    """

    program: Program
    scope: Scope
    in_parts: bool
    chunked: bool = False
    adopts: bool = True
    device: str = "cpu"

    def in_chunks(self, cut: TimeCut | None) -> TableTask:
        """The same where time is cut into chunks."""
        if cut is None:
            return self
        across = cut.before or cut.after or cut.last_step
        return replace(self, chunked=True, scope=replace(self.scope, chunk=cut.length if across else None))

    def __call__(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        with telling_where(self.program, lambda: self.describe(table)):
            rows = table.drop_columns([CHUNK]) if self.chunked and self.scope.chunk is None else table
            rows = self.program.adopt(rows) if self.adopts else rows
            batches: Iterable[pa.RecordBatch]
            if self.device == "threads":
                batches = compute_keys_in_threads(self.program, rows, self.kept_keys, self.scope, self.in_parts)
            elif self.in_parts:
                parts = self.program.partials()
                assert parts is not None
                batches = parts.compute(rows, self.scope).to_batches()
            else:
                batches = self.program.compute(rows, self.scope).batches
            if not self.scope.counted:
                yield from batches
                return
            peak = int(np.bincount(self.codes(table)).max())
            yield from (append_counts(batch, peak) for batch in batches)
            yield self._count(rows)

    @property
    def keys(self) -> tuple[Path, ...]:
        """What tells apart rows that need not be computed together. Stretches of time are cut between two times."""
        parts = self.program.partials()
        if parts is not None and parts.of_stretches:
            return ((TIME,),)
        return (*self.program.needs.together, *(((CHUNK,),) if self.chunked else ()))

    @property
    def kept_keys(self) -> tuple[Path, ...]:
        """Those of them that rows still have when they are computed."""
        keys = self.keys
        return keys if self.scope.chunk is not None else tuple(path for path in keys if path != (CHUNK,))

    def codes(self, table: pa.Table) -> np.ndarray:
        """Number the keys of rows."""
        return key_codes([_find_column(table, path) for path in self.keys], table.num_rows)

    def describe(self, table: pa.Table) -> str:
        """Keys and time range, for messages."""
        if self.program.needs.time is None:
            return ""
        ordered = self._one_row_per_key(table)
        first, last = (self.program.describe_key(ordered, row) for row in (0, ordered.num_rows - 1))
        keys = f"key {first}" if first == last else f"keys {first} to {last}"
        times = pc.min_max(table.column(TIME))
        return f"{keys}, times {times['min']} to {times['max']}"

    def _one_row_per_key(self, table: pa.Table) -> pa.Table:
        """By keys, as far as their values have an order."""
        rows = table.take(pa.array(first_of_each(self.codes(table))))
        plain = [path[0] for path in self.keys if len(path) == 1 and not pa.types.is_nested(rows.field(path[0]).type)]
        return rows.sort_by([(name, "ascending") for name in plain]) if plain else rows

    def too_large(self, table: pa.Table, limits: Limits) -> ExecutionError:
        """The error for rows of a key that has more than it may have."""
        message = f"{self.describe(table)} has more than {limits.rows_of_a_key:,} events"
        hint = "split it by an equivalence, use smaller windows, or raise spark.trendweave.maxRowsOfAKey"
        return ExecutionError([Problem("TW405", message, hint)])

    def _count(self, rows: pa.Table) -> pa.RecordBatch:
        """A row of counts, and of nothing else: events with the same timestamp, and what was shared since the last
        one."""
        program = self.program
        parts = program.partials() if self.in_parts else None
        schema = program.schema.append(pa.field(TRENDS, pa.float64())) if parts is None else parts.schema
        shared = () if program.metrics is None else program.metrics.take()
        return counts_row(schema, [count_ties(program, rows, self.scope.chunk), *shared])


def _find_column(table: pa.Table, path: Path) -> pa.ChunkedArray:
    return table.column(path[0]) if len(path) == 1 else pa.chunked_array([column_of(table, path)])


def append_counts(batch: pa.RecordBatch, peak: int | None) -> pa.RecordBatch:
    """With the columns that the result does not show."""
    batch = batch.append_column(PEAK, pa.array([peak] * batch.num_rows, pa.int64()))
    return batch.append_column(COUNTS, pa.nulls(batch.num_rows, _COUNTS))


def counts_row(schema: pa.Schema, counts: Sequence[int]) -> pa.RecordBatch:
    """A row with NULL in all columns, and counts."""
    columns = [pa.nulls(1, field.type) for field in schema]
    names = [*schema.names, PEAK, COUNTS]
    return pa.RecordBatch.from_arrays([*columns, pa.nulls(1, pa.int64()), pa.array([counts], _COUNTS)], names)


@contextmanager
def telling_where(program: Program, describe: Callable[[], str]) -> Iterator[None]:
    """Errors say of which rows they are, and of which query; only then the rows are looked at."""
    try:
        yield
    except TrendweaveError as error:
        place = describe()
        where = f"{place}: " if place else ""
        problems = [replace(problem, message=where + problem.message) for problem in error.problems]
        raise type(error)(problems, program.text) from error


@dataclass(frozen=True, slots=True)
class ComputeTask:
    """For mapInArrow.

    Attributes:
        task: Computes rows of whole keys.
        limits: How many rows at once.
    """

    task: TableTask
    limits: Limits

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        use_assigned_card()
        held: list[pa.RecordBatch] = []
        rows = 0
        wanted = self._wanted(self.limits.rows_at_once)
        for batch in batches:
            held.append(batch)
            rows += batch.num_rows
            if rows < wanted:
                continue
            table = pa.Table.from_batches(held)
            cut = self._last_border(table)
            if cut == 0:
                # All of it is one key, and more of it may come.
                if table.num_rows > self.limits.rows_of_a_key:
                    raise self.task.too_large(table, self.limits)
                wanted = self._wanted(2 * rows)
                held = table.to_batches()
                continue
            yield from self.task(table.slice(0, cut))
            held, rows = table.slice(cut).to_batches(), table.num_rows - cut
            wanted = self._wanted(self.limits.rows_at_once)
        if rows:
            yield from self.task(pa.Table.from_batches(held))
        leave_worker("compute")

    def _wanted(self, rows: int) -> int:
        """That many, but not without a look at the size of a key that is beyond its limit."""
        return min(rows, self.limits.rows_of_a_key + 1)

    def _last_border(self, table: pa.Table) -> int:
        """The first row of the last key. Rows are sorted by keys, so all rows before it are of finished keys."""
        codes = self.task.codes(table)
        others = np.flatnonzero(codes != codes[-1])
        return int(others[-1]) + 1 if others.size else 0


@dataclass(frozen=True, slots=True)
class MergeTask:
    """For mapInArrow: parts, of which all that belong to one row of the result are in one partition, to result rows."""

    program: Program
    counted: bool = False

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held = list(batches)
        if not held:
            return
        table = pa.Table.from_batches(held)
        parts = self.program.partials()
        assert parts is not None
        if self.counted:
            counts = table.column(COUNTS).drop_null()
            schema = self.program.schema.append(pa.field(TRENDS, pa.float64()))
            yield from (counts_row(schema, row) for row in counts.to_pylist())
            table = table.filter(table.column(COUNTS).is_null())
        own = table.select(parts.schema.names).cast(parts.schema)
        merged = parts.merge(own, Scope(counted=self.counted)).to_batches()
        if self.counted:
            peak = pc.max(table.column(PEAK)).as_py()
            merged = [append_counts(batch, peak) for batch in merged if batch.num_rows]
        yield from merged
        leave_worker("merge")
