"""Ways through the states of a template, as a graph: which states lie on all of them, and how long they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from trendweave.planning.plan import Template

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
