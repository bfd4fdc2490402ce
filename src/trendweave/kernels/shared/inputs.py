"""What the kernel for many queries reads and returns: named tuples of plain arrays.

Rows are sorted by (segment, tick). The queries have no edge predicates and take any later event (skip-till-any-match);
their templates are merged into one automaton. Each state belongs to exactly one query or to a prefix that several
queries share, lives in the windows of one kind, and holds a number per open window. A row that a state reads brings

    new[state] = (1 if the state may begin a trend) + sum over transitions into the state of what they remember

and every transition remembers the sum of what its source's rows brought, since the last row of its blocker.
A query's number in a window is the sum over its final states of all that their rows brought in the window.
"""

from enum import StrEnum
from typing import NamedTuple

import numpy as np


class Sharing(StrEnum):
    """Whether bursts of rows are computed once for all members of a class (HAMLET's shared graphlets)."""

    AUTO = "auto"  # where it costs less
    ALWAYS = "always"  # wherever a class has several members or windows
    NEVER = "never"


class SharedRows(NamedTuple):
    """The rows of all segments.

    segment_starts  int64[k+1]          rows of segment i are segment_starts[i]:segment_starts[i+1]
    tick            int64[n]            number of the distinct time, nondecreasing inside a segment
    letters         uint64[n, words]    bit v is set iff the row may be read as variable v (or blocks as letter v)
    window_first    int64[kinds, n]     first and last window of each kind that hold the row, both nondecreasing inside
    window_last     int64[kinds, n]     a segment; first > last: in no window of the kind. Rows with the same tick lie
                                        in the same windows
    """

    segment_starts: np.ndarray
    tick: np.ndarray
    letters: np.ndarray
    window_first: np.ndarray
    window_last: np.ndarray


class MergedTemplate(NamedTuple):
    """The templates of all queries as one automaton, and which of its states may be computed together.

    state_window    int64[S]    the kind of the windows that the state lives in
    state_variable  int64[S]    the bit of `letters` that it reads
    is_start        bool[S]     whether its rows begin trends
    source, target  int64[T]    transitions; both ends live in windows of the same kind
    blocker         int64[T]    -1, or the letter whose rows empty what the transition remembers of its source. A row
                                counts for the transitions into it before it empties, and is remembered after
    final_query     int64[F]    pairs: rows of final_state end trends of final_query
    final_state     int64[F]
    class_of        int64[S]    classes are numbered from 0 without gaps. A class has so many positions and so many
    position        int64[S]    members, both numbered from 0, and one state for each pair of them. Transitions inside
    member          int64[S]    a class join states of one member, and are the same for all members: same positions,
                                same blockers. Members may read different variables at a position (different local
                                predicates), and differ in kinds of windows, starts and transitions from outside. A
                                state that nobody shares is a class of its own (position 0, member 0). At most 16
                                positions
    queries         int         how many queries
    query_window    int64[queries]  the kind of a query's windows: that of its final states
    """

    state_window: np.ndarray
    state_variable: np.ndarray
    is_start: np.ndarray
    source: np.ndarray
    target: np.ndarray
    blocker: np.ndarray
    final_query: np.ndarray
    final_state: np.ndarray
    class_of: np.ndarray
    position: np.ndarray
    member: np.ndarray
    queries: int
    query_window: np.ndarray


class LinearMeasure(NamedTuple):
    """The sum, over all trends, of the values of the rows that certain states read.

    states  bool[S]     the states whose rows count. Give the states of one position of a class the same mark where
                        nobody reads a member's result: members with different marks cannot be computed together
    values  int64[n] or float64[n]  zero where NULL; ones (zero where NULL) for COUNT(E)
    """

    states: np.ndarray
    values: np.ndarray


class ExtremumMeasure(NamedTuple):
    """The largest code, in all trends, of the rows that certain states read.

    states  bool[S]     as above
    codes   int64[n]    order-preserving codes whose largest is wanted (`aggregates.entry.extremum_codes`); NO_VALUE of
                        `aggregates.vectors` where NULL
    """

    states: np.ndarray
    codes: np.ndarray


class SharedMeasures(NamedTuple):
    """What is measured beside the number of trends, for all queries alike; who needs not all of it, drops the rest."""

    linear: tuple[LinearMeasure, ...] = ()
    extrema: tuple[ExtremumMeasure, ...] = ()


class SharingCounts(NamedTuple):
    """What was shared. Only classes with several lanes (members times overlapping windows) count.

    bursts_shared  runs of rows of a class of which at least one part of the members was computed together
    bursts_alone   the others
    snapshots      values per member handed into a shared part: one when it begins, one where members part
    splits         classes computed together in their last burst and not in this one
    merges         the reverse
    """

    bursts_shared: int = 0
    bursts_alone: int = 0
    snapshots: int = 0
    splits: int = 0
    merges: int = 0


class LinearTotals(NamedTuple):
    """Totals of a linear measure, one per entry of the results.

    values    int64, object (Python integers) or float64
    exponent  None, or the totals are values * 2**exponent: exact sums of floats that are beyond the range of floats
    """

    values: np.ndarray
    exponent: int | None = None


class SharedResults(NamedTuple):
    """One entry per (query, segment, window) with at least one trend, sorted by the three in this order.

    count    int64, object (Python integers) where one of them needs more, or float64 as asked
    linear   one LinearTotals per linear measure
    extrema  one int64 array of codes per extremum: NO_VALUE where no row of a trend has a value
    """

    query: np.ndarray
    segment: np.ndarray
    window: np.ndarray
    count: np.ndarray
    linear: tuple[LinearTotals, ...]
    extrema: tuple[np.ndarray, ...]
    counts: SharingCounts
