"""What a join's condition says: equalities, conditions on one side, bands, and the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from trendweave.language import syntax_tree as st
from trendweave.programs.operators.joins.bands import Band, find_bands


@dataclass(frozen=True, slots=True)
class JoinCondition:
    """A condition in parts that must all be true.

    Attributes:
        equal: Expressions on the left and on the right side that must be equal.
        left: Conditions on the left side alone, or on none.
        right: Conditions on the right side alone.
        pairs: What is left to be asked of pairs, bands included.
        bands: Differences of a left and a right value that must lie between two numbers, the narrowest first.
    """

    equal: tuple[tuple[st.Expression, st.Expression], ...]
    left: tuple[st.Expression, ...]
    right: tuple[st.Expression, ...]
    pairs: tuple[st.Expression, ...]
    bands: tuple[Band, ...]


@lru_cache(256)  # as a look at devices asks several times
def read_parts(condition: st.Expression | None) -> JoinCondition:
    """Take a condition apart.

    Args:
        condition: Names columns as `left.x` and `right.x`; None: every pair.
    """
    equal: list[tuple[st.Expression, st.Expression]] = []
    alone: dict[str, list[st.Expression]] = {"left": [], "right": []}
    pairs: list[st.Expression] = []
    for part in _conjuncts(condition):
        sides = sides_of(part)
        if len(sides) < 2:
            alone[next(iter(sides), "left")].append(part)
            continue
        match part:
            case st.Comparison(operator="=", left=one, right=other):
                if (sides_of(one), sides_of(other)) == ({"left"}, {"right"}):
                    equal.append((one, other))
                    continue
                if (sides_of(one), sides_of(other)) == ({"right"}, {"left"}):
                    equal.append((other, one))
                    continue
        pairs.append(part)
    return JoinCondition(
        tuple(equal), tuple(alone["left"]), tuple(alone["right"]), tuple(pairs), find_bands(pairs, sides_of)
    )


def _conjuncts(condition: st.Expression | None) -> Iterator[st.Expression]:
    match condition:
        case None:
            return
        case st.AllOf(parts=parts):
            for part in parts:
                yield from _conjuncts(part)
        case st.Between(operand=operand, low=low, high=high, negated=False):
            yield st.Comparison(">=", operand, low)
            yield st.Comparison("<=", operand, high)
        case _:
            yield condition


def sides_of(expression: st.Expression) -> set[str]:
    """The sides whose columns an expression names."""
    return {node.names[0] for node in expression.walk() if isinstance(node, st.Attribute)}


def rename(expression: st.Expression, new_names: Callable[[tuple[str, ...]], tuple[str, ...]]) -> st.Expression:
    """An expression with other names of columns."""
    if isinstance(expression, st.Attribute):
        return st.Attribute(new_names(expression.names))
    return st.copy_node(expression, lambda node: rename(node, new_names))
