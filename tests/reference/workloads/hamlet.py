"""Shared trend aggregation as HAMLET has it (Section 3.3, Algorithm 1): graphlets, snapshots, coefficients.

Counts the trends of several queries in one stretch of events (a pane, a window), slowly. Where the paper is silent we
say so: predecessors are strictly earlier, events that a query's conditions on single events refuse count zero for it,
and a Kleene type that begins the trends of some queries brings a snapshot `start` of ones and zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

Counts = dict[str, int]
"""A number for each query, by its name."""


@dataclass(frozen=True)
class HamletEvent:
    """An event: `name` is what tests call it (`b4`), `values` what conditions look at."""

    name: str
    type: str
    time: float
    values: tuple[tuple[str, object], ...] = ()

    def __getitem__(self, attribute: str) -> object:
        return dict(self.values)[attribute]


@dataclass(frozen=True)
class HamletQuery:
    """COUNT(*) of a pattern in which each type stands once: its template by types (Section 3.1).

    `accepts` decides about one event, `edge` about two neighbours, earlier first.
    """

    name: str
    start: frozenset[str]
    end: frozenset[str]
    predecessors: tuple[tuple[str, frozenset[str]], ...]
    accepts: Callable[[HamletEvent], bool] = field(default=lambda event: True, compare=False)
    edge: Callable[[HamletEvent, HamletEvent], bool] = field(default=lambda earlier, later: True, compare=False)

    @property
    def types(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.predecessors)

    def before(self, kind: str) -> frozenset[str]:
        """pt(E, q): the types that can stand directly before this one."""
        return dict(self.predecessors).get(kind, frozenset())

    def has_kleene(self, kind: str) -> bool:
        return kind in self.before(kind)

    def follows(self, earlier: HamletEvent, later: HamletEvent) -> bool:
        """Is the earlier event in pe(later, q)?"""
        return (
            earlier.type in self.before(later.type)
            and earlier.time < later.time
            and self.accepts(earlier)
            and self.accepts(later)
            and self.edge(earlier, later)
        )


def sequence(name: str, *parts: str, **conditions: Callable[..., bool]) -> HamletQuery:
    """SEQ of types, some with a plus: `sequence("q1", "A", "B+")`."""
    kinds = [part.removesuffix("+") for part in parts]
    assert len(set(kinds)) == len(kinds), "each type stands once"
    before = tuple(
        (kind, frozenset(kinds[place - 1 : place] if place else []) | frozenset([kind] if "+" in part else []))
        for place, (kind, part) in enumerate(zip(kinds, parts, strict=True))
    )
    return HamletQuery(name, frozenset(kinds[:1]), frozenset(kinds[-1:]), before, **conditions)


# ------------------------------------------------------------------------------------------------ graphlets, snapshots


@dataclass(frozen=True)
class Snapshot:
    """A variable with a value per query: at graphlet level (Definition 3.9), at event level (3.11), or of starts."""

    level: str  # "graphlet", "event" or "start"
    graphlet: str
    event: str  # the first event of the graphlet, or the event whose count it is


Expression = dict[Snapshot, int]
"""The intermediate count of an event of a shared graphlet: snapshots with their coefficients (data structure 2)."""


@dataclass
class Graphlet:
    """Events of one type that no other type of the workload's queries interrupts (Definition 3.6)."""

    name: str
    type: str
    queries: tuple[HamletQuery, ...]  # those that share it; none: not shared
    active: bool = True
    events: list[HamletEvent] = field(default_factory=list)
    behind: Snapshot | None = None  # the snapshot of all that came before, of a shared graphlet
    starts: Snapshot | None = None

    @property
    def shared(self) -> bool:
        return bool(self.queries)


@dataclass
class HamletRun:
    """What Algorithm 1 leaves: its four data structures."""

    graph: list[Graphlet] = field(default_factory=list)
    coefficients: dict[str, Expression] = field(default_factory=dict)  # by the event's name
    snapshots: dict[Snapshot, Counts] = field(default_factory=dict)
    results: Counts = field(default_factory=dict)
    own_counts: dict[str, Counts] = field(default_factory=dict)  # of events of graphlets that are not shared

    def count(self, event: HamletEvent, query: HamletQuery) -> int:
        """count(e, q): the value of the event's expression for the query, or the count that the query has alone."""
        if query.name in self.own_counts.get(event.name, {}):
            return self.own_counts[event.name][query.name]
        expression = self.coefficients.get(event.name, {})
        return sum(times * self.snapshots[one].get(query.name, 0) for one, times in expression.items())

    def events(self) -> Iterable[HamletEvent]:
        return (event for graphlet in self.graph for event in graphlet.events)

    def at_level(self, level: str) -> list[Snapshot]:
        return [snapshot for snapshot in self.snapshots if snapshot.level == level]


Sharing = Callable[[str, tuple[HamletQuery, ...], int], bool]
"""Shall a new graphlet of this type be shared by these queries? The number says the how manieth of its type it is."""


def run(
    queries: Sequence[HamletQuery],
    stream: Iterable[HamletEvent],
    share: Sharing = lambda kind, queries, number: True,
) -> HamletRun:
    """Algorithm 1 over events in order of time. `share` stands for the optimizer: splits and merges are its changes."""
    state = HamletRun(results={query.name: 0 for query in queries})
    for event in stream:
        readers = tuple(query for query in queries if event.type in query.types)
        if not readers:
            continue
        graphlet = _active_graphlet(state, queries, event, share)  # lines 4 to 13
        _count(state, graphlet, event, readers)  # lines 16 to 21
        graphlet.events.append(event)  # line 14
        for query in readers:
            if event.type in query.end:
                state.results[query.name] += state.count(event, query)  # lines 22 and 23
    return state


def _active_graphlet(state: HamletRun, queries: Sequence[HamletQuery], event: HamletEvent, share: Sharing) -> Graphlet:
    """Lines 4 to 13: an event of another type of any of the queries ends a graphlet."""
    for graphlet in state.graph:
        if graphlet.type != event.type:
            graphlet.active = False
    for graphlet in state.graph:
        if graphlet.active:
            return graphlet
    sharable = tuple(query for query in queries if query.has_kleene(event.type))  # Definition 3.1
    number = sum(graphlet.type == event.type for graphlet in state.graph)
    shared = sharable if len(sharable) > 1 and share(event.type, sharable, number) else ()
    made = Graphlet(f"{event.type}{len(state.graph) + 1}", event.type, shared)
    if made.shared:
        made.behind = Snapshot("graphlet", made.name, event.name)
        # Equation 5, with all graphlets of predecessor types, inactive ones of its own type too (Table 4, y).
        state.snapshots[made.behind] = {
            query.name: sum(
                state.count(earlier, query) for earlier in state.events() if earlier.type in query.before(event.type)
            )
            for query in shared
        }
        if any(event.type in query.start for query in shared):
            made.starts = Snapshot("start", made.name, event.name)
            state.snapshots[made.starts] = {query.name: int(event.type in query.start) for query in shared}
    state.graph.append(made)
    return made


def _count(state: HamletRun, graphlet: Graphlet, event: HamletEvent, readers: tuple[HamletQuery, ...]) -> None:
    alone = [query for query in readers if query not in graphlet.queries]
    state.own_counts[event.name] = {query.name: _equation_2(state, event, query) for query in alone}
    if not graphlet.shared:
        return
    inside = [[one for one in graphlet.events if query.follows(one, event)] for query in graphlet.queries]
    behind_all = all(_all_behind_precede(state, graphlet, event, query) for query in graphlet.queries)
    if behind_all and all(found == inside[0] for found in inside):
        expression: Expression = {}
        for earlier in inside[0]:
            for snapshot, times in state.coefficients[earlier.name].items():
                expression[snapshot] = expression.get(snapshot, 0) + times
        for snapshot in (graphlet.behind, graphlet.starts):
            if snapshot is not None:
                expression[snapshot] = expression.get(snapshot, 0) + 1
        state.coefficients[event.name] = expression
    else:
        own = Snapshot("event", graphlet.name, event.name)
        state.snapshots[own] = {query.name: _equation_2(state, event, query) for query in graphlet.queries}
        state.coefficients[event.name] = {own: 1}


def _all_behind_precede(state: HamletRun, graphlet: Graphlet, event: HamletEvent, query: HamletQuery) -> bool:
    """Does the query take the event, and is everything that the graphlet's snapshot adds up in pe(event, q)?"""
    return query.accepts(event) and all(
        query.follows(earlier, event) or state.count(earlier, query) == 0
        for earlier in state.events()
        if earlier.type in query.before(event.type) and earlier not in graphlet.events
    )


def _equation_2(state: HamletRun, event: HamletEvent, query: HamletQuery) -> int:
    """Equations 1 and 2, for one query."""
    if not query.accepts(event):
        return 0
    return int(event.type in query.start) + sum(
        state.count(earlier, query) for earlier in state.events() if query.follows(earlier, event)
    )
