"""When rows are certain, and so come out of a stream: decided once, for the steps of programs and for `explain`.

The watermark has passed the time of a row, and nothing that may still come can change it. A match of a list under
WITHIN alone may still have to wait for NOT at its end, for a longer one that holds it (COMPLETE), or that begins
with the same event, or for an earlier beginning whose match could take it away (AFTER MATCH, PER START).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from trendweave.language import syntax_tree as st
from trendweave.planning.anchors import plan_lanes
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

#: States of a template that are followed side by side; of larger ones, everything may go on.
MOST_STATES = 48
_HOLDS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, slots=True)
class Growth:
    """Variables that may follow when a match has ended: one of its own beginning, and one of an earlier beginning."""

    own: tuple[str, ...]
    earlier: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Pair:
    """The states of another path and of a match's own. `same`: so far they are one path; `earlier`: the other one began
    with an earlier event."""

    other: int
    own: int
    same: bool
    earlier: bool


def find_growth(plan: Plan) -> Growth:
    """Find what may go on, of a plan that selects among trends."""
    template = plan.template
    follows: dict[int, list[str]] = {}
    for step in useful_steps(template):
        follows.setdefault(step.source, []).append(template.states[step.target].variable)
    if len(template.states) > MOST_STATES:
        everything = _in_order(template, {name for names in follows.values() for name in names})
        return Growth(everything, everything)
    ends = {end.state for end in template.ends}
    own: set[str] = set()
    earlier: set[str] = set()
    for pair in _SideBySide(plan).pairs():
        if pair.own in ends:
            (earlier if pair.earlier else own).update(follows.get(pair.other, ()))
    return Growth(_in_order(template, own), _in_order(template, earlier))


def _in_order(template: Template, names: set[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(state.variable for state in template.states if state.variable in names))


def useful_steps(template: Template) -> tuple[Transition, ...]:
    """Transitions to states from which a trend can still end. Others are there to stand in the way."""
    useful = {end.state for end in template.ends}
    while more := {step.source for step in template.transitions if step.target in useful} - useful:
        useful |= more
    return tuple(step for step in template.transitions if step.target in useful)


class _SideBySide:
    """Pairs of states that two paths can be in at the same time."""

    def __init__(self, plan: Plan) -> None:
        self._plan, self._template = plan, plan.template
        self._variable = [state.variable for state in plan.template.states]
        self._targets: dict[int, list[int]] = {state.number: [] for state in plan.template.states}
        for step in plan.template.transitions:
            self._targets[step.source].append(step.target)
        self._skips = plan.strategy != "contiguous"
        self._locals = {variable.name: variable for variable in plan.variables}
        self._asked = {*(one.variable for one in plan.anchors), *(key.variable for key in plan.bound_keys)}
        # The shortest match of a beginning decides it.
        shortest = plan.selection is not None and plan.selection.shortest and not plan.match_conditions
        self._decided = {end.state for end in plan.template.ends} if shortest else set()

    def pairs(self) -> set[_Pair]:
        """Find all of them."""
        found = {pair for pair in self._begin() if pair.other not in self._decided}
        waiting = list(found)
        while waiting:
            for pair in self._move(waiting.pop()):
                if pair not in found and pair.other not in self._decided:
                    found.add(pair)
                    waiting.append(pair)
        return found

    def _begin(self) -> Iterator[_Pair]:
        starts = list(dict.fromkeys(start.state for start in self._template.starts))
        for own in starts:
            for other in starts:
                if self._are_alike(other, own):
                    yield _Pair(other, own, other == own, False)
            for before in self._targets:
                for other in self._follow(before, own):
                    yield _Pair(other, own, False, True)

    def _move(self, pair: _Pair) -> Iterator[_Pair]:
        for own in self._targets[pair.own]:
            if pair.same:
                others = [other for other in self._targets[pair.other] if self._are_alike(other, own)]
            else:
                others = self._follow(pair.other, own)
            yield from (_Pair(other, own, pair.same and other == own, pair.earlier) for other in others)
        if self._skips and not pair.same:
            for other in self._targets[pair.other]:
                if not self._surely_follows(pair.own, other):
                    yield _Pair(other, pair.own, False, pair.earlier)

    def _follow(self, state: int, read: int) -> list[int]:
        """Where a path may be after an event that another one reads in a state: it reads it as well or, where events
        are skipped, may not be able to."""
        moved = [target for target in self._targets[state] if self._are_alike(target, read)]
        stays = self._skips and not self._surely_follows(state, read)
        return [*moved, state] if stays else moved

    def _surely_follows(self, state: int, read: int) -> bool:
        """Can an event that is read in one state follow another one, whatever its values are?"""
        name = self._variable[read]
        if name in self._asked or all(self._variable[target] != name for target in self._targets[state]):
            return False
        edge = self._plan.edge(self._variable[state], name)
        return not edge.comparisons and not edge.general

    def _are_alike(self, one: int, other: int) -> bool:
        """May one event be read in both states?"""
        left, right = self._locals[self._variable[one]], self._locals[self._variable[other]]
        if left.name == right.name:
            return True
        return left.type == right.type and not are_exclusive(left.local, right.local)


def are_exclusive(one: tuple[st.Expression, ...], other: tuple[st.Expression, ...]) -> bool:
    """Whether it is plain that no row meets both conditions: values that differ, or ranges apart from each other."""
    return any(_contradict(left, right) or _contradict(right, left) for left in one for right in other)


def _contradict(left: st.Expression, right: st.Expression) -> bool:
    if isinstance(left, st.Inverse) and left.operand == right:
        return True
    if _operand(left) is None or _operand(left) != _operand(right):
        return False
    values = _values(left)
    if values is not None:
        return not any(_may_hold(right, value) for value in values)
    if not isinstance(left, st.Comparison) or not isinstance(right, st.Comparison):
        return False
    low, high = _number(left.right), _number(right.right)
    apart = left.operator in (">", ">=") and right.operator in ("<", "<=")
    if not apart or low is None or high is None:
        return False
    return low > high or (low == high and (left.operator, right.operator) != (">=", "<="))


def _operand(condition: st.Expression) -> st.Expression | None:
    """What a condition compares with constants."""
    match condition:
        case st.Comparison(left=left, right=st.Literal()):
            return left
        case st.InList(operand=operand, options=options) if all(isinstance(one, st.Literal) for one in options):
            return operand
    return None


def _values(condition: st.Expression) -> list[st.Expression] | None:
    """The only values that meet a condition; None where there are others."""
    match condition:
        case st.Comparison(operator="=", right=value):
            return [value]
        case st.InList(options=options, negated=False):
            return list(options)
    return None


def _may_hold(condition: st.Expression, value: st.Expression) -> bool:
    assert isinstance(value, st.Literal), "compared with constants"
    match condition:
        case st.Comparison(operator=sign, right=st.Literal() as other):
            numbers = _number(value), _number(other)
            if None not in numbers:
                return _HOLDS[sign](*numbers)
            return sign not in ("=", "!=") or (value == other) is (sign == "=")
        case st.InList(options=options, negated=negated):
            return any(_may_hold(st.Comparison("=", condition.operand, one), value) for one in options) is not negated
    return True


def _number(value: st.Expression) -> int | float | None:
    given = value.value if isinstance(value, st.Literal) else None
    return given if isinstance(given, int | float) and not isinstance(given, bool) else None


#: What a row waits for: the end of the input, of its window or session, its time (which is that of the last event of a
#: match), so long after the last or the first event of its match, its time or so long after the first event where NOT
#: guards the end of its match or something may follow there, or until its match is decided, whichever way.
Moment: TypeAlias = Literal["input", "window", "session", "time", "after last", "after first", "either", "decided"]
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
        case MovingWindow() as window:
            return _certainty_of_matches(plan, window)
    return Certainty("input")


def _certainty_of_matches(plan: Plan, window: MovingWindow) -> Certainty:
    template, length = plan.template, window.length
    if any(not end.guard.always_open for end in template.ends):
        # Whether one that ends with NOT takes others away, or holds them, is not known before either.
        alone = plan.selection is None and not plan.complete
        some = any(end.guard.always_open for end in template.ends)
        return Certainty("either" if alone and some else "after first", length)
    covers = covered_by_longer(template, plan.strategy) if plan.complete else ()
    if plan.selection is None and not covers:
        return Certainty("time", length)
    if plan.selection is None and window.by == "last":
        return Certainty("after last", length, covers)
    if plan.selection is None and plan.strategy == "skip-till-any-match":
        # Whatever has begun may go on as long as its window lasts, if something may follow where it ends.
        some = any(not goes_on for goes_on in _ends_that_go_on(template, plan.strategy).values())
        return Certainty("either" if some else "after first", length, covers)
    in_order = plan.selection is None or plan.selection.skip != "next" or bool(covers)
    return Certainty("decided", length, covers, in_order, bool(covers))


def settles_beginnings(plan: Plan) -> bool:
    """Whether trends are taken, or come out, beginning by beginning, however far apart they are: streams then remember
    which beginnings are settled."""
    if not isinstance(plan.window, MovingWindow):
        return False
    return plan.selection is not None or plan_certainty(plan).moment == "decided"


def covered_by_longer(template: Template, strategy: str) -> tuple[str, ...]:
    """Variables that may follow after the end of a trend in a longer one that holds it; none where each longer one ends
    with the same event.

    Both are followed side by side: the longer one reads every event, the other one as the same variable or, if it need
    not be contiguous, not at all. Predicates and NOTs play no part: they make fewer trends, and of more states than are
    followed everything may be part of a longer one whose last event can be followed at all.
    """
    return _variables(template, set().union(*_ends_that_go_on(template, strategy).values()))


def _ends_that_go_on(template: Template, strategy: str) -> dict[str, set[int]]:
    """Of each variable at an end, the states that may follow after that end in a longer trend that holds it."""
    steps, variable = useful_steps(template), [state.variable for state in template.states]
    ends = {end.state for end in template.ends}
    following: dict[str, set[int]] = {variable[state]: set() for state in sorted(ends)}
    for step in steps:
        if variable[step.source] in following:
            following[variable[step.source]].add(step.target)
    if not any(following.values()) or len(template.states) > MOST_STATES:
        return following
    targets: dict[int | None, set[int]] = {None: {start.state for start in template.starts}}
    for step in steps:
        targets.setdefault(step.source, set()).add(step.target)
    following = {name: set() for name in following}
    for own, longer in _find_pairs(targets, variable, strategy):
        if own in ends:
            following[variable[own]] |= targets.get(longer, set())
    return following


def _find_pairs(
    targets: dict[int | None, set[int]], variable: list[str], strategy: str
) -> set[tuple[int | None, int | None]]:
    """The states that a trend and a longer one that holds it can be in at the same time; None: before they begin."""
    found: set[tuple[int | None, int | None]] = {(None, None)}
    waiting = list(found)
    while waiting:
        own, longer = waiting.pop()
        stays = own is None or strategy != "contiguous"
        for target in targets.get(longer, ()):
            moved = (state for state in targets.get(own, ()) if variable[state] == variable[target])
            more = {(state, target) for state in (*moved, *((own,) if stays else ()))} - found
            found |= more
            waiting += more
    return found


def _variables(template: Template, states: set[int]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(state.variable for state in template.states if state.number in states))


def plan_ends(plan: Plan, wait: bool) -> Plan:
    """The plan of the trends that wait, or of the others, whose windows stand at their last events.

    Those that end with NOT wait, and complete ones that a longer one may hold. For these the others are looked at, too.

    Args:
        plan: A plan whose trends are certain at their time, or so long after their first event.
        wait: Whether the trends that wait are asked for.
    """
    assert isinstance(plan.window, MovingWindow), "each trend has a window of its own"
    template, soon = plan.template, MovingWindow(plan.window.length, "last")
    if plan.complete:
        names = [name for name, goes_on in _ends_that_go_on(template, plan.strategy).items() if bool(goes_on) is wait]
        if wait:
            return replace(plan, window=replace(plan.window, ends=tuple(names)))
        ends = tuple(end for end in template.ends if template.states[end.state].variable in names)
        return replace(plan, window=soon, templates=(replace(template, ends=ends),))
    ends = tuple(end for end in template.ends if end.guard.always_open is not wait)
    return replace(plan, window=plan.window if wait else soon, templates=(replace(template, ends=ends),))


def plan_open_beginnings(plan: Plan) -> Plan:
    """The plan of what may still go on: its trends are beginnings of trends, followed by a last event that stands for
    whatever comes next.

    That event can be read as one more variable, the last one, and nothing is asked of it, so that a trend is found up
    to it exactly where an event that can be read as some variable could follow at its time.

    Args:
        plan: A plan whose trends are certain once they are decided.
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
