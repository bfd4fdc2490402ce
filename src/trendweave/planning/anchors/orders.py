"""Which variables can stand in one trend, in which order, and with what between them: read off the templates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from trendweave.planning.plan import Template


@dataclass(frozen=True)
class Orders:
    """What the templates of a query, those of negated patterns included, allow. `negated`: variables that occur only
    under NOT."""

    templates: tuple[Template, ...]
    negated: frozenset[str] = frozenset()

    @cached_property
    def neighbours(self) -> frozenset[tuple[str, str]]:
        return frozenset[tuple[str, str]]().union(*(template.neighbours() for template in self.templates))

    def in_order(self, earlier: Iterable[str], later: str) -> bool:
        """Can all of the earlier variables stand before the later one in one trend?"""
        wanted = frozenset(earlier)
        return any(reads_before(template, wanted, later) for template in self.templates)

    def repeats(self, variable: str) -> bool:
        """Can a trend have the variable twice?"""
        return self.in_order((variable,), variable)

    def leaves_room(self, earlier: str, later: str) -> bool:
        """Can another event stand between the latest event read as `earlier` and one read as `later`?"""
        return any(_leaves_room(template, {earlier}, earlier, later) for template in self.templates)

    def leaves_room_for_others(self, earlier: str, later: str) -> bool:
        """Can anything but further events read as `later` stand between those two?"""
        between = {earlier, later}
        return any(
            _leaves_room(template, between, first, later) for template in self.templates for first in (earlier, later)
        )


@dataclass(frozen=True)
class AnyOrder(Orders):
    """For a pattern that makes no sense: whatever is said about its variables is taken as it is."""

    templates: tuple[Template, ...] = ()

    def in_order(self, earlier: Iterable[str], later: str) -> bool:
        return True


def reads_before(template: Template, wanted: frozenset[str], later: str) -> bool:
    """Has some trend all of the wanted variables before an event read as `later`?"""
    variable = [state.variable for state in template.states]
    if later not in variable or not wanted <= set(variable):
        return False
    nothing = frozenset[str]()
    targets = _find_targets(template)
    waiting = [(start.state, nothing) for start in template.starts]
    known = set(waiting)
    while waiting:
        state, seen = waiting.pop()
        if variable[state] == later and seen == wanted:
            return True
        seen |= wanted & {variable[state]}
        for target in targets[state]:
            if (target, seen) not in known:
                known.add((target, seen))
                waiting.append((target, seen))
    return False


def _leaves_room(template: Template, without: set[str], earlier: str, later: str) -> bool:
    """Does a way lead from `earlier` to `later` over other variables than those?"""
    variable = [state.variable for state in template.states]
    targets = _find_targets(template)
    beside = {
        target
        for state in range(len(variable))
        if variable[state] == earlier
        for target in targets[state]
        if variable[target] not in without
    }
    waiting = list(beside)
    while waiting:
        for target in targets[waiting.pop()]:
            if variable[target] == later:
                return True
            if variable[target] not in without and target not in beside:
                beside.add(target)
                waiting.append(target)
    return False


def _find_targets(template: Template) -> list[list[int]]:
    """Per state, the states that a step leads to."""
    targets: list[list[int]] = [[] for _ in template.states]
    for step in template.transitions:
        targets[step.source].append(step.target)
    return targets
