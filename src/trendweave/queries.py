"""The public `Query`: a query that is parsed, checked and planned."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack, cast, overload

from trendweave import places
from trendweave.errors import LanguageError, OptionError, Problem, near_names, raise_problems
from trendweave.events import AUTO, TypeColumn, check_column_names, schema_of
from trendweave.language import Tree, parse, print_tree
from trendweave.language.not_a_query import check_is_text, find_path
from trendweave.language.parameters import bind_parameters, check_known, find_missing, find_parameters
from trendweave.planning import IntervalPlan, Plan, QueryPlan, SituatedPlan, plan_query
from trendweave.planning.plan import WholeInput

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from trendweave.language.outline import QueryKind
    from trendweave.planning.show import ExplainFormat
    from trendweave.programs.program import Program
    from trendweave.runners.incremental import Incremental
    from trendweave.runners.local import Batches
    from trendweave.runners.options import Options, Settings
    from trendweave.runners.place import Place
    from trendweave.runners.session import PushSession
    from trendweave.runners.spark.reading import ParquetEvents
    from trendweave.store.event_store import EventStore
    from trendweave.store.patterns.plan_access import Wish

    ArrowEvents: TypeAlias = pa.Table | pa.RecordBatch | pa.RecordBatchReader | str | Path

FORMATS = ("text", "mermaid", "dot", "json")


class Runnable:
    """What runs on events: a query, or the queries of a workload."""

    __slots__ = ()

    def explain(
        self,
        format: ExplainFormat | EventStore = "text",
        events: Any = None,
        rows: int | None = None,
        time: str = "time",
        type: TypeColumn = AUTO,
        loop: bool = False,
        **options: Unpack[Options],
    ) -> str:
        """Explain the plan: what is computed, and how; of a workload, what its queries share, what not, and why. For a
        store also the access path; with events also the choice of device="auto".

        Args:
            format: "text", "mermaid" or "dot" (drawings of the template, of the constraints between situations, or of
                what is computed together), or "json"; or a `trendweave.EventStore`, whose indexes are used as in `run`.
            events: A table of events, to show the choice of device="auto" and its reasons.
            rows: A number of events, for the same without a table.
            time: With events, as in `run`.
            type: With events, as in `run`.
            loop: Return the loops that are generated for this query, or for the queries of a workload together: Python
                text, as it is compiled for large tables, and CUDA C for device="gpu". The types of columns are those of
                `events`; without events columns are assumed to be numbers, or text where numbers are not possible.
            **options: With a store or events, those of `run`.

        Raises:
            OptionError: The format or an option is unknown.
            DataError: A query does not fit the store.
        """
        if loop:
            asked, relaxed = (one._asked(events, time, type) for one in (self, self._relaxed()))
            return places.explain_loops(asked, relaxed, events, options)
        if places.is_store(format):
            return places.explain_on_store(self._asked(format, "time", AUTO), format, options)
        check_format(format)
        if events is not None or rows is not None:
            return "\n".join(places.find_device(self._asked(events, time, type), events, rows, options).tell())
        check_no_options(options)
        return self._explain_plan(cast("ExplainFormat", format))

    def check(self, schema: Any, time: str = "time", type: TypeColumn = AUTO, **options: Unpack[Options]) -> None:
        """Check a query, or all queries, against the columns of a table: names, types, the time and type columns.

        `schema` and `run` check whether the columns of all results of a workload fit into one table, because that may
        depend on their options.

        Args:
            schema: Events as for `run`, an Arrow or Spark schema, or a mapping from column names to types.
            time: The time column.
            type: The type column; see `run`.
            **options: Those of `run`; `time_unit` and `time_format` define how times are read.

        Raises:
            DataError: All problems together, each with the name of its query in a workload.
            OptionError: An option is unknown or has a wrong value.
        """
        asked = self._asked(schema, time, type)
        asked.check(places.read_columns(asked, schema, options))

    @overload
    def run(
        self,
        events: DataFrame | ParquetEvents,
        time: str = "time",
        type: TypeColumn = AUTO,
        **options: Unpack[Options],
    ) -> DataFrame: ...
    @overload
    def run(
        self,
        events: pl.DataFrame | pl.LazyFrame,
        time: str = "time",
        type: TypeColumn = AUTO,
        **options: Unpack[Options],
    ) -> pl.DataFrame: ...
    @overload
    def run(
        self, events: list[dict[str, Any]], time: str = "time", type: TypeColumn = AUTO, **options: Unpack[Options]
    ) -> list[dict[str, Any]]: ...
    @overload
    def run(
        self, events: pd.DataFrame, time: str = "time", type: TypeColumn = AUTO, **options: Unpack[Options]
    ) -> pd.DataFrame: ...
    @overload
    # Arrow and pandas publish no types, so that a checker may see one in both.
    def run(  # type: ignore[overload-cannot-match]
        self, events: ArrowEvents | EventStore, time: str = "time", type: TypeColumn = AUTO, **options: Unpack[Options]
    ) -> pa.Table: ...
    def run(self, events: Any, time: str = "time", type: TypeColumn = AUTO, **options: Unpack[Options]) -> Any:
        """Run, and return the rows in a table of the same kind as the events.

        Rows of all queries of a workload are in one table: first the column `query` with the name of the query, then
        the columns of all queries, in the order of their first appearance, with NULL if a query does not have the
        column. `Workload.rows` extracts the rows of one query.

        Args:
            events: An Arrow table or reader, a pandas or polars frame, a list of dictionaries, the path of a file (of
                Parquet, CSV, JSON lines or Arrow; the rows are an Arrow table), anything with the Arrow C stream
                interface, or a Spark DataFrame, which returns a lazy DataFrame (a streaming one for a stream), and so
                do files of `trendweave.read`. Rows may be in any order. A query FROM INTERVALS reads intervals instead
                and names their columns itself. A `trendweave.EventStore` returns an Arrow table; it knows its time and
                type columns.
            time: The time column: a timestamp, or a number of seconds.
            type: The type column. None: every row has the one type of the pattern. If left out, trend queries read the
                column `type`, and interval queries treat all rows as events. If given, interval queries use only rows
                of the type that FROM names.
            **options: See `trendweave.Options`.

        Returns:
            The rows, in a table of the same kind.

        Raises:
            DataError: A query does not fit the events, or columns of several results do not fit into one table.
            OptionError: An option is unknown here or has a wrong value.
            ExecutionError: A query fits, but cannot run on these rows.
        """
        return places.run(self._asked(events, time, type), events, options)

    def iter(self, events: Any, time: str = "time", type: TypeColumn = AUTO, **options: Unpack[Options]) -> Batches:
        """Run, and return an iterator over Arrow record batches, so that not all trends are in memory.

        The rows of a query of a workload are together; queries that are equal follow each other.

        Args:
            events: An Arrow table or reader, a pandas or polars frame.
            time: As in `run`.
            type: As in `run`.
            **options: See `trendweave.Options`.

        Returns:
            An iterator with `schema` and `trends`, the number of trends. They are counted before the first one is
            built; None if that is not possible, or if the query does not list trends.

        Raises:
            DataError: A query does not fit the events, or columns of several results do not fit into one table.
            OptionError: An option is unknown here or has a wrong value.
            ExecutionError: A query fits, but cannot run on these rows.
        """
        return places.iterate(self._asked(None, time, type), events, options)

    @overload
    def schema(
        self,
        events: DataFrame | ParquetEvents,
        time: str = "time",
        type: TypeColumn = AUTO,
        **options: Unpack[Options],
    ) -> StructType: ...
    @overload
    def schema(
        self,
        events: pa.Schema | ArrowEvents | pd.DataFrame | pl.DataFrame | pl.LazyFrame,
        time: str = "time",
        type: TypeColumn = AUTO,
        **options: Unpack[Options],
    ) -> pa.Schema: ...
    def schema(self, events: Any, time: str = "time", type: TypeColumn = AUTO, **options: Unpack[Options]) -> Any:
        """The schema of the result of `run`, without running anything.

        Args:
            events: As in `run`, or an Arrow schema.
            time: As in `run`.
            type: As in `run`.
            **options: As in `run`; settings of the Spark session apply too.

        Returns:
            An Arrow schema; for a Spark DataFrame, a Spark schema.

        Raises:
            DataError: A query does not fit the events, or columns of several results do not fit into one table.
            OptionError: An option is unknown or has a wrong value.
        """
        return places.find_schema(self._asked(events, time, type), events, options)

    def incremental(
        self, events: Any, time: str = "time", type: TypeColumn = AUTO, **options: Unpack[Options]
    ) -> Incremental:
        """An incremental engine, for events that arrive piece by piece.

        `start()` returns an empty state. `push(state, events, watermark)` returns the next state and the rows that are
        final (for trends, those of the windows that the watermark has closed). `finish(state)` returns the rest. The
        engine of a workload also accepts states of other workloads, like sessions: see `Workload.push`.

        Args:
            events: The schema of the events, or a table with this schema.
            time: As in `run`.
            type: As in `run`.
            **options: See `trendweave.Options`.

        Returns:
            An engine, which has no state of its own.

        Raises:
            DataError: A query does not fit the events, or columns of several results do not fit into one table.
            OptionError: An option is unknown here or has a wrong value.
            ExecutionError: A query cannot run piece by piece.
        """
        return places.make_engine(self._asked(None, time, type), events, options)

    def _asked(self, events: Any, time: str, type: TypeColumn) -> places.Asked:
        """What is asked with the columns of time and type, which a store knows."""
        raise NotImplementedError

    def _relaxed(self) -> Runnable:
        """The same for columns of any type, where loops are explained without events."""
        return self

    def _explain_plan(self, format: ExplainFormat) -> str:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Query(Runnable):
    """A query of any kind. Immutable; equal queries have equal trees.

    Attributes:
        tree: The syntax tree. `str()` prints it as canonical text.
        plan: The plan: what is computed, and how. Its class is the kind of query: `Plan` (trends), `IntervalPlan`
            (matches of situations) or `SituatedPlan` (trends whose events lie in situations).
        source: The original text.
        parameters: The names of parameters that have no value yet, in the order of the text; `bind` gives values.
    """

    tree: Tree
    plan: QueryPlan = field(compare=False, repr=False)
    source: str = field(compare=False, repr=False)
    parameters: tuple[str, ...] = field(compare=False, repr=False, default=())

    def __str__(self) -> str:
        return print_tree(self.tree)

    def _repr_html_(self) -> str:
        from trendweave.planning.show.cards import make_plan_card

        return make_plan_card(self.plan, "Query").html()

    @property
    def kind(self) -> QueryKind:
        """What the query looks for: "trends", "intervals" (matches of situations), or "trends in situations"."""
        match self.plan:
            case Plan():
                return "trends"
            case IntervalPlan():
                return "intervals"
            case SituatedPlan():
                return "trends in situations"

    @property
    def lists_trends(self) -> bool:
        """Whether rows are whole trends, with their events: RETURN TRENDS or COMPLETE TRENDS."""
        plan = self.plan.trend if isinstance(self.plan, SituatedPlan) else self.plan
        return isinstance(plan, Plan) and plan.returns == "trends"

    @property
    def has_windows(self) -> bool:
        """Whether rows belong to windows or times, and not to the whole input."""
        plan = self.plan.trend if isinstance(self.plan, SituatedPlan) else self.plan
        return isinstance(plan, IntervalPlan) or not isinstance(plan.window, WholeInput)

    @property
    def value_count(self) -> int:
        """The number of value columns, which come last in a result; the columns before them identify the row."""
        from trendweave.planning.outputs import TREND_COLUMNS

        plan = self.plan.trend if isinstance(self.plan, SituatedPlan) else self.plan
        if isinstance(plan, IntervalPlan):
            return len(plan.outputs)
        return len(TREND_COLUMNS) if self.lists_trends else len(plan.shown_values)

    @property
    def values(self) -> int:
        """Deprecated: the old name of `value_count`."""
        warnings.warn("Query.values is now called Query.value_count", DeprecationWarning, stacklevel=2)
        return self.value_count

    def bind(self, values: Mapping[str, Any] | None = None, /, **more: Any) -> Query:
        """The query with values for its parameters, `$threshold` in its text: `query.bind(threshold=3)`.

        A value becomes a literal of the query, so text in it is never read as a part of the query. A query runs when
        all of its parameters have values; its saved states are those of the query with these values.

        Args:
            values: Values by name: numbers, strings, booleans, datetimes, dates and timedeltas; for a length such as
                `WITHIN $length` a timedelta or a text such as "10 minutes".
            **more: The same, by keyword.

        Returns:
            A query in which these parameters are literals; the others stay.

        Raises:
            OptionError: There is no such parameter, or a value cannot stand in a query.
            PlanningError: With these values the query has no meaning.
        """
        given = {**(values or {}), **more}
        check_values(given, self.parameters, self.source)
        problems: list[Problem] = []
        tree = bind_parameters(self.tree, given, problems)
        if problems:
            raise OptionError(problems, self.source)
        return make_query(tree, [], self.source)

    def _relaxed(self) -> Query:
        from trendweave.runners.written_loops import without_local_conditions

        return replace(self, plan=without_local_conditions(self.plan))

    def _explain_plan(self, format: ExplainFormat) -> str:
        from trendweave.planning.show import show_plan

        check_bound(self)
        return show_plan(self.plan, format)

    def push(self, events: Any, time: str = "time", type: TypeColumn = AUTO, **options: Unpack[Options]) -> PushSession:
        """A push session in this process, for events that arrive one by one.

        `send(event)` takes a mapping and returns the rows that have become final. `send_table` takes a table.
        `finish()` returns the rest.

        Args:
            events: The schema of the events, or a table with this schema.
            time: As in `run`.
            type: As in `run`.
            **options: See `trendweave.Options`. `watermark` is how late an event may be, relative to the latest one
                (default "0 seconds"). `state` resumes a session from the result of `session.state()`.

        Raises:
            DataError: The query does not fit the events, or the state belongs to another query.
            OptionError: An option is unknown here or has a wrong value.
            ExecutionError: The query cannot run piece by piece, or no row would ever be final.
        """
        from trendweave.planning.show.template_picture import make_template

        asked = _Asked(self, time, self._type_column(type))
        return places.open_session(asked, events, options, partial(make_template, self.plan))

    def _asked(self, events: Any, time: str, type: TypeColumn) -> _Asked:
        """The query with the columns of time and type, which a store knows."""
        if not places.is_store(events):
            return _Asked(self, time, self._type_column(type))
        if type is AUTO:
            type = None if isinstance(self.plan, IntervalPlan) else events.type
        return _Asked(self, store_time(events, time), type)

    def _type_column(self, type: TypeColumn) -> str | None:
        if type is not AUTO:
            return type
        return None if isinstance(self.plan, IntervalPlan) else "type"


@dataclass(frozen=True, slots=True)
class _Asked:
    """A query with the columns of time and type, as the places take it."""

    query: Query
    time: str
    type: str | None

    def __post_init__(self) -> None:
        check_column_names(self.time, self.type)
        check_bound(self.query)

    @property
    def time_columns(self) -> tuple[str, ...]:
        return find_time_columns(self.query.plan, self.time)

    def settings(
        self, place: Place, options: Mapping[str, Any], read_setting: Callable[[str], str | None] | None
    ) -> Settings:
        from trendweave.runners.options import make_settings

        return make_settings(self.query.plan, place, options, read_setting)

    def tell(self, events: pa.Table, rows: int) -> None:
        from trendweave.runners.nothing_found import tell_of_nothing

        tell_of_nothing(self.query.plan, events, self.time, self.type, rows)

    def order(self, rows: pa.Table) -> pa.Table:
        return rows

    def check(self, schema: Any) -> None:
        from trendweave.planning.checks import check_query

        problems = check_query(self.query.tree, self.query.plan, schema_of(schema), self.time, self.type)
        raise_problems(problems, self.query.source)

    def bind(self, schema: pa.Schema, settings: Settings) -> Program:
        from trendweave.programs.bind import bind

        if settings.order_by:
            from trendweave.planning.checks.operators import check_order

            raise_problems(check_order(settings.order_by, schema_of(schema)), self.query.source)
        return bind(self.query.plan, schema, self.time, self.type, settings)

    def queries(self) -> tuple[tuple[QueryPlan, str | None], ...]:
        return ((self.query.plan, self.type),)

    def wishes(self, ordered: bool = False) -> tuple[Wish, ...]:
        from trendweave.store.patterns.plan_access import Wish

        return (Wish(self.query.plan, self.type, ordered),)


def find_time_columns(plan: QueryPlan, time: str) -> tuple[str, ...]:
    """The columns that hold times: queries FROM INTERVALS name their own."""
    if isinstance(plan, IntervalPlan) and plan.intervals is not None:
        return plan.intervals.start, plan.intervals.end
    return (time,)


def store_time(store: EventStore, time: str) -> str:
    """The time column of a store; another one cannot be asked for."""
    if time not in ("time", store.time):
        message = f"the store is laid out by the time column {store.time}, not {time}"
        raise OptionError([Problem("TW408", message, f"leave time out, or open the store with time={time!r}")])
    return store.time


def check_bound(query: Query) -> None:
    """Refuse a query with parameters that have no value."""
    if query.parameters:
        raise OptionError(find_missing(query.tree), query.source)


def check_values(values: Mapping[str, Any], parameters: Iterable[str], source: str | None = None) -> None:
    """Refuse values of parameters that are not there."""
    problems = check_known(values, dict.fromkeys(parameters))
    if problems:
        raise OptionError(problems, source)


def read_value(text: str) -> Any:
    """The value of a parameter as it is written outside of a query: a literal of the language, else a text."""
    from trendweave.language.operator_texts import read_literal

    found = read_literal(text)
    return text if found is None else found


def check_no_options(options: Mapping[str, Any]) -> None:
    """Refuse options where no store is explained."""
    if options:
        message = f"explain takes the options {', '.join(options)} with a store"
        raise OptionError([Problem("TW408", message, "give explain a trendweave.EventStore")])


def check_format(format: object) -> None:
    """Refuse a format that `explain` does not know."""
    if not isinstance(format, str):
        message = f"explain takes a format or a store first, not {type(format).__name__}"
        raise OptionError([Problem("TW408", message, "give events by name: explain(events=...)")])
    if format not in FORMATS:
        hint = near_names(str(format), FORMATS) or "leave it out for text"
        message = f"explain knows the formats {', '.join(FORMATS)}, not {format}"
        raise OptionError([Problem("TW408", message, hint)])


def query(text: str) -> Query:
    """Parse, check and plan a query of any kind.

    Args:
        text: A trend query (`RETURN ... PATTERN ...`), an interval query (`FROM ... DEFINE ... PATTERN A before B`),
            or a trend query with `DEFINE` and conditions such as `S DURING X`.

    Returns:
        The query; the class of its plan is its kind.

    Raises:
        TrendweaveError: All problems together.
    """
    check_is_text(text)
    try:
        tree, problems = parse(text)
    except LanguageError as error:
        raise find_path(text) or error from None
    return make_query(tree, problems, text)


def make_query(tree: Tree, problems: list[Problem], source: str) -> Query:
    """Plan a tree; `problems` are those found while it was read."""
    found = list(problems)
    plan = plan_query(tree, found)
    raise_problems(found, source)
    assert plan is not None, "a query without a plan has problems"
    return Query(tree, plan, source, tuple(find_parameters(tree)))
