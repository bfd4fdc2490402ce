"""NOT of one event, in templates whose rows are folded: a state has a copy that forgets.

A trend that goes on over a gap in which an event must not lie goes on from a copy of its state. The copy is reached as
the state is, and is emptied by each such event, after rows of the same tick have read it and before they are added: an
event blocks only gaps that begin before it and end after it. Nothing else changes, so copies are states like others.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from trendweave.kernels.aggregates.state_steps import SEVERAL, StateSteps, build_steps, reads
from trendweave.kernels.compiling import inner
from trendweave.kernels.inputs import Template


class Resets(NamedTuple):
    """Which states rows of which variables empty, one pair after another."""

    state: np.ndarray
    variable: np.ndarray
    seen: np.ndarray  # bool: whether there was such a row in the tick at hand


@inner
def note_resets(resets, letters, row):
    """Remember what the row empties."""
    for r in range(resets.state.size):
        if reads(letters, row, resets.variable[r]):
            resets.seen[r] = True


@inner
def take_reset(resets, r):
    """Whether a state is to be emptied; asked once per tick."""
    seen = resets.seen[r]
    resets.seen[r] = False
    return seen


def copy_blocked_states(
    template: Template, blockers: Mapping[int, Sequence[int]], final_blockers: Mapping[int, Sequence[int]]
) -> tuple[Template, tuple[tuple[int, int], ...]]:
    """The template with a copy of each state for each set of variables whose rows block what follows, and the pairs
    (state, variable) of what rows of a variable empty.

    blockers        transition -> variables that may not be read between its two events
    final_blockers  final state -> variables that may not be read behind an event that ends a trend in it
    """
    blocked = {number: frozenset(variables) for number, variables in blockers.items() if len(variables)}
    at_end = {state: frozenset(variables) for state, variables in final_blockers.items() if len(variables)}
    nothing: frozenset[int] = frozenset()
    wanted = {(int(template.source[number]), variables) for number, variables in blocked.items()}
    wanted |= {(state, variables) for state, variables in at_end.items() if template.is_final[state]}
    states = [(state, nothing) for state in range(len(template.state_variable))]
    states += sorted(wanted, key=lambda pair: (pair[0], sorted(pair[1])))
    is_final = [bool(template.is_final[state]) and at_end.get(state, nothing) == kept for state, kept in states]
    transitions = []
    for number, (source, target) in enumerate(zip(template.source, template.target, strict=True)):
        before = states.index((int(source), blocked.get(number, nothing)))
        transitions += [(before, place) for place, (state, _) in enumerate(states) if state == int(target)]
    kept = [place for place in range(len(states)) if leads_to_an_end(place, transitions, is_final)]
    kept = kept or list(range(len(states)))
    place_of = {place: number for number, place in enumerate(kept)}
    pairs = [(place_of[s], place_of[t]) for s, t in transitions if s in place_of and t in place_of]
    source, target = np.array(pairs, np.int64).reshape(-1, 2).T
    changed = Template(
        np.array([template.state_variable[states[place][0]] for place in kept], np.int64),
        np.array([template.is_start[states[place][0]] for place in kept], bool),
        np.array([is_final[place] for place in kept], bool),
        source,
        target,
    )
    return changed, tuple((place_of[place], v) for place in kept for v in sorted(states[place][1]))


def leads_to_an_end(place: int, transitions: list[tuple[int, int]], is_final: list[bool]) -> bool:
    """Whether a trend that is in a state can end at all."""
    reached, waiting = {place}, [place]
    while waiting:
        now = waiting.pop()
        if is_final[now]:
            return True
        further = {target for source, target in transitions if source == now} - reached
        reached |= further
        waiting += further
    return False


def build_steps_with_resets(template: Template, pairs: Sequence[tuple[int, int]]) -> tuple[StateSteps, Resets]:
    """Steps that take no short cut over rows that empty a state, and what they empty."""
    steps = build_steps(template)
    state, variable = np.array(pairs, np.int64).reshape(-1, 2).T.copy()
    table = steps.state_of_letters
    for letter in variable:
        table[(np.arange(table.size) >> letter & 1).astype(bool)] = SEVERAL
    return steps, Resets(state, variable, np.zeros(state.size, np.bool_))
