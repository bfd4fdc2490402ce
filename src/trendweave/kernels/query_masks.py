"""Several queries in one vector: window w of query q of Q is lane w * Q + q, and masks say which queries a part is for.

A row in windows [f, l] is in lanes [f * Q, l * Q + Q - 1] of its segment: still one run, so that blocks, ranks, queues,
scans and limbs serve as they are, and the search for predecessors is done once for all queries. What differs among the
queries is 64 bits per state, transition, store and row."""

from typing import NamedTuple

import numpy as np

from trendweave.kernels.compiling import inner
from trendweave.kernels.inputs import QueryLanes

MOST_QUERIES = 64  # bits of a mask
ALL = 2**MOST_QUERIES - 1


class QueryMasks(NamedTuple):
    """Bit q is for query q. A state is there `here`, trends may begin in it in `start`, and end in `final` (all bits
    where they may in all queries that have the state)."""

    count: int
    accepted: np.ndarray  # uint64[states, n]: which queries may read the row in the state
    here: np.ndarray  # uint64[states]
    start: np.ndarray
    final: np.ndarray
    readers: list[int]  # per transition of the template

    @property
    def everyone(self) -> int:
        """The bits of all queries, as a signed number."""
        return -1 if self.count == MOST_QUERIES else (1 << self.count) - 1


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
