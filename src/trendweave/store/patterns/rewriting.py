"""What every trend of a query must contain: a sequence of mandatory symbols, with conditions that indexes understand
(thesis, 3.4.4, Table 3.2).

The states that lie on all ways through a template are mandatory. Local predicates of each become ranges of values,
which tell the blocks where it may occur and the terms that secondary indexes can be asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.types as types

from trendweave.expressions.arrow.evaluate import evaluate
from trendweave.language import syntax_tree as st
from trendweave.planning.plan import Plan, Template
from trendweave.store.index.blocks import Blocks

Following: TypeAlias = Mapping[int, frozenset[int]]


@dataclass(frozen=True, slots=True)
class Ways:
    """States from which a trend can end, the steps between them, and where trends begin and end."""

    following: Following
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    @staticmethod
    def of(template: Template) -> Ways:
        """The ways of a template; what leads to no end is left out."""
        steps = [(step.source, step.target) for step in template.transitions]
        ends = {end.state for end in template.ends}
        useful = _reached(ends, _turned(steps))
        following = {
            state: frozenset(target for source, target in steps if source == state and target in useful)
            for state in useful
        }
        starts = sorted({start.state for start in template.starts} & useful)
        kept = _reached(starts, following)
        return Ways({state: following[state] for state in kept}, tuple(starts), tuple(sorted(ends & kept)))

    def on_every_way(self) -> tuple[int, ...]:
        """The states that every trend passes, in the order in which it passes them first."""
        found = []
        for state in self.following:
            rest = {one: after - {state} for one, after in self.following.items() if one != state}
            reached = _reached((one for one in self.starts if one != state), rest)
            if not reached & set(self.ends):
                found.append((len(reached), state))
        # What is passed before a mandatory state is passed before the next one, too.
        return tuple(state for _, state in sorted(found))

    def is_repeated(self, state: int) -> bool:
        """Whether a trend may pass a state again."""
        return state in _reached(self.following[state], self.following)

    def shortest(self, first: Iterable[int], last: Iterable[int]) -> int:
        """The fewest steps from one of some states to one of others; 0 where both have one."""
        wanted, layer, steps = set(last), set(first), 0
        seen = set(layer)
        while not layer & wanted:
            layer = {after for state in layer for after in self.following[state]} - seen
            assert layer, "there is a way"
            seen |= layer
            steps += 1
        return steps

    def longest(self, first: Iterable[int], last: Iterable[int], until_first: bool) -> int | None:
        """The most steps from one of some states to one of others; None where there is no limit.

        Args:
            first: Where ways begin.
            last: Where they end.
            until_first: Ways end when they come there for the first time.
        """
        first, last = set(first), set(last)
        following = {
            state: frozenset() if until_first and state in last else after for state, after in self.following.items()
        }
        back = _turned((state, target) for state, after in following.items() for target in after)
        between = _reached(first, following) & _reached(last, back)
        inner = {state: following[state] & between for state in between}
        if any(state in _reached(after, inner) for state, after in inner.items()):
            return None
        lengths: dict[int, int] = {}

        def length(state: int) -> int:
            if state not in lengths:
                onward = [1 + length(after) for after in inner[state]]
                lengths[state] = max([*onward, 0] if state in last else onward)
            return lengths[state]

        return max(length(state) for state in first & between)


def _turned(steps: Iterable[tuple[int, int]]) -> Following:
    before: dict[int, set[int]] = {}
    for source, target in steps:
        before.setdefault(target, set()).add(source)
    return {state: frozenset(sources) for state, sources in before.items()}


def _reached(states: Iterable[int], following: Following) -> set[int]:
    reached = set(states)
    waiting = list(reached)
    while waiting:
        for after in following.get(waiting.pop(), frozenset()) - reached:
            reached.add(after)
            waiting.append(after)
    return reached


Constant: TypeAlias = int | float | str | datetime
Ask: TypeAlias = tuple[st.ComparisonOperator, Constant]

#: Beyond this, whole numbers and floats are no longer the same numbers.
_EXACT = 2**53
_ONE_ROW = pa.table({"": pa.array([0])})
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Range:
    """Values between two bounds; None: no bound. An open bound is left out itself."""

    low: Constant | None = None
    high: Constant | None = None
    low_open: bool = False
    high_open: bool = False

    @property
    def asks(self) -> tuple[Ask, ...]:
        """The comparisons that all of its values meet, and no others."""
        if self.low is not None and self.low == self.high:
            return (("=", self.low),)
        found: list[Ask] = []
        if self.low is not None:
            found.append((">" if self.low_open else ">=", self.low))
        if self.high is not None:
            found.append(("<" if self.high_open else "<=", self.high))
        return tuple(found)

    @property
    def is_empty(self) -> bool:
        """Whether it has no value."""
        if self.low is None or self.high is None:
            return False
        beyond: bool = self.low > self.high  # type: ignore[operator]
        return beyond or (self.low == self.high and (self.low_open or self.high_open))

    def and_(self, other: Range) -> Range:
        """The values that both have, which are of one kind."""
        low, low_open = self.low, self.low_open
        if low is None or (other.low is not None and other.low > low):  # type: ignore[operator]
            low, low_open = other.low, other.low_open
        elif other.low == low:
            low_open |= other.low_open
        high, high_open = self.high, self.high_open
        if high is None or (other.high is not None and other.high < high):  # type: ignore[operator]
            high, high_open = other.high, other.high_open
        elif other.high == high:
            high_open |= other.high_open
        return Range(low, high, low_open, high_open)

    def __str__(self) -> str:
        return " and ".join(f"{operator} {value!r}" for operator, value in self.asks) or "any value"


@dataclass(frozen=True, slots=True)
class Comparison:
    """A column is compared with a constant of its kind."""

    column: str
    operator: st.ComparisonOperator
    constant: Constant

    @property
    def range(self) -> Range | None:
        """The values that it leaves; None where they are two ranges."""
        match self.operator:
            case "=":
                return Range(self.constant, self.constant)
            case "<" | "<=":
                return Range(high=self.constant, high_open=self.operator == "<")
            case ">" | ">=":
                return Range(low=self.constant, low_open=self.operator == ">")
        return None


def read_comparison(condition: st.Expression, schema: pa.Schema) -> Comparison | None:
    """A comparison of a column with a constant of its kind; None where it is none."""
    if not isinstance(condition, st.Comparison):
        return None
    left, right, operator = condition.left, condition.right, condition.operator
    if not isinstance(left, st.Attribute):
        left, right, operator = right, left, st.MIRRORED[operator]
    if not isinstance(left, st.Attribute) or len(left.names) != 1 or left.names[0] not in schema.names:
        return None
    constant = read_constant(right, schema.field(left.names[0]).type)
    return None if constant is None else Comparison(left.names[0], operator, constant)


def read_constant(expression: st.Expression, kind: pa.DataType) -> Constant | None:
    """The value of an expression without columns, if values of a column of this type are compared with it as they
    are."""
    if any(isinstance(node, st.Attribute | st.NextAttribute | st.PreviousAttribute) for node in expression.walk()):
        return None
    if isinstance(expression, st.TimestampLiteral | st.DateLiteral):
        return _read_time(expression) if types.is_timestamp(kind) else None
    value = evaluate(expression, _ONE_ROW)[0].as_py()
    if isinstance(value, str):
        return value if types.is_string(kind) or types.is_large_string(kind) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if types.is_floating(kind) or (types.is_integer(kind) and not types.is_uint64(kind)):
        mixed = isinstance(value, float) or types.is_floating(kind)
        return None if math.isnan(value) or (mixed and math.isfinite(value) and abs(value) > _EXACT) else value
    return None


def _read_time(expression: st.TimestampLiteral | st.DateLiteral) -> datetime | None:
    try:
        return _EPOCH + (
            timedelta(days=expression.days)
            if isinstance(expression, st.DateLiteral)
            else timedelta(microseconds=expression.microseconds)
        )
    except OverflowError:
        return None


def find_possible(condition: st.Expression | None, blocks: Blocks, schema: pa.Schema) -> np.ndarray:
    """Where a condition may be true.

    Args:
        condition: On one event; None holds everywhere.
        blocks: What is known.
        schema: The columns of the events.

    Returns:
        True or False per block.
    """
    anywhere = np.ones(blocks.count.size, np.bool_)
    match condition:
        case st.AllOf(parts=parts):
            return np.logical_and.reduce([find_possible(part, blocks, schema) for part in parts])
        case st.AnyOf(parts=parts):
            return np.logical_or.reduce([find_possible(part, blocks, schema) for part in parts])
        case st.Between(operand=operand, low=low, high=high, negated=False):
            bounds = (st.Comparison(">=", operand, low), st.Comparison("<=", operand, high))
            return np.logical_and.reduce([find_possible(part, blocks, schema) for part in bounds])
        case st.InList(operand=operand, options=options, negated=False):
            equal = [find_possible(st.Comparison("=", operand, option), blocks, schema) for option in options]
            return np.logical_or.reduce(equal)
        case st.IsNull(operand=st.Attribute(names=(name,)), negated=negated):
            known = blocks.column(name) if name in schema.names else None
            if known is None:
                return anywhere
            some = known.nulls < blocks.count if negated else known.nulls > 0
            return some | ~known.known | ~blocks.exact
        case st.Comparison():
            found = read_comparison(condition, schema)
            if found is not None:
                operator = "<>" if found.operator == "!=" else found.operator
                return blocks.may_hold(found.column, operator, found.constant)
    return anywhere


@dataclass(frozen=True, slots=True)
class Term:
    """An event meets one of these: the value of a column lies in a range."""

    alternatives: tuple[tuple[str, Range], ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(column for column, _ in self.alternatives))

    def __str__(self) -> str:
        shown = [f"{column} {part}" for column, asked in self.alternatives for part in [str(asked)]]
        return " or ".join(shown[:3]) + (f" or {len(shown) - 3} more" if len(shown) > 3 else "")


def find_terms(
    condition: st.Expression | None, schema: pa.Schema, is_indexed: Callable[[str], bool]
) -> tuple[Term, ...]:
    """The terms of a condition: it holds only where all of them do. AND gives the terms of all of its parts, those of
    one column as one; OR gives one term where each of its parts has one.

    Args:
        condition: Of a symbol.
        schema: The columns of the events.
        is_indexed: Whether a column has an index that can be asked.
    """
    match condition:
        case st.AllOf(parts=parts):
            return _join([term for part in parts for term in find_terms(part, schema, is_indexed)])
        case st.AnyOf(parts=parts):
            options = [find_terms(part, schema, is_indexed) for part in parts]
            if not all(options):
                return ()
            return (Term(tuple(one for terms in options for one in terms[0].alternatives)),)
        case st.Between(operand=operand, low=low, high=high, negated=False):
            bounds = (st.Comparison(">=", operand, low), st.Comparison("<=", operand, high))
            return find_terms(st.AllOf(bounds), schema, is_indexed)
        case st.InList(operand=st.Attribute(names=(name,)), options=values, negated=False) if name in schema.names:
            found = [read_constant(value, schema.field(name).type) for value in values]
            if not is_indexed(name) or None in found:
                return ()
            points = dict.fromkeys(found)
            return (Term(tuple((name, Range(point, point)) for point in points)),)
        case st.Comparison():
            comparison = read_comparison(condition, schema)
            if comparison is None or comparison.range is None or not is_indexed(comparison.column):
                return ()
            return (Term(((comparison.column, comparison.range),)),)
    return ()


def _join(terms: list[Term]) -> tuple[Term, ...]:
    """Terms of one range each of the same column as one."""
    single: dict[str, Range] = {}
    others = []
    for term in terms:
        column, asked = term.alternatives[0]
        if len(term.alternatives) > 1:
            others.append(term)
        else:
            single[column] = single[column].and_(asked) if column in single else asked
    return (*(Term(((column, asked),)) for column, asked in single.items()), *dict.fromkeys(others))


@dataclass(frozen=True, slots=True)
class Symbol:
    """An event that every trend has.

    Attributes:
        name: The variables that it may be read as, for people.
        condition: What holds for it; None: nothing is known.
    """

    name: str
    condition: st.Expression | None


@dataclass(frozen=True, slots=True)
class Steps:
    """How many steps a trend takes from one of its events to another: at least, and at most (None: any number)."""

    least: int
    most: int | None

    @property
    def is_fixed(self) -> bool:
        """Whether the number is always the same."""
        return self.least == self.most

    def then(self, other: Steps) -> Steps:
        """Both, one after the other."""
        most = None if self.most is None or other.most is None else self.most + other.most
        return Steps(self.least + other.least, most)


@dataclass(frozen=True, slots=True)
class Necessary:
    """Symbols in the order in which every trend has them. The first is the trend's first event, the last its last one;
    where no step lies between two symbols they may be the same event.

    Attributes:
        symbols: At least one; where there is one alone, all trends have one event.
        gaps: The steps from each symbol to the next.
    """

    symbols: tuple[Symbol, ...]
    gaps: tuple[Steps, ...]

    def steps_between(self, first: int, last: int) -> Steps:
        """The steps from one symbol to another that is not before it."""
        steps = Steps(0, 0)
        for gap in self.gaps[first:last]:
            steps = steps.then(gap)
        return steps


def find_necessary(plan: Plan, template: Template, type_: str | None) -> Necessary | None:
    """The mandatory symbols of a template; None where it matches nothing.

    Args:
        plan: The plan that has the template.
        template: One of its templates.
        type_: The column that holds the type, if any.
    """
    ways = Ways.of(template)
    if not ways.starts:
        return None
    layers: list[tuple[int, ...]] = [(state,) for state in ways.on_every_way()]
    if layers and layers[0] == ways.starts:
        del layers[0]
    if layers and layers[-1] == ways.ends and not ways.is_repeated(layers[-1][0]):
        del layers[-1]
    layers.insert(0, ways.starts)
    if ways.ends != ways.starts or any(ways.following[state] for state in ways.ends) or len(layers) > 1:
        layers.append(ways.ends)
    gaps = [
        Steps(ways.shortest(one, other), ways.longest(one, other, until_first=number < len(layers) - 2))
        for number, (one, other) in enumerate(pairwise(layers))
    ]
    return Necessary(tuple(_make_symbol(plan, template, layer, type_) for layer in layers), tuple(gaps))


def _make_symbol(plan: Plan, template: Template, layer: tuple[int, ...], type_: str | None) -> Symbol:
    variables = tuple(dict.fromkeys(template.states[state].variable for state in layer))
    conditions = [find_condition(plan, variable, type_) for variable in variables]
    known = tuple(condition for condition in conditions if condition is not None)
    return Symbol(" or ".join(variables), st.any_of(known) if len(known) == len(conditions) else None)


def find_condition(plan: Plan, name: str, type_: str | None) -> st.Expression | None:
    """What holds for an event that is read as a variable: its type, its local predicates, and keys that are known."""
    variable = plan.variable(name)
    parts: list[st.Expression] = []
    if type_ is not None and variable.type is not None:
        parts.append(st.Comparison("=", st.Attribute((type_,)), st.Literal(variable.type)))
    parts += variable.local
    parts += [
        st.IsNull(st.Attribute(key.path), negated=True)
        for key in (*plan.partition_key, *plan.bound_keys)
        if not key.nullable and key.variable in (None, name)
    ]
    return st.all_of(tuple(parts)) if parts else None
