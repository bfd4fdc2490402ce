"""Pattern -> template: one path per trend, and as few states as possible.

Where the ways to one trend differ in their NOTs, the trend is valid if one of them is (`automata/determinise.py`).
"""

from __future__ import annotations

from trendweave.language import syntax_tree as st
from trendweave.planning.automata.automaton import Automaton, Move, intersect, trim
from trendweave.planning.automata.determinise import determinise, is_ambiguous
from trendweave.planning.automata.guards import NO_WAY, Ways, as_guard
from trendweave.planning.automata.minimise import minimise
from trendweave.planning.automata.positions import START, PositionBuilder, Positions
from trendweave.planning.plan import End, Start, State, Template, Transition


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
