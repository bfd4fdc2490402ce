"""Points and intervals in one query: a trend whose events lie inside, or outside, of situations.

    RETURN COUNT(*) PATTERN Stock S+
    DEFINE Busy AS volume > 1000 AT LEAST 1 minute
    WHERE [company] AND S DURING Busy AND S.price > NEXT(S).price

`S DURING Busy` decides which events can be read as S: those with `start <= time < end` of a situation of the same
partition, which is that of the trend. For the trend it is a boolean column of the event, which the runner fills in.
"""

from __future__ import annotations

import builtins
import re
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from lark import Lark, v_args
from lark.tree import Meta

from trendweave.errors import Problem, near_names, raise_problems
from trendweave.events import ColumnType, Kind, schema_of
from trendweave.language import syntax_tree as st
from trendweave.language.interval_parser import clause_words
from trendweave.language.interval_printer import print_situation
from trendweave.language.interval_tree import IntervalReturn, IntervalTree
from trendweave.language.interval_tree_builder import IntervalTreeBuilder
from trendweave.language.parser import assembled, read_clauses
from trendweave.language.printer import print_name, print_query
from trendweave.language.syntax_tree import Span, problem_at
from trendweave.language.tree_builder import Clause
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.interval_planner import make_interval_plan
from trendweave.planning.interval_schema_check import check_interval_schema
from trendweave.sessions import Pushed

if TYPE_CHECKING:
    from trendweave.programs.situated.program import PointsIncremental
    from trendweave.queries import Query
    from trendweave.results.aggregate_table import Numbers
    from trendweave.runners.local import TrendBatches

#: The column of an event that says whether it lies in a situation; no query can name it by accident.
_COLUMN = "during {}"
_PRINTED = re.compile(r"\.`during ((?:[^`]|``)*)`")


def is_points_text(text: str) -> bool:
    """A trend query with definitions: it has a WHERE, and somewhere a DURING."""
    words = clause_words(text)
    return "DEFINE" in words and "WHERE" in words and "DURING" in words


def during_column(name: str) -> str:
    return _COLUMN.format(name)


@v_args(meta=True)
class _Builder(IntervalTreeBuilder):
    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, Span]] = []

    def points_query(self, meta: Meta, children: list[Any]) -> list[Clause]:
        return children

    def during(self, meta: Meta, children: list[Any]) -> st.Expression:
        return self._during(meta, children)

    def not_during(self, meta: Meta, children: list[Any]) -> st.Expression:
        return st.Inverse(self._during(meta, children), span=_span(meta))

    def _during(self, meta: Meta, children: list[Any]) -> st.Expression:
        variable, _, situation = children
        self.asked.append((str(situation), situation.span))
        return st.Attribute((str(variable), during_column(str(situation))), span=_span(meta))


def _span(meta: Meta) -> Span:
    return Span(meta.start_pos, meta.end_pos, meta.line, meta.column)


@cache
def _grammar() -> Lark:
    shared = files("trendweave.language").joinpath("grammar.lark").read_text(encoding="utf-8")
    intervals = files("trendweave.language").joinpath("intervals.lark").read_text(encoding="utf-8")
    own = files("trendweave.language").joinpath("situated.lark").read_text(encoding="utf-8")
    return Lark(f"{shared}\n{intervals}\n{own}", parser="lalr", start="points_query", propagate_positions=True)


@dataclass(frozen=True, slots=True)
class PointsQuery(Pushed):
    """A trend query and the situations that its events lie in. It has the methods of a `Query`."""

    trend: Query
    situations: IntervalTree
    plan: IntervalPlan = field(compare=False, repr=False)
    source: str = field(compare=False, repr=False)

    def __str__(self) -> str:
        def named(found: re.Match[str]) -> str:
            return f" DURING {print_name(found[1].replace('``', '`'))}"

        trend = _PRINTED.sub(named, print_query(self.trend.tree))
        of = "" if self.situations.source is None else f"FROM {print_name(str(self.situations.source))} "
        return f"{trend}\n{of}DEFINE " + ",\n       ".join(map(print_situation, self.situations.situations))

    @property
    def values(self) -> int:
        """As `Query.values`."""
        return self.trend.values

    def explain(self, format: str = "text") -> str:
        """The plan of the trend; as text, also that of the situations."""
        if format != "text":
            return self.trend.explain(format)  # type: ignore[arg-type]
        from trendweave.planning.show.intervals import explain_text

        _, *rest = self.trend.explain().split("\n\n")
        shown = "\n".join(["query", *(f"  {line}" for line in str(self).split("\n"))])
        situations = explain_text(self.plan).split("\n\n", 1)[1]
        return "\n\n".join([shown, *rest, "situations that events lie in", situations])

    def check(self, schema: Any, time: str = "time", type: str | None = "type") -> None:
        """Raise DataError with everything that does not fit a table."""
        columns = schema_of(schema)
        of_type = type if self.plan.source is not None else None
        problems = check_interval_schema(self.situations, self.plan, columns, time, of_type)
        taken = [name for name in self.columns if name in columns]
        problems += [Problem("TW308", f"the table has a column {name} already", "rename it") for name in taken]
        raise_problems(problems, self.source)
        self.trend.check(self._with_situations(columns), time, type)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(map(during_column, self.plan.names))

    def _with_situations(self, columns: dict[str, ColumnType]) -> Any:
        import pyarrow as pa

        names = {Kind.BOOLEAN: pa.bool_(), Kind.INTEGER: pa.int64(), Kind.FLOAT: pa.float64(), Kind.STRING: pa.string()}
        names |= {Kind.TIMESTAMP: pa.timestamp("us"), Kind.DATE: pa.date32(), Kind.DECIMAL: pa.decimal128(38, 2)}
        names |= {Kind.DURATION: pa.duration("us"), Kind.BINARY: pa.binary(), Kind.COLLECTION: pa.list_(pa.int64())}

        def arrow(column: ColumnType) -> pa.DataType:
            if column.kind is Kind.STRUCT:
                return pa.struct([(name, arrow(inner)) for name, inner in column.fields])
            return names.get(column.kind, pa.null())

        fields = [(name, arrow(column)) for name, column in columns.items()]
        return pa.schema([*fields, *((name, pa.bool_()) for name in self.columns)])

    def run(self, events: Any, time: str = "time", type: str | None = "type", **options: Any) -> Any:
        """As `Query.run`, on an Arrow table, a pandas or polars frame, a Spark DataFrame, or a stream."""
        self.check(events, time, type)
        if builtins.type(events).__module__.startswith("pyspark."):
            if events.isStreaming:
                from trendweave.runners.spark.situated_stream import run_points_stream

                return run_points_stream(self, events, time, type, **options)
            from trendweave.runners.spark.situated_batch import with_situations

            return self.trend.run(with_situations(self, events, time, type), time, type, **options)
        from trendweave.programs.situated.marking import run_local_points

        return run_local_points(self, events, time, type, options)

    def schema(
        self, events: Any, time: str = "time", type: str | None = "type", *, numbers: Numbers = "decimal"
    ) -> Any:
        """The columns of the result, without running anything."""
        self.check(events, time, type)
        if builtins.type(events).__module__.startswith("pyspark."):
            from trendweave.runners.spark.situated_batch import with_empty_columns

            return self.trend.schema(with_empty_columns(self, events), time, type, numbers=numbers)
        from trendweave.programs.situated.marking import with_columns

        return self.trend.schema(with_columns(self, events), time, type, numbers=numbers)

    def iter(self, events: Any, time: str = "time", type: str | None = "type", **options: Any) -> TrendBatches:
        """As `Query.iter`."""
        self.check(events, time, type)
        from trendweave.programs.situated.marking import iter_local_points

        return iter_local_points(self, events, time, type, options)

    def incremental(
        self, events: Any, time: str = "time", type: str | None = "type", *, numbers: Numbers = "decimal"
    ) -> PointsIncremental:
        """As `Query.incremental`. Windows close later than their end by the longest length that a definition names."""
        from trendweave.programs.situated.program import PointsIncremental

        return PointsIncremental(self, events, time, type, numbers)


def points_query(text: str) -> PointsQuery:
    """Read, check and plan a trend query whose events lie in situations."""
    from trendweave.queries import planned

    builder = _Builder()
    clauses = read_clauses(text, _grammar(), builder)
    own = {keyword: value for keyword, value, _ in clauses if keyword in ("FROM", "DEFINE")}
    problems = builder.problems
    tree = assembled([clause for clause in clauses if clause[0] not in own], text, problems)
    defined = [situation.name for situation in own.get("DEFINE", ())]
    for name, span in builder.asked:
        if name not in defined:
            hint = near_names(name, defined) or f"the query defines {', '.join(defined) or 'none'}"
            problems.append(problem_at(span, "TW251", f"unknown situation {name}", hint))
    if not isinstance(own.get("FROM", ""), str):
        message = "a trend needs events; FROM INTERVALS has none"
        problems.append(problem_at(tree.span, "TW256", message, "name the type of events: FROM Sensor"))
    raise_problems(problems, text)
    trend = planned(tree, problems, text)
    keys = tuple(st.Attribute(key.path) for key in trend.plan.partition_key)
    situations = IntervalTree(
        source=own.get("FROM"),
        partition_by=keys,
        situations=own["DEFINE"],
        returns=IntervalReturn("situations"),
        span=Span(0, 1, 1, 1),
    )
    found: list[Problem] = []
    plan = make_interval_plan(situations, found)
    raise_problems(found, text)
    assert plan is not None, "a query without a plan has problems"
    return PointsQuery(trend, situations, plan, text)
