"""The ways that transitions were told to find their sums in, checked, and the flat arrays that say so to the kernel."""

import numpy as np

from trendweave.kernels.aggregates.program import (
    NONE,
    NOT_THERE,
    QUEUE,
    RANKED,
    SCAN,
    UNGUARDED,
    Program,
    Rankings,
    States,
    Stores,
    Tests,
    Transitions,
)
from trendweave.kernels.columns import ColumnList
from trendweave.kernels.inputs import OPERATORS, Condition, Selection, Way, furthest_states
from trendweave.kernels.pair_test import WIDTH
from trendweave.kernels.query_masks import ALL

WAYS = ("general", "scan")  # general: the cheapest way per transition, but no shortcut for whole templates


def fitting_ways(condition: Condition, selection: Selection, exact_sums: bool) -> list[Way]:
    """The ways that can serve one transition, the cheapest first."""
    operators = [c.operator for c in condition.comparisons]
    equalities = operators.count("=")
    orders = sum(o in ("<", "<=", ">", ">=") for o in operators)
    guarded = condition.guard is not None
    if condition.pair_test is not None:
        return [Way.SCAN]
    if not operators:
        return [Way.QUEUE if guarded else Way.RUNNING, Way.SCAN]
    searchable = equalities <= 1 and orders <= 1 and "!=" not in operators and selection is Selection.ANY
    if searchable and (exact_sums or not guarded):  # a guard takes vectors out of the tree again: integers only
        return [Way.RANKED, Way.SCAN]
    return [Way.SCAN]


def obey_ways(template, conditions, selection: Selection, exact_sums: bool, force_way: str | None) -> list[Way]:
    """One way per transition: the one that its condition names, the cheapest one where it names none.

    Raises:
        ValueError: A named way cannot serve its transition.
    """
    if force_way == "scan":
        return [Way.SCAN] * len(conditions)
    named = [condition.way if exact_sums else condition.inexact_way for condition in conditions]
    ways = []
    for number, (condition, way) in enumerate(zip(conditions, named, strict=True)):
        fitting = fitting_ways(condition, selection, exact_sums)
        if way is not None and way not in fitting:
            raise ValueError(f"transition {number} cannot be summed by {way.name}, only by {fitting}")
        ways.append(fitting[0] if way is None else way)
    if selection is Selection.NEXT:  # the successor tick needs all conditions of a state in one place
        scanned = {int(source) for source, way in zip(template.source, ways, strict=True) if way is Way.SCAN}
        for number, source in enumerate(template.source):
            if int(source) in scanned and ways[number] is not Way.SCAN:
                if named[number] is not None:
                    raise ValueError(f"transition {number} must be scanned, as another one from its state is")
                ways[number] = Way.SCAN
    return ways


def build_program(
    template, conditions, selection, exact_sums, force_way, codes, guards, start_guards, final_guards, queries
):  # fmt: skip
    """The Program for one pass; columns that it reads are appended to the given lists.

    A store serves all transitions that leave one state, find their sum the same way, and rank and guard alike.
    `queries` has a mask per transition: stores are for the same queries, too, but where they are scanned. Their masks
    are appended to the list beside it.
    """
    readers, store_readers = queries
    states = len(template.state_variable)
    ways = obey_ways(template, conditions, selection, exact_sums, force_way)
    guard_of = [NONE if c.guard is None else guards.number(c.guard) for c in conditions]
    rankings: dict = {}
    keys: list = []
    for t, condition in enumerate(conditions):
        ranking = NONE
        if ways[t] == RANKED:
            ranking = rankings.setdefault(rank_condition(condition, codes), len(rankings))
        scanned = ways[t] == SCAN
        keys.append(
            (
                int(template.source[t]),
                ways[t],
                ranking,
                NONE if scanned else guard_of[t],
                ALL if scanned else readers[t],
            )
        )
    stores = sorted(set(keys))  # by source
    number_of = {key: number for number, key in enumerate(stores)}
    store_of = [number_of[key] for key in keys]

    slots: list = [[] for _ in stores]  # the code columns that a scanned store keeps copies of
    for t, condition in enumerate(conditions):
        if ways[t] == SCAN:
            for comparison in condition.comparisons:
                column = codes.number(comparison.previous)
                if column not in slots[store_of[t]]:
                    slots[store_of[t]].append(column)
    slot_from = np.concatenate([[0], np.cumsum([len(s) for s in slots])]).astype(np.int64)

    transitions, tests, pairs, answers, place = [], [], [], [np.zeros(0, np.uint8)], 0
    order = order_by_target(template)
    for t in order:
        condition, store = conditions[t], store_of[t]
        first_test, pair = len(tests), NONE
        if ways[t] == SCAN:
            for comparison in condition.comparisons:
                slot = slot_from[store] + slots[store].index(codes.number(comparison.previous))
                tests.append((slot, codes.number(comparison.next), OPERATORS.index(comparison.operator)))
        if condition.pair_test is not None:
            previous, following, known = condition.pair_test
            pair = len(pairs)
            pairs.append((codes.number(previous), codes.number(following), place, known.shape[1]))
            answers.append(np.asarray(known, np.bool_).reshape(-1).view(np.uint8))
            place += answers[-1].size
        transitions.append((template.source[t], store, guard_of[t], first_test, len(tests), pair))

    listed = [way in (SCAN, QUEUE) or (way == RANKED and guard >= 0) for _, way, _, guard, _ in stores]
    lists = np.cumsum(listed) - 1
    store_rows = [
        (way, guard, ranking, lists[number] if listed[number] else NONE, slot_from[number], slot_from[number + 1])
        for number, (_, way, ranking, guard, _) in enumerate(stores)
    ]
    target = np.array([template.target[t] for t in order], np.int64)
    incoming = np.searchsorted(target, np.arange(states + 1))
    outgoing = np.searchsorted(np.array([key[0] for key in stores], np.int64), np.arange(states + 1))
    state_columns = (
        template.state_variable,
        number_guards(template.is_start, *start_guards),
        number_guards(template.is_final, *final_guards),
        incoming[:-1], incoming[1:], outgoing[:-1], outgoing[1:], furthest_states(template),
    )  # fmt: skip
    store_readers += [key[-1] for key in stores]
    return Program(
        states=States(*(np.array(column, np.int64) for column in state_columns)),
        transitions=Transitions(*split_columns(transitions, 6)),
        tests=Tests(*split_columns(tests, 3)),
        stores=Stores(*split_columns(store_rows, 6)),
        rankings=Rankings(*split_columns(list(rankings), 6)),
        slot_column=np.array([column for store in slots for column in store], np.int64),
        pairs=np.array(pairs, np.int64).reshape(len(pairs), WIDTH + 1),
        answers=np.concatenate(answers),
    )


def order_by_target(template) -> list[int]:
    """The order of transitions in a program."""
    return sorted(range(len(template.target)), key=lambda t: (int(template.target[t]), t))


def split_columns(rows: list, count: int) -> list[np.ndarray]:
    """int64 arrays, one per column of the rows, also without rows."""
    return [np.array([row[column] for row in rows], np.int64) for column in range(count)]


def rank_condition(condition, codes: ColumnList) -> tuple:
    """A row of `Rankings` for an equality, an order comparison or both."""
    equal = (-1, -1)
    ordered = (-1, -1, 0, 0)
    for comparison in condition.comparisons:
        pair = (codes.number(comparison.previous), codes.number(comparison.next))
        if comparison.operator == "=":
            equal = pair
        else:
            ordered = (*pair, int(comparison.operator[0] == ">"), int(comparison.operator[-1] == "="))
    return (*equal, *ordered)


def number_guards(flags, by_state: dict, columns: ColumnList) -> np.ndarray:
    """NOT_THERE where the flag is off, UNGUARDED where there is no guard, else the guard's number."""
    rows = np.where(np.asarray(flags, bool), UNGUARDED, NOT_THERE).astype(np.int64)
    for state, guard in (by_state or {}).items():
        if rows[state] != NOT_THERE:
            rows[state] = columns.number(guard)
    return rows
