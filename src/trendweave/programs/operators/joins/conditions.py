"""What a join's condition says: equalities, conditions on one side, bands, and the rest."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as types

from trendweave.expressions.arrow.evaluate import evaluate
from trendweave.expressions.arrow.values import TICKS_PER_SECOND, to_float
from trendweave.expressions.compiled.condition import NotCompiled, compile_condition
from trendweave.language import syntax_tree as st
from trendweave.language.durations import duration_text
from trendweave.language.printer import print_expression
from trendweave.planning.operator_plans import JoinPlan, RowCount, Window
from trendweave.programs.operators.joins.sides import Sides

_MARGIN = 2.0**-48
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


@dataclass(frozen=True, slots=True)
class Band:
    """`low <= left - right <= high`, or a little more.

    Attributes:
        left: An expression on the left side.
        right: One on the right side.
        low: The least difference; numbers of seconds where it is one of times.
        high: The largest.
        size: The size of the numbers that are added up in the condition, which rounding depends on.
        is_order: Only the order of both values is asked, so they may be of any type.
    """

    left: st.Expression
    right: st.Expression
    low: float
    high: float
    size: float
    is_order: bool

    @property
    def is_closed(self) -> bool:
        """Does it have two ends?"""
        return math.isfinite(self.low) and math.isfinite(self.high)

    def around(self, values: np.ndarray, of_left: bool) -> tuple[np.ndarray, np.ndarray]:
        """Between which values of the other side partners lie.

        Args:
            values: Values of one side; those that are not finite meet everything.
            of_left: Which one?
        """
        known = np.isfinite(values)
        middle = np.where(known, values, 0.0)
        low, high = (-self.high, -self.low) if of_left else (self.low, self.high)
        ends = [abs(end) for end in (low, high) if math.isfinite(end)]
        with np.errstate(over="ignore"):
            # More than all rounding of floats in a condition.
            margin = (np.abs(middle) + max(ends, default=0.0) + self.size) * _MARGIN
            first, last = middle + low - margin, middle + high + margin
        return np.where(known, first, -np.inf), np.where(known, last, np.inf)


def find_bands(parts: Sequence[st.Expression]) -> tuple[Band, ...]:
    """The bands of some conditions that must all be true; those of the same two values are one."""
    found: dict[tuple[st.Expression, st.Expression], Band] = {}
    for part in parts:
        if not isinstance(part, st.Comparison) or part.operator not in _FLIPPED:
            continue
        band = _read_comparison(part.operator, part.left, part.right)
        if band is None:
            continue
        same = found.get((band.left, band.right), band)
        found[band.left, band.right] = replace(
            band,
            low=max(same.low, band.low),
            high=min(same.high, band.high),
            size=max(same.size, band.size),
            is_order=same.is_order and band.is_order,
        )
    return tuple(sorted(found.values(), key=lambda band: not band.is_closed))


def _read_comparison(operator: str, left: st.Expression, right: st.Expression) -> Band | None:
    match left, right:
        case st.Call(function="ABS", arguments=(inner,)), _ if operator in ("<", "<="):
            most, band = _read_constant(right), _read_difference("=", inner)
            if most is None or band is None:
                return None
            return replace(band, low=band.low - most, high=band.high + most, size=band.size + abs(most), is_order=False)
        case _, st.Call(function="ABS") if operator in (">", ">="):
            return _read_comparison(_FLIPPED[operator], right, left)
    return _read_difference(operator, st.Arithmetic("-", left, right))


def _read_difference(operator: str, added: st.Expression) -> Band | None:
    """What `added <operator> 0` says, where that is the difference of two sides and a number."""
    values: dict[str, tuple[int, st.Expression]] = {}
    number = size = 0.0
    for sign, term in _terms(added, 1):
        sides = sides_of(term)
        if not sides:
            constant = _read_constant(term)
            if constant is None:
                return None
            number, size = number + sign * constant, size + abs(constant)
        elif len(sides) > 1 or sides & values.keys():
            return None
        else:
            values[sides.pop()] = sign, term
    if len(values) < 2 or values["left"][0] == values["right"][0]:
        return None
    sign = values["left"][0]
    operator = operator if sign > 0 else _FLIPPED[operator]
    end = -sign * number
    low = end if operator in (">", ">=", "=") else -math.inf
    high = end if operator in ("<", "<=", "=") else math.inf
    return Band(values["left"][1], values["right"][1], low, high, size, size == 0)


def _terms(expression: st.Expression, sign: int) -> Iterator[tuple[int, st.Expression]]:
    """The terms of a sum with their signs; what names no more than one side is one."""
    if len(sides_of(expression)) > 1:
        match expression:
            case st.Negative(operand=operand):
                yield from _terms(operand, -sign)
                return
            case st.Arithmetic(operator="+" | "-" as operator, left=left, right=right):
                yield from _terms(left, sign)
                yield from _terms(right, sign if operator == "+" else -sign)
                return
    yield sign, expression


def _read_constant(expression: st.Expression) -> float | None:
    """A number, or the seconds of a length of time; None for what is neither."""
    if sides_of(expression):
        return None
    try:
        values = as_floats(evaluate(expression, pa.table({"only_one_row": [0]})))
    except (pa.ArrowException, AssertionError, KeyError):
        return None
    if values is None or not values[1][0] or not math.isfinite(values[0][0]):
        return None
    return float(values[0][0])


def as_floats(column: pa.Array) -> tuple[np.ndarray, np.ndarray] | None:
    """Numbers, or times in seconds, as floats, and which of them are valid; None for other types."""
    kind = column.type
    if types.is_date32(kind):
        column = pc.multiply(pc.cast(pc.cast(column, pa.int32()), pa.float64()), 86_400.0)
    elif types.is_timestamp(kind):
        ticks = pc.cast(pc.cast(column, pa.int64()), pa.float64(), safe=False)
        column = pc.divide(ticks, float(TICKS_PER_SECOND[kind.unit]))
    elif types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_duration(kind):
        column = to_float(column)
    else:
        return None
    valid = np.asarray(column.is_valid())
    return pc.fill_null(column, 0.0).to_numpy(zero_copy_only=False), valid


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
    return JoinCondition(tuple(equal), tuple(alone["left"]), tuple(alone["right"]), tuple(pairs), find_bands(pairs))


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


def describe_join(plan: JoinPlan, condition: JoinCondition, sides: Sides, events: pa.Schema) -> list[str]:
    """Lines about windows, how pairs are found, and what is kept on a stream."""
    per_key = f" of each {', '.join(plan.keys)}" if plan.keys else ""
    lines = [
        f"a left event meets {_window(plan.right)}{per_key} on the right",
        f"a right event meets {_window(plan.left)}{per_key} on the left",
    ]
    if sides.marked_by is None:
        lines.append("self-join: every event is on both sides")
    if condition.equal:
        shown = " and ".join(f"{print_expression(one)} = {print_expression(other)}" for one, other in condition.equal)
        lines.append(f"partners are looked up by {shown}")
    for side, parts in (("left", condition.left), ("right", condition.right)):
        if parts:
            shown = " AND ".join(map(print_expression, parts))
            lines.append(f"{side} events are kept out of pairs unless {shown}")
    lines += _describe_tests(condition, sides, events)
    kept = "events of the last " + " and ".join(dict.fromkeys(_kept(window) for window in (plan.left, plan.right)))
    return [*lines, f"kept on a stream: {kept}{per_key}"]


def side_columns(sides: Sides, events: pa.Schema) -> dict[str, pa.Schema]:
    """The columns of each side, under the names that conditions have for them."""
    return {
        side: pa.schema([events.field(column).with_name(name) for name, column in own.items()])
        for side, own in sides.columns.items()
    }


def _describe_tests(condition: JoinCondition, sides: Sides, events: pa.Schema) -> list[str]:
    if not condition.pairs:
        return ["every pair of them is a row"]
    schemas = side_columns(sides, events)
    reasons = []
    for part in condition.pairs:
        found = compile_condition(part, schemas)
        if isinstance(found, NotCompiled):
            reasons.append(f"{print_expression(part)} is tested column by column, as {found.reason} is not compiled")
    if condition.bands:
        band = condition.bands[0]
        found_by = f"{print_expression(band.left)} and {print_expression(band.right)}"
        return [f"partners are found in sorted order of {found_by} where that leaves few, then tested", *reasons]
    rest: st.Expression = condition.pairs[0] if len(condition.pairs) == 1 else st.AllOf(condition.pairs)
    return [f"all pairs are tested by {print_expression(rest)}", *reasons]


def _window(window: Window) -> str:
    if isinstance(window, RowCount):
        every = "" if window.slide == 1 else f", which moves every {window.slide:,} events"
        return f"the last {window.rows:,} events{every}"
    every = "" if window.slide is None else f", which moves every {duration_text(window.slide)}"
    return f"events of the last {duration_text(window.length)}{every}"


def _kept(window: Window) -> str:
    if isinstance(window, RowCount):
        return f"{window.rows + window.slide - 1:,} events"
    return duration_text(window.length + (window.slide or 0))
