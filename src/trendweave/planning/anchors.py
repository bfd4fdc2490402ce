"""Conditions on an event and earlier ones of its trend that need not be neighbours (`C.x >= A.x + 5`).

Templates tell in which order variables can stand in a trend, and with what between them; from that follows what a
trend must remember of its events: a lane per remembered value.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from trendweave.planning.plan import Anchor, AnchorPlan, Template


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


@dataclass(frozen=True, slots=True)
class Memory:
    """What is known of an anchor where an event is read as some variable: whether it can be there, and can be missing,
    before that event."""

    anchor: int
    present: bool
    missing: bool


@dataclass(frozen=True, slots=True)
class TemplateLanes:
    """`needed` are, per variable, the anchors that an event read as it must know: for its own conditions, or because a
    later one asks. `conditions` are those that can bind an event of this template."""

    anchors: tuple[Anchor, ...]
    conditions: tuple[AnchorPlan, ...]
    needed: dict[str, tuple[Memory, ...]]

    def asks(self, variable: str) -> bool:
        """Does a step to this variable compare lanes?"""
        return bool(self.needed.get(variable))

    def numbers(self, condition: AnchorPlan) -> tuple[int, ...]:
        """The numbers of a condition's anchors here."""
        return tuple(self.anchors.index(anchor) for anchor in condition.anchors)


def plan_lanes(conditions: tuple[AnchorPlan, ...], template: Template) -> TemplateLanes | None:
    """What trends of a template remember.

    Args:
        conditions: The conditions on earlier events of a query.
        template: A template of its pattern, or of a negated one.

    Returns:
        The lanes; None where no condition can bind an event of the template.
    """
    binding = tuple(
        condition
        for condition in conditions
        if reads_before(template, frozenset(anchor.variable for anchor in condition.anchors), condition.variable)
    )
    if not binding:
        return None
    anchors = tuple(dict.fromkeys(anchor for condition in binding for anchor in condition.anchors))
    needed = _needed(template, anchors, binding)
    present, missing = _known_before(template, anchors)
    variables = dict.fromkeys(state.variable for state in template.states)
    return TemplateLanes(
        anchors,
        binding,
        {
            variable: tuple(
                Memory(number, (variable, number) in present, (variable, number) in missing)
                for number in sorted(needed[variable])
            )
            for variable in variables
        },
    )


def _needed(template: Template, anchors: tuple[Anchor, ...], conditions: tuple[AnchorPlan, ...]) -> dict[str, set[int]]:
    """Backwards from the conditions: what an event needs is what its conditions ask for, and what the events after it
    need and it does not set itself."""
    needed: dict[str, set[int]] = defaultdict(set)
    for condition in conditions:
        needed[condition.variable] |= {anchors.index(anchor) for anchor in condition.anchors}
    pairs = template.neighbours()
    growing = True
    while growing:
        growing = False
        for variable, following in pairs:
            more = {number for number in needed[following] if hands_on(anchors[number], variable)} - needed[variable]
            needed[variable] |= more
            growing |= bool(more)
    return needed


def hands_on(anchor: Anchor, variable: str) -> bool:
    """May what was remembered before an event read as the variable still be remembered after it?"""
    return anchor.kind == "first" or (anchor.kind == "last" and anchor.variable != variable)


def _known_before(template: Template, anchors: tuple[Anchor, ...]) -> tuple[set[tuple[str, int]], set[tuple[str, int]]]:
    """Forwards from the starts: (variable, anchor) where the anchor can be there before an event, and can be
    missing."""
    variable = [state.variable for state in template.states]
    present: set[tuple[int, int]] = set()
    missing = {(start.state, number) for start in template.starts for number in range(len(anchors))}
    growing = True
    while growing:
        size = len(present) + len(missing)
        for step in template.transitions:
            for number, anchor in enumerate(anchors):
                sets = anchor.variable == variable[step.source]
                if sets or (anchor.kind != "previous" and (step.source, number) in present):
                    present.add((step.target, number))
                if not sets and (anchor.kind == "previous" or (step.source, number) in missing):
                    missing.add((step.target, number))
        growing = size < len(present) + len(missing)
    return (
        {(variable[state], number) for state, number in present},
        {(variable[state], number) for state, number in missing},
    )
