"""What the trend kernels read and return: named tuples of plain arrays.

Rows are sorted by (segment, time). Nothing here knows the query language: a template is a deterministic automaton over
variables, a condition compares two columns of order-preserving integer codes, a window is a number.
"""

from enum import IntEnum, StrEnum
from typing import NamedTuple

import numpy as np

OPERATORS = ("<", "<=", ">", ">=", "=", "!=")
#: Their places, as compiled code finds them in arrays.
LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, EQUAL = range(5)

#: Codes of the largest value where there is no trend, and of trends without a value.
NO_TREND = np.iinfo(np.int64).min
NO_VALUE = NO_TREND + 1


class Measure(StrEnum):
    """What an aggregate measures of the occurrences of its variables."""

    COUNT = "count"
    SUM = "sum"
    MIN = "min"
    MAX = "max"


class Selection(IntEnum):
    """Which later events an event may be followed by: any, those at the next time that has one, or at the next time."""

    ANY = 0
    NEXT = 1
    CONTIGUOUS = 2


NEXT, CONTIGUOUS = int(Selection.NEXT), int(Selection.CONTIGUOUS)  # as compiled code compares them


class Way(IntEnum):
    """How a transition finds the sum over an event's predecessors."""

    RUNNING = 0  # one running sum
    QUEUE = 1  # a queue whose oldest part leaves at a guard
    RANKED = 2  # sums over ranks, per value, or both
    SCAN = 3  # every predecessor is looked at


class Rows(NamedTuple):
    """The events of all segments.

    segment_starts  int64[k+1]  rows of segment i are segment_starts[i]:segment_starts[i+1]
    tick            int64[n]    dense number of the distinct time inside the partition; gaps are allowed
    window_first    int64[n]    first and last window that hold the row, both nondecreasing inside a segment;
    window_last     int64[n]    first > last: in no window. Rows with the same tick lie in the same windows
    letters         uint64[n] or uint64[n, words]   bit v is set iff the row may be read as variable v
    """

    segment_starts: np.ndarray
    tick: np.ndarray
    window_first: np.ndarray
    window_last: np.ndarray
    letters: np.ndarray


class Template(NamedTuple):
    """The determinised position automaton (GRETA, Section 4.1): every state reads one variable."""

    state_variable: np.ndarray
    is_start: np.ndarray
    is_final: np.ndarray
    source: np.ndarray
    target: np.ndarray


def furthest_states(template: Template) -> np.ndarray:
    """int64[q+1]: from which state on none can follow a state; the last is that from which on no trend begins.

    Templates number their states by their distance from the beginning, so this bounds the states that hold anything
    after a few events, and loops over states end there.
    """
    states = len(template.state_variable)
    furthest = np.zeros(states + 1, np.int64)
    np.maximum.at(furthest, np.asarray(template.source, np.int64), np.asarray(template.target, np.int64) + 1)
    furthest[states] = np.flatnonzero(template.is_start).max(initial=-1) + 1
    return furthest


class QueryLanes(NamedTuple):
    """Queries whose templates are laid over each other: what of the merged template each of them has.

    Trends of query q in window w are found under the window w * count + q. `is_start` and `is_final` take the place of
    the template's own, `variable` that of `state_variable`; `Aggregate.variables` has bit state * count + query set for
    each state of a query whose rows count.
    """

    count: int
    variable: np.ndarray  # int64[states, count]: -1 where a query does not have the state
    is_start: np.ndarray  # bool[states, count]
    is_final: np.ndarray  # bool[states, count]
    transitions: np.ndarray  # bool[transitions, count]


class Comparison(NamedTuple):
    """`previous[p] operator next[e]` on int64 codes ranked jointly; a code below 0 is NULL and never compares true."""

    previous: np.ndarray
    operator: str
    next: np.ndarray


class PairTest(NamedTuple):
    """A predicate on two rows that is no comparison of two columns, decided beforehand for all pairs of their values.

    previous  int64[n]  the number of the row's value as the earlier row
    next      int64[n]  the number of the row's value as the later row
    answers   bool[.,.] answers[previous[p], next[e]]: whether the predicate holds
    """

    previous: np.ndarray
    next: np.ndarray
    answers: np.ndarray


class Condition(NamedTuple):
    """When a transition may be taken from p to e.

    All comparisons hold; tick[p] >= guard[e] (`guard` nondecreasing inside a segment); the pair test is true.
    `way` is how counts and sums of whole numbers are found, `inexact_way` how floats and extrema are; a way that cannot
    serve the condition is refused, None leaves the cheapest one that can.
    """

    comparisons: tuple = ()
    guard: np.ndarray | None = None
    pair_test: PairTest | None = None
    way: Way | None = None
    inexact_way: Way | None = None


class Aggregate(NamedTuple):
    """One aggregate over the occurrences, in all trends, of the variables in the mask.

    kind       a Measure, or its word
    variables  integer with bit v set for each variable v that counts
    values     int64[n] or float64[n]; not used by count
    valid      bool[n] or None (all): rows whose value is not NULL
    """

    kind: str
    variables: int
    values: np.ndarray | None = None
    valid: np.ndarray | None = None


class Results(NamedTuple):
    """One entry per (segment, window) with at least one trend, sorted by both.

    count       int64, or object (Python integers) when one of them needs more, or float64 as asked
    aggregates  one array per aggregate, typed likewise; decimals (object) where a sum of floats is beyond all floats
    valid       one per aggregate: None, or bool array that is False where there was nothing to aggregate (SQL NULL).
                None for count and sum: a count over the same mask tells an empty sum from zero
    """

    segment: np.ndarray
    window: np.ndarray
    count: np.ndarray
    aggregates: tuple
    valid: tuple


NO_CONDITION = Condition()
