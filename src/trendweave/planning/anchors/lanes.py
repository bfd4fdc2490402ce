"""What a trend must remember of its events for conditions on earlier ones: a lane per remembered value.

A trend remembers the latest event read as A (or the first one, or one directly before) from the moment it is read until
the last condition that asks for it. Rows are copied once per lane that may reach them; a step leads from a copy to one
of the same lane. Which variable needs which memory is read off the template here, as one reads off a program which of
its registers are in use.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from trendweave.planning.anchors.orders import reads_before
from trendweave.planning.plan import Anchor, AnchorPlan, Template


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
