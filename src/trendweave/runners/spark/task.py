"""What Python workers do in batch: rows that belong together, sorted, in; result rows or parts of them out. No Spark is
needed here."""

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
from trendweave.programs.program import TRENDS, Program, Scope
from trendweave.programs.shared.program import Shared
from trendweave.rows.codes import key_codes
from trendweave.rows.encoded import CHUNK, TIME
from trendweave.runners.spark.chunks import PackedTimes
from trendweave.runners.warm_up import compile_once

#: A column of rows that are counted: the rows of the largest key. The result does not show it.
PEAK = "trendweave_peak"
#: A column of rows that are there for counts of what was shared; NULL in all others. The result shows neither.
SHARED = "trendweave_shared"
_COUNTS = pa.list_(pa.int64())


@dataclass(frozen=True, slots=True)
class Limits:
    """Rows that are computed at once, and rows of one key that are held at most."""

    rows_at_once: int = 1_000_000
    rows_of_a_key: int = 20_000_000


@dataclass(frozen=True, slots=True)
class ComputeTask:
    """For mapInArrow.

    Attributes:
        program: Computes rows.
        scope: What of them, and whether trends are counted; then there is a column with the rows of the largest key.
        in_parts: Whether results are parts, which are merged later.
        limits: How many rows at once.
        packed: How times and chunks travel; None where they do as they are.
        sorted_by_key: False where a task gets its rows in any order, and computes all of them at once.
    """

    program: Program
    scope: Scope
    in_parts: bool
    limits: Limits
    packed: PackedTimes | None = None
    sorted_by_key: bool = True

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        compile_once(self.program.work)
        held: list[pa.RecordBatch] = []
        rows = 0
        wanted = self._wanted(self.limits.rows_at_once)
        for batch in batches:
            held.append(batch if self.packed is None else self.packed.unpack(batch))
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
            yield from self._compute(table.slice(0, cut))
            held, rows = table.slice(cut).to_batches(), table.num_rows - cut
            wanted = self._wanted(self.limits.rows_at_once)
        if rows:
            yield from self._compute(pa.Table.from_batches(held))

    def _wanted(self, rows: int) -> int:
        """That many, but not without a look at the size of a key that is beyond its limit."""
        return min(rows, self.limits.rows_of_a_key + 1)

    @property
    def _keys(self) -> tuple[Path, ...]:
        """What tells apart rows that need not be computed together. Stretches of time are cut between two times."""
        parts = self.program.partials()
        if parts is not None and parts.of_stretches:
            return ((TIME,),)
        return (*self.program.needs.together, *(() if self.scope.chunk is None else ((CHUNK,),)))

    def _last_border(self, table: pa.Table) -> int:
        """The first row of the last key. Rows are sorted by keys, so all rows before it are of finished keys."""
        if not self._keys or not self.sorted_by_key:
            return 0
        codes = self._codes(table)
        others = np.flatnonzero(codes != codes[-1])
        return int(others[-1]) + 1 if others.size else 0

    def _codes(self, table: pa.Table) -> np.ndarray:
        return key_codes([_find_column(table, path) for path in self._keys], table.num_rows)

    def _check_size(self, table: pa.Table) -> None:
        if table.num_rows <= self.limits.rows_of_a_key:
            return
        message = f"{self._describe(table)} has more than {self.limits.rows_of_a_key:,} events"
        hint = "split it by an equivalence, use smaller windows, or raise spark.trendweave.maxRowsOfAKey"
        raise ExecutionError([Problem("TW405", message, hint)])

    def _compute(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        with telling_where(self.program, lambda: self._describe(table)):
            rows = self.program.adopt(table)
            batches: Iterable[pa.RecordBatch]
            if self.in_parts:
                parts = self.program.partials()
                assert parts is not None
                batches = parts.compute(rows, self.scope).to_batches()
            else:
                batches = self.program.compute(rows, self.scope).batches
            if not self.scope.counted:
                yield from batches
                return
            peak = int(np.bincount(self._codes(table)).max())
            shares = isinstance(self.program, Shared)
            yield from (_append_counts(batch, peak, shares) for batch in batches)
            if isinstance(self.program, Shared):
                yield self._shared_counts(self.program)

    def _shared_counts(self, program: Shared) -> pa.RecordBatch:
        """A row of what was shared since the last one, and of nothing else."""
        parts = program.partials() if self.in_parts else None
        schema = program.schema.append(pa.field(TRENDS, pa.float64())) if parts is None else parts.schema
        return counts_row(schema, program.metrics.take())

    def _describe(self, table: pa.Table) -> str:
        """Keys and time range, for messages. Rows are sorted by keys."""
        if not self.sorted_by_key:
            return ""
        first, last = (self.program.describe_key(table, row) for row in (0, table.num_rows - 1))
        keys = f"key {first}" if first == last else f"keys {first} to {last}"
        times = pc.min_max(table.column(TIME))
        return f"{keys}, times {times['min']} to {times['max']}"


def _find_column(table: pa.Table, path: Path) -> pa.ChunkedArray:
    return table.column(path[0]) if len(path) == 1 else pa.chunked_array([column_of(table, path)])


def _append_counts(batch: pa.RecordBatch, peak: int | None, shares: bool) -> pa.RecordBatch:
    batch = batch.append_column(PEAK, pa.array([peak] * batch.num_rows, pa.int64()))
    return batch.append_column(SHARED, pa.nulls(batch.num_rows, _COUNTS)) if shares else batch


def counts_row(schema: pa.Schema, counts: Sequence[int]) -> pa.RecordBatch:
    """A row with NULL in all columns, and counts of what was shared."""
    columns = [pa.nulls(1, field.type) for field in schema]
    names = [*schema.names, PEAK, SHARED]
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
        shares = SHARED in table.column_names
        if shares:
            counts = table.column(SHARED).drop_null()
            schema = self.program.schema.append(pa.field(TRENDS, pa.float64()))
            yield from (counts_row(schema, row) for row in counts.to_pylist())
            table = table.filter(table.column(SHARED).is_null())
        own = table.select(parts.schema.names).cast(parts.schema)
        merged = parts.merge(own, Scope(counted=self.counted)).to_batches()
        if self.counted:
            peak = pc.max(table.column(PEAK)).as_py()
            merged = [_append_counts(batch, peak, shares) for batch in merged if batch.num_rows]
        yield from merged
