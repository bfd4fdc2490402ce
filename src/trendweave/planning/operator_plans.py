"""What operators do, as data: frozen nodes that a program is bound from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from trendweave.language.printer import print_expression
from trendweave.language.syntax_tree import Aggregate, Calculated, Expression, Output


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """A window of time. It holds what is less than `length` nanoseconds old.

    Attributes:
        length: In nanoseconds.
        slide: It begins at multiples of so many nanoseconds, counted from 1970; None: it moves with every moment.
    """

    length: int
    slide: int | None = None


@dataclass(frozen=True, slots=True)
class RowCount:
    """A window of so many events of one key; the first is full with event number `rows`, later ones `slide` events
    after each other."""

    rows: int
    slide: int = 1


Window: TypeAlias = TimeSpan | RowCount


@dataclass(frozen=True, slots=True)
class FilterPlan:
    """Keeps the events in which a condition is true."""

    condition: Expression
    text: str


@dataclass(frozen=True, slots=True)
class AggregatePlan:
    """One row per window and key.

    Attributes:
        outputs: What is asked for, by name.
        window: Time windows have a slide.
        keys: Windows are those of events with equal values in these columns.
        order_by: Columns that tell which of several events of one time comes first.
        text: How the operator is written.
    """

    outputs: tuple[Output, ...]
    window: Window
    keys: tuple[str, ...]
    order_by: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class JoinPlan:
    """One row per pair of events of two sides that is found when the later one comes.

    Attributes:
        condition: Names columns as `left.x` and `right.x`; None: every pair.
        left: The window over events of the left side, which events of the right side look into.
        right: The other one.
        keys: Only events with equal values in these columns meet, and windows are those of one such key.
        order_by: Columns that tell which of several events of one time comes first.
        text: How the operator is written.
    """

    condition: Expression | None
    left: Window
    right: Window
    keys: tuple[str, ...]
    order_by: tuple[str, ...]
    text: str


OperatorPlan: TypeAlias = FilterPlan | AggregatePlan | JoinPlan


def output_name(output: Output) -> str:
    """The column of an aggregate: as it was named, else `count` of COUNT(*), `avg_price` of AVG(price); what is
    computed of aggregates is called as it is written."""
    if output.alias is not None:
        return output.alias
    value = output.value
    if not isinstance(value, Aggregate) or isinstance(value.argument, Calculated):
        return print_expression(value)
    return "_".join([value.function.lower(), *(() if value.argument is None else value.argument.names)])


def output_names(plan: AggregatePlan) -> tuple[str, ...]:
    """The columns of all aggregates, in order."""
    return tuple(map(output_name, plan.outputs))
