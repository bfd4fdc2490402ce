"""Conditions of transitions in flat arrays, as `trends_edges.cu` reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trendweave.kernels import Condition, Template
from trendweave.kernels.columns import ColumnList
from trendweave.kernels.inputs import OPERATORS

#: Columns of the earlier row that are staged in shared memory.
SLOTS = 4


@dataclass(frozen=True, slots=True)
class EdgeColumns:
    """Transitions by target, their comparisons and pair tests; the columns that they read: codes that are compared,
    those of earlier rows first, then numbers of values that pair tests look up; guards."""

    incoming: list[int]
    source: list[int]
    guard: list[int]
    first_test: list[int]
    pair: list[int]
    tests: list[tuple[int, int, int]]
    pairs: list[tuple[int, int, int, int]]
    answers: np.ndarray
    codes: list[np.ndarray]
    values: list[np.ndarray]
    guards: list[np.ndarray]

    @property
    def staged(self) -> int:
        """How many columns are staged."""
        return min(SLOTS, 1 + max((test[0] for test in self.tests), default=-1))

    def simple_tests(self, states: int) -> int:
        """How many comparisons of the first columns one state that follows itself asks for, if it is 1 or 2 and there
        is nothing else; else 0."""
        tests = [(place, OPERATORS[how]) for place, _, how in self.tests]
        alone = states == 1 and self.source == [0] and self.guard == [-1] and self.pair == [-1]
        plain = len(tests) in (1, 2) and all(how != "!=" for _, how in tests)
        return len(tests) if alone and plain and [place for place, _ in tests] == list(range(len(tests))) else 0


def number_columns(template: Template, conditions: Sequence[Condition]) -> EdgeColumns:
    """The flat arrays of some conditions, one per transition of the template."""
    codes, values, guards = ColumnList(), ColumnList(), ColumnList()
    order = np.argsort(template.target, kind="stable").tolist()
    compared = [comparison for t in order for comparison in conditions[t].comparisons]
    for comparison in compared:
        codes.number(np.asarray(comparison.previous))
    for comparison in compared:
        codes.number(np.asarray(comparison.next))
    source, guard, first_test, pair = [], [], [0], []
    tests: list[tuple[int, int, int]] = []
    pairs: list[tuple[int, int, int, int]] = []
    answers = [np.empty(0, np.uint8)]
    for t in order:
        condition = conditions[t]
        source.append(int(template.source[t]))
        guard.append(-1 if condition.guard is None else guards.number(np.asarray(condition.guard)))
        for comparison in condition.comparisons:
            previous, following = (codes.number(np.asarray(side)) for side in (comparison.previous, comparison.next))
            tests.append((previous, following, OPERATORS.index(comparison.operator)))
        first_test.append(len(tests))
        pair.append(-1)
        if condition.pair_test is not None:
            pair[-1] = len(pairs)
            previous, following, known = condition.pair_test
            first, second = (len(codes.arrays) + values.number(np.asarray(side)) for side in (previous, following))
            pairs.append((first, second, sum(part.size for part in answers), known.shape[1]))
            answers.append(np.asarray(known, np.uint8).reshape(-1))
    incoming = np.searchsorted(np.asarray(template.target)[order], np.arange(len(template.state_variable) + 1))
    return EdgeColumns(
        incoming.tolist(), source, guard, first_test, pair, tests, pairs, np.concatenate(answers), codes.arrays,
        values.arrays, guards.arrays,
    )  # fmt: skip
