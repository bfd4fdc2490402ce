"""When rows are certain, and so come out of a stream: decided once, for the steps of programs and for `explain`.

The watermark has passed the time of a row, and nothing that may still come can change it. A match of a list under
WITHIN alone may still have to wait for a longer one that holds it (COMPLETE), or that begins with the same event, or
for an earlier beginning whose match could take it away (AFTER MATCH, PER START).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from trendweave.planning.anchors.lanes import plan_lanes
from trendweave.planning.matches.growth import useful_steps
from trendweave.planning.plan import (
    EdgePlan,
    End,
    Guard,
    MovingWindow,
    Plan,
    SessionWindow,
    SlidingWindow,
    Start,
    State,
    Template,
    Transition,
    VariablePlan,
)
from trendweave.planning.ways import choose_ways

#: What a row waits for: the end of the input, of its window or session, its time (which is that of the last event of a
#: match), so long after the last or the first event of its match, or until its match is decided, whichever way.
Moment: TypeAlias = Literal["input", "window", "session", "time", "after last", "after first", "decided"]
#: A name that no query can give to a variable, for an event that is still to come.
_LATER = "(later)"


@dataclass(frozen=True, slots=True)
class Certainty:
    """When the rows of a plan are certain.

    Attributes:
        moment: What they wait for.
        length: How long at most, in nanoseconds: the length of the window.
        goes_on: Of complete matches, variables whose events may make a longer one that holds one that has ended.
        in_order: Whether a match also waits until earlier beginnings of its partition are decided.
        whatever_taken: Whether it waits for them even where they are taken away.
    """

    moment: Moment
    length: int = 0
    goes_on: tuple[str, ...] = ()
    in_order: bool = False
    whatever_taken: bool = False


def plan_certainty(plan: Plan) -> Certainty:
    """Decide when the rows of a plan are certain."""
    match plan.window:
        case SlidingWindow(length=length):
            return Certainty("window", length)
        case SessionWindow(gap=gap):
            return Certainty("session", gap)
        case MovingWindow(length=length, by="time"):
            return Certainty("time", length)
        case MovingWindow(length=length):
            return _certainty_of_matches(plan, length)
    return Certainty("input")


def _certainty_of_matches(plan: Plan, length: int) -> Certainty:
    template = plan.template
    if any(not end.guard.always_open for end in template.ends):
        return Certainty("after first", length)
    covers = covered_by_longer(template) if plan.complete else ()
    if plan.selection is None:
        return Certainty("after last" if covers else "time", length, covers)
    in_order = plan.selection.skip != "next" or bool(covers)
    return Certainty("decided", length, covers, in_order, bool(covers))


def covered_by_longer(template: Template) -> tuple[str, ...]:
    """Variables that may follow an event that is the last one of another trend, which is then part of a longer one."""
    last = {template.states[end.state].variable for end in template.ends}
    steps = useful_steps(template)
    return _variables(template, {step.target for step in steps if template.states[step.source].variable in last})


def _variables(template: Template, states: set[int]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(state.variable for state in template.states if state.number in states))


def plan_open_beginnings(plan: Plan) -> Plan:
    """The plan of what may still go on: its trends are beginnings of trends, followed by a last event that stands for
    whatever comes next.

    That event can be read as one more variable, the last one, and nothing is asked of it, so that a trend is found up
    to it exactly where an event that can be read as some variable could follow at its time.

    Args:
        plan: A plan that selects among trends under WITHIN alone; no trend waits for a NOT at its end.
    """
    template, later = plan.template, len(plan.template.states)
    guards: dict[int, set[tuple[int, ...]]] = {}
    for step in useful_steps(template):
        guards.setdefault(step.source, set()).update(step.guard.alternatives)
    steps = [
        Transition(state, later, Guard(((),) if () in ways else tuple(sorted(ways)))) for state, ways in guards.items()
    ]
    before = dict.fromkeys(template.states[state].variable for state in guards)
    edges = (*plan.edges, *(EdgePlan(variable, _LATER, (), ()) for variable in before))
    opened = Template(
        (*template.states, State(later, _LATER, _LATER)),
        # Whether a NOT at the beginning is in the way depends on the end of a trend, which is still to come.
        tuple(Start(state) for state in dict.fromkeys(start.state for start in template.starts)),
        (*template.transitions, *steps),
        (End(later),),
    )
    assert isinstance(plan.window, MovingWindow), "each trend has a window of its own"
    return replace(
        plan,
        returns="trends",
        complete=False,
        window=MovingWindow(plan.window.length, "first"),
        variables=(*plan.variables, VariablePlan(_LATER, _LATER, False)),
        templates=(choose_ways(opened, edges, plan.strategy, plan_lanes(plan.anchors, opened)),),
        edges=edges,
        groups=(),
        aggregates=(),
        outputs=None,
        shown=(),
        match_conditions=(),
        selection=None,
        choice=None,
        having=(),
        order_by=(),
        limit=None,
    )
