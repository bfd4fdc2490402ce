"""The prefix tree, with loops: states of several queries that have the same past are one state (A-Seq, Section 4.1).

Two states are the same where they live in the same kind of windows, read the same events, both begin trends or both do
not, and have the same states before them, over the same NOTs. That is asked of the states before them in turn: states
begin as equal as they look, and are told apart as long as something before them differs (partition refinement), so
states in a loop can be equal, too. Ending there, or what is measured, makes no difference.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from trendweave.planning.plan import Plan, SlidingWindow, WholeInput
from trendweave.sharing.eligible import blocker_of, reading_of
from trendweave.sharing.merged import MergedQueries, MergedState, MergedStep, Reading


@dataclass(slots=True)
class _Numbers:
    """Numbers different things in the order in which they come."""

    known: dict[Hashable, int] = field(default_factory=dict)

    def __call__(self, thing: Hashable) -> int:
        return self.known.setdefault(thing, len(self.known))


def merge_prefixes(plans: Sequence[Plan]) -> MergedQueries:
    """Merge templates from their beginnings on.

    Args:
        plans: Plans that `why_not_merged` has nothing against.

    Returns:
        Their automaton; nothing is said yet about parts and measures.
    """
    readings: dict[Reading, int] = {}
    windows: dict[SlidingWindow | WholeInput, int] = {}
    looks: list[tuple[int, ...]] = []
    before: list[list[tuple[int, int]]] = []
    kinds: list[int] = []
    for plan in plans:
        assert isinstance(plan.window, SlidingWindow | WholeInput), "others are not merged"
        kinds.append(windows.setdefault(plan.window, len(windows)))
        first = len(looks)
        own = _own_variables(plan, readings)
        starts = {start.state for start in plan.template.starts}
        looks += [(kinds[-1], *own[state.variable], state.number in starts) for state in plan.template.states]
        before += [[] for _ in plan.template.states]
        for step in plan.template.transitions:
            over = blocker_of(plan, step.guard)
            number = -1 if over is None else readings.setdefault(over, len(readings))
            before[first + step.target].append((first + step.source, number))
    block = _refine(looks, before)
    known = list(readings)
    queries: dict[int, dict[int, None]] = {}
    places, finals, rest = [], [], iter(block)
    for query, plan in enumerate(plans):
        places.append(tuple(next(rest) for _ in plan.template.states))
        finals.append(tuple(dict.fromkeys(places[-1][end.state] for end in plan.template.ends)))
        for state in places[-1]:
            queries.setdefault(state, {})[query] = None
    steps: dict[MergedStep, None] = {}
    states = []
    of_block = dict(zip(block, range(len(block)), strict=True))
    for number in range(len(queries)):
        window, reading, _, starts_trends = looks[of_block[number]]
        states.append(MergedState(known[reading], window, bool(starts_trends), tuple(queries[number])))
        for source, blocker in before[of_block[number]]:
            steps[MergedStep(block[source], number, None if blocker < 0 else known[blocker])] = None
    return MergedQueries(tuple(windows), tuple(states), tuple(steps), tuple(places), tuple(finals), tuple(kinds))


def _own_variables(plan: Plan, readings: dict[Reading, int]) -> dict[str, tuple[int, int]]:
    """Per variable, what it reads, and its number among those of the query that read the same: they stay apart."""
    seen: dict[int, int] = {}
    own = {}
    for name in dict.fromkeys(state.variable for state in plan.template.states):
        reading = readings.setdefault(reading_of(plan, name), len(readings))
        own[name] = (reading, seen.setdefault(reading, 0))
        seen[reading] += 1
    return own


def _refine(looks: Sequence[Hashable], before: Sequence[Sequence[tuple[int, int]]]) -> list[int]:
    """A number per state, equal for those that are one."""
    numbers = _Numbers()
    block = [numbers(look) for look in looks]
    count = len(numbers.known)
    while True:
        numbers = _Numbers()
        block = [
            numbers((block[state], frozenset((block[source], blocker) for source, blocker in sources)))
            for state, sources in enumerate(before)
        ]
        if len(numbers.known) == count:
            return block
        count = len(numbers.known)
