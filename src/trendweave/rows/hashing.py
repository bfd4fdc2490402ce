"""Rows as 64-bit hashes of their keys: equal keys have equal hashes, in every process and however columns are cut.

Equal means what `rows/codes.py` means: NULL equals NULL, NaN equals NaN and -0.0 is 0.0. The hash of a value depends on
the value and not on how wide Arrow stores it: `string`, `large_string`, `string_view` and a dictionary of them hash
alike, and so do whole numbers of any width. Times are hashed in the unit of their column.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.kernels.sorting import ordered_bits

# Multipliers and shifts of MurmurHash3's finishing steps; _START is the golden ratio's fraction.
_START = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xFF51AFD7ED558CCD)
_SECOND = np.uint64(0xC4CEB9FE1A85EC53)
_SHIFT = np.uint64(33)
_WORD = 8
#: Stands for NULL. A value with the same hash shares a bucket with it, which is no harm.
_NULL = np.uint64(0xA0761D6478BD642F)


def hash_rows(columns: Sequence[pa.ChunkedArray | pa.Array], length: int) -> np.ndarray:
    """Hash the values of each row together.

    Args:
        columns: The columns, of any type.
        length: How many rows they have.

    Returns:
        A uint64 per row. All bits are good: a bucket may be the remainder, the lowest or the highest bits.
    """
    hashes = np.full(length, _START)
    for column in columns:
        done = 0
        for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
            if len(chunk):
                _add_words(hashes[done : done + len(chunk)], _words(chunk))
            done += len(chunk)
    return hashes


def _words(array: pa.Array) -> np.ndarray:
    """A word per value. Equal values have equal words; different ones mostly different words."""
    words = _known_words(array)
    if array.null_count:
        words = np.where(np.asarray(array.is_valid()), words, _NULL)
    return words


def _known_words(array: pa.Array) -> np.ndarray:
    """The words of values that are not NULL; those of NULL may be any."""
    kind = array.type
    if isinstance(array, pa.ExtensionArray):
        return _words(array.storage)
    if pa.types.is_null(kind):
        return np.full(len(array), _NULL)
    if pa.types.is_dictionary(kind):
        return _words_of_dictionary(array)
    if pa.types.is_boolean(kind):
        return _words(pc.cast(array, pa.uint8()))
    if pa.types.is_floating(kind):
        return ordered_bits(pc.cast(array, pa.float64()).to_numpy(zero_copy_only=False)).view(np.uint64)
    if pa.types.is_integer(kind):
        return _stored(array, np.dtype(kind.to_pandas_dtype())).astype(np.int64, copy=False).view(np.uint64)
    if pa.types.is_decimal(kind):
        return _words_of_decimals(array)
    if pa.types.is_temporal(kind) and kind.bit_width in (32, 64):
        return _stored(array, np.dtype(f"i{kind.bit_width // 8}")).astype(np.int64, copy=False).view(np.uint64)
    if pa.types.is_nested(kind):
        return _words_of_nested(array)
    return _words_of_texts(array)


def _stored(array: pa.Array, width: np.dtype) -> np.ndarray:
    """The numbers that an array of one width per value holds."""
    return np.frombuffer(array.buffers()[1], width)[array.offset : array.offset + len(array)]


def _words_of_dictionary(array: pa.DictionaryArray) -> np.ndarray:
    """Each entry of the dictionary is hashed once. It may hold duplicates and NULL."""
    if not len(array.dictionary):
        return np.full(len(array), _NULL)
    places = _stored(array.indices, np.dtype(array.type.index_type.to_pandas_dtype()))
    # The place of a NULL may be any number.
    return _words(array.dictionary).take(places, mode="clip") if array.null_count else _words(array.dictionary)[places]


def _words_of_decimals(array: pa.Array) -> np.ndarray:
    """Decimals are hashed as whole numbers of their last digit, in as many words as they are stored in."""
    if array.type.bit_width < 128:
        array = pc.cast(array, pa.decimal128(38, array.type.scale))
    width = array.type.bit_width // 64
    parts = np.frombuffer(array.buffers()[1], np.uint64).reshape(-1, width)[array.offset : array.offset + len(array)]
    words = np.full(len(array), _START)
    for part in range(width):
        _add_words(words, np.ascontiguousarray(parts[:, part]))
    return words


def _words_of_texts(array: pa.Array) -> np.ndarray:
    """Strings and bytes; values of any other type by how Python writes them."""
    kind = array.type
    if pa.types.is_fixed_size_binary(kind):
        array = pc.cast(array, pa.large_binary())
    elif kind in (pa.string_view(), pa.binary_view()):
        array = pc.cast(array, pa.large_string() if kind == pa.string_view() else pa.large_binary())
    elif not any(test(kind) for test in (pa.types.is_string, pa.types.is_large_string,
                                         pa.types.is_binary, pa.types.is_large_binary)):  # fmt: skip
        array = pa.array([repr(value) for value in array.to_pylist()], pa.large_string())
    wide = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
    _, offsets, data = array.buffers()
    places = np.frombuffer(offsets, np.int64 if wide else np.int32)[array.offset : array.offset + len(array) + 1]
    return _hash_texts(places.astype(np.int64, copy=False), np.frombuffer(data or b"", np.uint8))


def _words_of_nested(array: pa.Array) -> np.ndarray:
    kind = array.type
    if pa.types.is_struct(kind):
        return hash_rows(array.flatten(), len(array))
    if pa.types.is_fixed_size_list(kind):
        array = pc.cast(array, pa.list_(kind.value_type))
    elif not (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_map(kind)):
        return _words_of_texts(array)
    offsets = array.offsets.to_numpy().astype(np.int64, copy=False)
    values = array.values.slice(offsets[0], offsets[-1] - offsets[0])
    return _hash_lists(offsets - offsets[0], _words(values))


# Numbers that are spread evenly over 64 bits and depend on nothing but what they are made of


def _mix(numbers: np.ndarray) -> np.ndarray:
    """In place: each bit of a result depends on all bits; different numbers stay different."""
    numbers ^= numbers >> _SHIFT
    numbers *= _FIRST
    numbers ^= numbers >> _SHIFT
    numbers *= _SECOND
    numbers ^= numbers >> _SHIFT
    return numbers


def _add_words(hashes: np.ndarray, words: np.ndarray) -> None:
    """Make each hash depend on one more word, in place."""
    hashes ^= words
    _mix(hashes)


def _hash_texts(offsets: np.ndarray, data: np.ndarray) -> np.ndarray:
    """Hash runs of bytes: run i is data[offsets[i] : offsets[i + 1]].

    Eight bytes at a time, the first one lowest; the rest with zeros behind it.
    """
    lengths, begin = np.diff(offsets), int(offsets[0])
    padded = np.zeros(int(offsets[-1]) - begin + _WORD, np.uint8)
    padded[:-_WORD] = data[begin : int(offsets[-1])]
    words = np.ndarray(padded.size - _WORD + 1, "<u8", padded, strides=(1,))  # one begins at each byte
    places, rest = offsets[:-1] - begin, lengths % _WORD
    hashes = _hash_runs(places, lengths // _WORD, _WORD, words, _begin(lengths))
    mask = (np.uint64(1) << (rest * _WORD).astype(np.uint64)) - np.uint64(1)
    return _mix(hashes ^ (words[places + lengths - rest] & mask))


def _hash_lists(offsets: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Hash runs of words, in the same way."""
    lengths = np.diff(offsets)
    return _mix(_hash_runs(offsets[:-1], lengths, 1, words, _begin(lengths)))


def _begin(lengths: np.ndarray) -> np.ndarray:
    """The length is spread over all bits, so that it and the first word do not cancel out."""
    return _START ^ (lengths.astype(np.uint64) * _FIRST)


def _hash_runs(places: np.ndarray, counts: np.ndarray, step: int, words: np.ndarray, hashes: np.ndarray) -> np.ndarray:
    """Make each hash depend on so many words from a place on, in place."""
    rows, done = np.flatnonzero(counts > 0), 0
    while rows.size:
        hashes[rows] = _mix(hashes[rows] ^ words[places[rows] + done * step])
        done += 1
        rows = rows[counts[rows] > done]
    return hashes
