"""Links between events: conditions on many values, the order of states, and how far events reach."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import trendweave
from trendweave.kernels import Rows, Template
from trendweave.programs.trends.lists.successors import find_reach, order_states


def test_conditions_on_many_different_values_are_served() -> None:
    # More pairs of values than are decided beforehand.
    random = np.random.default_rng(1)
    rows = 21_000
    events = pa.table({"time": np.arange(rows), "x": random.permutation(rows).astype(float)})
    query = trendweave.query(
        "RETURN EACH FIRST(A.x) AS a, LAST(B.x) AS b PATTERN SEQ(E A, E B) WHERE abs(A.x - B.x) <= 1 WITHIN 100 seconds"
    )

    found = query.run(events, type=None)

    x = events["x"].to_numpy()
    far = [(x[i], x[i + d]) for d in range(1, 100) for i in np.flatnonzero(np.abs(x[d:] - x[:-d]) <= 1)]
    assert sorted(zip(found["a"].to_pylist(), found["b"].to_pylist(), strict=True)) == sorted(far)


def test_states_come_after_those_that_lead_to_them() -> None:
    # 3 -> 1 (repeats) -> 0, and 2 <-> 4 behind 0
    source, target = np.array([3, 1, 1, 0, 2, 4]), np.array([1, 1, 0, 2, 4, 2])
    nothing = np.zeros(5, np.bool_)

    order, repeats = order_states(Template(np.arange(5), nothing, nothing, source, target))

    # As 2 and 4 lead to each other, no order of all is better than that of their numbers.
    assert order == [0, 1, 2, 3, 4]
    assert repeats.tolist() == [True, True, True, False, False]

    order, repeats = order_states(Template(np.arange(5), nothing, nothing, source[:5], target[:5]))

    assert [order.index(state) for state in (3, 1, 0, 2, 4)] == [0, 1, 2, 3, 4]
    assert repeats.tolist() == [False, True, False, False, False]


@pytest.mark.parametrize("offset", [0, 2**60])
def test_reach_ends_with_the_tick_the_window_and_the_segment(offset: int) -> None:
    tick = np.array([0, 0, 1, 3, 3, 4, 4, 5])
    first, last = tick - 2 + offset, tick - np.array([0, 0, 0, 0, 0, 3, 3, 3]) + offset
    first[0:2] = -offset
    rows = Rows(np.array([0, 5, 8]), tick, np.minimum(first, last), last, np.ones(8, np.uint64))

    reach = find_reach(rows)

    assert reach.later.tolist() == [2, 2, 3, 5, 5, 7, 7, 8]
    windows = list(zip(rows.window_first.tolist(), rows.window_last.tolist(), strict=True))
    for row, (_, end) in enumerate(windows):
        stop = 5 if row < 5 else 8
        begin = 0 if row < 5 else 5
        beyond = [other for other in range(begin, stop) if windows[other][0] > end]
        assert reach.beyond[row] == min([*beyond, stop])
