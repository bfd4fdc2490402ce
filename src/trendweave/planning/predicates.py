"""WHERE -> local predicates per variable, keys, edge predicates of neighbours, and conditions on earlier events.

GRETA, Section 6 tells vertex predicates (local, equivalence) from edge predicates. Those on two events are normalised
to comparisons of one value of the earlier event with one of the later event wherever that is exact; the rest is kept as
it is and marked general. A condition on an event and earlier ones of its trend is an edge predicate where the pattern
leaves no room between them; otherwise the trend has to remember (`anchors.py`).
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
from trendweave.planning.anchors import Orders
from trendweave.planning.plan import Anchor, AnchorPlan, EdgeComparison, KeyColumn, Path
from trendweave.planning.variables import Variables

Pair: TypeAlias = tuple[str, str]

_OPPOSITE: dict[str, st.ComparisonOperator] = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "=": "!=", "!=": "="}
_TRUE = st.Literal(True)


@dataclass(slots=True)
class Predicates:
    """The classes of predicates, each by what it belongs to."""

    local: dict[str, list[st.Expression]] = field(default_factory=lambda: defaultdict(list))
    keys: list[KeyColumn] = field(default_factory=list)
    comparisons: dict[Pair, list[EdgeComparison]] = field(default_factory=lambda: defaultdict(list))
    general: dict[Pair, list[st.Expression]] = field(default_factory=lambda: defaultdict(list))
    anchors: list[AnchorPlan] = field(default_factory=list)


def classify(
    where: tuple[st.Expression, ...], variables: Variables, orders: Orders, problems: list[Problem]
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
            _place(conjunct, orders, result, problems)
    result.anchors = [
        condition for condition in result.anchors if not _follows_from_neighbours(condition, orders, result)
    ]
    return result


def split_key(attribute: st.Attribute, variables: Variables) -> tuple[str | None, Path]:
    """`P.vehicle` binds P; a name that begins with no variable is a column, possibly a nested one."""
    head, *rest = attribute.names
    return (head, tuple(rest)) if rest and head in variables.types else (None, attribute.names)


def _references_are_good(conjunct: st.Expression, variables: Variables, problems: list[Problem]) -> bool:
    nested = [node for node in conjunct.walk() if isinstance(node, st.Equivalence)]
    if nested:
        hint = "write it as a condition of its own, joined by AND"
        problems.append(problem_at(nested[0].span, "TW219", "an equivalence cannot be part of another condition", hint))
        return False
    found = len(problems)
    for node in conjunct.walk():
        if isinstance(node, st.NextAttribute | st.PreviousAttribute):
            if node.variable not in variables.types:
                problems.append(variables.unknown(node.variable, node.span))
        elif isinstance(node, st.Attribute):
            problem = attribute_problem(node, variables, conjunct)
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


def _may_be_text(name: st.Attribute, condition: st.Expression) -> bool:
    """Whether a name may be a text without its quotes: something is to be equal to it, as in `S.sector = tech`."""
    for node in condition.walk():
        if isinstance(node, st.InList) and any(option is name for option in node.options):
            return True
        if isinstance(node, st.Comparison) and node.operator in ("=", "!="):
            for side, other in ((node.left, node.right), (node.right, node.left)):
                bare = isinstance(other, st.Attribute) and len(other.names) == 1
                if side is name and not bare and not isinstance(other, st.Literal):
                    return True
    return False


def _name_before_hyphen(name: st.Attribute, condition: st.Expression) -> Path | None:
    """What stands before a name and a hyphen, without spaces, as in `S.unit-price`."""
    for node in condition.walk():
        if isinstance(node, st.Arithmetic) and node.operator == "-" and node.right is name:
            left = node.left
            if isinstance(left, st.Attribute) and left.span and name.span and left.span.end + 1 == name.span.start:
                return left.names
    return None


def attribute_problem(attribute: st.Attribute, variables: Variables, condition: st.Expression) -> Problem | None:
    """What is wrong with the name of an attribute in a condition, if anything.

    Args:
        attribute: The attribute.
        variables: The variables of the query.
        condition: What it stands in.
    """
    head = attribute.names[0]
    if len(attribute.names) > 1:
        return None if head in variables.types else variables.unknown(head, attribute.span)
    if head in variables.types:
        message, hint = f"{head} is a variable; a condition needs one of its attributes", f"write {head}.attribute"
    elif head.upper() == "LENGTH":
        message, hint = "LENGTH is what a row tells of its trend", "write it into HAVING, with RETURN EACH"
    else:
        owners = [f"{print_name(name)}.{print_name(head)}" for name in variables.types]
        message, hint = f"{head} does not say which variable it belongs to", f"write {' or '.join(owners[:3])}"
        if _may_be_text(attribute, condition):
            hint = f"write '{head}' if it is a text, or {' or '.join(owners[:3])} if it is a column"
        elif (before := _name_before_hyphen(attribute, condition)) is not None:
            column = ".".join((*map(print_name, before[:-1]), print_name(f"{before[-1]}-{head}")))
            hint += f", or {column} if that is one column"
    return problem_at(attribute.span, "TW203", message, hint)


@dataclass(frozen=True, slots=True)
class _Mentions:
    """What a condition looks at: `plain` variables in the order of the text, those of NEXT, and the anchors that are
    written out, LAST(A), FIRST(A) or PREV(A)."""

    plain: tuple[str, ...]
    following: tuple[str, ...]
    anchors: tuple[Anchor, ...]


def _mentions(expression: st.Expression) -> _Mentions:
    plain, following, anchors = [], [], []
    for node in _columns(expression):
        anchor = _written_anchor(node)
        if anchor is not None:
            anchors.append(anchor)
        elif isinstance(node, st.NextAttribute):
            following.append(node.variable)
        elif isinstance(node, st.Attribute):
            plain.append(node.names[0])
    return _Mentions(tuple(dict.fromkeys(plain)), tuple(dict.fromkeys(following)), tuple(dict.fromkeys(anchors)))


def _place(conjunct: st.Expression, orders: Orders, result: Predicates, problems: list[Problem]) -> None:
    """Give a predicate on one variable to it, and one on several to the event that comes last."""
    mentions = _mentions(conjunct)
    if not (mentions.plain or mentions.following or mentions.anchors):
        message = f"{print_expression(conjunct)} names no variable"
        problems.append(problem_at(conjunct.span, "TW222", message, "leave it out, or name a variable"))
    elif len(mentions.plain) == 1 and not mentions.following and not mentions.anchors:
        result.local[mentions.plain[0]].append(_row_expression(conjunct))
    else:
        found = _find_last(conjunct, mentions, orders, problems)
        if found is not None:
            variable, anchors = found
            _bind(conjunct, variable, anchors, orders, result)


def _find_last(
    conjunct: st.Expression, mentions: _Mentions, orders: Orders, problems: list[Problem]
) -> tuple[str, dict[Anchor, Anchor]] | None:
    """The variable that a condition is about, and its anchors, each with what it amounts to in this pattern."""
    if mentions.following:
        return _find_next(conjunct, mentions, orders, problems)
    for variable in reversed(mentions.plain):
        anchors = [Anchor("last", other) for other in mentions.plain if other != variable]
        anchors += mentions.anchors
        if _can_bind(anchors, variable, orders):
            return variable, {anchor: _simplest(anchor, orders) for anchor in anchors}
    problems.append(_never_together(conjunct, mentions, orders))
    return None


def _never_together(conjunct: st.Expression, mentions: _Mentions, orders: Orders) -> Problem:
    names = list(dict.fromkeys([*mentions.plain, *(anchor.variable for anchor in mentions.anchors)]))
    before = next((anchor.variable for anchor in mentions.anchors if anchor.kind == "previous"), None)
    if before is not None:
        message = f"no {before} ever comes directly before {' or '.join(mentions.plain) or 'an event'}"
        return problem_at(conjunct.span, "TW216", message, f"without PREV, the latest {before} before is meant")
    hint = "compare variables that the same trend can have"
    if len(names) > 2:
        message = f"{', '.join(names[:-1])} and {names[-1]} never occur in one trend, one after the other"
        return problem_at(conjunct.span, "TW217", message, hint)
    negated = next((name for name in names if name in orders.negated), None)
    if negated is not None:
        hint = f"{negated} is matched on its own, under NOT: an equivalence such as [id] ties it to the trend"
    return problem_at(conjunct.span, "TW216", f"{' and '.join(names)} never occur in one trend", hint)


def _find_next(
    conjunct: st.Expression, mentions: _Mentions, orders: Orders, problems: list[Problem]
) -> tuple[str, dict[Anchor, Anchor]] | None:
    """NEXT(S) is the s directly after an s: the condition is about it, and S is the one directly before."""
    variable, *others = mentions.following
    if others:
        message = f"NEXT({variable}) and NEXT({others[0]}) are different events"
        hint = f"NEXT({variable}) is the {variable} after {variable}; name other variables without NEXT"
        problems.append(problem_at(conjunct.span, "TW218", message, hint))
        return None
    anchors = [Anchor("previous", variable)]
    if not _can_bind(anchors, variable, orders):
        message = f"{variable} never directly follows {variable} in the pattern"
        hint = f"repeat {variable}, for example {variable}+, or compare it with the variable that comes next"
        problems.append(problem_at(conjunct.span, "TW216", message, hint))
        return None
    anchors += [Anchor("last", other) for other in mentions.plain if other != variable]
    anchors += mentions.anchors
    if not _can_bind(anchors, variable, orders):
        names = ", ".join(dict.fromkeys(anchor.variable for anchor in anchors[1:]))
        message = f"no {variable} after a {variable} has {names} before it"
        hint = f"compare NEXT({variable}) with variables that come before it"
        problems.append(problem_at(conjunct.span, "TW218", message, hint))
        return None
    return variable, {anchor: _simplest(anchor, orders) for anchor in anchors}


def _can_bind(anchors: list[Anchor], variable: str, orders: Orders) -> bool:
    """Is there a trend with an event read as the variable, and all of its anchors before it?"""
    direct = all((anchor.variable, variable) in orders.neighbours for anchor in anchors if anchor.kind == "previous")
    return (direct or not orders.templates) and orders.in_order((anchor.variable for anchor in anchors), variable)


def _simplest(anchor: Anchor, orders: Orders) -> Anchor:
    """The only one is the first and the last one."""
    only = anchor.kind == "first" and not orders.repeats(anchor.variable)
    return Anchor("last", anchor.variable) if only else anchor


def _bind(
    conjunct: st.Expression, variable: str, anchors: dict[Anchor, Anchor], orders: Orders, result: Predicates
) -> None:
    """To neighbours, where nothing can stand between an event and its only anchor; else to what trends remember."""
    numbers = {anchor: number for number, anchor in enumerate(dict.fromkeys(anchors.values()))}

    def column(node: st.Node) -> st.Expression:
        anchor = _written_anchor(node)
        if anchor is None and isinstance(node, st.NextAttribute):
            return st.NextAttribute(variable, node.names)
        path = _path(node)
        if anchor is None:
            assert isinstance(node, st.Attribute)
            # Beside NEXT(S), S is the one directly before it.
            own = Anchor("previous", variable)
            if node.names[0] == variable and (own not in anchors or own in _mentions(conjunct).anchors):
                return st.NextAttribute(variable, path)
            anchor = own if node.names[0] == variable else Anchor("last", node.names[0])
        number = numbers[anchors[anchor]]

        def of_anchor(leaf: st.Attribute) -> st.Expression:
            return st.Attribute(leaf.names if len(numbers) == 1 else (str(number), *leaf.names))

        return rewrite_columns(st.value_at(path), of_anchor)

    expression = rewrite_columns(conjunct, column, _is_mention)
    only = next(iter(numbers)) if len(numbers) == 1 else None
    if only is not None:
        comparisons, general = _normalise(expression)
        if only.kind == "previous" or (only.kind == "last" and not orders.leaves_room(only.variable, variable)):
            result.comparisons[only.variable, variable] += comparisons
            result.general[only.variable, variable] += general
            return
        numbered = [rewrite_columns(part, _with_first_anchor) for part in general]
    else:
        comparisons, numbered = [], [expression]
    text = print_expression(conjunct)
    result.anchors.append(AnchorPlan(variable, tuple(numbers), tuple(comparisons), tuple(numbered), text))


#: `a op x` and `x other y` give `a op y`.
_HANDED_ON: dict[str, tuple[str, ...]] = {
    "<": ("<", "<=", "="),
    "<=": ("<", "<=", "="),
    ">": (">", ">=", "="),
    ">=": (">", ">=", "="),
    "=": ("=",),
}


def _follows_from_neighbours(condition: AnchorPlan, orders: Orders, result: Predicates) -> bool:
    """In SEQ(A, B+) with A.x > B.x AND B.x > NEXT(B).x, the first b is below the a, and so are all others: what holds
    between neighbours is enough, and is left to them."""
    anchor, *others = condition.anchors
    if others or anchor.kind != "last" or condition.general or len(condition.comparisons) != 1:
        return False
    (comparison,) = condition.comparisons
    own = [
        edge.operator
        for edge in result.comparisons.get((condition.variable, condition.variable), ())
        if edge.previous == edge.next == comparison.next
    ]
    handed_on = any(operator in _HANDED_ON.get(comparison.operator, ()) for operator in own)
    if not handed_on or orders.leaves_room_for_others(anchor.variable, condition.variable):
        return False
    result.comparisons[anchor.variable, condition.variable].append(comparison)
    return True


def bind_key(variable: str, path: Path, orders: Orders, result: Predicates) -> None:
    """A key of one variable as a condition: the latest event read as it has the same value."""
    comparison = EdgeComparison(st.Attribute(path), "=", st.Attribute(path))
    known = st.IsNull(st.Attribute(path), negated=True)
    if known not in result.local[variable]:
        result.local[variable].append(known)
    if not orders.repeats(variable):
        return
    if orders.leaves_room(variable, variable):
        name = print_expression(st.Attribute((variable, *path)))
        text = f"{name} is that of the {variable} before"
        result.anchors.append(AnchorPlan(variable, (Anchor("last", variable),), (comparison,), (), text))
    else:
        result.comparisons[variable, variable].append(comparison)


def _with_first_anchor(node: st.Attribute | st.NextAttribute) -> st.Expression:
    return st.Attribute(("0", *node.names)) if isinstance(node, st.Attribute) else node


def _columns(expression: st.Node) -> Iterator[st.Node]:
    """The columns of events that an expression looks at; those inside FIRST and LAST as a whole."""
    if _is_mention(expression):
        yield expression
    else:
        for child in expression.children():
            yield from _columns(child)


def _is_mention(node: st.Node) -> bool:
    return is_column(node) or _written_anchor(node) is not None


def _written_anchor(node: st.Node) -> Anchor | None:
    """LAST(A).x, FIRST(A).x or PREV(A).x."""
    match node:
        case st.Aggregate(
            function="LAST" | "FIRST" as function,
            argument=st.Attribute(names=(variable, *_)) | st.Calculated(names=(variable, *_)),
        ):
            return Anchor("last" if function == "LAST" else "first", variable)
        case st.PreviousAttribute(variable=variable):
            return Anchor("previous", variable)
    return None


def _path(node: st.Node) -> Path:
    match node:
        case st.Attribute(names=names):
            return names[1:]
        case st.Aggregate(argument=st.Attribute() | st.Calculated() as argument):
            return argument.names[1:]
        case st.PreviousAttribute(names=names):
            return names
    raise AssertionError("no other node is a column")


# Rewriting names: in a plan, an Attribute is a column of the (earlier) row, a NextAttribute one of the later row.


def _row_expression(expression: st.Expression) -> st.Expression:
    return rewrite_columns(
        expression, lambda node: st.Attribute(node.names[1:]) if isinstance(node, st.Attribute) else node
    )


_NodeType = TypeVar("_NodeType", bound=st.Node)


def is_column(node: st.Node) -> bool:
    return isinstance(node, st.Attribute | st.NextAttribute)


def rewrite_columns(
    node: _NodeType, change: Callable[[Any], st.Expression], replaced: Callable[[st.Node], bool] = is_column
) -> _NodeType:
    """A copy with every column replaced; places in the text are dropped, as they would only make plans differ."""
    if replaced(node):
        return cast("_NodeType", change(node))
    return cast("_NodeType", st.copy_node(node, lambda part: rewrite_columns(part, change, replaced)))


# Normal form of predicates on two events


def _normalise(expression: st.Expression) -> tuple[list[EdgeComparison], list[st.Expression]]:
    """Comparisons of one value of each event, and what cannot be written so."""
    earlier, later = _sides(expression)
    match expression:
        case _ if not (earlier and later) and not isinstance(expression, st.Comparison):
            # About one of the two events only, yet it must hold just where both are there.
            sides = (_TRUE, expression) if later else (expression, _TRUE)
            return [_separate(sides[0], "=", sides[1])], []
        case st.Comparison(operator=operator, left=left, right=right):
            if _earlier_only(left) and _later_only(right):
                return [_separate(left, operator, right)], []
            if _later_only(left) and _earlier_only(right):
                return [_separate(right, st.MIRRORED[operator], left)], []
        case st.Inverse(operand=st.Comparison(operator=operator, left=left, right=right)):
            return _normalise(st.Comparison(_OPPOSITE[operator], left, right))
        case st.Inverse(operand=st.Inverse(operand=operand)):
            return _normalise(operand)
        case st.Between(operand=operand, low=low, high=high, negated=False):
            low_comparisons, low_general = _normalise(st.Comparison(">=", operand, low))
            high_comparisons, high_general = _normalise(st.Comparison("<=", operand, high))
            return low_comparisons + high_comparisons, low_general + high_general
    return [], [expression]


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
