"""WHERE -> local predicates per variable, keys, and edge predicates per pair of neighbours.

GRETA, Section 6 tells vertex predicates (local, equivalence) from edge predicates. Edge predicates are normalised to
comparisons of one value of the earlier event with one of the later event wherever that is exact; the rest is kept as
it is and marked general.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar, cast

from trendweave.errors import Problem
from trendweave.language import syntax_tree as st
from trendweave.language.printer import print_expression, print_name
from trendweave.language.syntax_tree import problem_at
from trendweave.planning.plan import EdgeComparison, KeyColumn, Path
from trendweave.planning.variables import Variables

Pair: TypeAlias = tuple[str, str]

_MIRRORED: dict[str, st.ComparisonOperator] = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}
_OPPOSITE: dict[str, st.ComparisonOperator] = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "=": "!=", "!=": "="}
_TRUE = st.Literal(True)


@dataclass(slots=True)
class Predicates:
    """The classes of predicates, each by what it belongs to."""

    local: dict[str, list[st.Expression]] = field(default_factory=lambda: defaultdict(list))
    keys: list[KeyColumn] = field(default_factory=list)
    comparisons: dict[Pair, list[EdgeComparison]] = field(default_factory=lambda: defaultdict(list))
    general: dict[Pair, list[st.Expression]] = field(default_factory=lambda: defaultdict(list))


def classify(
    where: tuple[st.Expression, ...], variables: Variables, neighbours: frozenset[Pair], problems: list[Problem]
) -> Predicates:
    result = Predicates()
    for conjunct in where:
        if isinstance(conjunct, st.Equivalence):
            for attribute in conjunct.attributes:
                variable, path = split_key(attribute, variables)
                key = KeyColumn(path, variable, nullable=False)
                if key not in result.keys:
                    result.keys.append(key)
        elif _references_are_good(conjunct, variables, problems):
            _place(conjunct, neighbours, result, problems)
    return result


def split_key(attribute: st.Attribute, variables: Variables) -> tuple[str | None, Path]:
    """`P.vehicle` binds P; a name that begins with no variable is a column, possibly a nested one."""
    head, *rest = attribute.names
    return (head, tuple(rest)) if rest and head in variables.types else (None, attribute.names)


def _references_are_good(conjunct: st.Expression, variables: Variables, problems: list[Problem]) -> bool:
    nested = [node for node in conjunct.walk() if isinstance(node, st.Equivalence)]
    if nested:
        hint = "write it as a condition of its own, joined by AND"
        problems.append(problem_at(nested[0].span, "TW219", "an equivalence stands inside another condition", hint))
        return False
    found = len(problems)
    for node in conjunct.walk():
        if isinstance(node, st.NextAttribute):
            if node.variable not in variables.types:
                problems.append(variables.unknown(node.variable, node.span))
        elif isinstance(node, st.Attribute):
            problem = attribute_problem(node, variables)
            if problem is not None:
                problems.append(problem)
        elif isinstance(node, st.Literal) and not _is_storable(node.value):
            hint = "write a float such as 1e20 for a large number"
            problems.append(problem_at(node.span, "TW113", "the number does not fit 64 bits", hint))
    return len(problems) == found


def _is_storable(value: bool | int | float | str | None) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, int) or -(2**63) <= value < 2**63


def attribute_problem(attribute: st.Attribute, variables: Variables) -> Problem | None:
    """What is wrong with the name of an attribute in a condition, if anything."""
    head = attribute.names[0]
    if len(attribute.names) > 1:
        return None if head in variables.types else variables.unknown(head, attribute.span)
    if head in variables.types:
        message, hint = f"{head} is a variable; a condition needs one of its attributes", f"write {head}.attribute"
    else:
        owners = [f"{print_name(name)}.{print_name(head)}" for name in variables.types]
        message, hint = f"{head} does not say which variable it belongs to", f"write {' or '.join(owners[:3])}"
    return problem_at(attribute.span, "TW203", message, hint)


def _place(conjunct: st.Expression, neighbours: frozenset[Pair], result: Predicates, problems: list[Problem]) -> None:
    """Give a predicate on one variable to it, and one on two to their pair."""
    names = list(dict.fromkeys(_variables_of(conjunct)))
    following = {node.variable for node in conjunct.walk() if isinstance(node, st.NextAttribute)}
    if following:
        variable = min(following)
        if names != [variable]:
            others = ", ".join(name for name in names if name != variable)
            message = f"NEXT({variable}) is compared with {others}"
            hint = f"NEXT({variable}) is the {variable} after {variable}; name other variables without NEXT"
            problems.append(problem_at(conjunct.span, "TW218", message, hint))
            return
        pair = (variable, variable)
        if pair not in neighbours:
            message = f"{variable} never directly follows {variable} in the pattern"
            hint = f"repeat {variable}, for example {variable}+, or compare it with the variable that comes next"
            problems.append(problem_at(conjunct.span, "TW216", message, hint))
            return
    elif len(names) == 1:
        result.local[names[0]].append(_row_expression(conjunct))
        return
    elif len(names) == 2:
        written = (names[0], names[1])
        pair = written if written in neighbours else (names[1], names[0])
        if pair not in neighbours:
            message = f"{names[0]} and {names[1]} are never neighbours in the pattern"
            hint = "compare each with its direct neighbour, or use an equivalence such as [id] over all events"
            problems.append(problem_at(conjunct.span, "TW216", message, hint))
            return
    else:
        if names:
            message = f"one predicate speaks of {len(names)} variables: {', '.join(names)}"
            hint = "a predicate compares an event with its neighbour; split it"
            problems.append(problem_at(conjunct.span, "TW217", message, hint))
        else:
            message = f"{print_expression(conjunct)} names no variable"
            problems.append(
                problem_at(conjunct.span, "TW222", message, "leave it out, or name the variable it is about")
            )
        return
    _normalise(_two_row_expression(conjunct, pair), pair, result)


def _variables_of(expression: st.Expression) -> Iterator[str]:
    for node in expression.walk():
        if isinstance(node, st.Attribute):
            yield node.names[0]
        elif isinstance(node, st.NextAttribute):
            yield node.variable


# Rewriting names: in a plan, an Attribute is a column of the (earlier) row, a NextAttribute one of the later row.


def _row_expression(expression: st.Expression) -> st.Expression:
    return rewrite_columns(
        expression, lambda node: st.Attribute(node.names[1:]) if isinstance(node, st.Attribute) else node
    )


def _two_row_expression(expression: st.Expression, pair: Pair) -> st.Expression:
    earlier, later = pair

    def column(node: st.Attribute | st.NextAttribute) -> st.Expression:
        if isinstance(node, st.NextAttribute):
            return st.NextAttribute(later, node.names)
        if earlier != later and node.names[0] == later:
            return st.NextAttribute(later, node.names[1:])
        return st.Attribute(node.names[1:])

    return rewrite_columns(expression, column)


_NodeType = TypeVar("_NodeType", bound=st.Node)


def rewrite_columns(node: _NodeType, change: Callable[[Any], st.Expression]) -> _NodeType:
    """A copy with every column replaced; places in the text are dropped, as they would only make plans differ."""
    if isinstance(node, st.Attribute | st.NextAttribute):
        return cast("_NodeType", change(node))
    parts: dict[str, Any] = {}
    for name in st.parts_of(type(node)):
        value = parts[name] = getattr(node, name)
        if isinstance(value, st.Node):
            parts[name] = rewrite_columns(value, change)
        elif isinstance(value, tuple):
            parts[name] = tuple(rewrite_columns(item, change) if isinstance(item, st.Node) else item for item in value)
    return type(node)(**parts)


# Normal form of edge predicates


def _normalise(expression: st.Expression, pair: Pair, result: Predicates) -> None:
    earlier, later = _sides(expression)
    match expression:
        case _ if not (earlier and later) and not isinstance(expression, st.Comparison):
            # About one of the two events only, yet it must hold just where they are neighbours.
            sides = (_TRUE, expression) if later else (expression, _TRUE)
            result.comparisons[pair].append(_separate(sides[0], "=", sides[1]))
        case st.Comparison(operator=operator, left=left, right=right):
            if _earlier_only(left) and _later_only(right):
                result.comparisons[pair].append(_separate(left, operator, right))
            elif _later_only(left) and _earlier_only(right):
                result.comparisons[pair].append(_separate(right, _MIRRORED[operator], left))
            else:
                result.general[pair].append(expression)
        case st.Inverse(operand=st.Comparison(operator=operator, left=left, right=right)):
            _normalise(st.Comparison(_OPPOSITE[operator], left, right), pair, result)
        case st.Inverse(operand=st.Inverse(operand=operand)):
            _normalise(operand, pair, result)
        case st.Between(operand=operand, low=low, high=high, negated=False):
            _normalise(st.Comparison(">=", operand, low), pair, result)
            _normalise(st.Comparison("<=", operand, high), pair, result)
        case _:
            result.general[pair].append(expression)


def _sides(expression: st.Expression) -> tuple[bool, bool]:
    """Does it look at the earlier event, and at the later one?"""
    nodes = list(expression.walk())
    return any(isinstance(node, st.Attribute) for node in nodes), any(
        isinstance(node, st.NextAttribute) for node in nodes
    )


def _earlier_only(expression: st.Expression) -> bool:
    return not _sides(expression)[1]


def _later_only(expression: st.Expression) -> bool:
    return not _sides(expression)[0]


def _separate(previous: st.Expression, operator: st.ComparisonOperator, following: st.Expression) -> EdgeComparison:
    of_its_row = rewrite_columns(following, lambda node: st.Attribute(node.names))
    return EdgeComparison(previous, operator, of_its_row)
