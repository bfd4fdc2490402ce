"""What the block kernel is told: a template whose transitions read stores of vertices, as named tuples of flat arrays.

Everything here stays as it is while blocks run; what changes is in the workspace (`workspace.py`)."""

from typing import NamedTuple

import numpy as np

from trendweave.kernels.inputs import Selection, Way

# Members of enumerations as plain integers: compiled code compares them with what it finds in arrays.
RUNNING, QUEUE, RANKED, SCAN = (int(way) for way in Way)
NEXT, CONTIGUOUS = int(Selection.NEXT), int(Selection.CONTIGUOUS)

BEFORE_ALL_TICKS = -(2**62)

# States.start_guard and States.final_guard, where they are no row of a matrix of guards
NOT_THERE = -2  # trends neither begin (or end) here
UNGUARDED = -1
# Transitions.guard and .pair, Stores.guard, .ranking and .listed, columns of a ranking: nothing of the kind
NONE = -1


class States(NamedTuple):
    """Per state, int64[q]. Transitions [incoming, incoming_end) lead to it, it fills stores [outgoing,
    outgoing_end). From state furthest[s] on, none can follow state s, and from furthest[q] on no trend begins."""

    variable: np.ndarray
    start_guard: np.ndarray
    final_guard: np.ndarray
    incoming: np.ndarray
    incoming_end: np.ndarray
    outgoing: np.ndarray
    outgoing_end: np.ndarray
    furthest: np.ndarray


class Transitions(NamedTuple):
    """Per transition, int64[m], sorted by target: the store that it reads, and what a scan of that store asks for."""

    source: np.ndarray
    store: np.ndarray
    guard: np.ndarray
    test: np.ndarray
    test_end: np.ndarray
    pair: np.ndarray


class Tests(NamedTuple):
    """Per comparison of a scanned transition, int64: the slot of the earlier code, the column of the later one."""

    slot: np.ndarray
    next: np.ndarray
    operator: np.ndarray


class Stores(NamedTuple):
    """Per store, int64, sorted by source: how it is kept. Slots [slot, slot_end) are the code columns it copies."""

    way: np.ndarray
    guard: np.ndarray
    ranking: np.ndarray
    listed: np.ndarray
    slot: np.ndarray
    slot_end: np.ndarray


class Rankings(NamedTuple):
    """Per ranking, int64: code columns of an equality and of an order comparison, and which way the order goes."""

    equal_previous: np.ndarray
    equal_next: np.ndarray
    order_previous: np.ndarray
    order_next: np.ndarray
    descending: np.ndarray
    inclusive: np.ndarray


class Program(NamedTuple):
    """What to do per state, transition and store."""

    states: States
    transitions: Transitions
    tests: Tests
    stores: Stores
    rankings: Rankings
    slot_column: np.ndarray  # int64: which code column each copy in a scanned store is
    pairs: np.ndarray  # int64[., 4]: see pair_test.py
    answers: np.ndarray  # uint8: what is known of pairs of values


class Measures(NamedTuple):
    """What linear aggregates and extrema read: values[aggregate, digit, row], for the states that count."""

    values: np.ndarray  # [aggregates, digits, n]
    states: np.ndarray  # bool[aggregates, q]; with queries side by side uint64, the queries for which the state counts


class Columns(NamedTuple):
    """What is read per row."""

    tick: np.ndarray
    window_first: np.ndarray
    window_last: np.ndarray
    letters: np.ndarray  # uint64[n, words]
    codes: np.ndarray  # int64[columns, n]
    guards: np.ndarray  # int64[guards, n]
    start_guards: np.ndarray
    final_guards: np.ndarray
    measures: Measures
    queries: tuple | None  # QueryMasks, where there are several queries


class FewerColumns(NamedTuple):
    """Those of them that loops for common programs read: for each array that Python hands over, code is compiled."""

    tick: np.ndarray
    window_first: np.ndarray
    window_last: np.ndarray
    letters: np.ndarray
    codes: np.ndarray
    start_guards: np.ndarray
    final_guards: np.ndarray
    measures: Measures
    queries: None = None


def leave_out_columns(columns: Columns) -> FewerColumns:
    """Columns for such a loop."""
    return FewerColumns(*columns[:5], columns.start_guards, columns.final_guards, columns.measures)
