"""Operators and the columns of some events -> programs; each is checked against the rows of the one before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from trendweave.errors import DataError, OptionError, Problem, TrendweaveError, raise_problems
from trendweave.events import AUTO, Kind, Schema, TypeColumn, check_column_names, schema_of
from trendweave.language.syntax_tree import Expression
from trendweave.planning import IntervalPlan, QueryPlan, SituatedPlan
from trendweave.planning.checks import check_query
from trendweave.planning.checks.operators import check_operator, check_time
from trendweave.planning.operator_plans import FilterPlan
from trendweave.queries import Query

if TYPE_CHECKING:
    import pyarrow as pa

    from trendweave.operators.operator import Operator
    from trendweave.programs.operators.chain import Stage
    from trendweave.programs.program import Program
    from trendweave.runners.options import Settings
    from trendweave.runners.place import Place
    from trendweave.store.patterns.plan_access import Wish


@dataclass(frozen=True, slots=True)
class Asked:
    """Operators with the columns of time and type, as the places take them.

    Attributes:
        operators: At least one.
        time: The column that holds the time, in events and in rows of every operator that has one behind it.
        type: The column that holds the type.
        merged: Whether events are those of both sides of a join, put together by us, who have checked them.
        usual_type: The column that holds the type where none is named.
    """

    operators: tuple[Operator, ...]
    time: str
    type: TypeColumn
    merged: bool = False
    usual_type: str = "type"

    def __post_init__(self) -> None:
        check_column_names(self.time, self.type)

    @property
    def time_columns(self) -> tuple[str, ...]:
        return (self.time,)

    def settings(
        self, place: Place, options: Mapping[str, Any], read_setting: Callable[[str], str | None] | None
    ) -> Settings:
        from trendweave.rows.time_parsing import AS_THEY_ARE
        from trendweave.runners.options import make_settings

        plans = {op.text: op.task.plan for op in self.operators if isinstance(op.task, Query)}
        settings = make_settings(plans, place, options, read_setting, "operators")
        # Times of two sides are read before they are put together.
        return replace(settings, times=AS_THEY_ARE) if self.merged else settings

    def tell(self, events: pa.Table, rows: int) -> None:
        """Nothing: what an operator leaves out is what it is asked to leave out."""

    def order(self, rows: pa.Table) -> pa.Table:
        return rows

    def check(self, schema: Any) -> None:
        """The first operator alone; others are checked when they are bound to the rows of the one before."""
        self.check_one(0, schema_of(schema))

    def check_one(self, number: int, schema: Schema) -> None:
        """Raise what does not fit one operator."""
        operator = self.operators[number]
        if self.merged and number == 0:
            return
        with self.telling_where(number):
            if number and (missing := check_time(schema, self.time)):
                raise_problems([self._lacks_time(number, missing[0])], operator.source)
            task = operator.task
            if isinstance(task, Query):
                problems = check_query(task.tree, task.plan, schema, self.time, self.type_column(number, schema))
            else:
                problems = check_operator(task, schema, self.time)
            raise_problems(problems, operator.source)

    def _lacks_time(self, number: int, problem: Problem) -> Problem:
        """Rows of the operator before have no time: only queries leave it out."""
        before = self.operators[number - 1]
        message = f"rows of {before.text.split()[0]} have no time for the next operator: "
        each = isinstance(before.task, Query) and getattr(before.task.plan, "returns", None) == "each"
        hint = f"add {'LAST' if each else 'MAX'}(S.{self.time}) AS {self.time} to what it returns, of a variable S"
        return Problem("TW316", message + problem.message, hint)

    @contextmanager
    def telling_where(self, number: int) -> Iterator[None]:
        """Errors of a chain say of which operator they are."""
        try:
            yield
        except TrendweaveError as error:
            if len(self.operators) == 1:
                raise
            where = f"operator {number + 1} ({self.operators[number].text.split()[0]}): "
            problems = [replace(problem, message=where + problem.message) for problem in error.problems]
            raise type(error)(problems, error.source) from error

    def type_column(self, number: int, schema: Schema) -> str | None:
        """The column of the type that a query reads: the one that was named where its events have it; else `type` where
        it is there, or where a pattern has several types."""
        task = self.operators[number].task
        if not isinstance(task, Query):
            return None
        if self.type is not AUTO:
            return self.type if number == 0 or self.type in schema else None
        if isinstance(task.plan, IntervalPlan):
            return None
        usual = self.usual_type
        there = usual in schema and schema[usual].kind is Kind.STRING
        return usual if there or len(_types(task.plan)) > 1 else None

    def bind_one(self, number: int, schema: pa.Schema, settings: Settings) -> Stage:
        """One operator on events of these columns."""
        from trendweave.programs.operators.chain import bind_stage

        kinds = schema_of(schema)
        self.check_one(number, kinds)
        task = self.operators[number].task
        plan = task.plan if isinstance(task, Query) else task
        with self.telling_where(number):
            return bind_stage(plan, schema, self.time, self.type_column(number, kinds), settings)

    def bind_all(self, schema: pa.Schema, settings: Settings) -> tuple[Stage, ...]:
        """All operators, each on the rows of the one before."""
        stages = []
        for number in range(len(self.operators)):
            stages.append(self.bind_one(number, schema, settings))
            schema = stages[-1].program.schema
        return tuple(stages)

    @property
    def leading_filters(self) -> tuple[Expression, ...]:
        """The conditions of the filters that all events go through first."""
        tasks = takewhile(lambda task: isinstance(task, FilterPlan), (one.task for one in self.operators))
        return tuple(task.condition for task in tasks if isinstance(task, FilterPlan))

    @property
    def text(self) -> str:
        return " | ".join(operator.text for operator in self.operators)

    def bind(self, schema: pa.Schema, settings: Settings) -> Program:
        from trendweave.programs.operators.chain import make_chain

        return make_chain(self.bind_all(schema, settings), self.text)

    def bind_behind(self, number: int, schema: pa.Schema, settings: Settings) -> Program:
        """The operators from one on; those before it are filters that have left events out already. The program is told
        apart from those behind other filters."""
        from trendweave.programs.operators.chain import make_chain

        return make_chain(self.behind(number).bind_all(schema, settings), self.text, filtered=number > 0)

    def behind(self, number: int) -> Asked:
        """The operators from one on."""
        return replace(self, operators=self.operators[number:], merged=self.merged and number == 0)

    def queries(self) -> tuple[tuple[QueryPlan, str | None], ...]:
        """The match that reads events as they come, behind nothing but filters."""
        tasks = (operator.task for operator in self.operators)
        first = next((task for task in tasks if not isinstance(task, FilterPlan)), None)
        if not isinstance(first, Query) or self.merged:
            return ()
        named = (None if isinstance(first.plan, IntervalPlan) else self.usual_type) if self.type is AUTO else self.type
        return ((first.plan, named),)

    def wishes(self, ordered: bool = False) -> tuple[Wish, ...]:
        raise AssertionError("operators read a store by themselves")


def _types(plan: QueryPlan) -> set[str]:
    if isinstance(plan, IntervalPlan):
        return set()
    trend = plan.trend if isinstance(plan, SituatedPlan) else plan
    return {variable.type for variable in trend.variables if variable.type is not None}


def refuse_store_beside(both: bool) -> OptionError:
    """The error for a store as one of two tables, or for two of them."""
    message = "a join cannot combine a store and another table"
    hint = "read the store first: store.read(), or store.to_spark(spark)"
    if both:
        message = "a join takes one store, as both of its sides; two were given"
        hint = "read them first: left.read() and right.read(), or left.to_spark(spark) and right.to_spark(spark)"
    return OptionError([Problem("TW408", message, hint)])


def refuse_right(operator: Operator) -> DataError:
    """The error for two tables where the first operator takes one."""
    message = f"two tables are given, and the first operator is {operator.text.split()[0]}, no join"
    hint = "filter each of them first, or put them into one with a column side"
    return DataError([Problem("TW317", message, hint)])
