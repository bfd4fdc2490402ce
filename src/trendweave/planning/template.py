"""Pattern -> template: one path per trend, as few states as possible, and NOTs of single events as variables that
block gaps.
"""

from __future__ import annotations

from dataclasses import dataclass

from trendweave.language import syntax_tree as st
from trendweave.planning.automata import (
    NO_WAY,
    START,
    Automaton,
    Move,
    PositionBuilder,
    Positions,
    Ways,
    as_guard,
    determinise,
    intersect,
    is_ambiguous,
    minimise,
    trim,
)
from trendweave.planning.plan import NEVER, End, Guard, NegatedPattern, Plan, Start, State, Template, Transition


@dataclass(frozen=True, slots=True)
class Blocking:
    """Names of variables whose events block a gap; nothing where the gap has no NOT.

    Attributes:
        why_not: Why there is more to NOTs than such variables, in a few words; None where there is not.
        before: Per start of the template, those that block the gap from the beginning of the window.
        between: Per transition, those that block the gap between its events.
        behind: Per end, those that block the gap to the end of the window.
    """

    why_not: str | None
    before: tuple[frozenset[str], ...] = ()
    between: tuple[frozenset[str], ...] = ()
    behind: tuple[frozenset[str], ...] = ()

    @property
    def variables(self) -> frozenset[str]:
        """All variables that block a gap."""
        return frozenset().union(*self.before, *self.between, *self.behind)

    @property
    def leads(self) -> bool:
        """Does it matter what the window had before a trend begins?"""
        return any(self.before)


def find_blocking(plan: Plan) -> Blocking:
    """Find the variables whose events block gaps of a plan's trends.

    Args:
        plan: A plan of one pattern, without keys of single variables and conditions on earlier events.

    Returns:
        The variables, or why there is more to the NOTs of the plan.
    """
    template = plan.template
    alone = [_alone(negation) for negation in plan.negations]
    if any(names is None for names in alone):
        return Blocking("NOT of several events asks for the first of them")
    closed = [start.closed for start in template.starts] + [step.closed for step in template.transitions]
    guards = [start.guard for start in template.starts] + [end.guard for end in template.ends]
    guards += [step.guard for step in template.transitions]
    if any(one != NEVER for one in closed) or any(len(guard.alternatives) != 1 for guard in guards):
        return Blocking("readings that differ in their NOTs are told apart by what lies between events")

    def names_of(guard: Guard) -> frozenset[str]:
        return frozenset().union(*(alone[number] or () for number in guard.alternatives[0]))

    return Blocking(
        None,
        tuple(names_of(start.guard) for start in template.starts),
        tuple(names_of(step.guard) for step in template.transitions),
        tuple(names_of(end.guard) for end in template.ends),
    )


def _alone(negation: NegatedPattern) -> frozenset[str] | None:
    """The variables that each match begins with, where an event read as one of them is a match by itself; else None."""
    template = negation.template
    ends = {end.state for end in template.ends if end.guard.always_open}
    for start in template.starts:
        if start.state not in ends or not start.guard.always_open or start.closed != NEVER:
            return None
    return frozenset(template.states[start.state].variable for start in template.starts)


def count_states(plan: Plan, blocking: Blocking) -> int:
    """States that numbers are kept for, at most: a copy of each that a NOT stands behind, and one for what a window has
    before a trend begins.

    Args:
        plan: The plan.
        blocking: The variables that block its gaps.

    Returns:
        Their number.
    """
    template = plan.template
    copies = {(step.source, names) for step, names in zip(template.transitions, blocking.between, strict=True) if names}
    copies |= {(end.state, names) for end, names in zip(template.ends, blocking.behind, strict=True) if names}
    return len(template.states) + len(copies) + len(set(blocking.before) - {frozenset()})


def build_automaton(
    pattern: st.Pattern, negations: dict[st.Pattern, int], blocking: bool = False, window_apart: bool = False
) -> tuple[Automaton, Ways]:
    """The automaton of a pattern without AND, and the ways in which the pattern matches the empty trend.

    Args:
        pattern: The pattern.
        negations: Numbers the patterns under NOT, for the whole query.
        blocking: The strategy is skip-till-next-match.
        window_apart: Each window is looked at by itself.
    """
    positions = PositionBuilder(negations).build(pattern)
    return minimise(determinise(positions, blocking, window_apart)), positions.empty


def build_negated(pattern: st.Pattern, negations: dict[st.Pattern, int]) -> tuple[Automaton, Ways]:
    """The same for a pattern under NOT. That there is a match is all that counts, so where readings differ in their
    NOTs the positions themselves are the states."""
    positions = PositionBuilder(negations).build(pattern)
    if is_ambiguous(positions):
        return _positions_as_states(positions), positions.empty
    return minimise(determinise(positions, blocking=False, window_apart=True)), positions.empty


def _positions_as_states(positions: Positions) -> Automaton:
    result = Automaton.with_start()
    for position, variable in enumerate(positions.variables):
        result.add_state(variable, positions.ends.get(position, NO_WAY))
    for position, steps in positions.steps.items():
        state = 0 if position == START else position + 1
        result.moves[state] = [
            Move(positions.variables[target], ways, NO_WAY, target + 1) for target, ways in steps.items()
        ]
    return trim(result, blocking=False)


def intersection(one: Automaton, other: Automaton, blocking: bool = False) -> Automaton:
    """What both match, as needed for conjunctions (GRETA, Section 9)."""
    return minimise(intersect(one, other, blocking))


def as_template(automaton: Automaton, types: dict[str, str | None]) -> Template:
    """States numbered in the order in which a reader meets them, walking breadth-first from the start."""
    number = {0: -1}
    order = [0]
    for state in order:
        for move in automaton.moves[state]:
            if move.target not in number:
                number[move.target] = len(order) - 1
                order.append(move.target)
    states, starts, transitions, ends = [], [], [], []
    for state in order:
        if state != 0:
            variable = automaton.variables[state]
            states.append(State(number[state], variable, types[variable]))
            if automaton.ends[state]:
                ends.append(End(number[state], as_guard(automaton.ends[state])))
        for move in automaton.moves[state]:
            guard, closed = as_guard(move.ways), as_guard(move.closed)
            if state == 0:
                starts.append(Start(number[move.target], guard, closed))
            else:
                transitions.append(Transition(number[state], number[move.target], guard, closed=closed))
    return Template(tuple(states), tuple(starts), tuple(transitions), tuple(ends))
