"""The truth of a condition for one event and the event before it: True, False, or None where NULL decides (SQL)."""

from __future__ import annotations

from ..scalars import Scalar, calculate, holds
from .query import (
    Arithmetic,
    Both,
    Column,
    Comparison,
    Condition,
    Constant,
    Either,
    Expression,
    IsNull,
    Not,
    Previous,
)

Row = dict[str, Scalar]


def truth(condition: Condition, event: Row, previous: Row | None) -> bool | None:
    match condition:
        case Comparison(left=left, comparison=comparison, right=right):
            left_value, right_value = value(left, event, previous), value(right, event, previous)
            if left_value is None or right_value is None:
                return None
            return holds(left_value, comparison, right_value)
        case IsNull(operand=operand, negated=negated):
            return (value(operand, event, previous) is None) != negated
        case Not(operand=operand):
            inside = truth(operand, event, previous)
            return None if inside is None else not inside
        case Both(left=left, right=right):
            sides = {truth(left, event, previous), truth(right, event, previous)}
            return False if False in sides else None if None in sides else True
        case Either(left=left, right=right):
            sides = {truth(left, event, previous), truth(right, event, previous)}
            return True if True in sides else None if None in sides else False
    raise TypeError(condition)


def value(expression: Expression, event: Row, previous: Row | None) -> Scalar:
    """The first event of a partition has none before it: its PREV is NULL."""
    match expression:
        case Column(attribute=attribute):
            return event[attribute]
        case Previous(attribute=attribute):
            return None if previous is None else previous[attribute]
        case Constant(value=constant):
            return constant
        case Arithmetic(left=left, operator=operator, right=right):
            return calculate(value(left, event, previous), operator, value(right, event, previous))
    raise TypeError(expression)
