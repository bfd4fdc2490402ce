"""What may still go on when a match has ended: its own beginning, read otherwise or lengthened, or an earlier one.

Two paths of the template are followed side by side, event by event: that of a match, and another one that began with
the same event or earlier. Where the first can end while the second is in a state that something follows, the match may
have to wait. Events of one time are left out of account: they may open beginnings that nothing else does.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from trendweave.language import syntax_tree as st
from trendweave.planning.plan import Plan, Template, Transition

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
