"""Integers of any size as decimal text, many at a time."""

from collections.abc import Sequence

import numpy as np

from trendweave.kernels.compiling import inner

#: The time grows with the square of a number's length: beyond so many bits, other ways are faster.
MOST_BITS = 16_384
AT_ONCE = 4096
CHUNK = np.uint64(10**9)
CHUNK_DIGITS = 9
DIGITS_OF_WORD = 20
ZERO = 48
PAIRS = np.array([ZERO + digit for number in range(100) for digit in divmod(number, 10)], np.uint8)
MINUS = 45


@inner
def make_positive(words, row):
    """Turn a number in two's complement into its magnitude; returns whether it was negative."""
    last = words.shape[1] - 1
    if words[row, last] >> np.uint64(63) == np.uint64(0):
        return False
    carry = np.uint64(1)
    for i in range(last + 1):
        words[row, i] = ~words[row, i] + carry
        if words[row, i] != np.uint64(0):
            carry = np.uint64(0)
    return True


@inner
def fill_powers(powers, lengths):
    """powers[j, :lengths[j]] = 2**(16 * j) in base 10**9, lowest first."""
    powers[0, 0] = np.uint64(1)
    lengths[0] = 1
    for j in range(1, powers.shape[0]):
        carry = np.uint64(0)
        length = lengths[j - 1]
        for i in range(length):
            x = (powers[j - 1, i] << np.uint64(16)) + carry
            carry = x // CHUNK
            powers[j, i] = x - carry * CHUNK
        if carry != np.uint64(0):
            powers[j, length] = carry
            length += 1
        lengths[j] = length


@inner
def find_chunks(words, row, powers, lengths, chunks):
    """The number in base 10**9, lowest first; returns how many chunks there are. Its pieces of 16 bits times powers of
    two are added up chunk by chunk, which needs no carries: there are fewer than 2**18 pieces."""
    for i in range(chunks.size):
        chunks[i] = np.uint64(0)
    for j in range(4 * words.shape[1]):
        piece = (words[row, j >> 2] >> np.uint64(16 * (j & 3))) & np.uint64(2**16 - 1)
        if piece != np.uint64(0):
            for i in range(np.uint64(lengths[j])):
                chunks[i] += piece * powers[j, i]
    carry = np.uint64(0)
    used = 0
    for i in range(chunks.size):
        x = chunks[i] + carry
        carry = x // CHUNK
        chunks[i] = x - carry * CHUNK
        if chunks[i] != np.uint64(0):
            used = i + 1
    return used


@inner
def write_decimals(words, powers, lengths, chunks, text, ends):
    """The digits of all rows one after the other; ends[row] is where those of a row end. `powers`, `lengths` and
    `chunks` are room for what is needed on the way."""
    fill_powers(powers, lengths)
    end = 0
    for row in range(words.shape[0]):
        if make_positive(words, row):
            text[end] = MINUS
            end += 1
        used = find_chunks(words, row, powers, lengths, chunks)
        if used == 0:
            text[end] = ZERO
            end += 1
        for i in range(used - 1, -1, -1):
            left = chunks[i]
            length = CHUNK_DIGITS
            if i == used - 1:  # without zeros in front
                length = 0
                while left != np.uint64(0):
                    left //= np.uint64(10)
                    length += 1
                left = chunks[i]
            place = end + length
            while place > end + 1:  # two at a time
                rest = left // np.uint64(100)
                pair = 2 * np.int64(left - rest * np.uint64(100))
                place -= 2
                text[place] = PAIRS[pair]
                text[place + 1] = PAIRS[pair + 1]
                left = rest
            if place > end:
                text[end] = ZERO + np.int64(left)
            end += length
        ends[row] = end


def decimal_text(numbers: Sequence[int]) -> tuple[np.ndarray, np.ndarray] | None:
    """Write integers in decimal.

    Args:
        numbers: Python integers.

    Returns:
        The digits of all of them (uint8) and where those of each begin and end (int64, one more than there are
        numbers); None where a number is too long for this way.
    """
    texts, ends = [], [np.zeros(1, np.int64)]
    for begin in range(0, len(numbers), AT_ONCE):
        part = numbers[begin : begin + AT_ONCE]
        bits = max(map(int.bit_length, part))
        if bits > MOST_BITS:
            return None
        width = bits // 64 + 1  # with a bit for the sign
        size = 8 * width
        raw = bytearray(b"".join([number.to_bytes(size, "little", signed=True) for number in part]))
        words = np.frombuffer(raw, np.dtype("<u8")).reshape(len(part), width)
        text = np.empty(len(part) * (DIGITS_OF_WORD * width + 1), np.uint8)
        ending = np.empty(len(part), np.int64)
        powers, lengths = np.empty((4 * width, 3 * width), np.uint64), np.empty(4 * width, np.int64)
        write_decimals(words, powers, lengths, np.empty(3 * width, np.uint64), text, ending)
        texts.append(text[: ending[-1]])
        ends.append(ending + ends[-1][-1])
    return np.concatenate(texts) if texts else np.empty(0, np.uint8), np.concatenate(ends)
