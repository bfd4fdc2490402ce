"""Numbers of any size, in limbs, words and digits, against Python's integers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from tests.kernels.random_cases import examples
from trendweave.kernels import numba_packs, packs
from trendweave.kernels.aggregates.exact_numbers import from_limbs, from_words

UNSETTLED = st.one_of(
    st.integers(-(2**61), 2**61), st.integers(-3, 3), st.integers(2**49 - 2, 2**51), st.sampled_from([-(2**61), 2**61])
)


@examples(300)
@given(data=st.data(), limbs=st.integers(1, 9), count=st.integers(0, 5))
def test_limbs_that_have_not_been_carried_are_the_number_that_they_sum_up_to(data, limbs, count):
    rows = data.draw(st.lists(st.lists(UNSETTLED, min_size=limbs, max_size=limbs), min_size=count, max_size=count))
    bits = data.draw(st.lists(st.integers(1, 60), min_size=count, max_size=count))
    used = data.draw(st.integers(1, limbs))
    rows = [row[:used] + [0] * (limbs - used) for row in rows]
    expected = [sum(x << at * width for at, x in enumerate(row)) for row, width in zip(rows, bits, strict=True)]
    found = from_limbs(np.array(rows, np.int64).reshape(count, limbs), np.array(bits, np.int64))
    assert found.tolist() == expected
    assert found.dtype == (np.int64 if all(-(2**63) <= x < 2**63 for x in expected) else object)


def test_words_are_numbers_of_different_lengths():
    words = np.array([7, 0, 1, 2**64 - 1], np.uint64)
    starts = np.array([0, 1, 1, 3, 4])
    assert from_words(words, starts).tolist() == [7, 0, 2**64, -1]


assert numba_packs.LANES == packs.LANES == 8  # imported here, as no kernel does it for a bare function


@njit
def with_packs(numbers, bits, first, end):
    nothing = packs.spread(np.int64(0))
    eight = packs.load(nothing, numbers, np.uint64(1))
    both = eight + packs.spread(np.int64(5))
    packs.store(numbers, np.uint64(9), packs.put_between(both >> bits, 16, first, end, nothing))
    mask = (np.int64(1) << bits) - 1
    packs.store(numbers, np.uint64(17), both & mask)
    packs.store(numbers, np.uint64(25), (eight | both) ^ numbers[0])
    return packs.differs(eight, nothing), packs.differs(eight, eight)


@given(
    given_=st.lists(st.integers(-(2**62), 2**62), min_size=9, max_size=9),
    bits=st.integers(0, 62),
    first=st.integers(14, 26),
    end=st.integers(14, 26),
)
def test_packs_do_to_each_number_what_is_done_to_one(given_, bits, first, end):
    numbers = np.array(given_ + [0] * 24, np.int64)
    some = with_packs(numbers, bits, first, end)
    raised = [x + 5 for x in given_[1:]]
    assert numbers[:9].tolist() == given_
    assert numbers[9:17].tolist() == [x >> bits if first <= 16 + i < end else 0 for i, x in enumerate(raised)]
    assert numbers[17:25].tolist() == [x & ((1 << bits) - 1) for x in raised]
    assert numbers[25:].tolist() == [(x | y) ^ given_[0] for x, y in zip(given_[1:], raised, strict=True)]
    assert some == (any(given_[1:]), False)
