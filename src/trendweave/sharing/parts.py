"""Parts that queries have in common anywhere in their patterns: Kleene parts (HAMLET, Section 3) and stretches (A-Seq,
Section 4.2).

States in a loop with one another are an item, any other state is an item of its own. Two items without loops that
follow each other become one where the same two do so elsewhere, and mostly follow each other: so a stretch grows to
what queries have in common, and no item leaves a larger crowd for a smaller one. A Kleene part stays by itself: it is
what bursts are of, and each further place makes them dearer. Items that look the same are one part. Everything is found
by what items look like, so it takes about as long as reading the queries.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from trendweave.sharing.merged import MergedQueries, Reading, SharedPart

#: Places of a part: with more of them, a burst of events costs more together than one by one.
_PLACES = 4
#: Loops of more places are computed side by side, up to what kernels take.
_LONGEST_LOOP = 16

#: From place to place, and the number of what must not lie in between (-1: nothing).
_Link: TypeAlias = tuple[int, int, int]


def find_parts(merged: MergedQueries) -> MergedQueries:
    """Find states that are alike.

    Args:
        merged: An automaton without parts.

    Returns:
        The same with parts: each state is in one.
    """
    items = _Items(merged)
    items.join_neighbours()
    return replace(merged, parts=items.as_parts())


@dataclass(slots=True)
class _Items:
    """Items, by number: their states in order, and the number of what they look like."""

    merged: MergedQueries
    states: list[tuple[int, ...]] = field(default_factory=list)
    look: list[int] = field(default_factory=list)
    _looks: dict[Hashable, int] = field(default_factory=dict)
    _links: list[_Link] = field(default_factory=list)
    _in_loops: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        blockers: dict[Reading | None, int] = {None: -1}
        for step in self.merged.steps:
            self._links.append((step.source, step.target, blockers.setdefault(step.blocker, len(blockers))))
        inside: dict[int, list[_Link]] = defaultdict(list)
        loops = find_loops(len(self.merged.states), self._links)
        loop_of = {state: number for number, loop in enumerate(loops) for state in loop}
        for link in self._links:
            if loop_of[link[0]] == loop_of[link[1]]:
                inside[loop_of[link[0]]].append(link)
        for number, loop in enumerate(loops):
            if inside[number]:
                self._in_loops.update(loop)
            if len(loop) > _LONGEST_LOOP:
                for state in loop:
                    self._add((state,), ("alone", state))
                continue
            ordered = self._order(loop, inside[number])
            place = {state: at for at, state in enumerate(ordered)}
            links = tuple(sorted((place[source], place[target], blocker) for source, target, blocker in inside[number]))
            self._add(ordered, (tuple(map(self._type, ordered)), links))

    def _type(self, state: int) -> str | None:
        return self.merged.states[state].reading.type

    def _add(self, states: tuple[int, ...], look: Hashable) -> None:
        self.states.append(states)
        self.look.append(self._looks.setdefault(look, len(self._looks)))

    def _order(self, loop: Sequence[int], links: Sequence[_Link]) -> tuple[int, ...]:
        """The same order for all loops that look the same: by type, and by what is around each state."""
        if len(loop) == 1:
            return tuple(loop)
        colour = {state: self._looks.setdefault(("type", self._type(state)), len(self._looks)) for state in loop}
        for _ in loop:
            around: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
            for source, target, blocker in links:
                around[source].append((0, colour[target], blocker))
                around[target].append((1, colour[source], blocker))
            colour = {
                state: self._looks.setdefault(("colour", colour[state], tuple(sorted(around[state]))), len(self._looks))
                for state in loop
            }
        return tuple(sorted(loop, key=lambda state: (colour[state], state)))

    # Neighbours

    def join_neighbours(self) -> None:
        """Join items that follow each other, until nothing is to be gained."""
        while self._join_once():
            pass

    def _join_once(self) -> bool:
        """One round: pairs that occur often come first, and an item joins once."""
        crowd = Counter(self.look)
        alike: dict[Hashable, list[tuple[int, int]]] = defaultdict(list)
        for (one, other), links in self._neighbours().items():
            both = self.states[one] + self.states[other]
            if len(both) <= _PLACES and not self._in_loops.intersection(both):
                alike[self.look[one], self.look[other], tuple(sorted(links))].append((one, other))
        joined: set[int] = set()
        for look, pairs in sorted(alike.items(), key=lambda found: -len(found[1])):
            free = [pair for pair in pairs if not joined.intersection(pair)]
            taken: list[tuple[int, int]] = []
            used: set[int] = set()
            for pair in free:
                if not used.intersection(pair):
                    used.update(pair)
                    taken.append(pair)
            one, other = pairs[0]
            most = max(crowd[self.look[one]], crowd[self.look[other]])
            if len(taken) < 2 or 2 * len(taken) < most:
                continue
            joined |= used
            for one, other in taken:
                self._add(self.states[one] + self.states[other], look)
        self.states = [states for number, states in enumerate(self.states) if number not in joined]
        self.look = [look for number, look in enumerate(self.look) if number not in joined]
        return bool(joined)

    def _neighbours(self) -> dict[tuple[int, int], list[_Link]]:
        """Links between items, by their places; an item that is followed comes first."""
        place = {state: (item, at) for item, states in enumerate(self.states) for at, state in enumerate(states)}
        found: dict[tuple[int, int], list[_Link]] = {}
        for source, target, blocker in self._links:
            (one, start), (other, end) = place[source], place[target]
            if one == other:
                continue
            if (other, one) in found:
                # A link back: places of the second item count on from those of the first.
                length = len(self.states[other])
                found[other, one].append((start + length, end, blocker))
            else:
                found.setdefault((one, other), []).append((start, end + len(self.states[one]), blocker))
        return found

    # Parts

    def as_parts(self) -> tuple[SharedPart, ...]:
        """Items that look the same. Two of them between which there is a transition are in different parts."""
        near: dict[int, set[int]] = defaultdict(set)
        for one, other in self._neighbours():
            if self.look[one] == self.look[other]:
                near[one].add(other)
                near[other].add(one)
        part_of: dict[int, int] = {}
        rows: dict[tuple[int, int], list[tuple[int, ...]]] = defaultdict(list)
        for item, (states, look) in enumerate(zip(self.states, self.look, strict=True)):
            taken = {part_of[other] for other in near[item] if other in part_of}
            part_of[item] = next(number for number in range(len(taken) + 1) if number not in taken)
            rows[look, part_of[item]].append(states)
        return tuple(SharedPart(tuple(states)) for states in rows.values())


def find_loops(count: int, links: Sequence[_Link]) -> list[list[int]]:
    """Find the strongly connected components of a graph (Tarjan's algorithm, without recursion).

    Args:
        count: How many states there are.
        links: From state to state.

    Returns:
        The states of each component.
    """
    after: list[list[int]] = [[] for _ in range(count)]
    for source, target, _ in links:
        after[source].append(target)
    number, low = [-1] * count, [0] * count
    waiting: list[int] = []
    is_waiting = [False] * count
    found: list[list[int]] = []
    counted = 0
    for root in range(count):
        if number[root] >= 0:
            continue
        path = [(root, 0)]
        while path:
            state, at = path.pop()
            if at == 0:
                number[state] = low[state] = counted
                counted += 1
                waiting.append(state)
                is_waiting[state] = True
            elif is_waiting[after[state][at - 1]]:
                low[state] = min(low[state], low[after[state][at - 1]])
            while at < len(after[state]) and number[after[state][at]] >= 0:
                if is_waiting[after[state][at]]:
                    low[state] = min(low[state], low[after[state][at]])
                at += 1
            if at < len(after[state]):
                path += [(state, at + 1), (after[state][at], 0)]
            elif low[state] == number[state]:
                component: list[int] = []
                while not component or component[-1] != state:
                    component.append(waiting.pop())
                    is_waiting[component[-1]] = False
                found.append(component[::-1])
    return found
