"""Several queries in one vector: window w of query q of Q is lane w * Q + q, and masks say which queries a part is for.

A row in windows [f, l] is in lanes [f * Q, l * Q + Q - 1] of its segment: still one run, so that blocks, ranks, queues,
scans and limbs serve as they are, and the search for predecessors is done once for all queries. What differs among the
queries is 64 bits per state, transition, store and row."""

from typing import NamedTuple

import numpy as np

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


def find_accepted(queries: QueryLanes, letters: np.ndarray) -> np.ndarray:
    """uint64[states, n]: the queries that may read each row, per state.

    A letter that many queries read is looked at once; letters that lie as their queries do are moved together.
    """
    accepted = np.zeros((len(queries.variable), len(letters)), np.uint64)
    for row, of_queries in zip(accepted, np.asarray(queries.variable, np.int64), strict=True):
        by_letter = unique_letters(of_queries)
        moved: dict[tuple[int, int], int] = {}  # word, how far: letters
        for query, v in enumerate(of_queries.tolist()):
            if v >= 0:
                key = (v // 64, query - v % 64)
                moved[key] = moved.get(key, 0) | 1 << v % 64
        if len(moved) < len(by_letter):
            for (word, distance), mask in moved.items():
                found = letters[:, word] & np.uint64(mask)
                row |= found << np.uint64(distance) if distance >= 0 else found >> np.uint64(-distance)
        else:
            for v in by_letter:
                there = letters[:, v // 64] >> np.uint64(v % 64) & np.uint64(1)
                row |= there * np.uint64(mask_of(of_queries == v))
    return accepted


def unique_letters(variables: np.ndarray) -> list[int]:
    """The letters that are read, each once."""
    return np.unique(variables[variables >= 0]).tolist()
