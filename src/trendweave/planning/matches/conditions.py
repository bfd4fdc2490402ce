"""Conditions on a whole match: those that no event of a trend can be judged by before the trend is there.

`SUM(S.volume) < 1000` speaks of all events of a trend, `LAST(U.price) > S.price` of events behind the one that it is
about. Everything else is about an event and what came before it, and decides while trends grow.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from typing import Any

from trendweave.errors import Problem
from trendweave.language import syntax_tree as st
from trendweave.language.functions import NTH
from trendweave.language.printer import print_expression
from trendweave.language.syntax_tree import problem_at
from trendweave.planning.anchors.orders import Orders
from trendweave.planning.plan import AggregateColumn, Path
from trendweave.planning.predicates import attribute_problem
from trendweave.planning.variables import Variables

#: What tells the place of one event; all other functions speak of the whole match.
_OF_ONE_EVENT = frozenset({"FIRST", "LAST"})
#: What can be computed of one match.
_FUNCTIONS = ("COUNT", "SUM", "AVG", "MIN", "MAX", "MEDIAN", "PERCENTILE", "FIRST", "LAST")


def is_match_condition(condition: st.Expression, orders: Orders) -> bool:
    """Decide whether a condition is on a whole match.

    Args:
        condition: One of those that WHERE joins by AND.
        orders: Which variables can come before which.

    Returns:
        Whether it aggregates, or compares an event with the first or last one of a variable that cannot come before it.
    """
    aggregates = list(aggregates_of(condition))
    if any(aggregate.function not in _OF_ONE_EVENT for aggregate in aggregates):
        return True
    plain = set(_plain_variables(condition))
    if not plain:
        return bool(aggregates)
    named = {aggregate.argument.names[0] for aggregate in aggregates if aggregate.argument is not None}
    return any(not any(orders.in_order((earlier,), later) for later in plain) for earlier in named)


def plan_match_conditions(
    conditions: Collection[st.Expression], variables: Variables, problems: list[Problem]
) -> tuple[st.Expression, ...]:
    """Write conditions on whole matches as plans have them.

    Args:
        conditions: Those that `is_match_condition` tells.
        variables: The variables of the pattern.
        problems: What is wrong with them is added.

    Returns:
        Conditions with aggregates alone.
    """
    found = len(problems)
    for condition in conditions:
        for node in _leaves(condition):
            problem = _problem_of(node, variables, condition)
            if problem is not None:
                problems.append(problem)
    return tuple(map(whole_match, conditions)) if len(problems) == found else ()


def _problem_of(node: st.Node, variables: Variables, condition: st.Expression) -> Problem | None:
    if isinstance(node, st.Attribute):
        return attribute_problem(node, variables, condition) or _problem_of_variable(node.names[0], node, variables)
    if isinstance(node, st.NextAttribute | st.PreviousAttribute):
        message = "NEXT and PREV compare adjacent events, but the condition is on the whole match"
        return problem_at(node.span, "TW239", message, "split the condition, or use FIRST and LAST")
    if not isinstance(node, st.Aggregate):
        return None
    names = node.argument.names if node.argument is not None else ()
    known = names[0] if names and names[0] in variables.types else next(iter(variables.types))
    if node.function == "COUNT" and len(names) != 1:
        wrong = f"COUNT({known}) is the number of events of a match bound to {known}"
    elif node.function != "COUNT" and len(names) < 2:
        wrong = f"write {node.function}({known}.attribute)"
    elif node.distinct or node.function not in (*_FUNCTIONS, NTH):
        wrong = f"of a match there are {', '.join(_FUNCTIONS)}"
    else:
        return _problem_of_variable(names[0], node, variables)
    message = f"{print_expression(node)} has the wrong kind of argument"
    return problem_at(node.span, "TW213", message, wrong)


def _problem_of_variable(name: str, node: st.Node, variables: Variables) -> Problem | None:
    if name not in variables.types:
        return variables.unknown(name, node.span)
    if name in variables.positive:
        return None
    message = f"{name} occurs only under NOT, so no trend contains it"
    return problem_at(node.span, "TW212", message, "compare a variable that trends contain")


def match_paths(conditions: Collection[st.Expression]) -> dict[str, set[Path]]:
    """Find the columns that conditions on whole matches look at, per variable."""
    paths: dict[str, set[Path]] = defaultdict(set)
    for column in match_columns(conditions).values():
        if column.variable is not None and column.path is not None:
            paths[column.variable] |= st.columns_at(column.path)
    return paths


def whole_match(condition: st.Expression) -> st.Expression:
    """Write a condition on a whole match with aggregates alone: a plain `S.x` in it is that of the latest s.

    Args:
        condition: A condition on a whole match.

    Returns:
        The same, without places in the text.
    """
    return _rewrite(condition, lambda node: node if isinstance(node, st.Aggregate) else st.Aggregate("LAST", node))


def with_columns(condition: st.Expression, names: dict[st.Aggregate, str]) -> st.Expression:
    """Write a condition on a whole match as a row expression over a table with a column per aggregate.

    Args:
        condition: As `whole_match` writes it.
        names: The column of each aggregate.

    Returns:
        The row expression.
    """
    return _rewrite(condition, lambda node: st.Attribute((names[node],)))


def aggregates_of(expression: st.Expression) -> Iterator[st.Aggregate]:
    """Find the aggregates of an expression, in the order of the text."""
    return (node for node in expression.walk() if isinstance(node, st.Aggregate))


def match_columns(conditions: Collection[st.Expression]) -> dict[st.Aggregate, AggregateColumn]:
    """Settle what is computed of each match to judge it, under names of its own.

    Args:
        conditions: As `whole_match` writes them.

    Returns:
        A column per different aggregate.
    """
    columns: dict[st.Aggregate, AggregateColumn] = {}
    for aggregate in (node for condition in conditions for node in aggregates_of(condition)):
        columns.setdefault(aggregate, AggregateColumn.of(f"m{len(columns)}", aggregate))
    return columns


def _leaves(node: st.Node) -> Iterator[st.Node]:
    """Aggregates, and the columns that stand outside of them."""
    if isinstance(node, st.Aggregate | st.Attribute | st.NextAttribute | st.PreviousAttribute):
        yield node
        return
    for child in node.children():
        yield from _leaves(child)


def _plain_variables(condition: st.Expression) -> Iterator[str]:
    """Variables that stand outside of aggregates."""
    for node in _leaves(condition):
        if isinstance(node, st.Attribute):
            yield node.names[0]
        elif isinstance(node, st.NextAttribute | st.PreviousAttribute):
            yield node.variable


def _rewrite(node: Any, change: Callable[[Any], st.Expression]) -> Any:
    """A copy with every aggregate, and every attribute outside of them, replaced; without places in the text."""
    if isinstance(node, st.Aggregate | st.Attribute):
        return change(st.without_places(node))
    return st.copy_node(node, lambda part: _rewrite(part, change))
