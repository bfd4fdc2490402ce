"""Sorting the keys of a block: every way of it, against a plain sort."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels.random_cases import examples
from trendweave.kernels.aggregates.ranks import INSERTION_SORT_BELOW, sort_by_key


def random_keys(rng, count, shape):
    """Keys that are spread evenly, that lie close together in a wide range, with many ties, or all but sorted."""
    widest = 2**62 - 1
    if shape == "even":
        return rng.integers(-widest, widest, count)
    if shape == "close":  # all but two of them in one bucket
        keys = rng.integers(0, 1000, count)
        keys[: min(count, 2)] = [-widest, widest][: min(count, 2)]
        return rng.permutation(keys)
    if shape == "ties":
        return rng.integers(0, 3, count) << int(rng.integers(0, 60))
    keys = np.sort(rng.integers(-widest, widest, count))
    if count > 1:
        keys[[0, -1]] = keys[[-1, 0]]
    return keys


@pytest.mark.parametrize("shape", ["even", "close", "ties", "nearly sorted"])
@examples(40)
@given(seed=st.integers(0, 2**32), most=st.sampled_from([3, INSERTION_SORT_BELOW, 300, 900, 9_000]))
def test_keys_are_sorted_and_equal_ones_keep_their_order(seed, most, shape):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(0, most, endpoint=True))
    keys = random_keys(rng, count, shape)
    order = np.argsort(keys, kind="stable")
    # As in a workspace, arrays are longer than what is sorted.
    ours, items = np.append(keys, -1), np.arange(count + 1, dtype=np.int32)
    sort_by_key(ours, items, count, np.empty_like(ours), np.empty_like(items), np.empty(2**11 + 1, np.int64))
    np.testing.assert_array_equal(items[:count], order)
    np.testing.assert_array_equal(ours, np.append(keys[order], -1))
    assert items[count] == count
