"""Templates of several queries laid over each other: states that play the same role are one state of a merged template.

A merged state may be read differently by each query (other types, other conditions on single events), and trends of
each begin, end and go on as its own template says. What must be the same for all is what a transition asks of two
events, because the search for predecessors is what queries share.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from trendweave.planning.plan import Guard
from trendweave.sharing.merged import Reading
from trendweave.sharing.patterns import Pattern, StepCondition, may_read_the_same

#: What speaks for one state as two queries' common one: the same comparison of events, the same step, the same reading;
#: and against it: a step that only one of them has.
_COMPARED, _STEP, _READ_ALIKE, _STEP_OF_ONE = 10, 3, 2, -2


@dataclass(frozen=True, slots=True)
class Lane:
    """What a query has of a merged template: how it is read in which roles, and numbers of roles and transitions.
    Queries that differ only in what they return have one lane."""

    readings: tuple[tuple[int, Reading], ...]
    starts: frozenset[int]
    ends: frozenset[int]
    steps: frozenset[tuple[int, int]]

    @staticmethod
    def of(pattern: Pattern, places: tuple[int, ...]) -> Lane:
        """What a pattern has whose states have these roles."""
        return Lane(
            tuple(sorted(zip(places, pattern.readings, strict=True), key=lambda one: one[0])),
            frozenset(places[state] for state in pattern.starts),
            frozenset(places[state] for state in pattern.ends),
            frozenset((places[source], places[target]) for source, target in pattern.steps),
        )


@dataclass(slots=True)
class Overlay:
    """A merged template that grows. Of each query that was laid over it, `members` has the number, `places` the role of
    each of its states, and `lane_of` the number of its lane."""

    steps: dict[tuple[int, int], StepCondition] = field(default_factory=dict)
    starts: dict[int, tuple[Guard, Guard]] = field(default_factory=dict)
    ends: dict[int, Guard] = field(default_factory=dict)
    readings: list[set[Reading]] = field(default_factory=list)
    members: list[int] = field(default_factory=list)
    patterns: list[Pattern] = field(default_factory=list)
    places: list[tuple[int, ...]] = field(default_factory=list)
    lanes: dict[Lane, int] = field(default_factory=dict)
    lane_of: list[int] = field(default_factory=list)

    def place(self, pattern: Pattern) -> tuple[int, ...]:
        """The roles that the states of a pattern would have, chosen one after the other, those with comparisons of
        events first."""
        compared = [0] * len(pattern.readings)
        for (source, target), condition in pattern.steps.items():
            for state in (source, target):
                compared[state] += condition.compares_events * (2 if source == target else 1)
        roles: dict[int, int] = {}
        new = len(self.readings)
        for state in sorted(range(len(compared)), key=lambda one: (-compared[one], one)):
            free = (role for role in range(len(self.readings)) if role not in roles.values())
            scores = {role: self._fit(pattern, state, role, roles) for role in free}
            best = max(scores, key=lambda role: scores[role], default=None)
            if best is not None and scores[best] > 0:
                roles[state] = best
            else:
                roles[state] = new
                new += 1
        return tuple(roles[state] for state in range(len(compared)))

    def _fit(self, pattern: Pattern, state: int, role: int, roles: dict[int, int]) -> int:
        """How well a state fits a role, beside those that have theirs; -1 where it cannot."""
        fit = _READ_ALIKE * (pattern.readings[state] in self.readings[role])
        for own, known in ((pattern.starts, self.starts), (pattern.ends, self.ends)):
            if state in own and role in known and own[state] != known[role]:
                return -1
            fit += 1 if (state in own) == (role in known) else -1
        pairs = {((state, state), (role, role))}
        for other, its_role in roles.items():
            pairs |= {((state, other), (role, its_role)), ((other, state), (its_role, role))}
        for between, of_roles in pairs:
            mine, theirs = pattern.steps.get(between), self.steps.get(of_roles)
            if mine is not None and theirs is not None:
                if mine != theirs:
                    return -1
                fit += _COMPARED if mine.compares_events else _STEP
            elif mine is not None or theirs is not None:
                fit += _STEP_OF_ONE
        return fit

    def shared_steps(self, pattern: Pattern, places: tuple[int, ...]) -> list[StepCondition]:
        """The transitions that a pattern, so placed, would have in common with those that are there: what they ask for
        is the same, and some events are read by both."""
        common = []
        for source, target in pattern.steps:
            pair = (places[source], places[target])
            if pair in self.steps and all(
                any(may_read_the_same(pattern.readings[state], known) for known in self.readings[role])
                for state, role in zip((source, target), pair, strict=True)
            ):
                common.append(self.steps[pair])
        return common

    def add(self, member: int, pattern: Pattern, places: tuple[int, ...]) -> None:
        """Lay the pattern of a query over the others."""
        for state, role in enumerate(places):
            while role >= len(self.readings):
                self.readings.append(set())
            self.readings[role].add(pattern.readings[state])
        for (source, target), condition in pattern.steps.items():
            self.steps.setdefault((places[source], places[target]), condition)
        for state, guards in pattern.starts.items():
            self.starts.setdefault(places[state], guards)
        for state, guard in pattern.ends.items():
            self.ends.setdefault(places[state], guard)
        self.members.append(member)
        self.patterns.append(pattern)
        self.places.append(places)
        self.lane_of.append(self.lanes.setdefault(Lane.of(pattern, places), len(self.lanes)))
