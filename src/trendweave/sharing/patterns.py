"""Patterns of plans in a form that can be compared: what variables are called does not matter, what they read does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from trendweave.language import syntax_tree as st
from trendweave.planning.plan import (
    EdgeComparison,
    EdgePlan,
    End,
    Guard,
    NegatedPattern,
    Plan,
    Start,
    State,
    Template,
    Transition,
    VariablePlan,
)
from trendweave.planning.predicates import rewrite_columns
from trendweave.sharing.eligible import reading_of
from trendweave.sharing.merged import Reading


@dataclass(frozen=True, slots=True)
class StepCondition:
    """What a transition asks for: of the two events, and of what lies between them."""

    comparisons: tuple[EdgeComparison, ...]
    general: tuple[st.Expression, ...]
    guard: Guard
    closed: Guard

    @property
    def compares_events(self) -> bool:
        return bool(self.comparisons or self.general)


@dataclass(frozen=True, slots=True)
class Pattern:
    """A plan's template without names. Guards number negated patterns as a workload does.

    Attributes:
        readings: Per state, how events are read.
        steps: What must hold along each transition, by its states.
        starts: The guards of states that trends begin in.
        ends: Those of states that they end in.
        variables: Per state, the plan's name of its variable.
    """

    readings: tuple[Reading, ...]
    steps: dict[tuple[int, int], StepCondition]
    starts: dict[int, tuple[Guard, Guard]]
    ends: dict[int, Guard]
    variables: tuple[str, ...]


class Negations:
    """Negated patterns of several plans, each kept once and with names of its own."""

    def __init__(self) -> None:
        self.patterns: list[NegatedPattern] = []
        self.variables: list[VariablePlan] = []
        self.edges: list[EdgePlan] = []
        self._numbers: dict[Any, int] = {}

    def number(self, plan: Plan, negation: NegatedPattern) -> int:
        """The number of a negated pattern among all; a new one if no plan had it before."""
        template = negation.template
        names = list(dict.fromkeys(state.variable for state in template.states))
        neighbours = sorted((names.index(a), names.index(b)) for a, b in template.neighbours())
        conditions = tuple((a, b, *_edge_conditions(plan, names[a], names[b])) for a, b in neighbours)
        readings = tuple(reading_of(plan, name) for name in names)
        states = tuple(names.index(state.variable) for state in template.states)
        key = (readings, states, template.starts, template.transitions, template.ends, conditions)
        if key not in self._numbers:
            number = len(self.patterns)
            self._numbers[key] = number
            own = [f"not{number}_{place}" for place in range(len(names))]
            renamed = tuple(
                State(state.number, own[names.index(state.variable)], state.type) for state in template.states
            )
            self.patterns.append(NegatedPattern(number, negation.text, replace(template, states=renamed)))
            pairs = zip(own, readings, strict=True)
            self.variables += [VariablePlan(name, reading.type, True, reading.local) for name, reading in pairs]
            self.edges += [EdgePlan(own[a], own[b], comparisons, general) for a, b, comparisons, general in conditions]
        return self._numbers[key]


def may_read_the_same(one: Reading, other: Reading) -> bool:
    """Could an event be read both ways? Not where types differ, or one value is asked to be two constants."""
    if one.type != other.type and None not in (one.type, other.type):
        return False
    asked = [dict(_equal_to_constants(reading.local)) for reading in (one, other)]
    return all(asked[1].get(value, constant) == constant for value, constant in asked[0].items())


def _equal_to_constants(local: Sequence[st.Expression]) -> Iterator[tuple[st.Expression, st.Expression]]:
    for condition in local:
        match condition:
            case st.Comparison(operator="=", left=left, right=st.Literal() as right):
                yield left, right
            case st.Comparison(operator="=", left=st.Literal() as left, right=right):
                yield right, left


def find_pattern(plan: Plan, negations: Negations) -> Pattern | None:
    """A plan's pattern.

    Args:
        plan: A plan with one template and no bound keys.
        negations: Takes up the negated patterns of the plan.

    Returns:
        The pattern; None where two transitions have the same states, or a state two ways to begin or end.
    """
    template = plan.template
    starts = {start.state: start for start in template.starts}
    ends = {end.state: end for end in template.ends}
    steps = {(step.source, step.target): step for step in template.transitions}
    if (len(starts), len(ends), len(steps)) != tuple(
        map(len, (template.starts, template.ends, template.transitions))
    ) or not all(_is_plain(negation.template) for negation in plan.negations):
        return None
    number = [negations.number(plan, negation) for negation in plan.negations]
    variables = tuple(state.variable for state in template.states)

    def renumbered(guard: Guard) -> Guard:
        return Guard(tuple(sorted(tuple(sorted(number[n] for n in way)) for way in guard.alternatives)))

    def condition(step: Transition) -> StepCondition:
        edge = _edge_conditions(plan, variables[step.source], variables[step.target])
        return StepCondition(*edge, renumbered(step.guard), renumbered(step.closed))

    return Pattern(
        tuple(reading_of(plan, name) for name in variables),
        {pair: condition(step) for pair, step in steps.items()},
        {state: (renumbered(start.guard), renumbered(start.closed)) for state, start in starts.items()},
        {state: renumbered(end.guard) for state, end in ends.items()},
        variables,
    )


def _is_plain(template: Template) -> bool:
    """Has a negated pattern no NOT of its own?"""
    parts: Iterable[Start | Transition | End] = (*template.starts, *template.transitions, *template.ends)
    return all(part.guard.always_open for part in parts)


def _edge_conditions(
    plan: Plan, earlier: str, later: str
) -> tuple[tuple[EdgeComparison, ...], tuple[st.Expression, ...]]:
    """What must hold between two neighbours, with one name for all later events."""
    edge = plan.edge(earlier, later)

    def rename(node: st.Attribute | st.NextAttribute) -> st.Expression:
        return st.NextAttribute("later", node.names) if isinstance(node, st.NextAttribute) else node

    return edge.comparisons, tuple(rewrite_columns(expression, rename) for expression in edge.general)
