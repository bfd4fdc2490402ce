"""NOT of single events: variables whose events block gaps, so that what lies in a gap need not be looked up later.

Where each match of a negated pattern has an event that is a match by itself, a gap is clean iff no such event lies in
it. What was before the gap can then be forgotten at the moment at which that event comes.
"""

from __future__ import annotations

from dataclasses import dataclass

from trendweave.planning.plan import NEVER, Guard, NegatedPattern, Plan


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
