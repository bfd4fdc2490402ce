"""A query that was read, checked and planned."""

from __future__ import annotations

import builtins
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from trendweave.errors import Problem, raise_problems
from trendweave.events import schema_of
from trendweave.interval_queries import IntervalQuery, interval_query
from trendweave.language import QueryTree, parse, print_query
from trendweave.language.interval_parser import is_interval_text
from trendweave.planning import Plan, make_plan
from trendweave.sessions import Pushed
from trendweave.situated_queries import PointsQuery, is_points_text, points_query

if TYPE_CHECKING:
    from trendweave.programs.trends.detection import Detection
    from trendweave.results.aggregate_table import Numbers
    from trendweave.runners.incremental import Incremental
    from trendweave.runners.local import TrendBatches

ExplainFormat = Literal["text", "mermaid", "dot", "json"]


@dataclass(frozen=True, slots=True)
class Query(Pushed):
    """Immutable; equal queries have equal trees. `str()` is canonical text, `source` is what was written."""

    tree: QueryTree
    plan: Plan = field(compare=False, repr=False)
    source: str = field(compare=False, repr=False)

    def __str__(self) -> str:
        return print_query(self.tree)

    @property
    def values(self) -> int:
        """How many columns at the end of a row are what it tells; those before tell rows apart."""
        from trendweave.planning.outputs import TREND_COLUMNS

        listed = self.plan.returns in ("trends", "complete trends")
        return len(TREND_COLUMNS) if listed else len(self.plan.aggregates)

    def explain(self, format: ExplainFormat = "text") -> str:
        """What will be computed and how: as text, as a drawing of the template (mermaid, dot), or as JSON."""
        from trendweave.planning.show.drawing import as_json, dot, mermaid
        from trendweave.planning.show.explain import explain_text

        ways = {"text": explain_text, "mermaid": mermaid, "dot": dot, "json": as_json}
        if format not in ways:
            raise ValueError(f"explain knows the formats {', '.join(ways)}, not {format}")
        return ways[format](self.plan)

    def check(self, schema: Any, time: str = "time", type: str | None = "type") -> None:
        """Raise DataError with everything that does not fit a table: columns, types, time and type.

        `schema` is an Arrow schema, anything that has one, a Spark schema or DataFrame, or a mapping from column
        names to types.
        """
        from trendweave.planning.schema_check import check_schema

        raise_problems(check_schema(self.tree, self.plan, schema_of(schema), str(time), type), self.source)

    def run(
        self,
        events: Any,
        time: str = "time",
        type: str | None = "type",
        *,
        numbers: Numbers | None = None,
        memory: str | int | None = None,
        max_trends: int | None = None,
        strategy: str | None = None,
        **spark_options: Any,
    ) -> Any:
        """The rows that the query asks for, as the kind of table that the events came in.

        `events` is an Arrow table or reader, a pandas or polars frame, or a Spark DataFrame, which gives a lazy
        DataFrame and takes further options (docs/spark.md); rows may be in any order. `time` and
        `type` name the columns that hold the time (a timestamp, or a number of seconds) and the type; with
        `type=None` every row is of the pattern's one type. `numbers` is how counts and sums of whole numbers are
        written: "decimal" (exact up to 38 digits), "int64", "text" (exact, any size), "float64", or "log2" of counts.

        Queries that show trends one by one take `memory`, such as "512 MB", `max_trends`, above which they refuse
        (one million unless given), and `strategy`, which forces a way to find trends: see `iter`.
        """
        detection = self._detection(memory, max_trends, strategy)
        if builtins.type(events).__module__.startswith("pyspark."):
            if events.isStreaming:
                from trendweave.runners.spark.stream import run_stream

                return run_stream(self, events, time, type, numbers=numbers, detection=detection, **spark_options)
            from trendweave.runners.spark.batch import run_spark

            return run_spark(self, events, time, type, numbers=numbers, detection=detection, **spark_options)
        if spark_options:
            raise TypeError(f"only Spark DataFrames take the options {', '.join(sorted(spark_options))}")
        from trendweave.runners.local import run_local

        return run_local(self, events, time, type, numbers or "decimal", detection)

    def iter(
        self,
        events: Any,
        time: str = "time",
        type: str | None = "type",
        *,
        numbers: Numbers = "decimal",
        memory: str | int | None = None,
        max_trends: int | None = None,
        strategy: str | None = None,
    ) -> TrendBatches:
        """The same rows as `run`, as an iterator over Arrow record batches, so that nobody holds all trends.

        `trends` of what comes back is their number, counted before the first one is built. `memory` is how much
        finding them may use ("512 MB" unless given). `strategy` is one of CET's algorithms: "m-cet" walks with one
        trend in memory, "t-cet" keeps all beginnings of trends, "h-cet" keeps pieces of trends in stretches of time
        and joins them, "baseline" extends every trend by every event; without it the optimiser chooses.
        """
        from trendweave.runners.local import iter_local

        return iter_local(self, events, time, type, numbers, self._detection(memory, max_trends, strategy))

    def _detection(self, memory: str | int | None, max_trends: int | None, strategy: str | None) -> Detection | None:
        from trendweave.programs.trends.detection import detection

        return detection(self.plan, memory, max_trends, strategy)

    def schema(
        self, events: Any, time: str = "time", type: str | None = "type", *, numbers: Numbers = "decimal"
    ) -> Any:
        """The columns of the result, without running anything: an Arrow schema; for a Spark DataFrame, a Spark one."""
        self.check(events, time, type)
        if builtins.type(events).__module__.startswith("pyspark."):
            from trendweave.runners.spark.schema import result_columns as spark_columns

            return spark_columns(self.plan, events, time, type, numbers)
        from trendweave.runners.local import result_columns

        return result_columns(self.plan, events, time, type, numbers)

    def incremental(
        self, events: Any, time: str = "time", type: str | None = "type", *, numbers: Numbers = "decimal"
    ) -> Incremental:
        """Run the query on events that come piece by piece; `events` is their schema, or a table that has it.

        `start()` gives an empty state, `push(state, events, watermark)` the next state and the rows of the windows
        that the watermark has closed, `finish(state)` the rest. Options are those of `run`.
        """
        from trendweave.runners.incremental import Incremental

        return Incremental(self, events, time, type, numbers)


AnyQuery: TypeAlias = Query | IntervalQuery | PointsQuery


def query(text: str) -> AnyQuery:
    """Read, check and plan a query. All problems are raised together, as one TrendweaveError.

    The text of an interval query (`FROM ... DEFINE ... PATTERN A before B`) gives an `IntervalQuery`, which has the
    same methods, and so has what a trend query with `DEFINE` and `S DURING X` gives; all other text gives a `Query`.
    """
    if is_interval_text(text):
        return interval_query(text)
    if is_points_text(text):
        return points_query(text)
    tree, problems = parse(text)
    return planned(tree, problems, text)


def planned(tree: QueryTree, problems: list[Problem], source: str) -> Query:
    """Plan a tree; `problems` are those found while it was read."""
    found = list(problems)
    plan = make_plan(tree, found)
    raise_problems(found, source)
    assert plan is not None, "a query without a plan has problems"
    return Query(tree, plan, source)
