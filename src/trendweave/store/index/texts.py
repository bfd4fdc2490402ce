"""Which strings a block may hold: a set where a file has few different ones, else a Bloom filter per row group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.rows.hashing import hash_rows

#: So many different strings have a bit each.
_MOST = 64
#: Bits of a filter per different string: with so many, one string in a hundred is found that is not there; with fewer
#: than so few a filter says too little.
_BITS, _FEWEST_BITS = 10.0, 3.0
#: The part of a row group's bytes that the filters of its columns may take.
_SHARE = 0.03


@dataclass
class TextSets:
    """Gathers the strings of one column, row group by row group."""

    numbers: dict[str, int] = field(default_factory=dict)
    words: list[np.ndarray] = field(default_factory=list)
    known: list[np.ndarray] = field(default_factory=list)
    filters: list[np.ndarray] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    too_many: bool = False

    def add(self, column: pa.ChunkedArray, order: np.ndarray | None, starts: np.ndarray, room: float) -> None:
        """The strings of a row group.

        Args:
            column: Of rows that have a time.
            order: The rows in order of time, where they are in another.
            starts: Where blocks begin among them, and their end.
            room: Bytes of the data file, a small part of which a filter may take.
        """
        codes = column.combine_chunks().dictionary_encode()
        found = codes.dictionary
        self._add_filter(found, room)
        if self.too_many:
            return
        for text in found.to_pylist():
            self.numbers.setdefault(text, len(self.numbers))
        if len(self.numbers) > _MOST:
            self.too_many = True
            return
        bits = np.array([1 << self.numbers[text] for text in found.to_pylist()] + [0], np.uint64)
        rows = bits[codes.indices.fill_null(len(found)).to_numpy(zero_copy_only=False)]
        rows = rows if order is None else rows[order]
        if starts.size > 1:
            self.words.append(np.bitwise_or.reduceat(rows, starts[:-1]))
            self.known.append(np.add.reduceat((rows != 0).astype(np.uint32), starts[:-1]))

    def _add_filter(self, found: pa.Array, room: float) -> None:
        bits_each = min(_BITS, 8 * _SHARE * room / max(1, len(found)))
        if bits_each < _FEWEST_BITS:
            # Too many strings for a small filter: anything may be there.
            self.filters.append(np.empty(0, np.uint64))
            self.places.append(0)
            return
        words = int(bits_each * len(found)) // 64 + 1
        bits, places = np.zeros(words, np.uint64), max(1, round(bits_each * 0.69))
        if len(found):
            chosen = filter_places(hash_rows([found], len(found)), words * 64, places)
            np.bitwise_or.at(bits, chosen >> 6, np.uint64(1) << (chosen & 63).astype(np.uint64))
        self.filters.append(bits)
        self.places.append(places)

    def arrays(self) -> dict[str, np.ndarray]:
        """What is kept: the set of every block, or the filter of every row group."""
        if not self.too_many:
            words = np.concatenate(self.words) if self.words else np.empty(0, np.uint64)
            known = np.concatenate(self.known) if self.known else np.empty(0, np.uint32)
            return {"words": words, "known": known, "texts": _as_bytes(list(self.numbers))}
        ends = np.cumsum([bits.size for bits in self.filters])
        places = np.array(self.places, np.uint8)
        return {"filters": np.concatenate(self.filters), "filter_ends": ends, "filter_places": places}


def filter_places(hashes: np.ndarray, size: int, places: int) -> np.ndarray:
    """The bits of a filter that stand for some strings."""
    first, step = hashes & np.uint64(0xFFFFFFFF), (hashes >> np.uint64(32)) | np.uint64(1)
    many = first[:, None] + step[:, None] * np.arange(places, dtype=np.uint64)[None, :]
    return (many % np.uint64(size)).astype(np.int64).reshape(-1)


def may_hold_text(value: str, filters: np.ndarray, ends: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Which row groups may have a string, by their filters."""
    hashed = hash_rows([pa.array([value], pa.string())], 1)
    answers = np.ones(ends.size, np.bool_)
    begin = 0
    for group, end in enumerate(ends.tolist()):
        bits = filters[begin:end]
        if bits.size:
            chosen = filter_places(hashed, bits.size * 64, int(places[group]))
            answers[group] = bool(((bits[chosen >> 6] >> (chosen & 63).astype(np.uint64)) & np.uint64(1)).all())
        begin = end
    return answers


def may_hold_words(test: Sequence[bool], words: np.ndarray) -> np.ndarray:
    """Which blocks have a string for which a test holds; `test` answers for each string of the file."""
    wanted = np.uint64(sum(1 << number for number, holds in enumerate(test) if holds))
    return (words & wanted) != 0


def _as_bytes(texts: list[str]) -> np.ndarray:
    sink = pa.BufferOutputStream()
    table = pa.table({"text": pa.array(texts, pa.string())})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return np.frombuffer(sink.getvalue(), np.uint8)


def from_bytes(data: np.ndarray) -> list[str]:
    """The strings of a file."""
    return pa.ipc.open_stream(pa.py_buffer(data.tobytes())).read_all().column("text").to_pylist()


def compare_texts(texts: list[str], operator: str, value: str) -> list[bool]:
    """Whether each string compares so with a value."""
    functions = {"=": pc.equal, "<>": pc.not_equal, "<": pc.less, "<=": pc.less_equal,
                 ">": pc.greater, ">=": pc.greater_equal}  # fmt: skip
    return functions[operator](pa.array(texts, pa.string()), pa.scalar(value, pa.string())).to_pylist()
