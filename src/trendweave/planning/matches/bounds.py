"""What conditions on whole matches say of longer and shorter ones: a COUNT that is too large only grows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from trendweave.language import syntax_tree as st


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
