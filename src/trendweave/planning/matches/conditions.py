"""Conditions on a whole match, which no event of a trend can be judged by before the trend is there; what they say of
longer and shorter ones; and a plain `C.item` in RETURN EACH, the one of the trend's latest c.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from trendweave.errors import Problem
from trendweave.language import syntax_tree as st
from trendweave.language.functions import NTH
from trendweave.language.printer import print_expression
from trendweave.language.syntax_tree import problem_at
from trendweave.planning.anchors import Orders
from trendweave.planning.outputs import map_leaves
from trendweave.planning.plan import AggregateColumn, Path
from trendweave.planning.predicates import attribute_problem, split_key
from trendweave.planning.variables import Variables


@dataclass(frozen=True, slots=True)
class Bounds:
    """What must be true for conditions to be met. `lower`: once true it stays true while a match grows; `upper`: once
    false it stays false."""

    lower: tuple[st.Expression, ...] = ()
    upper: tuple[st.Expression, ...] = ()


def find_bounds(conditions: Iterable[st.Expression], directions: Mapping[str, int | None]) -> Bounds:
    """Find the bounds that conditions set.

    Args:
        conditions: Row expressions over columns of matches, all of which must be true.
        directions: How a column changes while a match grows: 1 it never falls, -1 it never rises, 0 it stays as soon
            as it is known; None where nothing is known.

    Returns:
        Comparisons of one column with a constant. Each is true where the conditions are.
    """
    lower: list[st.Expression] = []
    upper: list[st.Expression] = []
    for column, bound in _comparisons(conditions):
        direction = directions.get(column)
        if direction is None:
            continue
        rises = bound.operator in (">", ">=")
        if direction == 0 or (direction > 0) == rises:
            lower.append(bound)
        if direction == 0 or (direction > 0) != rises:
            upper.append(bound)
    return Bounds(tuple(lower), tuple(upper))


def _comparisons(conditions: Iterable[st.Expression]) -> Iterator[tuple[str, st.Comparison]]:
    """Comparisons of a column with a constant by order, which stand alone or in others that must be true."""
    for condition in conditions:
        match condition:
            case st.AllOf(parts=parts):
                yield from _comparisons(parts)
            case st.Between(operand=operand, low=low, high=high, negated=False):
                yield from _comparisons([st.Comparison(">=", operand, low), st.Comparison("<=", operand, high)])
            case st.Comparison(left=st.Literal() as left, operator=sign, right=right) if not isinstance(
                right, st.Literal
            ):
                yield from _comparisons([st.Comparison(st.MIRRORED[sign], right, left)])
            case st.Comparison(operator="=", right=st.Literal()):
                yield from _comparisons([replace(condition, operator=">="), replace(condition, operator="<=")])
            case st.Comparison(left=st.Attribute(names=(name,)), operator=sign, right=st.Literal()) if sign != "!=":
                yield name, condition


def spell_out(query: st.QueryTree, variables: Variables) -> st.QueryTree:
    """Write `LAST(C.item) AS item` for `C.item`, where a row is one trend and C.item is no grouping attribute.

    For the k of `[k]` it is the one of whatever event there is.

    Args:
        query: The query as it was written.
        variables: Its variables.

    Returns:
        The same query without such attributes.
    """
    returns = query.returns
    if returns is None or returns.kind != "each":
        return query
    grouped = {split_key(attribute, variables) for attribute in query.group_by}
    equivalences = [conjunct for conjunct in query.where if isinstance(conjunct, st.Equivalence)]
    shared = {split_key(attribute, variables) for equal in equivalences for attribute in equal.attributes}
    present = tuple(name for name in variables.types if name in variables.positive)

    def latest(node: st.Attribute | st.Aggregate) -> st.Expression:
        if isinstance(node, st.Aggregate):
            return node
        variable, path = split_key(node, variables)
        if (variable, path) in grouped:
            return node
        if variable is None and (variable, path) in shared:
            told = tuple(st.Aggregate("LAST", st.Attribute((name, *path)), span=node.span) for name in present)
            return told[0] if len(told) == 1 else st.Call("COALESCE", told, span=node.span)
        return st.Aggregate("LAST", node, span=node.span) if variable in variables.positive else node

    outputs = []
    for output in returns.outputs:
        value, alias = map_leaves(output.value, latest), output.alias
        if isinstance(output.value, st.Attribute) and value is not output.value and alias is None:
            alias = "_".join(split_key(output.value, variables)[1])
        outputs.append(replace(output, value=value, alias=alias))
    return replace(
        query,
        returns=replace(returns, outputs=tuple(outputs)),
        having=tuple(map_leaves(condition, latest) for condition in query.having),
        order_by=tuple(replace(item, value=map_leaves(item.value, latest)) for item in query.order_by),
    )


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
