"""Pattern -> position automaton: one position per place of the pattern that reads an event (Glushkov's construction).

GRETA, Section 4.1, Algorithm 1 builds its template the same way, for patterns in which no type occurs twice;
positions are needed where types or variables repeat. Star, option and bounds are expanded; NOTs become conditions on
steps (`guards.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from trendweave.language import syntax_tree as st
from trendweave.planning.automata.guards import FREE_WAY, NO_WAY, Ways, both, either, unless

MAX_STATES = 10_000
#: A pattern such as (A?){9999} has few positions and millions of steps between them.
MAX_STEPS = 1_000_000
START = -1


class TooManyStates(Exception):
    """The pattern needs more states or steps than the limit."""


@dataclass(slots=True)
class Positions:
    """A nondeterministic automaton. `steps[p][q]` are the ways from position p to q; START leads to where trends
    begin."""

    variables: list[str] = field(default_factory=list)
    steps: dict[int, dict[int, Ways]] = field(default_factory=dict)
    ends: dict[int, Ways] = field(default_factory=dict)
    empty: Ways = NO_WAY


@dataclass(slots=True)
class _Fragment:
    """A part of the pattern under construction: the ways to be empty, and the positions where it begins and ends."""

    empty: Ways
    first: dict[int, Ways]
    last: dict[int, Ways]


class PositionBuilder:
    """Builds the position automaton of one pattern. `negations` numbers the patterns under NOT, for the whole query."""

    def __init__(self, negations: dict[st.Pattern, int]) -> None:
        self._negations = negations
        self._result = Positions()
        self._step_count = 0

    def build(self, pattern: st.Pattern) -> Positions:
        whole = self._fragment(pattern)
        result = self._result
        result.steps[START] = whole.first
        result.ends = whole.last
        result.empty = whole.empty
        return result

    def _fragment(self, pattern: st.Pattern) -> _Fragment:
        match pattern:
            case st.EventPattern():
                return self._position(pattern.name)
            case st.Sequence(parts=parts):
                return self._sequence([self._fragment(part) for part in parts])
            case st.Alternatives(options=options):
                return self._alternatives([self._fragment(option) for option in options])
            case st.Repeat(body=body, low=low, high=high):
                return self._repeat(body, low, high)
            case st.Negation(body=body):
                number = self._negations.setdefault(body, len(self._negations))
                return _Fragment(unless(number), {}, {})
            case st.Conjunction():
                raise AssertionError("a conjunction has a template per part")

    def _position(self, variable: str) -> _Fragment:
        number = len(self._result.variables)
        if number >= MAX_STATES:
            raise TooManyStates
        self._result.variables.append(variable)
        self._result.steps[number] = {}
        return _Fragment(NO_WAY, {number: FREE_WAY}, {number: FREE_WAY})

    def _sequence(self, parts: list[_Fragment]) -> _Fragment:
        whole = _Fragment(FREE_WAY, {}, {})
        for part in reversed(parts):
            whole = self._join(part, whole)
        return whole

    def _join(self, head: _Fragment, tail: _Fragment) -> _Fragment:
        """Head, then tail. Both are used up: their dictionaries are extended in place, so long chains stay linear."""
        self._connect(head.last, tail.first)
        first, last = head.first, tail.last
        if head.empty:
            for position, ways in tail.first.items():
                first[position] = either(first.get(position, NO_WAY), both(head.empty, ways))
            self._count(len(tail.first))
        if tail.empty:
            for position, ways in head.last.items():
                last[position] = either(last.get(position, NO_WAY), both(ways, tail.empty))
            self._count(len(head.last))
        return _Fragment(both(head.empty, tail.empty), first, last)

    def _alternatives(self, options: list[_Fragment]) -> _Fragment:
        whole = _Fragment(NO_WAY, {}, {})
        for option in options:
            whole.empty = either(whole.empty, option.empty)
            whole.first.update(option.first)
            whole.last.update(option.last)
        return whole

    def _repeat(self, body: st.Pattern, low: int, high: int | None) -> _Fragment:
        if high == 0:
            return _Fragment(FREE_WAY, {}, {})
        positions_before = len(self._result.variables)
        copy = self._fragment(body)
        if len(self._result.variables) == positions_before:
            # Nothing to read in the body: repeating it changes nothing.
            return _Fragment(either(copy.empty, FREE_WAY if low == 0 else NO_WAY), {}, {})
        if high is None:
            self._connect(copy.last, copy.first)
            whole, copies, optional = copy, 1, low == 0
        else:
            # c{2,5} = c c (c (c (c)?)?)?: built from its end, so that each copy leads to the next one only.
            whole, copies, optional = copy, 1, high - low >= 1
        if optional:
            whole.empty = either(whole.empty, FREE_WAY)
        total = max(1, low) if high is None else high
        while copies < total:
            whole = self._join(self._fragment(body), whole)
            copies += 1
            if high is not None and copies <= high - low:
                whole.empty = either(whole.empty, FREE_WAY)
        return whole

    def _connect(self, last: dict[int, Ways], first: dict[int, Ways]) -> None:
        self._count(len(last) * len(first))
        for source, leaving in last.items():
            steps = self._result.steps[source]
            for target, entering in first.items():
                steps[target] = either(steps.get(target, NO_WAY), both(leaving, entering))

    def _count(self, steps: int) -> None:
        self._step_count += steps
        if self._step_count > MAX_STEPS:
            raise TooManyStates
