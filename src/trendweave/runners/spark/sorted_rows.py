"""The road of rows: Spark brings them together by their keys and sorts them, in the JVM."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from trendweave.expressions.spark_sql import spark_column
from trendweave.programs.program import Program, TimeCut
from trendweave.rows.encoded import CHUNK, TIME
from trendweave.runners.options import Settings
from trendweave.runners.spark.chunks import PackedTimes, find_cut, number_chunks
from trendweave.runners.spark.sessions.travelling import travelling
from trendweave.runners.spark.table_task import Limits, TableTask
from trendweave.runners.spark.task import ComputeTask

#: For tasks that take all of their partition.
_ALL = Limits(2**62, 2**62)


def compute_sorted(task: TableTask, rows: DataFrame, result: StructType, settings: Settings) -> DataFrame:
    """What a task makes of rows.

    Args:
        task: Computes tables of whole keys.
        rows: Prepared rows.
        result: The columns that come out.
        settings: Checked options.
    """
    placed, cut, packed = _place(task.program, rows, settings)
    task = task.in_chunks(cut)
    # Rows without a time are not sorted by keys either.
    in_order = task.program.needs.time is not None
    limits = Limits(settings.rows_at_once, settings.max_rows_of_a_key) if in_order else _ALL
    return placed.mapInArrow(travelling(ComputeTask(task, limits, packed, in_order)), result)


def _place(
    program: Program, rows: DataFrame, settings: Settings
) -> tuple[DataFrame, TimeCut | None, PackedTimes | None]:
    """Rows that belong together in one partition, in order; how their time is cut; how times travel."""
    keys = [F.expr(spark_column(path)) for path in program.needs.together]
    if program.needs.time is None:
        return (rows.repartition(*keys) if keys else rows.coalesce(1)), None, None
    parts = program.partials()
    if parts is not None and parts.of_stretches:
        return rows.repartitionByRange(F.col(TIME)).sortWithinPartitions(F.col(TIME)), None, None
    cut = find_cut(program, settings)
    if cut is None:
        return _sort(rows, keys, keys), None, None
    packed = PackedTimes.of(cut, program.moment)
    if packed is not None:
        return _sort(packed.pack(rows), [*keys, F.expr(packed.chunk)], keys), cut, packed
    rows = number_chunks(rows, cut, program.moment)
    columns = [*keys, F.col(CHUNK)]
    return _sort(rows, columns, columns), cut, None


def _sort(rows: DataFrame, together: Sequence[Column], order: Sequence[Column]) -> DataFrame:
    placed = rows.repartition(*together) if together else rows.repartition(1)
    return placed.sortWithinPartitions(*order, F.col(TIME))
