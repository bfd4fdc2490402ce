"""The loops that are written for a query, as text: what `explain(loop=True)` prints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from trendweave.errors import DataError, OptionError, Problem
from trendweave.kernel_cache.kernel import recorded_texts
from trendweave.planning.plan import Plan
from trendweave.planning.situated_plan import QueryPlan, SituatedPlan
from trendweave.programs.program import NO_CARRY

if TYPE_CHECKING:
    from trendweave.programs.program import Program
    from trendweave.rows.unknown_types import TypedQuery

#: Raises all that does not fit some columns.
Check: TypeAlias = Callable[[pa.Schema], None]
#: Events of each type that are made up, a second after each other.
_EVENTS_PER_TYPE = 3
_FOLDING = "# On streams and piece by piece, where events are forgotten:\n\n"
_NONE = "No loop is written for this query: what runs is the same for all of its kind."


def explain_loops(program: Program, events: pa.Table) -> str:
    """The text of each loop that many such events would be gone over with, in the order in which they run; of programs
    that forget events, the loops of streams as well."""
    with recorded_texts(only_write=True) as texts:
        rows, _ = program.prepare(events)
        for _ in program.compute(rows).batches:
            pass
    steps = program.steps()
    if steps is not None and steps.folds:
        with recorded_texts(only_write=True) as folding:
            for _ in steps.step(rows, NO_CARRY, None, None).batches:
                pass
        texts = [*texts, *([_FOLDING + folding[0], *folding[1:]] if folding else [])]
    return "\n\n".join(texts) or _NONE


def without_local_conditions(plan: QueryPlan) -> QueryPlan:
    """The plan for which any event of its type can be read as a variable: its loops are the same."""
    match plan:
        case SituatedPlan():
            return replace(plan, trend=_read_all(plan.trend))
        case Plan():
            return _read_all(plan)
    return plan


def _read_all(plan: Plan) -> Plan:
    return replace(plan, variables=tuple(replace(variable, local=()) for variable in plan.variables))


def make_events(check: Check, queries: Sequence[TypedQuery], time: str, schema: pa.Schema | None) -> pa.Table:
    """A few events of every type of a query. Without a schema its columns are numbers, or texts where they must be.

    Raises:
        OptionError: Numbers and texts do not fit the query, or there are several queries.
    """
    if len(queries) != 1:
        raise _needs_events("the loops of several queries depend on the events that each of them reads")
    plan, type_ = queries[0]
    trend = plan.trend if isinstance(plan, SituatedPlan) else plan
    needed = trend.needed_columns if isinstance(trend, Plan) else ()
    types = [columns.type or "A" for columns in needed] * _EVENTS_PER_TYPE
    if schema is None:
        if not needed or any(len(path) > 1 for columns in needed for path in columns.paths):
            raise _needs_events()
        names = {path[0] for columns in needed for path in columns.paths} - {time, type_}
        schema = _choose_types(check, time, type_, sorted(names))
    columns = {}
    for field in schema:
        numbers = pa.array([index % 4 for index in range(len(types))], pa.int64())
        if field.name == type_:
            columns[field.name] = pa.array(types).cast(field.type)
        elif field.name == time:
            columns[field.name] = pa.array(range(len(types)), pa.int64()).cast(field.type)
        elif pa.types.is_string(field.type) or pa.types.is_integer(field.type) or pa.types.is_floating(field.type):
            columns[field.name] = numbers.cast(field.type)
        else:
            columns[field.name] = pa.nulls(len(types), field.type)
    return pa.table(columns, schema)


def _choose_types(check: Check, time: str, type_: str | None, names: list[str]) -> pa.Schema:
    """Columns that fit the query: one after the other is a text, where that makes fewer problems."""
    types: dict[str, pa.DataType] = {time: pa.timestamp("s")}
    if type_ is not None:
        types[type_] = pa.string()
    types |= dict.fromkeys(names, pa.int64())
    problems = _count_problems(check, types)
    for name in names:
        changed = types | {name: pa.string()}
        if problems and (left := _count_problems(check, changed)) < problems:
            types, problems = changed, left
    if problems:
        raise _needs_events()
    return pa.schema(types)


def _count_problems(check: Check, types: dict[str, pa.DataType]) -> int:
    try:
        check(pa.schema(types))
    except DataError as error:
        return len(error.problems)
    return 0


def _needs_events(
    message: str = "loops depend on the types of columns, which cannot be told from this query",
) -> OptionError:
    hint = "give events: explain(loop=True, events=...)"
    return OptionError([Problem("TW414", message, hint)])
