"""S+ with more trends than 64 bits count, with ties, gaps and NULLs, in all kinds of windows: against plain sums."""

import math
import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels.random_cases import examples
from trendweave.kernels import Aggregate, Comparison, Condition, Rows, Template, aggregate
from trendweave.kernels.aggregates import passes

pytestmark = pytest.mark.usefixtures("whole_numbers")

KLEENE = Template(np.array([1]), np.array([True]), np.array([True]), np.array([0]), np.array([0]))
OPERATORS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
SEEDS = st.integers(0, 2**32)


def random_rows(rng, most_ties):
    """Up to three segments, of ticks with up to so many rows, some of which are read by no state or in no window."""
    sizes = [int(rng.integers(0, 200)) for _ in range(int(rng.integers(1, 4)))]
    slide = int(rng.integers(1, 30))
    overlap = int(rng.choice([1, 2, 7, 9, 20]))
    tick = np.concatenate(
        [np.cumsum(rng.integers(0, 3, size) if most_ties > 1 else np.ones(size, np.int64)) for size in sizes]
        or [np.zeros(0, np.int64)]
    ).astype(np.int64)
    first, last = tick // slide - overlap + 1, tick // slide
    if rng.random() < 0.3:  # windows that leave gaps
        first = np.where(tick % slide >= slide // 2, last + 1, first)
        first = np.concatenate([np.maximum.accumulate(part) for part in np.split(first, np.cumsum(sizes)[:-1])])
    letters = np.where(rng.random(tick.size) < rng.choice([0.5, 1.0]), 2, 1).astype(np.uint64)
    return Rows(np.concatenate([[0], np.cumsum(sizes)]), tick, first, last, letters)


def windows_of(rows):
    """(segment, window) -> the rows of state S in it, in order."""
    found: dict = {}
    for segment in range(rows.segment_starts.size - 1):
        for row in range(rows.segment_starts[segment], rows.segment_starts[segment + 1]):
            for window in range(rows.window_first[row], rows.window_last[row] + 1):
                if rows.letters[row] == 2:
                    found.setdefault((segment, int(window)), []).append(row)
    return found


def as_dict(results):
    keys = zip(results.segment.tolist(), results.window.tolist(), strict=True)
    return dict(zip(keys, results.count.tolist(), strict=True))


@examples(150)
@given(seed=SEEDS, most_ties=st.integers(1, 2))
def test_without_a_condition_a_trend_takes_one_row_of_some_ticks(seed, most_ties):
    rows = random_rows(np.random.default_rng(seed), most_ties)
    expected = {}
    for key, members in windows_of(rows).items():
        _, counts = np.unique(rows.tick[members], return_counts=True)
        expected[key] = math.prod(int(count) + 1 for count in counts) - 1
    assert as_dict(aggregate(rows, KLEENE)) == expected
    # Beside another number, the same count is found in another way.
    assert as_dict(aggregate(rows, KLEENE, None, [Aggregate("count", 2)])) == expected


def falling_trends(rows, members, codes, compare):
    """The number of trends of a window: of each row, itself and all trends of rows that it may follow."""
    trends: list = []
    for e in members:
        before = [
            count
            for p, count in zip(members, trends, strict=False)
            if rows.tick[p] < rows.tick[e] and codes[p] >= 0 and codes[e] >= 0 and compare(codes[p], codes[e])
        ]
        trends.append(1 + sum(before))
    return sum(trends)


@pytest.mark.parametrize("first_limbs", [1, 2, 8])
@examples(60)
@given(seed=SEEDS)
def test_with_an_order_a_row_follows_what_it_compares_to(seed, first_limbs):
    rng = np.random.default_rng(seed)
    rows = random_rows(rng, int(rng.integers(1, 3)))
    name = str(rng.choice(list(OPERATORS)))
    # Codes that mostly go the way of the comparison, so that there are many trends.
    drift = np.arange(rows.tick.size) * (1 if name in ("<", "<=") else -1)
    codes = drift + rng.integers(0, int(rng.choice([2, 20, 400])), drift.size)
    codes = codes - codes.min(initial=0)
    codes[rng.random(codes.size) < 0.05] = -1
    expected = {key: falling_trends(rows, members, codes, OPERATORS[name]) for key, members in windows_of(rows).items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passes, "FIRST_LIMBS", first_limbs)
        found = as_dict(aggregate(rows, KLEENE, [Condition((Comparison(codes, name, codes),))]))
    assert found == expected
