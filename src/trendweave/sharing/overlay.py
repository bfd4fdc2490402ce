"""Templates of several queries laid over each other: states that play the same role are one state of a merged template.

A merged state may be read differently by each query (other types, other conditions on single events), and trends of
each begin, end and go on as its own template says. What must be the same for all is what a transition asks of two
events, because the search for predecessors is what queries share. What variables are called does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
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
from trendweave.sharing.merged import Reading, reading_of

#: What speaks for one state as two queries' common one: the same comparison of events, the same step, the same reading;
#: and against it: a step that only one of them has.
_COMPARED, _STEP, _READ_ALIKE, _STEP_OF_ONE = 10, 3, 2, -2


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


@dataclass(frozen=True, slots=True)
class Lane:
    """What a query has of a merged template: how it is read in which roles, and numbers of roles and transitions.
    Queries that differ only in what they return have one lane."""

    readings: tuple[tuple[int, Reading], ...]
    starts: frozenset[int]
    ends: frozenset[int]
    steps: frozenset[tuple[int, int]]

    @staticmethod
    def of(pattern: Pattern, places: tuple[int, ...]) -> Lane:
        """What a pattern has whose states have these roles."""
        return Lane(
            tuple(sorted(zip(places, pattern.readings, strict=True), key=lambda one: one[0])),
            frozenset(places[state] for state in pattern.starts),
            frozenset(places[state] for state in pattern.ends),
            frozenset((places[source], places[target]) for source, target in pattern.steps),
        )


@dataclass(frozen=True, slots=True)
class Laid:
    """A query that was laid over others: its number, the role of each of its states, and the number of its lane."""

    member: int
    plan: Plan
    pattern: Pattern
    places: tuple[int, ...]
    lane: int


@dataclass(slots=True)
class Overlay:
    """A merged template that grows."""

    steps: dict[tuple[int, int], StepCondition] = field(default_factory=dict)
    starts: dict[int, tuple[Guard, Guard]] = field(default_factory=dict)
    ends: dict[int, Guard] = field(default_factory=dict)
    readings: list[set[Reading]] = field(default_factory=list)
    lanes: dict[Lane, int] = field(default_factory=dict)
    laid: list[Laid] = field(default_factory=list)

    def place(self, pattern: Pattern) -> tuple[int, ...]:
        """The roles that the states of a pattern would have, chosen one after the other, those with comparisons of
        events first."""
        compared = [0] * len(pattern.readings)
        for (source, target), condition in pattern.steps.items():
            for state in (source, target):
                compared[state] += condition.compares_events * (2 if source == target else 1)
        roles: dict[int, int] = {}
        new = len(self.readings)
        for state in sorted(range(len(compared)), key=lambda one: (-compared[one], one)):
            free = (role for role in range(len(self.readings)) if role not in roles.values())
            scores = {role: self._fit(pattern, state, role, roles) for role in free}
            best = max(scores, key=lambda role: scores[role], default=None)
            if best is not None and scores[best] > 0:
                roles[state] = best
            else:
                roles[state] = new
                new += 1
        return tuple(roles[state] for state in range(len(compared)))

    def _fit(self, pattern: Pattern, state: int, role: int, roles: dict[int, int]) -> int:
        """How well a state fits a role, beside those that have theirs; -1 where it cannot."""
        fit = _READ_ALIKE * (pattern.readings[state] in self.readings[role])
        for own, known in ((pattern.starts, self.starts), (pattern.ends, self.ends)):
            if state in own and role in known and own[state] != known[role]:
                return -1
            fit += 1 if (state in own) == (role in known) else -1
        pairs = {((state, state), (role, role))}
        for other, its_role in roles.items():
            pairs |= {((state, other), (role, its_role)), ((other, state), (its_role, role))}
        for between, of_roles in pairs:
            mine, theirs = pattern.steps.get(between), self.steps.get(of_roles)
            if mine is not None and theirs is not None:
                if mine != theirs:
                    return -1
                fit += _COMPARED if mine.compares_events else _STEP
            elif mine is not None or theirs is not None:
                fit += _STEP_OF_ONE
        return fit

    def shared_steps(self, pattern: Pattern, places: tuple[int, ...]) -> list[StepCondition]:
        """The transitions that a pattern, so placed, would have in common with those that are there: what they ask for
        is the same, and some events are read by both."""
        common = []
        for source, target in pattern.steps:
            pair = (places[source], places[target])
            if pair in self.steps and all(
                any(may_read_the_same(pattern.readings[state], known) for known in self.readings[role])
                for state, role in zip((source, target), pair, strict=True)
            ):
                common.append(self.steps[pair])
        return common

    def add(self, member: int, plan: Plan, pattern: Pattern, places: tuple[int, ...]) -> None:
        """Lay the pattern of a query over the others."""
        for state, role in enumerate(places):
            while role >= len(self.readings):
                self.readings.append(set())
            self.readings[role].add(pattern.readings[state])
        for (source, target), condition in pattern.steps.items():
            self.steps.setdefault((places[source], places[target]), condition)
        for state, guards in pattern.starts.items():
            self.starts.setdefault(places[state], guards)
        for state, guard in pattern.ends.items():
            self.ends.setdefault(places[state], guard)
        lane = self.lanes.setdefault(Lane.of(pattern, places), len(self.lanes))
        self.laid.append(Laid(member, plan, pattern, places, lane))
