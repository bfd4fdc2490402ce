"""Rules that differ in constants only: plans -> groups of one shape.

A team writes one rule and then a thousand of it, each with other thresholds. What is left of a plan when comparisons of
a value with a constant are taken out of the conditions on single events is its *shape*. Plans of one shape become one
plan, and their constants a table: a column per comparison, a row per plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import ClassVar, Literal, TypeAlias

from trendweave.language import syntax_tree as st
from trendweave.language.printer import print_expression
from trendweave.planning.plan import Plan, VariablePlan
from trendweave.planning.situated_plan import QueryPlan

#: How a value is compared with a constant; "in" is an equality with one of several.
Test: TypeAlias = Literal["<", "<=", ">", ">=", "=", "!=", "in"]
Constant: TypeAlias = "st.Literal | st.TimestampLiteral | st.DateLiteral | st.Duration"
#: The constants of a comparison in one plan: several only where it is an "in".
Constants: TypeAlias = tuple[Constant, ...]

_CONSTANTS = (st.Literal, st.TimestampLiteral, st.DateLiteral, st.Duration)
#: Fewer plans are computed one by one: copies of rows cost more than looking constants up saves.
LEAST = 8
#: Options of several lists are looked up in all combinations, if there are not more of a plan.
_MOST_COMBINATIONS = 256
#: So many different texts are asked for in one condition before rows are read; of other constants so many.
_MOST_TEXTS, _MOST_OTHERS = 1_000, 8


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison that was taken out of the conditions of a variable: a row expression, and how it is compared."""

    variable: int
    value: st.Expression
    test: Test

    def with_constants(self, constants: Constants) -> st.Expression:
        """The condition with constants in it."""
        if self.test == "in":
            return st.InList(self.value, constants)
        return st.Comparison(self.test, self.value, constants[0])


@dataclass(frozen=True, eq=False)
class Alike:
    """Plans that are equal but for constants. Each is itself: nobody compares ten thousand constants.

    Attributes:
        members: Their numbers.
        plan: What they have in common; constants that are the same in all of them are a part of it.
        compared: Where they differ.
        constants: Per comparison, the constants of each member.
    """

    kind: ClassVar[str] = "alike"
    members: tuple[int, ...]
    plan: Plan
    compared: tuple[Compared, ...]
    constants: tuple[tuple[Constants, ...], ...]

    @cached_property
    def by_kinds(self) -> list[list[int]]:
        """Members whose constants are of the same kinds."""
        groups: dict[tuple[object, ...], list[int]] = {}
        for member, row in zip(self.members, zip(*self.constants, strict=True), strict=True):
            groups.setdefault(tuple(_kind_of(one[0]) for one in row), []).append(member)
        return list(groups.values())

    @cached_property
    def wide_plan(self) -> Plan:
        """The plan, with conditions that hold wherever those of some member do, so that rows that none of them wants
        are not read."""
        weakest: dict[int, list[st.Expression]] = {}
        for compared, constants in zip(self.compared, self.constants, strict=True):
            condition = _weaken(compared, constants)
            if condition is not None:
                weakest.setdefault(compared.variable, []).append(condition)
        return _ask_more(self.plan, weakest)


@dataclass(frozen=True, slots=True)
class _Shape:
    """A plan without constants, and what was taken out of it."""

    plan: Plan
    compared: tuple[Compared, ...]


def share_constants(plans: Sequence[QueryPlan], left: list[int]) -> list[Alike]:
    """Compute plans together that are equal but for constants, where there are enough of them.

    Args:
        plans: Plans by number.
        left: Those that are not shared in another way.

    Returns:
        The groups.
    """
    return find_alike(plans, left, LEAST)


def find_alike(plans: Sequence[QueryPlan], numbers: Sequence[int], least: int = 2) -> list[Alike]:
    """Find plans that are equal but for constants.

    Args:
        plans: Plans of any kind of query.
        numbers: The places of those that are looked at.
        least: So many plans at least make a group.

    Returns:
        Groups in the order of their first members.
    """
    groups: dict[_Shape, list[tuple[int, tuple[Constants, ...]]]] = {}
    for number in numbers:
        plan = plans[number]
        if isinstance(plan, Plan) and can_be_alike(plan):
            shape, constants = _take_out(plan)
            if constants:
                groups.setdefault(shape, []).append((number, constants))
    made = [_make_group(shape, members) for shape, members in groups.items() if len(members) >= least]
    # Without a difference there is nothing to look up: they are one query under several names.
    return [group for group in made if group.compared]


def can_be_alike(plan: Plan) -> bool:
    """Is what a plan shows the same when other rules are computed with it?

    What is drawn at random depends on the numbers of partitions; so does which trends come first where several
    partitions share a group, or keys of single variables cut them.
    """
    if plan.choice is None:
        return True
    grouped = {group.path for group in plan.groups}
    spread = any(key.path not in grouped for key in plan.partition_key)
    return plan.choice.kind != "sample" and not spread and not plan.bound_keys


def _take_out(plan: Plan) -> tuple[_Shape, tuple[Constants, ...]]:
    found: list[tuple[str, Compared, Constants]] = []
    variables: list[VariablePlan] = []
    for number, variable in enumerate(plan.variables):
        left = []
        combinations = 1
        for condition in variable.local:
            parts = list(_split(condition))
            options = max((len(part[2]) for part in parts if part is not None), default=1)
            too_many = options > 1 and combinations > 1 and combinations * options > _MOST_COMBINATIONS
            if too_many or any(part is None for part in parts):
                left.append(condition)
                continue
            combinations *= options
            for test, value, constants in filter(None, parts):
                found.append((print_expression(value), Compared(number, value, test), constants))
        variables.append(variable if len(left) == len(variable.local) else replace(variable, local=tuple(left)))
    # The order in which conditions are written makes no difference.
    found.sort(key=lambda one: (one[1].variable, one[1].test, one[0]))
    shape = _Shape(replace(plan, text="", variables=tuple(variables)), tuple(compared for _, compared, _ in found))
    return shape, tuple(constants for _, _, constants in found)


def _split(condition: st.Expression) -> Iterator[tuple[Test, st.Expression, Constants] | None]:
    """A condition as comparisons of a value with constants; None for what is none."""
    match condition:
        case st.Comparison(operator=operator, left=left, right=right):
            if _is_constant(right) and not isinstance(left, _CONSTANTS):
                yield operator, left, (right,)  # type: ignore[misc]
            elif _is_constant(left) and not isinstance(right, _CONSTANTS):
                yield st.MIRRORED[operator], right, (left,)  # type: ignore[misc]
            else:
                yield None
        case st.Between(operand=operand, low=low, high=high, negated=False) if not isinstance(operand, _CONSTANTS):
            constant = _is_constant(low) and _is_constant(high)
            yield (">=", operand, (low,)) if constant else None  # type: ignore[misc]
            yield ("<=", operand, (high,)) if constant else None  # type: ignore[misc]
        case st.InList(operand=operand, options=options, negated=False) if not isinstance(operand, _CONSTANTS):
            # Options of several kinds are compared in a type that all of them have in common.
            kinds = {_kind_of(option) for option in options}
            yield ("in", operand, options) if all(map(_is_constant, options)) and len(kinds) == 1 else None  # type: ignore[misc]
        case _:
            yield None


def _is_constant(expression: st.Expression) -> bool:
    """A comparison with NULL is never true; it stays what it is."""
    if isinstance(expression, st.Literal):
        value = expression.value
        return value is not None and (type(value) is not int or -(2**63) <= value < 2**63)
    return isinstance(expression, _CONSTANTS)


def _kind_of(expression: st.Expression) -> object:
    match expression:
        case st.Literal(value=value):
            return type(value)
        case st.Duration(nanoseconds=nanoseconds):
            return (st.Duration, bool(nanoseconds is not None and nanoseconds % 1_000))
    return type(expression)


def _make_group(shape: _Shape, members: list[tuple[int, tuple[Constants, ...]]]) -> Alike:
    columns = list(zip(*(constants for _, constants in members), strict=True))
    same = [all(constants == column[0] for constants in column) for column in columns]
    back: dict[int, list[st.Expression]] = {}
    for compared, column, is_same in zip(shape.compared, columns, same, strict=True):
        if is_same:
            back.setdefault(compared.variable, []).append(compared.with_constants(column[0]))
    differing = [place for place, is_same in enumerate(same) if not is_same]
    return Alike(
        tuple(number for number, _ in members),
        _ask_more(shape.plan, back),
        tuple(shape.compared[place] for place in differing),
        tuple(columns[place] for place in differing),
    )


def _ask_more(plan: Plan, conditions: Mapping[int, list[st.Expression]]) -> Plan:
    """The plan with more conditions on its variables."""
    variables = tuple(
        replace(variable, local=(*variable.local, *conditions.get(number, ())))
        for number, variable in enumerate(plan.variables)
    )
    return replace(plan, variables=variables)


def _weaken(compared: Compared, constants: Sequence[Constants]) -> st.Expression | None:
    """A condition that holds wherever a comparison with one of the constants does; None where none is worth it."""
    if compared.test == "!=":
        return None
    by_kind: dict[object, list[Constant]] = {}
    for constant in dict.fromkeys(chain.from_iterable(constants)):
        by_kind.setdefault(_kind_of(constant), []).append(constant)
    if compared.test in ("=", "in"):
        only_texts = set(by_kind) == {str}
        if sum(map(len, by_kind.values())) > (_MOST_TEXTS if only_texts else _MOST_OTHERS):
            return None
        return st.any_of(tuple(_equals_one_of(compared.value, options) for options in by_kind.values()))
    pick = min if compared.test in (">", ">=") else max
    weakest = (pick(options, key=_order) for options in by_kind.values())
    return st.any_of(tuple(compared.with_constants((constant,)) for constant in weakest))


def _equals_one_of(value: st.Expression, options: list[Constant]) -> st.Expression:
    return st.Comparison("=", value, options[0]) if len(options) == 1 else st.InList(value, tuple(options))


def _order(constant: Constant) -> bool | int | float | bytes:
    """What constants of one kind are ordered by; texts by their bytes."""
    match constant:
        case st.Literal(value=value):
            assert value is not None, "NULL is no constant"
            return value.encode() if isinstance(value, str) else value
        case st.TimestampLiteral(microseconds=number) | st.DateLiteral(days=number) | st.Duration(nanoseconds=number):
            assert number is not None, "a problem was reported for it"
            return number
