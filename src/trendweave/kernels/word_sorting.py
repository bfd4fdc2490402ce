"""Sorting words whose lowest bits ascend already, by the bits above them."""

from __future__ import annotations

import numpy as np

from trendweave.kernels.compiling import inner

_MOST_BUCKET_BITS = 13
MOST_BUCKETS = 1 << _MOST_BUCKET_BITS
#: Words of one bucket that insertion sorts quickly enough.
_FEW = 16
#: Digits of so many bits: for words that fit a cache, and for more words than that.
_DIGIT_IN_CACHE, _DIGIT = 8, 11
_FIT_CACHE = 20_000


@inner
def sort_words(words: np.ndarray, size: int, spare: np.ndarray, counts: np.ndarray, first: int, bits: int) -> None:
    """Sort words[:size] by `bits` bits from the bit `first`; words with the same ones ascend already.

    Dealt out by their highest bits into about as many buckets as there are words, times that are spread evenly stand
    almost in order, and insertion does the rest. If a bucket is too full for that, digits are sorted from the lowest.
    `spare` is as long, `counts` has MOST_BUCKETS + 1 places.
    """
    bucket_bits = 1
    while (1 << bucket_bits) < size and bucket_bits < min(bits, _MOST_BUCKET_BITS):
        bucket_bits += 1
    fullest = _deal(words, size, spare, counts, first + bits - bucket_bits, bucket_bits)
    if fullest <= _FEW and fullest < size:
        for i in range(size):
            word, at = spare[i], i
            while at > 0 and words[at - 1] > word:
                words[at] = words[at - 1]
                at -= 1
            words[at] = word
        return
    in_spare = False
    digit = _DIGIT_IN_CACHE if size < _FIT_CACHE else _DIGIT
    for done in range(0, bits, digit):
        width = min(digit, bits - done)
        if in_spare:
            fullest = _deal(spare, size, words, counts, first + done, width)
        else:
            fullest = _deal(words, size, spare, counts, first + done, width)
        # A digit that all words share needs no move.
        if fullest < size:
            in_spare = not in_spare
    if in_spare:
        for i in range(size):
            words[i] = spare[i]


@inner
def _deal(words: np.ndarray, size: int, dealt: np.ndarray, counts: np.ndarray, first: int, bits: int) -> int:
    """Write words into `dealt` by `bits` bits from the bit `first`, equal ones in their order, and return how many the
    fullest bucket has. Nothing is written if it has them all."""
    shift, mask = np.uint64(first), np.uint64((1 << bits) - 1)
    for bucket in range((1 << bits) + 1):
        counts[bucket] = 0
    for i in range(size):
        counts[np.int64((words[i] >> shift) & mask) + 1] += 1
    fullest = 0
    for bucket in range(1, (1 << bits) + 1):
        fullest = max(fullest, counts[bucket])
        counts[bucket] += counts[bucket - 1]
    if fullest == size:
        return fullest
    for i in range(size):
        bucket = np.int64((words[i] >> shift) & mask)
        dealt[counts[bucket]] = words[i]
        counts[bucket] += 1
    return fullest
