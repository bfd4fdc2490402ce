"""Operators on DataFrames and streams: what Spark SQL does itself is handed to it, the rest runs in tasks.

Windows of time are folded in two steps: each task folds its events into slices, and slices meet by keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from trendweave.errors import ExecutionError, Problem
from trendweave.events import schema_of
from trendweave.expressions.spark_sql import spark_column, spark_sql
from trendweave.language.syntax_tree import CalculatedName
from trendweave.planning.operator_plans import JoinPlan
from trendweave.programs.operators.chain import Stage, make_chain, shared_keys
from trendweave.programs.operators.filter import KeptEvents
from trendweave.programs.operators.joins.sides import SIDE, SIDES, merge_names
from trendweave.programs.operators.windows.edges import StepSpan
from trendweave.programs.operators.windows.program import WindowAggregates
from trendweave.programs.operators.windows.slices import BEGIN, Asked, Slices, aggregate_of, merge_slices
from trendweave.results.types import DIGITS
from trendweave.rows.arrow_bytes import as_stream, from_stream
from trendweave.runners.options import Settings
from trendweave.runners.spark.batch import run_batch
from trendweave.runners.spark.blobs import Buckets
from trendweave.runners.spark.exchange import find_buckets
from trendweave.runners.spark.prepare import has_time, prepare_rows, result_type
from trendweave.runners.spark.tasks import telling_where
from trendweave.runners.spark.workers import leave_worker, travelling


def merge_frames(left: DataFrame, right: DataFrame, plan: JoinPlan, time: str) -> DataFrame:
    """Two DataFrames, or two streams, as one; columns of the other side are NULL. Nothing is read.

    Args:
        left: The events of the left side.
        right: Those of the right side.
        plan: The join.
        time: The name of the time column.

    Raises:
        ExecutionError: One of them is a stream, and the other is none.
    """
    if left.isStreaming != right.isStreaming:
        stream, table = SIDES if left.isStreaming else SIDES[::-1]
        message = f"the {stream} side of the join is a stream, and the {table} side is none: it has no watermark"
        raise ExecutionError([Problem("TW409", message, "read both by spark.readStream, or both by spark.read")])
    # Rows of tasks are in no order that keys would have to tell.
    found = merge_names(left.columns, right.columns, plan.keys)
    names = [(side, name) for side, name in found if side is None or name not in plan.keys]
    parts = []
    for number, (own, frame) in enumerate(zip(SIDES, (left, right), strict=True)):
        columns = [_column(time), F.lit(number).cast("tinyint").alias(SIDE)]
        for side, name in names:
            if side is None:
                columns.append(_column(name))
            elif side == own:
                columns.append(_column(name).alias(f"{side}_{name}"))
            else:
                kind = (left if side == "left" else right).schema[name].dataType
                columns.append(F.lit(None).cast(kind).alias(f"{side}_{name}"))
        parts.append(frame.select(*columns))
    return parts[0].unionByName(parts[1])


def _column(name: str) -> Column:
    return F.col(spark_column((name,)))


_BLOBS = "bucket int, payload binary"
_SCHEMA = pa.schema([("bucket", pa.int32()), ("payload", pa.binary())])
#: Slices that are merged before they are moved.
_AT_ONCE = 1 << 20
#: A slice takes the bytes of about so many rows; where it has fewer, rows are moved as they are.
_ROWS = 8


def windows_in_slices(program: WindowAggregates, events: DataFrame, settings: Settings) -> DataFrame | None:
    """The rows of a windowed aggregation, by tasks that fold events first.

    Args:
        program: Bound to the columns of the events.
        events: A DataFrame whose strings are compared by their bytes.
        settings: Checked options.

    Returns:
        The rows; None where events cannot be folded, or where something else is asked for.
    """
    if program.fold is None or settings.device != "cpu":
        return None
    if events.isStreaming or settings.observation is not None:
        return None
    buckets = find_buckets(events.sparkSession) if program.keys else Buckets(1)
    rows = prepare_rows(program, events, all_words=False)
    blobs = rows.mapInArrow(travelling(FoldTask(program, buckets, settings.rows_at_once)), _BLOBS)
    merge = MergeTask(program)
    return blobs.repartition(F.col("bucket")).mapInArrow(travelling(merge), result_type(program, events.schema))


@dataclass(frozen=True, slots=True)
class FoldTask:
    """For mapInArrow: prepared rows in, slices out; rows where slices have few of them.

    Attributes:
        program: The windowed aggregation.
        buckets: Keys are dealt out into so many.
        rows_at_once: Rows that are folded together.
    """

    program: WindowAggregates
    buckets: Buckets
    rows_at_once: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        fold = self.program.fold
        assert fold is not None, "it was asked"
        width = len(self.program.folded_columns)
        several: list[Slices] = []
        held, shrinks = 0, True
        with telling_where(self.program, lambda: ""):
            for table in self._tables(batches):
                rows = self.program.adopt(table)
                slices = fold.fold(rows) if shrinks else None
                if slices is None or (self.program.keys and _ROWS * slices.parts.size > rows.num_rows):
                    shrinks = False
                    yield from self._deal(rows)
                    continue
                several.append(slices)
                held += slices.parts.size
                if held > _AT_ONCE:
                    merged = merge_slices(several, width)
                    several, held = [merged], merged.parts.size
                    if 2 * held > _AT_ONCE:
                        yield from self._deal(merged.write())
                        several, held = [], 0
            if several:
                yield from self._deal(merge_slices(several, width).write())
        leave_worker("fold")

    def _tables(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
        held: list[pa.RecordBatch] = []
        rows = 0
        for batch in batches:
            held.append(batch)
            rows += batch.num_rows
            if rows >= self.rows_at_once:
                yield pa.Table.from_batches(held)
                held, rows = [], 0
        if rows:
            yield pa.Table.from_batches(held)

    def _deal(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        """A blob for each bucket that has rows."""
        order, starts = self.buckets.deal(table, self.program.needs.together)
        ordered = table if order is None else table.take(pa.array(order))
        numbers = self.buckets.numbers()
        for bucket in np.flatnonzero(np.diff(starts)).tolist():
            part = ordered.slice(starts[bucket], starts[bucket + 1] - starts[bucket])
            columns = [pa.array([numbers[bucket]], pa.int32()), pa.array([as_stream(part)], pa.binary())]
            yield pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)


@dataclass(frozen=True, slots=True)
class MergeTask:
    """For mapInArrow: blobs of whole keys in, result rows out."""

    program: WindowAggregates

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        fold = self.program.fold
        assert fold is not None, "it was asked"
        columns = len(self.program.folded_columns)
        slices, rows = [], []
        for batch in batches:
            for payload in batch.column("payload"):
                table = from_stream(payload.as_py())
                if BEGIN in table.column_names:
                    slices.append(Slices.read(table, self.program.keys))
                else:
                    rows.append(table)
        if not slices and not rows:
            return
        with telling_where(self.program, lambda: ""):
            if rows:
                slices.append(fold.fold(pa.concat_tables(rows)))
            yield from fold.write(merge_slices(slices, columns)).to_batches()
        leave_worker("merge windows")


#: Spark copies each row for each window that holds it; beyond so many our tasks, which do not, are quicker.
_MOST_COPIES = 4
_WINDOW = "trendweave_window"
_ORDERED = (
    *(T.ByteType, T.ShortType, T.IntegerType, T.LongType, T.FloatType, T.DoubleType, T.DecimalType),
    *(T.StringType, T.BooleanType, T.DateType, T.TimestampType, T.TimestampNTZType),
)


def windows_in_sql(program: WindowAggregates, events: DataFrame, settings: Settings) -> DataFrame | None:
    """The rows of a windowed aggregation, by Spark SQL alone.

    Args:
        program: Bound to the columns of the events.
        events: A DataFrame whose strings are compared by their bytes.
        settings: Checked options.

    Returns:
        The rows; None where Spark's would differ, or where it would be slow: then they are computed in tasks.
    """
    window = program.window
    kinds = {field.name: field.dataType for field in events.schema}
    if not isinstance(window, StepSpan) or not isinstance(kinds[program.time], T.TimestampType | T.TimestampNTZType):
        return None
    if window.slide > window.length or window.length > _MOST_COPIES * window.slide:
        return None
    if settings.device == "gpu" or events.isStreaming or settings.observation is not None:
        return None
    if program.numbers != "decimal":
        return None
    asked = [_aggregate(one, kinds) for one in program.outputs.asked]
    shown = [aggregate_of(expression) for _, expression in program.outputs.shown]
    if None in shown or any(column is None for column in asked):
        return None
    if not all(isinstance(kinds[key], _ORDERED) for key in program.plan.keys):
        return None
    length, slide = f"{window.length} microseconds", f"{window.slide} microseconds"
    span = F.window(F.expr(spark_column((program.time,))), length, slide).alias(_WINDOW)
    keys = [F.expr(spark_column((key,))).alias(f"key {number}") for number, key in enumerate(program.plan.keys)]
    named = [column.alias(f"aggregate {number}") for number, column in enumerate(asked) if column is not None]
    groups = events.groupBy(span, *keys).agg(*named)
    columns = [F.col(f"`key {number}`") for number in range(len(keys))]
    columns += [F.col(f"{_WINDOW}.start"), F.col(f"{_WINDOW}.end")]
    columns.append(F.expr(f"{_WINDOW}.end - INTERVAL '0.000001' SECOND"))
    columns += [F.col(f"`aggregate {number}`") for number in shown]
    wanted = result_type(program, events.schema)
    return groups.select(
        *(column.cast(field.dataType).alias(field.name) for column, field in zip(columns, wanted, strict=True))
    )


def _aggregate(asked: Asked, kinds: dict[str, T.DataType]) -> Column | None:
    """None where Spark's value may be another one than ours."""
    if asked.path is None:
        return F.count(F.lit(1))
    if len(asked.path) > 1 or isinstance(asked.path[0], CalculatedName):
        return None
    column, kind = F.expr(spark_column(asked.path)), kinds[asked.path[0]]
    if asked.function == "COUNT":
        return F.count(column)
    if asked.function == "SUM":
        return _sum(column, kind)
    if asked.function == "AVG" or not isinstance(kind, _ORDERED):
        return None
    found = F.min(column) if asked.function == "MIN" else F.max(column)
    # -0.0 is 0.0.
    return found + F.lit(0.0).cast(kind) if isinstance(kind, T.FloatType | T.DoubleType) else found


def _sum(column: Column, kind: T.DataType) -> Column | None:
    """Exact sums. Those of 64 bits are added in two halves, which is quicker than with decimals and leaves no bits."""
    wide = T.DecimalType(DIGITS, 0)
    if isinstance(kind, T.ByteType | T.ShortType | T.IntegerType):
        return F.sum(column.cast("bigint")).cast(wide)
    if isinstance(kind, T.LongType):
        upper, lower = F.sum(F.shiftright(column, 32)), F.sum(column.bitwiseAND(F.lit(0xFFFFFFFF)))
        scaled = upper.cast(T.DecimalType(20, 0)) * F.lit(2**32).cast(T.DecimalType(10, 0))
        return (scaled + lower.cast(T.DecimalType(20, 0))).cast(wide)
    if isinstance(kind, T.DecimalType) and kind.precision <= 18:
        return F.sum(column).cast(T.DecimalType(DIGITS, kind.scale))
    return None


def run_stages(stages: tuple[Stage, ...], events: DataFrame, settings: Settings) -> tuple[DataFrame, int]:
    """The rows of the first operator, or of several that need not change places in between.

    Args:
        stages: At least one, each bound to the rows of the one before.
        events: A DataFrame whose strings are compared by their bytes.
        settings: Checked options.

    Returns:
        The rows, and how many operators have been run.
    """
    number = count_together(stages)
    if number == 1:
        return run_stage(stages[0], events, settings), 1
    text = " | ".join(stage.program.text for stage in stages[:number])
    return run_batch(make_chain(stages[:number], text), events, settings), number


def count_together(stages: tuple[Stage, ...]) -> int:
    """How many of the first operators run in the same tasks: those whose events meet by the keys of the first, which
    are all that there is to deal out by."""
    first = stages[0].program
    keys = first.needs.together
    if stages[0].is_filter or not keys or first.partials() is not None or first.cut() is not None:
        return 1
    number = 1
    while number < len(stages) and len(shared_keys(stages[: number + 1])) == len(keys):
        number += 1
    return number


def run_stage(stage: Stage, events: DataFrame, settings: Settings) -> DataFrame:
    """The rows of an operator. Nothing runs before an action on the result does.

    Args:
        stage: Bound to the columns of the events.
        events: A DataFrame whose strings are compared by their bytes.
        settings: Checked options.
    """
    if stage.filter is not None:
        return run_filter(stage.filter, events)
    found = None
    if stage.windows is not None:
        found = windows_in_sql(stage.windows, events, settings)
        found = windows_in_slices(stage.windows, events, settings) if found is None else found
    return run_batch(stage.program, events, settings) if found is None else found


def run_filter(program: KeptEvents, events: DataFrame) -> DataFrame:
    """The rows of a filter, of a DataFrame or of a stream: Spark SQL alone.

    Args:
        program: Bound to the columns of the events.
        events: As for `run_stage`.
    """
    schema = schema_of(events)
    condition = spark_sql(program.plan.condition, schema)
    return events.where(F.expr(has_time(program.time, schema))).where(F.expr(condition))
