"""What a loop is written from: states, transitions and stores of a template, by the columns that they read.

A store is what a state keeps of its vertices, so that transitions find the sum over predecessors without visiting them.
It serves all transitions that leave the state, find their sum by the same method, and rank and guard alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from trendweave.kernels.columns import ColumnList
from trendweave.kernels.inputs import Condition, Selection, Template, Way, furthest_states

#: Transitions and states that are written one by one; more are gone over in a loop over tables.
MOST_UNROLLED = 16
#: States.start_guard and final_guard, where they are no column of guards.
NOT_THERE, UNGUARDED = -2, -1


@dataclass(frozen=True, slots=True)
class Ranking:
    """Code columns (of earlier events, of later ones) of an equality and of an order comparison, and how it orders."""

    equal: tuple[int, int] | None
    order: tuple[int, int] | None
    descending: bool = False
    inclusive: bool = True


@dataclass(frozen=True, slots=True)
class StoreKind:
    """How a store is kept. Slots are the code columns that a scanned one copies."""

    method: Way
    ranking: int | None = None
    guard: int | None = None
    slots: tuple[int, ...] = ()

    @property
    def is_listed(self) -> bool:
        """Whether vertices are kept one by one."""
        return self.method in (Way.SCAN, Way.QUEUE) or self.guard is not None


@dataclass(frozen=True, slots=True)
class StepKind:
    """How a transition reads its store: the store's kind, and what a scan asks of each vertex. Tests are (slot of the
    earlier code, operator, column of the later code); a pair test is its number and two columns."""

    store: StoreKind
    guard: int | None = None
    tests: tuple[tuple[int, str, int], ...] = ()
    pair: tuple[int, int, int] | None = None


@dataclass(frozen=True)
class Columns:
    """The columns that a loop reads, each a row of a matrix; tables of pair tests one after the other; and ranks that
    were found for blocks, by the blocks' identity."""

    codes: ColumnList
    guards: ColumnList
    start_guards: ColumnList
    final_guards: ColumnList
    answers: list[np.ndarray]
    ranks: dict[int, tuple[Any, dict[str, np.ndarray]]]


@dataclass(frozen=True)
class LoopPlan:
    """A template with a store per transition.

    Transitions are sorted by target, stores by source: those of state q are [bounds[q], bounds[q + 1]).
    """

    variable: tuple[int, ...]
    start: tuple[int, ...]  # per state: NOT_THERE, UNGUARDED or a column of start guards
    final: tuple[int, ...]
    source: tuple[int, ...]  # per transition
    store: tuple[int, ...]
    step: tuple[int, ...]  # number of its kind
    incoming: tuple[int, ...]  # bounds
    store_source: tuple[int, ...]  # per store
    store_kind: tuple[int, ...]
    outgoing: tuple[int, ...]  # bounds
    steps: tuple[StepKind, ...]
    kinds: tuple[StoreKind, ...]
    rankings: tuple[Ranking, ...]
    furthest: np.ndarray = field(compare=False)
    readers: tuple[int, ...]  # per store, the queries that read it, as a mask; -1 for all
    order: tuple[int, ...]  # the template's number of each transition

    @property
    def is_written(self) -> bool:
        """Whether transitions, states and stores are few enough to be written one by one."""
        return max(len(self.step), len(self.variable), len(self.store_kind)) <= MOST_UNROLLED

    @cached_property
    def sources(self) -> tuple[tuple[int, ...], ...]:
        """What precedes each state; the number of states stands for the empty past."""
        past, bounds = len(self.variable), zip(self.incoming[:-1], self.incoming[1:], strict=True)
        return tuple(
            self.source[low:high] + ((past,) if start != NOT_THERE else ())
            for (low, high), start in zip(bounds, self.start, strict=True)
        )

    @property
    def ends(self) -> list[int]:
        """The states in which trends end."""
        return [q for q, guard in enumerate(self.final) if guard != NOT_THERE]

    @cached_property
    def lists(self) -> tuple[int, ...]:
        """Per store, the number of its list, or -1."""
        listed = np.array([self.kinds[kind].is_listed for kind in self.store_kind], bool)
        return tuple(np.where(listed, np.cumsum(listed) - 1, -1).tolist())


def fitting_methods(condition: Condition, selection: Selection, exact_sums: bool) -> list[Way]:
    """The methods that can serve one transition, the cheapest first."""
    operators = [c.operator for c in condition.comparisons]
    orders = sum(o in ("<", "<=", ">", ">=") for o in operators)
    guarded = condition.guard is not None
    if condition.pair_test is not None:
        return [Way.SCAN]
    if not operators:
        return [Way.QUEUE if guarded else Way.RUNNING, Way.SCAN]
    searchable = operators.count("=") <= 1 and orders <= 1 and "!=" not in operators and selection is Selection.ANY
    if searchable and (exact_sums or not guarded):  # a guard takes vectors out of the tree again: integers only
        return [Way.RANKED, Way.SCAN]
    return [Way.SCAN]


def choose_methods(
    template: Template, conditions: Sequence[Condition], selection: Selection, exact_sums: bool
) -> tuple[Way, ...]:
    """One method per transition: the one that its condition names, the cheapest one where it names none.

    Raises:
        ValueError: A named method cannot serve its transition.
    """
    named = [condition.way if exact_sums else condition.inexact_way for condition in conditions]
    methods = []
    for number, (condition, method) in enumerate(zip(conditions, named, strict=True)):
        fitting = fitting_methods(condition, selection, exact_sums)
        if method is not None and method not in fitting:
            raise ValueError(f"transition {number} cannot be summed by {method.name}, only by {fitting}")
        methods.append(fitting[0] if method is None else method)
    if selection is Selection.NEXT:  # the next time that can follow needs all conditions of a state in one place
        scanned = {int(source) for source, way in zip(template.source, methods, strict=True) if way is Way.SCAN}
        for number, source in enumerate(template.source):
            if int(source) in scanned and methods[number] is not Way.SCAN:
                if named[number] is not None:
                    raise ValueError(f"transition {number} must be scanned, as another one from its state is")
                methods[number] = Way.SCAN
    return tuple(methods)


def _rank(condition: Condition, codes: ColumnList) -> Ranking:
    equal = order = None
    descending = False
    inclusive = True
    for comparison in condition.comparisons:
        pair = (codes.number(comparison.previous), codes.number(comparison.next))
        if comparison.operator == "=":
            equal = pair
        else:
            order, descending, inclusive = pair, comparison.operator[0] == ">", comparison.operator[-1] == "="
    return Ranking(equal, order, descending, inclusive)


def _number_guards(flags: np.ndarray, by_state: Mapping[int, np.ndarray], columns: ColumnList) -> tuple[int, ...]:
    numbers = [UNGUARDED if flag else NOT_THERE for flag in flags]
    for state, guard in by_state.items():
        if numbers[state] != NOT_THERE:
            numbers[state] = columns.number(guard)
    return tuple(numbers)


def make_plan(
    template: Template,
    conditions: Sequence[Condition],
    methods: Sequence[Way],
    start_guards: Mapping[int, np.ndarray],
    final_guards: Mapping[int, np.ndarray],
    readers: Sequence[int],
) -> tuple[LoopPlan, Columns]:
    """The plan of a loop, and the columns that it reads.

    Args:
        template: The template.
        conditions: One per transition.
        methods: How each transition finds its sum.
        start_guards: Per state, the first window in which each row may begin trends.
        final_guards: Per state, the last window in which each row may end trends.
        readers: Per transition, the queries that have it, as a mask; -1 for all. Stores are for the same queries, but
            where they are scanned.
    """
    columns = Columns(ColumnList(), ColumnList(), ColumnList(), ColumnList(), [], {})
    guard_of = [None if c.guard is None else columns.guards.number(c.guard) for c in conditions]
    rankings = dict[Ranking, int]()
    slots = dict[int, list[int]]()  # of the scanned store of each state
    keys = list[tuple[int, Way, int | None, int | None, int]]()
    for t, condition in enumerate(conditions):
        source, ranking, scanned = int(template.source[t]), None, methods[t] is Way.SCAN
        if methods[t] is Way.RANKED:
            ranking = rankings.setdefault(_rank(condition, columns.codes), len(rankings))
        if scanned:
            of_state = slots.setdefault(source, [])
            numbers = [columns.codes.number(comparison.previous) for comparison in condition.comparisons]
            of_state += [number for number in dict.fromkeys(numbers) if number not in of_state]
        keys.append((source, methods[t], ranking, None if scanned else guard_of[t], -1 if scanned else readers[t]))

    def kind_of(key: tuple[int, Way, int | None, int | None, int]) -> StoreKind:
        source, method, ranking, guard, _ = key
        return StoreKind(method, ranking, guard, tuple(slots[source]) if method is Way.SCAN else ())

    stores = sorted(set(keys), key=lambda key: tuple(-1 if part is None else int(part) for part in key))
    number_of = {key: number for number, key in enumerate(stores)}
    kinds = list(dict.fromkeys(kind_of(key) for key in stores))
    steps = dict[StepKind, int]()
    order = sorted(range(len(conditions)), key=lambda t: (int(template.target[t]), t))
    step_of = dict[int, int]()
    for t in order:
        kind, condition = kind_of(keys[t]), conditions[t]
        tests, pair = (), None
        if methods[t] is Way.SCAN:
            tests = tuple(
                (kind.slots.index(columns.codes.number(c.previous)), c.operator, columns.codes.number(c.next))
                for c in condition.comparisons
            )
            if condition.pair_test is not None:
                previous, following, answers = condition.pair_test
                pair = (len(columns.answers), columns.codes.number(previous), columns.codes.number(following))
                columns.answers.append(np.asarray(answers, np.bool_))
        step_of[t] = steps.setdefault(StepKind(kind, guard_of[t], tests, pair), len(steps))
    states = len(template.state_variable)
    targets = [int(template.target[t]) for t in order]
    sources = [key[0] for key in stores]
    plan = LoopPlan(
        variable=tuple(int(v) for v in template.state_variable),
        start=_number_guards(template.is_start, start_guards, columns.start_guards),
        final=_number_guards(template.is_final, final_guards, columns.final_guards),
        source=tuple(int(template.source[t]) for t in order),
        store=tuple(number_of[keys[t]] for t in order),
        step=tuple(step_of[t] for t in order),
        incoming=tuple(np.searchsorted(targets, np.arange(states + 1)).tolist()),
        store_source=tuple(sources),
        store_kind=tuple(kinds.index(kind_of(key)) for key in stores),
        outgoing=tuple(np.searchsorted(sources, np.arange(states + 1)).tolist()),
        steps=tuple(steps),
        kinds=tuple(kinds),
        rankings=tuple(rankings),
        furthest=furthest_states(template),
        readers=tuple(key[-1] for key in stores),
        order=tuple(order),
    )
    return plan, columns
