"""Which way each transition finds the sum over its predecessors, and the flat arrays that say so to the kernel."""

import numpy as np

from .inputs import NO_CONDITION, OPERATORS
from .tables import LAST_TICK, QUEUE, RANKED, RUNNING, SCAN, Program

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

    def matrix(self, count: int, dtype=np.int64) -> np.ndarray:
        """All arrays as rows of one matrix; no copy when there is only one."""
        if len(self.arrays) == 1:
            return writable(np.ascontiguousarray(self.arrays[0], dtype)).reshape(1, count)
        matrix = np.empty((len(self.arrays), count), dtype)
        for number, array in enumerate(self.arrays):
            matrix[number] = array
        return matrix


def writable(array: np.ndarray) -> np.ndarray:
    """A writable array, copied if needed: kernels are compiled for writable arrays only, once."""
    if array.flags.writeable:
        return array
    return array.copy()


def way_of(condition, selection: str, exact_sums: bool, force_way: str | None) -> int:
    """The cheapest way that fits one transition, or the forced one where it fits."""
    operators = [c.operator for c in condition.comparisons]
    equalities = operators.count("=")
    orders = sum(o in ("<", "<=", ">", ">=") for o in operators)
    guarded = condition.guard is not None
    fitting = [SCAN]
    if condition.pair_test is None:
        if not operators:
            fitting.insert(0, QUEUE if guarded else RUNNING)
        elif equalities <= 1 and orders <= 1 and "!=" not in operators and selection == "any":
            if exact_sums or not guarded:  # a guard takes vectors out of the tree again: integers only
                fitting.insert(0, RANKED)
    if force_way == "scan":
        return SCAN
    return fitting[0]


def build_program(
    template, conditions, selection, exact_sums, force_way, codes, guards, start_guards, final_guards
):  # fmt: skip
    """The Program for one pass; columns that it reads are appended to the given lists."""
    states = len(template.state_variable)
    if conditions is None:
        conditions = [NO_CONDITION] * len(template.source)
    conditions = [c if c is not None else NO_CONDITION for c in conditions]
    if len(conditions) != len(template.source):
        raise ValueError("one condition per transition is needed")
    order = sorted(range(len(conditions)), key=lambda t: (int(template.target[t]), t))
    ways = [way_of(c, selection, exact_sums, force_way) for c in conditions]
    if selection == "next":  # the successor tick needs all conditions of a state in one place
        for state in range(states):
            mine = [t for t in range(len(conditions)) if template.source[t] == state]
            if any(ways[t] == SCAN for t in mine):
                for t in mine:
                    ways[t] = SCAN

    rankings: dict = {}
    stores: list = []  # (source, way, ranking, guard)
    keys: list = []
    for t, condition in enumerate(conditions):
        ranking = -1
        guard = guards.number(condition.guard) if condition.guard is not None else -1
        if ways[t] == RANKED:
            ranking = rankings.setdefault(ranking_of(condition, codes), len(rankings))
        keys.append((int(template.source[t]), ways[t], ranking, -1 if ways[t] == SCAN else guard))
    stores = sorted(set(keys))
    store_number = {key: number for number, key in enumerate(stores)}

    slots: list = [[] for _ in stores]
    for t, condition in enumerate(conditions):
        if ways[t] == SCAN:
            for comparison in condition.comparisons:
                column = codes.number(comparison.previous)
                if column not in slots[store_number[keys[t]]]:
                    slots[store_number[keys[t]]].append(column)
    slot_from = np.concatenate([[0], np.cumsum([len(s) for s in slots])]).astype(np.int64)

    transitions, tests, pairs, answers = [], [], [], [np.zeros(0, np.uint8)]
    for t in order:
        condition = conditions[t]
        store = store_number[keys[t]]
        test, pair = len(tests), len(pairs)
        if ways[t] == SCAN:
            for comparison in condition.comparisons:
                slot = slot_from[store] + slots[store].index(codes.number(comparison.previous))
                tests.append((slot, codes.number(comparison.next), OPERATORS.index(comparison.operator)))
        if condition.pair_test is not None:
            previous, following, known = condition.pair_test
            place = sum(part.size for part in answers)
            pairs.append((codes.number(previous), codes.number(following), place, known.shape[1]))
            answers.append(known.reshape(-1).view(np.uint8))
        guard = guards.number(condition.guard) if condition.guard is not None else -1
        transitions.append((template.source[t], store, guard, test, len(tests), pair, len(pairs)))

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
    table = lambda rows, width: np.array(rows, np.int64).reshape(len(rows), width)  # noqa: E731
    return Program(
        states=np.ascontiguousarray(np.stack([np.asarray(c, np.int64) for c in state_columns], axis=1)),
        transitions=table(transitions, 7),
        tests=table(tests, 3),
        stores=store_table,
        slot_column=np.array([column for store in slots for column in store], np.int64),
        rankings=table(list(rankings), 6),
        pairs=table(pairs, 4),
        answers=np.concatenate(answers),
    )


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
