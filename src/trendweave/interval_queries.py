"""An interval query that was read, checked and planned."""

from __future__ import annotations

import builtins
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from trendweave.errors import Problem, raise_problems
from trendweave.events import schema_of
from trendweave.language.interval_parser import parse_intervals
from trendweave.language.interval_printer import print_intervals
from trendweave.language.interval_tree import IntervalTree
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.interval_planner import make_interval_plan

if TYPE_CHECKING:
    from trendweave.runners.interval_incremental import IntervalIncremental
    from trendweave.runners.session import PushSession


@dataclass(frozen=True, slots=True)
class IntervalQuery:
    """Immutable; equal queries have equal trees. `str()` is canonical text, `source` is what was written."""

    tree: IntervalTree
    plan: IntervalPlan = field(compare=False, repr=False)
    source: str = field(compare=False, repr=False)

    def __str__(self) -> str:
        return print_intervals(self.tree)

    @property
    def values(self) -> int:
        """How many columns at the end of a row are what it tells; those before tell rows apart."""
        return len(self.plan.outputs)

    def explain(self, format: str = "text") -> str:
        """What will be computed and how: as text, as a drawing of the constraints (mermaid, dot), or as JSON."""
        from trendweave.planning.show.intervals import as_json, dot, explain_text, mermaid

        ways = {"text": explain_text, "mermaid": mermaid, "dot": dot, "json": as_json}
        if format not in ways:
            raise ValueError(f"explain knows the formats {', '.join(ways)}, not {format}")
        return ways[format](self.plan)

    def check(self, schema: Any, time: str = "time", type: str | None = None) -> None:
        """Raise DataError with everything that does not fit a table. `schema` is what trend queries take."""
        from trendweave.planning.interval_schema_check import check_interval_schema

        raise_problems(check_interval_schema(self.tree, self.plan, schema_of(schema), str(time), type), self.source)

    def run(self, events: Any, time: str = "time", type: str | None = None, **spark_options: Any) -> Any:
        """Matches, counts or situations, as the kind of table that the events came in.

        `events` is an Arrow table or reader, a pandas or polars frame, or a Spark DataFrame, which gives a lazy
        DataFrame and takes further options (docs/spark.md; of streams docs/streaming.md). Rows may be in any order.
        `time` names the column that holds the time (a timestamp, or a number of seconds). With `type`, only rows of
        the type that FROM names are events. A query FROM INTERVALS names its columns itself.
        """
        if builtins.type(events).__module__.startswith("pyspark."):
            if events.isStreaming:
                from trendweave.runners.spark.interval_stream import run_interval_stream

                return run_interval_stream(self, events, time, type, **spark_options)
            from trendweave.runners.spark.interval_batch import run_spark_intervals

            return run_spark_intervals(self, events, time, type, **spark_options)
        if spark_options:
            raise TypeError(f"only run() on a Spark DataFrame knows the options {', '.join(spark_options)}")
        from trendweave.programs.intervals.program import run_local_intervals

        return run_local_intervals(self, events, time, type)

    def schema(self, events: Any, time: str = "time", type: str | None = None) -> Any:
        """The columns of the result, without running anything: an Arrow schema; for a Spark DataFrame, a Spark one."""
        self.check(events, time, type)
        if builtins.type(events).__module__.startswith("pyspark."):
            from trendweave.runners.spark.interval_batch import interval_type

            return interval_type(self, events, time, type)
        from trendweave.programs.intervals.program import interval_columns

        return interval_columns(self, events, time, type)

    def incremental(self, events: Any, time: str = "time", type: str | None = None) -> IntervalIncremental:
        """Run the query on events that come piece by piece; `events` is their schema, or a table that has it.

        `start()` gives an empty state, `push(state, events, watermark)` the next state and the rows that became
        certain before the watermark, `finish(state)` the rest.
        """
        from trendweave.runners.interval_incremental import IntervalIncremental

        return IntervalIncremental(self, events, time, type)

    def push(
        self,
        events: Any,
        time: str = "time",
        type: str | None = None,
        *,
        watermark: str = "0 seconds",
        state: bytes | None = None,
    ) -> PushSession:
        """A session that takes events one by one; `events` is their schema, or a table that has it.

        `send(event)` takes a mapping and gives the rows that have become certain, `send_table` takes a table,
        `finish()` gives the rest. Events may be behind the latest one by `watermark`; a step is final when a later time
        has come, as another event may still belong to it. `state` goes on with a session that another process left
        with `session.state()`.
        """
        from trendweave.runners.session import PushSession

        return PushSession(self.incremental(events, time, type), watermark, state)


def interval_query(text: str) -> IntervalQuery:
    """Read, check and plan an interval query. All problems are raised together, as one TrendweaveError."""
    tree, problems = parse_intervals(text)
    return planned_intervals(tree, problems, text)


def planned_intervals(tree: IntervalTree, problems: list[Problem], source: str) -> IntervalQuery:
    found = list(problems)
    plan = make_interval_plan(tree, found)
    raise_problems(found, source)
    assert plan is not None, "a query without a plan has problems"
    return IntervalQuery(tree, plan, source)
