"""The flat tables that tell the block kernel what to do: a template whose transitions read stores of vertices."""

from typing import NamedTuple

import numpy as np

from trendweave.kernels.inputs import Way

# ways of a store, as plain integers for the compiler
RUNNING, QUEUE, RANKED, SCAN = int(Way.RUNNING), int(Way.QUEUE), int(Way.RANKED), int(Way.SCAN)
# event selection
ANY, NEXT, CONTIGUOUS = 0, 1, 2
# a tick before all ticks
NEVER = -(2**62)

# columns of Program.states; a guard is -2: no start (or final) state, -1: unguarded, else a row of the guards' matrix
VARIABLE, START_GUARD, FINAL_GUARD, INCOMING, INCOMING_END, OUTGOING, OUTGOING_END = range(7)
# columns of Program.transitions, sorted by target; EDGE_GUARD and PAIR are -1 where there is none
SOURCE, STORE, EDGE_GUARD, TEST, TEST_END, PAIR = range(6)
# columns of Program.tests
TEST_SLOT, TEST_NEXT, TEST_OPERATOR = range(3)
# columns of Program.stores, sorted by source: fixed, then the state while a block runs
WAY, GUARD, RANKING, LISTED, SLOT, SLOT_END, NODE, HEAD, TURN, TAIL, LAST_TICK = range(11)


class Program(NamedTuple):
    """What to do per state, transition and store."""

    states: np.ndarray  # int64[q, 7]
    transitions: np.ndarray  # int64[m, 6]
    tests: np.ndarray  # int64[., 3]: comparisons of scanned transitions
    stores: np.ndarray  # int64[stores, 11]
    slot_column: np.ndarray  # int64: which code column each copy in a scanned store is
    rankings: np.ndarray  # int64[., 6], see rank_block
    pairs: np.ndarray  # int64[., 4]: code columns of the earlier and the later row, place and width of the answers
    answers: np.ndarray  # uint8: what is known of pairs of values


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
    values: np.ndarray  # [aggregates, digits, n]
    value_states: np.ndarray  # bool[aggregates, q]
