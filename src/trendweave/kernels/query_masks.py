"""Several queries in one vector: window w of query q of Q is lane w * Q + q, and masks say which queries a part is for.

A row in windows [f, l] is in lanes [f * Q, l * Q + Q - 1] of its segment: still one run, so that blocks, ranks, queues,
scans and limbs serve as they are, and the search for predecessors is done once for all queries. What differs among the
queries is 64 bits per state, transition, store and row. Functions take `queries` None where there is but one query:
what they do about masks is then left out when they are compiled. Those that the loop over vertices calls are put into
it: as calls they made it up to a tenth slower where there is but one query."""

from typing import NamedTuple

import numpy as np

from trendweave.kernels.aggregates.state_steps import reads
from trendweave.kernels.aggregates.vectors import NO_TREND, NO_VALUE, SUM, combine
from trendweave.kernels.columns import make_writable
from trendweave.kernels.compiling import inlined_late, inner
from trendweave.kernels.inputs import QueryLanes

MOST_QUERIES = 64  # bits of a mask
ALL = 2**MOST_QUERIES - 1


class QueryMasks(NamedTuple):
    """Bit q is for query q. A state is there `here`, and may begin and end trends in `start` and `final`."""

    accepted: np.ndarray  # uint64[states, n]: which queries may read the row in the state
    here: np.ndarray  # uint64[states]
    start: np.ndarray
    final: np.ndarray
    stores: np.ndarray  # uint64[stores]: what is inserted into it
    transitions: np.ndarray  # uint64[m], in the order of the program: what a scan reads
    query: np.ndarray  # uint64[lanes of the widest block]
    everyone: np.uint64


def mask_of(flags: np.ndarray) -> int:
    """One bit per query."""
    return sum(1 << int(query) for query in np.flatnonzero(flags))


def masks_of(flags: np.ndarray) -> np.ndarray:
    """uint64, one mask per row of flags."""
    return np.array([mask_of(row) for row in flags], np.uint64)


def check_queries(queries: QueryLanes, states: int, transitions: int) -> None:
    """Refuse what masks cannot say.

    Raises:
        ValueError: Too many queries, arrays of another shape, or a transition that no query has.
    """
    if not 1 <= queries.count <= MOST_QUERIES:
        raise ValueError(f"1 to {MOST_QUERIES} queries share a vector, not {queries.count}")
    shapes = [np.shape(part) for part in queries[1:]]
    per_state = (states, queries.count)
    if shapes != [per_state, per_state, per_state, (transitions, queries.count)]:
        raise ValueError(f"one entry per state (or transition) and query is needed, not {shapes}")
    if not np.asarray(queries.transitions, bool).any(axis=1).all():
        raise ValueError("each transition is for one query at least")


def split_masks(queries: QueryLanes, template) -> list[int]:
    """Per transition, who reads its store: ALL where everybody who has both of its states has the transition, too."""
    here = [mask_of(row) for row in np.asarray(queries.variable) >= 0]
    own = [mask_of(row) for row in queries.transitions]
    ends = zip(own, template.source, template.target, strict=True)
    return [ALL if here[source] & here[target] & ~mask == 0 else mask for mask, source, target in ends]


@inner
def fill_accepted(letters, moves, masks, readers, accepted):
    """accepted[state, row] |= readers where the row has one of the letters in the mask; where there are no readers, the
    letters themselves, moved to the places of their queries."""
    for row in range(letters.shape[0]):
        for i in range(masks.size):
            found = letters[row, moves[i, 1]] & masks[i]
            if found == np.uint64(0):
                continue
            if readers[i] != np.uint64(0):
                found = readers[i]
            elif moves[i, 2] >= 0:
                found <<= np.uint64(moves[i, 2])
            else:
                found >>= np.uint64(-moves[i, 2])
            accepted[moves[i, 0], row] |= found


def find_accepted(queries: QueryLanes, letters: np.ndarray) -> np.ndarray:
    """uint64[states, n]: the queries that may read each row, per state.

    A letter that many queries read is looked at once; letters that lie as their queries do are moved together.
    """
    parts: list[tuple[int, int, int, int, int]] = []  # state, word, how far to move; letters, readers
    for state, of_queries in enumerate(np.asarray(queries.variable, np.int64)):
        by_letter: list = [
            (state, v // 64, 0, 1 << v % 64, mask_of(of_queries == v)) for v in unique_letters(of_queries)
        ]
        moved: dict[tuple[int, int], int] = {}
        for query, v in enumerate(of_queries.tolist()):
            if v >= 0:
                key = (v // 64, query - v % 64)
                moved[key] = moved.get(key, 0) | 1 << v % 64
        by_distance = [(state, word, distance, mask, 0) for (word, distance), mask in moved.items()]
        parts += by_distance if len(by_distance) < len(by_letter) else by_letter
    accepted = np.zeros((len(queries.variable), len(letters)), np.uint64)
    moves = np.array([part[:3] for part in parts], np.int64).reshape(-1, 3)
    masks, readers = (np.array([part[i] for part in parts], np.uint64) for i in (3, 4))
    fill_accepted(letters, moves, masks, readers, accepted)
    return accepted


def unique_letters(variables: np.ndarray) -> list[int]:
    """The letters that are read, each once."""
    return np.unique(variables[variables >= 0]).tolist()


@inlined_late
def may_read(letters, row, variable, state, queries):
    """Whether any query may read the row in the state."""
    if queries is None:
        return reads(letters, row, variable)
    else:
        return queries.accepted[state, row] != np.uint64(0)


@inner
def keep_queries(vector, at, span, mask, query):
    """Clear the lanes of the span whose query is not in the mask."""
    nothing = 0 if span.kind == SUM else NO_TREND
    low = np.uint64(span.low)
    for component in range(span.components):
        here = np.uint64(at + component * span.lanes + span.low)
        for i in range(np.uint64(span.high - span.low)):
            kept = (mask >> query[low + i]) & np.uint64(1) != np.uint64(0)
            vector[here + i] = vector[here + i] if kept else nothing


@inlined_late
def leave_out_others(vector, at, span, state, row, queries):
    """Clear the lanes of queries that do not read the row in the state."""
    if queries is None:
        return
    else:
        if queries.accepted[state, row] != queries.everyone:
            keep_queries(vector, at, span, queries.accepted[state, row], queries.query)


@inner
def add_for(target, target_at, source, source_at, span, mask, query):
    """target += source on the lanes of the span whose query is in the mask; the larger one for extrema."""
    low = np.uint64(span.low)
    for component in range(span.components):
        to = np.uint64(target_at + component * span.lanes + span.low)
        come = np.uint64(source_at + component * span.lanes + span.low)
        for i in range(np.uint64(span.high - span.low)):
            if (mask >> query[low + i]) & np.uint64(1) != np.uint64(0):
                if span.kind == SUM:
                    target[to + i] += source[come + i]
                else:
                    target[to + i] = max(target[to + i], source[come + i])


@inner
def begin_for(vector, at, span, mask, query):
    """One more trend begins in the lanes of the span whose query is in the mask."""
    low = np.uint64(span.low)
    if span.kind == SUM:
        to = np.uint64(at + span.low)
        for i in range(np.uint64(span.high - span.low)):
            begins = (mask >> query[low + i]) & np.uint64(1) != np.uint64(0)
            vector[to + i] += 1 if begins else 0
    else:
        for component in range(span.components):
            to = np.uint64(at + component * span.lanes + span.low)
            for i in range(np.uint64(span.high - span.low)):
                if (mask >> query[low + i]) & np.uint64(1) != np.uint64(0):
                    vector[to + i] = max(vector[to + i], NO_VALUE)


@inner
def add_products(vector, sums_at, counts_at, value, span, mask, query):
    """sums += value * counts on the lanes of the span whose query is in the mask; no trends add nothing, whatever the
    value."""
    low = np.uint64(span.low)
    to = np.uint64(sums_at + span.low)
    come = np.uint64(counts_at + span.low)
    for i in range(np.uint64(span.high - span.low)):
        if (mask >> query[low + i]) & np.uint64(1) != np.uint64(0) and vector[come + i] != 0:
            vector[to + i] += value * vector[come + i]


@inner
def raise_for(vector, at, value, span, mask, query):
    """Raise an extremum to the value, where a trend ends here at all, for the queries in the mask."""
    low = np.uint64(span.low)
    here = np.uint64(at + span.low)
    for i in range(np.uint64(span.high - span.low)):
        x = vector[here + i]
        if (mask >> query[low + i]) & np.uint64(1) != np.uint64(0) and x != NO_TREND:
            vector[here + i] = max(x, value)


@inlined_late
def add_ended(result, vector, at, span, state, queries):
    """result += the vertex's vector, for queries whose trends may end in the state."""
    nowhere = np.int64(0)  # a literal 0 would compile `combine` once more
    if queries is None:
        combine(result, nowhere, vector, at, span)
    else:
        if queries.final[state] & queries.here[state] == queries.here[state]:
            combine(result, nowhere, vector, at, span)
        else:
            add_for(result, nowhere, vector, at, span, queries.final[state], queries.query)


@inlined_late
def add_along(target, target_at, source, source_at, span, t, queries):
    """target += a listed vector, for queries that have the transition."""
    if queries is None:
        combine(target, target_at, source, source_at, span)
    else:
        if queries.transitions[t] == np.uint64(ALL):
            combine(target, target_at, source, source_at, span)
        else:
            add_for(target, target_at, source, source_at, span, queries.transitions[t], queries.query)


@inlined_late
def part_for_store(pending, at, spare, span, s, queries):
    """Where the part of the vector at `at` is that goes into store s: a copy at `spare` where it is not all of it."""
    if queries is None:
        return at
    else:
        if queries.stores[s] == np.uint64(ALL):
            return at
        for component in range(span.components):
            to = np.uint64(spare + component * span.lanes + span.low)
            come = np.uint64(at + component * span.lanes + span.low)
            for i in range(np.uint64(span.high - span.low)):
                pending[to + i] = pending[come + i]
        keep_queries(pending, spare, span, queries.stores[s], queries.query)
        return spare


# Skip-till-next-match: who was followed, in which queries


@inlined_late
def note_followed(followed, i, state, row, t, queries):
    """Vertices number i are followed by the row, read in the state, along transition t."""
    if queries is None:
        followed[i] = 1
    else:
        followed[i] |= queries.accepted[state, row] & queries.transitions[t]


@inlined_late
def followed_in_part(followed, state, queries):
    """Whether some queries of a source state are left in which its vertices were not followed."""
    if queries is None:
        return False
    else:
        return followed & queries.here[state] != queries.here[state]


@inlined_late
def forget_in_part(vectors, at, span, followed, queries):
    """Clear the lanes of queries in which the vertex was followed."""
    if queries is None:
        return
    else:
        keep_queries(vectors, at, span, ~followed, queries.query)


# Where queries see their first rows


@inner
def find_first_seen(letters, starts, masks, waiting, first):
    """first[q, s] = the first row of segment s that shares a letter with masks[q]; it is left as it is where there is
    none. `waiting` is scratch memory, one number per query."""
    for s in range(starts.size - 1):
        left = masks.shape[0]
        for q in range(left):
            waiting[q] = q
        row = starts[s]
        while left > 0 and row < starts[s + 1]:
            i = 0
            while i < left:
                q = waiting[i]
                seen = False
                for word in range(letters.shape[1]):
                    seen |= letters[row, word] & masks[q, word] != np.uint64(0)
                if seen:
                    first[q, s] = row
                    left -= 1
                    waiting[i] = waiting[left]
                else:
                    i += 1
            row += 1


def first_seen(letters: np.ndarray, starts: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """The first row of each segment that each query sees.

    Args:
        letters: uint64[n, words], the letters of each row.
        starts: int64[k+1], where segments begin.
        masks: uint64[queries, words], the letters that a query looks at.

    Returns:
        int64[queries, k]; -1 where there is none.
    """
    first = np.full((len(masks), len(starts) - 1), -1, np.int64)
    letters = make_writable(np.ascontiguousarray(letters))
    find_first_seen(letters, make_writable(starts), masks, np.zeros(len(masks), np.int64), first)
    return first
