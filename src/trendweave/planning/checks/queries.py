"""Does a query, of any kind, fit a table? Asked by kinds of columns, so that nothing but their kinds counts."""

from __future__ import annotations

from trendweave.errors import Problem
from trendweave.events import ColumnType, Kind, Schema
from trendweave.language.interval_tree import IntervalTree, SituatedTree, Tree
from trendweave.language.syntax_tree import QueryTree
from trendweave.planning.checks.intervals import check_interval_schema
from trendweave.planning.checks.trends import check_schema
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.plan import Plan
from trendweave.planning.situated_plan import QueryPlan, SituatedPlan
from trendweave.planning.situated_planner import derive_interval_tree


def check_query(tree: Tree, plan: QueryPlan, schema: Schema, time: str, type_: str | None) -> list[Problem]:
    """Problems of a sound query with a table of these columns, in no particular order.

    Args:
        tree: The query, which knows the places in the text.
        plan: The plan of this tree.
        schema: Kinds of columns by name.
        time: The column that holds the time.
        type_: The column that holds the type; None where there is none.
    """
    match tree, plan:
        case QueryTree(), Plan():
            return check_schema(tree, plan, schema, time, type_)
        case IntervalTree(), IntervalPlan():
            return check_interval_schema(tree, plan, schema, time, type_)
        case SituatedTree(), SituatedPlan():
            return _check_situated(tree, plan, schema, time, type_)
    raise AssertionError("a tree and a plan of different kinds")


def _check_situated(
    tree: SituatedTree, plan: SituatedPlan, schema: Schema, time: str, type_: str | None
) -> list[Problem]:
    of_type = type_ if plan.situations.source is not None else None
    situations = derive_interval_tree(tree, plan.trend)
    problems = check_interval_schema(situations, plan.situations, schema, time, of_type)
    taken = [name for name in plan.columns if name in schema]
    problems += [Problem("TW308", f"the table has a column {name} already", "rename it") for name in taken]
    marked = schema | {name: ColumnType(Kind.BOOLEAN) for name in plan.columns}
    return problems + check_schema(tree.trend, plan.trend, marked, time, type_)
