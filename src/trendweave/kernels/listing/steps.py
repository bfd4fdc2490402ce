"""When one event of a trend may follow another: the conditions of a template's transitions, as flat tables."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from trendweave.kernels.aggregates.passes import normalise_conditions
from trendweave.kernels.aggregates.scan import EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL
from trendweave.kernels.columns import ColumnList
from trendweave.kernels.compiling import inlined
from trendweave.kernels.inputs import OPERATORS, Selection, Template
from trendweave.kernels.pair_test import pair_holds

#: Columns of `Steps.parts`.
PART_EQUALITY, PART_TESTS, PART_TESTS_END, PART_GUARD, PART_PAIR = range(5)


class Steps(NamedTuple):
    """When one event may follow another: per transition of the template, its comparisons, guard and pair test."""

    between: np.ndarray  # int64[q, q]: the transition from a state to a state, or -1
    incoming: np.ndarray  # int64[m]: transitions sorted by target
    incoming_starts: np.ndarray  # int64[q+1]
    source: np.ndarray  # int64[m]
    parts: np.ndarray  # int64[m, 5]: first equality or -1, range of tests, guard or -1, pair test or -1
    tests: np.ndarray  # int64[., 3]: columns of the earlier and the later row, operator
    codes: np.ndarray  # int64[., n]
    guards: np.ndarray  # int64[., n]
    pairs: np.ndarray
    answers: np.ndarray
    variable: np.ndarray  # int64[q]
    selection: int


def steps_of(template: Template, conditions: Sequence | None, selection: Selection, count: int) -> Steps:
    """Conditions as flat tables."""
    conditions = normalise_conditions(conditions, len(template.source))
    states = len(template.state_variable)
    codes, guards = ColumnList(), ColumnList()
    between = np.full((states, states), -1, np.int64)
    parts, tests, pairs, answers, place = [], [], [], [np.zeros(0, np.uint8)], 0
    for number, condition in enumerate(conditions):
        between[template.source[number], template.target[number]] = number
        first = len(tests)
        equality = -1
        for comparison in condition.comparisons:
            sides = comparison.previous, comparison.next
            if comparison.operator == "=" and equality < 0:
                equality = len(tests)
                sides = small_codes(*sides)
            tests.append((*map(codes.number, sides), OPERATORS.index(comparison.operator)))
        pair = -1
        if condition.pair_test is not None:
            previous, following, known = condition.pair_test
            pair = len(pairs)
            pairs.append((codes.number(previous), codes.number(following), place, known.shape[1]))
            answers.append(np.asarray(known, np.bool_).reshape(-1).view(np.uint8))
            place += answers[-1].size
        guard = -1 if condition.guard is None else guards.number(condition.guard)
        parts.append((equality, first, len(tests), guard, pair))
    target = np.asarray(template.target, np.int64)
    incoming = np.argsort(target, kind="stable")
    return Steps(
        between,
        incoming,
        np.searchsorted(target[incoming], np.arange(states + 1)),
        np.asarray(template.source, np.int64),
        np.array(parts, np.int64).reshape(len(parts), 5),
        np.array(tests, np.int64).reshape(len(tests), 3),
        codes.matrix(count),
        guards.matrix(count),
        np.array(pairs, np.int64).reshape(len(pairs), 4),
        np.concatenate(answers),
        np.asarray(template.state_variable, np.int64),
        int(selection),
    )


def small_codes(previous: np.ndarray, following: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Codes that are equal where the given ones are, and hardly larger than there are rows: vertices of equal values
    are chained, and there is a place for each value."""
    both = previous if previous is following else np.concatenate([previous, following])
    if both.max(initial=0) < 4 * both.size + 1024:
        return previous, following
    values, places = np.unique(both, return_inverse=True)
    if values[0] < 0:  # NULL
        places = places - 1
    return (places, places) if previous is following else (places[: previous.size], places[previous.size :])


@inlined
def compares(operator, left, right):
    """NULL, a code below zero, compares true with nothing."""
    if left < 0 or right < 0:
        return False
    if operator == LESS:
        return left < right
    if operator == LESS_EQUAL:
        return left <= right
    if operator == GREATER:
        return left > right
    if operator == GREATER_EQUAL:
        return left >= right
    if operator == EQUAL:
        return left == right
    return left != right


@inlined
def accepts(steps, transition, previous, following):
    """Whether a row can follow another on a transition, apart from negation."""
    parts, tests, codes = steps.parts, steps.tests, steps.codes
    for t in range(parts[transition, PART_TESTS], parts[transition, PART_TESTS_END]):
        if not compares(tests[t, 2], codes[tests[t, 0], previous], codes[tests[t, 1], following]):
            return False
    pair = parts[transition, PART_PAIR]
    return pair < 0 or pair_holds(steps.pairs, pair, steps.answers, codes, previous, following)


@inlined
def guard_at(steps, transition, row):
    """The tick before which predecessors of a row are out."""
    guard = steps.parts[transition, PART_GUARD]
    return np.int64(np.iinfo(np.int64).min) if guard < 0 else steps.guards[guard, row]
