"""NOT of single events, where rows are forgotten: what kernels are told of gaps that events block.

Gaps between events and behind the last one begin with an event, and so with a state. The gap before the first event
begins with the window: there a trend comes from one state more, which is reached by an opening that stands before all
summaries of a window, and is left as other states are where an event blocks the gap.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from trendweave.kernels import Aggregate, Rows
from trendweave.kernels import Template as KernelTemplate
from trendweave.kernels.loops.summaries import Algebra, Summaries, concat_summaries, extend, no_summaries
from trendweave.planning.blocking import Blocking
from trendweave.planning.plan import Template


@dataclass(frozen=True, slots=True)
class Gaps:
    """A template in numbers whose states have copies that forget, and pairs (state, variable): events of the variable
    make trends in the state nothing."""

    template: KernelTemplate
    resets: tuple[tuple[int, int], ...]


def number_gaps(template: Template, numbers: KernelTemplate, blocking: Blocking, variables: Mapping[str, int]) -> Gaps:
    """Tell kernels what blocks which gap.

    Args:
        template: The template of a plan.
        numbers: The same in numbers.
        blocking: The names of variables that block its gaps.
        variables: The numbers of all variables. The number behind them is that of the opening.

    Returns:
        The template, with a state more where trends may not begin everywhere in a window.
    """

    def numbered(names: frozenset[str]) -> tuple[int, ...]:
        return tuple(sorted(variables[name] for name in names))

    between = {place: numbered(names) for place, names in enumerate(blocking.between) if names}
    ends = zip(template.ends, blocking.behind, strict=True)
    behind = {end.state: numbered(names) for end, names in ends if names}
    if not blocking.leads:
        return copy_blocked_states(numbers, between, behind)
    opened = len(template.states)
    starts = [
        (start.state, numbered(names)) for start, names in zip(template.starts, blocking.before, strict=True) if names
    ]
    is_start = np.append(numbers.is_start, True)
    is_start[[state for state, _ in starts]] = False
    between |= {len(template.transitions) + place: names for place, (_, names) in enumerate(starts)}
    opening = KernelTemplate(
        np.append(numbers.state_variable, len(variables)),
        is_start,
        np.append(numbers.is_final, False),
        np.append(numbers.source, [opened] * len(starts)),
        np.append(numbers.target, [state for state, _ in starts]),
    )
    return copy_blocked_states(opening, between, behind)


def copy_blocked_states(
    template: KernelTemplate, blockers: Mapping[int, tuple[int, ...]], final_blockers: Mapping[int, tuple[int, ...]]
) -> Gaps:
    """A copy of each state for each set of variables whose events block what follows.

    A trend that goes on over a gap in which an event must not lie goes on from a copy of its state. The copy is reached
    as the state is, and is emptied by each such event, after events of the same time have read it and before they are
    added: an event blocks only gaps that begin before it and end after it.

    Args:
        template: The template.
        blockers: Per transition, variables that may not be read between its two events.
        final_blockers: Per final state, variables that may not be read behind an event that ends a trend in it.
    """
    blocked = {number: frozenset(variables) for number, variables in blockers.items() if variables}
    at_end = {state: frozenset(variables) for state, variables in final_blockers.items() if variables}
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
    useful = {place for place, ends in enumerate(is_final) if ends}
    while more := {source for source, target in transitions if target in useful} - useful:
        useful |= more
    kept = sorted(useful) or list(range(len(states)))
    place_of = {place: number for number, place in enumerate(kept)}
    pairs = [(place_of[s], place_of[t]) for s, t in transitions if s in place_of and t in place_of]
    source, target = np.array(pairs, np.int64).reshape(-1, 2).T
    changed = KernelTemplate(
        np.array([template.state_variable[states[place][0]] for place in kept], np.int64),
        np.array([template.is_start[states[place][0]] for place in kept], bool),
        np.array([is_final[place] for place in kept], bool),
        source,
        target,
    )
    return Gaps(changed, tuple((place_of[place], v) for place in kept for v in sorted(states[place][1])))


def make_opening(algebra: Algebra, variable: int, aggregates: list[Aggregate]) -> Summaries:
    """The summary that stands before those of a window.

    Args:
        algebra: How trends are summed up.
        variable: The number of the opening.
        aggregates: Values of one row, which nothing counts.

    Returns:
        One summary.
    """
    nowhere = np.zeros(1, np.int64)
    letters = np.array([[1 << variable]], np.uint64)
    rows = Rows(np.array([0, 1]), nowhere, nowhere, nowhere, letters)
    return extend(algebra, no_summaries(algebra), np.array([-1]), rows, aggregates)


def open_windows(
    opening: Summaries, summaries: Summaries, low: np.ndarray, high: np.ndarray
) -> tuple[Summaries, np.ndarray, np.ndarray]:
    """Put an opening before each run low:high of summaries.

    Args:
        opening: The opening.
        summaries: The summaries.
        low: Where each run begins.
        high: Where each run ends.

    Returns:
        Summaries, and where each run begins and ends among them.
    """
    count = high - low + 1
    ends = np.cumsum(count)
    begins = ends - count
    index = np.arange(int(count.sum())) + np.repeat(low - 1 - begins, count)
    index[begins] = summaries.size
    return concat_summaries([summaries, opening]).take(index), begins, ends
