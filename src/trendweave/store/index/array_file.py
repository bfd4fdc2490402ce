"""One file of named flat arrays: mapped into memory where it is local, checked before anything of it is believed.

    magic | length of the header | header | arrays, each at a multiple of 64 bytes | length of the file, checksum, magic

The header is JSON: which data file it is about and how that looked, then name, type, place and checksums of every
array. An array has a checksum per piece, so that a few entries of a long one cost a few pieces.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from trendweave.store.layout.places import Place

_MAGIC = b"TWINDEX1"
_END = struct.Struct("<QI8s")
_HEAD = struct.Struct("<8sI")
_ALIGNED = 64
#: So many bytes are fetched at once where a file is not local.
_AT_ONCE = 1 << 22
#: Bytes that share a checksum.
PIECE = 1 << 16


class DamagedIndex(Exception):
    """An index file that is not what was written, whatever happened to it."""


@dataclass(frozen=True, slots=True)
class _Place:
    kind: np.dtype
    offset: int
    length: int
    checksums: tuple[int, ...]


def write_arrays(place: Place, name: str, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> int:
    """Write a file whole or not at all.

    Args:
        place: The folder of the store.
        name: The name of the file.
        facts: What the header tells beside the arrays, as JSON knows it.
        arrays: Flat arrays.

    Returns:
        How many bytes it has.
    """
    plain = {key: np.ascontiguousarray(array).view(np.uint8) for key, array in arrays.items()}
    described = {
        key: [array.dtype.str, plain[key].size, [zlib.crc32(piece.data) for piece in _pieces(plain[key])]]
        for key, array in arrays.items()
    }
    header = json.dumps({"facts": facts, "arrays": described}).encode()
    parts: list[bytes | np.ndarray] = [_HEAD.pack(_MAGIC, len(header)), header]
    done = _HEAD.size + len(header)
    for array in plain.values():
        padding = -done % _ALIGNED
        parts += [bytes(padding), array]
        done += padding + array.size
    parts.append(_END.pack(done + _END.size, zlib.crc32(header), _MAGIC))
    place.write(name, b"".join(part if isinstance(part, bytes) else part.tobytes() for part in parts))
    return done + _END.size


def _pieces(data: np.ndarray) -> list[np.ndarray]:
    return [data[first : first + PIECE] for first in range(0, data.size, PIECE)]


class ArrayFile:
    """A file that is open. Whatever is wrong with it is a `DamagedIndex`."""

    def __init__(self, place: Place, name: str) -> None:
        self.name = name
        try:
            self._source: pa.NativeFile = place.open(name)
            self.size: int = self._source.size()
            if not place.is_local and self.size <= _AT_ONCE:
                # One request costs more than the bytes.
                self._source = pa.BufferReader(self._source.read_buffer())
            self.facts, self._arrays = self._read_header()
        except (OSError, pa.ArrowException, ValueError, KeyError, TypeError, struct.error) as error:
            raise DamagedIndex(f"{name}: {error}") from error

    def _read_header(self) -> tuple[dict[str, Any], dict[str, _Place]]:
        if self.size < _HEAD.size + _END.size:
            raise ValueError("it is too short")
        length, checksum, magic = _END.unpack(self._bytes(self.size - _END.size, _END.size))
        first_magic, header_length = _HEAD.unpack(self._bytes(0, _HEAD.size))
        if magic != _MAGIC or first_magic != _MAGIC or length != self.size or header_length > self.size:
            raise ValueError("it is cut short, or of another version")
        header = self._bytes(_HEAD.size, header_length)
        if zlib.crc32(header) != checksum:
            raise ValueError("its header has changed")
        read = json.loads(header.to_pybytes())
        places, offset = {}, _HEAD.size + header_length
        for key, (kind, size, checksums) in read["arrays"].items():
            offset += -offset % _ALIGNED
            places[key] = _Place(np.dtype(kind), offset, size, tuple(checksums))
            offset += size
        return read["facts"], places

    def _bytes(self, offset: int, length: int) -> pa.Buffer:
        self._source.seek(offset)
        found = self._source.read_buffer(length)
        if len(found) != length:
            raise ValueError("it is cut short")
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all arrays."""
        return tuple(self._arrays)

    def __contains__(self, key: str) -> bool:
        return key in self._arrays

    def length(self, key: str) -> int:
        """How many entries an array has."""
        described = self._arrays[key]
        return described.length // described.kind.itemsize

    def array(self, key: str) -> np.ndarray:
        """An array, all of it."""
        return self.part(key, 0, self.length(key))

    def part(self, key: str, first: int, end: int) -> np.ndarray:
        """The entries of an array between two places."""
        described = self._arrays[key]
        width = described.kind.itemsize
        low, high = first * width, end * width
        if high <= low:
            return np.empty(0, described.kind)
        begin, stop = low // PIECE, -(-high // PIECE)
        start = begin * PIECE
        try:
            found = self._bytes(described.offset + start, min(stop * PIECE, described.length) - start)
        except (OSError, pa.ArrowException, ValueError) as error:
            raise DamagedIndex(f"{self.name}: {error}") from error
        data = np.frombuffer(found, np.uint8)
        for number, piece in enumerate(_pieces(data)):
            if zlib.crc32(piece.data) != described.checksums[begin + number]:
                raise DamagedIndex(f"{self.name}: some of its bytes have changed")
        return data[low - start : high - start].view(described.kind)
