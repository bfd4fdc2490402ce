"""Many templates as one automaton: its states, the parts of it that queries have in common, and what it measures.

The automaton is a prefix tree with loops: states of several queries that have the same past are one state (A-Seq,
Section 4.1). Two states are the same where they live in the same kind of windows, read the same events, both begin
trends or both do not, and have the same states before them, over the same NOTs. That is asked of the states before them
in turn: states begin as equal as they look, and are told apart as long as something before them differs (partition
refinement), so states in a loop can be equal, too. Ending there, or what is measured, makes no difference.

Parts are what queries have in common anywhere in their patterns: types of sequences (A-Seq, Section 4.2), Kleene parts
(HAMLET, Section 3). A stretch that queries have in common is several parts, one after the other: each is computed for
all of its queries at once, and takes up what the one before it has counted for each (the snapshot, where a stretch
begins).

What is measured is measured for all queries alike: places (states, or what a query has of one) are marked whose events
count. Queries that use a place agree about its mark, and so do the states of a part, as they are computed together;
where queries do not agree, there is one more measure. So what is measured never stands in the way of a common state.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeAlias

from trendweave.language.syntax_tree import Expression
from trendweave.planning.plan import (
    AggregateColumn,
    Guard,
    Path,
    Plan,
    SlidingWindow,
    Template,
    TypeColumns,
    VariablePlan,
    WholeInput,
)


@dataclass(frozen=True, slots=True)
class Reading:
    """What an event must be to be read: of a type (None: of any), and true in conditions on it alone."""

    type: str | None
    local: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class MergedState:
    """A state of one query, or of a beginning that several queries have in common.

    Attributes:
        reading: What is read.
        window: The number of the kind of windows that it lives in.
        starts: Whether its events begin trends.
        queries: Who uses it, by numbers inside the unit.
    """

    reading: Reading
    window: int
    starts: bool
    queries: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MergedStep:
    """A transition. Events of `blocker` between its two events forbid it."""

    source: int
    target: int
    blocker: Reading | None = None


#: States that are alike: they read the same type, and may follow themselves over the same NOTs. No transition joins two
#: of them. A state that is like no other is a part of its own.
SharedPart: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MergedQueries:
    """The automaton of all queries of a unit.

    Attributes:
        windows: The kinds of windows.
        states: All states.
        steps: All transitions.
        places: Per query, the state that each state of its template has become.
        finals: Per query, the states in which its trends end.
        query_windows: Per query, the kind of its windows.
        parts: All states, put together where they are alike.
    """

    windows: tuple[SlidingWindow | WholeInput, ...]
    states: tuple[MergedState, ...]
    steps: tuple[MergedStep, ...]
    places: tuple[tuple[int, ...], ...]
    finals: tuple[tuple[int, ...], ...]
    query_windows: tuple[int, ...]
    parts: tuple[SharedPart, ...] = ()

    @property
    def prefixes(self) -> tuple[int, ...]:
        """States that several queries use: common beginnings."""
        return tuple(number for number, state in enumerate(self.states) if len(state.queries) > 1)

    @property
    def common(self) -> tuple[SharedPart, ...]:
        """Parts that occur several times."""
        return tuple(part for part in self.parts if len(part) > 1)

    @property
    def ends(self) -> list[tuple[int, int]]:
        """Where trends of queries end: states and queries."""
        return [(state, query) for query, states in enumerate(self.finals) for state in states]

    def queries_of(self, part: SharedPart) -> tuple[int, ...]:
        """Who uses a part."""
        return tuple(sorted({query for state in part for query in self.states[state].queries}))


def blocker_of(plan: Plan, guard: Guard) -> Reading | None:
    """Find the events that a gap must be free of.

    Args:
        plan: The plan.
        guard: Guards the gap.

    Returns:
        What they are read as; None where there are none, or it is more than one kind of single events.
    """
    if guard.always_open or len(guard.alternatives) != 1 or len(guard.alternatives[0]) != 1:
        return None
    negated = plan.negations[guard.alternatives[0][0]].template
    if len(negated.states) != 1:
        return None
    return reading_of(plan, negated.states[0].variable)


def reading_of(plan: Plan, variable: str) -> Reading:
    """What events read as a variable are."""
    found = plan.variable(variable)
    return Reading(found.type, found.local)


def merge_plans(
    plans: Sequence[Plan], names: Mapping[Reading, str], template: Template, aggregates: Sequence[AggregateColumn]
) -> Plan:
    """One plan for queries of one strategy and key: it asks of events what they do.

    Args:
        plans: The plans.
        names: The names of its variables, by how events are read.
        template: The merged template.
        aggregates: What is measured.
    """
    first = plans[0]
    grouped = [{group.path for group in plan.groups} for plan in plans]
    paths: dict[str | None, set[Path]] = defaultdict(set)
    for plan in plans:
        for columns in plan.needed_columns:
            paths[columns.type].update(columns.paths)
    return Plan(
        text=" | ".join(plan.text for plan in plans),
        returns="aggregates",
        strategy=first.strategy,
        window=first.window,
        variables=tuple(VariablePlan(name, reading.type, False, reading.local) for reading, name in names.items()),
        templates=(template,),
        negations=(),
        edges=(),
        partition_key=first.partition_key,
        bound_keys=(),
        groups=tuple(group for group in first.groups if all(group.path in own for own in grouped)),
        aggregates=tuple(aggregates),
        needed_columns=tuple(TypeColumns(type_, tuple(sorted(needed))) for type_, needed in paths.items()),
    )


def merge_templates(plans: Sequence[Plan]) -> MergedQueries:
    """The automaton of plans that `why_not_merged` has nothing against."""
    return _find_parts(_merge_prefixes(plans))


def _merge_prefixes(plans: Sequence[Plan]) -> MergedQueries:
    """Merge templates from their beginnings on.

    Args:
        plans: Plans that `why_not_merged` has nothing against.

    Returns:
        Their automaton; nothing is said yet about parts.
    """
    readings: dict[Reading, int] = {}
    windows: dict[SlidingWindow | WholeInput, int] = {}
    looks: list[tuple[int, ...]] = []
    before: list[list[tuple[int, int]]] = []
    kinds: list[int] = []
    for plan in plans:
        assert isinstance(plan.window, SlidingWindow | WholeInput), "others are not merged"
        kinds.append(windows.setdefault(plan.window, len(windows)))
        first = len(looks)
        own = _own_variables(plan, readings)
        starts = {start.state for start in plan.template.starts}
        looks += [(kinds[-1], *own[state.variable], state.number in starts) for state in plan.template.states]
        before += [[] for _ in plan.template.states]
        for step in plan.template.transitions:
            over = blocker_of(plan, step.guard)
            number = -1 if over is None else readings.setdefault(over, len(readings))
            before[first + step.target].append((first + step.source, number))
    block = _refine(looks, before)
    known = list(readings)
    queries: dict[int, dict[int, None]] = {}
    places, finals, rest = [], [], iter(block)
    for query, plan in enumerate(plans):
        places.append(tuple(next(rest) for _ in plan.template.states))
        finals.append(tuple(dict.fromkeys(places[-1][end.state] for end in plan.template.ends)))
        for state in places[-1]:
            queries.setdefault(state, {})[query] = None
    steps: dict[MergedStep, None] = {}
    states = []
    of_block = dict(zip(block, range(len(block)), strict=True))
    for number in range(len(queries)):
        window, reading, _, starts_trends = looks[of_block[number]]
        states.append(MergedState(known[reading], window, bool(starts_trends), tuple(queries[number])))
        for source, blocker in before[of_block[number]]:
            steps[MergedStep(block[source], number, None if blocker < 0 else known[blocker])] = None
    return MergedQueries(tuple(windows), tuple(states), tuple(steps), tuple(places), tuple(finals), tuple(kinds))


def _own_variables(plan: Plan, readings: dict[Reading, int]) -> dict[str, tuple[int, int]]:
    """Per variable, what it reads, and its number among those of the query that read the same: they stay apart."""
    seen: dict[int, int] = {}
    own = {}
    for name in dict.fromkeys(state.variable for state in plan.template.states):
        reading = readings.setdefault(reading_of(plan, name), len(readings))
        own[name] = (reading, seen.setdefault(reading, 0))
        seen[reading] += 1
    return own


def _refine(looks: Sequence[Hashable], before: Sequence[Sequence[tuple[int, int]]]) -> list[int]:
    """A number per state, equal for those that are one."""
    block, count = _number(looks)
    while True:
        told_apart, more = _number(
            (block[state], frozenset((block[source], blocker) for source, blocker in sources))
            for state, sources in enumerate(before)
        )
        if more == count:
            return told_apart
        block, count = told_apart, more


def _number(things: Iterable[Hashable]) -> tuple[list[int], int]:
    """Numbers of things in the order in which they come, equal for equal ones; and how many are different."""
    known: dict[Hashable, int] = {}
    return [known.setdefault(thing, len(known)) for thing in things], len(known)


def _find_parts(merged: MergedQueries) -> MergedQueries:
    """Find states that are alike.

    Args:
        merged: An automaton without parts.

    Returns:
        The same with parts: each state is in one.
    """
    loops: dict[int, set[Reading | None]] = defaultdict(set)
    near: dict[int, set[int]] = defaultdict(set)
    for step in merged.steps:
        if step.source == step.target:
            loops[step.source].add(step.blocker)
        else:
            near[step.source].add(step.target)
            near[step.target].add(step.source)
    part_of: dict[int, tuple[Hashable, int]] = {}
    states: dict[tuple[Hashable, int], list[int]] = defaultdict(list)
    for number, state in enumerate(merged.states):
        look = (state.reading.type, frozenset(loops[number]))
        taken = {part_of[other] for other in near[number] if other in part_of}
        part_of[number] = next((look, n) for n in range(len(taken) + 1) if (look, n) not in taken)
        states[part_of[number]].append(number)
    return replace(merged, parts=tuple(map(tuple, states.values())))


@dataclass(frozen=True, slots=True)
class Measures:
    """What is measured for all queries of a unit alike.

    Attributes:
        columns: Aggregates of the merged plan.
        places: Per column, the places whose events count: states, or roles with the lanes that have them.
        reads: Per query and aggregate of its plan, the number of the column that it is; None for the number of trends.
    """

    columns: tuple[AggregateColumn, ...]
    places: tuple[tuple[int, ...], ...]
    reads: tuple[tuple[int | None, ...], ...]


def share_measures(
    plans: Sequence[Plan], places: Sequence[Sequence[int]], part_of: Mapping[int, int] = MappingProxyType({})
) -> Measures:
    """Measure the same for as many queries as possible.

    Args:
        plans: The plans of queries.
        places: Per query, the place of each state of its template among those of all.
        part_of: Places that are computed together, and so are marked alike where nobody asks for anything else.
    """
    # Marks of places, and of parts under numbers below 0.
    known: list[dict[int, bool]] = []
    part_key = {place: -1 - part for place, part in part_of.items()}
    columns: dict[tuple[str, Path | None, int], int] = {}
    reads = []
    for plan, own in zip(plans, places, strict=True):
        numbers: list[int | None] = []
        for column in plan.aggregates:
            if column.variable is None:
                numbers.append(None)
                continue
            marks = [
                (key, state.variable == column.variable)
                for state, place in zip(plan.template.states, own, strict=True)
                for key in (place, part_key.get(place, place))
            ]
            fitting = (n for n, other in enumerate(known) if all(other.get(key, mark) == mark for key, mark in marks))
            number = next(fitting, len(known))
            known += [{}] if number == len(known) else []
            for key, mark in marks:
                known[number].setdefault(key, mark)
            numbers.append(columns.setdefault((column.function, column.path, number), len(columns)))
        reads.append(tuple(numbers))
    every = dict.fromkeys(place for own in places for place in own)
    marked = [
        tuple(place for place in every if other.get(place, other.get(part_key.get(place, place), False)))
        for other in known
    ]
    return Measures(
        tuple(AggregateColumn(f"m{n}", function, "v0", path) for (function, path, _), n in columns.items()),
        tuple(marked[number] for _, _, number in columns),
        tuple(reads),
    )
