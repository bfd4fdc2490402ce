"""When one event of a trend may follow another: the conditions of a template's transitions, as flat tables."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from trendweave.kernels.aggregates.passes import normalise_conditions
from trendweave.kernels.columns import ColumnList
from trendweave.kernels.compiling import inlined_late
from trendweave.kernels.inputs import (
    EQUAL,
    GREATER,
    GREATER_EQUAL,
    LESS,
    LESS_EQUAL,
    OPERATORS,
    Selection,
    Template,
)
from trendweave.kernels.pair_test import pair_holds
from trendweave.kernels.searching import first_not_below


class Tests(NamedTuple):
    """Comparisons of two rows, those of all transitions one after the other."""

    previous: np.ndarray  # int64[.]: the column of codes of the earlier row
    following: np.ndarray  # int64[.]: and of the later one
    operator: np.ndarray  # int64[.]


class Steps(NamedTuple):
    """When one event may follow another: per transition of the template, its comparisons, guard and pair test."""

    incoming: np.ndarray  # int64[m]: transitions sorted by target, then source
    incoming_starts: np.ndarray  # int64[q+1]
    outgoing: np.ndarray  # int64[m]: transitions sorted by source, then target
    outgoing_starts: np.ndarray  # int64[q+1]
    outgoing_targets: np.ndarray  # int64[m]: where those lead
    source: np.ndarray  # int64[m]
    first_test: np.ndarray  # int64[m]
    end_test: np.ndarray  # int64[m]
    guard: np.ndarray  # int64[m]: a line of `guards`, or -1
    pair: np.ndarray  # int64[m]: a line of `pairs`, or -1
    tests: Tests
    codes: np.ndarray  # int64[., n]
    guards: np.ndarray  # int64[., n]: ticks before which predecessors of a row are out
    pairs: np.ndarray
    answers: np.ndarray
    variable: np.ndarray  # int64[q]
    selection: int


def flatten_steps(template: Template, conditions: Sequence | None, selection: Selection, count: int) -> Steps:
    """Write the conditions of a template's transitions over so many rows as flat tables."""
    conditions = normalise_conditions(conditions, len(template.source))
    states = len(template.state_variable)
    codes, guards = ColumnList(), ColumnList()
    parts, tests, pairs, answers, used = [], [], [], [np.zeros(0, np.uint8)], 0
    for condition in conditions:
        first = len(tests)
        for comparison in condition.comparisons:
            sides = comparison.previous, comparison.next
            tests.append((*map(codes.number, sides), OPERATORS.index(comparison.operator)))
        tested = -1
        if condition.pair_test is not None:
            previous, following, known = condition.pair_test
            tested = len(pairs)
            pairs.append((codes.number(previous), codes.number(following), used, known.shape[1]))
            answers.append(np.asarray(known, np.bool_).reshape(-1).view(np.uint8))
            used += answers[-1].size
        guarded = -1 if condition.guard is None else guards.number(condition.guard)
        parts.append((first, len(tests), guarded, tested))
    first_test, end_test, guard, pair = np.array(parts, np.int64).reshape(len(parts), 4).T.copy()
    source, target = np.asarray(template.source, np.int64), np.asarray(template.target, np.int64)
    incoming, outgoing = np.lexsort((source, target)), np.lexsort((target, source))
    outgoing_starts = np.searchsorted(source[outgoing], np.arange(states + 1))
    return Steps(
        incoming,
        np.searchsorted(target[incoming], np.arange(states + 1)),
        outgoing,
        outgoing_starts,
        target[outgoing],
        source,
        first_test,
        end_test,
        guard,
        pair,
        Tests(*np.array(tests, np.int64).reshape(len(tests), 3).T.copy()),
        codes.matrix(count),
        guards.matrix(count),
        np.array(pairs, np.int64).reshape(len(pairs), 4),
        np.concatenate(answers),
        np.asarray(template.state_variable, np.int64),
        int(selection),
    )


@inlined_late
def transition_between(steps, source, target):
    """The transition from a state to a state, or -1."""
    end = steps.outgoing_starts[source + 1]
    at = first_not_below(steps.outgoing_targets, steps.outgoing_starts[source], end, target)
    return steps.outgoing[at] if at < end and steps.outgoing_targets[at] == target else np.int64(-1)


@inlined_late
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


@inlined_late
def accepts(steps, transition, previous, following):
    """Whether a row can follow another on a transition, apart from negation."""
    tests, codes = steps.tests, steps.codes
    for t in range(steps.first_test[transition], steps.end_test[transition]):
        if not compares(tests.operator[t], codes[tests.previous[t], previous], codes[tests.following[t], following]):
            return False
    pair = steps.pair[transition]
    return pair < 0 or pair_holds(steps.pairs, pair, steps.answers, codes, previous, following)


@inlined_late
def guard_at(steps, transition, row):
    """The tick before which predecessors of a row are out."""
    guard = steps.guard[transition]
    return np.int64(np.iinfo(np.int64).min) if guard < 0 else steps.guards[guard, row]
