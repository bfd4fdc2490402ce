"""Spark batch: a lazy DataFrame in, a lazy DataFrame out.

Spark evaluates every expression, filters, partitions and sorts in the JVM; each task calls the same code as the in-
process runner on its rows. Keys are cut into chunks of time as well (`planning/chunks.py`), so that one large key, or
none, still makes many tasks.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import DoubleType, LongType, StructField, StructType

from trendweave.events import schema_of
from trendweave.planning.chunks import choose_chunks
from trendweave.planning.plan import Plan
from trendweave.programs.trends.program import BoundQuery, bind
from trendweave.results.partial_table import WINDOW, group_names, partial_schema
from trendweave.rows.encoded import CHUNK, TIME
from trendweave.runners.options import Settings
from trendweave.runners.spark.chunks import PackedTimes, chunked, in_steps
from trendweave.runners.spark.metrics import Metrics, observed
from trendweave.runners.spark.prepare import (
    Preparation,
    arrow_schema,
    groups_span_keys,
    in_plain_strings,
    shuffle_keys,
)
from trendweave.runners.spark.schema import result_type
from trendweave.runners.spark.task import PEAK, TRENDS, AggregateTask, Limits, MergeTask
from trendweave.runners.spark.trend_task import TrendsTask


def run_spark(
    plan: Plan,
    events: DataFrame,
    time: str,
    type_: str | None,
    options: Settings,
) -> DataFrame:
    """The rows of a query. Nothing runs before an action on the result does."""
    events, observation = in_plain_strings(events), options.observation
    bound = bind(plan, arrow_schema(events.schema), time, type_, options.numbers, detection=options.detection)
    metrics = observation if isinstance(observation, Metrics) else None
    if metrics is not None:
        events = metrics.of_events(plan, events, time, type_)
    elif observation is not None:
        events = observed(plan, events, time, type_, observation)
    prepared = Preparation(bound, schema_of(events), events).frame(all_letters=False)
    return _aggregated(bound, prepared, events.schema, options, metrics)


def _aggregated(
    bound: BoundQuery, prepared: DataFrame, events: StructType, options: Settings, metrics: Metrics | None
) -> DataFrame:
    keys, measured = shuffle_keys(bound), metrics is not None
    wanted = options.chunks if isinstance(options.chunks, int) else None
    chunks = choose_chunks(bound.plan, wanted) if options.chunks != "off" else None
    columns, order, packed = [F.col(name) for name in keys], [F.col(name) for name in keys], None
    if chunks is not None:
        steps = in_steps(chunks, bound)
        packed = PackedTimes.of(steps, bound)
        if packed is not None:
            prepared = packed.rows(prepared, bound)
            columns.append(F.expr(packed.chunk))
        else:
            prepared = chunked(prepared, steps, bound)
            columns.append(F.col(CHUNK))
            order.append(F.col(CHUNK))
        keys = (*keys, CHUNK)
        bound = bound.in_chunks(steps.length)
    placed = prepared.repartition(*columns) if columns else prepared.repartition(1)
    placed = placed.sortWithinPartitions(*order, F.col(TIME))
    limits = Limits(options.rows_at_once, options.max_rows_of_a_key)
    result = result_type(bound, events)
    if bound.shows_trends:
        return placed.mapInArrow(TrendsTask(bound, keys, False, limits, packed=packed).__call__, result)
    if not groups_span_keys(bound):
        found = placed.mapInArrow(
            AggregateTask(bound, keys, False, limits, measured, packed).__call__, _with_hidden(result, measured)
        )
    else:
        schema = from_arrow_schema(partial_schema(bound.plan, bound.events, bound.numbers), prefer_timestamp_ntz=True)
        partial = placed.mapInArrow(
            AggregateTask(bound, keys, True, limits, measured, packed).__call__, _with_hidden(schema, measured)
        )
        together = partial.repartition(F.col(WINDOW), *(F.col(name) for name in group_names(bound.plan)))
        found = together.mapInArrow(MergeTask(bound, measured).__call__, _with_hidden(result, measured))
    return found if metrics is None else metrics.of_results(found)


def _with_hidden(schema: StructType, measured: bool) -> StructType:
    hidden = [StructField(TRENDS, DoubleType()), StructField(PEAK, LongType())]
    return StructType([*schema.fields, *hidden]) if measured else schema
