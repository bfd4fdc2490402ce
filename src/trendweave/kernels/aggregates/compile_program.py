"""The ways that transitions were told to find their sums in, checked, and the flat arrays that say so to the kernel."""

import numpy as np

from trendweave.kernels.aggregates.pair_test import WIDTH
from trendweave.kernels.aggregates.program import LAST_TICK, PAIR, QUEUE, RANKED, SCAN, TEST_OPERATOR, Program
from trendweave.kernels.inputs import OPERATORS, Condition, Way

WAYS = ("general", "scan")  # general: the cheapest way per transition, but no shortcut for whole templates


class ColumnList:
    """Distinct arrays, by identity: a column read as previous and as next is kept once."""

    def __init__(self) -> None:
        self.arrays: list = []
        self.numbers: dict = {}

    def number(self, array: np.ndarray) -> int:
        """The array's number; a new one if it was not seen before."""
        if id(array) not in self.numbers:
            self.numbers[id(array)] = len(self.arrays)
            self.arrays.append(array)
        return self.numbers[id(array)]

    def matrix(self, count: int) -> np.ndarray:
        """All arrays as rows of one int64 matrix; no copy when there is only one."""
        if len(self.arrays) == 1:
            return writable(np.ascontiguousarray(self.arrays[0], np.int64)).reshape(1, count)
        matrix = np.empty((len(self.arrays), count), np.int64)
        for number, array in enumerate(self.arrays):
            matrix[number] = array
        return matrix


def writable(array: np.ndarray) -> np.ndarray:
    """A writable array, copied if needed: kernels are compiled for writable arrays only, once."""
    if array.flags.writeable:
        return array
    return array.copy()


def fitting_ways(condition: Condition, selection: str, exact_sums: bool) -> list[Way]:
    """The ways that can serve one transition, the cheapest first."""
    operators = [c.operator for c in condition.comparisons]
    equalities = operators.count("=")
    orders = sum(o in ("<", "<=", ">", ">=") for o in operators)
    guarded = condition.guard is not None
    if condition.pair_test is not None:
        return [Way.SCAN]
    if not operators:
        return [Way.QUEUE if guarded else Way.RUNNING, Way.SCAN]
    searchable = equalities <= 1 and orders <= 1 and "!=" not in operators and selection == "any"
    if searchable and (exact_sums or not guarded):  # a guard takes vectors out of the tree again: integers only
        return [Way.RANKED, Way.SCAN]
    return [Way.SCAN]


def obey_ways(template, conditions, selection: str, exact_sums: bool, force_way: str | None) -> list[Way]:
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
    if selection == "next":  # the successor tick needs all conditions of a state in one place
        scanned = {int(source) for source, way in zip(template.source, ways, strict=True) if way is Way.SCAN}
        for number, source in enumerate(template.source):
            if int(source) in scanned and ways[number] is not Way.SCAN:
                if named[number] is not None:
                    raise ValueError(f"transition {number} must be scanned, as another one from its state is")
                ways[number] = Way.SCAN
    return ways


def build_program(template, conditions, selection, exact_sums, force_way, codes, guards, start_guards, final_guards):
    """The Program for one pass; columns that it reads are appended to the given lists.

    A store serves all transitions that leave one state, find their sum the same way, and rank and guard alike.
    """
    states = len(template.state_variable)
    ways = obey_ways(template, conditions, selection, exact_sums, force_way)
    guard_of = [-1 if c.guard is None else guards.number(c.guard) for c in conditions]
    rankings: dict = {}
    keys: list = []
    for t, condition in enumerate(conditions):
        ranking = -1
        if ways[t] == RANKED:
            ranking = rankings.setdefault(ranking_of(condition, codes), len(rankings))
        keys.append((int(template.source[t]), ways[t], ranking, -1 if ways[t] == SCAN else guard_of[t]))
    stores = sorted(set(keys))  # by source
    store_of = [stores.index(key) for key in keys]

    slots: list = [[] for _ in stores]  # the code columns that a scanned store keeps copies of
    for t, condition in enumerate(conditions):
        if ways[t] == SCAN:
            for comparison in condition.comparisons:
                column = codes.number(comparison.previous)
                if column not in slots[store_of[t]]:
                    slots[store_of[t]].append(column)
    slot_from = np.concatenate([[0], np.cumsum([len(s) for s in slots])]).astype(np.int64)

    transitions, tests, pairs, answers = [], [], [], [np.zeros(0, np.uint8)]
    order = sorted(range(len(conditions)), key=lambda t: (int(template.target[t]), t))
    for t in order:
        condition, store = conditions[t], store_of[t]
        first_test, pair = len(tests), -1
        if ways[t] == SCAN:
            for comparison in condition.comparisons:
                slot = slot_from[store] + slots[store].index(codes.number(comparison.previous))
                tests.append((slot, codes.number(comparison.next), OPERATORS.index(comparison.operator)))
        if condition.pair_test is not None:
            previous, following, known = condition.pair_test
            place = sum(part.size for part in answers)
            pair = len(pairs)
            pairs.append((codes.number(previous), codes.number(following), place, known.shape[1]))
            answers.append(np.asarray(known, np.bool_).reshape(-1).view(np.uint8))
        transitions.append((template.source[t], store, guard_of[t], first_test, len(tests), pair))

    store_table = np.zeros((len(stores), LAST_TICK + 1), np.int64)
    lists = 0
    for number, (_, way, ranking, guard) in enumerate(stores):
        listed = way in (SCAN, QUEUE) or (way == RANKED and guard >= 0)
        store_table[number, :6] = way, guard, ranking, lists if listed else -1, slot_from[number], slot_from[number + 1]
        lists += listed
    target = np.array([template.target[t] for t in order], np.int64)
    incoming = np.searchsorted(target, np.arange(states + 1))
    outgoing = np.searchsorted(np.array([key[0] for key in stores], np.int64), np.arange(states + 1))
    state_columns = (
        template.state_variable,
        guard_rows(template.is_start, *start_guards),
        guard_rows(template.is_final, *final_guards),
        incoming[:-1], incoming[1:], outgoing[:-1], outgoing[1:],
    )  # fmt: skip
    return Program(
        states=np.ascontiguousarray(np.stack([np.asarray(c, np.int64) for c in state_columns], axis=1)),
        transitions=table_of(transitions, PAIR + 1),
        tests=table_of(tests, TEST_OPERATOR + 1),
        stores=store_table,
        slot_column=np.array([column for store in slots for column in store], np.int64),
        rankings=table_of(list(rankings), 6),
        pairs=table_of(pairs, WIDTH + 1),
        answers=np.concatenate(answers),
    )


def table_of(rows: list, width: int) -> np.ndarray:
    """int64[rows, width], also without rows."""
    return np.array(rows, np.int64).reshape(len(rows), width)


def ranking_of(condition, codes: ColumnList) -> tuple:
    """The arguments of `rank_block` for an equality, an order comparison or both."""
    equal = (-1, -1)
    ordered = (-1, -1, 0, 0)
    for comparison in condition.comparisons:
        pair = (codes.number(comparison.previous), codes.number(comparison.next))
        if comparison.operator == "=":
            equal = pair
        else:
            ordered = (*pair, int(comparison.operator[0] == ">"), int(comparison.operator[-1] == "="))
    return (*equal, *ordered)


def guard_rows(flags, by_state: dict, columns: ColumnList) -> np.ndarray:
    """-2 where the flag is off, -1 where there is no guard, else the guard's number."""
    rows = np.where(np.asarray(flags, bool), -1, -2).astype(np.int64)
    for state, guard in (by_state or {}).items():
        if rows[state] != -2:
            rows[state] = columns.number(guard)
    return rows
