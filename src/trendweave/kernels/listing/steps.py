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
    furthest_states,
)
from trendweave.kernels.pair_test import pair_holds
from trendweave.kernels.searching import first_not_below

#: Values are chained by codes up to so many times as large as there are rows, and somewhat larger where rows are few.
_CODES_PER_ROW, _FEW_CODES = 4, 1024


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
    place: np.ndarray  # int64[m]: the place of a transition among those that leave its source
    furthest: np.ndarray  # int64[q+1]: see `furthest_states`
    source: np.ndarray  # int64[m]
    equality: np.ndarray  # int64[m]: the first test for equality, or -1
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
        equal = -1
        for comparison in condition.comparisons:
            sides = comparison.previous, comparison.next
            if comparison.operator == "=" and equal < 0:
                equal = len(tests)
                sides = small_codes(*sides)
            tests.append((*map(codes.number, sides), OPERATORS.index(comparison.operator)))
        tested = -1
        if condition.pair_test is not None:
            previous, following, known = condition.pair_test
            tested = len(pairs)
            pairs.append((codes.number(previous), codes.number(following), used, known.shape[1]))
            answers.append(np.asarray(known, np.bool_).reshape(-1).view(np.uint8))
            used += answers[-1].size
        guarded = -1 if condition.guard is None else guards.number(condition.guard)
        parts.append((equal, first, len(tests), guarded, tested))
    equality, first_test, end_test, guard, pair = np.array(parts, np.int64).reshape(len(parts), 5).T.copy()
    source, target = np.asarray(template.source, np.int64), np.asarray(template.target, np.int64)
    incoming, outgoing = np.lexsort((source, target)), np.lexsort((target, source))
    outgoing_starts = np.searchsorted(source[outgoing], np.arange(states + 1))
    place = np.empty(source.size, np.int64)
    place[outgoing] = np.arange(source.size) - outgoing_starts[source[outgoing]]
    return Steps(
        incoming,
        np.searchsorted(target[incoming], np.arange(states + 1)),
        outgoing,
        outgoing_starts,
        target[outgoing],
        place,
        furthest_states(template),
        source,
        equality,
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


def small_codes(previous: np.ndarray, following: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Codes that are equal where the given ones are, and hardly larger than there are rows: vertices of equal values
    are chained, and there is a place for each value."""
    both = previous if previous is following else np.concatenate([previous, following])
    if both.max(initial=0) < _CODES_PER_ROW * both.size + _FEW_CODES:
        return previous, following
    values, places = np.unique(both, return_inverse=True)
    if values[0] < 0:  # NULL
        places = places - 1
    return (places, places) if previous is following else (places[: previous.size], places[previous.size :])


@inlined_late
def transition_between(steps, source, target):
    """The transition from a state to a state, or -1."""
    end = steps.outgoing_starts[source + 1]
    at = first_not_below(steps.outgoing_targets, steps.outgoing_starts[source], end, target)
    return steps.outgoing[at] if at < end and steps.outgoing_targets[at] == target else np.int64(-1)


@inlined_late
def most_outgoing(steps):
    """The transitions that leave the state that has the most of them."""
    most = 0
    for state in range(steps.variable.size):
        most = max(most, steps.outgoing_starts[state + 1] - steps.outgoing_starts[state])
    return most


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
