"""Templates for keys that bind only some of a trend's events (`[P.vehicle, segment]`, `GROUP-BY T.district`).

Events of other variables belong to every value of such a key, so a trend without a P event would be found once per
vehicle. Each trend is therefore looked for under exactly the bound variables that it contains: one template per set
of bound variables, which reads no other bound variable and ends only after all of the set have been read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain, combinations

from trendweave.planning.plan import End, State, Template


@dataclass(frozen=True, slots=True)
class BoundTemplate:
    """The trends of a template that contain all of `bound`, and no other bound variable."""

    bound: tuple[str, ...]
    template: Template


def bind_templates(template: Template, bound: tuple[str, ...]) -> tuple[BoundTemplate, ...]:
    """One template per set of bound variables that some trend has; without bound variables, the template itself."""
    used = {state.variable for state in template.states}
    here = tuple(variable for variable in dict.fromkeys(bound) if variable in used)
    subsets = chain.from_iterable(combinations(here, size) for size in range(len(here) + 1))
    if not here:
        return (BoundTemplate((), template),)
    found = (BoundTemplate(subset, _restrict(template, subset, here)) for subset in subsets)
    return tuple(candidate for candidate in found if candidate.template.starts)


def _restrict(template: Template, wanted: tuple[str, ...], bound: tuple[str, ...]) -> Template:
    """The product with a memory of which wanted variables were read; what leads nowhere is left out."""
    variable = [state.variable for state in template.states]
    forbidden = set(bound) - set(wanted)

    def seen_after(seen: frozenset[str], state: int) -> frozenset[str]:
        return seen | {variable[state]} if variable[state] in wanted else seen

    nodes: dict[tuple[int, frozenset[str]], int] = {}
    order: list[tuple[int, frozenset[str]]] = []

    def node(state: int, seen: frozenset[str]) -> int:
        key = (state, seen_after(seen, state))
        if key not in nodes:
            nodes[key] = len(order)
            order.append(key)
        return nodes[key]

    starts = [
        replace(start, state=node(start.state, frozenset()))
        for start in template.starts
        if variable[start.state] not in forbidden
    ]
    transitions = []
    for number, (state, seen) in enumerate(order):
        for step in template.transitions:
            if step.source == state and variable[step.target] not in forbidden:
                transitions.append(replace(step, source=number, target=node(step.target, seen)))
    guards = {end.state: end.guard for end in template.ends}
    ends = [
        End(number, guards[state])
        for number, (state, seen) in enumerate(order)
        if state in guards and len(seen) == len(wanted)
    ]
    states = [State(number, variable[state], template.states[state].type) for number, (state, _) in enumerate(order)]
    left = {step.source for step in template.transitions} | set(guards)
    blocking = {number for number, (state, _) in enumerate(order) if state not in left}
    return _keep_useful_states(Template(tuple(states), tuple(starts), tuple(transitions), tuple(ends)), blocking)


def _keep_useful_states(template: Template, blocking: set[int]) -> Template:
    """Only the states from which a trend can still end, and those behind them whose events are not skipped."""
    useful = {end.state for end in template.ends}
    growing = True
    while growing:
        more = {step.source for step in template.transitions if step.target in useful} - useful
        useful |= more
        growing = bool(more)
    useful |= {step.target for step in template.transitions if step.source in useful and step.target in blocking}
    number = {state: index for index, state in enumerate(sorted(useful))}
    return Template(
        tuple(State(number[s.number], s.variable, s.type) for s in template.states if s.number in useful),
        tuple(replace(s, state=number[s.state]) for s in template.starts if s.state in useful),
        tuple(
            replace(s, source=number[s.source], target=number[s.target])
            for s in template.transitions
            if s.source in useful and s.target in useful
        ),
        tuple(End(number[e.state], e.guard) for e in template.ends),
    )
